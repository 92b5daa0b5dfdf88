//! Answers for the addresses this node holds, and says unasked where they are.
//!
//! Unasked: one round at once, two soon after it, then every 1.1 s until 5 s after the last reason to, so
//! that a switch or a station that missed one still learns. Soon: who held the address before and is only cut off
//! may say so at the same moment, and fall silent some milliseconds later; a station that believed it last has to hear the
//! truth before the second is over. Addresses are never configured on an interface: the
//! kernel knows nothing of them, and what is not held is not answered.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use crate::Moment;
use crate::interfaces::{Ability, Where};
use crate::packet::Mac;
use crate::packet::arp::{Arp, Operation};
use crate::packet::ndp::{Advertisement, Solicitation, solicited_node};

/// From a round to the next, the last one for all that follow.
pub const PAUSES: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(200), Duration::from_millis(1100)];
/// So long after the last reason, rounds go on.
pub const ROUNDS: Duration = Duration::from_secs(5);

/// What the driver is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Send a frame.
    Frame {
        /// On which interface.
        interface: u32,
        /// All of it.
        bytes: Vec<u8>,
    },
    /// Who asked is at this Ethernet address. A node without an address on the interface could not
    /// find that out by itself, and needs it for the way back.
    Learned {
        /// On which interface.
        interface: u32,
        /// Who asked.
        ip: IpAddr,
        /// Where that one is.
        mac: Mac,
    },
    /// Somebody else says that an address held here is there.
    Foreign {
        /// The address.
        ip: IpAddr,
        /// Who says so.
        mac: Mac,
    },
    /// Take part in a group.
    Join {
        /// On which interface.
        interface: u32,
        /// The group.
        group: Ipv6Addr,
    },
    /// No longer take part in a group.
    Leave {
        /// On which interface.
        interface: u32,
        /// The group.
        group: Ipv6Addr,
    },
}

/// What was done for an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests for it that came in.
    pub requests: u64,
    /// Answers that were sent.
    pub responses: u64,
    /// Frames that were sent unasked.
    pub gratuitous: u64,
}

#[derive(Clone, Debug)]
struct Held {
    wheres: Where,
    next: Moment,
    until: Moment,
    /// Rounds since the last reason.
    rounds: usize,
}

impl Held {
    fn new(now: Moment, wheres: Where) -> Self {
        Self { wheres, next: now, until: now + ROUNDS, rounds: 0 }
    }

    /// There is a reason to say again where it is.
    fn renew(&mut self, now: Moment) {
        (self.next, self.until, self.rounds) = (now, now + ROUNDS, 0);
    }
}

/// The interfaces of a node and the addresses it holds.
#[derive(Debug, Default)]
pub struct Announcer {
    interfaces: BTreeMap<u32, (String, Ability)>,
    held: BTreeMap<IpAddr, Held>,
    joined: BTreeSet<(u32, Ipv6Addr)>,
    counts: BTreeMap<IpAddr, Counts>,
}

impl Announcer {
    /// Takes the interfaces on which announcing is possible. On what is new, and on what has
    /// another Ethernet address, everything held is announced again.
    pub fn set_interfaces(
        &mut self,
        now: Moment,
        interfaces: BTreeMap<u32, (String, Ability)>,
    ) -> Vec<Output> {
        let news: Vec<&String> = interfaces
            .iter()
            .filter(|(index, is)| self.interfaces.get(index) != Some(is))
            .map(|(_, (name, _))| name)
            .collect();
        for held in self.held.values_mut() {
            if news.iter().any(|name| held.wheres.includes(name)) {
                held.renew(now);
            }
        }
        self.interfaces = interfaces;
        let mut outputs = self.groups();
        outputs.extend(self.tick(now));
        outputs
    }

    /// Holds an address from now on, or on other interfaces than before.
    pub fn hold(&mut self, now: Moment, ip: IpAddr, wheres: Where) -> Vec<Output> {
        self.hold_all(now, [(ip, wheres)])
    }

    /// Holds several addresses, as one would be held.
    pub fn hold_all(
        &mut self,
        now: Moment,
        addresses: impl IntoIterator<Item = (IpAddr, Where)>,
    ) -> Vec<Output> {
        let mut new = false;
        for (ip, wheres) in addresses {
            if self.held.get(&ip).is_none_or(|held| held.wheres != wheres) {
                self.held.insert(ip, Held::new(now, wheres));
                new = true;
            }
        }
        if !new {
            return Vec::new();
        }
        let mut outputs = self.groups();
        outputs.extend(self.tick(now));
        outputs
    }

    /// Says again where an address is: somebody may have heard something else.
    pub fn renew(&mut self, now: Moment, ip: IpAddr) -> Vec<Output> {
        let Some(held) = self.held.get_mut(&ip) else { return Vec::new() };
        held.renew(now);
        self.tick(now)
    }

    /// Falls silent about an address. No frame says so: who holds it next says where it is.
    pub fn release(&mut self, ip: IpAddr) -> Vec<Output> {
        self.held.remove(&ip);
        // Only IPv6 has groups.
        if ip.is_ipv6() { self.groups() } else { Vec::new() }
    }

    /// The addresses that are held.
    pub fn held(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.held.keys().copied()
    }

    /// Whether an address is announced on any interface.
    pub fn has_interface(&self, wheres: &Where, ip: IpAddr) -> bool {
        self.interfaces.values().any(|(name, ability)| {
            let able = if ip.is_ipv4() { ability.arp } else { ability.ndp.is_some() };
            able && wheres.includes(name)
        })
    }

    /// What was done for each address since the beginning.
    pub fn counts(&self) -> &BTreeMap<IpAddr, Counts> {
        &self.counts
    }

