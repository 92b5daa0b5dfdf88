//! The server over real sockets: files that change, servers that fail, clients that misbehave.

mod faults;
mod files;
mod lab;
mod malformed;
mod process;
mod serving;
mod streams;
