//! Taking away what was made, in the order Neutron wants: out of the router, ports, subnets, networks, router,
//! groups. What was adopted stays, without our marks.

use std::collections::BTreeSet;

use landbridge_openstack::{Call, Service};
use landbridge_plan::octavia::Design;
use serde_json::{Value, json};

use super::super::marks::{Noted, Whose, is_role};
use super::super::names::{self, GROUPS, PROVIDER_NETWORK, PROVIDER_SUBNET, ROUTER};
use super::super::seen::{Seen, Thing};
use super::link::is_plugged;
use super::{Kind, Work};

/// Ports that Neutron makes for itself, and takes away by itself.
const NEUTRONS: [&str; 3] = ["network:dhcp", "network:distributed", "network:router_gateway"];

fn in_use(network: &Thing, others: &[&Thing]) -> String {
    let title = |port: &&Thing| {
        let (name, owner) = (port.name(), port.text("device_owner"));
        let whose = if owner.is_empty() { "nobody's" } else { owner };
        format!("{} ({whose})", if name.is_empty() { port.id() } else { name })
    };
    let some: Vec<String> = others.iter().take(3).map(title).collect();
    let more = if others.len() > 3 { " and others" } else { "" };
    format!(
        "network {} cannot go: it is still in use by {}{more}; delete the load balancers first",
        network.name(),
        some.join(", ")
    )
}

impl<'a> Work<'a> {
    /// Networks of ours that nobody wants any more, and those that are to be made anew.
    pub(super) fn obsolete(&mut self, design: &Design) {
        let wanted: Vec<String> =
            design.tenants.iter().map(|tenant| names::tenant(tenant).network).collect();
        let is_wanted = |network: &Thing| {
            is_role(network, PROVIDER_NETWORK) || wanted.iter().any(|name| is_role(network, name))
        };
        let networks: Vec<&Thing> = self.seen.networks.iter().collect();
        for network in networks {
            let is_ours = network.tags().any(|tag| tag == self.owner.tag());
            let is_doomed = self.doomed.contains(network.id());
            if is_doomed || (is_ours && !is_wanted(network)) {
                self.tear_down(network);
            }
        }
    }

    /// What was just made, and renamed by somebody before it was noted: what it is for cannot be told any more.
    pub(super) fn strays(&mut self, design: &Design) {
        let mut names: BTreeSet<String> =
            [PROVIDER_NETWORK, PROVIDER_SUBNET, ROUTER].map(str::to_owned).into();
        names.extend(GROUPS.iter().map(|(name, ..)| (*name).to_owned()));
        for tenant in &design.tenants {
            let own = names::tenant(tenant);
            names.extend([own.network, own.subnet, own.port]);
        }
        let owner = self.owner;
        let is_stray =
            move |thing: &&Thing| owner.is_newborn(thing) && !names.contains(thing.name());
        let Seen { networks, subnets, ports, routers, groups, .. } = self.seen;
        for network in networks.iter().filter(&is_stray) {
            self.tear_down(network);
        }
        for port in ports.iter().filter(&is_stray) {
            self.unplug(port);
        }
        for (kind, things) in
            [(Kind::Subnet, subnets), (Kind::Router, routers), (Kind::Group, groups)]
        {
            for thing in things.iter().filter(&is_stray) {
                self.delete(kind, thing, "here");
            }
        }
    }

    pub(super) fn remove_all(&mut self) {
        let networks: Vec<&Thing> = self.seen.networks.iter().collect();
        for network in networks {
            if self.owner.whose(network) == Whose::Ours {
                self.tear_down(network);
            }
        }
        self.remove_router();
        let ports = self.own_ports();
        self.take_groups_off();
        for group in &self.seen.groups {
            if self.owner.whose(group) != Whose::Ours {
                continue;
            }
            if !self.is_made(group) {
                self.forget(Kind::Group, group);
            } else if ports.is_empty() {
                self.delete(Kind::Group, group, "here");
            }
        }
    }

    /// Ports that were there before stay, without groups that go.
    fn take_groups_off(&mut self) {
        let going: Vec<&str> =
            self.seen.groups.iter().filter(|group| self.is_made(group)).map(Thing::id).collect();
        let own = self.own_ports();
        for port in &self.seen.ports {
            let groups: Vec<&str> =
                port.list("security_groups").filter_map(Value::as_str).collect();
            let staying: Vec<&str> =
                groups.iter().copied().filter(|group| !going.contains(group)).collect();
            let is_own = own.iter().any(|one| one.id() == port.id());
            if !is_own && staying.len() < groups.len() {
                let title = format!("take security groups off port {}", port.name());
                let body = json!({"port": {"security_groups": staying}});
                self.step(
                    title,
                    Call::put(Service::Network, format!("/ports/{}", port.id()), body),
                );
            }
        }
    }

