//! The server over real sockets: files that change, servers that fail, clients that misbehave.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod faults;
mod files;
mod lab;
mod malformed;
mod process;
mod serving;
mod streams;
