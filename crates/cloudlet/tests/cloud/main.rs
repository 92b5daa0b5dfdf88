//! The cloud as a value: calls in, answers and changes out, no sockets (but for `server`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code
#![allow(clippy::needless_pass_by_value)] // calls with json!({…}) in place read better

mod garbage;
mod growth;
mod identity;
mod lab;
mod network;
mod policy;
mod random;
mod server;
mod world;
