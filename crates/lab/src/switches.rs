//! The switches: one network namespace with a Linux bridge for each.
//!
//! ```text
//!            the switches' namespace                          a node's namespace
//!   s1  trunk ──── n0e1 ═══════════════ veth ═══════════════ enp6s0
//!   s1v20  trunk, VLAN 20 ── n0e1v20 ══ veth ═══════════════ enp6s0.20   (alias says what it stands for)
//! ```
//!
//! A kernel with 8021q needs no second line: a bridge passes tagged frames on as they are. Without it
//! a VLAN of a switch is a bridge of its own, made when the first node asks for it, so that frames of
//! two VLANs meet nowhere, whatever the links are called.
//!
//! Segments of their own ([`segments`]) connect nodes beside all switches.
//!
//! Names are numbers (a link's name has 15 bytes) and always the same for one place in the shape;
//! aliases say what they stand for.

pub(crate) mod segments;

use std::collections::{BTreeMap, BTreeSet};

use landbridge_linux::link::Bridge;
use landbridge_linux::monitor::{Event, Monitor, Watch};
use landbridge_linux::probe::{Capabilities, Feature};
use landbridge_linux::sysctl::{Conf, Sysctl, Sysctls};
use landbridge_linux::{
    Address, Handle, IfName, Link, LinkChange, LinkIndex, LinkKind, MacAddr, Namespace, NewLink,
};

use crate::error::{Error, Result};
use crate::info::Vlans;
use crate::spec::mac::derived;
use crate::spec::{Nic, Node, Shape, Switch};

/// A node with more VLANs than this is a mistake in a loop.
const MAX_VLANS: usize = 1024;

/// The switches of a running lab.
#[derive(Debug)]
pub(crate) struct Switches {
    net: Handle,
    vlans: Vlans,
    /// Cables that are pulled: node and NIC.
    cut: BTreeSet<(usize, usize)>,
}

/// A VLAN that a node asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Port {
    pub id: u16,
    pub name: IfName,
    pub alias: String,
    pub mtu: Option<u32>,
    pub mac: Option<MacAddr>,
}

impl Switches {
    /// Makes them, without any cable.
    pub fn build(shape: &Shape) -> Result<Self> {
        let namespace = Namespace::unnamed()?;
        let net = Handle::in_namespace(&namespace)?;
        let vlans =
            if Capabilities::probe()?.has(Feature::Vlan) { Vlans::Kernel } else { Vlans::Segments };
        let sysctls = Sysctls::of(&namespace);
        // A switch does not talk on its ports by itself.
        quiet(&sysctls, &Sysctl::disable_ipv6(Conf::Default), "1");
        net.set_up(&name("lo")?)?;
        let switches = Self { net, vlans, cut: BTreeSet::new() };
        for (number, switch) in shape.switches.iter().enumerate() {
            let bridge = switches.bridge(&segment(number, None)?, switch, &switch.name)?;
            if switch.addresses.iter().any(|net| net.addr().is_ipv6()) {
                quiet(&sysctls, &Sysctl::disable_ipv6(Conf::Link(&segment(number, None)?)), "0");
            }
            for address in &switch.addresses {
                let address = Address::new(bridge, *address).without_dad();
                switches.net.ensure_address(&address)?;
            }
        }
        Ok(switches)
    }

    pub fn namespace(&self) -> &Namespace {
        self.net.namespace()
    }

    pub fn vlans(&self) -> Vlans {
        self.vlans
    }

    fn bridge(&self, name: &IfName, switch: &Switch, alias: &str) -> Result<LinkIndex> {
        self.bridge_of(name, switch.mtu, alias)
    }

    fn bridge_of(&self, name: &IfName, mtu: u32, alias: &str) -> Result<LinkIndex> {
        let kind = LinkKind::Bridge(Bridge {
            stp: Some(false),
            // There is no querier; with snooping, neighbours would be lost after a while.
            multicast_snooping: Some(false),
            ..Bridge::default()
        });
        // A bridge without a MAC of its own borrows one of its ports, and another when that one goes.
        let bridge = NewLink::new(name.clone(), kind)
            .with_mtu(mtu)
            .with_mac(derived("switch", alias))
            .with_alias(alias)
            .up();
        Ok(self.net.ensure_link(&bridge)?.0.index)
    }

    /// Cables a node that has just been made. The NICs arrive switched off.
    pub fn plug(&self, shape: &Shape, number: usize, namespace: &Namespace) -> Result<()> {
        self.unplug(number)?;
        let node = node(shape, number)?;
        for (place, nic) in node.nics.iter().enumerate() {
            let switch = switch(shape, nic)?;
            let bridge = self.net.index(&segment(nic.switch, None)?)?;
            let mut port = NewLink::new(port(number, place, None)?, LinkKind::Veth)
                .in_master(bridge)
                .with_mtu(switch.mtu)
                .with_alias(format!("{} {}", node.name, nic.name));
            port.up = !self.cut.contains(&(number, place));
            let end =
                NewLink::new(nic.name.clone(), LinkKind::Veth).with_mtu(nic.mtu).with_mac(nic.mac);
            self.net.create_veth(&port, &end, Some(namespace))?;
        }
        Ok(())
    }

