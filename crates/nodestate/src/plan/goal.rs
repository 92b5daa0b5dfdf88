//! The node as it is to be: what is, with what is wanted put over it.

mod interface;
mod ports;

use landbridge_linux::IfName;
use landbridge_linux::link::BridgeVlan;

use super::{Abilities, routes};
use crate::desired::{Desired, Presence, Wish};
use crate::error::Fault;
use crate::state::{Interface, Kind, State};

pub(super) use self::ports::default_vlans;

/// A goal that is being made.
struct Making<'a> {
    desired: &'a Desired,
    now: &'a State,
    can: Abilities,
    goal: State,
    notes: Vec<String>,
}

pub(super) fn goal(
    desired: &Desired,
    now: &State,
    can: Abilities,
) -> Result<(State, Vec<String>), Fault> {
    let mut making = Making { desired, now, can, goal: now.clone(), notes: Vec::new() };
    for wish in &desired.interfaces {
        match wish.presence {
            Presence::Up => making.have(wish)?,
            Presence::Down | Presence::Absent => making.have_not(wish)?,
            Presence::Ignore => {}
        }
    }
    making.lose_what_stood_on_nothing()?;
    making.ports()?;
    making.check_bases()?;
    making.sizes()?;
    making.raise_what_is_below();
    making.drop_dhcp();
    routes::routes(desired, now, &mut making.goal, &mut making.notes)?;
    routes::rules(desired, &mut making.goal);
    making.names();
    Ok((making.goal, making.notes))
}

impl<'a> Making<'a> {
    /// The wishes for interfaces that are to be there.
    fn ups(&self) -> impl Iterator<Item = &'a Wish> + use<'a> {
        self.desired.interfaces.iter().filter(|wish| wish.presence == Presence::Up)
    }

    fn have(&mut self, wish: &Wish) -> Result<(), Fault> {
        let found = self.goal.interfaces.get(&wish.name).cloned();
        let kind = interface::kind(wish, found.as_ref().map(|link| &link.kind))?;
        // A pair comes with both ends.
        if let (None, Kind::Veth { peer }) = (&found, &kind) {
            self.have_peer(wish, peer)?;
        }
        let mut link = match found {
            Some(link) => Interface { kind, ..link },
            None => Interface::new(kind, self.now.fresh),
        };
        link.up = true;
        interface::properties(wish, &mut link)?;
        if let Some(from) = &wish.copy_mac_from {
            let source = self.now.interfaces.get(from).and_then(|link| link.mac);
            let missing = || {
                Fault::new(
                    format!("{}.copy-mac-from", wish.place),
                    format!("{from} does not exist or has no MAC address"),
                )
            };
            link.mac = Some(source.ok_or_else(missing)?);
        }
        interface::dhcp(wish, &mut self.goal.dhcp);
        self.goal.interfaces.insert(wish.name.clone(), link);
        Ok(())
    }

    fn have_peer(&mut self, wish: &Wish, peer: &IfName) -> Result<(), Fault> {
        if self.goal.interfaces.contains_key(peer) {
            let why = format!("{peer} exists and is not the other end of {}", wish.name);
            return Err(Fault::new(format!("{}.veth.peer", wish.place), why));
        }
        let other = Interface::new(Kind::Veth { peer: wish.name.clone() }, self.now.fresh);
        self.goal.interfaces.insert(peer.clone(), other);
        Ok(())
    }

    /// What is made here goes; hardware is stripped and switched off.
    fn have_not(&mut self, wish: &Wish) -> Result<(), Fault> {
        let Some(link) = self.goal.interfaces.get_mut(&wish.name) else { return Ok(()) };
        interface::same_type(wish, &link.kind)?;
        if link.kind == Kind::Loopback {
            return Err(Fault::new(&wish.place, "the loopback comes with its namespace and stays"));
        }
        self.goal.dhcp.retain(|request| request.link != wish.name);
        if link.kind.is_virtual() {
            self.goal.interfaces.remove(&wish.name);
            return Ok(());
        }
        link.up = false;
        link.controller = None;
        link.port = None;
        link.ipv4.addresses.clear();
        link.ipv6.addresses.retain(|address| address.automatic);
        Ok(())
    }

    /// A link goes with its base, and with its other end.
    fn lose_what_stood_on_nothing(&mut self) -> Result<(), Fault> {
        loop {
            let lost = self.goal.interfaces.iter().find_map(|(name, link)| {
                let needs = match &link.kind {
                    Kind::Veth { peer } => Some(peer),
                    kind => kind.parent(),
                };
                let gone = |other: &&IfName| {
                    self.now.interfaces.contains_key(*other)
                        && !self.goal.interfaces.contains_key(*other)
                };
                needs.filter(gone).map(|needs| (name.clone(), needs.clone()))
            });
            let Some((name, needs)) = lost else { return Ok(()) };
            let wanted = self.desired.wish(&name);
            if let Some(wish) = wanted.filter(|wish| wish.presence == Presence::Up) {
                let why = format!("it stands on {needs}, which is to be absent");
                return Err(Fault::new(&wish.place, why));
            }
            self.notes.push(format!("{name} goes with {needs}, on which it stands"));
            self.goal.interfaces.remove(&name);
            self.goal.dhcp.retain(|request| request.link != name);
        }
    }

