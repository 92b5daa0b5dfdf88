//! Who belongs to which bridge, bond or VRF.

use std::collections::BTreeMap;

use landbridge_linux::IfName;
use landbridge_linux::link::{Bridge, BridgeVlan};

use super::{Making, is_everything};
use crate::desired::{KindWish, PortVlans, PortWish, Presence, Wish};
use crate::error::Fault;
use crate::state::{BridgePort, Kind};

/// What a bridge with filtering gives to a new port.
pub(crate) fn default_vlans(pvid: u16) -> Vec<BridgeVlan> {
    if pvid == 0 { Vec::new() } else { vec![BridgeVlan::native(pvid)] }
}

/// The ports a wish names.
pub(super) fn named(wish: &Wish) -> impl Iterator<Item = &IfName> {
    let (bridge, others) = match &wish.kind {
        Some(KindWish::Bridge(bridge)) => (bridge.ports.as_deref(), None),
        Some(KindWish::Bond(bond)) => (None, bond.ports.as_deref()),
        Some(KindWish::Vrf { ports, .. }) => (None, ports.as_deref()),
        _ => (None, None),
    };
    bridge.into_iter().flatten().map(|port| &port.name).chain(others.into_iter().flatten())
}

fn lists_ports(wish: &Wish) -> bool {
    match &wish.kind {
        Some(KindWish::Bridge(bridge)) => bridge.ports.is_some(),
        Some(KindWish::Bond(bond)) => bond.ports.is_some(),
        Some(KindWish::Vrf { ports, .. }) => ports.is_some(),
        _ => false,
    }
}

