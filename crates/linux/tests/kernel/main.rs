//! The real kernel, in namespaces that each test makes for itself.
//!
//! Nothing outside them is touched. They have no name unless the test is about names, so they are
//! gone when the test is, however it ends. What the kernel lacks and what needs root is skipped,
//! with its reason in the file that `LANDBRIDGE_SKIP_FILE` names.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)] // all of this is test code

mod addresses;
mod checkpoint;
mod checkpoint_chaos;
mod concurrency;
mod fine;
mod harness;
mod iproute;
mod links;
mod monitor;
mod namespaces;
mod neighbours;
mod packets;
mod probe;
mod routes;
mod rules;
mod sysctls;
