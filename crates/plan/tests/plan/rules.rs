//! One case per rule or exception that random plans do not reach.

use landbridge_plan::{Options, Source, check};
use serde_json::{Value, json};

use crate::support::{lines, report};

fn object(api: &str, kind: &str, namespace: &str, name: &str, spec: Value) -> Value {
    let mut object = json!({"apiVersion": api, "kind": kind,
                            "metadata": {"name": name, "namespace": namespace}});
    object["spec"] = spec;
    object
}

/// Name, VLAN, prefix, first, last, excluded.
type Net<'a> = (&'a str, u16, &'a str, &'a str, &'a str, &'a [&'a str]);

fn netconfig(networks: &[Net<'_>]) -> Value {
    let networks: Vec<Value> = networks
        .iter()
        .map(|(name, vlan, cidr, start, end, exclude)| {
            let mut subnet = json!({"name": "subnet1", "cidr": cidr, "excludeAddresses": exclude,
                                    "allocationRanges": [{"start": start, "end": end}]});
            if *vlan > 0 {
                subnet["vlan"] = (*vlan).into();
            }
            json!({"name": name, "dnsDomain": format!("{name}.example.com"), "subnets": [subnet]})
        })
        .collect();
    let spec = json!({"networks": networks});
    object("network.openstack.org/v1beta1", "NetConfig", "openstack", "netconfig", spec)
}

fn attachment(name: &str, config: &Value) -> Value {
    let spec = json!({"config": config.to_string()});
    object("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", "openstack", name, spec)
}

fn macvlan(name: &str, master: &str, range: &str, start: &str, end: &str) -> Value {
    let ipam =
        json!({"type": "whereabouts", "range": range, "range_start": start, "range_end": end});
    attachment(name, &json!({"type": "macvlan", "master": master, "ipam": ipam}))
}

fn pool(name: &str, addresses: &[&str]) -> Value {
    let spec = json!({"addresses": addresses});
    object("metallb.io/v1beta1", "IPAddressPool", "metallb-system", name, spec)
}

fn policy(name: &str, host: &str, interfaces: &Value) -> Value {
    let mut spec = json!({"nodeSelector": {"kubernetes.io/hostname": host}});
    spec["desiredState"] = json!({"interfaces": interfaces});
    json!({"apiVersion": "nmstate.io/v1", "kind": "NodeNetworkConfigurationPolicy",
           "metadata": {"name": name}, "spec": spec})
}

fn service(namespace: &str, name: &str, annotations: Value, ports: &[(&str, u16)]) -> Value {
    let ports: Vec<Value> =
        ports.iter().map(|(protocol, port)| json!({"protocol": protocol, "port": port})).collect();
    let spec = json!({"type": "LoadBalancer", "ports": ports});
    let mut service = object("v1", "Service", namespace, name, spec);
    service["metadata"]["annotations"] = annotations;
    service
}

const STORAGE: Net<'_> = ("storage", 21, "172.18.0.0/24", "172.18.0.100", "172.18.0.250", &[]);

#[test]
fn what_is_excluded_is_not_handed_out() {
    let nad = macvlan("storage", "e.21", "172.18.0.0/24", "172.18.0.99", "172.18.0.101");
    let with = |exclude| netconfig(&[(STORAGE.0, 21, STORAGE.2, STORAGE.3, STORAGE.4, exclude)]);
    let clash = ["LB101 NetConfig/netconfig NetworkAttachmentDefinition/storage"];
    assert_eq!(lines(&[with(&[]), nad.clone()]), clash);
    assert_eq!(lines(&[with(&["172.18.0.100"]), nad.clone()]), clash);
    assert!(lines(&[with(&["172.18.0.100", "172.18.0.101"]), nad]).is_empty());
    let mut config = json!({"type": "macvlan", "master": "e.21", "ipam": {
        "type": "whereabouts", "range": "172.18.0.0/24", "exclude": ["172.18.0.96/27", "172.18.0.128/25"]}});
    assert!(lines(&[with(&[]), attachment("storage", &config)]).is_empty());
    config["ipam"]["exclude"] = json!(["172.18.0.96/27"]);
    assert_eq!(lines(&[with(&[]), attachment("storage", &config)]), clash);
}

#[test]
fn a_netconfig_on_wires_of_its_own_collides_with_nobody() {
    let nics = json!([{"name": "e.21", "type": "vlan", "vlan": {"base-iface": "e", "id": 21}}]);
    let nad = macvlan("storage", "e.21", "172.18.0.0/24", "172.18.0.99", "172.18.0.101");
    let mut other = netconfig(&[STORAGE]);
    other["metadata"]["namespace"] = "other".into();
    let all = |other: &Value| lines(&[policy("p", "w", &nics), nad.clone(), other.clone()]);
    assert_eq!(all(&other), ["LB101 NetConfig/netconfig NetworkAttachmentDefinition/storage"]);
    other["metadata"]["annotations"] = json!({"landbridge.dev/wires": "lab2"});
    assert_eq!(all(&other), Vec::<String>::new());
}

#[test]
fn attachments_may_share_one_range() {
    let one = macvlan("storage", "e.21", "172.18.0.0/24", "172.18.0.30", "172.18.0.70");
    let mut other = one.clone();
    other["metadata"]["namespace"] = "other".into();
    let report = report(&[one, other]);
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    let range = &report.plan.segments[0].ranges[0];
    assert_eq!(range.shared_with, ["NetworkAttachmentDefinition other/storage"]);
}

#[test]
fn one_vlan_on_two_nics_is_two_segments() {
    let nics = json!([
        {"name": "a.21", "type": "vlan", "vlan": {"base-iface": "a", "id": 21}},
        {"name": "b.21", "type": "vlan", "vlan": {"base-iface": "b", "id": 21}},
    ]);
    let objects = [
        netconfig(&[STORAGE]),
        policy("p", "w", &nics),
        macvlan("storage", "b.21", "172.18.0.0/24", "172.18.0.30", "172.18.0.110"),
        macvlan("other", "a.21", "172.99.0.0/24", "172.99.0.30", "172.99.0.110"),
    ];
    assert_eq!(lines(&objects), ["LB101 NetConfig/netconfig NetworkAttachmentDefinition/storage"]);
}

#[test]
fn an_equal_prefix_joins_what_nothing_else_leads_to() {
    let plain = ("site", 0, "172.18.0.0/24", "172.18.0.100", "172.18.0.250", &[][..]);
    let nad = macvlan("pods", "eth1", "172.18.0.0/24", "172.18.0.30", "172.18.0.110");
    assert_eq!(
        lines(&[netconfig(&[plain]), nad]),
        ["LB101 NetConfig/netconfig NetworkAttachmentDefinition/pods"]
    );
}

#[test]
fn provider_networks_are_where_their_nic_is_and_tenants_are_alone() {
    let nad = attachment(
        "octavia",
        &json!({"type": "bridge", "bridge": "octbr", "ipam": {
        "type": "whereabouts", "range": "172.23.0.0/24", "range_start": "172.23.0.30", "range_end": "172.23.0.75"}}),
    );
    let ovn = object(
        "ovn.openstack.org/v1beta1",
        "OVNController",
        "openstack",
        "ovn",
        json!({"nicMappings": {"octavia": "octbr"}}),
    );
    let tenant = |id: &str| {
        json!({"id": id, "name": id, "network_id": format!("net-{id}"), "cidr": "172.23.0.0/24",
        "allocation_pools": [{"start": "172.23.0.2", "end": "172.23.0.254"}]})
    };
    let neutron = json!({
        "networks": [{"id": "n", "name": "octavia-provider-net", "provider:network_type": "flat",
                      "provider:physical_network": "octavia", "subnets": ["s"]}],
        "subnets": [tenant("a"), tenant("b"),
            {"id": "s", "name": "octavia-provider-subnet", "network_id": "n", "cidr": "172.23.0.0/24",
             "allocation_pools": [{"start": "172.23.0.71", "end": "172.23.0.96"}]}],
    });
    assert_eq!(lines(&[nad, ovn, neutron]), ["LB101 NetworkAttachmentDefinition/octavia /"]);
}

#[test]
fn what_is_missing_is_said_only_when_others_are_there() {
    let neutron = object(
        "neutron.openstack.org/v1beta1",
        "NeutronAPI",
        "openstack",
        "neutron",
        json!({"networkAttachments": ["storage"], "override": {"service": {"internal": {
            "metadata": {"annotations": {"metallb.io/address-pool": "p"}}, "spec": {"type": "LoadBalancer"}}}}}),
    );
    let ipset = object(
        "network.openstack.org/v1beta1",
        "IPSet",
        "openstack",
        "node",
        json!({"networks": [{"name": "storage", "subnetName": "subnet1"}]}),
    );
    let objects = [neutron, ipset];
    assert!(lines(&objects).is_empty());
    let sources: Vec<_> = objects.iter().enumerate().map(|(id, o)| Source::new(id, o)).collect();
    let options = Options { complete: true, ..Options::default() };
    let found = check(&sources, &options).findings;
    let codes: Vec<_> = found.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, ["LB301", "LB401", "LB001"]);
}

#[test]
fn huge_ranges_are_compared_without_being_counted_out() {
    let wide = ("wide", 21, "fd00::/64", "fd00::100", "fd00::ffff:ffff:ffff:ffff", &[][..]);
    let nad = macvlan("wide", "e.21", "fd00::/64", "fd00::1:0", "fd00::ffff:ffff:ffff:0");
    let report = report(&[netconfig(&[wide]), nad]);
    let [finding] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert!(
        finding
            .message
            .ends_with("share fd00::1:0-fd00::ffff:ffff:ffff:0 (18446744073709420545 addresses)"),
        "{}",
        finding.message
    );
}

#[test]
fn the_service_made_from_an_object_is_not_another_one() {
    let annotations = json!({"metallb.universe.tf/loadBalancerIPs": "172.17.0.85"});
    let plane = object(
        "core.openstack.org/v1beta1",
        "OpenStackControlPlane",
        "openstack",
        "plane",
        json!({"rabbitmq": {"templates": {"rabbitmq": {"override": {"service": {
            "metadata": {"annotations": annotations}, "spec": {"type": "LoadBalancer"}}}}}}}),
    );
    let mut made = service("openstack", "made-up", annotations, &[("TCP", 5672)]);
    assert_eq!(
        lines(&[plane.clone(), made.clone()]),
        ["LB305 Service/made-up OpenStackControlPlane/plane"]
    );
    made["metadata"]["ownerReferences"] =
        json!([{"kind": "OpenStackControlPlane", "name": "plane"}]);
    assert!(lines(&[plane.clone(), made.clone()]).is_empty());
    made["metadata"]["ownerReferences"] = json!([]);
    made["metadata"]["name"] = "rabbitmq".into();
    assert!(lines(&[plane, made]).is_empty(), "the same service, seen twice");
}

#[test]
fn services_share_an_address_by_key_and_port() {
    let ask = |key: Option<&str>| {
        let mut annotations = json!({"metallb.io/loadBalancerIPs": "10.0.0.9"});
        if let Some(key) = key {
            annotations["metallb.io/allow-shared-ip"] = key.into();
        }
        annotations
    };
    let pair = |a: Option<&str>, b: Option<&str>, port: (&str, u16)| {
        lines(&[service("x", "a", ask(a), &[("TCP", 53)]), service("y", "b", ask(b), &[port])])
    };
    assert!(pair(Some("k"), Some("k"), ("UDP", 53)).is_empty());
    assert_eq!(pair(Some("k"), Some("k"), ("TCP", 53)), ["LB305 Service/b Service/a"]);
    assert_eq!(pair(Some("k"), Some("l"), ("UDP", 53)), ["LB306 Service/b Service/a"]);
    assert_eq!(pair(Some("k"), None, ("UDP", 53)), ["LB306 Service/b Service/a"]);
    assert_eq!(pair(None, None, ("UDP", 53)), ["LB306 Service/b Service/a"]);
}

#[test]
fn addresses_of_one_service_are_one_of_each_family_from_one_pool() {
    let pools =
        [pool("p", &["10.0.0.0/24", "fd00::/64"]), pool("q", &["10.0.1.0/24", "fd00:0:0:1::/64"])];
    let asking = |addresses: &str| {
        let web =
            service("x", "web", json!({"metallb.io/loadBalancerIPs": addresses}), &[("TCP", 80)]);
        let mut objects = pools.to_vec();
        objects.push(web);
        lines(&objects)
    };
    for fits in ["10.0.0.9", "fd00::9", "10.0.0.9,fd00::9", "fd00::9,10.0.0.9"] {
        assert!(asking(fits).is_empty(), "{fits}: {:?}", asking(fits));
    }
    for odd in [
        "10.0.0.8,10.0.0.9",
        "fd00::8,fd00::9",
        "10.0.0.9,fd00::9,fd00::8",
        "10.0.0.9,fd00:0:0:1::9",
    ] {
        assert_eq!(asking(odd), ["LB311 Service/web"], "{odd}");
    }
    // What cannot be read, or is in no pool, is told as that and not twice.
    assert_eq!(asking("10.0.0.9,nonsense").len(), 1);
    assert_eq!(asking("10.0.0.9,fd00:9::9"), ["LB303 Service/web"]);
}

#[test]
fn pools_for_some_are_not_for_others() {
    let pool_for = |allocation: Value| {
        let mut pool = pool("p", &["10.0.0.0/24"]);
        pool["spec"]["serviceAllocation"] = allocation;
        pool
    };
    let by_name = json!({"metallb.io/address-pool": "p"});
    let by_address = json!({"metallb.io/loadBalancerIPs": "10.0.0.9"});
    let left_out = ["LB312 Service/web IPAddressPool/p"];
    for wish in [&by_name, &by_address] {
        let web = service("x", "web", wish.clone(), &[("TCP", 80)]);
        let told = |allocation: Value| lines(&[pool_for(allocation), web.clone()]);
        assert!(told(json!({"namespaces": ["x", "y"]})).is_empty());
        assert_eq!(told(json!({"namespaces": ["y"]})), left_out);
        let app = json!([{"matchLabels": {"app": "web"}}]);
        assert_eq!(told(json!({"serviceSelectors": app})), left_out);
        let mut labelled = web.clone();
        labelled["metadata"]["labels"] = json!({"app": "web"});
        assert!(lines(&[pool_for(json!({"serviceSelectors": app})), labelled]).is_empty());
        // Which labels a namespace has is known when it is among the sources.
        let mixed = pool_for(json!({
            "namespaces": ["y"],
            "namespaceSelectors": [{"matchLabels": {"team": "web"}}],
        }));
        assert!(lines(&[mixed.clone(), web.clone()]).is_empty());
        let space = |labels: Value| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x", "labels": labels}});
        let with = |labels: Value| lines(&[mixed.clone(), web.clone(), space(labels)]);
        assert!(with(json!({"team": "web"})).is_empty());
        assert_eq!(with(json!({"team": "db"})), left_out);
    }
    let neither = service("x", "web", json!({}), &[("TCP", 80)]);
    assert!(lines(&[pool_for(json!({"namespaces": ["y"]})), neither]).is_empty());
}

#[test]
fn services_on_one_address_send_their_traffic_to_the_same_pods() {
    let asking = |name: &str, port: u16, policy: &str, app: &str| {
        let wish =
            json!({"metallb.io/loadBalancerIPs": "10.0.0.9", "metallb.io/allow-shared-ip": "k"});
        let mut service = service("x", name, wish, &[("TCP", port)]);
        service["spec"]["externalTrafficPolicy"] = policy.into();
        service["spec"]["selector"] = json!({"app": app});
        service
    };
    let pair = |a: (&str, &str), b: (&str, &str)| {
        lines(&[asking("a", 80, a.0, a.1), asking("b", 81, b.0, b.1)])
    };
    let told = ["LB313 Service/b Service/a"];
    assert!(pair(("Cluster", "one"), ("Cluster", "two")).is_empty());
    assert!(pair(("Local", "one"), ("Local", "one")).is_empty());
    assert_eq!(pair(("Local", "one"), ("Local", "two")), told);
    assert_eq!(pair(("Local", "one"), ("Cluster", "one")), told);
    assert_eq!(pair(("Cluster", "one"), ("Local", "one")), told);
}

#[test]
fn virtual_addresses_keep_out_of_ranges_of_others() {
    let nad = macvlan("storage", "e.21", "172.18.0.0/24", "172.18.0.30", "172.18.0.70");
    let at = |address: &str| {
        service("x", "web", json!({"metallb.io/loadBalancerIPs": address}), &[("TCP", 80)])
    };
    assert_eq!(
        lines(&[nad.clone(), at("172.18.0.35")]),
        ["LB304 Service/web NetworkAttachmentDefinition/storage"]
    );
    assert!(lines(&[nad.clone(), at("172.18.0.80")]).is_empty());
    // In a pool, the pool is what is wrong.
    let pool = pool("p", &["172.18.0.60-172.18.0.80"]);
    assert_eq!(
        lines(&[nad, pool, at("172.18.0.65")]),
        ["LB101 NetworkAttachmentDefinition/storage IPAddressPool/p"]
    );
}

#[test]
fn buggy_addresses_are_not_in_a_pool_that_avoids_them() {
    let mut pool = pool("p", &["10.0.0.0/24"]);
    let web = service(
        "x",
        "web",
        json!({"metallb.io/address-pool": "p", "metallb.io/loadBalancerIPs": "10.0.0.255"}),
        &[],
    );
    assert!(lines(&[pool.clone(), web.clone()]).is_empty());
    pool["spec"]["avoidBuggyIPs"] = true.into();
    assert_eq!(lines(&[pool, web]), ["LB302 Service/web IPAddressPool/p"]);
}

#[test]
fn a_pod_and_a_node_with_one_address_are_told() {
    let ippool = json!({
        "apiVersion": "whereabouts.cni.cncf.io/v1alpha1", "kind": "IPPool",
        "metadata": {"name": "172.18.0.0-24", "namespace": "kube-system"},
        "spec": {"range": "172.18.0.0/24", "allocations": {"35": {"id": "x", "podref": "openstack/pod"}}},
    });
    let reservation = object(
        "network.openstack.org/v1beta1",
        "Reservation",
        "openstack",
        "node",
        json!({"ipSetRef": {}, "reservation": {"storage": {"network": "storage", "subnet": "subnet1", "address": "172.18.0.35"}}}),
    );
    let nad = macvlan("storage", "e.21", "172.18.0.0/24", "172.18.0.30", "172.18.0.70");
    assert_eq!(
        lines(&[netconfig(&[STORAGE]), nad, ippool, reservation]),
        [
            "LB104 Reservation/node NetworkAttachmentDefinition/storage",
            "LB106 Reservation/node IPPool/172.18.0.0-24",
        ]
    );
}

#[test]
fn policies_may_add_to_each_other_but_not_contradict() {
    let base = |mtu: u16| json!([{"name": "e", "type": "ethernet", "mtu": mtu}]);
    let more = json!([{"name": "e", "type": "ethernet", "state": "up"}]);
    assert!(lines(&[policy("a", "w", &base(1500)), policy("b", "w", &more)]).is_empty());
    assert!(lines(&[policy("a", "w", &base(1500)), policy("b", "v", &base(9000))]).is_empty());
    assert_eq!(
        lines(&[policy("a", "w", &base(1500)), policy("b", "w", &base(9000))]),
        ["LB502 NodeNetworkConfigurationPolicy/b NodeNetworkConfigurationPolicy/a"]
    );
    let zone = |name: &str, zone: &str, mtu: u16| {
        let mut policy = policy(name, "", &base(mtu));
        policy["spec"]["nodeSelector"] = json!({"zone": zone});
        policy
    };
    assert!(lines(&[zone("a", "north", 1500), zone("b", "south", 9000)]).is_empty());
    assert_eq!(lines(&[zone("a", "north", 1500), zone("b", "north", 9000)]).len(), 1);
    assert_eq!(lines(&[zone("a", "north", 1500), policy("b", "w", &base(9000))]).len(), 1);
    let vlan = json!([{"name": "e", "type": "ethernet", "mtu": 1500},
                      {"name": "e.5", "type": "vlan", "mtu": 9000, "vlan": {"base-iface": "e", "id": 5}}]);
    assert_eq!(lines(&[policy("a", "w", &vlan)]), ["LB203 NodeNetworkConfigurationPolicy/a"]);
}

#[test]
fn near_misses_are_told_and_strange_fields_left_alone() {
    let web = |key: &str| service("x", "web", json!({key: "k"}), &[]);
    assert_eq!(lines(&[web("metallb.universe.tf/allow-share-ip")]), ["LB601 Service/web"]);
    assert_eq!(lines(&[web("metallb.univers.tf/allow-shared-ip")]), ["LB601 Service/web"]);
    assert!(lines(&[web("example.com/allow-shared-ip")]).is_empty());
    let glance = |spec| object("glance.openstack.org/v1beta1", "Glance", "openstack", "g", spec);
    assert!(
        lines(&[glance(json!({"nodeSelector": {"networkAttachents": "x"}, "attachments": []}))])
            .is_empty()
    );
    let endpoint = json!({"externalEndpoints": [{"endpoint": "internal", "ipAdressPool": "p"}]});
    let neutron = object("neutron.openstack.org/v1beta1", "NeutronAPI", "openstack", "g", endpoint);
    assert_eq!(lines(&[neutron]), ["LB601 NeutronAPI/g"]);
    let report = report(&[netconfig(&[STORAGE]), {
        let mut twisted = netconfig(&[STORAGE]);
        twisted["metadata"]["namespace"] = "other".into();
        twisted["spec"]["networks"][0]["subnets"][0]["allocationRange"] = json!([]);
        twisted
    }]);
    let unknown = report.findings.iter().find(|finding| finding.code == "LB601").unwrap();
    assert_eq!(unknown.help, "did you mean allocationRanges?");
    assert_eq!(unknown.subjects[0].path.as_str(), "spec.networks[0].subnets[0].allocationRange");
}

#[test]
fn numbers_of_sources_come_back() {
    let pool = pool("p", &["10.0.0.1"]);
    let found = check(&[Source::new(42, &pool)], &Options::default()).findings;
    assert_eq!(found[0].subjects[0].source, 42);
    assert_eq!(found[0].code, "LB003");
}

/// What has one cause is one finding, however many places show it.
#[test]
fn many_places_of_one_cause_are_one_finding() {
    let template = json!({"networkAttachments": ["storge"]});
    let api = "core.openstack.org/v1beta1";
    let section = json!({"template": template});
    let services = json!({"keystone": section, "neutron": section, "placement": section});
    let plane = object(api, "OpenStackControlPlane", "openstack", "c", services);
    let nad = macvlan("storage", "e.21", "172.18.0.0/24", "172.18.0.30", "172.18.0.70");
    let found = report(&[plane, nad]).findings;
    assert_eq!(found.len(), 1, "{found:#?}");
    let message =
        "there is no NetworkAttachmentDefinition storge in namespace openstack, wanted in 3 places";
    assert_eq!((found[0].message.as_str(), found[0].subjects.len()), (message, 3));

    let nic = |name: &str, ip: &str, vlan: u16| {
        json!({"name": name, "type": "vlan", "vlan": {"base-iface": "e", "id": vlan},
               "ipv4": {"address": [{"ip": ip, "prefix-length": 24}]}})
    };
    let node = |n: u16, vlan: u16| {
        let ip = |third: u16| format!("10.0.{third}.{n}");
        policy(
            &format!("p{n}"),
            &format!("w{n}"),
            &json!([nic("a", &ip(1), 5), nic("b", &ip(2), vlan)]),
        )
    };
    // The first is the odd one.
    let found = report(&[node(1, 99), node(2, 6), node(3, 6), node(4, 6)]).findings;
    let messages: Vec<&str> = found.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(
        messages,
        ["interface b is VLAN 6 in policy p2 (and 2 more) and VLAN 99 in policy p1"]
    );

    let mut wide = node(1, 6);
    wide["spec"]["nodeSelector"] = json!({});
    let found = report(&[wide, node(2, 6), node(3, 6)]).findings;
    let messages: Vec<&str> = found.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "every node that policy p1 selects gets 10.0.1.1 on a and 10.0.2.1 on b",
            "policies p1 and p2 (and 1 more) set interfaces a and b differently",
        ]
    );
}

