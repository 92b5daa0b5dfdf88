//! Names without an API: what is made of DNSMasq and DNSData, in which words, and random timelines.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

#[path = "../ipam/chance.rs"]
mod chance;
mod objects;
#[allow(dead_code, reason = "shared with the tests of control planes")]
#[path = "../endpoints/operator.rs"]
mod operator;
#[allow(dead_code, reason = "shared with the tests of control planes")]
#[path = "../endpoints/server.rs"]
mod server;
#[allow(dead_code, reason = "shared with the tests of control planes")]
#[path = "../endpoints/support.rs"]
mod support;
mod timelines;
mod words;
