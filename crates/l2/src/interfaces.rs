//! On which interfaces announcing is possible.

use std::net::Ipv6Addr;

use regex::Regex;

use crate::packet::Mac;

/// What MetalLB leaves out where nothing else is said.
pub const EXCLUDED: [&str; 14] = [
    "^docker.*",
    "^cbr.*",
    "^dummy.*",
    "^virbr.*",
    "^lxcbr.*",
    "^veth.*",
    "^lo$",
    "^cali.*",
    "^tunl.*",
    "^flannel.*",
    "^kube-ipvs.*",
    "^cni.*",
    "^nodelocaldns.*",
    "^lxc.*",
];

/// So many patterns, of so many bytes each, are taken from a configuration.
const PATTERNS: usize = 256;
const PATTERN_BYTES: usize = 256;

/// Interfaces that are left out, by name.
#[derive(Clone, Debug)]
pub struct Excluded(Option<Regex>);

/// Why patterns cannot be used.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum BadPattern {
    /// It does not compile.
    #[error("{pattern:?} is no regular expression: {why}")]
    Syntax {
        /// The pattern.
        pattern: String,
        /// What the compiler says.
        why: String,
    },
    /// Too many, or one too long.
    #[error("at most {PATTERNS} patterns of {PATTERN_BYTES} bytes each can be excluded")]
    TooMuch,
}

impl Excluded {
    /// Names in which one of the patterns occurs, anywhere unless it says otherwise.
    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Result<Self, BadPattern> {
        let patterns: Vec<&str> = patterns.iter().map(AsRef::as_ref).collect();
        if patterns.is_empty() {
            return Ok(Self(None));
        }
        if patterns.len() > PATTERNS || patterns.iter().any(|p| p.len() > PATTERN_BYTES) {
            return Err(BadPattern::TooMuch);
        }
        for pattern in &patterns {
            Regex::new(pattern).map_err(|error| BadPattern::Syntax {
                pattern: (*pattern).to_owned(),
                why: error.to_string(),
            })?;
        }
        let joined = format!("({})", patterns.join(")|("));
        let regex = Regex::new(&joined)
            .map_err(|error| BadPattern::Syntax { pattern: joined, why: error.to_string() })?;
        Ok(Self(Some(regex)))
    }

    /// Whether an interface is left out.
    pub fn matches(&self, name: &str) -> bool {
        self.0.as_ref().is_some_and(|regex| regex.is_match(name))
    }
}

/// An interface as the kernel has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Nothing where it is not Ethernet.
    pub mac: Option<Mac>,
    /// Whether it is switched on.
    pub up: bool,
    /// Whether something is at the other end.
    pub carrier: bool,
    /// Whether it is a port of a bridge or a bond: then that one announces.
    pub has_master: bool,
    /// Whether it has no ARP at all.
    pub no_arp: bool,
    /// Whether it has broadcasts.
    pub broadcast: bool,
    /// Its link-local address.
    pub link_local: Option<Ipv6Addr>,
}

/// What an interface can announce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ability {
    /// Its Ethernet address.
    pub mac: Mac,
    /// By ARP.
    pub arp: bool,
    /// By NDP, from this address.
    pub ndp: Option<Ipv6Addr>,
}

/// What an interface can announce; nothing where it announces nothing.
pub fn ability(interface: &Interface, excluded: &Excluded) -> Option<Ability> {
    let usable = interface.up && !interface.has_master && !interface.no_arp;
    if !usable || excluded.matches(&interface.name) {
        return None;
    }
    let mac = interface.mac?;
    let ability = Ability { mac, arp: interface.broadcast, ndp: interface.link_local };
    (ability.arp || ability.ndp.is_some()).then_some(ability)
}

/// On which interfaces an address is announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Where {
    /// On all that can.
    All,
    /// On those of these names.
    Named(std::collections::BTreeSet<String>),
}

impl Where {
    /// Whether an interface is among them.
    pub fn includes(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.contains(name),
        }
    }

    /// Both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        match (self, other) {
            (Self::Named(mut all), Self::Named(more)) => {
                all.extend(more);
                Self::Named(all)
            }
            _ => Self::All,
        }
    }
}
