//! Addresses of links.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::address::{
    AddressAttribute, AddressFlags, AddressMessage, AddressProtocol, CacheInfo,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use serde::{Deserialize, Serialize};

use crate::error::{Action, Attempt, Error, Object, Result};
use crate::handle::{Ensured, Handle};
use crate::link::LinkIndex;
use crate::scope::Scope;

/// An address of a link, which is named by its number, or by its name in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Address<L = LinkIndex> {
    pub link: L,
    /// The address with the length of its network's prefix.
    pub net: IpNet,
    /// The other end, where the address is one of a point-to-point pair.
    pub peer: Option<IpAddr>,
    pub scope: Scope,
    pub broadcast: Option<Ipv4Addr>,
    /// The IPv4 label, where it is not the link's name.
    pub label: Option<String>,
    /// Seconds until it ends; nothing is for ever.
    pub valid_seconds: Option<u32>,
    /// Seconds in which new connections may use it; nothing is for ever.
    pub preferred_seconds: Option<u32>,
    pub flags: Flags,
    pub origin: Origin,
}

/// What is particular about an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Flags {
    /// Not the first IPv4 address of its network on this link.
    pub secondary: bool,
    /// Not checked for a double yet (IPv6).
    pub tentative: bool,
    /// A double was found (IPv6).
    pub dad_failed: bool,
    pub deprecated: bool,
    /// Wanted without the check for doubles (IPv6).
    pub no_dad: bool,
    /// Wanted without the route to its network.
    pub no_prefix_route: bool,
}

/// Who made an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    #[default]
    User,
    /// The kernel, for loopback.
    Loopback,
    /// The kernel, from a router's advertisement.
    Router,
    /// The kernel, as a link-local address.
    LinkLocal,
    Other(u8),
}

impl<L> Address<L> {
    /// A permanent address with the scope and broadcast that are usual for it.
    pub fn new(link: L, net: IpNet) -> Self {
        let scope = match net.addr() {
            IpAddr::V4(ip) if ip.is_loopback() => Scope::Host,
            IpAddr::V4(ip) if ip.is_link_local() => Scope::Link,
            IpAddr::V6(ip) if ip.is_loopback() => Scope::Host,
            IpAddr::V6(ip) if ip.is_unicast_link_local() => Scope::Link,
            _ => Scope::Global,
        };
        let broadcast = match net {
            IpNet::V4(net) if net.prefix_len() < 31 && scope != Scope::Host => {
                Some(net.broadcast())
            }
            _ => None,
        };
        Self {
            link,
            net,
            peer: None,
            scope,
            broadcast,
            label: None,
            valid_seconds: None,
            preferred_seconds: None,
            flags: Flags::default(),
            origin: Origin::User,
        }
    }

    /// The same address without the check for doubles: at once usable.
    #[must_use]
    pub fn without_dad(mut self) -> Self {
        self.flags.no_dad = true;
        self
    }

    /// The address itself.
    pub fn ip(&self) -> IpAddr {
        self.net.addr()
    }

    /// The same on a link named otherwise.
    #[must_use]
    pub fn on<M>(&self, link: M) -> Address<M> {
        Address {
            link,
            net: self.net,
            peer: self.peer,
            scope: self.scope,
            broadcast: self.broadcast,
            label: self.label.clone(),
            valid_seconds: self.valid_seconds,
            preferred_seconds: self.preferred_seconds,
            flags: self.flags,
            origin: self.origin,
        }
    }
}

impl<L: fmt::Display> fmt::Display for Address<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.net)?;
        if let Some(peer) = self.peer {
            write!(f, " peer {peer}")?;
        }
        write!(f, " on {}", self.link)
    }
}

impl Handle {
    /// All addresses, in the kernel's order: the first IPv4 one of a network is its primary.
    pub fn addresses(&self) -> Result<Vec<Address>> {
        let message = RouteNetlinkMessage::GetAddress(AddressMessage::default());
        let answers = self.dump(&message, Object::Address)?;
        Ok(answers
            .iter()
            .filter_map(|answer| match answer {
                RouteNetlinkMessage::NewAddress(message) => decode(message),
                _ => None,
            })
            .collect())
    }

    /// The addresses of one link.
    pub fn addresses_of(&self, link: LinkIndex) -> Result<Vec<Address>> {
        let mut addresses = self.addresses()?;
        addresses.retain(|address| address.link == link);
        Ok(addresses)
    }

    /// One address of a link, by its IP.
    pub fn expect_address(&self, link: LinkIndex, ip: IpAddr) -> Result<Address> {
        let found = self.addresses_of(link)?.into_iter().find(|address| address.ip() == ip);
        found.ok_or_else(|| Error::Absent {
            attempt: Attempt::new(Action::Get, Object::Address, ip).on(self.called(link)),
        })
    }

    /// Adds an address.
    pub fn add_address(&self, address: &Address) -> Result<()> {
        self.put_address(address, NLM_F_CREATE | NLM_F_EXCL, Action::Create)
    }

    /// Changes the lifetimes and flags of an address that is there, or adds it.
    pub fn replace_address(&self, address: &Address) -> Result<()> {
        self.put_address(address, NLM_F_CREATE | NLM_F_REPLACE, Action::Change)
    }

    /// Has an address on a link.
    pub fn ensure_address(&self, address: &Address) -> Result<Ensured> {
        match self.add_address(address) {
            Ok(()) => Ok(Ensured::Created),
            Err(error) if error.is_present() => {
                let same = self.addresses_of(address.link)?.iter().any(|found| {
                    found.net == address.net
                        && found.valid_seconds == address.valid_seconds
                        && found.preferred_seconds == address.preferred_seconds
                });
                if same {
                    return Ok(Ensured::Unchanged);
                }
                self.replace_address(address).map(|()| Ensured::Changed)
            }
            Err(error) => Err(error),
        }
    }

