//! Routes.

use landbridge_linux::route::{NextHop, Protocol, table};
use landbridge_linux::{Ensured, Route};

use crate::harness::Node;

fn net(text: &str) -> ipnet::IpNet {
    text.parse().unwrap()
}

fn ip(text: &str) -> std::net::IpAddr {
    text.parse().unwrap()
}

#[test]
fn of_both_families_and_all_shapes() {
    let Some(node) = Node::new() else { return };
    let (a, b) = node.pair("a", "b");
    node.address(a.index, "192.0.2.1/24");
    node.address(a.index, "2001:db8::1/64");
    node.address(b.index, "198.51.100.1/24");

    let hop =
        |gateway, link, weight| NextHop { gateway: Some(ip(gateway)), link, weight, onlink: false };
    let wanted = [
        Route::via(net("0.0.0.0/0"), ip("192.0.2.254")).on(a.index).with_metric(100),
        Route::via(net("203.0.113.0/24"), ip("192.0.2.253"))
            .on(a.index)
            .with_source(ip("192.0.2.1")),
        Route::dev(net("10.9.0.0/16"), a.index),
        Route::blackhole(net("10.10.0.0/16")),
        Route::via(net("10.11.0.0/16"), ip("192.0.2.252")).on(a.index).in_table(4000),
        Route { mtu: Some(1300), ..Route::via(net("10.12.0.0/16"), ip("192.0.2.252")).on(a.index) },
        Route { onlink: true, ..Route::via(net("10.13.0.0/16"), ip("172.31.0.1")).on(a.index) },
        // IPv4 by way of an IPv6 gateway.
        Route::via(net("10.14.0.0/16"), ip("2001:db8::fe")).on(a.index),
        Route {
            gateway: None,
            multipath: vec![hop("192.0.2.5", a.index, 1), hop("198.51.100.5", b.index, 7)],
            ..Route::via(net("10.15.0.0/16"), ip("192.0.2.5"))
        },
        Route::via(net("::/0"), ip("2001:db8::fe")).on(a.index).with_metric(50),
        Route::dev(net("2001:db8:1::/64"), a.index).with_metric(1024).in_table(300),
    ];
    for route in &wanted {
        assert_eq!(node.net.ensure_route(route).unwrap(), Ensured::Created, "{route}");
        assert_eq!(node.net.ensure_route(route).unwrap(), Ensured::Unchanged, "{route}");
        let found = node.net.routes_of(route.table).unwrap();
        assert!(found.contains(route), "{route}: {found:#?}");
    }
    let moved = Route { gateway: Some(ip("192.0.2.77")), ..wanted[0].clone() };
    assert_eq!(node.net.ensure_route(&moved).unwrap(), Ensured::Changed);
    let routes = node.net.routes().unwrap();
    assert!(routes.contains(&moved) && !routes.contains(&wanted[0]));
    for route in wanted.iter().skip(1).chain([&moved]) {
        assert!(node.net.delete_route(route).unwrap(), "{route}");
        assert!(!node.net.delete_route(route).unwrap(), "{route}");
    }
    let left = node.net.routes_of(table::MAIN).unwrap();
    assert!(left.iter().all(|route| route.protocol == Protocol::KERNEL), "{left:#?}");
}

#[test]
fn refusals_name_the_link_and_help() {
    let Some(node) = Node::new() else { return };
    let bridge = node.bridge("br0");
    let route = Route::via(net("10.0.0.0/8"), ip("192.0.2.1")).on(bridge.index);
    let error = node.net.add_route(&route).unwrap_err().to_string();
    assert!(error.starts_with("cannot create route 10.0.0.0/8 via 192.0.2.1 dev br0: "), "{error}");
    assert!(error.contains("add an address of its network first"), "{error}");
    node.net.set_down(&bridge).unwrap();
    let error = node.net.add_route(&Route::dev(net("10.0.0.0/8"), bridge.index)).unwrap_err();
    assert!(error.to_string().contains("set it up first"), "{error}");
}

#[test]
fn ipv6_routes_on_links_stand_side_by_side() {
    let Some(node) = Node::new() else { return };
    let (a, b) = node.pair("a", "b");
    let to = net("2001:db8:9::/64");
    let on = |link| Route::dev(to, link).with_metric(256);
    for route in [on(a.index), on(b.index)] {
        assert_eq!(node.net.ensure_route(&route).unwrap(), Ensured::Created);
        assert_eq!(node.net.ensure_route(&route).unwrap(), Ensured::Unchanged);
    }
    let routes = node.net.routes().unwrap();
    assert!(routes.contains(&on(a.index)) && routes.contains(&on(b.index)), "{routes:#?}");
}
