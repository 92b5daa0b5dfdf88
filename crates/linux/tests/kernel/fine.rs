//! What a link listens to, how much it queues, how it acts as a port.

use landbridge_linux::link::Fine;

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
