//! From a cloud to the plans of a lab's nodes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../cloud/world.rs"]
#[allow(dead_code, clippy::needless_pass_by_value)] // shared with the tests of the other services
mod world;

use std::collections::BTreeMap;

use landbridge_cloudlet::fabric::{Kind, Node, Site, plans};
use landbridge_cloudlet::{Config, Request, Service};
use landbridge_fabric::{Direction, NodePlan, Port, Rule, Uplink};
use serde_json::{Value, json};
use world::{World, config, id};

fn site() -> Site {
    let node = |name: &str, kind| Node { name: name.to_owned(), kind, ready: true };
    Site {
        nodes: vec![
            node("worker-0", Kind::Kubernetes),
            node("worker-1", Kind::Kubernetes),
            node("edpm-compute-0", Kind::Host),
            node("edpm-compute-1", Kind::Host),
        ],
        links: BTreeMap::from([("octavia".to_owned(), "octbr".to_owned())]),
    }
}

/// A cloud with a flavor and an image to boot from.
struct Stage {
    world: World,
    flavor: String,
    image: String,
}

impl Stage {
    fn new() -> Self {
        let hosts = ["edpm-compute-0", "edpm-compute-1"].map(str::to_owned).to_vec();
        let mut world = World::with(Config { compute_hosts: hosts, ..config() });
        let flavor = json!({"flavor": {"name": "m1", "ram": 512, "vcpus": 1, "disk": 1}});
        let flavor = call(&mut world, Service::Compute, "POST", "/v2.1/flavors", &flavor);
        let image = json!({"name": "i", "disk_format": "raw", "container_format": "bare"});
        let image = call(&mut world, Service::Image, "POST", "/v2/images", &image);
        let (flavor, image) = (id(&flavor["flavor"]), id(&image));
        Self { world, flavor, image }
    }

    fn make(&mut self, plural: &str, object: Value) -> Value {
        self.world.make("admin", plural, object)
    }

    fn change(&mut self, path: &str, body: &Value) -> Value {
        let answer = self.world.neutron_with("admin", &format!("PUT {path}"), body);
        assert_eq!(answer.status, 200, "{path}: {}", answer.value());
        answer.value()
    }

    fn boot(&mut self, name: &str, nics: &Value) -> String {
        let server = json!({"server": {
            "name": name, "flavorRef": self.flavor, "imageRef": self.image, "networks": nics,
        }});
        let made = call(&mut self.world, Service::Compute, "POST", "/v2.1/servers", &server);
        id(&made["server"])
    }

    fn act(&mut self, server: &str, action: &Value) {
        let path = format!("/v2.1/servers/{server}/action");
        call(&mut self.world, Service::Compute, "POST", &path, action);
    }

    fn plans(&self) -> BTreeMap<String, NodePlan> {
        plans(self.world.cloud.state(), &site())
    }

    /// Of the only port of the only instance.
    fn port(&self) -> Port {
        let plans = self.plans();
        let mut all = plans.values().flat_map(|plan| &plan.instances).flat_map(|it| &it.ports);
        let port = all.next().unwrap().clone();
        assert!(all.next().is_none());
        port
    }
}

fn call(world: &mut World, service: Service, method: &str, path: &str, body: &Value) -> Value {
    let request = Request::new(service, method.parse().unwrap(), path);
    let answer = world.send(request.token(&world.tokens["admin"].clone()).json(body));
    assert!(answer.status.is_success(), "{path}: {} {}", answer.status, answer.value());
    answer.value()
}

/// The seed's networks: ids of the provider network, lb-mgmt-net and the router.
fn octavia(stage: &mut Stage) -> (String, String, String) {
    let provider = stage.make(
        "networks",
        json!({
            "name": "octavia-provider-net", "router:external": true,
            "provider:network_type": "flat", "provider:physical_network": "octavia",
        }),
    );
    let provider = id(&provider);
    stage.make("subnets", json!({
        "network_id": provider, "cidr": "172.23.0.0/24", "ip_version": 4, "enable_dhcp": false,
        "gateway_ip": null, "allocation_pools": [{"start": "172.23.0.71", "end": "172.23.0.96"}],
    }));
    let tenant = id(&stage.make("networks", json!({"name": "lb-mgmt-net"})));
    let subnet = stage.make(
        "subnets",
        json!({
            "network_id": tenant, "cidr": "172.24.0.0/16", "ip_version": 4, "gateway_ip": null,
            "allocation_pools": [{"start": "172.24.0.5", "end": "172.24.1.88"}],
            "dns_nameservers": ["172.24.0.2"],
        }),
    );
    let port = stage.make(
        "ports",
        json!({
            "name": "lb-mgmt-router-port", "network_id": tenant,
            "fixed_ips": [{"ip_address": "172.24.1.89", "subnet_id": id(&subnet)}],
        }),
    );
    let router = stage.make(
        "routers",
        json!({
            "name": "octavia-link-router", "external_gateway_info": {
                "network_id": provider, "enable_snat": false,
                "external_fixed_ips": [{"ip_address": "172.23.0.150"}],
            },
        }),
    );
    let router = id(&router);
    stage.change(&format!("routers/{router}/add_router_interface"), &json!({"port_id": id(&port)}));
    let routes = json!([{"destination": "172.23.0.0/24", "nexthop": "172.24.1.89"}]);
    stage.change(&format!("subnets/{}", id(&subnet)), &json!({"subnet": {"host_routes": routes}}));
    (provider, tenant, router)
}

