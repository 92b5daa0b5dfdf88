//! JSON patch, merge patch, strategic merge patch.
//!
//! Three ways to say "make it so", of growing cleverness. JSON patch is a list of operations, merge
//! patch is a partial document, strategic merge patch is a partial document read with the schema at
//! hand, so that lists merge by key. None of them validates the outcome.

mod json;
mod merge;
mod strategic;

pub use self::json::{MAX_OPERATIONS, json_patch};
pub use self::merge::merge_patch;
pub use self::strategic::strategic;
