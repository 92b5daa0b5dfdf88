//! What agents tell each other, as authenticated bytes.
//!
//! ```text
//!  "LBm1" kind u8 · life u64 · number u64 · sender (u8 length, name) · body · HMAC-SHA-256 (32)
//!  beat   phase u8 · version u32 · echo u64 · count u8 · count × (member u64 · life u64 · age u16)
//!  state  version u32 · part u8 · parts u8 · count u16 · count × (flags u8 · 4 or 16 octets)
//!  ask    version u32
//! ```
//!
//! All numbers are big-endian. No message is longer than [`LONGEST`], so none is ever in fragments.

use std::net::IpAddr;
use std::time::Duration;

use ring::digest;

use super::keys::{Keys, TAG};

/// The longest message: fits into one packet of IPv6 on any Ethernet.
pub const LONGEST: usize = 1400;
/// The longest name of a node.
const NAME: usize = 253;
/// So many others are spoken of in one beat.
pub const SEEN: usize = 48;
/// So many bytes of holdings go into one part.
const PART: usize = 900;
const MAGIC: &[u8; 4] = b"LBm1";
/// The unit in which ages are told.
const AGE: Duration = Duration::from_millis(5);

/// What agent is meant, in eight bytes: the beginning of the SHA-256 of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(pub u64);

impl MemberId {
    /// Of a name.
    pub fn of(name: &str) -> Self {
        let digest = digest::digest(&digest::SHA256, name.as_bytes());
        Self(digest.as_ref().first_chunk::<8>().map_or(0, |first| u64::from_be_bytes(*first)))
    }
}

/// Where an agent stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It does not know yet what is its own, and holds nothing.
    Joining,
    /// It takes part.
    Ready,
    /// It ends, and holds nothing any more.
    Leaving,
}

/// How an agent sees another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The other one.
    pub member: MemberId,
    /// In which life.
    pub life: u64,
    /// How long it was last heard ago, by itself, not by hearsay.
    pub age: Duration,
}

/// What an agent has to do with an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stake {
    /// It could announce it.
    pub able: bool,
    /// It is its turn, and somebody else still has it.
    pub wants: bool,
    /// It announces it.
    pub holds: bool,
}

/// What is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// I live.
    Beat {
        /// Where the sender stands.
        phase: Phase,
        /// Which version of its stakes is the newest.
        version: u32,
        /// The last message it heard of who is addressed: so that one knows how old this can be at
        /// most, without comparing clocks.
        echo: u64,
        /// Whom it sees. Who is addressed comes first.
        seen: Vec<Seen>,
    },
    /// The sender's stakes, or a part of them.
    State {
        /// Counts the changes.
        version: u32,
        /// Which part, from 0.
        part: u8,
        /// How many there are.
        parts: u8,
        /// Address by address.
        stakes: Vec<(IpAddr, Stake)>,
    },
    /// Tell me your stakes: I have not got this version.
    Ask {
        /// The version that is missed.
        version: u32,
    },
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The name of the node that sends.
    pub sender: String,
    /// Which life of it; the later one has the greater number.
    pub life: u64,
    /// Counts the messages of that life, from 1.
    pub number: u64,
    /// What is told.
    pub body: Body,
}

/// Why a datagram is no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The signature is none of ours.
    #[error("not signed with a key of ours")]
    Unsigned,
    /// It is signed, and yet unreadable: an agent of another version.
    #[error("not readable; does another version run there?")]
    Unreadable,
}

