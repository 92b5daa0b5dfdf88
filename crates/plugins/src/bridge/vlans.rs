//! VLANs of a bridge that tells them apart: those of a port, and where a VLAN's gateway is.

use landbridge_addr::net::VlanId;
use landbridge_cni::plugins::Bridge;
use landbridge_linux::link::{Bridge as Kind, BridgeVlan};
use landbridge_linux::probe::{Capabilities, Feature};
use landbridge_linux::{Handle, IfName, Link, LinkKind, NewLink};

use crate::failure::{Context, Outcome, internal, unsupported};
use crate::pod::{name_of, random_name};

/// The VLAN of untagged packets on a trunk that names none.
const NATIVE: u16 = 1;

/// What a port lets through: the untagged VLAN, then the tagged ones in ranges.
pub(super) fn of(config: &Bridge) -> Vec<BridgeVlan> {
    let trunk = config.trunk.as_deref().unwrap_or_default();
    let native = match config.vlan {
        Some(id) => id.get(),
        None if trunk.is_empty() => return Vec::new(),
        None => NATIVE,
    };
    let mut vlans = vec![BridgeVlan::native(native)];
    // Tagged as well would take the untagged one away.
    for id in trunk.iter().map(|id| id.get()).filter(|id| *id != native) {
        match vlans.last_mut() {
            Some(range) if !range.pvid && range.last + 1 == id => range.last = id,
            _ => vlans.push(BridgeVlan::tagged(id, id)),
        }
    }
    vlans
}

/// Says so where a bridge that is to be made cannot tell VLANs apart: this kernel would make one
/// that does not, and say nothing.
pub(super) fn can_be_filtered() -> Outcome<()> {
    let kernel = Capabilities::probe().doing(|| "failed to ask the kernel".to_owned())?;
    match kernel.why_not(Feature::BridgeVlanFiltering) {
        None => Ok(()),
        Some(why) => Err(unsupported(format!(
            "bridge: \"vlan\" and \"vlanTrunk\" are not supported here ({why}): give each VLAN a \
             bridge of its own on the VLAN's interface"
        ))),
    }
}

/// A bridge that is there stays as it is; one that tells no VLANs apart would connect what the
/// configuration parts.
pub(super) fn is_filtered(bridge: &Link) -> Outcome<()> {
    match &bridge.kind {
        LinkKind::Bridge(Kind { vlan_filtering: Some(true), .. }) => Ok(()),
        _ => Err(internal(format!(
            "bridge \"{0}\" is there and does not tell VLANs apart: give its ports VLANs in the \
             policy that makes it, or: ip link set {0} type bridge vlan_filtering 1",
            bridge.name
        ))),
    }
}

/// Gives a new port its VLANs, and takes that away which every port gets.
pub(super) fn give(node: &Handle, bridge: &Link, port: &Link, config: &Bridge) -> Outcome<()> {
    let vlans = of(config);
    let default = match &bridge.kind {
        LinkKind::Bridge(Kind { vlan_default_pvid: Some(id), .. }) => *id,
        _ => NATIVE,
    };
    // Zero: the bridge gives its ports none.
    if !vlans.is_empty() && !config.preserve_default_vlan && default != 0 {
        node.delete_bridge_vlan(port.index, BridgeVlan::native(default))
            .doing(|| format!("failed to remove default vlan on interface \"{}\"", port.name))?;
    }
    for vlan in vlans {
        node.add_bridge_vlan(port.index, vlan)
            .doing(|| format!("failed to setup vlan tag on interface \"{}\"", port.name))?;
    }
    Ok(())
}

/// Looks whether a port still lets through what it should.
pub(super) fn check(node: &Handle, port: &Link, config: &Bridge) -> Outcome<()> {
    let wanted = of(config);
    if wanted.is_empty() {
        return Ok(());
    }
    let all = node.bridge_vlans().doing(|| "failed to read the VLANs of bridges".to_owned())?;
    let found = all.get(&port.index).map(Vec::as_slice).unwrap_or_default();
    for vlan in wanted {
        let let_through = found.iter().any(|there| {
            (there.pvid, there.untagged) == (vlan.pvid, vlan.untagged)
                && there.first <= vlan.first
                && vlan.last <= there.last
        });
        if !let_through {
            let how = if vlan.pvid { "untagged" } else { "tagged" };
            return Err(internal(format!(
                "\"{}\" does not let VLANs {} to {} through {how}",
                port.name, vlan.first, vlan.last
            )));
        }
    }
    Ok(())
}

/// The link that holds the gateway's addresses in a VLAN: one end of a pair, the other of which is
/// a port of the bridge. It stays, as the bridge does.
pub(super) fn gateway(node: &Handle, bridge: &Link, id: VlanId, config: &Bridge) -> Outcome<Link> {
    let name = name_of(&format!("{}.{id}", bridge.name))?;
    let what = || format!("failed to find vlan gateway interface \"{name}\"");
    let link = match node.link(&name).doing(what)? {
        Some(found) => found,
        None => make_gateway(node, bridge, &name)?,
    };
    let port = match link.peer {
        Some(far) => node.link(far.index).doing(what)?,
        None => None,
    };
    // Whoever made the pair may have stopped in the middle: what is missing is done again.
    if let Some(port) = port.filter(|port| port.master == Some(bridge.index)) {
        let access = Bridge { trunk: None, ..config.clone() };
        give(node, bridge, &port, &access)?;
        node.set_up(&port.name).doing(what)?;
    }
    node.set_up(&name).doing(what)?;
    node.expect_link(&name).doing(what)
}

fn make_gateway(node: &Handle, bridge: &Link, name: &IfName) -> Outcome<Link> {
    let what = || format!("failed to create vlan gateway \"{name}\"");
    let near = NewLink::new(random_name()?, LinkKind::Veth).in_master(bridge.index);
    let near = near.with_mtu(bridge.mtu);
    let link = NewLink::new(name.clone(), LinkKind::Veth).with_mtu(bridge.mtu);
    match node.create_veth(&near, &link, None) {
        // Another pod's ADD was faster.
        Err(error) if !error.is_present() => Err(error).doing(what)?,
        _ => {}
    }
    node.expect_link(name).doing(what)
}

#[cfg(test)]
mod tests {
    use landbridge_cni::args::Args;
    use landbridge_cni::config::Input;

    use super::*;

    #[test]
    fn ports_get_ranges() {
        let (native, tagged) = (BridgeVlan::native, BridgeVlan::tagged);
        for (keys, expected) in [
            ("", vec![]),
            (r#","vlanTrunk":[]"#, vec![]),
            (r#","vlan":20"#, vec![native(20)]),
            (r#","vlanTrunk":[{"id":20}]"#, vec![native(1), tagged(20, 20)]),
            (
                r#","vlan":3,"vlanTrunk":[{"minID":2,"maxID":6},{"id":9}]"#,
                vec![native(3), tagged(2, 2), tagged(4, 6), tagged(9, 9)],
            ),
            (r#","vlanTrunk":[{"minID":1,"maxID":4094}]"#, vec![native(1), tagged(2, 4094)]),
            (r#","vlan":5,"vlanTrunk":[{"id":6}]"#, vec![native(5), tagged(6, 6)]),
        ] {
            let text = format!(r#"{{"cniVersion":"1.0.0","name":"n","type":"bridge"{keys}}}"#);
            let input = Input::parse(text.as_bytes()).unwrap();
            assert_eq!(of(&Bridge::read(&input, &Args::default()).unwrap()), expected, "{keys}");
        }
    }
}
