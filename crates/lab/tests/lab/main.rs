//! Whole labs on the real kernel: as root, and as an ordinary user who has no rights at all.
//!
//! The labs are those of `examples/lab.rs`, whose agents only sleep. Nothing of the host is touched,
//! and a test that fails takes its lab with it.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)] // all of this is test code

mod endings;
mod entry;
mod exec;
mod harness;
mod network;
mod nodes;
mod segments;