    /// Ports that were made here.
    fn own_ports(&self) -> Vec<&'a Thing> {
        let notes = |id: &str| {
            let mut tags = self.seen.networks.iter().flat_map(|n| Noted::Port.ids(n.tags()));
            tags.any(|noted| noted == id)
        };
        let is_own = |port: &&Thing| notes(port.id()) || self.owner.is_newborn(port);
        self.seen.ports.iter().filter(is_own).collect()
    }

    /// Routers that were made here. Usually one.
    fn own_routers(&self) -> Vec<&'a Thing> {
        let notes = |id: &str| {
            let mut tags = self.seen.networks.iter().flat_map(|n| Noted::Router.ids(n.tags()));
            tags.any(|noted| noted == id)
        };
        let is_own = |router: &&Thing| notes(router.id()) || self.owner.is_newborn(router);
        self.seen.routers.iter().filter(is_own).collect()
    }

    /// The next step on the way to a network's end. As long as somebody else is on it nothing is touched: half of a
    /// network is worse than one that nobody wants.
    fn tear_down(&mut self, network: &'a Thing) {
        let routers = self.own_routers();
        let is_plugged_here = |port: &Thing| {
            port.text("device_owner").starts_with("network:router_interface")
                && routers.iter().any(|router| router.id() == port.text("device_id"))
        };
        let mut ports = self.own_ports();
        ports.retain(|port| port.text("network_id") == network.id());
        if self.is_made(network) {
            let Some(users) = self.seen.users.get(network.id()) else {
                self.decision.asks.insert(network.id().to_owned());
                return;
            };
            let is_ours = |user: &&Thing| {
                ports.iter().any(|port| port.id() == user.id())
                    || is_plugged_here(user)
                    || NEUTRONS.contains(&user.text("device_owner"))
            };
            let others: Vec<&Thing> = users.iter().filter(|user| !is_ours(user)).collect();
            if !others.is_empty() {
                let text = in_use(network, &others);
                return self.trouble(text);
            }
            // Whose note was lost, and still sits in our router.
            for user in users.iter().filter(|user| is_plugged_here(user)) {
                if ports.iter().all(|port| port.id() != user.id()) {
                    ports.push(user);
                }
            }
        }
        for port in &ports {
            self.unplug(port);
        }
        // The router's own port goes with its gateway.
        let is_gateway = |router: &&Thing| {
            router
                .get("external_gateway_info")
                .is_some_and(|info| info["network_id"] == network.id())
        };
        let gateways: Vec<&Thing> = self.seen.routers.iter().filter(is_gateway).collect();
        if ports.is_empty() && gateways.is_empty() {
            self.clear(network);
        }
        for router in gateways {
            let is_own = self.own_routers().iter().any(|own| own.id() == router.id());
            if is_own || self.is_made(network) {
                let title = format!("take router {} off network {}", router.name(), network.name());
                let body = json!({"router": {"external_gateway_info": {}}});
                let path = format!("/routers/{}", router.id());
                self.step(title, Call::put(Service::Network, path, body));
            } else {
                self.clear(network);
            }
        }
    }

    fn unplug(&mut self, port: &Thing) {
        if !is_plugged(port) {
            return self.delete(Kind::Port, port, "here");
        }
        if !port.text("device_owner").starts_with("network:router_interface") {
            return self.trouble(format!(
                "port {} ({}) is in use by {} {}: free it",
                port.name(),
                port.id(),
                port.text("device_owner"),
                port.text("device_id")
            ));
        }
        let title = format!("take port {} out of router {ROUTER}", port.name());
        let path = format!("/routers/{}/remove_router_interface", port.text("device_id"));
        self.step(title, Call::put(Service::Network, path, json!({"port_id": port.id()})));
    }

    /// Subnets, then the network: Neutron says so if somebody still uses them.
    fn clear(&mut self, network: &Thing) {
        let on_it = self.seen.subnets.iter().filter(|one| one.text("network_id") == network.id());
        let own: Vec<&Thing> =
            on_it.filter(|subnet| self.owner.whose(subnet) == Whose::Ours).collect();
        let is_made = self.is_made(network);
        for subnet in &own {
            if self.is_made(subnet) {
                self.delete(Kind::Subnet, subnet, "here");
            } else {
                self.forget(Kind::Subnet, subnet);
            }
        }
        if !own.is_empty() {
            return;
        }
        // A note about a router is needed until the router is gone.
        let has_notes = self
            .own_routers()
            .iter()
            .any(|router| Noted::Router.ids(network.tags()).any(|id| id == router.id()));
        let is_last = || {
            let others = self.seen.networks.iter().filter(|other| other.id() != network.id());
            !others.flat_map(|other| Noted::Router.ids(other.tags())).any(|_| true)
        };
        if has_notes && is_last() {
            return self.remove_router();
        }
        if is_made {
            self.delete(Kind::Network, network, "here");
        } else {
            self.forget(Kind::Network, network);
        }
    }

    /// Once nothing of ours is plugged into it.
    fn remove_router(&mut self) {
        let ports = self.own_ports();
        for router in self.own_routers() {
            let is_used = ports.iter().any(|port| port.text("device_id") == router.id());
            if !is_used {
                self.delete(Kind::Router, router, "here");
            }
        }
    }
}
