//! Bridges of networks, and what connects them with other nodes.

use anyhow::{Context as _, bail};
use landbridge_fabric::{Network, NodePlan, Uplink, names};
use landbridge_linux::link::{Bridge, VlanProtocol};
use landbridge_linux::{Handle, IfName, Link, LinkIndex, LinkKind, NewLink};
use landbridge_nodestate::wires::{SegmentLink, VlanLink, Wires};

/// What the alias of a link on the node starts with that belongs to the cloud.
const MARK: &str = "landbridge:cloud ";

/// The node, the namespace of bridges, and who makes wires.
pub struct Networks<'a> {
    pub node: &'a Handle,
    pub cloud: &'a Handle,
    pub wires: &'a dyn Wires,
}

impl Networks<'_> {
    /// Has the bridge of a network, without anything on it.
    pub fn bridge(&self, network: &Network) -> anyhow::Result<LinkIndex> {
        let kind = LinkKind::Bridge(Bridge {
            stp: Some(false),
            // There is no querier; with snooping, neighbours would be lost after a while.
            multicast_snooping: Some(false),
            ..Bridge::default()
        });
        let bridge = NewLink::new(IfName::new(&names::bridge(&network.id))?, kind)
            .with_mtu(network.mtu)
            .with_alias(network.id.as_str())
            .up();
        Ok(self.cloud.ensure_link(&bridge)?.0.index)
    }

    /// Connects a network's bridge with the rest of it.
    pub fn connect(&self, network: &Network, bridge: LinkIndex) -> anyhow::Result<()> {
        let (near, far) = ends(&network.id)?;
        match &network.uplink {
            Uplink::Missing { network: physical } => {
                self.cloud.delete_link(&far)?;
                bail!(
                    "physical network {physical} has no link on this node: name one in ovnController's nicMappings"
                )
            }
            Uplink::Segment => self.segment(network, &near, &far)?,
            Uplink::Physical { network: physical, link, vlan } => {
                let base = IfName::new(link)?;
                let Some(base) = self.node.link(&base)? else {
                    bail!("physical network {physical} is to be on link {link}, which is not there")
                };
                match vlan {
                    None => self.patch(network, &base, &near, &far)?,
                    Some(id) => self.vlan(network, &base.name, *id, &near, &far)?,
                }
            }
        }
        let up = NewLink::new(far, LinkKind::Veth).in_master(bridge).with_mtu(network.mtu).up();
        let found = self.cloud.expect_link(&up.name)?;
        // A VLAN of the kernel is no veth, and as good.
        self.cloud.ensure_link(&NewLink { kind: found.kind, ..up })?;
        Ok(())
    }

    /// A wire from the lab, which arrives on the node.
    fn segment(&self, network: &Network, near: &IfName, far: &IfName) -> anyhow::Result<()> {
        if self.cloud.link(far)?.is_some() {
            return Ok(());
        }
        // Whoever died between asking and moving left one.
        if self.node.link(near)?.is_none() {
            let wanted = SegmentLink {
                name: near.clone(),
                segment: names::short(&network.id),
                mtu: network.mtu,
                alias: alias(&network.id),
            };
            self.wires.make_segment(self.node, &wanted)?;
        }
        self.node.move_link(near, self.cloud.namespace(), Some(far))?;
        Ok(())
    }

    fn vlan(
        &self,
        network: &Network,
        base: &IfName,
        id: u16,
        near: &IfName,
        far: &IfName,
    ) -> anyhow::Result<()> {
        if self.cloud.link(far)?.is_some() {
            return Ok(());
        }
        if self.node.link(near)?.is_none() {
            let wanted = VlanLink {
                name: near.clone(),
                base: base.clone(),
                id,
                protocol: VlanProtocol::Customer,
                mtu: Some(network.mtu),
            };
            let made = self.wires.make_vlan(self.node, &wanted);
            made.with_context(|| format!("VLAN {id} of {base}"))?;
        }
        self.node.move_link(near, self.cloud.namespace(), Some(far))?;
        Ok(())
    }

    /// A pair of links between a bridge of the node and the network's.
    fn patch(
        &self,
        network: &Network,
        base: &Link,
        near: &IfName,
        far: &IfName,
    ) -> anyhow::Result<()> {
        if !matches!(base.kind, LinkKind::Bridge(_)) {
            bail!(
                "link {} is no bridge: an untagged provider network needs one, so that the node keeps the link",
                base.name
            )
        }
        let (here, there) = (self.node.link(near)?, self.cloud.link(far)?);
        let paired = here
            .as_ref()
            .zip(there.as_ref())
            .is_some_and(|(here, there)| here.peer.is_some_and(|peer| peer.index == there.index));
        let end = NewLink::new(near.clone(), LinkKind::Veth)
            .in_master(base.index)
            .with_alias(alias(&network.id))
            .with_mtu(network.mtu)
            .up();
        if paired {
            // Policies make bridges anew; the link stays and belongs to none then.
            self.node.ensure_link(&end)?;
            return Ok(());
        }
        self.node.delete_link(near)?;
        self.cloud.delete_link(far)?;
        let other = NewLink::new(far.clone(), LinkKind::Veth).with_mtu(network.mtu).up();
        self.node.create_veth(&end, &other, Some(self.cloud.namespace()))?;
        Ok(())
    }

    /// Takes away what belongs to networks that are not here any more.
    pub fn sweep(&self, plan: &NodePlan) -> anyhow::Result<()> {
        let mut kept = Vec::new();
        for network in &plan.networks {
            let (near, far) = ends(&network.id)?;
            kept.extend([near.to_string(), far.to_string(), names::bridge(&network.id)]);
        }
        let unknown = |link: &Link| !kept.iter().any(|name| *name == link.name.as_str());
        for link in self.cloud.links()?.iter().filter(|link| unknown(link)) {
            if ["brq", "up"].iter().any(|prefix| link.name.as_str().starts_with(prefix)) {
                self.cloud.delete_link(link.index)?;
            }
        }
        sweep_node(self.node, unknown)
    }
}

/// Takes away what a node has of networks.
pub fn sweep_node(node: &Handle, unknown: impl Fn(&Link) -> bool) -> anyhow::Result<()> {
    let marked = |link: &&Link| link.alias.as_deref().is_some_and(|it| it.starts_with(MARK));
    for link in node.links()?.iter().filter(marked).filter(|link| unknown(link)) {
        node.delete_link(link.index)?;
    }
    Ok(())
}

fn alias(network: &str) -> String {
    format!("{MARK}{network}")
}

fn ends(network: &str) -> anyhow::Result<(IfName, IfName)> {
    Ok((IfName::new(&names::node_end(network))?, IfName::new(&names::uplink(network))?))
}
