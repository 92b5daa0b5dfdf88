//! The real kernel, in namespaces that each test makes for itself.
//!
//! Nothing outside them is touched. What the kernel lacks and what needs root is skipped, with its
//! reason in the file that `LANDBRIDGE_SKIP_FILE` names; the VM ring has all kinds. The binary needs no
//! cargo and no files beside it.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)] // all of this is test code

mod chaos;
mod faults;
mod harness;
mod ip;
mod kinds;
mod remembered;
mod seeds;
#[path = "../plans/wishes.rs"]
mod wishes;
