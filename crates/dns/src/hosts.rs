//! Hosts files: an address and its names on each line.
//!
//! Wrong entries are left out, each with a [`Warning`]; the entries beside them count. As dnsmasq does,
//! names are kept in lower case, names of other scripts in the form that DNS has for them, an entry that
//! stands twice counts once, and the first name of an address is what its reverse lookup answers.

mod names;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use std::net::IpAddr;

use foldhash::fast::FixedState;
use memchr::memchr;

pub(crate) use self::names::domain_name;
use self::names::{NAME_HELP, odd_character, push_host_name, push_plain};
use crate::settings::octets;
use crate::warning::Warning;

/// Bytes of a line with one address and one short name.
const SHORT_LINE: usize = 32;
/// More of them tell nothing new, and somebody has to read them.
const WARNINGS: usize = 1000;

/// The good entries of one file, packed: there may be a hundred thousand.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Hosts {
    /// For each entry: length of the address (and [`FIRST`]), address, length of the name, name in wire form.
    packed: Vec<u8>,
    count: usize,
}

/// One name of one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host<'h> {
    pub address: IpAddr,
    /// In wire form and lower case.
    pub name: &'h [u8],
    /// Whether it is the first name of its address in the file: that is what the reverse lookup answers.
    pub is_first: bool,
}

/// Stands with the length of the address of a first name.
const FIRST: u8 = 0x80;

impl Hosts {
    /// How many pairs of an address and a name there are.
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// In the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = Host<'_>> {
        self.places().map(|(_, host)| host)
    }

    /// The same, each with its place.
    pub(crate) fn places(&self) -> impl Iterator<Item = (u32, Host<'_>)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let (host, length) = self.read(at)?;
            let place = u32::try_from(at).ok()?;
            at += length;
            Some((place, host))
        })
    }

    /// The entry at a place.
    pub(crate) fn at(&self, place: u32) -> Option<Host<'_>> {
        self.read(usize::try_from(place).ok()?).map(|(host, _)| host)
    }

    fn read(&self, at: usize) -> Option<(Host<'_>, usize)> {
        let all = self.packed.get(at..)?;
        let (&marked, rest) = all.split_first()?;
        let (address, rest) = if marked & !FIRST == 4 {
            let (bytes, rest) = rest.split_first_chunk::<4>()?;
            (IpAddr::from(*bytes), rest)
        } else {
            let (bytes, rest) = rest.split_first_chunk::<16>()?;
            (IpAddr::from(*bytes), rest)
        };
        let (length, rest) = rest.split_first()?;
        let (name, rest) = rest.split_at_checked(usize::from(*length))?;
        Some((Host { address, name, is_first: marked & FIRST != 0 }, all.len() - rest.len()))
    }

    fn push(&mut self, address: IpAddr, name: &[u8], is_first: bool) {
        // Places are numbers of 31 bits. Nobody has a hosts file of 2 GiB.
        if self.packed.len() > (1 << 31) - 1024 {
            return;
        }
        let (bytes, length) = octets(address);
        let mark = if is_first { FIRST } else { 0 };
        self.packed.push(mark | if length == 4 { 4 } else { 16 });
        self.packed.extend_from_slice(&bytes[..length]);
        self.packed.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        self.packed.extend_from_slice(name);
        self.count += 1;
    }
}

