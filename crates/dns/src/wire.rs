//! Messages byte by byte (RFC 1035, 6891): what a server has to read and write, and nothing that
//! allocates on the way of an ordinary query.

mod name;
mod query;
mod writer;

pub use name::{BadName, Key, Name};
pub(crate) use name::{LONGEST, ends_with, push_text, text as name_text};
pub(crate) use query::skip_name;
pub use query::{Edns, Malformed, Query};
pub use writer::{Data, Section, Writer};

/// Record types that have a meaning here.
pub mod rtype {
    pub const A: u16 = 1;
    pub const NS: u16 = 2;
    pub const CNAME: u16 = 5;
    pub const SOA: u16 = 6;
    pub const PTR: u16 = 12;
    pub const MX: u16 = 15;
    pub const TXT: u16 = 16;
    pub const AAAA: u16 = 28;
    pub const SRV: u16 = 33;
    pub const NAPTR: u16 = 35;
    pub const OPT: u16 = 41;
    pub const IXFR: u16 = 251;
    pub const AXFR: u16 = 252;
    pub const ANY: u16 = 255;
    pub const CAA: u16 = 257;
}

/// Classes.
pub mod class {
    pub const IN: u16 = 1;
    pub const CHAOS: u16 = 3;
    pub const ANY: u16 = 255;
}

/// Response codes.
pub mod rcode {
    pub const NOERROR: u8 = 0;
    pub const FORMERR: u8 = 1;
    pub const SERVFAIL: u8 = 2;
    pub const NXDOMAIN: u8 = 3;
    pub const NOTIMP: u8 = 4;
    pub const REFUSED: u8 = 5;
    /// Extended: its upper bits stand in OPT.
    pub const BADVERS: u16 = 16;
}

/// Bits of the header's second word.
pub mod flag {
    pub const QR: u16 = 0x8000;
    pub const OPCODE: u16 = 0x7800;
    pub const AA: u16 = 0x0400;
    pub const TC: u16 = 0x0200;
    pub const RD: u16 = 0x0100;
    pub const RA: u16 = 0x0080;
    pub const AD: u16 = 0x0020;
    pub const CD: u16 = 0x0010;
}

/// Length of the header.
pub const HEADER: usize = 12;
/// What a client without EDNS can take by UDP.
pub const UDP_WITHOUT_EDNS: usize = 512;
