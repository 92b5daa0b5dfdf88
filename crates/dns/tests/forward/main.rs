//! The forwarder on a virtual clock: tables of single situations, and thousands of random timelines.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod cases;
mod timelines;
mod world;
