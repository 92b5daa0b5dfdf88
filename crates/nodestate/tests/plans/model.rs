//! A kernel of values: does one step at a time and refuses what a real one would refuse.

use std::collections::BTreeSet;

use landbridge_linux::link::BridgeVlan;
use landbridge_linux::route::Family;
use landbridge_linux::{IfName, LinkKind, Route};
use landbridge_nodestate::desired::Desired;
use landbridge_nodestate::plan::{Abilities, Setting, Step, goal};
use landbridge_nodestate::state::{BridgePort, Interface, IpAddress, Kind, State, is_configured};
use serde_json::Value;

use crate::plan;

/// What a plan leads to, checked against what was wanted.
pub fn reached(desired: &Value, now: &State, can: Abilities) -> State {
    let found = plan(desired, now, can).unwrap();
    let after = run(&found.steps, now, can);
    let (goal, _) = goal(&Desired::parse(desired).unwrap(), now, can).unwrap();
    assert_alike(&after, &goal, &found.to_string());
    after
}

/// Does the steps; one that a kernel refuses is a failure of the plan.
pub fn run(steps: &[Step], now: &State, can: Abilities) -> State {
    let mut kernel = Kernel { state: now.clone(), can };
    let all: Vec<String> = steps.iter().map(ToString::to_string).collect();
    for step in steps {
        if let Err(why) = kernel.perform(step) {
            panic!("{step}: {why}, in\n{}", all.join("\n"));
        }
    }
    kernel.state
}

struct Kernel {
    state: State,
    can: Abilities,
}

impl Kernel {
    fn link(&mut self, name: &IfName) -> Result<&mut Interface, String> {
        self.state.interfaces.get_mut(name).ok_or(format!("{name} does not exist"))
    }