    fn put_address(&self, address: &Address, flags: u16, action: Action) -> Result<()> {
        let message = RouteNetlinkMessage::NewAddress(encode(address));
        self.execute(message, flags, || self.attempt_address(action, address))
    }

    /// Takes an address away, and says whether it was there. With a primary IPv4 address its
    /// secondaries go, unless `promote_secondaries` is set.
    pub fn delete_address(&self, address: &Address) -> Result<bool> {
        let message = RouteNetlinkMessage::DelAddress(encode(address));
        match self.execute(message, 0, || self.attempt_address(Action::Delete, address)) {
            Err(error) if error.is_absent() => Ok(false),
            outcome => outcome.map(|()| true),
        }
    }

    /// Takes all addresses of a link away, link-local ones included, and counts them.
    pub fn flush_addresses(&self, link: LinkIndex) -> Result<usize> {
        let mut count = 0;
        for address in self.addresses_of(link)? {
            // A secondary may have gone with its primary.
            count += usize::from(self.delete_address(&address)?);
        }
        Ok(count)
    }

    fn attempt_address(&self, action: Action, address: &Address) -> Attempt {
        Attempt::new(action, Object::Address, address.net).on(self.called(address.link))
    }
}

fn encode(address: &Address) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = match address.net {
        IpNet::V4(_) => AddressFamily::Inet,
        IpNet::V6(_) => AddressFamily::Inet6,
    };
    message.header.prefix_len = address.net.prefix_len();
    message.header.index = address.link.0;
    message.header.scope = u8::from(address.scope).into();
    let mut flags = AddressFlags::empty();
    flags.set(AddressFlags::Nodad, address.flags.no_dad);
    flags.set(AddressFlags::Noprefixroute, address.flags.no_prefix_route);
    let ip = address.net.addr();
    message.attributes = vec![
        AddressAttribute::Local(ip),
        AddressAttribute::Address(address.peer.unwrap_or(ip)),
        AddressAttribute::Flags(flags),
    ];
    message.attributes.extend(address.broadcast.map(AddressAttribute::Broadcast));
    message.attributes.extend(address.label.clone().map(AddressAttribute::Label));
    if address.valid_seconds.is_some() || address.preferred_seconds.is_some() {
        let mut info = CacheInfo::default();
        info.ifa_valid = address.valid_seconds.unwrap_or(u32::MAX);
        info.ifa_preferred = address.preferred_seconds.unwrap_or(u32::MAX);
        message.attributes.push(AddressAttribute::CacheInfo(info));
    }
    let origin = match address.origin {
        Origin::User => None,
        Origin::Loopback => Some(AddressProtocol::Loopback),
        Origin::Router => Some(AddressProtocol::RouterAnnouncement),
        Origin::LinkLocal => Some(AddressProtocol::LinkLocal),
        Origin::Other(number) => Some(AddressProtocol::Other(number)),
    };
    message.attributes.extend(origin.map(AddressAttribute::Protocol));
    message
}

pub(crate) fn decode(message: &AddressMessage) -> Option<Address> {
    let (mut local, mut far, mut broadcast, mut label) = (None, None, None, None);
    let mut flags = AddressFlags::from_bits_retain(u32::from(message.header.flags.bits()));
    let (mut valid, mut preferred) = (u32::MAX, u32::MAX);
    let mut origin = Origin::User;
    for attribute in &message.attributes {
        match attribute {
            AddressAttribute::Local(ip) => local = Some(*ip),
            AddressAttribute::Address(ip) => far = Some(*ip),
            AddressAttribute::Broadcast(ip) => broadcast = Some(*ip),
            AddressAttribute::Label(text) => label = Some(text.clone()),
            AddressAttribute::Flags(all) => flags = *all,
            AddressAttribute::CacheInfo(info) => {
                (valid, preferred) = (info.ifa_valid, info.ifa_preferred);
            }
            AddressAttribute::Protocol(protocol) => {
                origin = match protocol {
                    AddressProtocol::Loopback => Origin::Loopback,
                    AddressProtocol::RouterAnnouncement => Origin::Router,
                    AddressProtocol::LinkLocal => Origin::LinkLocal,
                    AddressProtocol::Other(number) => Origin::Other(*number),
                    _ => Origin::User,
                }
            }
            _ => {}
        }
    }
    // IPv6 gives only the address where there is no peer.
    let ip = local.or(far)?;
    let seconds = |time: u32| (time != u32::MAX).then_some(time);
    Some(Address {
        link: LinkIndex(message.header.index),
        net: IpNet::new(ip, message.header.prefix_len).ok()?,
        peer: far.filter(|far| *far != ip),
        scope: u8::from(message.header.scope).into(),
        broadcast,
        label,
        valid_seconds: seconds(valid),
        preferred_seconds: seconds(preferred),
        flags: Flags {
            secondary: flags.contains(AddressFlags::Secondary) && ip.is_ipv4(),
            tentative: flags.contains(AddressFlags::Tentative),
            dad_failed: flags.contains(AddressFlags::Dadfailed),
            deprecated: flags.contains(AddressFlags::Deprecated),
            no_dad: flags.contains(AddressFlags::Nodad),
            no_prefix_route: flags.contains(AddressFlags::Noprefixroute),
        },
        origin,
    })
}
