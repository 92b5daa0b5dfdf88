//! What a link listens to, how much it queues, how it acts as a port.

use landbridge_linux::link::{Fine, Port};

use crate::harness::{Node, name};

#[test]
fn a_link_listens_and_queues_as_told() {
    let Some(node) = Node::new() else { return };
    let (link, _) = node.pair("a", "b");
    let before = node.net.fine(&link).unwrap();
    assert_eq!((before.promiscuous, before.all_multicast), (Some(false), Some(false)));
    let wanted =
        Fine { promiscuous: Some(true), all_multicast: Some(true), send_queue: Some(1234) };
    node.net.set_fine(&link, &wanted).unwrap();
    assert_eq!(node.net.fine(&link).unwrap(), wanted);
    assert!(node.net.expect_link(&link).unwrap().up);
    node.net.set_fine(&link, &Fine { promiscuous: Some(false), ..Fine::default() }).unwrap();
    assert_eq!(node.net.fine(&link).unwrap(), Fine { promiscuous: Some(false), ..wanted });
    assert!(node.net.fine(&name("none")).unwrap_err().is_absent());
}

#[test]
fn a_port_acts_as_told() {
    let Some(node) = Node::new() else { return };
    let (link, _) = node.pair("a", "b");
    let port = || node.net.expect_link(&link).unwrap().port;
    assert_eq!(port(), None);
    let wanted = Port { hairpin: Some(true), isolated: Some(true), ..Port::default() };
    assert!(node.net.change_port(&link, wanted).is_err());
    node.net.set_master(&link, Some(node.bridge("br0").index)).unwrap();
    node.net.change_port(&link, wanted).unwrap();
    assert_eq!(
        port().unwrap(),
        Port { cost: port().unwrap().cost, priority: port().unwrap().priority, ..wanted }
    );
    node.net.change_port(&link, Port { hairpin: Some(false), ..Port::default() }).unwrap();
    assert_eq!(port().unwrap().hairpin, Some(false));
    assert_eq!(port().unwrap().isolated, Some(true));
}
