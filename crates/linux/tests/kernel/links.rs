//! Links of every kind.

use landbridge_linux::link::{
    Bond, BondMode, Bridge, BridgeVlan, Far, LacpRate, Macvlan, MacvlanMode, OperState, Port, Vlan,
    VlanProtocol, Vxlan,
};
use landbridge_linux::probe::Feature;
use landbridge_linux::{Ensured, Error, Link, LinkChange, LinkKind, MacAddr, NewLink};

use crate::harness::{Node, has, name, wire};

const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 0x2a]);

#[test]
fn a_new_namespace_has_only_loopback() {
    let Some(node) = Node::new() else { return };
    let links = node.net.links().unwrap();
    let [lo] = &links[..] else { panic!("{links:?}") };
    assert_eq!((lo.name.as_str(), &lo.kind, lo.up), ("lo", &LinkKind::Loopback, true));
    assert_eq!(lo.mtu, 65_536);
}

#[test]
fn a_pair_knows_its_ends() {
    let Some(node) = Node::new() else { return };
    let one = NewLink::new(name("a"), LinkKind::Veth)
        .with_mac(MAC)
        .with_mtu(9000)
        .with_alias("ours: a")
        .up();
    let other = NewLink::new(name("b"), LinkKind::Veth).with_alias("ours: b").up();
    node.net.create_veth(&one, &other, None).unwrap();
    let (a, b) =
        (node.net.expect_link(&one.name).unwrap(), node.net.expect_link(&other.name).unwrap());
    assert_eq!((a.mac, a.mtu, a.alias.as_deref()), (Some(MAC), 9000, Some("ours: a")));
    assert_eq!((b.mtu, b.alias.as_deref()), (1500, Some("ours: b")));
    assert_eq!(a.peer, Some(Far { index: b.index, namespace: None }));
    assert_eq!(b.peer, Some(Far { index: a.index, namespace: None }));
    assert_eq!((a.carrier, a.parent), (true, None));
    // The kernel's word for that follows in the background.
    let up = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        node.net.expect_link(&one.name).unwrap().state == OperState::Up
    });
    assert!(up, "{:?}", node.net.link(&a));
    assert!(node.net.delete_link(&a).unwrap());
    assert_eq!(node.net.link(&b).unwrap(), None);
    assert!(!node.net.delete_link(&a).unwrap());
}

#[test]
fn a_pair_between_namespaces_names_the_other_one() {
    let (Some(here), Some(there)) = (Node::new(), Node::new()) else { return };
    let (near, far) = wire(&here, &there, "eth0");
    let seen = near.peer.unwrap();
    assert_eq!(seen.index, far.index);
    assert!(seen.namespace.is_some(), "{seen:?}");
    assert_eq!(near.kind, LinkKind::Veth);
}

#[test]
fn a_bridge_and_its_ports() {
    let Some(node) = Node::new() else { return };
    let options = Bridge {
        stp: Some(true),
        vlan_filtering: Some(false),
        ageing_centiseconds: Some(12_345),
        forward_delay_centiseconds: Some(400),
        priority: Some(0x1000),
        group_forward_mask: Some(0x4000),
        multicast_snooping: Some(false),
        ..Bridge::default()
    };
    let wanted = NewLink::new(name("br0"), LinkKind::Bridge(options.clone())).up();
    let bridge = node.net.create_link(&wanted).unwrap();
    let LinkKind::Bridge(found) = &bridge.kind else { panic!("{bridge:?}") };
    assert_eq!(found.stp, options.stp);
    // Rounded to the kernel's clock, so not always the same number.
    let ageing = found.ageing_centiseconds.unwrap();
    assert!((12_344..=12_345).contains(&ageing), "{ageing}");
    let (again, how) = node.net.ensure_link(&wanted).unwrap();
    // Whether packets pass turns out a little later than whether the bridge is there.
    let again = Link { state: bridge.state, ..again };
    assert_eq!((again, how), (bridge.clone(), Ensured::Unchanged));
    assert_eq!(found.forward_delay_centiseconds, options.forward_delay_centiseconds);
    assert_eq!(found.priority, options.priority);
    assert_eq!(found.group_forward_mask, options.group_forward_mask);
    assert_eq!(found.multicast_snooping, options.multicast_snooping);

    let (port, _) = node.pair("a", "b");
    node.net.set_master(&port, Some(bridge.index)).unwrap();
    assert_eq!(node.net.expect_link(&port).unwrap().master, Some(bridge.index));
    node.net.set_master(&port, None).unwrap();
    assert_eq!(node.net.expect_link(&port).unwrap().master, None);

    let less = LinkKind::Bridge(Bridge { stp: Some(false), ..Bridge::default() });
    node.net.change_options(&bridge, &less).unwrap();
    let LinkKind::Bridge(found) = node.net.expect_link(&bridge).unwrap().kind else { panic!() };
    assert_eq!((found.stp, found.ageing_centiseconds), (Some(false), Some(ageing)));
}

