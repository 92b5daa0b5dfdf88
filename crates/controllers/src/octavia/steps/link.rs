//! The router between pods and amphorae, its ports, and the way back.

use landbridge_openstack::{Call, Service};
use landbridge_plan::octavia::Design;
use serde_json::{Value, json};

use super::super::marks::Noted;
use super::super::names::{ROUTER, TenantNames};
use super::super::seen::Thing;
use super::super::usual;
use super::networks::Laid;
use super::{Kind, Wanted, Work, map};

/// Ports of routers, whatever kind of router it is.
pub(super) fn is_plugged(port: &Thing) -> bool {
    !port.text("device_id").is_empty()
}

impl<'a> Work<'a> {
    pub(super) fn link(
        &mut self,
        design: &Design,
        admin: &str,
        groups: &[Option<&'a Thing>],
        provider: Option<Laid<'a>>,
        tenants: &[(TenantNames, Option<Laid<'a>>)],
    ) {
        let router = self.router(design, admin, provider);
        for (names, laid) in tenants {
            let Some(Laid { network, subnet: Some(subnet) }) = laid else { continue };
            let groups: Option<Vec<&Thing>> = groups.iter().take(2).copied().collect();
            let Some(groups) = groups else { continue };
            let Some(port) = self.port(names, admin, network, subnet, &groups) else { continue };
            if let Some(router) = router {
                self.plug(design, names, router, port, subnet);
            }
        }
    }

    fn router(
        &mut self,
        design: &Design,
        admin: &str,
        provider: Option<Laid<'a>>,
    ) -> Option<&'a Thing> {
        let gateway = design.gateway?.to_string();
        let mut wanted = Wanted {
            kind: Kind::Router,
            name: ROUTER,
            project: Some(admin),
            new: map(json!({"admin_state_up": true})),
            fields: usual::router(),
            fixed: map(json!({})),
        };
        let routers = self.seen.routers.iter();
        let Some(Laid { network, subnet: Some(subnet) }) = provider else {
            // Nowhere to lead to yet; one that is there is still known as ours.
            let mut trial = Work::new(self.owner, self.seen, self.options);
            let choice = trial.noted(&wanted, Noted::Router, routers);
            self.made_router = choice.one.filter(|_| choice.is_made);
            return None;
        };
        let info = json!({
            "network_id": network.id(), "enable_snat": false,
            "external_fixed_ips": [{"ip_address": gateway, "subnet_id": subnet.id()}],
        });
        wanted.new.insert("external_gateway_info".to_owned(), info.clone());
        if !design.zones.is_empty() {
            wanted.new.insert("availability_zone_hints".to_owned(), json!(design.zones));
        }
        wanted.fields.insert("external_gateway_info".to_owned(), info);
        let choice = self.noted(&wanted, Noted::Router, routers);
        self.made_router = choice.one.filter(|_| choice.is_made);
        let router = choice.one?;
        self.decision.found.gateway = Some(gateway);
        wanted.fixed = map(json!({"availability_zone_hints": design.zones}));
        for text in wanted.immovable(router) {
            self.trouble(format!(
                "{text}: put availabilityZones of the Octavia back, or delete the router; it is made anew then"
            ));
        }
        Some(router)
    }

    fn port(
        &mut self,
        names: &TenantNames,
        admin: &str,
        network: &'a Thing,
        subnet: &'a Thing,
        groups: &[&Thing],
    ) -> Option<&'a Thing> {
        let groups: Vec<&str> = groups.iter().map(|group| group.id()).collect();
        let new = json!({
            "network_id": network.id(), "admin_state_up": true, "security_groups": groups,
            "fixed_ips": [{"subnet_id": subnet.id()}],
        });
        let on_it =
            || self.seen.ports.iter().filter(|port| port.text("network_id") == network.id());
        let named = on_it().find(|port| port.name() == names.port);
        let mut fields = usual::port(named);
        fields.insert("security_groups".to_owned(), json!(groups));
        let mut wanted = Wanted {
            kind: Kind::Port,
            name: &names.port,
            project: Some(admin),
            new: map(new),
            fields,
            fixed: map(json!({})),
        };
        let has_address = |port: &Thing| address_on(port, subnet).is_some();
        // An address is Neutron's choice; that there is one is not.
        if on_it().any(|port| port.name() == names.port && !has_address(port)) {
            wanted.fields.insert("fixed_ips".to_owned(), json!([{"subnet_id": subnet.id()}]));
        }
        // A port that is not ours to choose has its project from whoever made it.
        if on_it().any(|port| port.name() == names.port && port.project() != admin) {
            wanted.project = None;
        }
        // Neutron changes what kind of NIC it is only for a port that is bound nowhere.
        let kind = map(json!({"binding:vnic_type": "normal"}));
        let is_free = |port: &Thing| matches!(port.text("binding:vif_type"), "" | "unbound");
        if named.is_none_or(is_free) {
            wanted.fields.extend(kind);
        } else {
            wanted.fixed = kind;
        }
        let ports = on_it().collect::<Vec<_>>();
        let choice = self.noted(&wanted, Noted::Port, ports.into_iter());
        let port = choice.one?;
        for text in wanted.immovable(port) {
            self.trouble(format!(
                "{text} while it is bound: delete the port ({}), or take it out of the router; it is made anew then",
                port.id()
            ));
        }
        if choice.is_made {
            self.made_ports.push((network.id().to_owned(), port.id().to_owned()));
        }
        Some(port)
    }

    /// Plugs the port into the router; when it is in, tells amphorae the way back.
    fn plug(
        &mut self,
        design: &Design,
        names: &TenantNames,
        router: &Thing,
        port: &Thing,
        subnet: &Thing,
    ) {
        if !is_plugged(port) {
            if address_on(port, subnet).is_none() {
                return; // Neutron refuses it without one
            }
            let title = format!("plug port {} into router {ROUTER}", names.port);
            let path = format!("/routers/{}/add_router_interface", router.id());
            let body = json!({"port_id": port.id()});
            return self.step(title, Call::put(Service::Network, path, body).once());
        }
        if port.text("device_id") != router.id() {
            return self.trouble(format!(
                "port {} ({}) is in use by {} {}, not by router {ROUTER} ({}): free the port, or delete it; it is \
                 made anew then",
                names.port,
                port.id(),
                port.text("device_owner"),
                port.text("device_id"),
                router.id()
            ));
        }
        // Neutron has several words for ports of routers.
        if !port.text("device_owner").contains("router") {
            let title = format!("say that port {} is the router's", names.port);
            let body = json!({"port": {"device_owner": "network:router_interface"}});
            self.step(title, Call::put(Service::Network, format!("/ports/{}", port.id()), body));
        }
        let Some(address) = address_on(port, subnet) else { return };
        let routes = json!([{"destination": design.provider.to_string(), "nexthop": address}]);
        let have = subnet.get("host_routes").unwrap_or(&Value::Null);
        if !super::super::compare::is_same(&routes, have) {
            let title = format!("tell amphorae on {} the way to the controllers", names.subnet);
            let body = json!({"subnet": {"host_routes": routes}});
            self.step(
                title,
                Call::put(Service::Network, format!("/subnets/{}", subnet.id()), body),
            );
        }
    }
}

/// The port's address on a subnet.
fn address_on<'p>(port: &'p Thing, subnet: &Thing) -> Option<&'p str> {
    let own = port.list("fixed_ips").find(|ip| ip["subnet_id"] == subnet.id());
    own.and_then(|ip| ip["ip_address"].as_str())
}
