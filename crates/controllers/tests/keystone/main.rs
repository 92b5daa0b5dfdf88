//! Records for Keystone against a simulated API on a virtual clock, and a simulated Keystone, the embedded one, and a real
//! one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cases;
mod embedded;
#[allow(dead_code, reason = "the tests of Octavia use the rest")]
#[path = "../octavia/place.rs"]
mod place;
mod servers;
mod simulated;
mod timelines;
mod world;