#[test]
fn macvlans_stand_on_a_parent() {
    let (Some(node), Some(pod)) = (Node::new(), Node::new()) else { return };
    if !has(Feature::Macvlan) {
        return;
    }
    let (parent, _) = node.pair("a", "b");
    let mut mode = MacvlanMode::Bridge;
    let kind = |mode| LinkKind::Macvlan(Macvlan { mode });
    let here = NewLink::new(name("mv0"), kind(mode)).on(parent.index);
    let made = node.net.create_link(&here).unwrap();
    assert_eq!(made.kind, kind(mode));
    assert_eq!(made.parent, Some(Far { index: parent.index, namespace: None }));
    mode = MacvlanMode::Private;
    node.net.change_options(&made, &kind(mode)).unwrap();
    assert_eq!(node.net.expect_link(&made).unwrap().kind, kind(mode));

    let kind = kind(MacvlanMode::Bridge);
    let there = NewLink::new(name("net1"), kind).on(parent.index).with_alias("a pod's").up();
    node.net.create_link_in(&there, &pod.namespace).unwrap();
    let seen = pod.net.expect_link(&there.name).unwrap();
    assert_eq!(seen.alias, there.alias);
    assert!(seen.up);
    let far = seen.parent.unwrap();
    assert_eq!(far.index, parent.index);
    assert!(far.namespace.is_some());
}

#[test]
fn a_vxlan_keeps_its_options() {
    let Some(node) = Node::new() else { return };
    if !has(Feature::Vxlan) {
        return;
    }
    let (parent, _) = node.pair("a", "b");
    let vxlan = Vxlan {
        id: 4242,
        port: Some(4789),
        local: Some("192.0.2.1".parse().unwrap()),
        remote: Some("192.0.2.2".parse().unwrap()),
        learning: Some(false),
        ttl: Some(7),
        ageing_seconds: Some(120),
    };
    let wanted = NewLink::new(name("vx"), LinkKind::Vxlan(vxlan.clone())).on(parent.index);
    let made = node.net.create_link(&wanted).unwrap();
    assert_eq!(made.kind, LinkKind::Vxlan(vxlan.clone()));
    assert_eq!(made.parent.map(|far| far.index), Some(parent.index));
    let six = Vxlan {
        id: 4243,
        port: Some(4790),
        local: Some("2001:db8::1".parse().unwrap()),
        remote: Some("2001:db8::2".parse().unwrap()),
        ..vxlan
    };
    let made =
        node.net.create_link(&NewLink::new(name("vx6"), LinkKind::Vxlan(six.clone()))).unwrap();
    assert_eq!(made.kind, LinkKind::Vxlan(six));
}

#[test]
fn kinds_this_kernel_may_lack() {
    let Some(node) = Node::new() else { return };
    let (parent, _) = node.pair("a", "b");
    let make = |link: NewLink| {
        let made = node.net.create_link(&link).unwrap();
        assert_eq!(made.name, link.name);
        made.kind
    };
    if has(Feature::Vlan) {
        let kind = LinkKind::Vlan(Vlan { id: 4094, protocol: VlanProtocol::Customer });
        assert_eq!(make(NewLink::new(name("a.4094"), kind.clone()).on(parent.index)), kind);
    }
    if has(Feature::Dummy) {
        assert_eq!(make(NewLink::new(name("d0"), LinkKind::Dummy)), LinkKind::Dummy);
    }
    if has(Feature::Vrf) {
        let kind = LinkKind::Vrf { table: 1000 };
        assert_eq!(make(NewLink::new(name("red"), kind.clone())), kind);
    }
    if has(Feature::Bond) {
        let wanted = Bond {
            mode: Some(BondMode::Lacp),
            miimon_ms: Some(100),
            lacp_rate: Some(LacpRate::Fast),
            ..Bond::default()
        };
        let LinkKind::Bond(bond) =
            make(NewLink::new(name("bond0"), LinkKind::Bond(wanted.clone())))
        else {
            panic!()
        };
        assert_eq!(
            (bond.mode, bond.miimon_ms, bond.lacp_rate),
            (wanted.mode, wanted.miimon_ms, wanted.lacp_rate)
        );
    }
    if has(Feature::BridgeVlanFiltering) {
        let wanted =
            Bridge { vlan_filtering: Some(true), vlan_default_pvid: Some(7), ..Bridge::default() };
        let LinkKind::Bridge(bridge) = make(NewLink::new(name("brv"), LinkKind::Bridge(wanted)))
        else {
            panic!()
        };
        assert_eq!((bridge.vlan_filtering, bridge.vlan_default_pvid), (Some(true), Some(7)));
    }
}

