//! Control planes and services without an API: plans, words, and random timelines.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

#[path = "../ipam/chance.rs"]
mod chance;
mod octavia;
mod operator;
mod plans;
mod server;
mod support;
mod timelines;
mod words;
