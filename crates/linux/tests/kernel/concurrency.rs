//! Many namespaces at once, and many threads on one handle.

use std::thread;
use std::time::Instant;

use landbridge_linux::link::Bridge;
use landbridge_linux::{LinkKind, NewLink};

use crate::harness::{Node, name};

#[test]
fn fifty_namespaces_at_once() {
    let Some(switch) = Node::new() else { return };
    let bridge = switch.bridge("br0");
    let start = Instant::now();
    let nodes: Vec<Node> = thread::scope(|scope| {
        let (switch, bridge) = (&switch, &bridge);
        let makers: Vec<_> = (0..50)
            .map(|number| {
                scope.spawn(move || {
                    let node = Node::new().unwrap();
                    let port = NewLink::new(name(&format!("port{number}")), LinkKind::Veth)
                        .in_master(bridge.index)
                        .up();
                    let end = NewLink::new(name("eth0"), LinkKind::Veth).up();
                    switch.net.create_veth(&port, &end, Some(&node.namespace)).unwrap();
                    let eth0 = node.net.index(&end.name).unwrap();
                    node.address(eth0, &format!("192.0.2.{}/24", number + 1));
                    node
                })
            })
            .collect();
        makers.into_iter().map(|maker| maker.join().unwrap()).collect()
    });
    println!("50 namespaces with a port on one bridge each: {:?}", start.elapsed());
    let ports = switch.net.links().unwrap();
    assert_eq!(ports.iter().filter(|link| link.master == Some(bridge.index)).count(), 50);
    let mut identities: Vec<_> =
        nodes.iter().map(|n| n.namespace.identity().unwrap().inode()).collect();
    identities.sort_unstable();
    identities.dedup();
    assert_eq!(identities.len(), 50);
    for (number, node) in nodes.iter().enumerate() {
        let addresses = node.net.addresses().unwrap();
        let own = format!("192.0.2.{}/24", number + 1);
        assert!(addresses.iter().any(|address| address.net.to_string() == own), "{addresses:?}");
    }
}

#[test]
fn one_handle_serves_many_threads() {
    let Some(node) = Node::new() else { return };
    thread::scope(|scope| {
        for worker in 0..4 {
            let net = &node.net;
            scope.spawn(move || {
                for round in 0..10 {
                    let kind = LinkKind::Bridge(Bridge::default());
                    let link = NewLink::new(name(&format!("br{worker}-{round}")), kind);
                    assert_eq!(net.create_link(&link).unwrap().name, link.name);
                    assert!(net.links().unwrap().iter().any(|found| found.name == link.name));
                    assert!(net.delete_link(&link.name).unwrap());
                }
            });
        }
    });
    assert_eq!(node.net.links().unwrap().len(), 1);
}

#[test]
fn the_cost_of_a_pair() {
    const PAIRS: u32 = 50;
    let Some(node) = Node::new() else { return };
    let start = Instant::now();
    for number in 0..PAIRS {
        let one = NewLink::new(name(&format!("a{number}")), LinkKind::Veth);
        let other = NewLink::new(name(&format!("b{number}")), LinkKind::Veth);
        node.net.create_veth(&one, &other, None).unwrap();
    }
    println!("{:?} per pair", start.elapsed() / PAIRS);
    let start = Instant::now();
    assert_eq!(node.net.links().unwrap().len(), 1 + 2 * PAIRS as usize);
    println!("{:?} to list them", start.elapsed());
    let start = Instant::now();
    let before = node.net.checkpoint().unwrap();
    println!("{:?} for a checkpoint", start.elapsed());
    assert_eq!(before.links.len(), 1 + 2 * PAIRS as usize);
}
