//! VLAN links that a namespace cannot make by itself everywhere.
//!
//! On a kernel with 8021q a VLAN is a link of that kind. On one without, a lab can give each VLAN a
//! wire of its own: a veth into the lab's switch. Such a veth says in its alias what it stands for,
//! and is read back as a VLAN.

use landbridge_linux::link::{Vlan, VlanProtocol};
use landbridge_linux::{Handle, IfName, LinkKind, NewLink};

/// What an alias of a wire starts with.
const MARK: &str = "landbridge:vlan";
/// What stands between the mark and a description.
const THEN: &str = " -- ";

/// A VLAN link to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VlanLink {
    pub name: IfName,
    /// The link whose VLAN it is.
    pub base: IfName,
    pub id: u16,
    pub protocol: VlanProtocol,
    /// Nothing is the base's.
    pub mtu: Option<u32>,
}

/// A link into a segment of a lab, which connects nodes and carries nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentLink {
    pub name: IfName,
    /// What the segment is known by; 1 to 11 letters, digits and hyphens.
    pub segment: String,
    pub mtu: u32,
    pub alias: String,
}

/// Why a wire was not made.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    #[error(transparent)]
    Linux(#[from] landbridge_linux::Error),
    /// Who was asked refused.
    #[error("{0}")]
    Refused(String),
}

/// Makes links that a namespace cannot make by itself everywhere.
pub trait Wires: Send + Sync {
    /// Makes the link `vlan.name` carrying VLAN `vlan.id` of the link `vlan.base`, in the handle's
    /// namespace, down and without addresses.
    fn make_vlan(&self, net: &Handle, vlan: &VlanLink) -> Result<(), WireError>;

    /// Makes the link `segment.name` into a segment, in the handle's namespace, down and without
    /// addresses. Only labs have segments.
    fn make_segment(&self, _net: &Handle, segment: &SegmentLink) -> Result<(), WireError> {
        let name = &segment.segment;
        Err(WireError::Refused(format!("only a lab has segments, so there is no segment {name}")))
    }
}

/// Real VLAN links, by the kernel's 8021q.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kernel;

impl Wires for Kernel {
    fn make_vlan(&self, net: &Handle, vlan: &VlanLink) -> Result<(), WireError> {
        let kind = LinkKind::Vlan(Vlan { id: vlan.id, protocol: vlan.protocol });
        let base = net.expect_link(&vlan.base)?;
        let mut link = NewLink::new(vlan.name.clone(), kind).on(base.index);
        // The base may be about to grow; until then the kernel takes no more.
        link.mtu = vlan.mtu.map(|mtu| mtu.min(base.mtu));
        net.create_link(&link)?;
        Ok(())
    }
}

/// What a wire stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wire {
    pub base: IfName,
    pub id: u16,
    pub protocol: VlanProtocol,
}

impl Wire {
    /// What a VLAN link is to say about itself.
    pub fn of(vlan: &VlanLink) -> Self {
        Self { base: vlan.base.clone(), id: vlan.id, protocol: vlan.protocol }
    }
}

/// The alias of a wire, with a description where there is one.
pub fn alias(wire: &Wire, description: Option<&str>) -> String {
    let protocol = match wire.protocol {
        VlanProtocol::Customer => "",
        VlanProtocol::Service => " protocol=802.1ad",
    };
    let mark = format!("{MARK} base={} id={}{protocol}", wire.base, wire.id);
    match description {
        Some(text) if !text.is_empty() => format!("{mark}{THEN}{text}"),
        _ => mark,
    }
}

/// What an alias says: the wire it marks, if any, and the description, if any.
pub fn parse_alias(alias: &str) -> (Option<Wire>, Option<&str>) {
    let (mark, description) = match alias.split_once(THEN) {
        Some((mark, rest)) => (mark, Some(rest)),
        None => (alias, None),
    };
    match parse_mark(mark) {
        Some(wire) => (Some(wire), description),
        None => (None, Some(alias).filter(|text| !text.is_empty())),
    }
}

fn parse_mark(mark: &str) -> Option<Wire> {
    let mut words = mark.strip_prefix(MARK)?.split_whitespace();
    let base = IfName::new(words.next()?.strip_prefix("base=")?).ok()?;
    let id: u16 = words.next()?.strip_prefix("id=")?.parse().ok()?;
    let protocol = match words.next() {
        None => VlanProtocol::Customer,
        Some("protocol=802.1ad") => VlanProtocol::Service,
        Some(_) => return None,
    };
    (words.next().is_none() && (1..=4094).contains(&id)).then_some(Wire { base, id, protocol })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_says_what_the_wire_is() {
        for (id, protocol) in [(20, VlanProtocol::Customer), (4094, VlanProtocol::Service)] {
            let wire = Wire { base: IfName::new("enp6s0").unwrap(), id, protocol };
            for description in [None, Some("internalapi vlan"), Some("a -- b id=3")] {
                let text = alias(&wire, description);
                assert_eq!(parse_alias(&text), (Some(wire.clone()), description), "{text}");
            }
        }
        let wire =
            Wire { base: IfName::new("enp6s0").unwrap(), id: 20, protocol: VlanProtocol::Customer };
        assert_eq!(alias(&wire, None), "landbridge:vlan base=enp6s0 id=20");
        for other in [
            "uplink",
            "landbridge:vlan",
            "landbridge:vlan base=a",
            "landbridge:vlan base=a id=0",
            "landbridge:vlan base=a id=4095",
            "landbridge:vlan base=a/b id=1",
            "landbridge:vlan base=a id=1 more",
        ] {
            assert_eq!(parse_alias(other), (None, Some(other)));
        }
        assert_eq!(parse_alias(""), (None, None));
    }
}
