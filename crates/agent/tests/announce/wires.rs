//! Who answers, where, and what is said when that changes.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use landbridge_agent::announce::Command;
use landbridge_l2::interfaces::{Excluded, Where};
use landbridge_l2::members::Keys;
use landbridge_l2::packet::arp::Arp;
use landbridge_l2::packet::ndp::Advertisement;
use landbridge_linux::neighbour::NeighbourState;
use landbridge_linux::{IfName, LinkKind, NewLink};

use crate::scene::{Scene, VLANS, ip, on};

const VIP: &str = "172.17.0.80";

/// A scene in which one node holds the address.
async fn held(nodes: usize, wheres: Where) -> Option<(Scene, usize)> {
    let mut scene = Scene::new(nodes)?;
    let units = BTreeMap::from([(ip(VIP), scene.unit(&[(VIP, wheres)]))]);
    scene.plan(&units);
    let holder = scene.settled(ip(VIP)).await;
    Some((scene, holder))
}

#[tokio::test(flavor = "multi_thread")]
async fn answered_by_one_node_on_its_vlan_only() {
    let Some((mut scene, holder)) = held(3, on(0)).await else { return };
    let expected = scene.mac(holder, VLANS[0]);
    for _ in 0..5 {
        assert_eq!(scene.ask(0, VIP).await, [expected]);
        assert_eq!(scene.ask(1, VIP).await, [], "on the other VLAN");
    }
    assert_eq!(scene.ask(0, "172.17.0.81").await, [], "an address nobody holds");
    // The address itself is on no interface.
    for node in &scene.nodes {
        assert!(node.net.addresses().unwrap().iter().all(|a| a.net.addr() != ip(VIP)));
    }
    // All interfaces: both VLANs.
    let units = BTreeMap::from([(ip(VIP), scene.unit(&[(VIP, Where::All)]))]);
    scene.plan(&units);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(scene.ask(0, VIP).await, [expected]);
    assert_eq!(scene.ask(1, VIP).await, [scene.mac(holder, VLANS[1])]);
}

