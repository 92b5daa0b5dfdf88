//! IPSet: what may be asked for, and what may change afterwards.

use serde_json::{Value, json};

use crate::support::{World, block, changed, claim, object, refusal, refusals};

pub fn netconfig() -> Value {
    object(
        "NetConfig",
        "netconfig",
        json!({"networks": [
            {"name": "CtlPlane", "subnets": [
                {"name": "subnet1", "cidr": "192.168.122.0/24", "gateway": "192.168.122.1", "allocationRanges": []},
            ]},
            {"name": "InternalApi", "subnets": [
                {"name": "subnet1", "cidr": "172.17.0.0/24", "allocationRanges": [],
                 "excludeAddresses": ["172.17.0.10"]},
                {"name": "subnet2", "cidr": "172.17.1.0/24", "allocationRanges": []},
            ]},
            {"name": "External", "subnets": [
                {"name": "subnet1", "cidr": "10.0.0.0/24", "gateway": "10.0.0.1", "allocationRanges": []},
            ]},
            {"name": "CtlPlane6", "subnets": [
                {"name": "subnet1", "cidr": "fd00::/64", "gateway": "fd00::1", "allocationRanges": []},
            ]},
        ]}),
    )
}

fn good() -> Value {
    object(
        "IPSet",
        "edpm-compute-0",
        json!({"networks": [
            {"name": "CtlPlane", "subnetName": "subnet1", "defaultRoute": true},
            {"name": "InternalApi", "subnetName": "subnet1", "fixedIP": "172.17.0.150"},
            {"name": "CtlPlane6", "subnetName": "subnet1", "defaultRoute": true},
        ]}),
    )
}

fn world() -> World {
    World::with([netconfig()])
}

/// `spec.networks[i]`.
fn network(object: &mut Value, i: usize) -> &mut Value {
    &mut object["spec"]["networks"][i]
}

fn push(object: &mut Value, network: Value) {
    object["spec"]["networks"].as_array_mut().unwrap().push(network);
}

type Change = fn(&mut Value);

#[test]
fn a_good_one_passes_without_warnings() {
    assert_eq!(world().create(&good()), Ok(vec![]));
    let lower = changed(&good(), |o| {
        *network(o, 0) = json!({"name": "ctlplane", "subnetName": "SUBNET1"});
    });
    assert_eq!(world().create(&lower), Ok(vec![]), "names in any letter case");
    let nothing = object("IPSet", "empty", json!({"networks": []}));
    assert_eq!(world().create(&nothing), Ok(vec![]));
}

#[test]
fn needs_exactly_one_netconfig() {
    let text = "no NetConfig found in namespace openstack, please create one";
    assert_eq!(refusal(World::default().create(&good())), (403, text.to_owned()));
    let elsewhere = changed(&netconfig(), |o| o["metadata"]["namespace"] = "other".into());
    assert_eq!(refusal(World::with([elsewhere]).create(&good())), (403, text.to_owned()));

    let second = changed(&netconfig(), |o| o["metadata"]["name"] = "second".into());
    let text = "more then one NetConfig found in namespace openstack, there must be only one";
    assert_eq!(refusal(World::with([netconfig(), second]).create(&good())), (403, text.to_owned()));

    let broken = changed(&netconfig(), |o| o["spec"]["networks"] = json!(1));
    let (code, text) = refusal(World::with([broken]).create(&good()));
    assert_eq!(code, 403);
    assert!(text.starts_with("NetConfig netconfig cannot be understood: invalid type"), "{text}");
}