impl Making<'_> {
    pub(super) fn ports(&mut self) -> Result<(), Fault> {
        let claims = self.claims()?;
        // Lists replace; what belongs to others (a pod's link) is not taken out.
        let lists: Vec<&IfName> =
            self.ups().filter(|wish| lists_ports(wish)).map(|wish| &wish.name).collect();
        let there: Vec<IfName> = self.goal.interfaces.keys().cloned().collect();
        for link in self.goal.interfaces.values_mut() {
            let stays = link.controller.as_ref().is_some_and(|controller| {
                there.contains(controller) && (link.foreign || !lists.contains(&controller))
            });
            if !stays {
                link.controller = None;
            }
        }
        for wish in self.ups() {
            match &wish.controller {
                Some(None) if !claims.contains_key(&wish.name) => {
                    if let Some(link) = self.goal.interfaces.get_mut(&wish.name) {
                        link.controller = None;
                    }
                }
                _ => {}
            }
        }
        for (name, (controller, place)) in &claims {
            self.join(name, controller, place)?;
        }
        for wish in self.ups() {
            if let Some(KindWish::Bridge(bridge)) = &wish.kind {
                self.bridge_ports(&wish.name, bridge.ports.as_deref().unwrap_or_default())?;
            }
        }
        for link in self.goal.interfaces.values_mut() {
            if link.controller.is_none() {
                link.port = None;
            }
        }
        Ok(())
    }

    /// Who is to belong where, by lists of ports and by `controller`.
    fn claims(&self) -> Result<BTreeMap<IfName, (IfName, String)>, Fault> {
        let mut claims: BTreeMap<IfName, (IfName, String)> = BTreeMap::new();
        for wish in self.ups() {
            let by_list = named(wish).map(|port| (port.clone(), wish.name.clone()));
            let by_key = wish.controller.iter().flatten();
            let by_key = by_key.map(|controller| (wish.name.clone(), controller.clone()));
            for (port, controller) in by_list.chain(by_key) {
                let before = claims.insert(port.clone(), (controller.clone(), wish.place.clone()));
                if let Some((other, _)) = before.filter(|(other, _)| *other != controller) {
                    let why =
                        format!("{port} is to belong to {other} and to {controller}: choose one");
                    return Err(Fault::new(&wish.place, why));
                }
            }
        }
        for wish in self.ups().filter(|wish| wish.controller == Some(None)) {
            if let Some((controller, place)) = claims.get(&wish.name) {
                let why = format!(
                    "it says that {} belongs to {controller}, but {}.controller is empty",
                    wish.name, wish.place
                );
                return Err(Fault::new(place, why));
            }
        }
        Ok(claims)
    }

    fn join(&mut self, name: &IfName, controller: &IfName, place: &str) -> Result<(), Fault> {
        let wish = self.desired.wish(name);
        let Some(above) = self.goal.interfaces.get(controller) else {
            return Err(Fault::new(place, format!("controller {controller} does not exist")));
        };
        let takes_addresses = match above.kind {
            Kind::Vrf { .. } => false,
            Kind::Bridge(_) | Kind::Bond(_) => true,
            ref other => {
                let why = format!("{controller} is a {} and has no ports", other.word());
                return Err(Fault::new(place, why));
            }
        };
        let bridge = matches!(above.kind, Kind::Bridge(_));
        let gone =
            wish.is_some_and(|wish| matches!(wish.presence, Presence::Down | Presence::Absent));
        let Some(link) = self.goal.interfaces.get_mut(name).filter(|_| !gone) else {
            let why = format!(
                "port {name} of {controller} does not exist on this node, or is to be down"
            );
            return Err(Fault::new(place, why));
        };
        if name == controller
            || link.kind == Kind::Loopback
            || bridge && matches!(link.kind, Kind::Bridge(_))
        {
            let why = format!(
                "{name} cannot be a port of {controller}: no loopback, no bridge in a bridge"
            );
            return Err(Fault::new(place, why));
        }
        if link.controller.as_ref() != Some(controller) {
            link.controller = Some(controller.clone());
            link.port = None;
        }
        if !takes_addresses {
            return Ok(());
        }
        let wants = wish.is_some_and(|wish| {
            let v4 = wish.ipv4.as_ref().filter(|ip| ip.enabled != Some(false));
            let v6 = wish.ipv6.as_ref().filter(|ip| ip.enabled != Some(false));
            let some = |nets: &Option<Vec<ipnet::IpNet>>| {
                nets.as_ref().is_some_and(|nets| !nets.is_empty())
            };
            v4.is_some_and(|ip| some(&ip.addresses) || ip.dhcp == Some(true))
                || v6.is_some_and(|ip| some(&ip.addresses) || ip.dhcp == Some(true))
        });
        if wants {
            let why = format!("a port of {controller} has no addresses: give them to {controller}");
            return Err(Fault::new(wish.map_or(place, |wish| &wish.place), why));
        }
        if !link.ipv4.addresses.is_empty() {
            self.notes.push(format!("{name} loses its addresses, being a port of {controller}"));
        }
        link.ipv4.addresses.clear();
        link.ipv6.addresses.retain(|address| address.automatic);
        self.goal.dhcp.retain(|request| request.link != *name);
        Ok(())
    }

    /// Options and VLANs of a bridge's ports.
    fn bridge_ports(&mut self, bridge: &IfName, ports: &[PortWish]) -> Result<(), Fault> {
        let Some(Kind::Bridge(options)) =
            self.goal.interfaces.get(bridge).map(|link| link.kind.clone())
        else {
            return Ok(());
        };
        let pvid = options.vlan_default_pvid.unwrap_or(1);
        let mut filtering = None;
        for wish in ports {
            let vlans = match &wish.vlans {
                None => None,
                Some(PortVlans::Unfiltered) => {
                    filtering = filtering.or(Some(false));
                    Some(default_vlans(pvid))
                }
                Some(PortVlans::Filtered(vlans)) => {
                    if self.can.vlan_filtering {
                        filtering = Some(true);
                        Some(with_native(vlans, pvid))
                    } else {
                        self.unfiltered(bridge, wish, vlans)?;
                        None
                    }
                }
            };
            let Some(link) = self.goal.interfaces.get_mut(&wish.name) else { continue };
            let new = link.port.is_none();
            let port = link.port.get_or_insert_with(BridgePort::default);
            port.options.hairpin = wish.options.hairpin.or(port.options.hairpin);
            port.options.cost = wish.options.cost.or(port.options.cost);
            port.options.priority = wish.options.priority.or(port.options.priority);
            if let Some(vlans) = vlans.or(new.then(|| default_vlans(pvid))) {
                port.vlans = if self.can.vlan_filtering { vlans } else { Vec::new() };
            }
        }
        if let (Some(_), Some(link)) = (filtering, self.goal.interfaces.get_mut(bridge)) {
            // A kernel that cannot filter has nothing to switch off.
            let on = filtering.filter(|_| self.can.vlan_filtering);
            link.kind =
                Kind::Bridge(Bridge { vlan_filtering: on.or(options.vlan_filtering), ..options });
        }
        Ok(())
    }

    /// Without filtering a bridge passes all VLANs, tags untouched. That is all right where all are
    /// wanted, and only there.
    fn unfiltered(
        &mut self,
        bridge: &IfName,
        wish: &PortWish,
        vlans: &[BridgeVlan],
    ) -> Result<(), Fault> {
        if !is_everything(vlans) {
            let why = "this kernel's bridge cannot filter VLANs (CONFIG_BRIDGE_VLAN_FILTERING): \
                       leave vlan out, or use a kernel that has it";
            return Err(Fault::new(format!("{}.vlan", wish.place), why));
        }
        self.notes.push(format!(
            "{bridge} passes all VLANs of {} without filtering, because this kernel has none",
            wish.name
        ));
        Ok(())
    }
}

/// In the kernel's order, with the bridge's own VLAN for frames without a tag where none is named.
fn with_native(vlans: &[BridgeVlan], pvid: u16) -> Vec<BridgeVlan> {
    let mut vlans = vlans.to_vec();
    if !vlans.iter().any(|vlan| vlan.pvid)
        && !vlans.iter().any(|vlan| (vlan.first..=vlan.last).contains(&pvid))
    {
        vlans.extend(default_vlans(pvid));
    }
    vlans.sort();
    // Neighbours that are alike are one range, as the kernel shows them.
    let mut joined: Vec<BridgeVlan> = Vec::new();
    for vlan in vlans {
        match joined.last_mut() {
            Some(last) if last.last + 1 == vlan.first && !last.untagged && !vlan.untagged => {
                last.last = vlan.last;
            }
            _ => joined.push(vlan),
        }
    }
    joined
}
