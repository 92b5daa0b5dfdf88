//! Who gets in, who may do what: roles, tokens, reviews, impersonation and nodes, through the same
//! handler that serves every client.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)] // a test says enough by failing

mod nodes;
mod reviews;
mod roles;
mod tls;
mod tokens;
mod world;
