//! Random calls about routers, floating IPs, trunks, groups and servers: whatever is refused or done, nothing dangles.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::needless_pass_by_value)] // calls with json!({…}) in place read better

#[path = "../cloud/world.rs"]
#[allow(dead_code)] // shared with the tests of the other services
mod world;

use std::collections::BTreeSet;

use landbridge_cloudlet::network::resources::floating_ips::FLOATING_IP_KIND;
use landbridge_cloudlet::network::resources::ports::PORT_KIND;
use landbridge_cloudlet::network::resources::routers::ROUTER_KIND;
use landbridge_cloudlet::network::resources::security_group_rules::RULE_KIND;
use landbridge_cloudlet::network::resources::security_groups::GROUP_KIND;
use landbridge_cloudlet::network::resources::subnets::SUBNET_KIND;
use landbridge_cloudlet::network::resources::trunks::TRUNK_KIND;
use landbridge_cloudlet::state::Kind;
use landbridge_cloudlet::{Object, State};
use serde_json::{Value, json};
use world::{World, id};

/// A small generator: the same calls for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    /// The id of any object of the kind, or of none.
    fn any(&mut self, state: &State, kind: &'static Kind) -> String {
        let ids: Vec<String> = state.ids(kind).collect();
        let nobody = "00000000-0000-4000-8000-000000000000";
        if ids.is_empty() || self.below(20) == 0 {
            nobody.to_owned()
        } else {
            ids[self.below(ids.len())].clone()
        }
    }
}

/// Two external networks and three inner ones, the subnets of two of which overlap.
fn stage() -> (World, Vec<String>, Vec<String>) {
    let mut world = World::new();
    let (mut external, mut inner) = (Vec::new(), Vec::new());
    for number in 0..2 {
        let network = id(&world.make("admin", "networks", json!({"router:external": true})));
        let cidr = format!("172.23.{number}.0/27");
        world.make(
            "admin",
            "subnets",
            json!({"network_id": network, "ip_version": 4, "cidr": cidr}),
        );
        external.push(network);
    }
    for cidr in ["10.0.0.0/28", "10.0.1.0/28", "10.0.0.0/24"] {
        inner.push(world.net("member", cidr).0);
    }
    (world, external, inner)
}

/// One random call as `METHOD path` and body.
fn call(dice: &mut Dice, state: &State, external: &[String], inner: &[String]) -> (String, Value) {
    let outside = external[dice.below(external.len())].clone();
    let network = inner[dice.below(inner.len())].clone();
    let (router, port) = (dice.any(state, &ROUTER_KIND), dice.any(state, &PORT_KIND));
    let (subnet, floating) = (dice.any(state, &SUBNET_KIND), dice.any(state, &FLOATING_IP_KIND));
    let (trunk, group) = (dice.any(state, &TRUNK_KIND), dice.any(state, &GROUP_KIND));
    let child =
        json!([{"port_id": port, "segmentation_type": "vlan", "segmentation_id": dice.below(6)}]);
    match dice.below(26) {
        0 => (
            "POST routers".into(),
            json!({"router": {"external_gateway_info": {"network_id": outside}}}),
        ),
        1 => ("POST routers".into(), json!({"router": {}})),
        2 => (
            format!("PUT routers/{router}"),
            json!({"router": {"external_gateway_info": {"network_id": outside}}}),
        ),
        3 => (format!("PUT routers/{router}"), json!({"router": {"external_gateway_info": null}})),
        4..=6 => {
            (format!("PUT routers/{router}/add_router_interface"), json!({"subnet_id": subnet}))
        }
        7 => (format!("PUT routers/{router}/add_router_interface"), json!({"port_id": port})),
        8 => {
            (format!("PUT routers/{router}/remove_router_interface"), json!({"subnet_id": subnet}))
        }
        9 => (format!("PUT routers/{router}/remove_router_interface"), json!({"port_id": port})),
        10 => {
            let routes = json!([{"destination": "192.0.2.0/24", "nexthop": format!("10.0.{}.9", dice.below(3))}]);
            (format!("PUT routers/{router}"), json!({"router": {"routes": routes}}))
        }
        11 => (format!("DELETE routers/{router}"), Value::Null),
        12..=14 => ("POST ports".into(), json!({"port": {"network_id": network}})),
        15 => (format!("DELETE ports/{port}"), Value::Null),
        16 => ("POST floatingips".into(), json!({"floatingip": {"floating_network_id": outside}})),
        17 => (
            "POST floatingips".into(),
            json!({"floatingip": {"floating_network_id": outside, "port_id": port}}),
        ),
        18 => (format!("PUT floatingips/{floating}"), json!({"floatingip": {"port_id": port}})),
        19 => (format!("DELETE floatingips/{floating}"), Value::Null),
        20 => ("POST trunks".into(), json!({"trunk": {"port_id": port}})),
        21 => (format!("PUT trunks/{trunk}/add_subports"), json!({"sub_ports": child})),
        22 => (format!("PUT trunks/{trunk}/remove_subports"), json!({"sub_ports": child})),
        23 => (format!("DELETE trunks/{trunk}"), Value::Null),
        24 => ("POST security-groups".into(), json!({"security_group": {"name": "g"}})),
        _ => match dice.below(3) {
            0 => (format!("DELETE security-groups/{group}"), Value::Null),
            1 => (format!("PUT ports/{port}"), json!({"port": {"security_groups": [group]}})),
            _ => {
                let rule = json!({"security_group_id": group, "direction": "ingress", "remote_group_id": group});
                ("POST security-group-rules".into(), json!({ "security_group_rule": rule }))
            }
        },
    }
}

