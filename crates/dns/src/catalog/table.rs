//! The hosts of all files, by name and by address.
//!
//! Both indexes are cut into shards by hash, and a shard is one block of bytes that never changes. A file
//! that changes makes new shards where it has, or had, entries; the others are shared with the table
//! before. So a small file costs what it holds, however many hosts the other files have, and a host costs
//! little more than its name.
//!
//! ```text
//!  name ─► hash ─┬► shard ─► slot ─► length, name, count, (file, kind, address)…
//!                └──────────────┐
//!  address ─► hash ─► shard ─► (hash of the address, hash of the name, file)
//! ```
//!
//! The names above a host are entries too, without an address: they exist, although they have no records.

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::sync::Arc;

use foldhash::fast::FixedState;

use super::shard::{Entry, Found, Kind, Shard};
use crate::hosts::Hosts;

const SHARDS: usize = 4096;
const BITS: u32 = SHARDS.trailing_zeros();

/// The number of a file within a table.
pub(super) type File = u16;

/// All hosts.
#[derive(Debug, Clone)]
pub(super) struct Table {
    names: Arc<[Shard]>,
    addresses: Arc<[Reverse]>,
    files: Arc<[Option<FileEntry>]>,
}

/// Where a file has entries.
#[derive(Debug, Clone)]
struct FileEntry {
    name: Arc<str>,
    /// Which of two files is asked first.
    rank: Rank,
    names: Shards,
    addresses: Shards,
}

/// `/etc/hosts`, then those of `addn-hosts`, the last one first, then the others by their names: the order
/// of dnsmasq where it has one, and the same on every server where it has none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(pub(super) usize, pub(super) Arc<str>);

/// A set of shards, one bit for each.
type Shards = Arc<[u64; SHARDS / 64]>;

/// A shard of the index by address, sorted.
type Reverse = Arc<[Named]>;

/// An address, and the first name that a file has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Named {
    address: u32,
    file: File,
    name: u32,
}

pub(super) fn hash_name(name: &[u8]) -> u32 {
    fold(FixedState::with_seed(1).hash_one(name))
}

fn hash_address(address: IpAddr) -> u32 {
    fold(FixedState::with_seed(2).hash_one(address))
}

#[allow(clippy::cast_possible_truncation)] // the half that is kept is the hash
fn fold(hash: u64) -> u32 {
    (hash ^ (hash >> 32)) as u32
}

fn shard(hash: u32) -> usize {
    (hash >> (32 - BITS)) as usize
}

impl Table {
    pub fn new() -> Self {
        let none: Reverse = Arc::new([]);
        Self {
            names: vec![Shard::default(); SHARDS].into(),
            addresses: vec![none; SHARDS].into(),
            files: Arc::new([]),
        }
    }

    /// The same with the entries of a file exchanged. `None` when there are more files than can be
    /// counted.
    pub fn with(&self, name: &str, rank: Rank, hosts: Option<&Hosts>) -> Option<Self> {
        let there = self
            .files
            .iter()
            .position(|file| file.as_ref().is_some_and(|file| &*file.name == name));
        let free = || self.files.iter().position(Option::is_none).unwrap_or(self.files.len());
        let at = there.unwrap_or_else(free);
        let file = File::try_from(at).ok()?;
        let before = self.files.get(at).cloned().flatten();
        if before.is_none() && hosts.is_none() {
            return Some(self.clone());
        }

        let none = Hosts::default();
        let mut entries = Entries::new(hosts.unwrap_or(&none), file);
        let mut names = self.names.to_vec();
        let touched = before.as_ref().map(|file| &file.names);
        let refs = std::mem::take(&mut entries.names);
        let name_shards = each_shard(
            refs,
            touched,
            |(hash, _)| *hash,
            |index, new| {
                let new = new.iter().filter_map(|(hash, at)| entries.entry(*hash, *at));
                names[index] = names[index].with(file, new);
            },
        );
        let mut addresses = self.addresses.to_vec();
        let touched = before.as_ref().map(|file| &file.addresses);
        let refs = std::mem::take(&mut entries.addresses);
        let address_shards = each_shard(
            refs,
            touched,
            |(hash, ..)| *hash,
            |index, new| {
                let old = addresses[index].iter().filter(|name| name.file != file);
                let mut all: Vec<Named> = old.copied().chain(entries.first_names(new)).collect();
                all.sort_unstable();
                if *all != *addresses[index] {
                    addresses[index] = all.into();
                }
            },
        );

        let mut files = self.files.to_vec();
        if at == files.len() {
            files.push(None);
        }
        files[at] = hosts.map(|_| FileEntry {
            name: name.into(),
            rank,
            names: name_shards,
            addresses: address_shards,
        });
        Some(Self { names: names.into(), addresses: addresses.into(), files: files.into() })
    }

