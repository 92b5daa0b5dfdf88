//! Attachments against a cluster in memory, with its faults; and against the kernel where it counts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod claims;
mod cluster;
mod daemon;
mod install;
mod ipsets;
mod kernel;
mod multus;
mod reconcile;
mod support;
mod timelines;
mod whereabouts;
