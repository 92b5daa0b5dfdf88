//! Neutron: what the frame does for every resource, and the rules of networks, subnets and ports.

use http::Method;
use landbridge_cloudlet::{Request, Service};
use serde_json::{Value, json};

use crate::world::{World, id, refusal};

fn names(list: &Value, plural: &str) -> Vec<String> {
    let items = list[plural].as_array().unwrap();
    items.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn lists_are_filtered_sorted_cut_and_linked() {
    let mut world = World::new();
    for name in ["c", "a", "b", "a"] {
        world.make("member", "networks", json!({"name": name, "mtu": 1000 + name.len()}));
    }
    world.make("admin", "networks", json!({"name": "z"}));
    let list = |world: &mut World, query: &str| {
        names(&world.neutron("member", &format!("GET networks?{query}")).value(), "networks")
    };
    assert_eq!(list(&mut world, "sort_key=name&sort_dir=asc"), ["a", "a", "b", "c"]);
    assert_eq!(list(&mut world, "sort_key=name&sort_dir=desc"), ["c", "b", "a", "a"]);
    assert_eq!(list(&mut world, "name=a"), ["a", "a"]);
    assert_eq!(list(&mut world, "name=a&name=c&sort_key=name&sort_dir=desc"), ["c", "a", "a"]);
    assert_eq!(list(&mut world, "name=a&admin_state_up=False"), [] as [&str; 0]);
    assert_eq!(world.neutron("member", "GET networks?colour=red").status, 400);

    // Page by page, by the links alone, there and back.
    let mut url = "networks?limit=3&sort_key=name&sort_dir=asc".to_owned();
    let mut seen = Vec::new();
    loop {
        let page = world.neutron("member", &format!("GET {url}")).value();
        seen.extend(names(&page, "networks"));
        let links = page["networks_links"].as_array().unwrap();
        let Some(next) = links.iter().find(|link| link["rel"] == "next") else { break };
        url = next["href"].as_str().unwrap().split_once("/v2.0/").unwrap().1.to_owned();
    }
    assert_eq!(seen, ["a", "a", "b", "c"]);
    let fields = world.neutron("member", "GET networks?name=c&fields=name&fields=mtu").value();
    assert_eq!(fields, json!({"networks": [{"name": "c", "mtu": 1001}]}));
}

#[test]
fn revisions_grow_and_guard() {
    let mut world = World::new();
    let net = world.make("member", "networks", json!({"name": "n"}));
    let path = format!("/v2.0/networks/{}", id(&net));
    let put = |world: &mut World, revision: &str| {
        let token = world.tokens["member"].clone();
        let body = json!({"network": {"description": revision}});
        let request = Request::new(Service::Network, Method::PUT, &path).token(&token).json(&body);
        world.send(request.header("if-match", revision))
    };
    let first = net["revision_number"].as_i64().unwrap();
    assert_eq!(put(&mut world, &format!("revision_number={first}")).status, 200);
    let late = refusal(&put(&mut world, &format!("revision_number={first}")));
    assert_eq!((late.0, late.1.as_str()), (412, "RevisionNumberConstraintFailed"));
    let now = world.neutron("member", &format!("GET networks/{}", id(&net))).value();
    assert_eq!(now["network"]["revision_number"], first + 1);
    assert!(now["network"]["updated_at"].as_str() > net["updated_at"].as_str());
    assert_eq!(now["network"]["created_at"], net["created_at"]);
}

#[test]
fn tags_come_and_go_and_select() {
    let mut world = World::new();
    let red = id(&world.make("member", "networks", json!({"name": "red"})));
    let blue = id(&world.make("member", "networks", json!({"name": "blue"})));
    let tags = |list: &[&str]| json!({ "tags": list });
    world.neutron_with("member", &format!("PUT networks/{red}/tags"), &tags(&["a", "b"]));
    assert_eq!(world.neutron("member", &format!("PUT networks/{blue}/tags/b")).status, 201);
    for (query, expected) in [
        ("tags=a,b", vec!["red"]),
        ("tags=b", vec!["blue", "red"]),
        ("tags-any=a,c", vec!["red"]),
        ("not-tags=a,b", vec!["blue"]),
        ("not-tags-any=b", vec![]),
    ] {
        let query = format!("GET networks?{query}&sort_key=name&sort_dir=asc");
        assert_eq!(
            names(&world.neutron("member", &query).value(), "networks"),
            expected,
            "{query}"
        );
    }
    let many: Vec<String> = (0..51).map(|n| n.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let path = format!("PUT networks/{red}/tags");
    assert_eq!(world.neutron_with("member", &path, &tags(&many)).status, 400);
    assert_eq!(world.neutron("member", &format!("DELETE networks/{red}/tags/c")).status, 404);
    assert_eq!(world.neutron("member", &format!("DELETE networks/{red}/tags")).status, 204);
}

#[test]
fn a_bulk_create_is_all_or_nothing() {
    let mut world = World::new();
    let (net, _) = world.net("member", "10.0.0.0/29");
    let ports = |count: usize| json!({"ports": vec![json!({"network_id": net}); count]});
    // 8 addresses without both ends and the gateway.
    let full = refusal(&world.neutron_with("member", "POST ports", &ports(6)));
    assert_eq!((full.0, full.1.as_str()), (409, "IpAddressGenerationFailure"));
    assert_eq!(world.neutron("member", "GET ports").value()["ports"], json!([]));
    let made = world.neutron_with("member", "POST ports", &ports(5));
    assert_eq!(made.status, 201, "{}", made.value());
    assert_eq!(made.value()["ports"].as_array().unwrap().len(), 5);
    assert_eq!(world.neutron_with("member", "POST ports", &ports(1)).status, 409);
}

#[test]
fn quotas_bound_and_tell() {
    let mut world = World::new();
    let demo = world.projects["demo"].clone();
    let set = |network: i64| json!({"quota": {"network": network}});
    let path = format!("PUT quotas/{demo}");
    assert_eq!(world.neutron_with("admin", &path, &set(2)).status, 200);
    world.make("member", "networks", json!({}));
    let two = json!({"networks": [{}, {}]});
    let over = refusal(&world.neutron_with("member", "POST networks", &two));
    assert_eq!(over.2, "Quota exceeded for resources: ['network'].");
    world.make("member", "networks", json!({}));
    assert_eq!(world.neutron_with("admin", &path, &set(1)).status, 400, "two are there");
    let details = world.neutron("admin", &format!("GET quotas/{demo}/details.json")).value();
    assert_eq!(details["quota"]["network"], json!({"limit": 2, "used": 2, "reserved": 0}));
    assert_eq!(world.neutron("admin", &format!("DELETE quotas/{demo}")).status, 204);
    world.make("member", "networks", json!({}));
}

#[test]
fn a_port_gets_one_ipv4_one_stateful_and_every_automatic_address() {
    let mut world = World::new();
    let net = id(&world.make("member", "networks", json!({})));
    let mut subnet = |cidr: &str, mode: Option<&str>| {
        let mut body = json!({"network_id": net, "cidr": cidr, "ip_version": if cidr.contains(':') { 6 } else { 4 }});
        if let Some(mode) = mode {
            body["ipv6_ra_mode"] = mode.into();
            body["ipv6_address_mode"] = mode.into();
        }
        id(&world.make("member", "subnets", body))
    };
    subnet("10.0.0.0/24", None);
    subnet("10.0.1.0/24", None);
    subnet("fd00:1::/64", Some("dhcpv6-stateful"));
    let slaac = subnet("fd00:2::/64", Some("slaac"));
    let port = world.make(
        "member",
        "ports",
        json!({"network_id": net, "mac_address": "fa:16:3e:00:00:01"}),
    );
    let ips: Vec<&str> = port["fixed_ips"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["ip_address"].as_str().unwrap())
        .collect();
    assert_eq!(ips.len(), 3, "{ips:?}");
    assert!(ips.contains(&"fd00:2::f816:3eff:fe00:1"), "{ips:?}");
    let none = world.make("member", "ports", json!({"network_id": net, "fixed_ips": []}));
    assert_eq!(none["fixed_ips"].as_array().unwrap().len(), 1, "what it makes itself");

    // A later subnet of that kind reaches the ports that are there.
    let late = id(&world.make(
        "member",
        "subnets",
        json!({"network_id": net, "cidr": "fd00:3::/64",
        "ip_version": 6, "ipv6_ra_mode": "slaac", "ipv6_address_mode": "slaac"}),
    ));
    let port = world.neutron("member", &format!("GET ports/{}", id(&port))).value();
    let held = port["port"]["fixed_ips"].to_string();
    assert!(held.contains(&late) && held.contains(&slaac), "{held}");
    assert_eq!(
        world.neutron("member", &format!("DELETE subnets/{late}")).status,
        204,
        "and leaves them"
    );
}

#[test]
fn an_address_is_free_again_when_its_port_goes_or_moves() {
    let mut world = World::new();
    let (net, subnet) = world.net("member", "10.0.0.0/24");
    let fixed = |ip: &str| json!([{"subnet_id": subnet, "ip_address": ip}]);
    let port = id(&world.make(
        "member",
        "ports",
        json!({"network_id": net, "fixed_ips": fixed("10.0.0.9")}),
    ));
    let same = json!({"port": {"network_id": net, "fixed_ips": fixed("10.0.0.9")}});
    let taken = refusal(&world.neutron_with("member", "POST ports", &same));
    assert_eq!(taken.2, format!("IP address 10.0.0.9 already allocated in subnet {subnet}"));
    let moved = json!({"port": {"fixed_ips": fixed("10.0.0.10")}});
    assert_eq!(world.neutron_with("member", &format!("PUT ports/{port}"), &moved).status, 200);
    assert_eq!(world.neutron_with("member", "POST ports", &same).status, 201);
    assert_eq!(world.neutron("member", &format!("DELETE ports/{port}")).status, 204);
    world.make("member", "ports", json!({"network_id": net, "fixed_ips": fixed("10.0.0.10")}));
    // The lowest first, over what was given back.
    let next = world.make("member", "ports", json!({"network_id": net}));
    assert_eq!(next["fixed_ips"][0]["ip_address"], "10.0.0.2");
}

#[test]
fn what_is_in_use_stays() {
    let mut world = World::new();
    let (net, subnet) = world.net("member", "10.0.0.0/24");
    let port = id(&world.make("member", "ports", json!({"network_id": net})));
    let used = refusal(&world.neutron("member", &format!("DELETE networks/{net}")));
    assert_eq!((used.0, used.1.as_str()), (409, "NetworkInUse"));
    assert!(used.2.ends_with(&format!("id for these ports is: {port}.")), "{}", used.2);
    let used = refusal(&world.neutron("member", &format!("DELETE subnets/{subnet}")));
    assert_eq!((used.0, used.1.as_str()), (409, "SubnetInUse"));
    world.neutron("member", &format!("DELETE ports/{port}"));
    assert_eq!(world.neutron("member", &format!("DELETE networks/{net}")).status, 204);
    assert_eq!(
        world.neutron("member", &format!("GET subnets/{subnet}")).status,
        404,
        "goes with it"
    );
}

#[test]
fn the_seeds_networks_are_what_the_seed_shows() {
    let mut world = World::new();
    // octavia-operator sends segmentation id 0 for its flat network.
    let net = world.make(
        "admin",
        "networks",
        json!({"name": "octavia-provider-net", "router:external": true,
        "segments": [{"provider:network_type": "flat", "provider:physical_network": "octavia",
                      "provider:segmentation_id": 0}]}),
    );
    assert_eq!(net["provider:network_type"], "flat");
    assert_eq!(net["provider:segmentation_id"], Value::Null);
    assert_eq!((&net["router:external"], &net["mtu"]), (&json!(true), &json!(1500)));
    let again = json!({"network": {"provider:network_type": "flat", "provider:physical_network": "octavia"}});
    assert_eq!(
        refusal(&world.neutron_with("admin", "POST networks", &again)).1,
        "FlatNetworkInUse"
    );
    let subnet = world.make(
        "admin",
        "subnets",
        json!({"network_id": id(&net), "cidr": "172.23.0.0/24", "ip_version": 4,
        "gateway_ip": null, "allocation_pools": [{"start": "172.23.0.71", "end": "172.23.0.96"}]}),
    );
    assert_eq!((&subnet["gateway_ip"], &subnet["enable_dhcp"]), (&Value::Null, &json!(true)));
    let port = world.make(
        "admin",
        "ports",
        json!({"network_id": id(&net), "name": "lb-mgmt-router-port"}),
    );
    assert_eq!(port["dns_assignment"][0]["hostname"], "host-172-23-0-71");
    assert_eq!((&port["ip_allocation"], &port["dns_name"]), (&json!("immediate"), &json!("")));
    let routes = json!({"subnet": {"host_routes": [{"destination": "10.0.0.0/8", "nexthop": "172.23.0.71"}]}});
    let after =
        world.neutron_with("admin", &format!("PUT subnets/{}", id(&subnet)), &routes).value();
    assert_eq!(
        after["subnet"]["revision_number"], subnet["revision_number"],
        "routes are not the subnet"
    );
    assert_ne!(after["subnet"]["updated_at"], subnet["updated_at"]);
}

#[test]
fn subnets_come_from_pools() {
    let mut world = World::new();
    let pool = id(&world.make(
        "member",
        "subnetpools",
        json!({"name": "p", "prefixes": ["10.0.0.0/16", "10.1.0.0/16"],
        "default_prefixlen": 24, "default_quota": 512}),
    ));
    let net = id(&world.make("member", "networks", json!({})));
    let from_pool = json!({"network_id": net, "ip_version": 4, "subnetpool_id": pool});
    let first = world.make("member", "subnets", from_pool.clone());
    let second = world.make("member", "subnets", from_pool.clone());
    assert_eq!((&first["cidr"], &second["cidr"]), (&json!("10.0.0.0/24"), &json!("10.0.1.0/24")));
    let over =
        refusal(&world.neutron_with("member", "POST subnets", &json!({ "subnet": from_pool })));
    assert_eq!(over.1, "SubnetPoolQuotaExceeded");
    let own = json!({"subnet": {"network_id": net, "ip_version": 4, "cidr": "192.0.2.0/24"}});
    assert_eq!(
        refusal(&world.neutron_with("member", "POST subnets", &own)).1,
        "NetworkSubnetPoolAffinityError"
    );
    assert_eq!(
        refusal(&world.neutron("member", &format!("DELETE subnetpools/{pool}"))).1,
        "SubnetPoolDeleteError"
    );
}

#[test]
fn capacity_is_counted() {
    let mut world = World::new();
    let (net, _) = world.net("member", "10.0.0.0/24");
    for _ in 0..3 {
        world.make("member", "ports", json!({"network_id": net}));
    }
    let shown = world.neutron("admin", &format!("GET network-ip-availabilities/{net}")).value();
    let shown = &shown["network_ip_availability"];
    assert_eq!((&shown["total_ips"], &shown["used_ips"]), (&json!(253), &json!(3)));
}
