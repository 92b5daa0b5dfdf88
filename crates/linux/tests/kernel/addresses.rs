//! Addresses.

use landbridge_linux::sysctl::Conf;
use landbridge_linux::{Address, Ensured, Scope, Sysctl, Sysctls};

use crate::harness::Node;

#[test]
fn added_changed_flushed() {
    let Some(node) = Node::new() else { return };
    let link = node.bridge("br0").index;
    let four = node.address(link, "192.0.2.10/24");
    let second = node.address(link, "192.0.2.11/24");
    let six = node.address(link, "2001:db8::10/64");

    let found = node.net.expect_address(link, four.ip()).unwrap();
    assert_eq!(
        (found.net, found.scope, found.broadcast),
        (four.net, Scope::Global, four.broadcast)
    );
    assert_eq!((found.valid_seconds, found.flags.secondary), (None, false));
    assert!(node.net.expect_address(link, second.ip()).unwrap().flags.secondary);
    assert!(node.net.expect_address(link, six.ip()).unwrap().flags.no_dad);

    assert_eq!(node.net.ensure_address(&four).unwrap(), Ensured::Unchanged);
    let short = Address { valid_seconds: Some(600), preferred_seconds: Some(300), ..six.clone() };
    assert_eq!(node.net.ensure_address(&short).unwrap(), Ensured::Changed);
    let found = node.net.expect_address(link, six.ip()).unwrap();
    assert!(found.valid_seconds.is_some_and(|s| s > 590 && s <= 600), "{found:?}");
    assert!(found.preferred_seconds.is_some_and(|s| s > 290 && s <= 300), "{found:?}");

    let error = node.net.add_address(&four).unwrap_err();
    assert!(error.is_present());
    assert!(
        error.to_string().starts_with("cannot create address 192.0.2.10/24 on br0: "),
        "{error}"
    );
    assert!(node.net.flush_addresses(link).unwrap() >= 2);
    assert_eq!(node.net.addresses_of(link).unwrap(), []);
    assert!(!node.net.delete_address(&four).unwrap());
}

#[test]
fn pairs_and_loopback() {
    let Some(node) = Node::new() else { return };
    let link = node.bridge("br0").index;
    let pair = Address {
        peer: Some("198.51.100.1".parse().unwrap()),
        broadcast: None,
        ..Address::new(link, "192.0.2.1/32".parse().unwrap())
    };
    node.net.add_address(&pair).unwrap();
    let found = node.net.expect_address(link, pair.ip()).unwrap();
    assert_eq!((found.net, found.peer), (pair.net, pair.peer));
    let all = node.net.addresses().unwrap();
    assert!(all.iter().any(|a| a.net.to_string() == "127.0.0.1/8" && a.scope == Scope::Host));
    assert!(all.iter().any(|a| a.net.to_string() == "::1/128"));
}

#[test]
fn without_ipv6_the_error_says_so() {
    let Some(node) = Node::new() else { return };
    let link = node.bridge("br0");
    let off = Sysctl::disable_ipv6(Conf::Link(&link.name));
    Sysctls::of(&node.namespace).write(&off, 1).unwrap();
    let address = Address::new(link.index, "2001:db8::1/64".parse().unwrap());
    let error = node.net.add_address(&address).unwrap_err().to_string();
    assert!(error.contains("net.ipv6.conf.LINK.disable_ipv6"), "{error}");
}