    /// Takes all cables of a node away.
    pub fn unplug(&self, number: usize) -> Result<()> {
        for link in self.net.links()? {
            let name = link.name.as_str();
            let of_nic = place_of(name).is_some_and(|place| place.node == number);
            if of_nic || segments::node_of(name) == Some(number) {
                self.net.delete_link(link.index)?;
            }
        }
        Ok(())
    }

    /// Gives a node a link into a VLAN of the switch behind one of its NICs. The link arrives
    /// switched off.
    pub fn vlan(
        &self,
        shape: &Shape,
        number: usize,
        place: usize,
        namespace: &Namespace,
        wanted: &Port,
    ) -> Result<()> {
        let node = node(shape, number)?;
        let nic = nic(node, place)?;
        let switch = switch(shape, nic)?;
        if !(1..=4094).contains(&wanted.id) {
            return Err(Error::refused(format!("VLAN {} is not between 1 and 4094", wanted.id)));
        }
        let links = self.net.links()?;
        let of_node = |name: &str| place_of(name).is_some_and(|it| it.node == number);
        if links.iter().filter(|link| of_node(link.name.as_str())).count() > MAX_VLANS {
            let reason = format!("{} has {MAX_VLANS} VLANs already", node.name);
            return Err(Error::refused(reason));
        }
        let alias = format!("{} VLAN {}", switch.name, wanted.id);
        let bridge = self.bridge(&segment(nic.switch, Some(wanted.id))?, switch, &alias)?;
        let port = NewLink::new(port(number, place, Some(wanted.id))?, LinkKind::Veth)
            .in_master(bridge)
            .with_mtu(switch.mtu)
            .with_alias(format!("{} {} VLAN {}", node.name, nic.name, wanted.id));
        let mut end = NewLink::new(wanted.name.clone(), LinkKind::Veth).with_alias(&wanted.alias);
        end.mtu = wanted.mtu;
        end.mac = wanted.mac;
        self.net.create_veth(&port, &end, Some(namespace)).map_err(|error| {
            if error.is_present() {
                // As the kernel would say it: one VLAN of a link, and one link of a name, once.
                return Error::io(
                    format!("give {} VLAN {} of {}", node.name, wanted.id, nic.name),
                    rustix::io::Errno::EXIST.into(),
                );
            }
            error.into()
        })?;
        self.follow()
    }

    /// Pulls a cable or plugs it in again; with it go the VLANs on it.
    pub fn set_cable(&mut self, number: usize, place: usize, plugged: bool) -> Result<()> {
        if plugged {
            self.cut.remove(&(number, place));
        } else {
            self.cut.insert((number, place));
        }
        let up = Some(plugged);
        let change = LinkChange { up, ..LinkChange::default() };
        self.net.change_link(&port(number, place, None)?, &change)?;
        self.follow()
    }

    /// Has the VLANs of each NIC carry frames as long as the NIC itself does: not while its cable is
    /// pulled, and not while the node has switched it off.
    pub fn follow(&self) -> Result<()> {
        for (vlan, up) in to_follow(&self.net.links()?) {
            let change = LinkChange { up: Some(up), ..LinkChange::default() };
            match self.net.change_link(vlan, &change) {
                // Its node has deleted it meanwhile.
                Err(error) if error.is_absent() => {}
                outcome => outcome?,
            }
        }
        Ok(())
    }

    /// Listens for what makes a call of [`follow`](Self::follow) necessary.
    pub fn monitor(&self) -> Result<Monitor> {
        let links = Watch {
            links: true,
            addresses: false,
            routes: false,
            rules: false,
            neighbours: false,
            buffer_bytes: None,
        };
        Ok(Monitor::in_namespace(self.namespace(), links)?)
    }

    /// The NICs of a node whose cables are pulled.
    pub fn cut(&self, number: usize, node: &Node) -> Vec<String> {
        let is_cut = |place: &usize| self.cut.contains(&(number, *place));
        let nics = node.nics.iter().enumerate();
        nics.filter(|(place, _)| is_cut(place)).map(|(_, nic)| nic.name.to_string()).collect()
    }

    /// The bridge's link of a switch.
    pub fn link(number: usize) -> Result<IfName> {
        segment(number, None)
    }
}

