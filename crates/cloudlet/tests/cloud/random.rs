//! Random calls by random people: whatever they do, the cloud stays true to itself.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;
use landbridge_cloudlet::journal::{Row, restore};
use landbridge_cloudlet::network::RESOURCES;
use landbridge_cloudlet::network::quota::bound;
use landbridge_cloudlet::network::resources::{
    networks::NETWORK, ports::PORT, rbac::RBAC, subnets::SUBNET,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{World, rows};

#[derive(Clone, Debug)]
enum Step {
    Network { shared: bool, external: bool },
    Subnet { net: usize, block: u8, long: bool, gateway: bool },
    Port { net: usize, host: Option<u8>, many: u8 },
    Move { port: usize, host: Option<u8> },
    Rename { kind: u8, at: usize },
    Delete { kind: u8, at: usize },
    Quota { port: i64, network: i64 },
    Pools { subnet: usize, from: u8, to: u8 },
    Tag { at: usize },
    Share { net: usize },
    List { kind: u8 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (any::<bool>(), any::<bool>()).prop_map(|(shared, external)| Step::Network { shared, external }),
        3 => (any::<usize>(), 0..4u8, any::<bool>(), any::<bool>())
            .prop_map(|(net, block, long, gateway)| Step::Subnet { net, block, long, gateway }),
        6 => (any::<usize>(), prop::option::of(0..16u8), 1..5u8)
            .prop_map(|(net, host, many)| Step::Port { net, host, many }),
        3 => (any::<usize>(), prop::option::of(0..16u8)).prop_map(|(port, host)| Step::Move { port, host }),
        1 => (0..3u8, any::<usize>()).prop_map(|(kind, at)| Step::Rename { kind, at }),
        4 => (0..4u8, any::<usize>()).prop_map(|(kind, at)| Step::Delete { kind, at }),
        1 => (-1..8i64, -1..4i64).prop_map(|(port, network)| Step::Quota { port, network }),
        1 => (any::<usize>(), 0..16u8, 0..16u8).prop_map(|(subnet, from, to)| Step::Pools { subnet, from, to }),
        1 => any::<usize>().prop_map(|at| Step::Tag { at }),
        1 => any::<usize>().prop_map(|net| Step::Share { net }),
        1 => (0..3u8).prop_map(|kind| Step::List { kind }),
    ]
}

const KINDS: [&str; 4] = ["networks", "subnets", "ports", "rbac-policies"];

/// The id of one of a kind; one that never was where there is none.
fn pick(world: &World, kind: u8, at: usize) -> String {
    let resource = RESOURCES.iter().find(|r| r.path == KINDS[usize::from(kind % 4)]).unwrap();
    let ids: Vec<String> = world.cloud.state().ids(resource.kind).collect();
    match ids.len() {
        0 => "00000000-0000-4000-8000-000000000000".to_owned(),
        len => ids[at % len].clone(),
    }
}

fn ip(block: u8, host: u8) -> String {
    format!("10.0.{block}.{host}")
}

fn take(world: &mut World, who: &str, step: &Step) -> u16 {
    let answer = match step {
        Step::Network { shared, external } => world.neutron_with(
            who,
            "POST networks",
            &json!({"network": {"shared": shared, "router:external": external}}),
        ),
        Step::Subnet { net, block, long, gateway } => {
            let net = pick(world, 0, *net);
            let cidr = format!("10.0.{block}.0/{}", if *long { 28 } else { 29 });
            let mut subnet = json!({"network_id": net, "cidr": cidr, "ip_version": 4});
            if !gateway {
                subnet["gateway_ip"] = Value::Null;
            }
            world.neutron_with(who, "POST subnets", &json!({ "subnet": subnet }))
        }
        Step::Port { net, host, many } => {
            let net = pick(world, 0, *net);
            let port = match host {
                Some(host) => {
                    json!({"network_id": net, "fixed_ips": [{"ip_address": ip(host % 4, *host)}]})
                }
                None => json!({"network_id": net}),
            };
            let ports = vec![port; usize::from(*many)];
            world.neutron_with(who, "POST ports", &json!({ "ports": ports }))
        }
        Step::Move { port, host } => {
            let port = pick(world, 2, *port);
            let fixed = match host {
                Some(host) => json!([{"ip_address": ip(host % 4, *host)}]),
                None => json!([]),
            };
            world.neutron_with(
                who,
                &format!("PUT ports/{port}"),
                &json!({"port": {"fixed_ips": fixed}}),
            )
        }
        Step::Rename { kind, at } => {
            let (path, id) = (KINDS[usize::from(kind % 3)], pick(world, kind % 3, *at));
            let body = json!({ path.strip_suffix('s').unwrap(): {"name": format!("n{at}")} });
            world.neutron_with(who, &format!("PUT {path}/{id}"), &body)
        }
        Step::Delete { kind, at } => {
            let (path, id) = (KINDS[usize::from(*kind)], pick(world, *kind, *at));
            world.neutron(who, &format!("DELETE {path}/{id}"))
        }
        Step::Quota { port, network } => {
            let demo = world.projects["demo"].clone();
            let body = json!({"quota": {"port": port, "network": network}});
            world.neutron_with(who, &format!("PUT quotas/{demo}"), &body)
        }
        Step::Pools { subnet, from, to } => {
            let subnet = pick(world, 1, *subnet);
            let net = world.cloud.state().get(SUBNET.kind, &subnet).unwrap_or_default();
            let base =
                net.text("cidr").rsplit_once('.').map_or("10.0.0", |(base, _)| base).to_owned();
            let pool = json!([{"start": format!("{base}.{from}"), "end": format!("{base}.{to}")}]);
            let body = json!({"subnet": {"allocation_pools": pool}});
            world.neutron_with(who, &format!("PUT subnets/{subnet}"), &body)
        }
        Step::Tag { at } => {
            let port = pick(world, 2, *at);
            world.neutron(who, &format!("PUT ports/{port}/tags/t{}", at % 3))
        }
        Step::Share { net } => {
            let (net, other) = (pick(world, 0, *net), world.projects["other"].clone());
            let body = json!({"rbac_policy": {"object_type": "network", "object_id": net,
                "action": "access_as_shared", "target_tenant": other}});
            world.neutron_with(who, "POST rbac-policies", &body)
        }
        Step::List { kind } => world.neutron(who, &format!("GET {}", KINDS[usize::from(*kind)])),
    };
    answer.status.as_u16()
}

fn invariants(world: &World) {
    let state = world.cloud.state();
    let mut held: BTreeSet<(String, String)> = BTreeSet::new();
    let mut macs: BTreeSet<(String, String)> = BTreeSet::new();
    for subnet in state.all(SUBNET.kind) {
        assert!(
            state.exists(NETWORK.kind, subnet.text("network_id")),
            "a subnet without its network"
        );
    }
    for port in state.all(PORT.kind) {
        let network = port.text("network_id");
        assert!(state.exists(NETWORK.kind, network), "a port without its network");
        assert!(macs.insert((network.into(), port.text("mac_address").into())), "one MAC twice");
        for fixed in port.list("fixed_ips") {
            let (subnet, address) =
                (fixed["subnet_id"].as_str().unwrap(), fixed["ip_address"].as_str().unwrap());
            let subnet = state.get(SUBNET.kind, subnet).expect("an address without its subnet");
            assert_eq!(subnet.text("network_id"), network, "an address of another network");
            let net: IpNet = subnet.text("cidr").parse().unwrap();
            assert!(
                net.contains(&address.parse::<std::net::IpAddr>().unwrap()),
                "{address} in {net}"
            );
            assert!(held.insert((subnet.id().into(), address.into())), "{address} has two ports");
        }
    }
    for policy in state.all(RBAC.kind) {
        assert!(
            state.exists(NETWORK.kind, policy.text("object_id")),
            "a policy without its object"
        );
    }
    for resource in RESOURCES {
        let Some(quota) = resource.quota else { continue };
        for project in world.projects.values() {
            let most = bound(state, world.cloud.config(), project, quota);
            let used = i64::from(state.count(resource.kind, project));
            assert!(most < 0 || used <= most, "{used} {quota} of {most}");
        }
    }
}

fn revisions(world: &World) -> BTreeMap<String, i64> {
    let state = world.cloud.state();
    let all = [NETWORK.kind, SUBNET.kind, PORT.kind].into_iter().flat_map(|kind| state.all(kind));
    all.map(|object| (object.id().to_owned(), object.number("revision_number").unwrap())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn the_cloud_stays_true_to_itself(
        steps in prop::collection::vec((step(), prop::sample::select(vec!["admin", "admin", "member", "member", "reader", "other"])), 1..60),
    ) {
        let mut world = World::new();
        for (step, who) in steps {
            let (before, earlier) = (rows(world.cloud.state()), revisions(&world));
            let status = take(&mut world, who, &step);
            let after = rows(world.cloud.state());
            prop_assert!(status < 500, "{status}: {who} {step:?}");
            // Neutron's policy leaves one thing to readers: ports on networks shared with them.
            let idle = who == "reader" && !matches!(step, Step::Port { .. });
            if status >= 400 || idle {
                prop_assert_eq!(&after, &before, "{} {:?} answered {} and changed something", who, &step, status);
            }
            // What is told is what happened.
            let mut told = before;
            for change in &world.changes {
                let key = (change.kind.name.to_owned(), change.id.to_string());
                prop_assert_eq!(told.get(&key).map(String::as_bytes), change.before.as_deref());
                match &change.after {
                    Some(row) => told.insert(key, String::from_utf8(row.to_vec()).unwrap()),
                    None => told.remove(&key),
                };
            }
            prop_assert_eq!(&told, &after);
            for (id, revision) in revisions(&world) {
                prop_assert!(earlier.get(&id).is_none_or(|before| *before <= revision), "a revision went back");
            }
            invariants(&world);
        }
        // After a restart everything is as it was, and goes on where it was.
        let kept: Vec<Row> = world.cloud.state().rows().map(|(kind, id, text)| Row {
            kind: kind.into(), id, text: text.clone(),
        }).collect();
        let again = restore(kept).unwrap();
        prop_assert_eq!(rows(&again), rows(world.cloud.state()));
        let config = world.cloud.config().as_ref().clone();
        let mut woken = World::in_state(config, again, world.chance, world.now);
        for plural in ["networks", "subnets", "ports", "rbac-policies"] {
            let line = format!("GET {plural}");
            prop_assert_eq!(woken.neutron("admin", &line).value(), world.neutron("admin", &line).value());
        }
        for net in world.cloud.state().ids(NETWORK.kind).collect::<Vec<_>>() {
            let body = json!({"port": {"network_id": net, "mac_address": "fa:16:3e:ff:ff:ff"}});
            let (a, b) = (woken.neutron_with("admin", "POST ports", &body), world.neutron_with("admin", "POST ports", &body));
            prop_assert_eq!(a.status, b.status);
            prop_assert_eq!(&a.value()["port"]["fixed_ips"], &b.value()["port"]["fixed_ips"], "the same address is next");
        }
    }
}
