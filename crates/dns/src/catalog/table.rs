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
    prints: Option<Arc<Prints>>,
}

/// What a large file has in each shard, as a sum of hashes: where it is the same as before, nothing has to be made. Of a
/// hundred thousand entries one changes as a rule.
#[derive(Debug)]
struct Prints {
    names: Box<[u64]>,
    addresses: Box<[u64]>,
}

/// From so many entries on making all shards anew takes longer than taking prints.
const LARGE: usize = SHARDS;

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
    fold(whole_hash_of_name(name))
}

fn whole_hash_of_name(name: &[u8]) -> u64 {
    FixedState::with_seed(1).hash_one(name)
}

fn hash_address(address: IpAddr) -> u32 {
    fold(whole_hash_of_address(address))
}

fn whole_hash_of_address(address: IpAddr) -> u64 {
    FixedState::with_seed(2).hash_one(address)
}

/// What an entry adds to the prints of its shard.
fn print(one: u64, other: u64) -> u64 {
    FixedState::with_seed(3).hash_one((one, other))
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
        let prints = entries.prints.take().map(Arc::new);
        let old = before.as_ref().and_then(|file| file.prints.as_ref());
        let same = |of: fn(&Prints) -> &[u64], index: usize| match (old, &prints) {
            (Some(old), Some(new)) => of(old)[index] == of(new)[index],
            _ => false,
        };

        let mut names = self.names.to_vec();
        let refs = std::mem::take(&mut entries.names);
        let name_shards = each_shard(
            refs,
            before.as_ref().map(|file| &file.names),
            |(hash, _)| *hash,
            |index| same(|prints| &prints.names, index),
            |index, new| {
                let new = new.iter().filter_map(|(hash, at)| entries.entry(*hash, *at));
                names[index] = names[index].with(file, new);
            },
        );
        let mut addresses = self.addresses.to_vec();
        let refs = std::mem::take(&mut entries.addresses);
        let address_shards = each_shard(
            refs,
            before.as_ref().map(|file| &file.addresses),
            |named| named.address,
            |index| same(|prints| &prints.addresses, index),
            |index, new| {
                let old = addresses[index].iter().filter(|name| name.file != file);
                let mut all: Vec<Named> = old.chain(new).copied().collect();
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
            prints,
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
    addresses: Vec<Named>,
    parents: Vec<&'h [u8]>,
    prints: Option<Prints>,
}

/// Says that the rest of the number is an index of `parents` and not a place.
const OF_PARENT: u32 = 1 << 31;

impl<'h> Entries<'h> {
    fn new(hosts: &'h Hosts, file: File) -> Self {
        let mut entries = Self {
            hosts,
            file,
            names: Vec::with_capacity(hosts.len() + hosts.len() / 16),
            addresses: Vec::with_capacity(hosts.len()),
            parents: Vec::new(),
            prints: (hosts.len() >= LARGE).then(Prints::new),
        };
        let mut known: HashSet<&[u8], FixedState> = HashSet::default();
        let mut last: &[u8] = &[];
        for (place, host) in hosts.places() {
            let (name, address) =
                (whole_hash_of_name(host.name), whole_hash_of_address(host.address));
            entries.push_name(name, place, address);
            if host.is_first {
                entries.push_address(address, name);
            }
            // Neighbours mostly have the same parent, and whoever put it in put those above it in too.
            let mut rest = host.name;
            while let Some(parent) = parent(rest).filter(|parent| *parent != last) {
                if !known.insert(parent) {
                    break;
                }
                let Ok(index) = u32::try_from(entries.parents.len()) else { break };
                entries.parents.push(parent);
                entries.push_name(whole_hash_of_name(parent), OF_PARENT | index, 0);
                rest = parent;
            }
            last = parent(host.name).unwrap_or_default();
        }
        entries
    }

    fn push_name(&mut self, name: u64, at: u32, address: u64) {
        let hash = fold(name);
        self.names.push((hash, at));
        if let Some(prints) = &mut self.prints {
            let sum = &mut prints.names[shard(hash)];
            *sum = sum.wrapping_add(print(name, address));
        }
    }

    fn push_address(&mut self, address: u64, name: u64) {
        let named = Named { address: fold(address), file: self.file, name: fold(name) };
        self.addresses.push(named);
        if let Some(prints) = &mut self.prints {
            let sum = &mut prints.addresses[shard(named.address)];
            *sum = sum.wrapping_add(print(address, name));
        }
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
}

impl Prints {
    fn new() -> Self {
        let none = || vec![0; SHARDS].into_boxed_slice();
        Self { names: none(), addresses: none() }
    }
}

/// The name above a name; not the root.
pub(super) fn parent(name: &[u8]) -> Option<&[u8]> {
    let parent = name.get(usize::from(*name.first()?) + 1..)?;
    (parent.len() > 1).then_some(parent)
}

/// Calls `make` for each shard that has, or had, entries and is not the `same`, and returns those that have. Entries are
/// sorted by hash, and those of one hash by their places.
fn each_shard<T: Ord>(
    mut entries: Vec<T>,
    before: Option<&Shards>,
    hash: impl Fn(&T) -> u32,
    same: impl Fn(usize) -> bool,
    mut make: impl FnMut(usize, &[T]),
) -> Shards {
    let mut now = [0u64; SHARDS / 64];
    entries.retain(|entry| {
        let index = shard(hash(entry));
        now[index / 64] |= 1 << (index % 64);
        !same(index)
    });
    entries.sort_unstable();
    for part in entries.chunk_by(|one, other| shard(hash(one)) == shard(hash(other))) {
        make(shard(hash(&part[0])), part);
    }
    for index in 0..SHARDS {
        let bit = |shards: &[u64; SHARDS / 64]| shards[index / 64] & (1 << (index % 64)) != 0;
        if before.is_some_and(|before| bit(before)) && !bit(&now) {
            make(index, &[]);
        }
    }
    Arc::new(now)
}
