//! Exec, port-forward and logs: from a client, through the server, to the node of the pod and back.
//! The node is a test: an HTTP server on a Unix socket.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)] // a test says enough by failing

mod node;
mod refusals;
mod streams;
mod world;
