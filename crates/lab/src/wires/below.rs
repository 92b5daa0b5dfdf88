//! From a link down to the NICs it stands on.

use landbridge_linux::IfName;
use landbridge_linux::link::{Link, LinkKind};
use landbridge_nodestate::wires::parse_alias;

/// Bridges in bridges do not go deeper than this.
const DEPTH: usize = 8;

/// The links at the bottom of a link: itself, or the ports of the bridge or bond it is. Which of them
/// are NICs only the lab knows: a pod's veth in a bridge looks the same.
pub(super) fn candidates(links: &[Link], base: &Link) -> Result<Vec<IfName>, String> {
    let mut found = Vec::new();
    follow(links, base, DEPTH, &mut found)?;
    Ok(found)
}

/// Whether a link stands for a VLAN.
fn is_wire(link: &Link) -> bool {
    link.alias.as_deref().is_some_and(|alias| parse_alias(alias).0.is_some())
}

fn follow(
    links: &[Link],
    link: &Link,
    depth: usize,
    found: &mut Vec<IfName>,
) -> Result<(), String> {
    if depth == 0 {
        return Err(format!("{} is nested too deep", link.name));
    }
    if is_wire(link) {
        return Err(format!("{} is a VLAN; VLANs in VLANs need a kernel with 8021q", link.name));
    }
    match &link.kind {
        LinkKind::Bridge(_) | LinkKind::Bond(_) => {
            for port in links.iter().filter(|port| port.master == Some(link.index)) {
                // A bridge may have a VLAN as a port; its NIC is not where untagged frames go.
                if !is_wire(port) {
                    follow(links, port, depth - 1, found)?;
                }
            }
        }
        LinkKind::Macvlan(_) => {
            let parent = link.parent.filter(|far| far.namespace.is_none());
            let parent = parent.and_then(|far| links.iter().find(|it| it.index == far.index));
            if let Some(parent) = parent {
                follow(links, parent, depth - 1, found)?;
            }
        }
        _ => found.push(link.name.clone()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use landbridge_linux::link::{Bridge, Far, LinkIndex, Macvlan, MacvlanMode, OperState};

    use super::*;

    fn link(index: u32, name: &str, kind: LinkKind, master: Option<u32>) -> Link {
        Link {
            index: LinkIndex(index),
            name: IfName::new(name).unwrap(),
            alias: None,
            promiscuous: false,
            broadcast: true,
            no_arp: false,
            port: None,
            kind,
            mtu: 1500,
            mac: None,
            up: true,
            carrier: true,
            state: OperState::Up,
            master: master.map(LinkIndex),
            parent: None,
            peer: None,
        }
    }

    #[test]
    fn bridges_and_macvlans_are_followed_down() {
        let bridge = || LinkKind::Bridge(Bridge::default());
        let mut links = vec![
            link(1, "lo", LinkKind::Loopback, None),
            link(2, "enp6s0", LinkKind::Veth, Some(4)),
            link(3, "veth27141d1f", LinkKind::Veth, Some(4)),
            link(4, "br-ex", bridge(), None),
            link(5, "mac0", LinkKind::Macvlan(Macvlan { mode: MacvlanMode::Bridge }), None),
            link(6, "br-empty", bridge(), None),
            link(7, "enp6s0.20", LinkKind::Veth, Some(4)),
        ];
        links[4].parent = Some(Far { index: LinkIndex(4), namespace: None });
        links[6].alias = Some("landbridge:vlan base=enp6s0 id=20".into());
        let below = |index: usize| {
            let found = candidates(&links, &links[index])?;
            Ok::<_, String>(found.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(below(1).unwrap(), "enp6s0");
        assert_eq!(below(3).unwrap(), "enp6s0 veth27141d1f");
        assert_eq!(below(4).unwrap(), "enp6s0 veth27141d1f");
        assert_eq!(below(5).unwrap(), "");
        assert!(below(6).unwrap_err().contains("VLANs in VLANs"));
    }
}
