//! Segments of their own: what connects the parts of a cloud's network on several nodes.
//!
//! ```text
//!   g3f2a1b4c-5d ─┬─ n0g3f2a1b4c-5d ══ veth ══ a link of worker-0
//!                 └─ n3g3f2a1b4c-5d ══ veth ══ a link of edpm-compute-0
//! ```
//!
//! A segment is a bridge among the switches that no NIC leads to. It is made for the first wire and goes
//! after the last one. On real nodes tunnels stand in this place.

use landbridge_linux::{Event, IfName, LinkKind, Namespace, NewLink};

use super::{Switches, name};
use crate::error::{Error, Result};
use crate::spec::SWITCH_MTU;

/// The longest name of a segment: with a node's number before it, a link's name is full.
const LONGEST: usize = 11;
/// The smallest MTU of IPv4.
const LEAST_MTU: u32 = 68;
/// A node with more wires than this is a mistake in a loop.
const MOST: usize = 1000;

/// A wire that a node asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire<'a> {
    /// The node, by its place in the shape, and its name.
    pub node: usize,
    pub called: &'a str,
    pub segment: &'a str,
    /// The link that the node gets.
    pub name: &'a IfName,
    pub mtu: u32,
    pub alias: &'a str,
}

impl Switches {
    /// Gives a node a link into a segment, switched off. One that it has already is taken away first: its
    /// end may have been lost with a namespace that somebody still holds.
    pub fn segment(&self, wire: &Wire<'_>, namespace: &Namespace) -> Result<()> {
        check(wire)?;
        let links = self.net.links()?;
        let of_node = links.iter().filter(|link| node_of(link.name.as_str()) == Some(wire.node));
        if of_node.count() >= MOST {
            let reason = format!("{} has {MOST} wires into segments already", wire.called);
            return Err(Error::refused(reason));
        }
        let bridge_name = name(&format!("g{}", wire.segment))?;
        let alias = format!("segment {}", wire.segment);
        let bridge = self.bridge_of(&bridge_name, SWITCH_MTU, &alias)?;
        let port_name = name(&format!("n{}g{}", wire.node, wire.segment))?;
        if self.net.delete_link(&port_name)? {
            tracing::info!("{} asks for its wire into {alias} again", wire.called);
        }
        let port = NewLink::new(port_name, LinkKind::Veth)
            .in_master(bridge)
            .with_mtu(SWITCH_MTU)
            .with_alias(format!("{} {alias}", wire.called))
            .up();
        let end = NewLink::new(wire.name.clone(), LinkKind::Veth)
            .with_mtu(wire.mtu)
            .with_alias(wire.alias);
        self.net.create_veth(&port, &end, Some(namespace))?;
        Ok(())
    }

    /// Takes segments away that nobody is on.
    pub fn sweep(&self) -> Result<()> {
        let links = self.net.links()?;
        for link in links.iter().filter(|link| is_segment(link.name.as_str())) {
            if !links.iter().any(|port| port.master == Some(link.index)) {
                self.net.delete_link(link.index)?;
            }
        }
        Ok(())
    }
}

/// Whether a segment may be without wires now.
pub(crate) fn may_have_ended_one(event: &Event) -> bool {
    match event {
        Event::LinkGone(link) => node_of(link.name.as_str()).is_some(),
        Event::Resync(_) => true,
        _ => false,
    }
}

fn check(wire: &Wire<'_>) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let length = wire.segment.len();
    if !(1..=LONGEST).contains(&length) || !wire.segment.chars().all(plain) {
        return Err(Error::refused(format!(
            "a segment is called by 1 to {LONGEST} letters, digits and hyphens"
        )));
    }
    if !(LEAST_MTU..=SWITCH_MTU).contains(&wire.mtu) {
        return Err(Error::refused(format!(
            "MTU {} is not between {LEAST_MTU} and {SWITCH_MTU}",
            wire.mtu
        )));
    }
    if wire.alias.len() > 255 || wire.alias.chars().any(char::is_control) {
        return Err(Error::refused("an alias is up to 255 characters that can be seen"));
    }
    Ok(())
}

fn is_segment(link: &str) -> bool {
    link.starts_with('g')
}

/// The node at the other end of a wire.
pub(super) fn node_of(port: &str) -> Option<usize> {
    let (node, segment) = port.strip_prefix('n')?.split_once('g')?;
    // A segment's name may hold anything; only the digits before it are the node's.
    (!segment.is_empty()).then(|| node.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wire_tells_whose_it_is() {
        for (port, node) in [
            ("n0g3f2a1b4c-5d", Some(0)),
            ("n63gn1e2v30", Some(63)),
            ("n1e2", None),
            ("n1e2v20", None),
            ("g3f2a", None),
            ("n1g", None),
            ("ngx", None),
            ("lo", None),
        ] {
            assert_eq!(node_of(port), node, "{port}");
        }
        // And no wire is mistaken for a NIC's.
        for port in ["n0g3f2a1b4c-5d", "n63gn1e2v30", "n1g1e2"] {
            assert_eq!(super::super::place_of(port), None, "{port}");
        }
    }
}
