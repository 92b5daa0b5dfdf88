//! One shard of the index by name: a block of bytes with a small hash table at its start.
//!
//! ```text
//!  slots, four bytes each: eight bits of the hash, where the name begins (0: free)
//!  names: length, name, count (2), then for each record: file (2), kind (1), address
//! ```

use std::net::IpAddr;
use std::sync::Arc;

use super::table::{File, hash_name};
use crate::settings::octets;

/// The entries of one shard; empty when there are none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Shard {
    bytes: Option<Arc<[u8]>>,
}

/// What an entry says of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Address(IpAddr),
    /// There are names below it.
    Parent,
}

/// An entry to put in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'e> {
    pub hash: u32,
    pub name: &'e [u8],
    pub file: File,
    pub kind: Kind,
}

/// All entries of one name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'s> {
    name: &'s [u8],
    records: &'s [u8],
    count: usize,
}

const PARENT: u8 = 0;
/// Bits of the hash that stand in a slot beside the place.
const TAG: u32 = 0xff00_0000;

impl<'s> Found<'s> {
    fn records(self) -> impl Iterator<Item = (File, Kind)> + Clone + 's {
        let mut rest = self.records;
        (0..self.count).map_while(move |_| {
            let ([high, low, kind], after) = rest.split_first_chunk::<3>()?;
            let file = File::from_be_bytes([*high, *low]);
            let (kind, after) = match *kind {
                4 => {
                    let (bytes, after) = after.split_first_chunk::<4>()?;
                    (Kind::Address(IpAddr::from(*bytes)), after)
                }
                16 => {
                    let (bytes, after) = after.split_first_chunk::<16>()?;
                    (Kind::Address(IpAddr::from(*bytes)), after)
                }
                _ => (Kind::Parent, after),
            };
            rest = after;
            Some((file, kind))
        })
    }

    /// Its addresses, each once. They are sorted, so that equal ones are neighbours.
    pub fn addresses(self) -> impl Iterator<Item = IpAddr> + Clone + 's {
        let mut last = None;
        self.records().filter_map(move |(_, kind)| match kind {
            Kind::Address(address) if last != Some(address) => {
                last = Some(address);
                Some(address)
            }
            _ => None,
        })
    }
}

impl Shard {
    fn bytes(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or_default()
    }

    /// How many slots there are stands where the first one would be.
    fn slots(&self) -> usize {
        self.slot(0).map_or(0, |slots| slots as usize)
    }

    fn slot(&self, index: usize) -> Option<u32> {
        let bytes = self.bytes().get(index * 4..index * 4 + 4)?;
        Some(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn at(&self, place: usize) -> Option<Found<'_>> {
        let bytes = self.bytes().get(place..)?;
        let (length, bytes) = bytes.split_first()?;
        let (name, bytes) = bytes.split_at_checked(usize::from(*length))?;
        let ([high, low], records) = bytes.split_first_chunk::<2>()?;
        Some(Found { name, records, count: usize::from(u16::from_be_bytes([*high, *low])) })
    }

    /// The places whose names may have this hash.
    fn places(&self, hash: u32) -> impl Iterator<Item = usize> + '_ {
        let slots = self.slots();
        let start = first_slot(hash, slots);
        (start..slots)
            .chain(0..start)
            .map_while(move |index| self.slot(1 + index).filter(|slot| *slot != 0))
            .filter(move |slot| slot & TAG == tag(hash))
            .map(|slot| (slot & !TAG) as usize)
    }

    pub fn find(&self, hash: u32, name: &[u8]) -> Option<Found<'_>> {
        self.places(hash).filter_map(|place| self.at(place)).find(|found| found.name == name)
    }

    /// The name with this hash that a file gives this address.
    pub fn name_with(&self, hash: u32, address: IpAddr, file: File) -> Option<&[u8]> {
        let wanted = (file, Kind::Address(address));
        self.places(hash)
            .filter_map(|place| self.at(place))
            .find(|found| found.records().any(|record| record == wanted))
            .map(|found| found.name)
    }

    /// The same without the entries of `file`, and with new ones (of any order).
    pub fn with<'e>(&'e self, file: File, new: impl Iterator<Item = Entry<'e>>) -> Self {
        let mut entries: Vec<Entry<'_>> = Vec::new();
        for found in self.all() {
            let mut of_others = found.records().filter(|(of, _)| *of != file).peekable();
            if of_others.peek().is_some() {
                let (name, hash) = (found.name, hash_name(found.name));
                entries.extend(of_others.map(|(file, kind)| Entry { hash, name, file, kind }));
            }
        }
        entries.extend(new);
        entries.sort_unstable_by(|one, other| {
            (one.hash, one.name, one.kind, one.file)
                .cmp(&(other.hash, other.name, other.kind, other.file))
        });
        let made = build(&entries);
        // What did not change stays where it is.
        if self.bytes() == made {
            self.clone()
        } else {
            Self { bytes: (!made.is_empty()).then(|| made.into()) }
        }
    }

    /// Every name.
    fn all(&self) -> impl Iterator<Item = Found<'_>> {
        (0..self.slots()).filter_map(|index| {
            let slot = self.slot(1 + index)?;
            (slot != 0).then(|| self.at((slot & !TAG) as usize))?
        })
    }
}

/// Shards are chosen by the upper twelve bits, slots by those after them, and these are left.
fn tag(hash: u32) -> u32 {
    hash << 24
}

fn first_slot(hash: u32, slots: usize) -> usize {
    (((hash << 12) as usize) * slots) >> 32
}

/// The bytes of a shard, from sorted entries.
fn build(entries: &[Entry<'_>]) -> Vec<u8> {
    let same =
        |one: &Entry<'_>, other: &Entry<'_>| one.hash == other.hash && one.name == other.name;
    let names = entries.chunk_by(same).count();
    if names == 0 {
        return Vec::new();
    }
    // Four fifths full at most, and one free in any case: a search ends there.
    let slots = names + names / 4 + 1;
    let start = 4 * (slots + 1);
    let mut bytes = vec![0; start];
    bytes[..4].copy_from_slice(&u32::try_from(slots).unwrap_or(u32::MAX).to_be_bytes());
    for records in entries.chunk_by(same) {
        let Entry { hash, name, .. } = records[0];
        // A shard of 16 MiB would be a table of 64 GiB.
        let Some(place) = u32::try_from(bytes.len()).ok().filter(|place| place & TAG == 0) else {
            break;
        };
        let mut index = first_slot(hash, slots);
        while bytes[4 * (index + 1)..4 * (index + 2)] != [0; 4] {
            index = (index + 1) % slots;
        }
        bytes[4 * (index + 1)..4 * (index + 2)].copy_from_slice(&(tag(hash) | place).to_be_bytes());
        bytes.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        bytes.extend_from_slice(name);
        let count = u16::try_from(records.len()).unwrap_or(u16::MAX);
        bytes.extend_from_slice(&count.to_be_bytes());
        for Entry { file, kind, .. } in &records[..usize::from(count)] {
            bytes.extend_from_slice(&file.to_be_bytes());
            match kind {
                Kind::Parent => bytes.push(PARENT),
                Kind::Address(address) => {
                    let (octets, length) = octets(*address);
                    bytes.push(if length == 4 { 4 } else { 16 });
                    bytes.extend_from_slice(&octets[..length]);
                }
            }
        }
    }
    bytes
}