impl std::fmt::Debug for Hosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Reads a hosts file.
pub fn parse(file: &str, text: &str) -> (Hosts, Vec<Warning>) {
    // A guess that is too small makes the tables grow, which costs more than reading.
    let about = text.len() / SHORT_LINE;
    let mut reader = Reader {
        file,
        hosts: Hosts { packed: Vec::with_capacity(text.len() + text.len() / 4), count: 0 },
        warnings: Vec::new(),
        more: 0,
        seen: HashSet::with_hasher(FixedState::default()),
        first: HashMap::with_capacity_and_hasher(about, FixedState::default()),
        name: Vec::new(),
    };
    let mut rest = text;
    for number in 1.. {
        // Searched by the byte: both are ASCII, and half of the time would else go into finding the ends of lines.
        let end = memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
        let (line, after) = rest.split_at(end);
        reader.line(number, line);
        match after.get(1..) {
            Some(after) => rest = after,
            None => break,
        }
    }
    if reader.more > 0 {
        let why = format!("{} more entries are wrong", reader.more);
        reader.warnings.push(Warning {
            file: file.to_owned(),
            line: 0,
            text: String::new(),
            why,
            help: "correct those above first".to_owned(),
        });
    }
    reader.hosts.packed.shrink_to_fit();
    (reader.hosts, reader.warnings)
}

struct Reader<'f> {
    file: &'f str,
    hosts: Hosts,
    warnings: Vec<Warning>,
    more: usize,
    /// The line and the place of the first entry of an address, by the hash of the address.
    first: HashMap<u64, (u32, u32), FixedState>,
    /// Hashes of the entries of addresses that have several.
    seen: HashSet<u64, FixedState>,
    name: Vec<u8>,
}

impl Reader<'_> {
    fn line(&mut self, number: u32, line: &str) {
        let line = &line[..memchr(b'#', line.as_bytes()).unwrap_or(line.len())];
        let mut words = line.split_ascii_whitespace();
        let Some(word) = words.next() else { return };
        let Ok(address) = word.parse::<IpAddr>() else {
            let help = "write an IPv4 or IPv6 address at the start of the line";
            return self.warn(number, word, "is no address, so that the line is left out", help);
        };
        let mut names = 0;
        for word in words {
            names += 1;
            self.entry(number, address, word);
        }
        if names == 0 {
            self.warn(number, word, "has no name", "write at least one name after the address");
        }
    }

    fn entry(&mut self, number: u32, address: IpAddr, word: &str) {
        self.name.clear();
        let is_plain = push_plain(word, &mut self.name);
        if !is_plain && let Err(bad) = push_host_name(word, &mut self.name) {
            return self.warn(number, word, &format!("{bad}, so that it is left out"), NAME_HELP);
        }
        let hash = |name: &[u8]| FixedState::default().hash_one((address, name));
        let place = u32::try_from(self.hosts.packed.len()).unwrap_or(u32::MAX);
        let first = match self.first.entry(FixedState::default().hash_one(address)) {
            Entry::Vacant(none) => {
                none.insert((number, place));
                None
            }
            Entry::Occupied(first) => {
                let (line, place) = *first.get();
                self.seen.extend(self.hosts.at(place).map(|host| hash(host.name)));
                if !self.seen.insert(hash(&self.name)) {
                    let why = format!("is a name of {address} already");
                    return self.warn(number, word, &why, "remove one of the two");
                }
                Some(line)
            }
        };
        self.hosts.push(address, &self.name, first.is_none());
        if let Some(first) = first.filter(|first| *first != number) {
            let why = format!(
                "is a second entry of {address}: line {first} is the first, and says what the reverse lookup answers"
            );
            self.warn(number, word, &why, "put all names of an address into one line");
        }
        if is_plain {
            return;
        }
        if let Some(odd) = odd_character(word) {
            let help = if word.starts_with("*.") {
                "there are no wildcards in hosts files; use address=/domain/address"
            } else {
                NAME_HELP
            };
            let why =
                format!("holds {odd:?}, which no host name should; it is served as it stands");
            self.warn(number, word, &why, help);
        }
    }

    fn warn(&mut self, line: u32, text: &str, why: &str, help: &str) {
        if self.warnings.len() >= WARNINGS {
            self.more += 1;
            return;
        }
        self.warnings.push(Warning {
            file: self.file.to_owned(),
            line,
            text: text.to_owned(),
            why: why.to_owned(),
            help: help.to_owned(),
        });
    }
}
