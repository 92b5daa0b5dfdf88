//! Random desired states over a small world, so that wishes meet.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// Some more than once, so that one wish meets what another one made.
const LINKS: [&str; 16] = [
    "enp6s0", "enp6s0", "enp6s0", "enp6s0", "enp7s0", "v1", "v1", "v1", "v2", "br0", "br0", "br1",
    "bond0", "blue", "a", "m1",
];

/// A desired state with a few interfaces, routes and rules.
pub fn wish() -> impl Strategy<Value = Value> {
    let interfaces = proptest::collection::vec(interface(), 0..4);
    let routes = proptest::collection::vec(route(), 0..2);
    let rules = proptest::collection::vec(rule(), 0..2);
    let resolver = proptest::option::weighted(0.1, select(vec!["192.0.2.53", "192.0.2.54"]));
    (interfaces, routes, rules, resolver).prop_map(|(interfaces, routes, rules, resolver)| {
        let mut all = json!({
            "interfaces": one_of_each(interfaces),
            "routes": { "config": routes },
            "route-rules": { "config": rules },
        });
        if let Some(server) = resolver {
            all["dns-resolver"] = json!({ "config": { "server": [server] } });
        }
        all
    })
}

fn one_of_each(interfaces: Vec<Value>) -> Vec<Value> {
    let mut kept: Vec<Value> = Vec::new();
    for link in interfaces {
        if !kept.iter().any(|other| other["name"] == link["name"]) {
            kept.push(link);
        }
    }
    kept
}

fn interface() -> impl Strategy<Value = Value> {
    let presence =
        prop_oneof![10 => Just("up"), 2 => Just("absent"), 1 => Just("down"), 1 => Just("ignore")];
    (select(LINKS.to_vec()), presence, sections(), base()).prop_map(
        |(name, state, sections, base)| {
            let mut link = base;
            link.insert("name".into(), name.into());
            link.insert("state".into(), state.into());
            let (kind, section) = match name {
                "v1" | "v2" => ("vlan", Some(("vlan", sections.vlan))),
                "br0" | "br1" => ("linux-bridge", Some(("bridge", sections.bridge))),
                "bond0" => ("bond", Some(("link-aggregation", sections.bond))),
                "blue" => ("vrf", Some(("vrf", sections.vrf))),
                "a" => ("veth", Some(("veth", json!({ "peer": "b" })))),
                "m1" => ("mac-vlan", Some(("mac-vlan", sections.macvlan))),
                _ => ("ethernet", None),
            };
            link.insert("type".into(), kind.into());
            if let Some((key, section)) = section {
                link.insert(key.into(), section);
            }
            Value::Object(link)
        },
    )
}

#[derive(Debug, Clone)]
struct Sections {
    vlan: Value,
    bridge: Value,
    bond: Value,
    vrf: Value,
    macvlan: Value,
}

fn sections() -> impl Strategy<Value = Sections> {
    let below = || select(vec!["enp6s0", "enp7s0", "br0", "bond0", "a"]);
    let vlan = (below(), 2_u16..5).prop_map(|(base, id)| json!({ "base-iface": base, "id": id }));
    let macvlan = below().prop_map(|base| json!({ "base-iface": base, "mode": "bridge" }));
    let bond = (select(vec!["active-backup", "balance-xor"]), 1_u32..3, ports()).prop_map(
        |(mode, miimon, ports)| {
            let mut bond = json!({ "mode": mode, "options": { "miimon": miimon * 100 } });
            put_ports(&mut bond, ports);
            bond
        },
    );
    let vrf = ports().prop_map(|ports| {
        let mut vrf = json!({ "route-table-id": 100 });
        put_ports(&mut vrf, ports);
        vrf
    });
    (vlan, bridge(), bond, vrf, macvlan).prop_map(|(vlan, bridge, bond, vrf, macvlan)| Sections {
        vlan,
        bridge,
        bond,
        vrf,
        macvlan,
    })
}

fn ports() -> impl Strategy<Value = Option<Vec<&'static str>>> {
    let port = select(vec!["enp6s0", "enp7s0", "v1", "v2", "a", "b"]);
    proptest::option::of(proptest::collection::btree_set(port, 0..3))
        .prop_map(|ports| ports.map(|ports| ports.into_iter().collect()))
}

fn put_ports(section: &mut Value, ports: Option<Vec<&str>>) {
    if let Some(ports) = ports {
        section["port"] = json!(ports);
    }
}