#[test]
fn what_is_refused() {
    let cases: &[(&str, Change, &[&str])] = &[
        (
            "network twice",
            |o| push(o, json!({"name": "CtlPlane", "subnetName": "subnet1"})),
            &[
                r#"spec.networks[3].name: Invalid value: "CtlPlane": network name CtlPlane already in use at spec.networks[0].name, must be uniq"#,
            ],
        ),
        (
            "network twice but for letter case",
            |o| push(o, json!({"name": "CTLPLANE", "subnetName": "subnet1"})),
            &[
                r#"spec.networks[3].name: Invalid value: "CTLPLANE": network name CTLPLANE already in use at spec.networks[0].name (as CtlPlane, letter case does not count), must be uniq"#,
            ],
        ),
        (
            "unknown network",
            |o| network(o, 1)["name"] = "Storage".into(),
            &[
                r#"spec.networks[1].name: Invalid value: "Storage": network Storage not in NetConfig"#,
            ],
        ),
        (
            "unknown subnet",
            |o| network(o, 1)["subnetName"] = "subnet9".into(),
            &[
                r#"spec.networks[1].subnetName: Invalid value: "subnet9": subnet subnet9 not in network InternalApi of the NetConfig"#,
            ],
        ),
        (
            "address is none",
            |o| network(o, 1)["fixedIP"] = "x".into(),
            &[r#"spec.networks[1].fixedIP: Invalid value: "x": not an IP address"#],
        ),
        (
            "address of other family",
            |o| network(o, 1)["fixedIP"] = "fd00::5".into(),
            &[r#"spec.networks[1].fixedIP: Invalid value: "fd00::5": cannot mix IPv4 and IPv6"#],
        ),
        (
            "address elsewhere",
            |o| network(o, 1)["fixedIP"] = "172.17.1.5".into(),
            &[
                r#"spec.networks[1].fixedIP: Invalid value: "172.17.1.5": address not in IP address prefix (CIDR) 172.17.0.0/24"#,
            ],
        ),
        (
            "address excluded",
            |o| network(o, 1)["fixedIP"] = "172.17.0.10".into(),
            &[
                r#"spec.networks[1].fixedIP: Invalid value: "172.17.0.10": FixedIP 172.17.0.10 is in ExcludeAddresses"#,
            ],
        ),
        (
            "two default routes of one family",
            |o| push(o, json!({"name": "External", "subnetName": "subnet1", "defaultRoute": true})),
            &[
                "spec.networks[3].defaultRoute: Invalid value: true: 4 defaultRoute can only be requested on a singe network",
            ],
        ),
        (
            "default route without gateway",
            |o| {
                network(o, 0).as_object_mut().unwrap().remove("defaultRoute");
                network(o, 1)["defaultRoute"] = true.into();
            },
            &[
                "spec.networks[1].defaultRoute: Invalid value: true: defaultRoute requested, but not configured for subnet subnet1",
            ],
        ),
    ];
    for (what, change, expected) in cases {
        assert_eq!(refusals(world().create(&changed(&good(), change))), *expected, "{what}");
    }
    let both = changed(&good(), |o| {
        network(o, 0)["name"] = "Nowhere".into();
        network(o, 1)["fixedIP"] = "x".into();
    });
    assert_eq!(refusals(world().create(&both)).len(), 2, "errors are told at once");
}

#[test]
fn what_is_pointed_out() {
    let claims = json!({
        "172.17.0.150": claim("edpm-compute-1", false),
        "172.17.0.151": claim("edpm-compute-0", false),
    });
    let held = block("net-internalapi", "172.17.0.128", &claims);
    let cases: &[(&str, Change, &[&str])] = &[
        (
            "held by another",
            |_| {},
            &[
                "spec.networks[1].fixedIP: 172.17.0.150 already reserved for IPSet openstack/edpm-compute-1",
            ],
        ),
        ("held by itself", |o| network(o, 1)["fixedIP"] = "172.17.0.151".into(), &[]),
        ("free", |o| network(o, 1)["fixedIP"] = "172.17.0.152".into(), &[]),
        (
            "gateway",
            |o| {
                *network(o, 1) =
                    json!({"name": "External", "subnetName": "subnet1", "fixedIP": "10.0.0.1"});
            },
            &["spec.networks[1].fixedIP: 10.0.0.1 is the gateway of subnet subnet1"],
        ),
        (
            "broadcast",
            |o| network(o, 1)["fixedIP"] = "172.17.0.255".into(),
            &["spec.networks[1].fixedIP: 172.17.0.255 is the broadcast address of 172.17.0.0/24"],
        ),
    ];
    for (what, change, expected) in cases {
        let world = World::with([netconfig(), held.clone()]);
        let warnings = world.create(&changed(&good(), change)).unwrap();
        assert_eq!(warnings, *expected, "{what}");
    }
}

#[test]
fn one_address_is_not_fixed_for_two() {
    let held = block(
        "net-internalapi",
        "172.17.0.128",
        &json!({"172.17.0.150": claim("edpm-compute-1", true)}),
    );
    let holder = changed(&good(), |o| o["metadata"]["name"] = "edpm-compute-1".into());
    let world = World::with([netconfig(), held.clone(), holder.clone()]);
    let why = r#"spec.networks[1].fixedIP: Invalid value: "172.17.0.150": is the fixedIP of IPSet openstack/edpm-compute-1 already; ask for another one, or for none"#;
    assert_eq!(refusals(world.create(&good())), [why]);
    assert_eq!(world.create(&holder), Ok(vec![]), "its own address");
    // A holder that is gone, or going, will free it.
    let going =
        changed(&holder, |o| o["metadata"]["deletionTimestamp"] = "2026-11-15T00:00:00Z".into());
    for objects in [vec![netconfig(), held.clone(), going], vec![netconfig(), held]] {
        assert_eq!(World::with(objects).create(&good()).unwrap().len(), 1, "pointed out only");
    }
}

#[test]
fn a_new_one_is_kept_until_its_addresses_are_freed() {
    let cases = [
        (json!(null), json!(["openstack.org/ipset"])),
        (json!(["a/b"]), json!(["a/b", "openstack.org/ipset"])),
        (json!(["IPSet"]), json!(["IPSet"])),
        (json!(["openstack.org/ipset"]), json!(["openstack.org/ipset"])),
    ];
    for (given, expected) in cases {
        let ipset = changed(&good(), |o| o["metadata"]["finalizers"] = given.clone());
        assert_eq!(world().mutate(ipset)["metadata"]["finalizers"], expected);
    }
}

#[test]
fn what_must_not_change() {
    let cases: &[(&str, Change, &[&str])] = &[
        (
            "removed",
            |o| drop(o["spec"]["networks"].as_array_mut().unwrap().remove(0)),
            &[r#"spec.networks[0].name: Invalid value: "CtlPlane": network CtlPlane removed"#],
        ),
        (
            "subnet",
            |o| {
                *network(o, 1) = json!({"name": "InternalApi", "subnetName": "subnet2", "fixedIP": "172.17.1.5"});
            },
            &[
                r#"spec.networks[1].subnetName: Invalid value: "subnet2": subnet within a network must not change (subnet1/subnet2)"#,
                r#"spec.networks[1].fixedIP: Invalid value: "172.17.1.5": fixedIP must not change"#,
            ],
        ),
        (
            "address changed",
            |o| network(o, 1)["fixedIP"] = "172.17.0.151".into(),
            &[
                r#"spec.networks[1].fixedIP: Invalid value: "172.17.0.151": fixedIP must not change"#,
            ],
        ),
        (
            "address removed",
            |o| drop(network(o, 1).as_object_mut().unwrap().remove("fixedIP")),
            &[r#"spec.networks[1].fixedIP: Invalid value: "": fixedIP must not change"#],
        ),
        (
            "address added",
            |o| network(o, 0)["fixedIP"] = "192.168.122.9".into(),
            &[
                r#"spec.networks[0].fixedIP: Invalid value: "192.168.122.9": fixedIP must not change"#,
            ],
        ),
        (
            "default route removed",
            |o| network(o, 0)["defaultRoute"] = false.into(),
            &["spec.networks[0].defaultRoute: Invalid value: false: defaultRoute must not change"],
        ),
        (
            "paths are those of the new object",
            |o| {
                o["spec"]["networks"].as_array_mut().unwrap().reverse();
                network(o, 1)["fixedIP"] = "172.17.0.151".into();
                network(o, 2)["defaultRoute"] = false.into();
            },
            &[
                "spec.networks[2].defaultRoute: Invalid value: false: defaultRoute must not change",
                r#"spec.networks[1].fixedIP: Invalid value: "172.17.0.151": fixedIP must not change"#,
            ],
        ),
    ];
    for (what, change, expected) in cases {
        let new = changed(&good(), change);
        assert_eq!(refusals(world().update(&good(), &new)), *expected, "{what}");
    }
}

#[test]
fn what_may_change() {
    let cases: &[(&str, Change)] = &[
        ("added", |o| push(o, json!({"name": "External", "subnetName": "subnet1"}))),
        ("order", |o| o["spec"]["networks"].as_array_mut().unwrap().reverse()),
        ("false instead of absent", |o| network(o, 1)["defaultRoute"] = false.into()),
        ("locked", |o| o["spec"]["immutable"] = true.into()),
    ];
    for (what, change) in cases {
        assert_eq!(world().update(&good(), &changed(&good(), change)), Ok(vec![]), "{what}");
    }
    let fixed = |text: &str| {
        changed(&good(), |o| {
            *network(o, 2) = json!({"name": "CtlPlane6", "subnetName": "subnet1", "fixedIP": text});
        })
    };
    assert_eq!(
        world().update(&fixed("fd00::0010"), &fixed("fd00::10")),
        Ok(vec![]),
        "same address"
    );
}

/// Excluding an address later does not make its holder unchangeable.
#[test]
fn an_address_given_before_stays_good() {
    let was = changed(&good(), |o| network(o, 1)["fixedIP"] = "172.17.0.10".into());
    let new = changed(&was, |o| push(o, json!({"name": "External", "subnetName": "subnet1"})));
    assert_eq!(world().update(&was, &new), Ok(vec![]));
}

#[test]
fn a_locked_list_stays() {
    let locked = changed(&good(), |o| o["spec"]["immutable"] = true.into());
    let text = r#"IPSet.network.openstack.org "edpm-compute-0" is forbidden: *: Forbidden: Invalid value: "object": Spec.Networks is immutable"#;
    let longer = |o: &mut Value| push(o, json!({"name": "External", "subnetName": "subnet1"}));
    for immutable in [true, false] {
        let new = changed(&locked, |o| {
            longer(o);
            o["spec"]["immutable"] = immutable.into();
        });
        assert_eq!(refusal(world().update(&locked, &new)), (403, text.to_owned()));
    }
    assert_eq!(world().update(&locked, &good()), Ok(vec![]), "unlocking alone");
    let labelled = changed(&locked, |o| o["metadata"]["labels"] = json!({"a": "b"}));
    assert_eq!(world().update(&locked, &labelled), Ok(vec![]), "metadata");
}

#[test]
fn finalizers_can_always_be_removed() {
    // The NetConfig is gone, and the spec would not pass any more.
    let dying = changed(&good(), |o| {
        o["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        o["metadata"]["finalizers"] = json!(["openstack.org/ipset"]);
    });
    let free = changed(&dying, |o| o["metadata"]["finalizers"] = json!([]));
    assert_eq!(World::default().update(&dying, &free), Ok(vec![]));
    let other_spec = changed(&free, |o| o["spec"]["networks"] = json!([]));
    assert_eq!(World::default().update(&dying, &other_spec), Ok(vec![]));
    let labelled = changed(&good(), |o| o["metadata"]["labels"] = json!({"a": "b"}));
    assert_eq!(World::default().update(&good(), &labelled), Ok(vec![]), "spec unchanged");
    assert_eq!(World::default().delete(&good()), Ok(vec![]));
}
