//! The seed's NetConfig and IPSet give the seed's reservations; today's samples give today's.

use landbridge_api::network::{IPSet, NetConfig, Reservation};
use serde_json::{Value, json};

use crate::operator::{Operator, settle};
use crate::server::Server;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/seeds/000-networking");

fn read<T: serde::de::DeserializeOwned>(file: &str) -> T {
    let text = std::fs::read_to_string(format!("{EXAMPLES}/{file}")).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

/// What becomes of the IPSet.
fn status_of(mut netconfig: NetConfig, mut ipset: IPSet) -> (Value, Reservation) {
    let mut server = Server::default();
    netconfig.metadata.namespace = Some("openstack".to_owned());
    ipset.metadata.namespace = Some("openstack".to_owned());
    server.create(netconfig).unwrap();
    let name = server.create(ipset).unwrap().metadata.name.unwrap();
    let mut operator = Operator::start(&server);
    settle(&mut server, &mut operator);
    let ipset = server.get::<IPSet>("openstack", &name).unwrap();
    let record = server.get::<Reservation>("openstack", &name).unwrap();
    (serde_json::to_value(ipset.status).unwrap(), record)
}

#[test]
fn the_seeds_request_gets_the_seeds_addresses() {
    let (status, record) =
        status_of(read("10-netconfig.yaml"), read("20-ipset-edpm-compute-0.yaml"));
    // The seed's own output, except for Tenant's MTU, where it contradicts its NetConfig.
    let expected = json!([
        {"address": "192.168.122.100", "cidr": "192.168.122.0/24", "gateway": "192.168.122.1",
         "mtu": 1500, "network": "CtlPlane", "subnet": "subnet1"},
        {"address": "10.0.0.10", "cidr": "10.0.0.0/24", "gateway": "10.0.0.1", "mtu": 1500,
         "network": "External", "routes": [{"destination": "10.0.1.0/24", "nexthop": "10.0.0.100"}],
         "subnet": "subnet1"},
        {"address": "172.17.0.150", "cidr": "172.17.0.0/24", "mtu": 1500,
         "network": "InternalApi", "subnet": "subnet1", "vlan": 20},
        {"address": "172.18.0.10", "cidr": "172.18.0.0/24", "mtu": 1500,
         "network": "Storage", "subnet": "subnet1", "vlan": 30},
        {"address": "172.20.0.10", "cidr": "172.20.0.0/24", "mtu": 9000,
         "network": "Tenant", "subnet": "subnet1", "vlan": 50},
    ]);
    assert_eq!(status["reservations"], expected);
    let conditions: Vec<_> = status["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| json!([c["type"], c["status"], c["reason"], c["message"]]))
        .collect();
    let expected = [
        json!(["Ready", "True", "Ready", "Setup complete"]),
        json!(["InputReady", "True", "Ready", "Input data complete"]),
        json!(["ReservationReady", "True", "Ready", "Reservation successful"]),
    ];
    assert_eq!(conditions, expected);
    let labels = record.metadata.labels.unwrap();
    assert_eq!(labels["ipam.network.openstack.org/InternalApi"], "subnet1");
    assert_eq!(record.spec.reservation["InternalApi"].address, "172.17.0.150");
    assert_eq!(record.spec.ip_set_ref.name.as_deref(), Some("edpm-compute-0"));
    assert_eq!(record.metadata.finalizers.unwrap(), ["openstack.org/ipset"]);
    assert_eq!(record.metadata.owner_references.unwrap()[0].controller, Some(true));
}

#[test]
fn today_the_control_plane_comes_first_and_the_default_route_is_listed() {
    let netconfig = json!({
        "apiVersion": "network.openstack.org/v1beta1", "kind": "NetConfig",
        "metadata": {"name": "netconfig"},
        "spec": {"networks": [
            {"name": "InternalApi", "dnsDomain": "internalapi.example.com", "serviceNetwork": "internalapi",
             "subnets": [{"name": "subnet1", "cidr": "172.17.0.0/24", "vlan": 20, "dnsDomain": "one.example.com",
                "allocationRanges": [{"start": "172.17.0.100", "end": "172.17.0.250"}]}]},
            {"name": "Management", "dnsDomain": "ctlplane.example.com", "serviceNetwork": "ctlplane",
             "subnets": [{"name": "Subnet1", "cidr": "fd00:aaaa::/64", "gateway": "fd00:aaaa::1",
                "allocationRanges": [{"start": "fd00:aaaa::100", "end": "fd00:aaaa::120"}],
                "routes": [{"destination": "fd00:1::/64", "nexthop": "fd00:aaaa::2"}]}]},
        ]},
    });
    let ipset = json!({
        "apiVersion": "network.openstack.org/v1beta1", "kind": "IPSet",
        "metadata": {"name": "edpm-compute-0"},
        "spec": {"networks": [
            {"name": "internalapi", "subnetName": "subnet1"},
            {"name": "MANAGEMENT", "subnetName": "subnet1", "defaultRoute": true},
        ]},
    });
    let (status, record) = status_of(
        serde_json::from_value(netconfig).unwrap(),
        serde_json::from_value(ipset).unwrap(),
    );
    let expected = json!([
        {"address": "fd00:aaaa::100", "cidr": "fd00:aaaa::/64", "dnsDomain": "ctlplane.example.com",
         "gateway": "fd00:aaaa::1", "mtu": 1500, "network": "Management", "serviceNetwork": "ctlplane",
         "subnet": "Subnet1", "routes": [
            {"destination": "fd00:1::/64", "nexthop": "fd00:aaaa::2"},
            {"destination": "::/0", "nexthop": "fd00:aaaa::1"}]},
        {"address": "172.17.0.100", "cidr": "172.17.0.0/24", "dnsDomain": "one.example.com",
         "mtu": 1500, "network": "InternalApi", "serviceNetwork": "internalapi", "subnet": "subnet1", "vlan": 20},
    ]);
    assert_eq!(status["reservations"], expected);
    // The record is spelled as the NetConfig spells it.
    assert_eq!(record.spec.reservation.keys().collect::<Vec<_>>(), ["InternalApi", "Management"]);
}
