//! What cannot be, and the words for it.

use crate::{ALL, FEW, plan, worker, yaml};

/// Desired state, then the whole text.
const TABLE: &[(&str, &str)] = &[
    ("[1]", ": an object is expected, not a list"),
    (
        "interface: []",
        "interface: unknown key; known here are description, dns-resolver, hostname, interfaces, route-rules, routes",
    ),
    (
        "ovn: {}",
        "ovn: this key of nmstate is not supported without NetworkManager: remove it, or run NetworkManager and nmstate on the node",
    ),
    ("interfaces: [{type: ethernet}]", "interfaces[0].name: every interface needs a name"),
    (
        "interfaces: [{name: a b, type: dummy}]",
        "interfaces[0] (a b).name: \"a b\": a link's name has no slash, colon, blank or control character",
    ),
    (
        "interfaces: [{name: enp6s0, mtus: 1500}]",
        "interfaces[0] (enp6s0).mtus: unknown key; known here are accept-all-mac-addresses, controller, controller-type, copy-mac-from, description, driver, ipv4, ipv6, lldp, mac-address, max-mtu, min-mtu, mtu, name, permanent-mac-address, state, type",
    ),
    (
        "interfaces: [{name: enp6s0, ethtool: {}}]",
        "interfaces[0] (enp6s0).ethtool: this key of nmstate is not supported without NetworkManager: remove it, or run NetworkManager and nmstate on the node",
    ),
    (
        "interfaces: [{name: enp6s0, state: upp}]",
        "interfaces[0] (enp6s0).state: \"upp\" is not one of up, down, absent, ignore",
    ),
    (
        "interfaces: [{name: enp6s0, mtu: many}]",
        "interfaces[0] (enp6s0).mtu: \"many\" is no number from 68 to 65536",
    ),
    (
        "interfaces: [{name: enp6s0, mac-address: 12}]",
        "interfaces[0] (enp6s0).mac-address: \"12\": an Ethernet address is six hexadecimal octets separated by colons",
    ),
    (
        "interfaces: [{name: enp6s0, mac-address: '01:00:00:00:00:01'}]",
        "interfaces[0] (enp6s0).mac-address: it is a group's or no address at all",
    ),
    (
        "interfaces: [{name: x, type: brigde}]",
        "interfaces[0] (x).type: \"brigde\" is no type of nmstate's",
    ),
    (
        "interfaces: [{name: x, type: ovs-bridge}]",
        "interfaces[0] (x).type: ovs-bridge is not supported without NetworkManager: run NetworkManager and nmstate on the node",
    ),
    (
        "interfaces: [{name: x}]",
        "interfaces[0] (x).type: no interface of this name exists: give its type to have it made",
    ),
    (
        "interfaces: [{name: x, type: ethernet}]",
        "interfaces[0] (x): the node has no such interface: check the name on this node",
    ),
    (
        "interfaces: [{name: enp6s0, type: dummy}]",
        "interfaces[0] (enp6s0).type: the node has enp6s0 as ethernet, not as dummy: choose another name, or make that one absent first",
    ),
    (
        "interfaces: [{name: enp6s0}, {name: enp6s0}]",
        "interfaces[1] (enp6s0): the list has two interfaces of this name: put everything about it into one",
    ),
    // VLANs
    (
        "interfaces: [{name: v, type: vlan, vlan: {base-iface: enp6s0, id: 5000}}]",
        "interfaces[0] (v).vlan.id: 5000 is no number from 1 to 4094",
    ),
    (
        "interfaces: [{name: v, type: vlan, vlan: {base-iface: enp6s0}}]",
        "interfaces[0] (v).vlan.id: it is needed to make the interface",
    ),
    (
        "interfaces: [{name: v, type: vlan, vlan: {id: 5}}]",
        "interfaces[0] (v).vlan.base-iface: it is needed to make the interface",
    ),
    (
        "interfaces: [{name: v, type: vlan, vlan: {base-iface: eth9, id: 5}}]",
        "interfaces[0] (v).vlan.base-iface: eth9 does not exist on this node, and nothing here makes it",
    ),
    (
        "interfaces: [{name: v, type: vlan, vlan: {base-iface: v, id: 5}}]",
        "interfaces[0] (v).vlan.base-iface: an interface cannot stand on itself",
    ),
    (
        "interfaces: [{name: v, type: vlan, vlan: {base-iface: enp6s0, id: 5}, mtu: 9000}]",
        "interfaces[0] (v).mtu: 9000 is more than the 1500 of enp6s0: raise that one, too",
    ),
    (
        "interfaces: [{name: v, type: vlan, vlan: {base-iface: enp6s0, id: 5}}, {name: enp6s0, state: down}]",
        "interfaces[0] (v).vlan.base-iface: enp6s0 is to be down, or cannot carry another interface",
    ),
    (
        "interfaces: [{name: v, type: vlan, bridge: {}}]",
        "interfaces[0] (v).bridge: unknown key; known here are accept-all-mac-addresses, controller, controller-type, copy-mac-from, description, driver, ipv4, ipv6, lldp, mac-address, max-mtu, min-mtu, mtu, name, permanent-mac-address, state, type, vlan",
    ),
    // Bridges, bonds, VRFs
    (
        "interfaces: [{name: b, type: linux-bridge, bridge: {port: [{name: eth9}]}}]",
        "interfaces[0] (b): port eth9 of b does not exist on this node, or is to be down",
    ),
    (
        "interfaces: [{name: b, type: linux-bridge, bridge: {port: [{name: enp6s0}, {name: enp6s0}]}}]",
        "interfaces[0] (b).bridge.port[1]: enp6s0 is in the list twice",
    ),
    (
        "interfaces: [{name: b, type: linux-bridge, bridge: {port: [{name: lo}]}}]",
        "interfaces[0] (b): lo cannot be a port of b: no loopback, no bridge in a bridge",
    ),
    (
        "interfaces: [{name: b, type: linux-bridge, bridge: {port: [{name: enp6s0}]}}, {name: c, type: linux-bridge, bridge: {port: [{name: enp6s0}]}}]",
        "interfaces[1] (c): enp6s0 is to belong to b and to c: choose one",
    ),
    (
        "interfaces: [{name: b, type: linux-bridge, bridge: {port: [{name: enp6s0}]}}, {name: enp6s0, ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 24}]}}]",
        "interfaces[1] (enp6s0): a port of b has no addresses: give them to b",
    ),
    (
        "interfaces: [{name: b, type: linux-bridge, bridge: {port: [{name: v}]}}, {name: v, type: vlan, vlan: {base-iface: b, id: 3}}]",
        "interfaces[0] (b): it stands on itself by way of its ports and bases: break the circle",
    ),
    (
        "interfaces: [{name: b, type: bond, link-aggregation: {mode: 1, port: [c]}}, {name: c, type: bond, link-aggregation: {mode: 1, port: [b]}}]",
        "interfaces[0] (b): it stands on itself by way of its ports and bases: break the circle",
    ),
    (
        "interfaces: [{name: enp6s0, controller: nobody}]",
        "interfaces[0] (enp6s0): controller nobody does not exist",
    ),
    (
        "interfaces: [{name: enp6s0, controller: enp7s0}]",
        "interfaces[0] (enp6s0): enp7s0 is a ethernet and has no ports",
    ),
    (
        "interfaces: [{name: b, type: linux-bridge, bridge: {options: {hash-max: 3}}}]",
        "interfaces[0] (b).bridge.options.hash-max: this key of nmstate is not supported without NetworkManager: remove it, or run NetworkManager and nmstate on the node",
    ),
    (
        "interfaces: [{name: b, type: linux-bridge, bridge: {port: [{name: enp6s0, vlan: {mode: access}}]}}]",
        "interfaces[0] (b).bridge.port[0].vlan.tag: mode access needs the tag of its VLAN",
    ),
    (
        "interfaces: [{name: b, type: linux-bridge, bridge: {port: [{name: enp6s0, vlan: {mode: trunk, trunk-tags: [{id: 5}, {id-range: {min: 3, max: 9}}]}}]}}]",
        "interfaces[0] (b).bridge.port[0].vlan.trunk-tags[1]: its VLANs are in the list twice",
    ),
    (
        "interfaces: [{name: b, type: linux-bridge, bridge: {port: [{name: enp6s0, vlan: {mode: trunk, trunk-tags: [{id-range: {min: 9, max: 3}}]}}]}}]",
        "interfaces[0] (b).bridge.port[0].vlan.trunk-tags[0].id-range.max: 3 is less than min 9",
    ),
    (
        "interfaces: [{name: b, type: bond}]",
        "interfaces[0] (b).link-aggregation.mode: it is needed to make the interface",
    ),
    (
        "interfaces: [{name: b, type: bond, link-aggregation: {mode: fast}}]",
        "interfaces[0] (b).link-aggregation.mode: \"fast\" is not one of balance-rr, active-backup, balance-xor, broadcast, 802.3ad, balance-tlb, balance-alb, lacp, 0, 1, 2, 3, 4, 5, 6",
    ),
    (
        "interfaces: [{name: b, type: bond, link-aggregation: {mode: active-backup, options: {lacp_rate: fast}}}]",
        "interfaces[0] (b).link-aggregation.options.lacp_rate: only mode 802.3ad has one",
    ),
    (
        "interfaces: [{name: r, type: vrf, vrf: {port: []}}]",
        "interfaces[0] (r).vrf.route-table-id: it is needed to make the interface",
    ),
    (
        "interfaces: [{name: a, type: veth, veth: {peer: a}}]",
        "interfaces[0] (a).veth.peer: the two ends need two names",
    ),
    (
        "interfaces: [{name: a, type: veth, veth: {peer: enp6s0}}]",
        "interfaces[0] (a).veth.peer: enp6s0 exists and is not the other end of a",
    ),
    // IP
    (
        "interfaces: [{name: enp6s0, ipv4: {enabled: true, address: [{ip: 'fd00::1', prefix-length: 64}]}}]",
        "interfaces[0] (enp6s0).ipv4.address[0].ip: fd00::1 stands in the section ipv4",
    ),
    (
        "interfaces: [{name: enp6s0, ipv6: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 24}]}}]",
        "interfaces[0] (enp6s0).ipv6.address[0].ip: 192.0.2.1 stands in the section ipv6",
    ),
    (
        "interfaces: [{name: enp6s0, ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 33}]}}]",
        "interfaces[0] (enp6s0).ipv4.address[0].prefix-length: 33 is too long for 192.0.2.1",
    ),
    (
        "interfaces: [{name: enp6s0, ipv4: {enabled: true, address: [{ip: 192.0.2.1}]}}]",
        "interfaces[0] (enp6s0).ipv4.address[0].prefix-length: an address needs a prefix-length",
    ),
    (
        "interfaces: [{name: enp6s0, ipv4: {enabled: true, address: [{ip: 192.0.2.300, prefix-length: 24}]}}]",
        "interfaces[0] (enp6s0).ipv4.address[0].ip: \"192.0.2.300\": invalid IP address syntax",
    ),
    (
        "interfaces: [{name: enp6s0, ipv4: {enabled: true, address: [{ip: 224.0.0.1, prefix-length: 24}]}}]",
        "interfaces[0] (enp6s0).ipv4.address[0].ip: 224.0.0.1 cannot be the address of an interface",
    ),
    (
        "interfaces: [{name: enp6s0, ipv4: {enabled: false, dhcp: true}}]",
        "interfaces[0] (enp6s0).ipv4.enabled: it is off, but dhcp or autoconf beside it is on",
    ),
    (
        "interfaces: [{name: enp6s0, mtu: 1000}]",
        "interfaces[0] (enp6s0).mtu: IPv6 needs at least 1280: raise it, or set ipv6.enabled to false",
    ),
    (
        "interfaces: [{name: enp6s0, ipv6: {token: '::1'}}]",
        "interfaces[0] (enp6s0).ipv6.token: this key of nmstate is not supported without NetworkManager: remove it, or run NetworkManager and nmstate on the node",
    ),
    // Routes, rules, names
    (
        "routes: {config: [{destination: 10.0.0.0/8}]}",
        "routes.config[0].next-hop-interface: a route needs the interface it leaves by",
    ),
    (
        "routes: {config: [{next-hop-interface: enp6s0}]}",
        "routes.config[0].destination: a route needs a destination",
    ),
    (
        "routes: {config: [{destination: ten, next-hop-interface: enp6s0}]}",
        "routes.config[0].destination: \"ten\" is no network, such as 192.0.2.0/24",
    ),
    (
        "routes: {config: [{destination: 10.0.0.0/8, next-hop-interface: enp6s0, next-hop-address: 'fd00::1'}]}",
        "routes.config[0].next-hop-address: fd00::1 is of another family than 10.0.0.0/8",
    ),
    (
        "routes: {config: [{destination: 10.0.0.0/8, next-hop-interface: enp7s0}]}",
        "routes.config[0].next-hop-interface: enp7s0 does not exist on this node, or is down",
    ),
    (
        "routes: {config: [{destination: 10.0.0.0/8, next-hop-interface: enp6s0, weight: 3}]}",
        "routes.config[0].weight: this key of nmstate is not supported without NetworkManager: remove it, or run NetworkManager and nmstate on the node",
    ),
    (
        "route-rules: {config: [{ip-from: 10.0.0.0/8, ip-to: 'fd00::/64'}]}",
        "route-rules.config[0].family: the rule speaks of ipv6 and of another family",
    ),
    (
        "route-rules: {config: [{family: ipv4, route-table: 5}]}",
        "route-rules.config[0].ip-from: a rule for all packets is refused: say which",
    ),
    (
        "route-rules: {config: [{route-table: 5}]}",
        "route-rules.config[0].family: needed where neither ip-from nor ip-to is given",
    ),
    (
        "dns-resolver: {config: {server: [dns.example]}}",
        "dns-resolver.config.server: \"dns.example\" is no IP address",
    ),
    (
        "dns-resolver: {config: {search: ['a b']}}",
        "dns-resolver.config.search: \"a b\" is more than one word",
    ),
    (
        "hostname: {config: a_b}",
        "hostname.config: \"a_b\" is no host name: 1 to 64 letters, digits, - and .",
    ),
];