    fn perform(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::StopDhcp { link, family } => {
                self.state.dhcp.retain(|other| other.link != *link || other.family != *family);
            }
            Step::StartDhcp(request) => {
                self.link(&request.link)?;
                self.state.dhcp.push(request.clone());
            }
            Step::DeleteRule(rule) => self.state.rules.retain(|other| other != &**rule),
            Step::AddRule(rule) => self.state.rules.push((**rule).clone()),
            Step::DeleteRoute(route) => {
                let before = self.state.routes.len();
                self.state.routes.retain(|other| other != &**route);
                if self.state.routes.len() == before {
                    return Err("no such route".into());
                }
            }
            Step::AddRoute(route) => self.add_route(route)?,
            Step::Detach { link, controller } => {
                if self.link(link)?.controller.as_ref() != Some(controller) {
                    return Err("it is not there".into());
                }
                self.release(link);
            }
            Step::DeleteLink { link, .. } => self.delete(link)?,
            Step::CreateLink { link, kind, mtu } => self.create(link, kind, *mtu)?,
            Step::Options { link, options } => {
                let found = self.link(link)?;
                found.kind = with_options(&found.kind, options);
            }
            Step::Describe { link, text } => {
                self.link(link)?.description = Some(text.clone()).filter(|text| !text.is_empty());
            }
            Step::Mac { link, mac } => self.link(link)?.mac = Some(*mac),
            Step::Promiscuous { link, on } => self.link(link)?.promiscuous = *on,
            Step::Set { link, setting, value } => self.set(link, *setting, *value)?,
            Step::Attach { link, controller } => self.attach(link, controller)?,
            Step::PortOptions { link, options } => {
                let port = self.link(link)?.port.as_mut().ok_or("it is no port")?;
                port.options.hairpin = options.hairpin.or(port.options.hairpin);
                port.options.cost = options.cost.or(port.options.cost);
                port.options.priority = options.priority.or(port.options.priority);
            }
            Step::PortVlans { link, from, to } => {
                let port = self.link(link)?.port.as_mut().ok_or("it is no port")?;
                if port.vlans != *from {
                    return Err(format!("its VLANs are {:?}", port.vlans));
                }
                port.vlans.clone_from(to);
            }
            Step::Mtu { link, mtu } => self.resize(link, *mtu)?,
            Step::Up { link } => {
                if let Kind::Vlan { base, .. } = self.link(link)?.kind.clone()
                    && !self.link(&base)?.up
                {
                    return Err("its base is down".into());
                }
                self.link(link)?.up = true;
            }
            Step::Down { link } => {
                self.link(link)?;
                self.shake(link);
                self.link(link)?.up = false;
            }
            Step::DeleteAddress { link, net } => self.delete_address(link, *net)?,
            Step::AddAddress { link, net } => self.add_address(link, *net)?,
            Step::Resolver(resolver) => self.state.resolver = resolver.clone(),
            Step::Hostname(name) => self.state.hostname.running.clone_from(name),
            Step::HostnameFile(name) => self.state.hostname.config.clone_from(name),
        }
        Ok(())
    }

    fn create(&mut self, name: &IfName, kind: &Kind, mtu: u32) -> Result<(), String> {
        if self.state.interfaces.contains_key(name) {
            return Err("it exists".into());
        }
        let mut link = Interface::new(kind.clone(), self.state.fresh);
        link.mtu = match kind.parent() {
            Some(base) => {
                let room = self.link(base)?.mtu;
                if matches!(kind, Kind::Vlan { .. }) && mtu != 0 { mtu.min(room) } else { room }
            }
            None => 1500,
        };
        if let Kind::Veth { peer } = kind {
            if self.state.interfaces.contains_key(peer) {
                return Err("its other end exists".into());
            }
            let other = Kind::Veth { peer: name.clone() };
            let mut far = Interface::new(other, self.state.fresh);
            far.mtu = 1500;
            self.state.interfaces.insert(peer.clone(), far);
        }
        self.state.interfaces.insert(name.clone(), link);
        Ok(())
    }

    fn delete(&mut self, name: &IfName) -> Result<(), String> {
        let kind = self.link(name)?.kind.clone();
        if !kind.is_virtual() {
            return Err("it is hardware".into());
        }
        if self.state.dhcp.iter().any(|request| request.link == *name) {
            return Err("a DHCP client still runs on it".into());
        }
        let ports: Vec<IfName> = self.state.ports(name).cloned().collect();
        for port in ports {
            self.release(&port);
        }
        self.state.interfaces.remove(name);
        self.forget_routes(name, None);
        let mut more: Vec<IfName> = self
            .state
            .interfaces
            .iter()
            .filter(|(_, link)| link.kind.parent() == Some(name))
            .map(|(name, _)| name.clone())
            .collect();
        if let Kind::Veth { peer } = kind {
            more.push(peer);
        }
        for other in more.into_iter().filter(|other| *other != *name) {
            if self.state.interfaces.contains_key(&other) {
                self.delete(&other)?;
            }
        }
        Ok(())
    }

    /// Whether the controller makes its ports pass through being down.
    fn shakes(&self, controller: &IfName) -> Option<&Kind> {
        let kind = self.state.interfaces.get(controller).map(|link| &link.kind)?;
        matches!(kind, Kind::Bond(_) | Kind::Vrf { .. }).then_some(kind)
    }

    fn release(&mut self, name: &IfName) {
        let Some(controller) =
            self.state.interfaces.get(name).and_then(|link| link.controller.clone())
        else {
            return;
        };
        let kind = self.shakes(&controller).cloned();
        if kind.is_some() {
            self.shake(name);
        }
        if let Some(link) = self.state.interfaces.get_mut(name) {
            link.controller = None;
            link.port = None;
            link.up &= !matches!(kind, Some(Kind::Bond(_)));
        }
    }

    fn attach(&mut self, name: &IfName, controller: &IfName) -> Result<(), String> {
        if self.link(name)?.controller.is_some() {
            return Err("it belongs elsewhere".into());
        }
        let above = self.link(controller)?.kind.clone();
        let can = self.can;
        match above {
            Kind::Bridge(options) => {
                let pvid = options.vlan_default_pvid.unwrap_or(1);
                let vlans = if can.vlan_filtering && pvid != 0 {
                    vec![BridgeVlan::native(pvid)]
                } else {
                    Vec::new()
                };
                self.link(name)?.port = Some(BridgePort { vlans, ..BridgePort::default() });
            }
            Kind::Bond(_) => {
                self.shake(name);
                self.link(name)?.up = true;
            }
            Kind::Vrf { .. } => self.shake(name),
            other => return Err(format!("{} takes no ports", other.word())),
        }
        self.link(name)?.controller = Some(controller.clone());
        Ok(())
    }

    /// Down, and perhaps up again: IPv6 addresses and routes are lost.
    fn shake(&mut self, name: &IfName) {
        if let Some(link) = self.state.interfaces.get_mut(name) {
            link.ipv6.addresses.clear();
        }
        self.forget_routes(name, None);
    }

    fn forget_routes(&mut self, name: &IfName, family: Option<Family>) {
        self.state.routes.retain(|route| {
            !route.links().any(|link| link == name)
                || family.is_some_and(|family| route.family() != family)
        });
    }

    fn set(&mut self, name: &IfName, setting: Setting, value: u8) -> Result<(), String> {
        let link = self.link(name)?;
        match setting {
            Setting::Ipv4Forwarding => link.ipv4.forwarding = value != 0,
            Setting::Ipv6Forwarding => link.ipv6.forwarding = value != 0,
            Setting::AcceptRa => link.ipv6.accept_ra = value,
            Setting::Ipv6Off => {
                link.ipv6.enabled = value == 0;
                if value != 0 {
                    link.ipv6.addresses.clear();
                    self.forget_routes(name, Some(Family::Ipv6));
                }
            }
        }
        Ok(())
    }

    fn resize(&mut self, name: &IfName, mtu: u32) -> Result<(), String> {
        let kind = self.link(name)?.kind.clone();
        if let Kind::Vlan { base, .. } | Kind::Macvlan { base, .. } = &kind
            && self.link(base)?.mtu < mtu
        {
            return Err("it is larger than its base".into());
        }
        self.link(name)?.mtu = mtu;
        for link in self.state.interfaces.values_mut() {
            let limited = matches!(link.kind, Kind::Vlan { .. } | Kind::Macvlan { .. });
            if limited && link.kind.parent() == Some(name) && link.mtu > mtu {
                link.mtu = mtu;
            }
        }
        Ok(())
    }

    fn add_address(&mut self, name: &IfName, net: ipnet::IpNet) -> Result<(), String> {
        let link = self.link(name)?;
        let v4 = net.addr().is_ipv4();
        if !v4 && !link.ipv6.enabled {
            return Err("IPv6 is off".into());
        }
        let list = if v4 { &mut link.ipv4.addresses } else { &mut link.ipv6.addresses };
        if let Some(found) = list.iter_mut().find(|address| address.net == net) {
            found.automatic = false;
            return Ok(());
        }
        let secondary = v4 && list.iter().any(|other| other.net.trunc() == net.trunc());
        list.push(IpAddress { secondary, ..IpAddress::fixed(net) });
        Ok(())
    }

    fn delete_address(&mut self, name: &IfName, net: ipnet::IpNet) -> Result<(), String> {
        let link = self.link(name)?;
        let v4 = net.addr().is_ipv4();
        let list = if v4 { &mut link.ipv4.addresses } else { &mut link.ipv6.addresses };
        let Some(at) = list.iter().position(|address| address.net == net) else {
            return Ok(()); // it went with the first of its network
        };
        let gone = list.remove(at);
        let mut lost = vec![net.addr()];
        if v4 && !gone.secondary {
            let goes = |other: &IpAddress| other.secondary && other.net.trunc() == net.trunc();
            lost.extend(list.iter().filter(|other| goes(other)).map(|other| other.net.addr()));
            list.retain(|other| !goes(other));
        }
        let bare = v4 && list.is_empty();
        if bare {
            self.forget_routes(name, Some(Family::Ipv4));
        }
        if v4 {
            self.state.routes.retain(|route| !route.source.is_some_and(|ip| lost.contains(&ip)));
        }
        Ok(())
    }

    fn add_route(&mut self, route: &Route<IfName>) -> Result<(), String> {
        for name in route.links() {
            let link = self.link(name)?;
            if !link.up {
                return Err(format!("{name} is down"));
            }
        }
        if !self.state.routes.contains(route) {
            self.state.routes.push(route.clone());
        }
        Ok(())
    }
}

