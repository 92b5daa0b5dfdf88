//! Records for Keystone against a simulated Keystone and a simulated API, on a virtual clock.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cases;
mod embedded;
mod simulated;
mod timelines;
mod world;
