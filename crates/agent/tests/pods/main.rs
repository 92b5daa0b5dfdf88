//! Pods of a node: the machine on random timelines, and everything else on the real kernel.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod client;
mod driver;
mod harness;
mod kubelet;
mod machine;
mod node;
mod processes;
mod responder;
mod timelines;
mod ways;
mod world;