/// The options that are given, over those that are there.
fn with_options(kind: &Kind, options: &LinkKind) -> Kind {
    fn over<T: serde::Serialize + serde::de::DeserializeOwned>(old: &T, new: &T) -> T {
        let mut all = serde_json::to_value(old).unwrap();
        let new = serde_json::to_value(new).unwrap();
        for (key, value) in new.as_object().unwrap().iter().filter(|(_, value)| !value.is_null()) {
            all[key] = value.clone();
        }
        serde_json::from_value(all).unwrap()
    }
    match (kind, options) {
        (Kind::Bridge(old), LinkKind::Bridge(new)) => Kind::Bridge(over(old, new)),
        (Kind::Bond(old), LinkKind::Bond(new)) => Kind::Bond(over(old, new)),
        (Kind::Vxlan { base, options: old }, LinkKind::Vxlan(new)) => {
            Kind::Vxlan { base: base.clone(), options: over(old, new) }
        }
        (Kind::Macvlan { base, .. }, LinkKind::Macvlan(new)) => {
            Kind::Macvlan { base: base.clone(), mode: new.mode }
        }
        (kind, options) => panic!("{kind:?} has no options {options:?}"),
    }
}

/// Equal but for what a wish leaves to the kernel.
pub fn assert_alike(found: &State, wanted: &State, plan: &str) {
    let names = |state: &State| state.interfaces.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(found), names(wanted), "{plan}");
    for (name, wanted) in &wanted.interfaces {
        let found = &found.interfaces[name];
        let same =
            found.kind.turns_into(&wanted.kind) && found.kind.missing(&wanted.kind).is_none();
        assert!(same, "{name}: {:?} is not {:?}\n{plan}", found.kind, wanted.kind);
        if wanted.mtu != 0 {
            assert_eq!(found.mtu, wanted.mtu, "{name}\n{plan}");
        }
        if wanted.mac.is_some() {
            assert_eq!(found.mac, wanted.mac, "{name}\n{plan}");
        }
        let plain = |link: &Interface| {
            (
                link.up,
                link.description.clone(),
                link.promiscuous,
                link.controller.clone(),
                link.ipv4.forwarding,
                link.ipv6.enabled,
                link.ipv6.forwarding,
                link.ipv6.accept_ra,
            )
        };
        assert_eq!(plain(found), plain(wanted), "{name}\n{plan}");
        let nets = |list: &[IpAddress]| {
            let lasting = list.iter().filter(|address| !address.automatic);
            lasting.map(|address| address.net).collect::<BTreeSet<_>>()
        };
        for family in [Family::Ipv4, Family::Ipv6] {
            assert_eq!(
                nets(found.addresses(family)),
                nets(wanted.addresses(family)),
                "{name}\n{plan}"
            );
        }
        if let (Some(found), Some(wanted)) = (&found.port, &wanted.port)
            && !wanted.vlans.is_empty()
        {
            assert_eq!(found.vlans, wanted.vlans, "{name}\n{plan}");
        }
    }
    let routes = |state: &State| {
        let configured = state.routes.iter().filter(|route| is_configured(route));
        configured.map(|route| format!("{route:?}")).collect::<BTreeSet<_>>()
    };
    assert_eq!(routes(found), routes(wanted), "{plan}");
    let rules =
        |state: &State| state.rules.iter().map(|rule| format!("{rule:?}")).collect::<BTreeSet<_>>();
    assert_eq!(rules(found), rules(wanted), "{plan}");
    let dhcp = |state: &State| {
        state.dhcp.iter().map(|request| format!("{request:?}")).collect::<BTreeSet<_>>()
    };
    assert_eq!(dhcp(found), dhcp(wanted), "{plan}");
    assert_eq!((&found.resolver, &found.hostname), (&wanted.resolver, &wanted.hostname), "{plan}");
}