impl Message {
    /// The bytes; nothing while there is no key.
    pub fn seal(&self, keys: &Keys) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(256);
        bytes.extend(MAGIC);
        bytes.push(match self.body {
            Body::Beat { .. } => 1,
            Body::State { .. } => 2,
            Body::Ask { .. } => 3,
        });
        bytes.extend(self.life.to_be_bytes());
        bytes.extend(self.number.to_be_bytes());
        let name = self.sender.as_bytes();
        bytes.push(u8::try_from(name.len()).ok()?);
        bytes.extend(name);
        match &self.body {
            Body::Beat { phase, version, echo, seen } => {
                bytes.push(match phase {
                    Phase::Joining => 0,
                    Phase::Ready => 1,
                    Phase::Leaving => 2,
                });
                bytes.extend(version.to_be_bytes());
                bytes.extend(echo.to_be_bytes());
                bytes.push(u8::try_from(seen.len()).ok()?);
                for seen in seen {
                    bytes.extend(seen.member.0.to_be_bytes());
                    bytes.extend(seen.life.to_be_bytes());
                    let age = seen.age.as_millis() / AGE.as_millis();
                    bytes.extend(u16::try_from(age).unwrap_or(u16::MAX).to_be_bytes());
                }
            }
            Body::State { version, part, parts, stakes } => {
                bytes.extend(version.to_be_bytes());
                bytes.extend([*part, *parts]);
                bytes.extend(u16::try_from(stakes.len()).ok()?.to_be_bytes());
                for (ip, stake) in stakes {
                    put_stake(&mut bytes, *ip, *stake);
                }
            }
            Body::Ask { version } => bytes.extend(version.to_be_bytes()),
        }
        let tag = keys.sign(&bytes)?;
        bytes.extend(tag.as_ref());
        (bytes.len() <= LONGEST).then_some(bytes)
    }

    /// Reads a datagram.
    pub fn open(datagram: &[u8], keys: &Keys) -> Result<Self, Refused> {
        if datagram.len() > LONGEST {
            return Err(Refused::Unsigned);
        }
        let split = datagram.len().checked_sub(TAG).and_then(|at| datagram.split_at_checked(at));
        let (bytes, tag) = split.ok_or(Refused::Unsigned)?;
        if !keys.verify(bytes, tag) {
            return Err(Refused::Unsigned);
        }
        read(bytes).ok_or(Refused::Unreadable)
    }
}

fn put_stake(bytes: &mut Vec<u8>, ip: IpAddr, stake: Stake) {
    let flags = u8::from(stake.able) | u8::from(stake.wants) << 1 | u8::from(stake.holds) << 2;
    match ip {
        IpAddr::V4(ip) => {
            bytes.push(flags);
            bytes.extend(ip.octets());
        }
        IpAddr::V6(ip) => {
            bytes.push(flags | 8);
            bytes.extend(ip.octets());
        }
    }
}

/// Stakes in parts that each fit into a message. There is always one, so that "none" can be told.
pub fn parts(stakes: &[(IpAddr, Stake)]) -> Vec<Vec<(IpAddr, Stake)>> {
    let mut parts = vec![Vec::new()];
    let mut size = 0;
    for (ip, stake) in stakes {
        let more = if ip.is_ipv4() { 5 } else { 17 };
        if size + more > PART && parts.len() < usize::from(u8::MAX) {
            parts.push(Vec::new());
            size = 0;
        }
        size += more;
        if size <= PART
            && let Some(part) = parts.last_mut()
        {
            part.push((*ip, *stake));
        }
    }
    parts
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(first)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take().map(|[byte]: [u8; 1]| byte)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }
}

fn read(bytes: &[u8]) -> Option<Message> {
    let mut reader = Reader(bytes);
    if &reader.take::<4>()? != MAGIC {
        return None;
    }
    let kind = reader.byte()?;
    let (life, number) = (reader.u64()?, reader.u64()?);
    let length = usize::from(reader.byte()?);
    let sender = std::str::from_utf8(reader.bytes(length)?).ok()?;
    if sender.is_empty() || sender.len() > NAME {
        return None;
    }
    let body = match kind {
        1 => read_beat(&mut reader)?,
        2 => read_state(&mut reader)?,
        3 => Body::Ask { version: reader.u32()? },
        _ => return None,
    };
    reader.0.is_empty().then(|| Message { sender: sender.to_owned(), life, number, body })
}

fn read_beat(reader: &mut Reader<'_>) -> Option<Body> {
    let phase = match reader.byte()? {
        0 => Phase::Joining,
        1 => Phase::Ready,
        2 => Phase::Leaving,
        _ => return None,
    };
    let (version, echo) = (reader.u32()?, reader.u64()?);
    let count = usize::from(reader.byte()?);
    let mut seen = Vec::with_capacity(count.min(SEEN));
    for _ in 0..count {
        let member = MemberId(reader.u64()?);
        let life = reader.u64()?;
        seen.push(Seen { member, life, age: AGE * u32::from(reader.u16()?) });
    }
    Some(Body::Beat { phase, version, echo, seen })
}

fn read_state(reader: &mut Reader<'_>) -> Option<Body> {
    let version = reader.u32()?;
    let (part, parts, count) = (reader.byte()?, reader.byte()?, reader.u16()?);
    if part >= parts {
        return None;
    }
    let mut stakes = Vec::with_capacity(usize::from(count).min(PART / 5));
    for _ in 0..count {
        let flags = reader.byte()?;
        let ip = if flags & 8 == 0 {
            IpAddr::from(reader.take::<4>()?)
        } else {
            IpAddr::from(reader.take::<16>()?)
        };
        let (able, wants, holds) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0);
        stakes.push((ip, Stake { able, wants, holds }));
    }
    Some(Body::State { version, part, parts, stakes })
}