/// The node has no address of IPv4 on the VLAN, as the seed has it: it learns from the request where
/// the client is.
#[tokio::test(flavor = "multi_thread")]
async fn who_asks_becomes_a_neighbour() {
    let Some((mut scene, holder)) = held(1, on(0)).await else { return };
    assert_eq!(scene.ask(0, VIP).await.len(), 1);
    let client = scene.client_mac(0);
    let neighbours = scene.nodes[holder].net.neighbours().unwrap();
    let known = neighbours.iter().find(|one| one.ip == ip("172.17.0.100")).expect("a neighbour");
    assert_eq!(known.mac.map(|mac| mac.0), Some(client.0));
    assert_eq!(known.state, NeighbourState::Stale);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_node_is_replaced_and_everybody_hears_of_it() {
    let Some((mut scene, holder)) = held(3, on(0)).await else { return };
    let name = scene.nodes[holder].name.clone();
    tokio::time::sleep(Duration::from_millis(500)).await;
    scene.drain().await;
    scene.kill(holder);
    let took = scene.until("another one holds it", |s| s.holders(ip(VIP)).len() == 1).await;
    assert!(took < Duration::from_secs(1), "{took:?}");
    let next = scene.holders(ip(VIP))[0];
    assert_ne!(next, holder);
    let mac = scene.mac(next, VLANS[0]);
    let expected = Arp::gratuitous(mac, Ipv4Addr::new(172, 17, 0, 80)).map(|arp| (0, arp.write()));
    // Byte by byte, and in both forms; by the first round of them.
    let (mut frames, began) = (Vec::new(), Instant::now());
    while began.elapsed() < Duration::from_millis(900)
        && !expected.iter().all(|e| frames.contains(e))
    {
        frames.extend(scene.drain().await);
    }
    for frame in &expected {
        assert!(frames.contains(frame), "not said: {frame:?}");
    }
    assert_eq!(scene.ask(0, VIP).await, [mac]);
    for (number, node) in scene.nodes.iter().enumerate().filter(|(number, _)| *number != holder) {
        assert!(node.dead.borrow().contains(&name), "node {number} does not know");
    }
    // It comes back, and takes what is its own by MetalLB's order; nobody is dead any more.
    scene.start(holder);
    let units = BTreeMap::from([(ip(VIP), scene.unit(&[(VIP, on(0))]))]);
    scene.plan_for(holder, &units);
    scene.until("it has it back", |scene| scene.holders(ip(VIP)) == [holder]).await;
    assert_eq!(scene.ask(0, VIP).await, [scene.mac(holder, VLANS[0])]);
    assert!(scene.nodes[next].dead.borrow().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pulled_cable_moves_the_address_at_once() {
    let Some((mut scene, holder)) = held(3, on(0)).await else { return };
    tokio::time::sleep(Duration::from_millis(300)).await;
    let port = IfName::new(&format!("n{holder}v0")).unwrap();
    scene.switch.set_down(&port).unwrap();
    let took = scene
        .until("another one holds it", |scene| {
            let holders = scene.holders(ip(VIP));
            holders.len() == 1 && holders != [holder]
        })
        .await;
    assert!(took < Duration::from_millis(300), "{took:?}");
    let next = scene.holders(ip(VIP))[0];
    assert_eq!(scene.ask(0, VIP).await, [scene.mac(next, VLANS[0])]);
    assert!(scene.nodes[next].dead.borrow().is_empty(), "a cable is no death");
    scene.switch.set_up(&port).unwrap();
    scene.until("it has it back", |scene| scene.holders(ip(VIP)) == [holder]).await;
}

/// The machine network is cut, the VLAN is not: the others take over, and who is alone falls silent.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_cut_off_falls_silent() {
    let Some((mut scene, holder)) = held(3, on(0)).await else { return };
    tokio::time::sleep(Duration::from_millis(500)).await;
    // The bridge stops passing: the node's own end keeps its carrier.
    let port = IfName::new(&format!("m{holder}")).unwrap();
    scene.switch.set_master(&port, None).unwrap();
    let took = scene
        .until("another one holds it alone", |scene| {
            let holders = scene.holders(ip(VIP));
            holders.len() == 1 && holders != [holder]
        })
        .await;
    assert!(took < Duration::from_secs(1), "{took:?}");
    let next = scene.holders(ip(VIP))[0];
    assert_eq!(scene.ask(0, VIP).await, [scene.mac(next, VLANS[0])]);
    assert!(scene.nodes[holder].dead.borrow().is_empty(), "who is cut off accuses nobody");
    let machine = scene.switch.index(&IfName::new("machine").unwrap()).unwrap();
    scene.switch.set_master(&port, Some(machine)).unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    for _ in 0..10 {
        assert_eq!(scene.ask(0, VIP).await.len(), 1, "after healing");
    }
    assert_eq!(scene.holders(ip(VIP)), [holder]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_says_goodbye_is_replaced_at_once() {
    let Some((mut scene, holder)) = held(2, on(0)).await else { return };
    tokio::time::sleep(Duration::from_millis(300)).await;
    let wire = scene.nodes[holder].wire.take().unwrap();
    wire.leave().await;
    let took = scene.until("the other one holds it", |s| s.holders(ip(VIP)).len() == 1).await;
    assert!(took < Duration::from_millis(200), "{took:?}");
    let other = scene.holders(ip(VIP))[0];
    assert!(scene.nodes[other].dead.borrow().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn ipv6_by_neighbour_discovery() {
    let Some(mut scene) = Scene::new(2) else { return };
    let vip = "fd00:17::80";
    let units = BTreeMap::from([(ip(vip), scene.unit(&[(vip, on(0))]))]);
    // An interface announces from its link-local address, which takes a moment to be sure. Until all
    // have one, the address may still move.
    let sure = |address: &landbridge_linux::Address| match address.net.addr() {
        IpAddr::V6(ip) => ip.is_unicast_link_local() && !address.flags.tentative,
        IpAddr::V4(_) => false,
    };
    scene
        .until("link-local addresses are sure", |scene| {
            scene.nodes.iter().all(|node| {
                let addresses = node.net.addresses().unwrap();
                let link = node.net.index(&IfName::new(VLANS[0]).unwrap()).unwrap();
                addresses.iter().any(|address| address.link == link && sure(address))
            })
        })
        .await;
    scene.plan(&units);
    let holder = scene.settled(ip(vip)).await;
    let mac = scene.mac(holder, VLANS[0]);
    let said = scene.drain().await;
    let mut unsolicited = said.iter().filter_map(|(vlan, frame)| {
        let told = Advertisement::read(frame)?;
        (!told.solicited && IpAddr::V6(told.target) == ip(vip)).then_some((*vlan, told.mac))
    });
    // Whoever began before it heard of the other one has given way since.
    assert_eq!(unsolicited.next_back(), Some((0, mac)));
    assert_eq!(scene.ask(0, vip).await, [mac]);
    assert_eq!(scene.ask(1, vip).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn excluded_and_enslaved_interfaces_are_silent() {
    let Some((mut scene, holder)) = held(1, Where::All).await else { return };
    assert_eq!(scene.ask(0, VIP).await.len(), 1);
    let wire = scene.nodes[holder].wire.as_ref().unwrap();
    wire.tell(Command::Excluded(Excluded::new(&[r"\.20$"]).unwrap()));
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(scene.ask(0, VIP).await, [], "excluded");
    assert_eq!(scene.ask(1, VIP).await.len(), 1);
    // A port of a bridge says nothing; the bridge does.
    let net = &scene.nodes[holder].net;
    let bridge = IfName::new("br-ex").unwrap();
    let kind = LinkKind::Bridge(landbridge_linux::link::Bridge::default());
    let bridge = net.create_link(&NewLink::new(bridge, kind).up()).unwrap();
    net.set_master(&IfName::new(VLANS[1]).unwrap(), Some(bridge.index)).unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let answered = scene.ask(1, VIP).await;
    let bridge = scene.mac(holder, "br-ex");
    assert_eq!(answered, [bridge]);
}

/// Without the right key nobody is a member, whatever is sent.
#[tokio::test(flavor = "multi_thread")]
async fn strangers_are_not_heard() {
    let Some(mut scene) = Scene::new(2) else { return };
    let stranger = scene.nodes[1].wire.as_ref().unwrap();
    stranger.tell(Command::Keys(Keys::new(&[9; 32], &[]).unwrap()));
    let units = BTreeMap::from([(ip(VIP), scene.unit(&[(VIP, on(0))]))]);
    scene.plan(&units);
    scene.until("refusals are counted", |scene| scene.report(0).refused > 0).await;
    assert!(scene.report(0).live.is_empty());
    // With the same key again they hear each other.
    let stranger = scene.nodes[1].wire.as_ref().unwrap();
    stranger.tell(Command::Keys(Keys::new(&[3; 32], &[&[9; 32]]).unwrap()));
    scene.until("they hear each other", |scene| scene.report(0).live.len() == 1).await;
    scene.until("one holds it", |scene| scene.holders(ip(VIP)).len() == 1).await;
}