/// Whether something happened to a NIC's cable.
pub(crate) fn is_about_a_nic(event: &Event) -> bool {
    match event {
        Event::Link(link) => place_of(link.name.as_str()).is_some_and(|place| place.vlan.is_none()),
        Event::Resync(_) => true,
        _ => false,
    }
}

/// The ports of VLANs that are not as their NIC's port is, with how they are to be.
fn to_follow(links: &[Link]) -> Vec<(LinkIndex, bool)> {
    let mut nics = BTreeMap::new();
    let mut vlans = Vec::new();
    for link in links {
        match place_of(link.name.as_str()) {
            Some(Place { node, nic, vlan: None }) => {
                nics.insert((node, nic), link.up && link.carrier);
            }
            Some(Place { node, nic, vlan: Some(_) }) => vlans.push(((node, nic), link)),
            None => {}
        }
    }
    vlans
        .into_iter()
        .map(|(nic, link)| (link, nics.get(&nic).copied().unwrap_or(false)))
        .filter(|(link, up)| link.up != *up)
        .map(|(link, up)| (link.index, up))
        .collect()
}

/// A setting that makes the switch quieter and that it works without.
fn quiet(sysctls: &Sysctls, setting: &Sysctl, value: &str) {
    if let Err(error) = sysctls.ensure(setting, value) {
        tracing::debug!("{error}");
    }
}

fn node(shape: &Shape, number: usize) -> Result<&Node> {
    shape.nodes.get(number).ok_or_else(|| Error::refused("no such node"))
}

fn nic(node: &Node, place: usize) -> Result<&Nic> {
    node.nics.get(place).ok_or_else(|| Error::refused("no such NIC"))
}

fn switch<'a>(shape: &'a Shape, nic: &Nic) -> Result<&'a Switch> {
    shape.switches.get(nic.switch).ok_or_else(|| Error::refused("no such switch"))
}

fn name(text: &str) -> Result<IfName> {
    IfName::new(text).map_err(|error| Error::refused(format!("{text}: {error}")))
}

fn segment(switch: usize, vlan: Option<u16>) -> Result<IfName> {
    name(&match vlan {
        None => format!("s{switch}"),
        Some(id) => format!("s{switch}v{id}"),
    })
}

fn port(node: usize, nic: usize, vlan: Option<u16>) -> Result<IfName> {
    name(&match vlan {
        None => format!("n{node}e{nic}"),
        Some(id) => format!("n{node}e{nic}v{id}"),
    })
}

/// Where the other end of a port is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    node: usize,
    nic: usize,
    vlan: Option<u16>,
}

fn place_of(port: &str) -> Option<Place> {
    let (node, rest) = port.strip_prefix('n')?.split_once('e')?;
    let (nic, vlan) = match rest.split_once('v') {
        None => (rest, None),
        Some((nic, vlan)) => (nic, Some(vlan.parse().ok()?)),
    };
    Some(Place { node: node.parse().ok()?, nic: nic.parse().ok()?, vlan })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vlans_follow_their_nic() {
        use landbridge_linux::link::OperState;
        let link = |index, name: &str, up, carrier| Link {
            index: LinkIndex(index),
            name: IfName::new(name).unwrap(),
            alias: None,
            promiscuous: false,
            broadcast: true,
            no_arp: false,
            port: None,
            kind: LinkKind::Veth,
            mtu: 1500,
            mac: None,
            up,
            carrier,
            state: OperState::Up,
            master: None,
            parent: None,
            peer: None,
        };
        let links = [
            link(1, "lo", true, true),
            link(2, "n0e1", true, true),
            link(3, "n0e1v20", false, false),
            link(4, "n0e1v21", true, false),
            // Its node has switched it off.
            link(5, "n1e1", true, false),
            link(6, "n1e1v20", true, true),
            // Its cable is pulled.
            link(7, "n2e1", false, false),
            link(8, "n2e1v20", true, true),
            link(9, "n2e1v21", false, false),
            // Its NIC is gone.
            link(10, "n3e1v20", true, true),
        ];
        let changes: Vec<_> = to_follow(&links).iter().map(|(link, up)| (link.0, *up)).collect();
        assert_eq!(changes, [(3, true), (6, false), (8, false), (10, false)]);
    }

    #[test]
    fn a_port_tells_whose_it_is() {
        for place in [
            Place { node: 0, nic: 1, vlan: None },
            Place { node: 63, nic: 15, vlan: Some(4094) },
            Place { node: 11, nic: 0, vlan: Some(20) },
        ] {
            let name = port(place.node, place.nic, place.vlan).unwrap();
            assert_eq!(place_of(name.as_str()), Some(place));
        }
        for other in ["lo", "s1", "s1v20", "n1", "ne", "n1e", "n1e2v", "n1e2v70000"] {
            assert_eq!(place_of(other), None, "{other}");
        }
    }
}
