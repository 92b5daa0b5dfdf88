//! Configuration and hosts as files: read, and followed while they change.
//!
//! ```text
//!  inotify ─► Watch (what is quiet now) ─► Files::refresh (what is new, by its stamp) ─► Catalog
//! ```
//!
//! Which event came says only that it is time to look: what has changed is found by comparing device,
//! inode, size and times of every file. So it does not matter whether an editor writes in place or
//! renames, or Kubernetes swaps `..data`. A file that somebody is writing is left alone until it is
//! closed, so nobody is told half of it.

mod files;
mod options;
mod paths;
mod resolv;
mod watch;

pub use self::files::{Files, Refreshed};
pub use self::options::{Given, Options};
pub use self::watch::{Waker, Watch};
