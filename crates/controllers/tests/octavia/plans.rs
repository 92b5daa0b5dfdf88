//! What is made of a design, and what is left alone.

use http::Method;
use landbridge_controllers::octavia::marks::Owner;
use landbridge_controllers::octavia::pass::Task;
use landbridge_controllers::octavia::steps::Options;
use serde_json::{Value, json};

use crate::scene::{designed, ideal, keep, once, owner, seed, settle, trouble, zones};
use crate::sim::Sim;

#[test]
fn the_seed() {
    let sim = Sim::new();
    let found = settle(&sim, &keep(&seed()));
    let network = |name: &str| sim.named("networks", name);
    let provider = network("octavia-provider-net");
    assert_eq!(provider["provider:physical_network"], "octavia");
    assert_eq!(provider["provider:network_type"], "flat");
    assert_eq!(provider["router:external"], true);
    assert_eq!(provider["project_id"], "p-admin");
    assert_eq!(provider["description"], "LBaaS Management Provider Network");
    let tenant = network("lb-mgmt-net");
    assert_eq!(
        (&tenant["project_id"], &tenant["router:external"]),
        (&json!("p-service"), &json!(false))
    );
    assert_eq!(found.network.as_deref(), tenant["id"].as_str());
    let subnet = sim.named("subnets", "octavia-provider-subnet");
    assert_eq!(subnet["cidr"], "172.23.0.0/24");
    assert_eq!(subnet["allocation_pools"], json!([{"start": "172.23.0.71", "end": "172.23.0.96"}]));
    let router = sim.named("routers", "octavia-link-router");
    let info = json!({"network_id": provider["id"], "enable_snat": false,
        "external_fixed_ips": [{"ip_address": "172.23.0.150", "subnet_id": subnet["id"]}]});
    assert_eq!(router["external_gateway_info"], info);
    // As the seed prints it: nothing of ours shows on router and port.
    for one in [&router, &sim.named("ports", "lb-mgmt-router-port")] {
        assert_eq!((&one["description"], &one["tags"]), (&json!(""), &json!([])));
    }
    let port = sim.named("ports", "lb-mgmt-router-port");
    assert_eq!(port["device_id"], router["id"]);
    assert_eq!(port["device_owner"], "network:router_interface");
    let groups = ["lb-mgmt-sec-grp", "lb-health-mgr-sec-grp"]
        .map(|name| sim.named("security-groups", name)["id"].clone());
    assert_eq!(port["security_groups"], json!(groups));
    assert_eq!(found.group.as_deref(), groups[0].as_str());
    let subnet = sim.named("subnets", "lb-mgmt-subnet");
    assert_eq!(subnet["cidr"], "172.24.0.0/16");
    assert_eq!(subnet["gateway_ip"], Value::Null);
    let nexthop = &port["fixed_ips"][0]["ip_address"];
    assert_eq!(
        subnet["host_routes"],
        json!([{"destination": "172.23.0.0/24", "nexthop": nexthop}])
    );
    assert_eq!(found.gateway.as_deref(), Some("172.23.0.150"));
    assert_eq!(found.prefixes, ["172.24.0.0/16"]);
    // Only the project of the router may use the provider network.
    let policies = sim.all("rbac-policies");
    assert_eq!(policies.len(), 1);
    assert_eq!(policies[0]["target_tenant"], "p-admin");
    let rules = sim.all("security-group-rules");
    assert_eq!(rules.iter().filter(|rule| rule["direction"] == "ingress").count(), 20);
    let numbers =
        ["networks", "subnets", "routers", "security-groups"].map(|kind| sim.all(kind).len());
    assert_eq!(numbers, [2, 2, 1, 4]);
    assert_eq!(sim.with(|state| state.quota["port"].clone()), -1);
    assert_eq!(sim.with(|state| state.quota["network"].clone()), 100);
    let nova = sim.with(|state| json!(state.nova));
    let free = json!({"cores": -1, "instances": -1, "ram": -1, "server_groups": -1,
        "server_group_members": -1, "key_pairs": 100});
    assert_eq!(nova, free);
}

#[test]
fn a_second_pass_changes_nothing() {
    for design in [seed(), zones()] {
        let sim = Sim::new();
        settle(&sim, &keep(&design));
        sim.writes();
        settle(&sim, &keep(&design));
        assert_eq!(sim.writes(), Vec::<String>::new());
    }
}

