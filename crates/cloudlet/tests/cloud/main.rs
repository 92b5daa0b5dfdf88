//! The cloud as a value: calls in, answers and changes out, no sockets (but for `server`).

mod garbage;
mod growth;
mod identity;
mod network;
mod policy;
mod random;
mod server;
mod world;
