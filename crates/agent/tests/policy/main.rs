//! The policy engine of many nodes against a simulated API: late news, lost answers, crashes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod agent;
mod chance;
mod edges;
mod server;
mod timelines;
