//! Sysctls belong to a namespace.

use landbridge_linux::sysctl::Conf;
use landbridge_linux::{Namespace, Sysctl, Sysctls};

use crate::harness::{Node, name};

#[test]
fn each_namespace_has_its_own() {
    let (Some(one), Some(other)) = (Node::new(), Node::new()) else { return };
    let (one_has, other_has) = (Sysctls::of(&one.namespace), Sysctls::of(&other.namespace));
    let outside =
        Sysctls::of(&Namespace::current().unwrap()).read(&Sysctl::ipv4_forwarding()).unwrap();
    for forwarding in [Sysctl::ipv4_forwarding(), Sysctl::ipv6_forwarding()] {
        one_has.write(&forwarding, 1).unwrap();
        other_has.write(&forwarding, 0).unwrap();
        assert_eq!(one_has.read(&forwarding).unwrap(), "1");
        assert_eq!(other_has.read(&forwarding).unwrap(), "0");
        assert!(!one_has.ensure(&forwarding, 1).unwrap());
        assert!(other_has.ensure(&forwarding, 1).unwrap());
    }
    let still =
        Sysctls::of(&Namespace::current().unwrap()).read(&Sysctl::ipv4_forwarding()).unwrap();
    assert_eq!(still, outside);
}

#[test]
fn settings_of_a_link() {
    let Some(node) = Node::new() else { return };
    node.bridge("br.0");
    let link = name("br.0");
    let all = Sysctls::of(&node.namespace);
    let conf = Conf::Link(&link);
    for (sysctl, value) in [
        (Sysctl::rp_filter(conf), 2),
        (Sysctl::arp_ignore(conf), 1),
        (Sysctl::arp_announce(conf), 2),
        (Sysctl::arp_notify(conf), 1),
        (Sysctl::promote_secondaries(conf), 1),
        (Sysctl::disable_ipv6(conf), 1),
        (Sysctl::accept_dad(conf), 0),
        (Sysctl::accept_ra(conf), 0),
        (Sysctl::ipv4(conf, "proxy_arp").unwrap(), 1),
        (Sysctl::parse("net.ipv6.conf.br/0.autoconf").unwrap(), 0),
    ] {
        all.write(&sysctl, value).unwrap();
        assert_eq!(all.read(&sysctl).unwrap(), value.to_string(), "{sysctl}");
    }
    let missing = name("nobody");
    let error = all.read(&Sysctl::rp_filter(Conf::Link(&missing))).unwrap_err();
    assert!(error.is_absent());
    assert_eq!(
        error.to_string(),
        "cannot read sysctl net.ipv4.conf.nobody.rp_filter (no such link, or this kernel lacks the setting)"
    );
}
