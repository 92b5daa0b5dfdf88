//! The plan as a whole: manifests in, findings and plans out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod admission;
mod manifests;
mod octavia;
mod random;
mod rules;
mod sites;
mod support;
