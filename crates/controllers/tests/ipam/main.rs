//! The address controller against a simulated API: thousands of random timelines with late news,
//! lost races, crashes and several controllers at once.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod chance;
mod lowest;
mod operator;
mod seed;
mod server;
mod timelines;
mod words;
