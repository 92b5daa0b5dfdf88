//! The controller of virtual addresses against a simulated API: thousands of random timelines with late
//! news, lost races, crashes and several controllers at once.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

#[path = "../ipam/chance.rs"]
mod chance;
mod operator;
mod server;
mod swaps;
mod timelines;
mod wishes;
mod words;
