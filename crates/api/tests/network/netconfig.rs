//! NetConfig: what is refused, in which words, and what is only pointed out.

use serde_json::{Value, json};

use crate::support::{World, changed, object, refusal, refusals};

/// Two networks with one subnet each; every rule test breaks one thing in it.
fn good() -> Value {
    object(
        "NetConfig",
        "netconfig",
        json!({"networks": [
            {
                "name": "CtlPlane", "dnsDomain": "ctlplane.example.com", "mtu": 1500,
                "subnets": [{
                    "name": "subnet1", "cidr": "192.168.122.0/24", "gateway": "192.168.122.1",
                    "allocationRanges": [{"start": "192.168.122.100", "end": "192.168.122.120"}],
                }],
            },
            {
                "name": "InternalApi", "dnsDomain": "internalapi.example.com", "mtu": 1500,
                "subnets": [{
                    "name": "subnet1", "cidr": "172.17.0.0/24", "vlan": 20,
                    "allocationRanges": [{"start": "172.17.0.100", "end": "172.17.0.250"}],
                    "excludeAddresses": ["172.17.0.110"],
                    "routes": [{"destination": "10.9.0.0/16", "nexthop": "172.17.0.1"}],
                }],
            },
        ]}),
    )
}

fn ipset() -> Value {
    object("IPSet", "edpm-compute-0", json!({"networks": []}))
}

type Change = fn(&mut Value);

/// `spec.networks[i]`.
fn network(object: &mut Value, i: usize) -> &mut Value {
    &mut object["spec"]["networks"][i]
}

/// `spec.networks[i].subnets[0]`.
fn subnet(object: &mut Value, i: usize) -> &mut Value {
    &mut object["spec"]["networks"][i]["subnets"][0]
}

fn push_subnet(object: &mut Value, i: usize, subnet: Value) {
    network(object, i)["subnets"].as_array_mut().unwrap().push(subnet);
}

#[test]
fn a_good_one_passes_without_warnings() {
    assert_eq!(World::default().create(&good()), Ok(vec![]));
    let nothing = object("NetConfig", "netconfig", json!({"networks": []}));
    assert_eq!(World::default().create(&nothing), Ok(vec![]));
    let first_generation = changed(&good(), |o| {
        for i in 0..2 {
            network(o, i).as_object_mut().unwrap().remove("dnsDomain");
        }
    });
    assert_eq!(World::default().create(&first_generation), Ok(vec![]));
}