fn bridge() -> impl Strategy<Value = Value> {
    let vlan = prop_oneof![
        4 => Just(Value::Null),
        2 => Just(json!({ "mode": "trunk", "trunk-tags": [{ "id-range": { "min": 2, "max": 4094 } }] })),
        1 => Just(json!({ "mode": "access", "tag": 7 })),
        1 => Just(json!({})),
    ];
    (ports(), vlan, any::<bool>(), proptest::option::of(1_u32..3)).prop_map(|(ports, vlan, stp, cost)| {
        let mut bridge = json!({ "options": { "stp": { "enabled": stp } } });
        if let Some(ports) = ports {
            let port = |name| json!({ "name": name, "vlan": vlan, "stp-path-cost": cost.map(|cost| cost * 50) });
            bridge["port"] = ports.into_iter().map(port).collect();
        }
        bridge
    })
}

/// What every interface can have.
fn base() -> impl Strategy<Value = Map<String, Value>> {
    let sometimes = |value: BoxedStrategy<Value>| proptest::option::weighted(0.3, value);
    (
        sometimes(select(vec![1400, 1500, 2000]).prop_map(|mtu| json!(mtu)).boxed()),
        sometimes(select(vec!["x", "y", ""]).prop_map(|text| json!(text)).boxed()),
        sometimes((1_u8..4).prop_map(|last| json!(format!("02:00:00:00:00:{last:02x}"))).boxed()),
        proptest::option::weighted(0.1, any::<bool>().prop_map(Value::from)),
        proptest::option::of(ipv4()),
        proptest::option::of(ipv6()),
    )
        .prop_map(|(mtu, description, mac, promiscuous, ipv4, ipv6)| {
            let all = [
                ("mtu", mtu),
                ("description", description),
                ("mac-address", mac),
                ("accept-all-mac-addresses", promiscuous),
                ("ipv4", ipv4),
                ("ipv6", ipv6),
            ];
            let given = all.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
            given.collect()
        })
}

fn ipv4() -> impl Strategy<Value = Value> {
    let address = (0_u8..2, 1_u8..4).prop_map(|(net, host)| format!("192.0.{net}.{host}"));
    let list = proptest::option::weighted(0.8, proptest::collection::btree_set(address, 0..4));
    let rare = |on| proptest::option::weighted(on, any::<bool>());
    (proptest::bool::weighted(0.8), list, rare(0.1), rare(0.1)).prop_map(
        |(enabled, list, dhcp, forwarding)| {
            ip(enabled, list, 24, &[("dhcp", dhcp.filter(|_| enabled)), ("forwarding", forwarding)])
        },
    )
}

fn ipv6() -> impl Strategy<Value = Value> {
    let address = (0_u8..2, 1_u8..4).prop_map(|(net, host)| format!("fd00:{net}::{host}"));
    let list = proptest::option::weighted(0.8, proptest::collection::btree_set(address, 0..4));
    let rare = |on| proptest::option::weighted(on, any::<bool>());
    (proptest::bool::weighted(0.8), list, rare(0.2)).prop_map(|(enabled, list, autoconf)| {
        ip(enabled, list, 64, &[("autoconf", autoconf.filter(|_| enabled))])
    })
}

fn ip(
    enabled: bool,
    list: Option<std::collections::BTreeSet<String>>,
    length: u8,
    more: &[(&str, Option<bool>)],
) -> Value {
    let mut ip = json!({ "enabled": enabled });
    if let Some(list) = list {
        let address = |ip| json!({ "ip": ip, "prefix-length": length });
        ip["address"] = list.into_iter().map(address).collect();
    }
    for (key, on) in more {
        if let Some(on) = on {
            ip[*key] = (*on).into();
        }
    }
    ip
}

fn route() -> impl Strategy<Value = Value> {
    let destination = (0_u8..3).prop_map(|net| format!("10.{net}.0.0/16"));
    let link = select(vec!["enp6s0", "enp7s0", "v1", "br0", "blue"]);
    let gateway = proptest::option::of((0_u8..2).prop_map(|net| format!("192.0.{net}.254")));
    let table = select(vec![254, 77]);
    (destination, link, gateway, table, prop_oneof![4 => Just(false), 1 => Just(true)]).prop_map(
        |(destination, link, gateway, table, absent)| {
            if absent {
                return json!({ "state": "absent", "next-hop-interface": link });
            }
            let mut route =
                json!({ "destination": destination, "next-hop-interface": link, "table-id": table });
            if let Some(gateway) = gateway {
                route["next-hop-address"] = gateway.into();
            }
            route
        },
    )
}

fn rule() -> impl Strategy<Value = Value> {
    ((0_u8..2), any::<bool>(), proptest::option::of(100_u32..102)).prop_map(
        |(net, absent, priority)| {
            let mut rule = json!({ "ip-from": format!("192.0.{net}.0/24"), "route-table": 77 });
            if absent {
                rule["state"] = "absent".into();
            } else if let Some(priority) = priority {
                rule["priority"] = priority.into();
            }
            rule
        },
    )
}