#[test]
fn renaming_and_moving() {
    let (Some(here), Some(there)) = (Node::new(), Node::new()) else { return };
    let (a, b) = here.pair("a", "b");
    here.net.set_down(&a).unwrap(); // older kernels rename only what is down
    here.net.rename(&a, &name("first")).unwrap();
    assert_eq!(here.net.expect_link(&a).unwrap().name, name("first"));
    here.net.move_link(&name("b"), &there.namespace, Some(&name("eth0"))).unwrap();
    assert_eq!(here.net.link(&b).unwrap(), None);
    let moved = there.net.expect_link(&name("eth0")).unwrap();
    assert_eq!((moved.mac, moved.up), (b.mac, false));

    let error = here.net.rename(&a, &name("lo")).unwrap_err();
    assert!(error.is_present(), "{error}");
    assert!(error.to_string().contains("rename link first to lo"), "{error}");
    let error = here.net.rename(&name("nobody"), &name("x")).unwrap_err();
    assert_eq!(error.to_string(), "cannot rename link nobody: it does not exist");
}

#[test]
fn ensuring_a_link_is_idempotent() {
    let Some(node) = Node::new() else { return };
    let bridge = node.bridge("br0");
    let (parent, _) = node.pair("a", "b");
    let ensure = |wanted: &NewLink| node.net.ensure_link(wanted).map(|(_, how)| how);

    let options = |stp| LinkKind::Bridge(Bridge { stp: Some(stp), ..Bridge::default() });
    let wanted = NewLink::new(name("br1"), options(true)).with_mtu(1400).up();
    assert_eq!(ensure(&wanted).unwrap(), Ensured::Created);
    assert_eq!(ensure(&wanted).unwrap(), Ensured::Unchanged);
    let wanted = NewLink { kind: options(false), mac: Some(MAC), ..wanted };
    assert_eq!(ensure(&wanted).unwrap(), Ensured::Changed);
    assert_eq!(ensure(&wanted).unwrap(), Ensured::Unchanged);
    let found = node.net.expect_link(&wanted.name).unwrap();
    assert_eq!((found.mac, found.mtu, found.up), (Some(MAC), 1400, true));

    let mv = NewLink::new(name("mv"), LinkKind::Macvlan(Macvlan { mode: MacvlanMode::Bridge }))
        .on(parent.index)
        .with_alias("mine");
    assert_eq!(ensure(&mv).unwrap(), Ensured::Created);
    assert_eq!(ensure(&mv).unwrap(), Ensured::Unchanged);
    let mastered = mv.clone().in_master(bridge.index);
    assert_eq!(ensure(&mastered).unwrap(), Ensured::Changed);
    assert_eq!(ensure(&mastered).unwrap(), Ensured::Unchanged);

    let other_kind = NewLink::new(name("mv"), LinkKind::Veth);
    let error = ensure(&other_kind).unwrap_err();
    assert_eq!(error.to_string(), "link mv exists with kind macvlan bridge, wanted is kind veth");
    let error = ensure(&mv.on(bridge.index)).unwrap_err();
    assert!(matches!(error, Error::Differs { .. }), "{error}");
}

#[test]
fn refusals_say_what_and_where() {
    let Some(node) = Node::new() else { return };
    let bridge = node.bridge("br0");
    let again = NewLink::new(name("br0"), LinkKind::Bridge(Bridge::default()));
    let error = node.net.create_link(&again).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot create bridge link br0: File exists (os error 17) (a link of that name is there \
         already: choose another name or delete that link)"
    );
    let error = node.net.set_mtu(&bridge, 7_000_000).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("cannot change link br0: Invalid argument"), "{text}");
    // The kernel's own words.
    assert!(text.contains("mtu greater than device maximum"), "{text}");
    let vlan = LinkKind::Vlan(Vlan { id: 20, protocol: VlanProtocol::Customer });
    if !has(Feature::Vlan) {
        let wanted = NewLink::new(name("br0.20"), vlan).on(bridge.index);
        let error = node.net.create_link(&wanted).unwrap_err().to_string();
        assert!(error.starts_with("cannot create vlan link br0.20 on br0: "), "{error}");
        assert!(error.ends_with("(this kernel has no 8021q: modprobe 8021q)"), "{error}");
    }
}

