//! Rules of policy routing.

use landbridge_linux::route::{Family, Protocol, table};
use landbridge_linux::rule::{Mark, RuleAction};
use landbridge_linux::{Ensured, Rule};

use crate::harness::{Node, name};

#[test]
fn the_usual_three_are_read() {
    let Some(node) = Node::new() else { return };
    let rules = node.net.rules().unwrap();
    let four: Vec<_> = rules.iter().filter(|rule| rule.family == Family::Ipv4).collect();
    assert_eq!(
        four.into_iter().map(Rule::to_string).collect::<Vec<_>>(),
        [
            "ipv4 0 from all table local",
            "ipv4 32766 from all table main",
            "ipv4 32767 from all table default"
        ]
    );
    assert!(
        rules.iter().all(|rule| rule.protocol == Protocol::KERNEL && !rule.partial),
        "{rules:#?}"
    );
}

#[test]
fn every_part_of_a_rule_survives() {
    let Some(node) = Node::new() else { return };
    let wanted = [
        Rule::from("192.0.2.7/24".parse().unwrap(), 100, 4000),
        Rule::to("2001:db8::/32".parse().unwrap(), 101, 200),
        Rule {
            iif: Some(name("eth0")),
            oif: Some(name("eth1")),
            fwmark: Some(Mark { value: 0x10, mask: 0xff }),
            invert: true,
            suppress_prefix_length: Some(0),
            protocol: Protocol::STATIC,
            ..Rule::new(Family::Ipv4, 102, table::MAIN)
        },
        Rule { action: RuleAction::Unreachable, ..Rule::new(Family::Ipv6, 103, 0) },
        Rule { action: RuleAction::Goto(32766), ..Rule::new(Family::Ipv4, 104, 0) },
    ];
    for rule in &wanted {
        assert_eq!(node.net.ensure_rule(rule).unwrap(), Ensured::Created, "{rule}");
        assert_eq!(node.net.ensure_rule(rule).unwrap(), Ensured::Unchanged, "{rule}");
        let found = node.net.rules().unwrap();
        assert!(found.contains(rule), "{rule:#?} {found:#?}");
    }
    for rule in &wanted {
        assert!(node.net.delete_rule(rule).unwrap(), "{rule}");
        assert!(!node.net.delete_rule(rule).unwrap(), "{rule}");
    }
    assert_eq!(
        wanted[2].to_string(),
        "ipv4 102 not from all iif eth0 oif eth1 fwmark 0x10/0xff table main"
    );
}