/// Documentation shows one object in several pieces.
#[test]
fn excerpts_of_one_service_add_up() {
    let api = "glance.openstack.org/v1beta1";
    let piece = |name: &str| {
        object(api, "Glance", "openstack", "glance", json!({name: {"networkAttachments": [name]}}))
    };
    let (one, other) = (piece("glanceAPIInternal"), piece("glanceAPIExternal"));
    let nad = macvlan("storage", "e.21", "172.18.0.0/24", "172.18.0.30", "172.18.0.70");
    let codes = |partial: bool| -> Vec<&str> {
        let sources = [
            Source::new(0, &one).partial(partial),
            Source::new(1, &other).partial(partial),
            Source::new(2, &nad),
        ];
        check(&sources, &Options::default()).findings.iter().map(|found| found.code).collect()
    };
    assert_eq!(codes(true), ["LB401", "LB401"]);
    assert_eq!(codes(false), ["LB401", "LB605"]);
}

#[test]
fn names_and_status_are_compared_with_the_netconfig() {
    let dns = |ip: &str| {
        let hosts = json!([{"ip": ip, "hostnames": ["a.storage.example.com"]}]);
        object(
            "network.openstack.org/v1beta1",
            "DNSData",
            "openstack",
            "d",
            json!({"hosts": hosts}),
        )
    };
    let ipset = |field: &str, value: Value| {
        let spec = json!({"networks": [{"name": "Storage", "subnetName": "subnet1"}]});
        let mut set = object("network.openstack.org/v1beta1", "IPSet", "openstack", "i", spec);
        let mut given = json!({"network": "Storage", "subnet": "subnet1", "address": "172.18.0.100",
                               "cidr": "172.18.0.0/24", "mtu": 1500, "vlan": 21});
        given[field] = value;
        set["status"] = json!({"reservations": [given]});
        set
    };
    let netconfig = netconfig(&[STORAGE]);
    let codes = |object: Value| -> Vec<String> { lines(&[netconfig.clone(), object]) };
    assert!(codes(dns("172.18.0.100")).is_empty());
    // One family may be planned elsewhere.
    assert!(codes(dns("fd00::1")).is_empty());
    assert_eq!(codes(dns("172.19.0.100")), ["LB206 DNSData/d NetConfig/netconfig"]);
    assert!(codes(ipset("mtu", 1500.into())).is_empty());
    assert!(codes(ipset("gateway", "172.18.0.1".into())).is_empty(), "the plan has none");
    for (field, value) in
        [("mtu", json!(9000)), ("vlan", json!(30)), ("cidr", json!("172.18.0.0/16"))]
    {
        assert_eq!(codes(ipset(field, value)), ["LB207 IPSet/i NetConfig/netconfig"], "{field}");
    }
}