#[test]
fn the_seeds_networks_lead_from_octbr_to_the_instances() {
    let mut stage = Stage::new();
    let (provider, tenant, router) = octavia(&mut stage);
    let one = stage.boot("amphora-1", &json!([{"uuid": tenant}]));
    let two = stage.boot("amphora-2", &json!([{"uuid": tenant}]));
    let plans = stage.plans();
    let worker = &plans["worker-0"];
    assert_eq!(worker.routers.len(), 1);
    let planned = &worker.routers[0];
    assert_eq!(
        (planned.id.as_str(), planned.snat),
        (router.as_str(), None),
        "nothing is translated"
    );
    assert!(planned.floating.is_empty() && planned.routes.is_empty());
    let mut sides: Vec<(bool, String)> =
        planned.interfaces.iter().map(|it| (it.outside, it.addresses[0].to_string())).collect();
    sides.sort();
    let expected = [(false, "172.24.1.89/16".to_owned()), (true, "172.23.0.150/24".to_owned())];
    assert_eq!(sides, expected);
    let uplink = |plan: &NodePlan, id: &str| {
        plan.networks.iter().find(|net| net.id == id).map(|net| (net.mtu, net.uplink.clone()))
    };
    let octbr =
        Uplink::Physical { network: "octavia".to_owned(), link: "octbr".to_owned(), vlan: None };
    assert_eq!(uplink(worker, &provider), Some((1500, octbr)));
    assert_eq!(uplink(worker, &tenant), Some((1442, Uplink::Segment)));
    assert!(plans["worker-1"].is_empty());
    // Each host has one, and nothing of the provider network.
    for (host, server) in [("edpm-compute-0", &one), ("edpm-compute-1", &two)] {
        let plan = &plans[host];
        assert_eq!((plan.networks.len(), plan.routers.len()), (1, 0), "{host}");
        assert_eq!(plan.instances[0].id, *server);
        let port = &plan.instances[0].ports[0];
        let (fixed, server) = port.leased().unwrap();
        assert_eq!(fixed.address.prefix_len(), 16);
        assert_eq!((fixed.gateway, server.to_string().as_str()), (None, "172.24.0.1"));
        assert_eq!(fixed.routes[0].nexthop.to_string(), "172.24.1.89");
        assert_eq!(port.resolvers[0].to_string(), "172.24.0.2");
    }
}

#[test]
fn a_router_moves_when_its_node_goes() {
    let mut stage = Stage::new();
    octavia(&mut stage);
    let at = |site: &Site| {
        let plans = plans(stage.world.cloud.state(), site);
        let with = plans.into_iter().filter(|(_, plan)| !plan.routers.is_empty());
        with.map(|(node, _)| node).collect::<Vec<_>>()
    };
    let mut site = site();
    assert_eq!(at(&site), ["worker-0"]);
    site.nodes[0].ready = false;
    assert_eq!(at(&site), ["worker-1"]);
    site.nodes[1].ready = false;
    assert_eq!(at(&site), Vec::<String>::new(), "a compute node has no octbr");
    site.nodes[0].ready = true;
    site.links.clear();
    let plans = plans(stage.world.cloud.state(), &site);
    let missing = Uplink::Missing { network: "octavia".to_owned() };
    assert!(plans["worker-0"].networks.iter().any(|net| net.uplink == missing));
}

#[test]
fn only_what_runs_is_made() {
    let mut stage = Stage::new();
    let (_, tenant, router) = octavia(&mut stage);
    let server = stage.boot("vm", &json!([{"uuid": tenant}]));
    let running =
        |stage: &Stage| stage.plans().values().map(|it| it.instances.len()).sum::<usize>();
    assert_eq!(running(&stage), 1);
    stage.act(&server, &json!({"os-stop": null}));
    assert_eq!(running(&stage), 0);
    stage.act(&server, &json!({"os-start": null}));
    assert_eq!(running(&stage), 1);
    stage.change(&format!("routers/{router}"), &json!({"router": {"admin_state_up": false}}));
    assert!(stage.plans().values().all(|plan| plan.routers.is_empty()));
    let path = format!("/v2.1/servers/{server}");
    call(&mut stage.world, Service::Compute, "DELETE", &path, &json!({}));
    assert!(stage.plans().values().all(NodePlan::is_empty));
}