/// Quotas of Nova come back, and a cloud without Nova is no trouble.
#[test]
fn quotas_of_nova() {
    let sim = Sim::new();
    settle(&sim, &keep(&seed()));
    sim.with(|state| state.nova.as_mut().unwrap().insert("instances".to_owned(), json!(3)));
    sim.writes();
    let found = settle(&sim, &keep(&seed()));
    assert_eq!(sim.writes(), ["PUT /os-quota-sets/p-service"]);
    assert_eq!(sim.with(|state| json!(state.nova)["instances"].clone()), -1);
    assert_eq!(found.note, None);
    let sim = Sim::new();
    sim.with(|state| state.nova = None);
    let found = settle(&sim, &keep(&seed()));
    assert!(found.note.unwrap().contains("no Nova"));
    assert_eq!(sim.named("networks", "lb-mgmt-net")["project_id"], "p-service");
}

#[test]
fn zones_have_networks_of_their_own() {
    let sim = Sim::new();
    let found = settle(&sim, &keep(&zones()));
    assert_eq!(
        sim.named("networks", "lb-mgmt-edge-a-net")["availability_zone_hints"],
        json!(["edge-a"])
    );
    assert_eq!(sim.named("networks", "lb-mgmt-net")["availability_zone_hints"], json!(["zone-1"]));
    assert_eq!(
        sim.named("networks", "octavia-provider-net")["availability_zone_hints"],
        json!(["zone-1"])
    );
    let router = sim.named("routers", "octavia-link-router");
    assert_eq!(router["availability_zone_hints"], json!(["zone-1"]));
    for port in ["lb-mgmt-router-port", "lb-mgmt-edge-a-router-port", "lb-mgmt-edge-b-router-port"]
    {
        assert_eq!(sim.named("ports", port)["device_id"], router["id"]);
    }
    let subnet = sim.named("subnets", "lb-mgmt-edge-b-subnet");
    assert_eq!(subnet["description"], "LBaaS Management Subnet for edge-b");
    assert_eq!(subnet["host_routes"][0]["destination"], "172.23.0.0/24");
    assert_eq!(found.prefixes, ["172.24.0.0/16", "172.25.0.0/24", "172.26.0.0/24"]);
}

#[test]
fn a_zone_that_is_not_wanted_any_more_goes_with_its_network() {
    let sim = Sim::new();
    settle(&sim, &keep(&zones()));
    let spec = json!({"lbMgmtNetwork": {"availabilityZones": ["zone-1"],
        "availabilityZoneCIDRs": {"edge-b": "172.26.0.0/24"}}});
    let fewer = designed(&spec, &json!({}));
    settle(&sim, &keep(&fewer));
    assert_eq!(sim.shape(), ideal(&fewer));
    // With load balancers on it Neutron says no, and so do we.
    let network = sim.named("networks", "lb-mgmt-edge-b-net")["id"].clone();
    let amphora =
        sim.create("port", json!({"network_id": network, "name": "amphora", "fixed_ips": []}));
    let spec = json!({"lbMgmtNetwork": {"availabilityZones": ["zone-1"]}});
    let none = designed(&spec, &json!({}));
    let before = sim.shape();
    let (why, is_passing) = trouble(&sim, &keep(&none));
    assert!(
        why.contains("network lb-mgmt-edge-b-net cannot go: it is still in use by amphora"),
        "{why}"
    );
    assert!(!is_passing);
    assert_eq!(sim.shape(), before, "half of a removal");
    sim.admin(&Method::DELETE, &format!("/ports/{amphora}"), Value::Null).unwrap();
    settle(&sim, &keep(&none));
    assert_eq!(sim.shape(), ideal(&none));
}

#[test]
fn ipv6() {
    let v6 = json!({"range": "fd00:cccc::/64", "range_start": "fd00:cccc::30", "range_end": "fd00:cccc::70",
        "routes": [{"dst": "fd6c:6261:6173:1::/64", "gw": "fd00:cccc::1:1"}]});
    let design = designed(&json!({}), &v6);
    let sim = Sim::new();
    settle(&sim, &keep(&design));
    let subnet = sim.named("subnets", "lb-mgmt-subnet");
    assert_eq!(
        (&subnet["ipv6_address_mode"], &subnet["ipv6_ra_mode"]),
        (&json!("slaac"), &json!("slaac"))
    );
    assert_eq!(subnet["ip_version"], 6);
    let provider = sim.named("subnets", "octavia-provider-subnet");
    assert_eq!(provider["ipv6_address_mode"], Value::Null);
    assert_eq!(subnet["host_routes"][0]["destination"], "fd00:cccc::/64");
}

/// Every change of the attachment that Neutron can follow.
#[test]
fn changes_are_followed() {
    let moved = json!({"routes": [{"dst": "172.24.0.0/16", "gw": "172.23.0.160"}]});
    let later = json!({"range_end": "172.23.0.80"});
    for change in [moved, later] {
        let sim = Sim::new();
        settle(&sim, &keep(&seed()));
        let design = designed(&json!({}), &change);
        settle(&sim, &keep(&design));
        assert_eq!(sim.shape(), ideal(&design), "{change}");
    }
}

