//! One suite, two servers: the same stories on the embedded cloud and on a real Keystone and Neutron.

use landbridge_controllers::octavia::pass::{Ended, Task, pass};
use landbridge_controllers::octavia::steps::{Found, Options};
use landbridge_openstack::Method;
use landbridge_plan::octavia::Design;
use serde_json::{Value, json};

use crate::observed::observed;
use crate::place::{Place, alone, run};
use crate::scene::{assert_same, designed, keep, owner, seed, zones};

pub async fn settle(place: &Place, task: &Task) -> Found {
    let mut whys = Vec::new();
    for _ in 0..5 {
        match pass(&place.client, &owner(), task).await {
            Ended::Done(found) => return found,
            Ended::Short { why, .. } => whys.push(why),
        }
    }
    panic!("{}: not settled: {whys:#?}", place.name);
}

async fn trouble(place: &Place, task: &Task) -> String {
    match pass(&place.client, &owner(), task).await {
        Ended::Short { why, .. } => why,
        Ended::Done(_) => panic!("{}: taken: {:#?}", place.name, observed(place).await),
    }
}

/// Everything goes, and nothing is left but quotas.
async fn gone(place: &Place, before: &[String]) {
    settle(place, &Task::Remove).await;
    let without_quota = |lines: &[String]| -> Vec<String> {
        lines.iter().filter(|line| !line.starts_with("quota")).cloned().collect()
    };
    let left = without_quota(&observed(place).await);
    assert_same(&left, &without_quota(before), &format!("{}: what is left", place.name));
}

pub async fn the_seed(place: &Place) {
    let provider = place.named("networks", "octavia-provider-net").await;
    assert_eq!(
        (&provider["provider:network_type"], &provider["provider:physical_network"]),
        (&json!("flat"), &json!("octavia"))
    );
    assert_eq!(provider["router:external"], true);
    let subnet = place.named("subnets", "octavia-provider-subnet").await;
    assert_eq!(
        (&subnet["cidr"], &subnet["network_id"]),
        (&json!("172.23.0.0/24"), &provider["id"])
    );
    let inner = place.named("subnets", "lb-mgmt-subnet").await;
    assert_eq!((&inner["cidr"], &inner["gateway_ip"]), (&json!("172.24.0.0/16"), &Value::Null));
    let router = place.named("routers", "octavia-link-router").await;
    let info = &router["external_gateway_info"];
    assert_eq!((&info["network_id"], &info["enable_snat"]), (&provider["id"], &json!(false)));
    assert_eq!(
        info["external_fixed_ips"],
        json!([{"subnet_id": subnet["id"], "ip_address": "172.23.0.150"}])
    );
    assert_eq!(
        (&router["description"], &router["tags"], &router["routes"]),
        (&json!(""), &json!([]), &json!([]))
    );
    let port = place.named("ports", "lb-mgmt-router-port").await;
    assert_eq!(
        (&port["device_id"], &port["device_owner"]),
        (&router["id"], &json!("network:router_interface"))
    );
    assert_eq!((&port["description"], &port["tags"]), (&json!(""), &json!([])));
    assert_eq!(port["security_groups"].as_array().unwrap().len(), 2);
    let routes =
        json!([{"destination": "172.23.0.0/24", "nexthop": port["fixed_ips"][0]["ip_address"]}]);
    assert_eq!(inner["host_routes"], routes);
    let policies = place.all_of("rbac-policies").await;
    let open: Vec<&Value> =
        policies.iter().filter(|policy| policy["object_id"] == provider["id"]).collect();
    assert_eq!(open.len(), 1, "{policies:#?}");
    assert_eq!(open[0]["target_tenant"], provider["project_id"]);
}

/// From nothing to the seed's networks and back; changes that Neutron follows, and one that it does not.
async fn the_seeds_life(place: &Place) {
    let nothing = observed(place).await;
    let found = settle(place, &keep(&seed())).await;
    assert_eq!(found.note.is_none(), place.has_nova, "{:?}", found.note);
    the_seed(place).await;
    let expected = observed(place).await;
    settle(place, &keep(&seed())).await;
    assert_same(&observed(place).await, &expected, "a second time");
    let moved = designed(
        &json!({"lbMgmtNetwork": {"availabilityZoneCIDRs": {}}}),
        &json!({"range_end": "172.23.0.80",
        "routes": [{"dst": "172.24.0.0/16", "gw": "172.23.0.160"}]}),
    );
    settle(place, &keep(&moved)).await;
    let router = place.named("routers", "octavia-link-router").await;
    assert_eq!(
        router["external_gateway_info"]["external_fixed_ips"][0]["ip_address"],
        "172.23.0.160"
    );
    let other: Design =
        designed(&json!({}), &json!({"routes": [{"dst": "172.28.0.0/16", "gw": "172.23.0.150"}]}));
    let why = trouble(place, &keep(&other)).await;
    assert!(why.contains("subnet lb-mgmt-subnet has cidr"), "{why}");
    assert!(why.contains("landbridge.dev/recreate"), "{why}");
    settle(place, &Task::Keep(other.into(), Options { may_recreate: true, is_careful: true }))
        .await;
    assert_eq!(place.named("subnets", "lb-mgmt-subnet").await["cidr"], "172.28.0.0/16");
    gone(place, &nothing).await;
}

