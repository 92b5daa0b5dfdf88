//! What exactly is running.

/// Version of the release.
pub const SHORT: &str = env!("CARGO_PKG_VERSION");
/// Commit it was built from, `-dirty` when files differed from it.
pub const COMMIT: &str = env!("LANDBRIDGE_COMMIT");
/// Both, as `--version` prints them.
pub const LONG: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("LANDBRIDGE_COMMIT"), ")");