#[test]
fn what_is_refused() {
    let cases: &[(&str, Change, &[&str])] = &[
        (
            "1: network twice",
            |o| network(o, 1)["name"] = "CtlPlane".into(),
            &[
                r#"spec.networks[1].name: Invalid value: "CtlPlane": network name CtlPlane already in use at spec.networks[0].name, must be uniq"#,
            ],
        ),
        (
            "1: network twice but for letter case",
            |o| network(o, 1)["name"] = "ctlplane".into(),
            &[
                r#"spec.networks[1].name: Invalid value: "ctlplane": network name ctlplane already in use at spec.networks[0].name (as CtlPlane, letter case does not count), must be uniq"#,
            ],
        ),
        (
            "2: domain without dot",
            |o| network(o, 1)["dnsDomain"] = "local".into(),
            &[
                r#"spec.networks[1].dnsDomain: Invalid value: "local": DNSDoman name local is not valid"#,
            ],
        ),
        (
            "2: domain with final dot",
            |o| network(o, 1)["dnsDomain"] = "a.example.".into(),
            &[
                r#"spec.networks[1].dnsDomain: Invalid value: "a.example.": DNSDoman name a.example. is not valid"#,
            ],
        ),
        (
            "3: domain twice",
            |o| network(o, 1)["dnsDomain"] = "ctlplane.example.com".into(),
            &[
                r#"spec.networks[1].dnsDomain: Invalid value: "ctlplane.example.com": DNSDoman name ctlplane.example.com already in use at spec.networks[0].dnsDomain, must be uniq"#,
            ],
        ),
        (
            "4: subnet twice",
            |o| {
                push_subnet(
                    o,
                    0,
                    json!({"name": "subnet1", "cidr": "10.1.0.0/24", "allocationRanges": []}),
                );
            },
            &[
                r#"spec.networks[0].subnets[1].name: Invalid value: "subnet1": network name subnet1 already in use at spec.networks[0].subnets[0].name, must be uniq"#,
            ],
        ),
        (
            "5: prefix twice",
            |o| {
                push_subnet(
                    o,
                    0,
                    json!({"name": "subnet2", "cidr": "192.168.122.0/24", "allocationRanges": []}),
                );
            },
            &[
                r#"spec.networks[0].subnets[1].cidr: Invalid value: "192.168.122.0/24": CIDR 192.168.122.0/24 already in use at spec.networks[0].subnets[0].cidr"#,
            ],
        ),
        (
            "5: prefix twice, spelt differently, on another network",
            |o| {
                push_subnet(
                    o,
                    1,
                    json!({"name": "subnet2", "cidr": "192.168.122.7/24", "allocationRanges": []}),
                );
            },
            &[
                r#"spec.networks[1].subnets[1].cidr: Invalid value: "192.168.122.7/24": CIDR 192.168.122.7/24 already in use at spec.networks[0].subnets[0].cidr"#,
            ],
        ),
        (
            "6: no prefix, rest of the subnet skipped",
            |o| subnet(o, 0)["cidr"] = "192.168.122.0".into(),
            &[
                r#"spec.networks[0].subnets[0].cidr: Invalid value: "192.168.122.0": IP address prefix (CIDR) 192.168.122.0"#,
            ],
        ),
        (
            "7: gateway is no address",
            |o| subnet(o, 0)["gateway"] = "router".into(),
            &[r#"spec.networks[0].subnets[0].gateway: Invalid value: "router": not an IP address"#],
        ),
        (
            "7: gateway of other family",
            |o| subnet(o, 0)["gateway"] = "fd00::1".into(),
            &[
                r#"spec.networks[0].subnets[0].gateway: Invalid value: "fd00::1": cannot mix IPv4 and IPv6"#,
            ],
        ),
        (
            "7: gateway elsewhere",
            |o| subnet(o, 0)["gateway"] = "192.168.123.1".into(),
            &[
                r#"spec.networks[0].subnets[0].gateway: Invalid value: "192.168.123.1": address not in IP address prefix (CIDR) 192.168.122.0/24"#,
            ],
        ),
        (
            "8: neither end is an address",
            |o| subnet(o, 0)["allocationRanges"][0] = json!({"start": "a", "end": "b"}),
            &[
                r#"spec.networks[0].subnets[0].allocationRanges[0].start: Invalid value: "a": not an IP address"#,
                r#"spec.networks[0].subnets[0].allocationRanges[0].end: Invalid value: "b": not an IP address"#,
            ],
        ),
        (
            "9: range of other family",
            |o| subnet(o, 0)["allocationRanges"][0] = json!({"start": "fd00::1", "end": "fd00::9"}),
            &[
                r#"spec.networks[0].subnets[0].allocationRanges[0]: Invalid value: "fd00::1-fd00::9": cannot mix IPv4 and IPv6"#,
            ],
        ),
        (
            "10: range elsewhere",
            |o| {
                subnet(o, 0)["allocationRanges"][0] =
                    json!({"start": "192.168.121.9", "end": "192.168.123.9"});
            },
            &[
                r#"spec.networks[0].subnets[0].allocationRanges[0].start: Invalid value: "192.168.121.9": address not in IP address prefix (CIDR) 192.168.122.0/24"#,
                r#"spec.networks[0].subnets[0].allocationRanges[0].end: Invalid value: "192.168.123.9": address not in IP address prefix (CIDR) 192.168.122.0/24"#,
            ],
        ),
        (
            "11: range backwards",
            |o| {
                subnet(o, 0)["allocationRanges"][0] =
                    json!({"start": "192.168.122.9", "end": "192.168.122.8"});
            },
            &[
                r#"spec.networks[0].subnets[0].allocationRanges[0].start: Invalid value: "192.168.122.9": Start address: 192.168.122.9 > End address 192.168.122.8"#,
                r#"spec.networks[0].subnets[0].allocationRanges[0].end: Invalid value: "192.168.122.8": Start address: 192.168.122.9 > End address 192.168.122.8"#,
            ],
        ),
        (
            "12: excluded address elsewhere",
            |o| subnet(o, 1)["excludeAddresses"] = json!(["172.17.0.9", "172.18.0.9"]),
            &[
                r#"spec.networks[1].subnets[0].excludeAddresses[1]: Invalid value: "172.18.0.9": address not in IP address prefix (CIDR) 172.17.0.0/24"#,
            ],
        ),
        (
            "13: route to nowhere",
            |o| subnet(o, 1)["routes"][0]["destination"] = "10.9.0.0/99".into(),
            &[
                r#"spec.networks[1].subnets[0].routes[0].destination: Invalid value: "10.9.0.0/99": IP address prefix (CIDR) 10.9.0.0/99"#,
            ],
        ),
        (
            "14: next hop elsewhere",
            |o| subnet(o, 1)["routes"][0]["nexthop"] = "10.9.0.1".into(),
            &[
                r#"spec.networks[1].subnets[0].routes[0].nexthop: Invalid value: "10.9.0.1": address not in IP address prefix (CIDR) 172.17.0.0/24"#,
            ],
        ),
        (
            "15: subnet domain",
            |o| subnet(o, 1)["dnsDomain"] = "-a.example".into(),
            &[
                r#"spec.networks[1].subnets[0].dnsDomain: Invalid value: "-a.example": DNSDoman name -a.example is not valid"#,
            ],
        ),
        (
            "16: subnet domain twice in one network",
            |o| {
                subnet(o, 1)["dnsDomain"] = "s.example.com".into();
                push_subnet(
                    o,
                    1,
                    json!({
                        "name": "subnet2", "cidr": "10.1.0.0/24", "allocationRanges": [], "dnsDomain": "s.example.com",
                    }),
                );
            },
            &[
                r#"spec.networks[1].subnets[1].dnsDomain: Invalid value: "s.example.com": DNSDoman name s.example.com already in use at spec.networks[1].subnets[0].dnsDomain, must be uniq"#,
            ],
        ),
        (
            "negative VLAN",
            |o| subnet(o, 1)["vlan"] = json!(-1),
            &[
                "spec.networks[1].subnets[0].vlan: Invalid value: -1: must be between 1 and 4094, or left out for an untagged network",
            ],
        ),
    ];
    for (what, change, expected) in cases {
        let object = changed(&good(), change);
        assert_eq!(refusals(World::default().create(&object)), *expected, "{what}, create");
        // An update without IPSets is judged by the same rules.
        assert_eq!(
            refusals(World::default().update(&good(), &object)),
            *expected,
            "{what}, update"
        );
    }
}

#[test]
fn several_errors_are_told_at_once() {
    let object = changed(&good(), |o| {
        network(o, 1)["name"] = "CtlPlane".into();
        subnet(o, 0)["gateway"] = "x".into();
    });
    let (code, text) = refusal(World::default().create(&object));
    assert_eq!(code, 422);
    assert_eq!(
        text,
        r#"NetConfig.network.openstack.org "netconfig" is invalid: [spec.networks[0].subnets[0].gateway: Invalid value: "x": not an IP address, spec.networks[1].name: Invalid value: "CtlPlane": network name CtlPlane already in use at spec.networks[0].name, must be uniq]"#
    );
}

#[test]
fn what_is_allowed() {
    let cases: &[(&str, Change)] = &[
        ("same subnet name on two networks", |_| {}),
        ("same subnet domain on two networks", |o| {
            subnet(o, 0)["dnsDomain"] = "s.example.com".into();
            subnet(o, 1)["dnsDomain"] = "s.example.com".into();
        }),
        ("no ranges", |o| subnet(o, 0)["allocationRanges"] = json!([])),
        ("IPv6", |o| {
            *subnet(o, 1) = json!({
                "name": "subnet1", "cidr": "fd00:bbbb::/64", "gateway": "fd00:bbbb::1",
                "allocationRanges": [{"start": "fd00:bbbb::100", "end": "fd00:bbbb::1ff"}],
            });
        }),
        ("next hop in the ranges but excluded", |o| {
            subnet(o, 1)["routes"][0]["nexthop"] = "172.17.0.110".into();
        }),
        ("two subnets of one network on one VLAN", |o| {
            push_subnet(
                o,
                1,
                json!({
                    "name": "subnet2", "cidr": "172.17.1.0/24", "vlan": 20, "allocationRanges": [],
                }),
            );
        }),
    ];
    for (what, change) in cases {
        assert_eq!(World::default().create(&changed(&good(), change)), Ok(vec![]), "{what}");
    }
}

#[test]
fn what_is_pointed_out() {
    let cases: &[(&str, Change, &[&str])] = &[
        (
            "overlapping prefixes",
            |o| {
                push_subnet(
                    o,
                    0,
                    json!({"name": "subnet2", "cidr": "172.16.0.0/12", "allocationRanges": []}),
                );
            },
            &["spec.networks[1].subnets[0].cidr: 172.17.0.0/24 overlaps 172.16.0.0/12"],
        ),
        (
            "host bits",
            |o| subnet(o, 0)["cidr"] = "192.168.122.5/24".into(),
            &[
                "spec.networks[0].subnets[0].cidr: 192.168.122.5/24 has bits set beyond the prefix; 192.168.122.0/24 is meant",
            ],
        ),
        (
            "overlapping ranges",
            |o| {
                subnet(o, 0)["allocationRanges"] = json!([
                    {"start": "192.168.122.50", "end": "192.168.122.60"},
                    {"start": "192.168.122.40", "end": "192.168.122.50"},
                ]);
            },
            &[
                "spec.networks[0].subnets[0].allocationRanges[0]: overlaps spec.networks[0].subnets[0].allocationRanges[1]",
            ],
        ),
        (
            "gateway in a range",
            |o| subnet(o, 0)["gateway"] = "192.168.122.101".into(),
            &[
                "spec.networks[0].subnets[0].allocationRanges[0]: holds the gateway 192.168.122.101; exclude it",
            ],
        ),
        (
            "next hop in a range",
            |o| subnet(o, 1)["routes"][0]["nexthop"] = "172.17.0.100".into(),
            &[
                "spec.networks[1].subnets[0].allocationRanges[0]: holds the next hop 172.17.0.100; exclude it",
            ],
        ),
        (
            "whole prefix as range",
            |o| {
                subnet(o, 1)["allocationRanges"][0] =
                    json!({"start": "172.17.0.2", "end": "172.17.0.255"});
            },
            &[
                "spec.networks[1].subnets[0].allocationRanges[0]: holds the broadcast address 172.17.0.255",
            ],
        ),
        (
            "gateway is broadcast",
            |o| subnet(o, 0)["gateway"] = "192.168.122.255".into(),
            &[
                "spec.networks[0].subnets[0].gateway: this is the broadcast address of 192.168.122.0/24",
            ],
        ),
        (
            "range of one address",
            |o| subnet(o, 0)["allocationRanges"][0]["end"] = "192.168.122.100".into(),
            &[
                "spec.networks[0].subnets[0].allocationRanges[0]: a range of one address is refused by the upstream infra-operator",
            ],
        ),
        (
            "VLAN of another network",
            |o| subnet(o, 0)["vlan"] = json!(20),
            &["spec.networks[1].subnets[0].vlan: 20 is also the VLAN of network CtlPlane"],
        ),
        (
            "VLAN 0",
            |o| subnet(o, 0)["vlan"] = json!(0),
            &[
                "spec.networks[0].subnets[0].vlan: 0 means an untagged network; leave vlan out to say so",
            ],
        ),
        (
            "MTU too small",
            |o| network(o, 0)["mtu"] = json!(0),
            &["spec.networks[0].mtu: no interface takes an MTU of 0 (68 to 65535)"],
        ),
        (
            "MTU too small for IPv6",
            |o| {
                network(o, 0)["mtu"] = json!(1000);
                *subnet(o, 0) =
                    json!({"name": "subnet1", "cidr": "fd00::/64", "allocationRanges": []});
            },
            &["spec.networks[0].mtu: IPv6 needs an MTU of 1280 or more, this is 1000"],
        ),
        (
            "route to other family",
            |o| subnet(o, 1)["routes"][0]["destination"] = "fd01::/64".into(),
            &[
                "spec.networks[1].subnets[0].routes[0].destination: is of another family than the subnet and its next hop",
            ],
        ),
        (
            "service network twice",
            |o| {
                network(o, 0)["serviceNetwork"] = "ctlplane".into();
                network(o, 1)["serviceNetwork"] = "ctlplane".into();
            },
            &["spec.networks[1].serviceNetwork: ctlplane is also the service network of CtlPlane"],
        ),
    ];
    for (what, change, expected) in cases {
        let warnings = World::default().create(&changed(&good(), change)).unwrap();
        assert_eq!(warnings, *expected, "{what}");
    }
}

#[test]
fn warnings_have_an_end() {
    let ranges: Vec<_> =
        (0..100).map(|_| json!({"start": "192.168.122.7", "end": "192.168.122.9"})).collect();
    let object = changed(&good(), |o| subnet(o, 0)["allocationRanges"] = ranges.into());
    assert_eq!(World::default().create(&object).unwrap().len(), 20);
}

#[test]
fn one_per_namespace() {
    let elsewhere = changed(&good(), |o| o["metadata"]["namespace"] = "other".into());
    assert_eq!(World::with([elsewhere]).create(&good()), Ok(vec![]));

    let other = changed(&good(), |o| o["metadata"]["name"] = "first".into());
    let world = World::with([other]);
    let text = "there is already NetConfig first in namespace openstack, there can only be one";
    assert_eq!(refusal(world.create(&good())), (403, text.to_owned()));

    // The same name again is for the server to refuse, with 409.
    assert_eq!(World::with([good()]).create(&good()), Ok(vec![]));

    let other = changed(&good(), |o| o["metadata"]["name"] = "second".into());
    let world = World::with([good(), other]);
    let new = changed(&good(), |o| network(o, 0)["mtu"] = json!(9000));
    let text = "more then one NetConfig found in namespace openstack, there must be only one";
    assert_eq!(refusal(world.update(&good(), &new)), (403, text.to_owned()));
}

#[test]
fn what_must_not_change_under_ipsets() {
    let cases: &[(&str, Change, &[&str])] = &[
        (
            "network removed",
            |o| drop(o["spec"]["networks"].as_array_mut().unwrap().remove(0)),
            &[r#"spec.networks[0].name: Invalid value: "CtlPlane": network CtlPlane removed"#],
        ),
        (
            "network renamed by letter case",
            |o| network(o, 1)["name"] = "internalapi".into(),
            &[
                r#"spec.networks[1].name: Invalid value: "InternalApi": network InternalApi removed"#,
            ],
        ),
        (
            "subnet renamed",
            |o| subnet(o, 1)["name"] = "subnet9".into(),
            &[
                r#"spec.networks[1].subnets[0].name: Invalid value: "subnet1": name of a subnet must not change - subnet1"#,
            ],
        ),
        (
            "prefix",
            |o| {
                *subnet(o, 0) =
                    json!({"name": "subnet1", "cidr": "192.168.0.0/24", "allocationRanges": []});
            },
            &[
                r#"spec.networks[0].subnets[0].cidr: Invalid value: "192.168.0.0/24": cidr of a subnet must not change - 192.168.122.0/24"#,
            ],
        ),
        (
            "VLAN changed",
            |o| subnet(o, 1)["vlan"] = json!(21),
            &[
                "spec.networks[1].subnets[0].vlan: Invalid value: 21: vlan of a subnet must not change - 20",
            ],
        ),
        (
            "VLAN set",
            |o| subnet(o, 0)["vlan"] = json!(21),
            &[
                "spec.networks[0].subnets[0].vlan: Invalid value: 21: vlan of a subnet must not change - ",
            ],
        ),
        (
            "VLAN unset",
            |o| drop(subnet(o, 1).as_object_mut().unwrap().remove("vlan")),
            &[
                "spec.networks[1].subnets[0].vlan: Invalid value: null: vlan of a subnet must not change - 20",
            ],
        ),
        (
            "paths are those of the new object",
            |o| {
                o["spec"]["networks"].as_array_mut().unwrap().reverse();
                subnet(o, 0)["vlan"] = json!(21);
            },
            &[
                "spec.networks[0].subnets[0].vlan: Invalid value: 21: vlan of a subnet must not change - 20",
            ],
        ),
    ];
    for (what, change, expected) in cases {
        let new = changed(&good(), change);
        let world = World::with([good(), ipset()]);
        assert_eq!(refusals(world.update(&good(), &new)), *expected, "{what}");
        let world = World::with([good()]);
        assert!(world.update(&good(), &new).is_ok(), "{what}, without IPSets");
    }
}

#[test]
fn what_may_change_under_ipsets() {
    let cases: &[(&str, Change)] = &[
        ("mtu", |o| network(o, 0)["mtu"] = json!(9000)),
        ("domain", |o| network(o, 0)["dnsDomain"] = "new.example.com".into()),
        ("service network", |o| network(o, 0)["serviceNetwork"] = "ctl".into()),
        ("gateway", |o| subnet(o, 0)["gateway"] = "192.168.122.2".into()),
        ("no gateway", |o| drop(subnet(o, 0).as_object_mut().unwrap().remove("gateway"))),
        ("routes", |o| subnet(o, 1)["routes"] = json!([])),
        ("ranges", |o| subnet(o, 1)["allocationRanges"] = json!([])),
        ("excluded", |o| subnet(o, 1)["excludeAddresses"] = json!([])),
        ("new subnet", |o| {
            push_subnet(
                o,
                0,
                json!({"name": "subnet2", "cidr": "10.1.0.0/24", "allocationRanges": []}),
            );
        }),
        ("new network", |o| {
            o["spec"]["networks"]
                .as_array_mut()
                .unwrap()
                .push(json!({"name": "Tenant", "subnets": []}));
        }),
        ("order", |o| o["spec"]["networks"].as_array_mut().unwrap().reverse()),
    ];
    for (what, change) in cases {
        let world = World::with([good(), ipset()]);
        assert_eq!(world.update(&good(), &changed(&good(), change)), Ok(vec![]), "{what}");
    }
    // Cleaning up what was only pointed out is no change.
    let untidy = changed(&good(), |o| {
        subnet(o, 0)["cidr"] = "192.168.122.5/24".into();
        subnet(o, 0)["vlan"] = json!(0);
    });
    let world = World::with([untidy.clone(), ipset()]);
    assert_eq!(world.update(&untidy, &good()), Ok(vec![]));
}

/// Metadata stays writable, whatever the rules say by now.
#[test]
fn an_unchanged_spec_is_not_judged_again() {
    let bad = changed(&good(), |o| subnet(o, 0)["gateway"] = "x".into());
    let labelled = changed(&bad, |o| o["metadata"]["labels"] = json!({"a": "b"}));
    assert_eq!(World::with([bad.clone()]).update(&bad, &labelled), Ok(vec![]));
}

#[test]
fn not_deleted_under_ipsets() {
    assert_eq!(World::with([good()]).delete(&good()), Ok(vec![]));
    let elsewhere = changed(&ipset(), |o| o["metadata"]["namespace"] = "other".into());
    assert_eq!(World::with([good(), elsewhere]).delete(&good()), Ok(vec![]));
    let second = changed(&ipset(), |o| o["metadata"]["name"] = "edpm-compute-1".into());
    let text = "unable to delete NetConfig while there are still 2 IPSets in the namespace";
    let world = World::with([good(), ipset(), second]);
    assert_eq!(refusal(world.delete(&good())), (400, text.to_owned()));
}

#[test]
fn service_networks_are_filled_in() {
    let given = object(
        "NetConfig",
        "netconfig",
        json!({"networks": [
            {"name": "InternalApi"},
            {"name": "Storage", "serviceNetwork": "ceph"},
            {"name": "Tenant", "serviceNetwork": ""},
            {"serviceNetwork": null},
            {"name": 7},
            "nonsense",
        ]}),
    );
    let expected = json!([
        {"name": "InternalApi", "serviceNetwork": "internalapi"},
        {"name": "Storage", "serviceNetwork": "ceph"},
        {"name": "Tenant", "serviceNetwork": "tenant"},
        {"serviceNetwork": null},
        {"name": 7},
        "nonsense",
    ]);
    assert_eq!(World::default().mutate(given)["spec"]["networks"], expected);
    for spec in [Value::Null, json!({}), json!({"networks": {"a": 1}}), json!("x")] {
        let given = object("NetConfig", "netconfig", spec);
        assert_eq!(World::default().mutate(given.clone()), given, "malformed is left alone");
    }
}

#[test]
fn a_spec_that_cannot_be_read_is_invalid() {
    let object = object("NetConfig", "netconfig", json!({"networks": 3}));
    let texts = refusals(World::default().create(&object));
    assert_eq!(texts.len(), 1);
    assert!(texts[0].starts_with(r#"spec: Invalid value: "object": invalid type"#), "{texts:?}");
}

#[test]
fn the_webhook_has_upstreams_name() {
    for kind in ["NetConfig", "IPSet", "Reservation", "DNSMasq"] {
        let hooks = landbridge_api::hooks("network.openstack.org", kind).unwrap();
        let name = format!("v{}-v1beta1.kb.io", kind.to_lowercase());
        assert_eq!(hooks.webhook_name(), Some(name.as_str()));
    }
    let hooks = landbridge_api::hooks("network.openstack.org", "DNSData").unwrap();
    assert_eq!(hooks.webhook_name(), None, "upstream has no webhook for it");
}

#[test]
fn lookup_ignores_letter_case() {
    use landbridge_api::network::{Generation, NetConfigSpec};
    let spec: NetConfigSpec = serde_json::from_value(good()["spec"].clone()).unwrap();
    let (network, subnet) = spec.find("ctlplane", "SUBNET1").unwrap();
    assert_eq!((network.name.as_str(), subnet.name.as_str()), ("CtlPlane", "subnet1"));
    assert_eq!(network.generation(), Generation::Today);
    assert_eq!(spec.find("x", "y").unwrap_err().to_string(), "no network with name: x");
    let text = "no subnet found with name: y in network: CtlPlane";
    assert_eq!(spec.find("CtlPlane", "y").unwrap_err().to_string(), text);
}
