//! Rules and routes of answers: planned for links as the kernel shows them.

use std::collections::BTreeSet;

use landbridge_agent::services::answers::{Change, change, plan};
use landbridge_linux::{Address, Handle, IfName, LinkIndex, LinkKind, NewLink};

use crate::wires::{namespace, net};

/// A node with an address on one link and none on the other.
fn node() -> Option<Handle> {
    let handle = Handle::in_namespace(&namespace()?).unwrap();
    for (one, other) in [("enp1s0", "veth-a"), ("enp6s0.20", "veth-b")] {
        let end = |name: &str| NewLink::new(IfName::new(name).unwrap(), LinkKind::Veth).up();
        handle.create_veth(&end(one), &end(other), None).unwrap();
    }
    let link = handle.index(&IfName::new("enp1s0").unwrap()).unwrap();
    handle.add_address(&Address::new(link, net("192.168.111.20/24"))).unwrap();
    Some(handle)
}

fn show(handle: &Handle, services: &[&str]) -> (Vec<String>, Vec<String>, BTreeSet<String>) {
    let (links, addresses) = (handle.links().unwrap(), handle.addresses().unwrap());
    let services = services.iter().map(|text| net(text)).collect();
    let plan = plan(&links, &addresses, &handle.routes().unwrap(), "cni0", &services);
    let name =
        |index: &LinkIndex| links.iter().find(|l| l.index == *index).unwrap().name.to_string();
    let routes = plan.routes.iter().filter(|route| route.destination.addr().is_ipv4());
    let routes = routes.map(|r| format!("{} {}", r.destination, name(&r.link.unwrap()))).collect();
    let rules = plan.rules.iter().map(ToString::to_string).collect();
    (routes, rules, plan.bare)
}

#[test]
fn a_bare_link_has_everything_on_it_and_another_its_own_routes() {
    let Some(node) = node() else { return };
    let (routes, rules, bare) = show(&node, &["10.96.0.0/16", "172.17.0.80/32"]);
    assert!(routes.contains(&"0.0.0.0/0 enp6s0.20".to_owned()), "{routes:?}");
    assert!(routes.contains(&"192.168.111.0/24 enp1s0".to_owned()), "{routes:?}");
    assert!(routes.contains(&"10.96.0.0/16 lo".to_owned()), "{routes:?}");
    assert!(!routes.contains(&"0.0.0.0/0 enp1s0".to_owned()), "{routes:?}");
    assert!(bare.contains("enp6s0.20") && !bare.contains("enp1s0"), "{bare:?}");
    assert!(!bare.iter().any(|name| name.starts_with("lo")), "{bare:?}");
    assert!(rules.iter().any(|rule| rule.contains("fwmark 0x4c42")), "{rules:?}");
}

#[test]
fn what_is_made_is_found_again_and_what_is_stale_goes() {
    let Some(node) = node() else { return };
    let services = BTreeSet::from([net("10.96.0.0/16"), net("fd00:96::/108")]);
    let look = || {
        let (links, addresses) = (node.links().unwrap(), node.addresses().unwrap());
        let routes = node.routes().unwrap();
        let plan = plan(&links, &addresses, &routes, "cni0", &services);
        change(&plan, &node.rules().unwrap(), &routes)
    };
    let apply = || {
        let change = look();
        for route in &change.remove_routes {
            node.delete_route(route).unwrap();
        }
        for rule in &change.remove_rules {
            node.delete_rule(rule).unwrap();
        }
        for route in &change.add_routes {
            node.ensure_route(route).unwrap();
        }
        for rule in &change.add_rules {
            node.ensure_rule(rule).unwrap();
        }
    };
    apply();
    assert_eq!(look(), Change::default(), "nothing is left to do");
    // The bare link gets an address: no more "everything is here".
    let link = node.index(&IfName::new("enp6s0.20").unwrap()).unwrap();
    node.add_address(&Address::new(link, net("172.17.0.10/24"))).unwrap();
    let change = look();
    assert!(change.remove_routes.iter().any(|route| route.destination.prefix_len() == 0));
    assert!(change.add_routes.iter().any(|route| route.destination == net("172.17.0.0/24")));
    apply();
    assert_eq!(look(), Change::default());
    // A link that goes takes its rules along.
    node.delete_link(link).unwrap();
    apply();
    assert_eq!(look(), Change::default());
    let gone = format!("{:#x}", 0x4c42_0000 | link.0);
    assert!(!node.rules().unwrap().iter().any(|rule| rule.to_string().contains(&gone)));
}
