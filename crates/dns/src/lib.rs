//! DNS as dnsmasq does it: names of hosts files and options, everything else from other servers.
//!
//! ```text
//!  files ─► Settings::parse ─┐
//!           hosts::parse ────┴─► Catalog (never changes; a new one is swapped in)
//!                                   │
//!  packet ─► wire::Query ─► answer(catalog, …) ─► Reply
//!                                              ─► Forward ─► other servers, cache
//!                                              ─► Drop
//! ```
//!
//! | module | idea |
//! |---|---|
//! | [`wire`] | messages byte by byte: names, questions, EDNS, a writer with compression |
//! | [`settings`] | dnsmasq's configuration as values, with a warning for each line that is wrong |
//! | [`hosts`] | hosts files as values, with a warning for each entry that is wrong |
//! | [`catalog`] | both, compiled for answering; a changed file makes a new one cheaply |
//! | [`answer`](mod@answer) | from a query to a reply, without IO, clock or allocation |
//! | [`forward`] | who is asked what is not known here, and what of the answer is believed |
//! | [`cache`] | answers of others, for as long as they say |
//! | [`limit`] | how many replies one network gets |
//! | [`stream`] | messages on a connection |
//! | [`follow`] | files, read and followed while they change |
//! | [`server`] | sockets and threads around all of this |
//! | [`command`] | `landbridge dns` as a process |

pub mod answer;
pub mod cache;
pub mod catalog;
pub mod command;
pub mod follow;
pub mod forward;
pub mod hosts;
pub mod limit;
pub mod server;
pub mod settings;
pub mod stream;
mod warning;
pub mod wire;

pub use answer::{Arrival, Forward, Outcome, Transport, answer};
pub use catalog::Catalog;
pub use hosts::Hosts;
pub use settings::{Settings, Upstream};
pub use warning::Warning;