    /// What there is of a name (wire form, lower case).
    pub fn find(&self, name: &[u8]) -> Option<Found<'_>> {
        let hash = hash_name(name);
        self.names[shard(hash)].find(hash, name)
    }

    /// The name of an address: the first one of the first file that has it.
    pub fn name_of(&self, address: IpAddr) -> Option<&[u8]> {
        let hash = hash_address(address);
        let all = &self.addresses[shard(hash)];
        let start = all.partition_point(|name| name.address < hash);
        all[start..]
            .iter()
            .take_while(|name| name.address == hash)
            .filter_map(|name| {
                let file = self.files.get(usize::from(name.file))?.as_ref()?;
                // Hashes may be equal by chance: only a name that has this address is its name.
                let text = self.names[shard(name.name)].name_with(name.name, address, name.file)?;
                Some((&file.rank, text))
            })
            .min_by_key(|(rank, _)| *rank)
            .map(|(_, text)| text)
    }

    /// The names of all files.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().flatten().map(|file| &*file.name)
    }

    /// The same, ranked anew: which file comes first is a matter of the settings.
    pub fn ranked(&self, rank: impl Fn(&str) -> Rank) -> Self {
        let files = self
            .files
            .iter()
            .cloned()
            .map(|file| file.map(|file| FileEntry { rank: rank(&file.name), ..file }));
        Self { files: files.collect(), ..self.clone() }
    }
}

/// What a file adds, before it is cut into shards. It points into the hosts rather than copying them, as there
/// may be many, and what is allocated here and let go again stays with the process for a while.
struct Entries<'h> {
    hosts: &'h Hosts,
    file: File,
    /// Hash of the name, and where it is.
    names: Vec<(u32, u32)>,
    /// Hash of the address, place of the host, hash of the name.
    addresses: Vec<(u32, u32, u32)>,
    parents: Vec<&'h [u8]>,
}

/// Says that the rest of the number is an index of `parents` and not a place.
const OF_PARENT: u32 = 1 << 31;

impl<'h> Entries<'h> {
    fn new(hosts: &'h Hosts, file: File) -> Self {
        let mut names = Vec::with_capacity(hosts.len() + hosts.len() / 16);
        let mut addresses = Vec::with_capacity(hosts.len());
        let mut parents: Vec<&'h [u8]> = Vec::new();
        let mut known: HashSet<&[u8], FixedState> = HashSet::default();
        for (place, host) in hosts.places() {
            let hash = hash_name(host.name);
            names.push((hash, place));
            addresses.push((hash_address(host.address), place, hash));
            let mut rest = host.name;
            while let Some(parent) = parent(rest) {
                // Whoever put it in put those above it in too.
                if !known.insert(parent) {
                    break;
                }
                let Ok(index) = u32::try_from(parents.len()) else { break };
                names.push((hash_name(parent), OF_PARENT | index));
                parents.push(parent);
                rest = parent;
            }
        }
        Self { hosts, file, names, addresses, parents }
    }

    fn entry(&self, hash: u32, at: u32) -> Option<Entry<'h>> {
        let (name, kind) = if at & OF_PARENT == 0 {
            let host = self.hosts.at(at)?;
            (host.name, Kind::Address(host.address))
        } else {
            (*self.parents.get((at & !OF_PARENT) as usize)?, Kind::Parent)
        };
        Some(Entry { hash, name, file: self.file, kind })
    }

    /// Of each address, the name that comes first in the file.
    fn first_names<'s>(&'s self, new: &'s [(u32, u32, u32)]) -> impl Iterator<Item = Named> + 's {
        let address_of = |place: u32| self.hosts.at(place).map(|host| host.address);
        new.iter().enumerate().filter_map(move |(index, &(address, place, name))| {
            let earlier = new[..index]
                .iter()
                .rev()
                .take_while(|(hash, ..)| *hash == address)
                .any(|(_, other, _)| address_of(*other) == address_of(place));
            (!earlier).then_some(Named { address, file: self.file, name })
        })
    }
}

/// The name above a name; not the root.
pub(super) fn parent(name: &[u8]) -> Option<&[u8]> {
    let parent = name.get(usize::from(*name.first()?) + 1..)?;
    (parent.len() > 1).then_some(parent)
}

/// Calls `make` for each shard that has, or had, entries, and returns those that have. Entries are sorted by hash,
/// and those of one hash by their places.
fn each_shard<T: Ord>(
    mut entries: Vec<T>,
    before: Option<&Shards>,
    hash: impl Fn(&T) -> u32,
    mut make: impl FnMut(usize, &[T]),
) -> Shards {
    entries.sort_unstable();
    let mut now = [0u64; SHARDS / 64];
    for part in entries.chunk_by(|one, other| shard(hash(one)) == shard(hash(other))) {
        let index = shard(hash(&part[0]));
        now[index / 64] |= 1 << (index % 64);
        make(index, part);
    }
    for index in 0..SHARDS {
        let bit = |shards: &[u64; SHARDS / 64]| shards[index / 64] & (1 << (index % 64)) != 0;
        if before.is_some_and(|before| bit(before)) && !bit(&now) {
            make(index, &[]);
        }
    }
    Arc::new(now)
}
