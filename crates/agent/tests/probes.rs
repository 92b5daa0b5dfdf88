//! The gateway and address probes on a real kernel.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Write as _;
use std::time::Duration;

use landbridge_agent::policy::probes::here::{addresses, gateways, reaches};
use landbridge_linux::{Address, Handle, IfName, LinkKind, Namespace, NewLink, Route};

const SECOND: Duration = Duration::from_secs(1);

struct Wire {
    node: Handle,
    router: Handle,
}

/// A node and a router on one wire, in namespaces of their own.
fn wire() -> Option<Wire> {
    if !rustix::process::geteuid().is_root() {
        let _ = writeln!(std::io::stderr(), "skipped: probes: needs root");
        return None;
    }
    let (here, there) = (Namespace::unnamed().unwrap(), Namespace::unnamed().unwrap());
    let (node, router) =
        (Handle::in_namespace(&here).unwrap(), Handle::in_namespace(&there).unwrap());
    let end = NewLink::new(IfName::new("eth0").unwrap(), LinkKind::Veth).up();
    node.create_veth(&end, &end, Some(&there)).unwrap();
    for (net, last) in [(&node, 10), (&router, 1)] {
        let link = net.index(&end.name).unwrap();
        for prefix in [format!("192.0.2.{last}/24"), format!("2001:db8::{last:x}/64")] {
            net.add_address(&Address::new(link, prefix.parse().unwrap()).without_dad()).unwrap();
        }
    }
    let link = node.index(&end.name).unwrap();
    for (destination, gateway) in [("0.0.0.0/0", "192.0.2.1"), ("::/0", "2001:db8::1")] {
        let route = Route::via(destination.parse().unwrap(), gateway.parse().unwrap()).on(link);
        node.add_route(&route).unwrap();
    }
    Some(Wire { node, router })
}

#[test]
fn a_gateway_is_reached_as_long_as_it_answers() {
    let Some(Wire { node, router }) = wire() else { return };
    let found = gateways(&node).unwrap();
    assert_eq!(found.len(), 2, "{found:?}");
    for gateway in &found {
        for _ in 0..3 {
            assert_eq!(reaches(&node, gateway, SECOND), Ok(()), "{gateway:?}");
        }
    }
    let link = router.index(&IfName::new("eth0").unwrap()).unwrap();
    router.flush_addresses(link).unwrap();
    for gateway in &found {
        // The kernel still remembers it, and must not be believed.
        let error = reaches(&node, gateway, Duration::from_millis(300)).unwrap_err();
        assert!(error.contains("no answer") || error.contains("nobody"), "{gateway:?}: {error}");
    }
    node.set_down(&IfName::new("eth0").unwrap()).unwrap();
    assert_eq!(gateways(&node).unwrap(), vec![], "no link, no route");
    assert!(reaches(&node, &found[0], Duration::from_millis(100)).is_err());
}

#[test]
fn an_address_counts_only_on_a_link_that_is_up() {
    let Some(Wire { node, router }) = wire() else { return };
    let mine = "192.0.2.10".parse().unwrap();
    assert!(addresses(&node).unwrap().contains(&mine));
    router.set_down(&IfName::new("eth0").unwrap()).unwrap();
    assert!(!addresses(&node).unwrap().contains(&mine), "the other end is down");
    router.set_up(&IfName::new("eth0").unwrap()).unwrap();
    assert!(addresses(&node).unwrap().contains(&mine));
    node.set_down(&IfName::new("eth0").unwrap()).unwrap();
    assert!(!addresses(&node).unwrap().contains(&mine));
}