/// Upstream's own samples fit, as far as they are complete.
#[test]
fn upstreams_samples_are_not_complained_about() {
    let shared = std::env::var_os("LANDBRIDGE_SHARED").map_or_else(
        || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        std::path::PathBuf::from,
    );
    let folder = shared.join("samples");
    if !folder.is_dir() {
        let why = "no folder of upstream's samples (LANDBRIDGE_SHARED names one)";
        if let Some(file) = std::env::var_os("LANDBRIDGE_SKIP_FILE") {
            use std::io::Write;
            let mut file =
                std::fs::OpenOptions::new().append(true).create(true).open(file).unwrap();
            writeln!(file, "plan samples: {why}").unwrap();
        }
        println!("skipped: {why}");
        return;
    }
    for name in ["infra-operator", "openstack-operator", "octavia-operator", "metallb"] {
        for entry in std::fs::read_dir(folder.join(name)).unwrap() {
            let path = entry.unwrap().path();
            let objects = crate::support::documents(&std::fs::read_to_string(&path).unwrap());
            // A pool that is not in the same file is no fault of the sample.
            assert_eq!(lines(&objects), Vec::<String>::new(), "{}", path.display());
        }
    }
}

/// What touches networks in a control plane is judged by place, name and value.
#[test]
fn control_planes_are_judged_by_their_schema() {
    let plane = |name: &str, spec: Value| {
        object("core.openstack.org/v1beta1", "OpenStackControlPlane", "openstack", name, spec)
    };
    let said = |spec: Value| -> Vec<String> {
        let found = report(&[plane("c", spec)]).findings;
        found.iter().map(|f| format!("{} {} {}", f.code, f.subjects[0].path, f.help)).collect()
    };
    let service = |spec: Value| json!({"keystone": {"template": {"override": {"service": spec}}}});
    let cases = [
        (
            json!({"keystone": {"networkAttachments": ["a"], "template": {}}}),
            "LB606 spec.keystone.networkAttachments move it below template",
        ),
        (
            json!({"keystone": {"template": {"extra": {"networkAttachments": ["a"]}}}}),
            "LB606 spec.keystone.template.extra.networkAttachments move it to the part of the service whose pods are meant",
        ),
        (json!({"keystne": {"template": {}}}), "LB601 spec.keystne did you mean keystone?"),
        (
            service(json!({"internal": {"metadata": {"annotation": {}}}})),
            "LB601 spec.keystone.template.override.service.internal.metadata.annotation did you mean annotations?",
        ),
        (
            service(json!({"admin": {"spec": {"type": "LoadBalancer"}}})),
            "LB001 spec.keystone.template.override.service[admin] ",
        ),
        (
            json!({"keystone": {"template": {"externalEndpoints": [{"endpoint": "admin", "ipAddressPool": "p"}]}}}),
            "LB001 spec.keystone.template.externalEndpoints[0].endpoint ",
        ),
    ];
    for (spec, expected) in cases {
        assert_eq!(said(spec.clone()), [expected], "{spec}");
    }
    assert_eq!(
        said(json!({"heat": {"template": {"heatAPI": {"networkAttachments": ["gone"]}}}})),
        [""; 0]
    );
    let two = report(&[plane("a", json!({})), plane("b", json!({}))]).findings;
    assert_eq!(two.len(), 2, "{two:?}");
    assert!(two[0].message.starts_with("Only one OpenStackControlPlane"), "{two:?}");
    // One address for two buses is told with both places, once.
    let bus = json!({"externalEndpoint": {"ipAddressPool": "p", "loadBalancerIPs": ["10.0.0.1"], "sharedIP": false}});
    assert_eq!(said(json!({"rabbitmq": {"templates": {"a": bus, "b": bus}}})).len(), 1);
}
