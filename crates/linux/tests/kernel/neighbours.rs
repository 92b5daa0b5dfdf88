//! Neighbours.

use landbridge_linux::neighbour::NeighbourState;
use landbridge_linux::{Ensured, MacAddr, Neighbour};

use crate::harness::Node;

#[test]
fn permanent_ones_and_proxies() {
    let Some(node) = Node::new() else { return };
    let (a, _) = node.pair("a", "b");
    node.address(a.index, "192.0.2.1/24");
    let mac = |last| MacAddr([2, 0, 0, 0, 0, last]);
    for ip in ["192.0.2.9", "2001:db8::9"] {
        let one = Neighbour::permanent(a.index, ip.parse().unwrap(), mac(1));
        assert_eq!(node.net.ensure_neighbour(&one).unwrap(), Ensured::Created);
        assert_eq!(node.net.ensure_neighbour(&one).unwrap(), Ensured::Unchanged);
        let two = Neighbour { mac: Some(mac(2)), ..one.clone() };
        assert_eq!(node.net.ensure_neighbour(&two).unwrap(), Ensured::Changed);
        let found = node.net.neighbours().unwrap();
        assert!(found.contains(&two) && !found.contains(&one), "{found:#?}");
        assert!(node.net.delete_neighbour(&two).unwrap());
        // The kernel may keep a shadow of it for a moment, without an address.
        let left = node.net.neighbours().unwrap();
        assert!(
            !left.iter().any(|n| n.ip == two.ip && n.state == NeighbourState::Permanent),
            "{left:#?}"
        );

        let proxy = Neighbour::proxy(a.index, ip.parse().unwrap());
        node.net.add_neighbour(&proxy).unwrap();
        let found = node.net.neighbours().unwrap();
        assert!(found.iter().any(|n| n.proxy && n.ip == proxy.ip), "{found:#?}");
        assert!(node.net.delete_neighbour(&proxy).unwrap());
    }
}