#[test]
fn groups_are_resolved_to_addresses() {
    let mut stage = Stage::new();
    let net = id(&stage.make("networks", json!({"name": "n"})));
    stage.make("subnets", json!({"network_id": net, "cidr": "10.0.0.0/24", "ip_version": 4}));
    let group = id(&stage.make("security-groups", json!({"name": "g"})));
    let others = id(&stage.make("security-groups", json!({"name": "o"})));
    let mut add = |rule: Value| {
        let mut rule = rule;
        rule["security_group_id"] = group.as_str().into();
        stage.make("security-group-rules", rule);
    };
    add(
        json!({"direction": "ingress", "protocol": "tcp", "port_range_min": 22, "port_range_max": 23,
        "remote_ip_prefix": "192.0.2.0/24"}),
    );
    add(json!({"direction": "ingress", "protocol": "udp", "remote_group_id": others}));
    add(json!({"direction": "ingress", "ethertype": "IPv6", "protocol": "icmp"}));
    let port = stage.make(
        "ports",
        json!({
            "network_id": net, "security_groups": [group],
            "allowed_address_pairs": [{"ip_address": "10.0.0.128/25"}],
        }),
    );
    stage.boot("vm", &json!([{"port": id(&port)}]));
    let security = |stage: &Stage| stage.port().security.unwrap();
    let planned = security(&stage);
    assert_eq!(planned.pairs[0].address.to_string(), "10.0.0.128/25");
    assert_eq!(planned.pairs[0].mac, stage.port().mac, "without one it is the port's");
    let find = |stage: &Stage, protocol: u8| {
        let rules = security(stage).rules;
        rules.into_iter().find(|rule: &Rule| rule.protocol == Some(protocol)).unwrap()
    };
    let tcp = find(&stage, 6);
    assert_eq!((tcp.first, tcp.last), (Some(22), Some(23)));
    assert_eq!(tcp.remotes.unwrap()[0].to_string(), "192.0.2.0/24");
    let icmp = find(&stage, 58);
    assert!(icmp.ipv6 && icmp.remotes.is_none(), "ICMP of IPv6 is ICMPv6");
    assert_eq!(find(&stage, 17).remotes, Some(vec![]), "nobody is a member yet");
    let egress = planned.rules.iter().filter(|rule| rule.direction == Direction::Egress).count();
    assert_eq!(egress, 2, "a group begins with everything out");
    // Members come, with all their addresses, and go.
    let member = stage.make("ports", json!({
        "network_id": net, "security_groups": [others], "fixed_ips": [{"ip_address": "10.0.0.77"}],
        "allowed_address_pairs": [{"ip_address": "10.0.0.99"}],
    }));
    let remotes: Vec<String> =
        find(&stage, 17).remotes.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(remotes, ["10.0.0.77/32", "10.0.0.99/32"]);
    let gone = stage.world.neutron("admin", &format!("DELETE ports/{}", id(&member)));
    assert_eq!(gone.status, 204);
    assert_eq!(find(&stage, 17).remotes, Some(vec![]));
    // Without port security nothing is guarded.
    let bare = json!({"port": {"port_security_enabled": false, "security_groups": [],
        "allowed_address_pairs": []}});
    stage.change(&format!("ports/{}", id(&port)), &bare);
    assert_eq!(stage.port().security, None);
}

#[test]
fn addresses_are_leased_or_told_otherwise() {
    let mut stage = Stage::new();
    let net = id(&stage.make("networks", json!({"name": "n"})));
    let mut subnet = |object: Value| {
        let mut object = object;
        object["network_id"] = net.as_str().into();
        id(&stage.make("subnets", object))
    };
    let leased = subnet(json!({"cidr": "10.0.0.0/24", "ip_version": 4}));
    let told = subnet(json!({"cidr": "10.1.0.0/24", "ip_version": 4, "enable_dhcp": false}));
    let six = subnet(json!({"cidr": "fd00:1::/64", "ip_version": 6, "gateway_ip": "fd00:1::1"}));
    let fixed: Vec<Value> =
        [&told, &leased, &leased, &six].iter().map(|id| json!({"subnet_id": id})).collect();
    let port = stage.make("ports", json!({"network_id": net, "fixed_ips": fixed}));
    stage.boot("vm", &json!([{"port": id(&port)}]));
    let planned = stage.port();
    assert_eq!(planned.fixed.len(), 4);
    let leases = planned.fixed.iter().filter(|fixed| fixed.dhcp.is_some()).count();
    assert_eq!(leases, 1, "one address is leased, as with OVN");
    let (fixed, server) = planned.leased().unwrap();
    assert!(fixed.address.to_string().starts_with("10.0.0."));
    assert_eq!(server.to_string(), "10.0.0.1");
    let gateway = |start: &str| {
        let one = planned.fixed.iter().find(|it| it.address.to_string().starts_with(start));
        one.and_then(|it| it.gateway).unwrap().to_string()
    };
    assert_eq!((gateway("10.1.").as_str(), gateway("fd00:").as_str()), ("10.1.0.1", "fd00:1::1"));
}

