//! DHCP for IPv4 (RFC 2131, 2132, 3442): one message format, a client and a server as state machines
//! without IO, and thin sockets for both.
//!
//! ```text
//!  socket ─► Message::decode ─► Client::step(now, input) ─► outputs: send, configure, deconfigure
//!                               Server::answer(now, message) ─► reply
//! ```
//!
//! Time is what the caller says it is, in seconds since any beginning. Nothing here sets an address:
//! the lease is handed to whoever runs the client.

mod client;
mod driver;
mod lease;
mod message;
mod options;
mod server;
mod socket;

pub use client::{Client, Input, Output, State};
pub use driver::{run_client, run_server};
pub use lease::{Lease, Route};
pub use message::{Kind, Malformed, Message};
pub use options::Options;
pub use server::{Server, ServerSettings};