    fn check_bases(&self) -> Result<(), Fault> {
        for wish in self.ups() {
            let Some(link) = self.goal.interfaces.get(&wish.name) else { continue };
            let Some(base) = link.kind.parent() else { continue };
            let at = format!("{}.{}.base-iface", wish.place, link.kind.word());
            let Some(under) = self.goal.interfaces.get(base) else {
                let why = format!("{base} does not exist on this node, and nothing here makes it");
                return Err(Fault::new(at, why));
            };
            if base == &wish.name {
                return Err(Fault::new(at, "an interface cannot stand on itself"));
            }
            let down = self.desired.wish(base).is_some_and(|wish| wish.presence == Presence::Down);
            if down || matches!(under.kind, Kind::Loopback) {
                let why = format!("{base} is to be down, or cannot carry another interface");
                return Err(Fault::new(at, why));
            }
        }
        match self.goal.circle() {
            Some(name) => {
                let place =
                    self.desired.wish(name).map_or(name.to_string(), |wish| wish.place.clone());
                let why = "it stands on itself by way of its ports and bases: break the circle";
                Err(Fault::new(place, why))
            }
            None => Ok(()),
        }
    }

    /// A new link is as large as its base; none is larger.
    fn sizes(&mut self) -> Result<(), Fault> {
        let order: Vec<IfName> = self.goal.lower_first().into_iter().cloned().collect();
        for name in order {
            let Some(link) = self.goal.interfaces.get(&name) else { continue };
            let limits = matches!(link.kind, Kind::Vlan { .. } | Kind::Macvlan { .. });
            let base = link.kind.parent().filter(|_| limits).cloned();
            let Some(base) = base else { continue };
            let room = self.size(&base);
            let wish = self.desired.wish(&name).filter(|wish| wish.presence == Presence::Up);
            if let Some((wish, mtu)) = wish.and_then(|wish| Some((wish, wish.mtu?)))
                && room != 0
                && mtu > room
            {
                let why = format!("{mtu} is more than the {room} of {base}: raise that one, too");
                return Err(Fault::new(format!("{}.mtu", wish.place), why));
            }
            if let Some(link) = self.goal.interfaces.get_mut(&name)
                && room != 0
                && (link.mtu == 0 || link.mtu > room)
            {
                link.mtu = room;
            }
        }
        Ok(())
    }

    /// How large a link will be; a new one is as large as the kernel makes it, and a bridge follows
    /// its smallest port. Nothing is 0.
    fn size(&self, name: &IfName) -> u32 {
        let Some(link) = self.goal.interfaces.get(name) else { return 0 };
        match link.kind {
            _ if link.mtu != 0 => link.mtu,
            Kind::Bridge(_) => {
                let ports = self.goal.ports(name).filter_map(|port| self.goal.interfaces.get(port));
                ports.map(|port| port.mtu).filter(|mtu| *mtu != 0).min().unwrap_or(1500)
            }
            _ => 1500,
        }
    }

    /// A VLAN cannot go up on a base that is down, and a port that is down carries nothing.
    fn raise_what_is_below(&mut self) {
        let mut below: Vec<IfName> = Vec::new();
        for wish in self.ups() {
            let mut at = wish.name.clone();
            while let Some(base) = self.goal.interfaces.get(&at).and_then(|link| link.kind.parent())
            {
                below.push(base.clone());
                at = base.clone();
            }
            below.extend(ports::named(wish).cloned());
        }
        for name in below {
            if let Some(link) = self.goal.interfaces.get_mut(&name)
                && !link.up
            {
                link.up = true;
                self.notes.push(format!("{name} is switched on, because others need it"));
            }
        }
    }

    /// No client stays on an interface that has no IP any more.
    fn drop_dhcp(&mut self) {
        let goal = &self.goal.interfaces;
        self.goal.dhcp.retain(|request| goal.contains_key(&request.link));
    }

    fn names(&mut self) {
        if let Some(wish) = &self.desired.resolver {
            let resolver = &mut self.goal.resolver;
            let put = |to: &mut Vec<String>, from: &Option<Vec<String>>| {
                if let Some(from) = from {
                    to.clone_from(from);
                }
            };
            put(&mut resolver.servers, &wish.servers);
            put(&mut resolver.search, &wish.search);
            put(&mut resolver.options, &wish.options);
        }
        if let Some(wish) = &self.desired.hostname {
            if let Some(name) = &wish.running {
                self.goal.hostname.running.clone_from(name);
            }
            if wish.config.is_some() {
                self.goal.hostname.config.clone_from(&wish.config);
            }
        }
    }
}

/// Whether VLANs at a port mean no more than a bridge without filtering does.
fn is_everything(vlans: &[BridgeVlan]) -> bool {
    let tagged: Vec<&BridgeVlan> = vlans.iter().filter(|vlan| !vlan.untagged).collect();
    let mut next = 2;
    let mut sorted = tagged;
    sorted.sort();
    for vlan in sorted {
        if vlan.first > next {
            return false;
        }
        next = next.max(vlan.last + 1);
    }
    next > 4094 && vlans.iter().all(|vlan| !vlan.untagged || vlan.first == 1)
}