#[test]
fn nothing_dangles_whatever_is_called() {
    let mut done = 0;
    for seed in 0..24 {
        let (mut world, external, inner) = stage();
        let mut dice = Dice(seed);
        for step in 0..250 {
            let (line, body) = call(&mut dice, world.cloud.state(), &external, &inner);
            let who = ["admin", "member", "member"][dice.below(3)];
            let answer = match body {
                Value::Null => world.neutron(who, &line),
                body => world.neutron_with(who, &line, &body),
            };
            assert!(
                !answer.status.is_server_error(),
                "seed {seed} step {step}: {line}: {}",
                answer.value()
            );
            done += usize::from(answer.status.is_success() && !line.starts_with("GET"));
            if let Err(wrong) = sound(world.cloud.state()) {
                panic!("seed {seed}, step {step}, after {who}: {line}: {wrong}");
            }
        }
    }
    assert!(done > 1500, "only {done} calls did something: the test has no teeth");
}

/// Everything that names something else names what is there.
fn sound(state: &State) -> Result<(), String> {
    let there = |kind: &'static Kind, id: &str, what: &str| {
        if state.exists(kind, id) { Ok(()) } else { Err(format!("{what}: {id} is not there")) }
    };
    let mut addresses = BTreeSet::new();
    for port in state.all(&PORT_KIND) {
        let device = port.text("device_id");
        match port.text("device_owner") {
            "network:router_interface" | "network:router_gateway" => {
                there(&ROUTER_KIND, device, "a router's port")?;
            }
            "network:floatingip" => there(&FLOATING_IP_KIND, device, "a floating IP's port")?,
            _ => {}
        }
        for group in port.texts("security_groups") {
            there(&GROUP_KIND, group, "a port's group")?;
        }
        for (subnet, address) in fixed(&port) {
            if !addresses.insert((subnet.clone(), address.clone())) {
                return Err(format!("{address} is given twice on {subnet}"));
            }
        }
    }
    for router in state.all(&ROUTER_KIND) {
        if let Some(port) = router.some_text("gw_port_id") {
            there(&PORT_KIND, port, "a gateway")?;
        }
        apart(state, router.id())?;
    }
    for ip in state.all(&FLOATING_IP_KIND) {
        let holders = state.find(&PORT_KIND, "device_id", ip.id()).count();
        if holders != 1 {
            return Err(format!("{holders} ports hold the address of {}", ip.id()));
        }
        if let Some(port) = ip.some_text("port_id") {
            there(&ROUTER_KIND, ip.text("router_id"), "a floating IP's router")?;
            let port =
                state.get(&PORT_KIND, port).ok_or("a floating IP points to a port that is gone")?;
            if !fixed(&port).any(|(_, address)| address == ip.text("fixed_ip_address")) {
                return Err(format!("{} points to an address that its port lacks", ip.id()));
            }
        }
    }
    let mut carried = BTreeSet::new();
    for trunk in state.all(&TRUNK_KIND) {
        let children = trunk.list("sub_ports").iter().filter_map(|child| child["port_id"].as_str());
        for port in children.chain([trunk.text("port_id")]) {
            there(&PORT_KIND, port, "a trunk's port")?;
            if !carried.insert(port.to_owned()) {
                return Err(format!("{port} belongs to two trunks"));
            }
        }
    }
    for rule in state.all(&RULE_KIND) {
        there(&GROUP_KIND, rule.text("security_group_id"), "a rule's group")?;
        if let Some(remote) = rule.some_text("remote_group_id") {
            there(&GROUP_KIND, remote, "a rule's other side")?;
        }
    }
    Ok(())
}

fn fixed(port: &Object) -> impl Iterator<Item = (String, String)> {
    let text = |fixed: &Value, name: &str| fixed[name].as_str().unwrap_or_default().to_owned();
    port.list("fixed_ips").iter().map(move |one| (text(one, "subnet_id"), text(one, "ip_address")))
}

/// The subnets of a router do not overlap.
fn apart(state: &State, router: &str) -> Result<(), String> {
    let mut nets: Vec<ipnet::IpNet> = Vec::new();
    for port in state.find(&PORT_KIND, "device_id", router) {
        for (subnet, _) in fixed(&port) {
            let cidr = state.get(&SUBNET_KIND, &subnet).ok_or("a port on a subnet that is gone")?;
            let net: ipnet::IpNet = cidr.text("cidr").parse().map_err(|_| "no CIDR")?;
            if nets.iter().any(|held| held.contains(&net) || net.contains(held)) {
                return Err(format!("router {router} is on {net} and on one that overlaps"));
            }
            nets.push(net);
        }
    }
    Ok(())
}