#[test]
fn routers_translate_what_they_are_told_to() {
    let mut stage = Stage::new();
    let outside = id(&stage.make(
        "networks",
        json!({"name": "ext", "router:external": true,
        "provider:network_type": "vlan", "provider:physical_network": "physnet1",
        "provider:segmentation_id": 120}),
    ));
    stage.make("subnets", json!({"network_id": outside, "cidr": "192.0.2.0/24", "ip_version": 4}));
    let net = id(&stage.make("networks", json!({"name": "n"})));
    let subnet =
        stage.make("subnets", json!({"network_id": net, "cidr": "10.0.0.0/24", "ip_version": 4}));
    let router = id(&stage.make(
        "routers",
        json!({
            "name": "r", "external_gateway_info": {"network_id": outside,
                "external_fixed_ips": [{"ip_address": "192.0.2.10"}]},
        }),
    ));
    let interface = json!({"subnet_id": id(&subnet)});
    stage.change(&format!("routers/{router}/add_router_interface"), &interface);
    let routes = json!([{"destination": "10.9.0.0/16", "nexthop": "10.0.0.254"}]);
    stage.change(&format!("routers/{router}"), &json!({"router": {"routes": routes}}));
    let port =
        stage.make("ports", json!({"network_id": net, "fixed_ips": [{"ip_address": "10.0.0.5"}]}));
    stage.make(
        "floatingips",
        json!({"floating_network_id": outside, "port_id": id(&port),
        "floating_ip_address": "192.0.2.50"}),
    );
    let plans = stage.plans();
    let planned = &plans["worker-0"].routers[0];
    assert_eq!(planned.snat.unwrap().to_string(), "192.0.2.10");
    let ways: Vec<String> = planned
        .routes
        .iter()
        .map(|way| format!("{} via {}", way.destination, way.nexthop))
        .collect();
    assert_eq!(ways, ["0.0.0.0/0 via 192.0.2.1", "10.9.0.0/16 via 10.0.0.254"]);
    let floating = planned.floating[0];
    assert_eq!(floating.outside.to_string(), "192.0.2.50");
    assert_eq!(floating.inside.to_string(), "10.0.0.5");
    let mut known = site();
    known.links.insert("physnet1".to_owned(), "enp6s0".to_owned());
    let plans = landbridge_cloudlet::fabric::plans(stage.world.cloud.state(), &known);
    let uplink = plans["worker-0"].networks.iter().find(|it| it.id == outside).unwrap();
    let vlan = Uplink::Physical {
        network: "physnet1".to_owned(),
        link: "enp6s0".to_owned(),
        vlan: Some(120),
    };
    assert_eq!(uplink.uplink, vlan);
}

#[test]
fn children_of_a_trunk_are_ports_of_its_instance() {
    let mut stage = Stage::new();
    let mut net = |cidr: &str| {
        let network = id(&stage.make("networks", json!({"name": cidr})));
        let subnet = json!({"network_id": network, "cidr": cidr, "ip_version": 4});
        stage.make("subnets", subnet);
        network
    };
    let (one, two) = (net("10.0.1.0/24"), net("10.0.2.0/24"));
    let parent = id(&stage.make("ports", json!({"network_id": one})));
    let child = id(&stage.make("ports", json!({"network_id": two})));
    stage.make(
        "trunks",
        json!({"port_id": parent, "sub_ports": [
        {"port_id": child, "segmentation_type": "vlan", "segmentation_id": 101}]}),
    );
    stage.boot("vm", &json!([{"port": parent}]));
    let plans = stage.plans();
    let plan = plans.values().find(|plan| !plan.instances.is_empty()).unwrap();
    let ports = &plan.instances[0].ports;
    assert_eq!(ports.len(), 2);
    assert_eq!((ports[0].id.as_str(), &ports[0].child), (parent.as_str(), &None));
    let place = ports[1].child.as_ref().unwrap();
    assert_eq!((place.parent.as_str(), place.vlan), (parent.as_str(), 101));
    assert_eq!(plan.networks.len(), 2);
}
