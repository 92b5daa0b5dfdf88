//! From a query to a reply, or to who else is to be asked.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::catalog::Catalog;
use crate::settings::Upstream;

/// How a query came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Udp,
    Tcp,
}

/// From where, how and to which of our addresses a query came.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    pub transport: Transport,
    pub source: IpAddr,
    /// The address it was sent to, with the prefix of that interface, when known: `localise-queries`
    /// and `auth-server` look at it.
    pub local: Option<IpNet>,
}

/// What is to be done with a query.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome<'c> {
    /// The reply stands in the buffer, this long.
    Reply(usize),
    /// Somebody else has to be asked.
    Forward(Forward<'c>),
    /// Nothing: any answer would cost more than it is worth.
    Drop,
}

/// Who is to be asked, and what of the answer may be believed.
#[derive(Debug, PartialEq, Eq)]
pub struct Forward<'c> {
    /// In the order of the configuration; never empty.
    pub servers: &'c [Upstream],
    /// They are those of a domain and not the general ones.
    pub of_domain: bool,
    /// Private addresses in the answer are no attack.
    pub private_answers: bool,
}

/// Answers a query from the catalogue. `out` takes the reply: 64 KiB for TCP, and for UDP what the
/// settings allow (`edns_packet_max`), at least 512.
pub fn answer<'c>(
    catalog: &'c Catalog,
    query: &[u8],
    arrival: &Arrival,
    out: &mut [u8],
) -> Outcome<'c> {
    let _ = (catalog, query, arrival, out);
    Outcome::Drop
}
