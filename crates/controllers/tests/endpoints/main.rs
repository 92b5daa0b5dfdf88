//! Control planes and services without an API: plans, words, and random timelines.

#[path = "../ipam/chance.rs"]
mod chance;
mod operator;
mod plans;
mod server;
mod support;
mod timelines;
mod words;
