//! Pods of a node: the machine on random timelines, and everything else on the real kernel.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod machine;
mod timelines;
mod world;