/// What others add, take apart and open up.
async fn meddling(place: &Place) {
    settle(place, &keep(&seed())).await;
    let expected = observed(place).await;
    let id = |object: &Value| object["id"].as_str().unwrap().to_owned();
    for number in 0..4 {
        let provider = id(&place.named("networks", "octavia-provider-net").await);
        let router = id(&place.named("routers", "octavia-link-router").await);
        let port = id(&place.named("ports", "lb-mgmt-router-port").await);
        let group = place.named("security-groups", "lb-mgmt-sec-grp").await;
        let post = |path: &'static str, body: Value| place.ask(Method::POST, path, Some(body));
        match number {
            0 => {
                let path = format!("/routers/{router}/remove_router_interface");
                place.put(&path, json!({"port_id": port})).await;
            }
            1 => {
                let rule = json!({"security_group_id": group["id"], "direction": "ingress",
                    "ethertype": "IPv4", "protocol": "icmp"});
                post("/security-group-rules", json!({"security_group_rule": rule})).await.unwrap();
            }
            2 => {
                let policy = json!({"object_id": provider, "object_type": "network",
                    "action": "access_as_external", "target_tenant": "*"});
                post("/rbac-policies", json!({"rbac_policy": policy})).await.unwrap();
            }
            _ => {
                let body = json!({"router": {"external_gateway_info": {}}});
                place.put(&format!("/routers/{router}"), body).await;
            }
        }
        settle(place, &keep(&seed())).await;
        assert_same(&observed(place).await, &expected, &format!("{}: change {number}", place.name));
        the_seed(place).await;
    }
    settle(place, &Task::Remove).await;
}

/// Networks of zones come and go; a zone that Neutron does not know is told.
async fn availability_zones(place: &Place) {
    let nothing = observed(place).await;
    let known = place.all_of("availability_zones").await;
    if !["zone-1", "edge-a", "edge-b"]
        .iter()
        .all(|zone| known.iter().any(|one| one["name"] == *zone))
    {
        let why = trouble(place, &keep(&zones())).await;
        assert!(why.contains("cannot create network") && why.contains("AvailabilityZone"), "{why}");
        return gone(place, &nothing).await;
    }
    let found = settle(place, &keep(&zones())).await;
    assert_eq!(found.prefixes, ["172.24.0.0/16", "172.25.0.0/24", "172.26.0.0/24"]);
    let router = place.named("routers", "octavia-link-router").await;
    assert_eq!(router["availability_zone_hints"], json!(["zone-1"]));
    for zone in ["edge-a", "edge-b"] {
        let network = place.named("networks", &format!("lb-mgmt-{zone}-net")).await;
        assert_eq!(network["availability_zone_hints"], json!([zone]));
        let port = place.named("ports", &format!("lb-mgmt-{zone}-router-port")).await;
        assert_eq!(port["device_id"], router["id"]);
        let subnet = place.named("subnets", &format!("lb-mgmt-{zone}-subnet")).await;
        let way = json!([{"destination": "172.23.0.0/24", "nexthop": port["fixed_ips"][0]["ip_address"]}]);
        assert_eq!(subnet["host_routes"], way);
    }
    let spec = json!({"lbMgmtNetwork": {"availabilityZones": ["zone-1"],
        "availabilityZoneCIDRs": {"edge-b": "172.26.0.0/24"}}});
    let fewer = designed(&spec, &json!({}));
    settle(place, &keep(&fewer)).await;
    let names: Vec<Value> =
        place.all_of("networks").await.iter().map(|one| one["name"].clone()).collect();
    assert!(!names.contains(&json!("lb-mgmt-edge-a-net")), "{names:?}");
    assert!(names.contains(&json!("lb-mgmt-edge-b-net")), "{names:?}");
    gone(place, &nothing).await;
}

/// Only networks of zones, where the attachment has no route.
async fn only_zones(place: &Place) {
    let nothing = observed(place).await;
    let zones = place.all_of("availability_zones").await;
    if !zones.iter().any(|zone| zone["name"] == "edge-a") {
        return;
    }
    let spec = json!({"lbMgmtNetwork": {"createDefaultLbMgmtNetwork": false, "lbMgmtRouterGateway": "172.23.0.150",
        "availabilityZoneCIDRs": {"edge-a": "172.25.0.0/24"}}});
    settle(place, &keep(&designed(&spec, &json!({"routes": []})))).await;
    let names: Vec<Value> =
        place.all_of("networks").await.iter().map(|one| one["name"].clone()).collect();
    assert!(!names.contains(&json!("lb-mgmt-net")), "{names:?}");
    let port = place.named("ports", "lb-mgmt-edge-a-router-port").await;
    assert_eq!(port["device_owner"], "network:router_interface");
    gone(place, &nothing).await;
}

