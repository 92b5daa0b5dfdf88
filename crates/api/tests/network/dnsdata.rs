//! DNSData: almost anything goes, as upstream lets it.

use serde_json::{Value, json};

use crate::support::{World, changed, object, refusals};

fn with_host(ip: &str, hostnames: &[&str]) -> Value {
    object("DNSData", "hosts", json!({"hosts": [{"ip": ip, "hostnames": hostnames}]}))
}

#[test]
fn good_ones_pass_without_warnings() {
    let mut world = World::default();
    let object = with_host("fd00::5", &["edpm-compute-0.ctlplane", "edpm-compute-0"]);
    assert_eq!(world.apply(object), Ok(vec![]));
    let without_spec = json!({
        "apiVersion": "network.openstack.org/v1beta1", "kind": "DNSData", "metadata": {"name": "empty"},
    });
    assert_eq!(world.apply(without_spec), Ok(vec![]));
}

#[test]
fn what_is_pointed_out() {
    let expected = [
        r#"spec.hosts[0].ip: "host-ip-1" is not an IP address, its names will not resolve"#,
        r#"spec.hosts[0].hostnames[1]: "b c" is not a host name"#,
    ];
    assert_eq!(World::default().create(&with_host("host-ip-1", &["a", "b c"])).unwrap(), expected);
}

#[test]
fn nothing_may_begin_another_line() {
    let bad = with_host("10.0.0.1\n10.0.0.2", &["a", "b\n10.0.0.3 c"]);
    let expected = [
        r#"spec.hosts[0].ip: Invalid value: "10.0.0.1\n10.0.0.2": must not contain line breaks or other control characters"#,
        r#"spec.hosts[0].hostnames[1]: Invalid value: "b\n10.0.0.3 c": must not contain line breaks or other control characters"#,
    ];
    assert_eq!(refusals(World::default().create(&bad)), expected);
    let labelled = changed(&bad, |o| o["metadata"]["labels"] = json!({"a": "b"}));
    assert_eq!(World::default().update(&bad, &labelled), Ok(vec![]), "spec unchanged");
    assert_eq!(World::default().delete(&bad), Ok(vec![]));
}

#[test]
fn names_that_are_given_twice_are_told() {
    let hosts = json!({"hosts": [
        {"ip": "10.0.0.1", "hostnames": ["a.example", "b.example"]},
        {"ip": "10.0.0.2", "hostnames": ["A.example."]},
        {"ip": "10.0.0.1", "hostnames": ["b.example"]},
        {"ip": "fd00::1", "hostnames": ["a.example"]},
    ]});
    let twice = "spec.hosts[2].hostnames[0]: b.example has 10.0.0.1 already by spec.hosts[0]";
    let several = "spec.hosts[1].hostnames[0]: A.example. is 10.0.0.2 here and 10.0.0.1 in spec.hosts[0]: both are answered";
    let mut data = object("DNSData", "hosts", hosts);
    assert_eq!(World::default().create(&data).unwrap(), [several, twice]);
    // OVN has one name for all pods of a database.
    data["metadata"]["ownerReferences"] = json!([{"kind": "OVNDBCluster", "controller": true}]);
    assert_eq!(World::default().create(&data).unwrap(), [twice]);
}