    /// When [`tick`](Self::tick) has something to do.
    pub fn wake(&self) -> Option<Moment> {
        self.held.values().filter(|held| held.next <= held.until).map(|held| held.next).min()
    }

    /// Sends the rounds that are due.
    pub fn tick(&mut self, now: Moment) -> Vec<Output> {
        let mut outputs = Vec::new();
        for (ip, held) in &mut self.held {
            if held.next > held.until || held.next > now {
                continue;
            }
            // From the plan, not from now: late rounds do not push the others back.
            let pause = PAUSES.get(held.rounds).or(PAUSES.last()).copied().unwrap_or(ROUNDS);
            held.next = (held.next + pause).max(now);
            held.rounds += 1;
            for (index, (name, ability)) in &self.interfaces {
                if !held.wheres.includes(name) {
                    continue;
                }
                let before = outputs.len();
                unasked(*ip, *index, ability, &mut outputs);
                let sent = (outputs.len() - before) as u64;
                self.counts.entry(*ip).or_default().gratuitous += sent;
            }
        }
        outputs
    }

    /// Looks at a frame that came in.
    pub fn receive(&mut self, interface: u32, frame: &[u8]) -> Vec<Output> {
        let Some((name, ability)) = self.interfaces.get(&interface) else { return Vec::new() };
        let (name, ability) = (name.clone(), *ability);
        if let Some(arp) = Arp::read(frame) {
            return self.arp(interface, &name, ability, &arp);
        }
        if let Some(asked) = Solicitation::read(frame) {
            return self.solicited(interface, &name, ability, &asked);
        }
        if let Some(told) = Advertisement::read(frame) {
            return self.told(IpAddr::V6(told.target), told.mac);
        }
        Vec::new()
    }

    fn arp(&mut self, interface: u32, name: &str, ability: Ability, arp: &Arp) -> Vec<Output> {
        if self.held.contains_key(&IpAddr::V4(arp.sender_ip)) {
            return self.told(IpAddr::V4(arp.sender_ip), arp.sender_mac);
        }
        let for_us = arp.destination == Mac::BROADCAST || arp.destination == ability.mac;
        let asks = arp.operation == Operation::Request && for_us && arp.sender_mac.is_station();
        let ip = IpAddr::V4(arp.target_ip);
        if !asks || !ability.arp || !self.answers(ip, name) {
            return Vec::new();
        }
        let learned = (arp.sender_ip != Ipv4Addr::UNSPECIFIED).then_some(Output::Learned {
            interface,
            ip: IpAddr::V4(arp.sender_ip),
            mac: arp.sender_mac,
        });
        let bytes = arp.answer(ability.mac).write();
        learned.into_iter().chain([Output::Frame { interface, bytes }]).collect()
    }

    fn solicited(
        &mut self,
        interface: u32,
        name: &str,
        ability: Ability,
        asked: &Solicitation,
    ) -> Vec<Output> {
        let (Some(source), Some(to)) = (ability.ndp, asked.source_mac) else { return Vec::new() };
        // Who looks for a double of its own address has no address and cannot be answered alone.
        let nobody = asked.source.is_unspecified() || asked.source.is_multicast();
        if nobody || !to.is_station() || !self.answers(IpAddr::V6(asked.target), name) {
            return Vec::new();
        }
        let bytes = Advertisement::answer(asked, to, ability.mac, source).write();
        vec![
            Output::Learned { interface, ip: IpAddr::V6(asked.source), mac: to },
            Output::Frame { interface, bytes },
        ]
    }

    /// Whether an address is answered for on an interface; counts.
    fn answers(&mut self, ip: IpAddr, name: &str) -> bool {
        if !self.held.get(&ip).is_some_and(|held| held.wheres.includes(name)) {
            return false;
        }
        let counts = self.counts.entry(ip).or_default();
        counts.requests += 1;
        counts.responses += 1;
        true
    }

    /// Somebody says where an address is. What one of our own interfaces said comes back where two
    /// of them are on one wire.
    fn told(&self, ip: IpAddr, mac: Mac) -> Vec<Output> {
        let own = self.interfaces.values().any(|(_, ability)| ability.mac == mac);
        if own || !self.held.contains_key(&ip) {
            return Vec::new();
        }
        vec![Output::Foreign { ip, mac }]
    }

    /// What it takes to be in the groups of the held addresses, and in no other.
    fn groups(&mut self) -> Vec<Output> {
        let mut wanted = BTreeSet::new();
        for (ip, held) in &self.held {
            let IpAddr::V6(ip) = ip else { continue };
            for (index, (name, ability)) in &self.interfaces {
                if ability.ndp.is_some() && held.wheres.includes(name) {
                    wanted.insert((*index, solicited_node(*ip)));
                }
            }
        }
        let gone = self.joined.difference(&wanted);
        let left = gone.map(|&(interface, group)| Output::Leave { interface, group });
        let new = wanted.difference(&self.joined);
        let joins = new.map(|&(interface, group)| Output::Join { interface, group });
        let outputs = left.chain(joins).collect();
        self.joined = wanted;
        outputs
    }
}

fn unasked(ip: IpAddr, interface: u32, ability: &Ability, outputs: &mut Vec<Output>) {
    match ip {
        IpAddr::V4(ip) if ability.arp => {
            let frames = Arp::gratuitous(ability.mac, ip);
            outputs.extend(frames.map(|arp| Output::Frame { interface, bytes: arp.write() }));
        }
        IpAddr::V6(ip) => {
            let Some(source) = ability.ndp else { return };
            let bytes = Advertisement::unsolicited(ability.mac, source, ip).write();
            outputs.push(Output::Frame { interface, bytes });
        }
        IpAddr::V4(_) => {}
    }
}
