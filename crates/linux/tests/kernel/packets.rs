//! Packets are sent and seen.

use std::net::UdpSocket;
use std::time::Duration;

use landbridge_linux::link::{Macvlan, MacvlanMode};
use landbridge_linux::probe::Feature;
use landbridge_linux::{LinkKind, NewLink, Route, Sysctl, Sysctls};

use crate::harness::{Node, has, name, wire};

/// Sends a datagram from one network to an address of another and back.
fn echo(from: &Node, to: &Node, at: &str) -> std::io::Result<()> {
    let bind = if at.contains(':') { "[::]:0" } else { "0.0.0.0:0" };
    let open = |node: &Node| node.namespace.run(|| UdpSocket::bind(bind)).unwrap().unwrap();
    let (client, server) = (open(from), open(to));
    let wait = Some(Duration::from_secs(2));
    client.set_read_timeout(wait)?;
    server.set_read_timeout(wait)?;
    client
        .send_to(b"ping", (at.parse::<std::net::IpAddr>().unwrap(), server.local_addr()?.port()))?;
    let mut buffer = [0; 16];
    let (length, sender) = server.recv_from(&mut buffer)?;
    server.send_to(&buffer[..length], sender)?;
    let (length, _) = client.recv_from(&mut buffer)?;
    assert_eq!(&buffer[..length], b"ping");
    Ok(())
}

#[test]
fn through_two_veths_and_a_bridge() {
    let (Some(switch), Some(one), Some(other)) = (Node::new(), Node::new(), Node::new()) else {
        return;
    };
    let bridge = switch.bridge("br0");
    for (node, port, four, six) in [
        (&one, "p1", "192.0.2.1/24", "2001:db8::1/64"),
        (&other, "p2", "192.0.2.2/24", "2001:db8::2/64"),
    ] {
        let end = NewLink::new(name(port), LinkKind::Veth).in_master(bridge.index).up();
        let peer = NewLink::new(name("eth0"), LinkKind::Veth).up();
        switch.net.create_veth(&end, &peer, Some(&node.namespace)).unwrap();
        let eth0 = node.net.index(&peer.name).unwrap();
        node.address(eth0, four);
        node.address(eth0, six);
    }
    echo(&one, &other, "192.0.2.2").unwrap();
    echo(&one, &other, "2001:db8::2").unwrap();
    // Without its port the bridge passes nothing on.
    switch.net.set_master(&name("p2"), None).unwrap();
    assert!(echo(&one, &other, "192.0.2.2").is_err());
}

#[test]
fn through_a_router() {
    let (Some(router), Some(one), Some(other)) = (Node::new(), Node::new(), Node::new()) else {
        return;
    };
    let (left, near) = wire(&router, &one, "left");
    let (right, far) = wire(&router, &other, "right");
    router.address(left.index, "192.0.2.254/24");
    router.address(right.index, "198.51.100.254/24");
    one.address(near.index, "192.0.2.1/24");
    other.address(far.index, "198.51.100.1/24");
    let default = "0.0.0.0/0".parse().unwrap();
    one.net.add_route(&Route::via(default, "192.0.2.254".parse().unwrap())).unwrap();
    other.net.add_route(&Route::via(default, "198.51.100.254".parse().unwrap())).unwrap();
    Sysctls::of(&router.namespace).write(&Sysctl::ipv4_forwarding(), 1).unwrap();
    echo(&one, &other, "198.51.100.1").unwrap();
}

#[test]
fn between_macvlan_pods() {
    let (Some(node), Some(one), Some(other)) = (Node::new(), Node::new(), Node::new()) else {
        return;
    };
    if !has(Feature::Macvlan) {
        return;
    }
    let (parent, _) = node.pair("eth0", "far");
    for (pod, address) in [(&one, "192.0.2.1/24"), (&other, "192.0.2.2/24")] {
        let kind = LinkKind::Macvlan(Macvlan { mode: MacvlanMode::Bridge });
        let link = NewLink::new(name("net1"), kind).on(parent.index).up();
        node.net.create_link_in(&link, &pod.namespace).unwrap();
        pod.address(pod.net.index(&link.name).unwrap(), address);
    }
    echo(&one, &other, "192.0.2.2").unwrap();
}
