//! Reservation: a record whose addresses are addresses.

use serde_json::{Value, json};

use crate::ipset::netconfig;
use crate::support::{World, block, changed, claim, object, refusals};

fn good() -> Value {
    object(
        "Reservation",
        "edpm-compute-0",
        json!({"ipSetRef": {"name": "edpm-compute-0"}, "reservation": {
            "CtlPlane": {"network": "CtlPlane", "subnet": "subnet1", "address": "192.168.122.100"},
        }}),
    )
}

#[test]
fn addresses_have_to_be_addresses() {
    assert_eq!(World::default().create(&good()), Ok(vec![]));
    let bad = changed(&good(), |o| o["spec"]["reservation"]["CtlPlane"]["address"] = "x".into());
    let expected = [r#"spec.reservation[CtlPlane].address: Invalid value: "x": not an IP address"#];
    assert_eq!(refusals(World::default().create(&bad)), expected);
    assert_eq!(refusals(World::default().update(&good(), &bad)), expected);
    let labelled = changed(&bad, |o| o["metadata"]["labels"] = json!({"a": "b"}));
    assert_eq!(World::default().update(&bad, &labelled), Ok(vec![]), "spec unchanged");
    assert_eq!(World::default().delete(&bad), Ok(vec![]));
}

#[test]
fn what_is_pointed_out() {
    let claims = json!({"192.168.122.100": claim("edpm-compute-1", false)});
    let block = block("net-ctlplane", "192.168.122.64", &claims);
    let world = World::with([netconfig(), block]);
    let expected = "spec.reservation[CtlPlane].address: 192.168.122.100 already reserved for IPSet openstack/edpm-compute-1";
    assert_eq!(world.create(&good()), Ok(vec![expected.to_owned()]));
    let controlled = changed(&good(), |o| {
        o["metadata"]["ownerReferences"] = json!([{"kind": "IPSet", "controller": true}]);
    });
    assert_eq!(world.create(&controlled), Ok(vec![]), "the controller has asked the ledger");
    let elsewhere =
        changed(&good(), |o| o["spec"]["reservation"]["CtlPlane"]["network"] = "Storage".into());
    let expected =
        "spec.reservation[CtlPlane].network: Storage stands under the name of network CtlPlane";
    assert_eq!(world.create(&elsewhere), Ok(vec![expected.to_owned()]));
}
