//! The management network of Octavia against a simulated Neutron.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[path = "../ipam/chance.rs"]
mod chance;
mod cluster;
mod drift;
mod embedded;
mod faults;
mod plans;
mod removal;
mod scene;
mod servers;
mod sim;
mod timelines;
