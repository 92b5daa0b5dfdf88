//! The management network of Octavia: against a simulated Neutron, the embedded cloud, and a real Keystone and Neutron.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[path = "../ipam/chance.rs"]
mod chance;
mod cluster;
mod drift;
mod embedded;
mod faults;
mod fields;
mod interrupted;
mod observed;
mod place;
mod plans;
mod recovery;
mod removal;
mod scene;
mod servers;
mod sim;
mod stage;
mod timelines;