async fn ipv6(place: &Place) {
    let nothing = observed(place).await;
    let v6 = json!({"range": "fd00:cccc::/64", "range_start": "fd00:cccc::30", "range_end": "fd00:cccc::70",
        "routes": [{"dst": "fd6c:6261:6173:1::/64", "gw": "fd00:cccc::1:1"}]});
    let design = designed(&json!({}), &v6);
    settle(place, &keep(&design)).await;
    let expected = observed(place).await;
    let inner = place.named("subnets", "lb-mgmt-subnet").await;
    assert_eq!(
        (&inner["ip_version"], &inner["ipv6_address_mode"], &inner["ipv6_ra_mode"]),
        (&json!(6), &json!("slaac"), &json!("slaac"))
    );
    let outer = place.named("subnets", "octavia-provider-subnet").await;
    assert_eq!((&outer["cidr"], &outer["ipv6_ra_mode"]), (&json!("fd00:cccc::/64"), &Value::Null));
    let pool = json!([{"start": "fd00:cccc::71", "end": "fd00:cccc::8a"}]);
    assert_eq!(outer["allocation_pools"], pool);
    let router = place.named("routers", "octavia-link-router").await;
    let ip = &router["external_gateway_info"]["external_fixed_ips"][0]["ip_address"];
    assert_eq!(ip, "fd00:cccc::1:1");
    let port = place.named("ports", "lb-mgmt-router-port").await;
    let way =
        json!([{"destination": "fd00:cccc::/64", "nexthop": port["fixed_ips"][0]["ip_address"]}]);
    assert_eq!(inner["host_routes"], way);
    // A second pass changes nothing, and what somebody changes comes back.
    let path = format!("/subnets/{}", inner["id"].as_str().unwrap());
    place.put(&path, json!({"subnet": {"host_routes": [], "name": "x"}})).await;
    settle(place, &keep(&design)).await;
    assert_same(&observed(place).await, &expected, &format!("{}: IPv6", place.name));
    gone(place, &nothing).await;
}

/// Networks of somebody else's are found, and never written; what is missing is told.
async fn unmanaged(place: &Place) {
    let nothing = observed(place).await;
    let design = designed(
        &json!({"lbMgmtNetwork": {"manageLbMgmtNetworks": false}}),
        &json!({"routes": []}),
    );
    let why = trouble(place, &keep(&design)).await;
    for missing in
        ["network lb-mgmt-net", "subnet lb-mgmt-subnet", "lb-mgmt-sec-grp", "octavia-link-router"]
    {
        assert!(why.contains(missing), "{}: {why}", place.name);
    }
    assert_same(&observed(place).await, &nothing, "looking");
    settle(place, &keep(&seed())).await;
    settle(place, &Task::LetGo).await;
    let theirs = observed(place).await;
    assert!(!theirs.join("\n").contains("landbridge:"), "{theirs:#?}");
    let found = settle(place, &keep(&design)).await;
    let network = place.named("networks", "lb-mgmt-net").await;
    assert_eq!(found.network.as_deref(), network["id"].as_str());
    assert_eq!(found.gateway.as_deref(), Some("172.23.0.150"));
    assert_eq!(found.prefixes, ["172.24.0.0/16"]);
    assert_same(&observed(place).await, &theirs, &format!("{}: finding", place.name));
    // Whoever manages them again adopts them; they are nobody's to delete. Made anew they would be: so they go by hand.
    settle(place, &keep(&seed())).await;
    settle(place, &Task::Remove).await;
    assert_eq!(place.all_of("networks").await.len(), 2, "{}: adopted ones stay", place.name);
    clear(place).await;
    assert_same(&observed(place).await, &nothing, &format!("{}: by hand", place.name));
}

/// As somebody does who wants an empty cloud.
async fn clear(place: &Place) {
    for port in place.all_of("ports").await {
        let router = port["device_id"].as_str().unwrap();
        if port["device_owner"] == "network:router_interface" {
            let path = format!("/routers/{router}/remove_router_interface");
            place.put(&path, json!({"port_id": port["id"]})).await;
        }
    }
    for collection in ["routers", "ports", "networks", "security-groups"] {
        for object in place.all_of(collection).await {
            let path = format!("/{collection}/{}", object["id"].as_str().unwrap());
            let _ = place.ask(Method::DELETE, &path, None).await; // what Neutron made goes by itself, or stays
        }
    }
}

async fn all(place: &Place) {
    the_seeds_life(place).await;
    meddling(place).await;
    availability_zones(place).await;
    only_zones(place).await;
    ipv6(place).await;
    unmanaged(place).await;
}

#[test]
fn on_the_embedded_cloud() {
    run(all(&Place::embedded()));
}

/// On each real cloud, empty before and after, and alone: the names are the same.
pub fn on_real_ones(story: &impl AsyncFn(&Place)) {
    let _alone = alone();
    for place in Place::real() {
        run(async {
            clear(&place).await;
            story(&place).await;
            settle(&place, &Task::Remove).await;
        });
    }
}

#[test]
fn on_a_real_keystone_and_neutron() {
    on_real_ones(&all);
}