/// What Neutron cannot change is told with a remedy, and done when people ask for it.
#[test]
fn a_prefix_that_changed_is_told_and_made_anew_when_asked_for() {
    let other_range = json!({"range": "172.29.0.0/24", "range_start": "172.29.0.30", "range_end": "172.29.0.70",
        "routes": [{"dst": "172.24.0.0/16", "gw": "172.29.0.150"}]});
    let other_target = json!({"routes": [{"dst": "172.28.0.0/16", "gw": "172.23.0.150"}]});
    for (change, subnet) in
        [(other_range, "octavia-provider-subnet"), (other_target, "lb-mgmt-subnet")]
    {
        let sim = Sim::new();
        settle(&sim, &keep(&seed()));
        let before = sim.shape();
        let design = designed(&json!({}), &change);
        let (why, is_passing) = trouble(&sim, &keep(&design));
        assert!(
            why.contains(&format!("subnet {subnet} has cidr"))
                && why.contains("Neutron cannot change that"),
            "{why}"
        );
        assert!(why.contains("landbridge.dev/recreate") && !is_passing, "{why}");
        assert_eq!(sim.shape(), before, "half of a change");
        settle(
            &sim,
            &Task::Keep(design.clone().into(), Options { may_recreate: true, is_careful: true }),
        );
        assert_eq!(sim.shape(), ideal(&design), "{change}");
    }
    // Both at once, with load balancers still there: they are in the way until they are gone.
    let sim = Sim::new();
    settle(&sim, &keep(&seed()));
    let network = sim.named("networks", "lb-mgmt-net")["id"].clone();
    let amphora =
        sim.create("port", json!({"network_id": network, "name": "amphora", "fixed_ips": []}));
    let both = json!({"range": "172.29.0.0/24", "range_start": "172.29.0.30", "range_end": "172.29.0.70",
        "routes": [{"dst": "172.28.0.0/16", "gw": "172.29.0.150"}]});
    let design = designed(&json!({}), &both);
    let task = Task::Keep(design.clone().into(), Options { may_recreate: true, is_careful: true });
    let (why, _) = trouble(&sim, &task);
    assert!(why.contains("network lb-mgmt-net cannot go: it is still in use by amphora"), "{why}");
    let router = sim.named("routers", "octavia-link-router")["id"].clone();
    assert_eq!(
        sim.named("ports", "lb-mgmt-router-port")["device_id"],
        router,
        "load balancers keep their way"
    );
    sim.admin(&Method::DELETE, &format!("/ports/{amphora}"), Value::Null).unwrap();
    settle(&sim, &task);
    assert_eq!(sim.shape(), ideal(&design));
}

/// What was there before under these names is used, as octavia-operator left it.
fn upstream(sim: &Sim) {
    let physical = json!({"name": "octavia-provider-net", "project_id": "p-admin", "router:external": true,
        "provider:network_type": "flat", "provider:physical_network": "octavia",
        "description": "LBaaS Management Provider Network"});
    let provider = sim.create("network", physical);
    let tenant = sim.create("network", json!({"name": "lb-mgmt-net", "project_id": "p-service"}));
    let pool = |start: &str, end: &str| json!([{"start": start, "end": end}]);
    let subnet = sim.create("subnet", json!({"name": "octavia-provider-subnet", "network_id": provider, "project_id": "p-admin",
        "cidr": "172.23.0.0/24", "ip_version": 4, "allocation_pools": pool("172.23.0.71", "172.23.0.96")}));
    let inner = sim.create("subnet", json!({"name": "lb-mgmt-subnet", "network_id": tenant, "project_id": "p-service",
        "cidr": "172.24.0.0/16", "ip_version": 4, "allocation_pools": pool("172.24.0.5", "172.24.255.254")}));
    let group =
        sim.create("security_group", json!({"name": "lb-mgmt-sec-grp", "project_id": "p-service"}));
    sim.create(
        "security_group_rule",
        json!({"security_group_id": group, "direction": "ingress", "ethertype": "IPv4",
        "protocol": "icmp"}),
    );
    let router = sim.create("router", json!({"name": "octavia-link-router", "external_gateway_info": {"network_id": provider,
        "enable_snat": true, "external_fixed_ips": [{"ip_address": "172.23.0.151", "subnet_id": subnet}]}}));
    let port = sim.create(
        "port",
        json!({"name": "lb-mgmt-router-port", "network_id": tenant,
        "fixed_ips": [{"subnet_id": inner}]}),
    );
    sim.admin(
        &Method::PUT,
        &format!("/routers/{router}/add_router_interface"),
        json!({"port_id": port}),
    )
    .unwrap();
}

