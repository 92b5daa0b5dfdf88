//! Checkpoints: taken, compared, restored.

use landbridge_linux::address::Origin;
use landbridge_linux::checkpoint::{Plan, SavedLink};
use landbridge_linux::link::{Bridge, Macvlan, MacvlanMode};
use landbridge_linux::probe::Feature;
use landbridge_linux::route::{Family, Protocol};
use landbridge_linux::{Address, Checkpoint, Error, LinkKind, MacAddr, NewLink, Route, Rule};

use crate::harness::{Node, has, name, wire};

/// A network with a bit of everything, and a link whose other end is elsewhere.
pub struct Site {
    pub node: Node,
    pub far: Node,
}

impl Site {
    pub fn new() -> Option<Self> {
        let (node, far) = (Node::new()?, Node::new()?);
        let net = &node.net;
        let (eth0, _) = wire(&node, &far, "eth0");
        node.address(eth0.index, "192.0.2.1/24");
        node.address(eth0.index, "192.0.2.2/24");
        node.address(eth0.index, "2001:db8::1/64");
        let bridge = node.bridge("br0");
        node.address(bridge.index, "198.51.100.1/24");
        let (a, _) = node.pair("a", "b");
        net.set_master(&a, Some(bridge.index)).unwrap();
        let (c, _) = node.pair("c", "d");
        net.set_mtu(&c, 1400).unwrap();
        node.address(c.index, "203.0.113.1/24");
        if has(Feature::Macvlan) {
            let kind = LinkKind::Macvlan(Macvlan { mode: MacvlanMode::Bridge });
            let link = NewLink::new(name("mv"), kind).on(c.index).with_alias("a macvlan").up();
            let mv = net.create_link(&link).unwrap();
            node.address(mv.index, "2001:db8:5::1/64");
        }
        let route = |to: &str, via: &str| Route::via(to.parse().unwrap(), via.parse().unwrap());
        net.add_route(&route("0.0.0.0/0", "192.0.2.254").on(eth0.index).with_metric(10)).unwrap();
        net.add_route(&route("::/0", "2001:db8::fe").on(eth0.index).with_metric(10)).unwrap();
        net.add_route(&route("10.1.0.0/16", "203.0.113.9").on(c.index)).unwrap();
        net.add_route(&route("10.2.0.0/16", "198.51.100.9").on(bridge.index).in_table(77)).unwrap();
        net.add_route(&Route::dev("10.3.0.0/16".parse().unwrap(), bridge.index)).unwrap();
        net.add_route(&Route::blackhole("10.4.0.0/16".parse().unwrap())).unwrap();
        net.add_rule(&Rule::from("198.51.100.0/24".parse().unwrap(), 77, 77)).unwrap();
        net.add_rule(&Rule::new(Family::Ipv6, 78, 77)).unwrap();
        Some(Self { node, far })
    }

    /// Restores, and checks that it worked and that a second time does nothing.
    pub fn restored(&self, before: &Checkpoint) {
        let net = &self.node.net;
        let report = net.restore(before).unwrap();
        assert!(report.is_complete(), "{report}");
        let after = net.checkpoint().unwrap();
        let rest = Plan::between(&after, before);
        assert!(rest.is_empty(), "{rest}");
        assert_eq!(essence(&after), essence(before), "{report}");
        let again = net.restore(before).unwrap();
        assert!(again.done.is_empty() && again.is_complete(), "{again}");
    }
}

/// What a person would compare, told without the planner's help.
fn essence(of: &Checkpoint) -> Vec<String> {
    let links = of.links.iter().map(|link| {
        let SavedLink { name, kind, mtu, mac, up, master, alias, parent, peer, .. } = link;
        format!("{name:?} {kind:?} {mtu} {mac:?} {up} {master:?} {alias:?} {parent:?} {peer:?}")
    });
    let addresses = of.addresses.iter().filter(|address| address.origin == Origin::User);
    let addresses = addresses.map(|address| {
        let Address { link, net, broadcast, scope, flags, .. } = address;
        format!("{link} {net} {broadcast:?} {scope:?} {}", flags.secondary)
    });
    let routes = of.routes.iter().filter(|route| route.protocol != Protocol::KERNEL);
    let routes = routes.map(|route| format!("{route:?}"));
    let rules = of.rules.iter().map(|rule| format!("{rule:?}"));
    let mut all: Vec<String> = links.chain(addresses).chain(routes).chain(rules).collect();
    all.sort();
    all
}