#[test]
fn each_has_a_text() {
    let now = worker();
    for (wanted, text) in TABLE {
        match plan(&yaml(wanted), &now, ALL) {
            Err(fault) => assert_eq!(fault.to_string(), *text, "{wanted}"),
            Ok(plan) => panic!("{wanted}\nis planned as\n{plan}"),
        }
    }
}

#[test]
fn some_vlans_need_a_kernel_that_filters() {
    let wanted = "interfaces: [{name: b, type: linux-bridge, bridge: {port: [{name: enp6s0, vlan: {mode: access, tag: 5}}]}}]";
    let fault = plan(&yaml(wanted), &worker(), FEW).unwrap_err();
    assert_eq!(fault.place, "interfaces[0] (b).bridge.port[0].vlan");
    assert!(fault.why.contains("CONFIG_BRIDGE_VLAN_FILTERING"));
    plan(&yaml(wanted), &worker(), ALL).unwrap();
}

/// What looks odd and is fine.
#[test]
fn these_are_possible() {
    for (wanted, text) in [
        ("null", ""),
        ("{}", ""),
        ("interfaces: [{name: nobody, state: absent}]", ""),
        ("interfaces: [{name: nobody, type: linux-bridge, state: down}]", ""),
        ("interfaces: [{name: enp7s0, state: ignore, mtu: 9000}]", ""),
        (
            "interfaces: [{name: enp6s0, mtu: '1400', ipv4: {enabled: 'no'}}]",
            "~ enp6s0: mtu 1400\n",
        ),
        (
            "interfaces: [{name: enp6s0, lldp: {enabled: false}, min-mtu: 68, permanent-mac-address: x}]",
            "",
        ),
        ("{interfaces: [{name: enp6s0}], routes: {running: [{destination: nonsense}]}}", ""),
        ("interfaces: [{name: enp6s0, type: ethernet, controller: ''}]", ""),
        ("routes: {config: [{state: absent, next-hop-interface: nobody}]}", ""),
        (
            "routes: {config: [{state: absent, next-hop-interface: enp1s0}]}",
            "- route 0.0.0.0/0 via 172.22.0.1 dev enp1s0\n",
        ),
        ("description: words for the whole", ""),
    ] {
        let found =
            plan(&yaml(wanted), &worker(), ALL).unwrap_or_else(|fault| panic!("{wanted}: {fault}"));
        assert_eq!(found.to_string(), text, "{wanted}");
    }
}
