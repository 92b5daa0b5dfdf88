//! Which interfaces lead to the same wire.
//!
//! A wire is a layer 2 segment. Interfaces are told apart by name over all nodes: a policy that
//! calls an interface `storage` on every node means one network. A VLAN interface is its base and
//! a number; a bridge or a bond is what its ports are. Everything else that has a place on a wire
//! (attachments, subnets, pools) is tied to it later, in [`crate::segments`].

use std::collections::HashMap;

use crate::facts::Facts;

/// A node in the forest of [`Wires`]. Two that have the same root are on one wire.
pub(crate) type Wire = usize;

/// Disjoint sets of things that are on one wire.
#[derive(Debug, Default)]
pub(crate) struct Wires<'a> {
    parents: Vec<Wire>,
    interfaces: HashMap<&'a str, Wire>,
    /// VLANs by the root of their base.
    links: HashMap<(Wire, u16), Wire>,
    /// What is known of a link: base and VLAN.
    tags: HashMap<Wire, (&'a str, u16)>,
}

impl<'a> Wires<'a> {
    /// The wires that policies describe.
    pub fn new(facts: &'a Facts<'_>) -> Self {
        let mut wires = Self::default();
        let interfaces = || {
            let all = facts.policies.iter().flat_map(|policy| &policy.wants.interfaces);
            all.filter(|interface| !interface.absent)
        };
        for interface in interfaces() {
            let wire = wires.interface(interface.name.value);
            for port in &interface.ports {
                let port = wires.interface(port.value);
                wires.join(wire, port);
            }
        }
        let mut vlans: HashMap<&str, u16> = HashMap::new();
        for interface in interfaces() {
            let Some((base, id)) = &interface.vlan else { continue };
            let Ok(id) = u16::try_from(id.value) else { continue };
            // One name with two numbers is reported elsewhere; joining both would hide it.
            if *vlans.entry(interface.name.value).or_insert(id) == id {
                let link = wires.link(base.value, id);
                let wire = wires.interface(interface.name.value);
                wires.join(wire, link);
            }
        }
        wires
    }

    /// A wire of its own.
    pub fn fresh(&mut self) -> Wire {
        self.parents.push(self.parents.len());
        self.parents.len() - 1
    }

    /// The wire of an interface that somebody names.
    pub fn interface(&mut self, name: &'a str) -> Wire {
        if let Some(wire) = self.interfaces.get(name) {
            return *wire;
        }
        let wire = self.fresh();
        self.interfaces.insert(name, wire);
        wire
    }

    /// The wire an attachment or advertisement names by interface. One that no policy makes is
    /// taken by its name: `enp6s0.20` is how Linux users call VLAN 20 on enp6s0.
    pub fn named(&mut self, name: &'a str) -> Wire {
        if let Some(wire) = self.interfaces.get(name) {
            return *wire;
        }
        let wire = self.interface(name);
        if let Some((base, id)) = tagged(name) {
            let link = self.link(base, id);
            self.join(wire, link);
        }
        wire
    }

    /// The wire that a NIC, or a VLAN on it, leads to.
    pub fn behind(&mut self, nic: &'a str, vlan: Option<u16>) -> Wire {
        match vlan {
            Some(id) => {
                self.named(nic);
                self.link(nic, id)
            }
            None => self.named(nic),
        }
    }

    /// The wire of a VLAN on an interface.
    pub fn link(&mut self, base: &'a str, id: u16) -> Wire {
        let wire = self.interface(base);
        let root = self.root(wire);
        if let Some(link) = self.links.get(&(root, id)) {
            return *link;
        }
        let link = self.fresh();
        self.links.insert((root, id), link);
        self.tags.insert(link, (base, id));
        link
    }

    /// Says that two are one.
    pub fn join(&mut self, a: Wire, b: Wire) {
        let (a, b) = (self.root(a), self.root(b));
        // The older root stays, so that numbers do not depend on how joins are ordered.
        let (older, younger) = (a.min(b), a.max(b));
        self.parents[younger] = older;
    }

    /// What tells a wire from all others.
    pub fn root(&mut self, wire: Wire) -> Wire {
        let mut root = wire;
        while self.parents[root] != root {
            root = self.parents[root];
        }
        let mut next = wire;
        while self.parents[next] != root {
            next = std::mem::replace(&mut self.parents[next], root);
        }
        root
    }

    /// The VLANs, each with its base and number, by root.
    pub fn tags(&mut self) -> HashMap<Wire, Vec<(&'a str, u16)>> {
        let all: Vec<_> = self.tags.iter().map(|(wire, tag)| (*wire, *tag)).collect();
        let mut tags: HashMap<Wire, Vec<_>> = HashMap::new();
        for (wire, tag) in all {
            tags.entry(self.root(wire)).or_default().push(tag);
        }
        for list in tags.values_mut() {
            list.sort_unstable();
        }
        tags
    }

    /// The names of interfaces, by root.
    pub fn names(&mut self) -> HashMap<Wire, Vec<&'a str>> {
        let all: Vec<_> = self.interfaces.iter().map(|(name, wire)| (*name, *wire)).collect();
        let mut names: HashMap<Wire, Vec<_>> = HashMap::new();
        for (name, wire) in all {
            names.entry(self.root(wire)).or_default().push(name);
        }
        for list in names.values_mut() {
            list.sort_unstable();
        }
        names
    }
}

fn tagged(name: &str) -> Option<(&str, u16)> {
    let (base, id) = name.rsplit_once('.')?;
    let id = id.parse().ok().filter(|id| (1..=4094).contains(id))?;
    (!base.is_empty()).then_some((base, id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_bases_and_ports_lead_to_the_wire() {
        let mut wires = Wires::default();
        let dotted = wires.named("enp6s0.20");
        let link = wires.link("enp6s0", 20);
        assert_eq!(wires.root(dotted), wires.root(link));
        let other = wires.link("enp6s0", 21);
        assert_ne!(wires.root(other), wires.root(link));
        let base = wires.named("enp6s0");
        assert_ne!(wires.root(base), wires.root(link));
        let bridge = wires.interface("octbr");
        wires.join(bridge, other);
        let root = wires.root(bridge);
        assert_eq!(wires.tags()[&root], [("enp6s0", 21)]);
        assert_eq!(wires.names()[&root], ["octbr"]);
        for plain in ["eth0", "eth0.x", "eth0.4095", ".20", "eth0.0"] {
            assert_eq!(tagged(plain), None, "{plain}");
        }
    }
}