#[test]
fn nothing_changed_is_nothing_to_do() {
    let Some(site) = Site::new() else { return };
    let before = site.node.net.checkpoint().unwrap();
    assert_eq!(Plan::between(&before, &before).to_string(), "");
    let report = site.node.net.restore(&before).unwrap();
    assert!(report.done.is_empty() && report.is_complete(), "{report}");
}

#[test]
fn a_checkpoint_is_text_and_back() {
    let Some(site) = Site::new() else { return };
    let before = site.node.net.checkpoint().unwrap();
    let text = serde_json::to_string(&before).unwrap();
    assert_eq!(serde_json::from_str::<Checkpoint>(&text).unwrap(), before);
    let newer = Checkpoint { version: 99, ..before };
    assert!(matches!(site.node.net.restore(&newer), Err(Error::Version { found: 99, .. })));
}

#[test]
fn the_plan_says_what_differs() {
    let Some(site) = Site::new() else { return };
    let net = &site.node.net;
    let before = net.checkpoint().unwrap();
    net.set_mtu(&name("d"), 1300).unwrap();
    net.create_link(&NewLink::new(name("br9"), LinkKind::Bridge(Bridge::default()))).unwrap();
    net.set_master(&name("a"), None).unwrap();
    let eth0 = net.index(&name("eth0")).unwrap();
    net.delete_address(&Address::new(eth0, "192.0.2.2/24".parse().unwrap())).unwrap();
    site.node.address(eth0, "192.0.2.3/24");
    net.delete_route(&Route::blackhole("10.4.0.0/16".parse().unwrap())).unwrap();
    net.delete_rule(&Rule::new(Family::Ipv6, 78, 77)).unwrap();
    let plan = Plan::between(&net.checkpoint().unwrap(), &before);
    let bridge = before.links.iter().find(|link| link.name.as_str() == "br0").unwrap();
    let expected = "- link br9 (bridge)\n\
         ~ link a: master none -> br0\n\
         ~ link d: mtu 1300 -> 1500\n\
         - address 192.0.2.3/24 on eth0\n\
         + address 192.0.2.2/24 on eth0\n\
         + route blackhole 10.4.0.0/16\n\
         + rule ipv6 78 from all table 77\n";
    // A bridge without ports has no address.
    let mac = format!("~ link br0: mac 00:00:00:00:00:00 -> {}\n", bridge.mac.unwrap());
    assert_eq!(plan.to_string(), format!("{expected}{mac}"));
    site.restored(&before);
}

#[test]
fn links_come_back_with_all_that_stood_on_them() {
    let Some(site) = Site::new() else { return };
    let net = &site.node.net;
    let before = net.checkpoint().unwrap();
    for link in ["d", "br0", "a"] {
        net.delete_link(&name(link)).unwrap();
    }
    let kind = LinkKind::Bridge(Bridge { stp: Some(true), ..Bridge::default() });
    let wrong = NewLink::new(name("c"), kind).with_mac(MacAddr([2, 9, 9, 9, 9, 9])).up();
    net.create_link(&wrong).unwrap();
    site.restored(&before);
    let c = net.expect_link(&name("c")).unwrap();
    assert_eq!((c.kind, c.mtu), (LinkKind::Veth, 1400));
    let a = net.expect_link(&name("a")).unwrap();
    assert_eq!(a.master, Some(net.index(&name("br0")).unwrap()));
}

