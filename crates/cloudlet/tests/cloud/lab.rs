//! The cloud of a lab: what the seeds show of one that OVN carries.

use landbridge_cloudlet::Config;
use serde_json::json;

use crate::world::{World, id};

#[test]
fn a_router_and_its_port_are_up_and_counted_as_the_seed_shows() {
    let mut world =
        World::with(Config { password_rounds: 1, ..Config::lab([].into(), Vec::new()) });
    let flat = json!({
        "name": "octavia-provider-net", "router:external": true,
        "provider:network_type": "flat", "provider:physical_network": "octavia",
    });
    let provider = world.make("admin", "networks", flat);
    let outer = world.make(
        "admin",
        "subnets",
        json!({"network_id": id(&provider), "cidr": "172.23.0.0/24", "ip_version": 4, "gateway_ip": null}),
    );
    // The control plane says which zones there are.
    let hints = json!({"name": "lb-mgmt-net", "availability_zone_hints": ["az1"]});
    let management = world.make("admin", "networks", hints);
    let inner = json!({"network_id": id(&management), "cidr": "172.24.0.0/16", "ip_version": 4, "gateway_ip": null});
    world.make("admin", "subnets", inner);
    let port = world.make("admin", "ports", json!({"network_id": id(&management)}));
    assert_eq!((&port["status"], &port["revision_number"]), (&json!("DOWN"), &json!(1)));
    let gateway = json!({
        "network_id": id(&provider), "enable_snat": false,
        "external_fixed_ips": [{"subnet_id": id(&outer), "ip_address": "172.23.0.150"}],
    });
    let router = world.make("admin", "routers", json!({"external_gateway_info": gateway}));
    let line = format!("PUT routers/{}/add_router_interface", id(&router));
    let added = world.neutron_with("admin", &line, &json!({"port_id": id(&port)}));
    assert_eq!(added.status, 200, "{}", added.value());
    let mut shown =
        |plural: &str, id: &str| world.neutron("admin", &format!("GET {plural}/{id}")).value();
    let port = &shown("ports", &id(&port))["port"];
    assert_eq!((&port["status"], &port["revision_number"]), (&json!("ACTIVE"), &json!(3)));
    assert_eq!(port["dns_assignment"][0]["fqdn"], "host-172-24-0-1.openstackgate.local.");
    let router = &shown("routers", &id(&router))["router"];
    assert_eq!((&router["status"], &router["revision_number"]), (&json!("ACTIVE"), &json!(4)));
    assert!(router.get("ha").is_none() && router.get("distributed").is_none(), "{router}");
}
