//! How a wish and what is there become one.

use landbridge_nodestate::state::IpAddress;

use crate::model::reached;
use crate::{ALL, name, plan, worker, yaml};

/// Each wish is put upon the state the ones before it have reached; its steps are the text.
fn told(steps: &[(&str, &str)]) {
    let mut now = worker();
    for (wanted, text) in steps {
        let found =
            plan(&yaml(wanted), &now, ALL).unwrap_or_else(|fault| panic!("{wanted}: {fault}"));
        assert_eq!(found.to_string(), *text, "{wanted}");
        now = reached(&yaml(wanted), &now, ALL);
    }
}

#[test]
fn a_vlan_with_another_id_keeps_the_rest() {
    told(&[
        (
            "interfaces: [{name: v, type: vlan, vlan: {base-iface: enp6s0, id: 5}, description: x, ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 24}]}}]",
            "\
+ vlan v (id 5 of enp6s0)
~ v: description \"x\"
~ v: mtu 1500
~ v: up
+ address 192.0.2.1/24 on v
",
        ),
        (
            "routes: {config: [{destination: 10.0.0.0/8, next-hop-interface: v, next-hop-address: 192.0.2.9}]}",
            "+ route 10.0.0.0/8 via 192.0.2.9 dev v\n",
        ),
        (
            "interfaces: [{name: v, type: vlan, vlan: {id: 6}}]",
            "\
- vlan v
+ vlan v (id 6 of enp6s0)
~ v: description \"x\"
~ v: mtu 1500
~ v: up
+ address 192.0.2.1/24 on v
+ route 10.0.0.0/8 via 192.0.2.9 dev v
",
        ),
        (
            "interfaces: [{name: v, state: absent}]",
            "- vlan v\nnote: route 10.0.0.0/8 via 192.0.2.9 dev v goes, because v does\n",
        ),
    ]);
}

#[test]
fn addresses_that_would_go_with_the_first_come_again() {
    let mut now = worker();
    let link = now.interfaces.get_mut(&name("enp1s0")).unwrap();
    link.ipv4
        .addresses
        .push(IpAddress { secondary: true, ..IpAddress::fixed("172.22.0.29/24".parse().unwrap()) });
    let wanted = "interfaces: [{name: enp1s0, ipv4: {enabled: true, address: [{ip: 172.22.0.29, prefix-length: 24}]}}]";
    let found = plan(&yaml(wanted), &now, ALL).unwrap();
    assert_eq!(
        found.to_string(),
        "\
- address 172.22.0.28/24 on enp1s0
- address 172.22.0.29/24 on enp1s0
+ address 172.22.0.29/24 on enp1s0
+ route 0.0.0.0/0 via 172.22.0.1 dev enp1s0
"
    );
}

#[test]
fn bonds_and_bridges_in_any_order_of_the_list() {
    told(&[(
        "interfaces:
- {name: br, type: linux-bridge, bridge: {port: [{name: bond0.7}]}}
- {name: bond0.7, type: vlan, vlan: {base-iface: bond0, id: 7}}
- {name: bond0, type: bond, mtu: 9000, link-aggregation: {mode: active-backup, port: [enp6s0, enp7s0]}}",
        "\
+ bond bond0
+ vlan bond0.7 (id 7 of bond0)
+ linux-bridge br
~ enp6s0: joins bond0
~ enp7s0: joins bond0
~ bond0.7: joins br
~ bond0: mtu 9000
~ bond0.7: mtu 9000
~ enp6s0: up
~ enp7s0: up
~ bond0: up
~ bond0.7: up
~ br: up
note: enp7s0 is switched on, because others need it
",
    ), (
        "interfaces: [{name: bond0, type: bond, link-aggregation: {port: [enp6s0]}}]",
        "~ enp7s0: leaves bond0\n~ enp7s0: up\n",
    ), (
        "interfaces: [{name: bond0, state: absent}]",
        "\
- vlan bond0.7
- bond bond0
~ enp6s0: up
note: bond0.7 goes with bond0, on which it stands
",
    )]);
}

#[test]
fn rules_and_the_resolver() {
    told(&[
        (
            "route-rules: {config: [{ip-from: 192.0.2.0/24, route-table: 5}, {ip-from: 192.0.2.0/24, route-table: 5}]}",
            "+ rule ipv4 30000 from 192.0.2.0/24 table 5\n",
        ),
        ("route-rules: {config: [{ip-from: 192.0.2.0/24, route-table: 5, priority: 30000}]}", ""),
        (
            "route-rules: {config: [{state: absent, route-table: 5}]}",
            "- rule ipv4 30000 from 192.0.2.0/24 table 5\n",
        ),
        (
            "dns-resolver: {config: {server: [192.0.2.1], search: [a.example]}}",
            "~ resolver: server [192.0.2.1], search [a.example], options []\n",
        ),
        (
            "dns-resolver: {config: {server: [192.0.2.2]}}",
            "~ resolver: server [192.0.2.2], search [a.example], options []\n",
        ),
        ("dns-resolver: {config: {}}", "~ resolver: server [], search [], options []\n"),
    ]);
}