#[test]
fn swapped_names_go_back_to_their_own_links() {
    let Some(site) = Site::new() else { return };
    let net = &site.node.net;
    let before = net.checkpoint().unwrap();
    let (eth0, c) = (net.expect_link(&name("eth0")).unwrap(), net.expect_link(&name("c")).unwrap());
    // Older kernels rename only what is down.
    net.set_down(&eth0).unwrap();
    net.set_down(&c).unwrap();
    net.rename(&eth0, &name("x")).unwrap();
    net.rename(&c, &name("eth0")).unwrap();
    net.rename(&eth0, &name("c")).unwrap();
    site.restored(&before);
    assert_eq!(net.expect_link(&name("eth0")).unwrap().mac, eth0.mac);
    assert_eq!(net.index(&name("eth0")).unwrap(), eth0.index);
    assert_eq!(net.index(&name("c")).unwrap(), c.index);
}

#[test]
fn switched_off_and_on_again() {
    let Some(site) = Site::new() else { return };
    let net = &site.node.net;
    let before = net.checkpoint().unwrap();
    for link in ["eth0", "br0", "c", "lo"] {
        net.set_down(&name(link)).unwrap();
    }
    assert!(net.routes_of(77).unwrap().is_empty());
    site.restored(&before);
    assert_eq!(net.routes_of(77).unwrap().len(), 1);
}

#[test]
fn the_primary_address_stays_the_primary() {
    let Some(site) = Site::new() else { return };
    let net = &site.node.net;
    let before = net.checkpoint().unwrap();
    let eth0 = net.index(&name("eth0")).unwrap();
    net.flush_addresses(eth0).unwrap();
    site.node.address(eth0, "192.0.2.2/24");
    site.node.address(eth0, "192.0.2.1/24");
    assert!(net.expect_address(eth0, "192.0.2.1".parse().unwrap()).unwrap().flags.secondary);
    site.restored(&before);
    assert!(!net.expect_address(eth0, "192.0.2.1".parse().unwrap()).unwrap().flags.secondary);
    assert!(net.expect_address(eth0, "192.0.2.2".parse().unwrap()).unwrap().flags.secondary);
}

#[test]
fn what_stood_in_the_way_is_removed_first() {
    let Some(site) = Site::new() else { return };
    if !has(Feature::Macvlan) {
        return;
    }
    let net = &site.node.net;
    let before = net.checkpoint().unwrap();
    // A macvlan is not made on a port of a bridge.
    net.delete_link(&name("mv")).unwrap();
    net.set_master(&name("c"), Some(net.index(&name("br0")).unwrap())).unwrap();
    site.restored(&before);
    assert_eq!(net.expect_link(&name("mv")).unwrap().alias.as_deref(), Some("a macvlan"));
}

#[test]
fn what_cannot_be_done_is_said() {
    let Some(site) = Site::new() else { return };
    let net = &site.node.net;
    let before = net.checkpoint().unwrap();
    net.delete_link(&name("eth0")).unwrap();
    net.set_mtu(&name("c"), 1300).unwrap();
    let report = net.restore(&before).unwrap();
    let text = report.to_string();
    assert!(!report.is_complete());
    assert!(
        text.contains("left create link eth0 (veth): its other end is in another namespace"),
        "{text}"
    );
    assert!(
        text.contains(
            "left + address 192.0.2.1/24 on eth0: cannot get link eth0: it does not exist"
        ),
        "{text}"
    );
    // All the rest was done.
    assert_eq!(net.expect_link(&name("c")).unwrap().mtu, 1400);
    assert_eq!(site.far.net.link(&name("eth0")).unwrap(), None);
}

#[test]
fn a_far_end_that_came_home_is_left_alone() {
    let Some(site) = Site::new() else { return };
    let net = &site.node.net;
    let before = net.checkpoint().unwrap();
    site.far.net.move_link(&name("eth0"), &site.node.namespace, Some(&name("guest"))).unwrap();
    let report = net.restore(&before).unwrap();
    assert!(
        report.to_string().contains("left delete link guest: it came from another namespace"),
        "{report}"
    );
    assert!(net.link(&name("eth0")).unwrap().is_some());
    assert!(net.link(&name("guest")).unwrap().is_some());
}
