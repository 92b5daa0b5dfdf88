//! Ports: one end in a network's bridge, the other in the namespace of an instance or a router.

use landbridge_fabric::names;
use landbridge_linux::link::Master;
use landbridge_linux::{Handle, IfName, Link, LinkChange, LinkIndex, LinkKind, MacAddr, NewLink};

/// A port as it is to be.
pub struct Plug<'a> {
    pub port: &'a str,
    pub mac: MacAddr,
    pub mtu: u32,
    /// Whether frames pass.
    pub up: bool,
    pub bridge: LinkIndex,
}

/// Both ends.
pub struct Plugged {
    pub tap: LinkIndex,
    pub inside: Link,
}

impl Plug<'_> {
    /// Has the port. `name` says what the end inside is called if it has to be made, given what is there.
    ///
    /// The end inside is an instance's own affair once it is made, so it is known by its pair and not by name or MAC.
    pub fn ensure(
        &self,
        cloud: &Handle,
        inside: &Handle,
        name: impl FnOnce(&[Link]) -> anyhow::Result<IfName>,
    ) -> anyhow::Result<Plugged> {
        let tap = IfName::new(&names::tap(self.port))?;
        let links = inside.links()?;
        let found = cloud.link(&tap)?;
        let pair = found.as_ref().and_then(|tap| {
            let peer = tap.peer.filter(|peer| peer.namespace.is_some())?;
            links.iter().find(|link| link.index == peer.index && link.kind == LinkKind::Veth)
        });
        if let (Some(tap), Some(inside)) = (&found, pair) {
            self.align(cloud, tap)?;
            return Ok(Plugged { tap: tap.index, inside: inside.clone() });
        }
        if found.is_some() {
            cloud.delete_link(&tap)?;
        }
        let name = name(&links)?;
        let mut near = NewLink::new(tap, LinkKind::Veth)
            .in_master(self.bridge)
            .with_mtu(self.mtu)
            .with_alias(self.port);
        near.up = self.up;
        let far = NewLink::new(name.clone(), LinkKind::Veth)
            .with_mac(self.mac)
            .with_mtu(self.mtu)
            .with_alias(self.port)
            .up();
        let tap = cloud.create_veth(&near, &far, Some(inside.namespace()))?.index;
        Ok(Plugged { tap, inside: inside.expect_link(&name)? })
    }

    fn align(&self, cloud: &Handle, tap: &Link) -> anyhow::Result<()> {
        let change = LinkChange {
            mtu: (tap.mtu != self.mtu).then_some(self.mtu),
            up: (tap.up != self.up).then_some(self.up),
            master: (tap.master != Some(self.bridge)).then_some(Master::Link(self.bridge)),
            ..LinkChange::default()
        };
        Ok(cloud.change_link(tap, &change)?)
    }
}

/// Takes away all ports but those.
pub fn sweep(cloud: &Handle, kept: &[String]) -> anyhow::Result<()> {
    for link in cloud.links()? {
        let name = link.name.as_str();
        if name.starts_with("tap") && !kept.iter().any(|kept| kept == name) {
            cloud.delete_link(link.index)?;
        }
    }
    Ok(())
}
