//! Neighbours: which Ethernet address an IP address has on a link.

use std::fmt;
use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage,
    NeighbourState as WireState,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use crate::error::{Action, Attempt, Object, Result};
use crate::handle::{Ensured, Handle};
use crate::link::LinkIndex;
use crate::mac::MacAddr;

/// An entry of the neighbour table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    pub link: LinkIndex,
    pub ip: IpAddr,
    pub mac: Option<MacAddr>,
    pub state: NeighbourState,
    /// We answer for it.
    pub proxy: bool,
    pub router: bool,
}

/// What the kernel knows about a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeighbourState {
    None,
    Incomplete,
    Reachable,
    Stale,
    Delay,
    Probe,
    Failed,
    NoArp,
    /// Set by hand, never asked for.
    Permanent,
    Other(u16),
}

impl Neighbour {
    /// A neighbour that is never asked for.
    pub fn permanent(link: LinkIndex, ip: IpAddr, mac: MacAddr) -> Self {
        let state = NeighbourState::Permanent;
        Self { link, ip, mac: Some(mac), state, proxy: false, router: false }
    }

    /// An address we answer for on a link.
    pub fn proxy(link: LinkIndex, ip: IpAddr) -> Self {
        Self { link, ip, mac: None, state: NeighbourState::None, proxy: true, router: false }
    }
}

impl fmt::Display for Neighbour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.ip)?;
        if let Some(mac) = self.mac {
            write!(f, " at {mac}")?;
        }
        if self.proxy { f.write_str(" proxy") } else { Ok(()) }
    }
}

impl Handle {
    /// All neighbours of both families, proxies included.
    pub fn neighbours(&self) -> Result<Vec<Neighbour>> {
        let mut neighbours = Vec::new();
        // The kernel lists proxies only when asked for them alone.
        for flags in [NeighbourFlags::empty(), NeighbourFlags::Proxy] {
            for family in [AddressFamily::Inet, AddressFamily::Inet6] {
                let mut message = NeighbourMessage::default();
                message.header.family = family;
                message.header.flags = flags;
                let message = RouteNetlinkMessage::GetNeighbour(message);
                let answers = self.dump(&message, Object::Neighbour)?;
                neighbours.extend(answers.iter().filter_map(|answer| match answer {
                    RouteNetlinkMessage::NewNeighbour(message) => decode(message),
                    _ => None,
                }));
            }
        }
        Ok(neighbours)
    }

    /// Adds a neighbour.
    pub fn add_neighbour(&self, neighbour: &Neighbour) -> Result<()> {
        self.put_neighbour(neighbour, NLM_F_CREATE | NLM_F_EXCL, Action::Create)
    }

    /// Adds a neighbour, or changes the one that is there.
    pub fn replace_neighbour(&self, neighbour: &Neighbour) -> Result<()> {
        self.put_neighbour(neighbour, NLM_F_CREATE | NLM_F_REPLACE, Action::Change)
    }

    /// Has a neighbour as wanted.
    pub fn ensure_neighbour(&self, neighbour: &Neighbour) -> Result<Ensured> {
        match self.add_neighbour(neighbour) {
            Err(error) if error.is_present() => {
                if self.neighbours()?.contains(neighbour) {
                    return Ok(Ensured::Unchanged);
                }
                self.replace_neighbour(neighbour).map(|()| Ensured::Changed)
            }
            outcome => outcome.map(|()| Ensured::Created),
        }
    }

    fn put_neighbour(&self, neighbour: &Neighbour, flags: u16, action: Action) -> Result<()> {
        let message = RouteNetlinkMessage::NewNeighbour(encode(neighbour));
        self.execute(message, flags, || self.attempt_neighbour(action, neighbour))
    }

    /// Deletes a neighbour, and says whether it was there.
    pub fn delete_neighbour(&self, neighbour: &Neighbour) -> Result<bool> {
        let message = RouteNetlinkMessage::DelNeighbour(encode(neighbour));
        let attempt = || self.attempt_neighbour(Action::Delete, neighbour);
        match self.execute(message, 0, attempt) {
            Err(error) if error.is_absent() => Ok(false),
            outcome => outcome.map(|()| true),
        }
    }

    fn attempt_neighbour(&self, action: Action, neighbour: &Neighbour) -> Attempt {
        Attempt::new(action, Object::Neighbour, neighbour).on(self.called(neighbour.link))
    }
}

const STATES: [(NeighbourState, WireState); 9] = [
    (NeighbourState::None, WireState::None),
    (NeighbourState::Incomplete, WireState::Incomplete),
    (NeighbourState::Reachable, WireState::Reachable),
    (NeighbourState::Stale, WireState::Stale),
    (NeighbourState::Delay, WireState::Delay),
    (NeighbourState::Probe, WireState::Probe),
    (NeighbourState::Failed, WireState::Failed),
    (NeighbourState::NoArp, WireState::Noarp),
    (NeighbourState::Permanent, WireState::Permanent),
];

fn encode(neighbour: &Neighbour) -> NeighbourMessage {
    let mut message = NeighbourMessage::default();
    message.header.ifindex = neighbour.link.0;
    message.header.state = match neighbour.state {
        NeighbourState::Other(number) => WireState::Other(number),
        state => STATES
            .iter()
            .find(|(ours, _)| *ours == state)
            .map_or(WireState::None, |(_, wire)| *wire),
    };
    message.header.flags.set(NeighbourFlags::Proxy, neighbour.proxy);
    message.header.flags.set(NeighbourFlags::Router, neighbour.router);
    let destination = match neighbour.ip {
        IpAddr::V4(ip) => {
            message.header.family = AddressFamily::Inet;
            NeighbourAddress::Inet(ip)
        }
        IpAddr::V6(ip) => {
            message.header.family = AddressFamily::Inet6;
            NeighbourAddress::Inet6(ip)
        }
    };
    message.attributes.push(NeighbourAttribute::Destination(destination));
    let mac = neighbour.mac.map(|mac| NeighbourAttribute::LinkLayerAddress(mac.0.to_vec()));
    message.attributes.extend(mac);
    message
}

pub(crate) fn decode(message: &NeighbourMessage) -> Option<Neighbour> {
    let (mut ip, mut mac) = (None, None);
    for attribute in &message.attributes {
        match attribute {
            NeighbourAttribute::Destination(NeighbourAddress::Inet(found)) => {
                ip = Some((*found).into());
            }
            NeighbourAttribute::Destination(NeighbourAddress::Inet6(found)) => {
                ip = Some((*found).into());
            }
            NeighbourAttribute::LinkLayerAddress(bytes) => mac = MacAddr::from_bytes(bytes),
            _ => {}
        }
    }
    let wire = message.header.state;
    let state = STATES.iter().find(|(_, other)| *other == wire).map(|(ours, _)| *ours);
    Some(Neighbour {
        link: LinkIndex(message.header.ifindex),
        ip: ip?,
        mac,
        state: state.unwrap_or(NeighbourState::Other(u16::from(wire))),
        proxy: message.header.flags.contains(NeighbourFlags::Proxy),
        router: message.header.flags.contains(NeighbourFlags::Router),
    })
}