#[test]
fn what_is_there_is_adopted_and_stays_when_the_octavia_goes() {
    let sim = Sim::new();
    upstream(&sim);
    let ids = |sim: &Sim| {
        let of = |kind: &str| sim.all(kind).iter().map(|o| o["id"].to_string()).collect::<Vec<_>>();
        [of("networks"), of("subnets"), of("routers")]
    };
    let before = ids(&sim);
    settle(&sim, &keep(&seed()));
    assert_eq!(ids(&sim), before, "nothing is made twice");
    let router = sim.named("routers", "octavia-link-router");
    assert_eq!(router["external_gateway_info"]["enable_snat"], false);
    assert_eq!(
        router["external_gateway_info"]["external_fixed_ips"][0]["ip_address"],
        "172.23.0.150"
    );
    let group = sim.named("security-groups", "lb-mgmt-sec-grp")["id"].clone();
    let icmp = |rule: &Value| rule["protocol"] == "icmp" && rule["security_group_id"] == group;
    assert!(sim.all("security-group-rules").iter().any(icmp), "what somebody else lets in stays");
    // The groups that were missing were made here, and go; the rest stays, without our marks.
    settle(&sim, &Task::Remove);
    assert_eq!(ids(&sim), before);
    assert_eq!(sim.all("security-groups").len(), 1);
    for kind in ["networks", "subnets", "security-groups", "routers", "ports"] {
        for object in sim.all(kind) {
            assert_eq!(object["tags"], json!([]), "{object}");
        }
    }
}

#[test]
fn what_nobody_can_decide_is_told() {
    // Two with the same name.
    let sim = Sim::new();
    for _ in 0..2 {
        sim.create("network", json!({"name": "lb-mgmt-net", "project_id": "p-service"}));
    }
    let (why, is_passing) = trouble(&sim, &keep(&seed()));
    assert!(why.contains("there are 2 networks with the name lb-mgmt-net"), "{why}");
    assert!(why.contains("delete or rename all but one") && !is_passing);
    // One of that name in another project is nobody's business.
    let sim = Sim::new();
    sim.create("network", json!({"name": "lb-mgmt-net", "project_id": "p-other"}));
    settle(&sim, &keep(&seed()));
    assert_eq!(sim.all("networks").len(), 3);
    // Of another Octavia.
    let sim = Sim::new();
    settle(&sim, &keep(&seed()));
    let before = sim.shape();
    let other = Owner::new("elsewhere", "octavia");
    let ended = {
        use futures::FutureExt as _;
        let task = keep(&seed());
        landbridge_controllers::octavia::pass::pass(&sim.client(), &other, &task)
            .now_or_never()
            .unwrap()
    };
    let text = format!("{ended:?}");
    assert!(text.contains("belongs to Octavia openstack/octavia; two cannot share it"), "{text}");
    assert_eq!(sim.shape(), before, "nothing of the other one was touched");
    assert_ne!(owner(), other);
}

#[test]
fn a_project_that_is_missing_is_told() {
    let sim = Sim::new();
    sim.with(|state| state.projects.remove("service"));
    let (why, _) = trouble(&sim, &keep(&seed()));
    assert_eq!(why, "Keystone has no project service in domain Default");
    assert_eq!(sim.writes(), Vec::<String>::new());
    sim.with(|state| state.projects.insert("service".to_owned(), "p-service".to_owned()));
    settle(&sim, &keep(&seed()));
}

#[test]
fn a_physical_network_that_somebody_has_is_told() {
    let sim = Sim::new();
    sim.create("network", json!({"name": "mine", "provider:network_type": "flat", "provider:physical_network": "octavia"}));
    let (why, _) = trouble(&sim, &keep(&seed()));
    assert!(
        why.contains("cannot create network octavia-provider-net")
            && why.contains("FlatNetworkInUse"),
        "{why}"
    );
}

#[test]
fn without_management_networks_are_found_and_never_written() {
    let spec =
        json!({"lbMgmtNetwork": {"manageLbMgmtNetworks": false, "availabilityZones": ["edge-a"]}});
    let design = designed(&spec, &json!({"routes": []}));
    let sim = Sim::new();
    let (why, _) = trouble(&sim, &keep(&design));
    for missing in [
        "network lb-mgmt-net",
        "security group lb-mgmt-sec-grp",
        "subnet lb-mgmt-subnet",
        "subnet lb-mgmt-edge-a-subnet",
        "router octavia-link-router",
    ] {
        assert!(why.contains(missing), "{why}");
    }
    settle(&sim, &keep(&zones()));
    sim.writes();
    let found = settle(&sim, &keep(&design));
    assert_eq!(found.gateway.as_deref(), Some("172.23.0.150"));
    assert_eq!(found.prefixes, ["172.24.0.0/16", "172.25.0.0/24"]);
    assert!(found.network.is_some() && found.group.is_some());
    assert_eq!(sim.writes(), Vec::<String>::new());
    let _ = once(&sim, &keep(&design));
}