#[test]
fn a_port_has_options_and_a_link_may_listen_to_all() {
    let Some(node) = Node::new() else { return };
    let bridge = node.bridge("br0");
    let (one, _) = node.pair("v0", "v1");
    assert_eq!(one.port, None);
    let (hairpin, isolated) = (Some(true), Some(true));
    let wanted = Port { hairpin, isolated, cost: Some(7), priority: Some(9) };
    assert!(node.net.change_port(&one, wanted).is_err(), "it is no port yet");
    node.net.set_master(&one, Some(bridge.index)).unwrap();
    node.net.change_port(&one, wanted).unwrap();
    let only = Port { hairpin: Some(false), ..Port::default() };
    node.net.change_port(&one, only).unwrap();
    let found = node.net.expect_link(&one).unwrap().port;
    assert_eq!(found, Some(Port { hairpin: Some(false), ..wanted }));
    for on in [true, false] {
        let change = LinkChange { promiscuous: Some(on), ..LinkChange::default() };
        node.net.change_link(&one, &change).unwrap();
        let link = node.net.expect_link(&one).unwrap();
        assert_eq!((link.promiscuous, link.up), (on, true));
    }
}

#[test]
fn a_filtering_bridge_lets_chosen_vlans_through() {
    let Some(node) = Node::new() else { return };
    if !has(Feature::BridgeVlanFiltering) {
        return;
    }
    let bridge = node.bridge("br0");
    let on = LinkKind::Bridge(Bridge { vlan_filtering: Some(true), ..Bridge::default() });
    node.net.change_options(&bridge, &on).unwrap();
    let (port, _) = node.pair("v0", "v1");
    node.net.set_master(&port, Some(bridge.index)).unwrap();
    node.net.add_bridge_vlan(port.index, BridgeVlan::tagged(2, 4094)).unwrap();
    node.net.delete_bridge_vlan(port.index, BridgeVlan::tagged(10, 20)).unwrap();
    let found = &node.net.bridge_vlans().unwrap()[&port.index];
    let wanted = [BridgeVlan::native(1), BridgeVlan::tagged(2, 9), BridgeVlan::tagged(21, 4094)];
    assert_eq!(found, &wanted);
}

#[test]
fn a_link_that_leaves_is_gone_when_it_says_so() {
    let (Some(node), Some(pod)) = (Node::new(), Node::new()) else { return };
    if !has(Feature::Macvlan) {
        return;
    }
    let (master, _) = node.pair("up0", "up1");
    let kind = LinkKind::Macvlan(Macvlan { mode: MacvlanMode::Passthru });
    let wanted = NewLink::new(name("net1"), kind).on(master.index);
    // Passthru is for one alone: the next one is refused unless the kernel has let go of the master.
    for round in 0..5 {
        node.net.create_link_in(&wanted, &pod.namespace).unwrap_or_else(|e| panic!("{round}: {e}"));
        pod.net.set_up(&wanted.name).unwrap();
        let leaving = pod.net.start_delete(&wanted.name).unwrap().expect("it is there");
        assert!(leaving.gone().unwrap());
        assert_eq!(pod.net.link(&wanted.name).unwrap(), None);
    }
    assert!(pod.net.start_delete(&wanted.name).unwrap().is_none());
}

#[test]
fn a_pair_leaves_with_both_ends() {
    let (Some(here), Some(there)) = (Node::new(), Node::new()) else { return };
    let (near, far) = wire(&here, &there, "eth0");
    assert!(there.net.start_delete(&far).unwrap().expect("it is there").gone().unwrap());
    assert_eq!(here.net.link(near.index).unwrap(), None);
}

#[test]
fn what_cannot_be_deleted_says_why() {
    let Some(node) = Node::new() else { return };
    let error = node.net.start_delete(&name("lo")).unwrap().expect("it is there").gone();
    assert!(matches!(error, Err(Error::Refused(_))), "{error:?}");
}
