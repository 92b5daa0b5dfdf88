//! The management network of Octavia: what the seed gives, and a row for each mistake.

use landbridge_api::foreign::Node;
use landbridge_plan::octavia::{Design, Outcome, design};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::report;

/// The seed's.
fn ipam() -> Value {
    json!({"type": "whereabouts", "range": "172.23.0.0/24", "range_start": "172.23.0.30",
           "range_end": "172.23.0.70", "routes": [{"dst": "172.24.0.0/16", "gw": "172.23.0.150"}]})
}

fn nad(ipam: &Value) -> Value {
    let config = json!({"cniVersion": "0.3.1", "name": "octavia", "type": "bridge", "bridge": "octbr",
                        "ipam": ipam});
    definition(&config.to_string())
}

fn definition(config: &str) -> Value {
    json!({"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
           "metadata": {"name": "octavia", "namespace": "openstack"}, "spec": {"config": config}})
}

fn octavia(spec: &Value) -> Value {
    json!({"apiVersion": "octavia.openstack.org/v1beta1", "kind": "Octavia",
           "metadata": {"name": "octavia", "namespace": "openstack"}, "spec": spec})
}

fn outcome(spec: &Value, nad: Option<&Value>) -> Outcome {
    let object = octavia(spec);
    design(&Node::root(&object).get("spec").unwrap(), nad)
}

fn with(mut base: Value, more: Value) -> Value {
    let more = serde_json::from_value::<serde_json::Map<String, Value>>(more).unwrap();
    for (name, value) in more {
        base[name.as_str()] = value;
    }
    base
}

fn good(spec: &Value, ipam: &Value) -> Design {
    let outcome = outcome(spec, Some(&nad(ipam)));
    assert_eq!(outcome.faults, []);
    outcome.design.unwrap()
}

fn pools(design: &Design) -> [String; 3] {
    let tenant = design.tenants.first().map(|tenant| tenant.pool.to_string()).unwrap_or_default();
    [design.provider_pool.to_string(), design.predictable.to_string(), tenant]
}

#[test]
fn the_seed() {
    let outcome = outcome(&json!({}), Some(&nad(&ipam())));
    assert_eq!((outcome.faults, outcome.doubts), (vec![], vec![]));
    let design = outcome.design.unwrap();
    assert_eq!(design.provider.to_string(), "172.23.0.0/24");
    assert_eq!(design.gateway.unwrap().to_string(), "172.23.0.150");
    assert_eq!(design.default_tenant().unwrap().cidr.to_string(), "172.24.0.0/16");
    assert_eq!(
        pools(&design),
        ["172.23.0.71-172.23.0.96", "172.23.0.97-172.23.0.122", "172.24.0.5-172.24.255.254"]
    );
    assert_eq!((design.project.as_str(), design.domain.as_str()), ("service", "Default"));
    assert!(design.is_managed);
}

/// Pools as octavia-operator makes them, wherever its own are sane.
#[test]
fn pools_are_upstreams() {
    let rows = [
        (
            "172.23.0.0/24",
            "172.23.0.70",
            "172.44.8.0/21",
            "172.23.0.20",
            "172.23.0.71-172.23.0.96",
            "172.23.0.97-172.23.0.122",
            "172.44.8.5-172.44.15.254",
        ),
        (
            "172.23.0.0/24",
            "172.23.0.202",
            "172.24.0.0/24",
            "172.23.0.20",
            "172.23.0.203-172.23.0.228",
            "172.23.0.229-172.23.0.254",
            "172.24.0.5-172.24.0.254",
        ),
        (
            "172.23.0.0/26",
            "172.23.0.10",
            "172.24.0.0/29",
            "172.23.0.4",
            "172.23.0.11-172.23.0.36",
            "172.23.0.37-172.23.0.62",
            "172.24.0.5-172.24.0.6",
        ),
        (
            "fd00:cccc::/64",
            "fd00:cccc::70",
            "fd6c:6261:6173:1::/64",
            "fd00:cccc::1:1",
            "fd00:cccc::71-fd00:cccc::8a",
            "fd00:cccc::8b-fd00:cccc::a4",
            "fd6c:6261:6173:1::5-fd6c:6261:6173:1:ffff:ffff:ffff:fffe",
        ),
    ];
    for (range, end, to, gateway, provider, predictable, tenant) in rows {
        let start = end; // one address for pods is enough here
        let ipam = json!({"type": "whereabouts", "range": range, "range_start": start, "range_end": end,
                          "routes": [{"dst": to, "gw": gateway}]});
        assert_eq!(
            pools(&good(&json!({}), &ipam)),
            [provider, predictable, tenant],
            "{range} {end}"
        );
    }
}

#[test]
fn other_forms_of_the_configuration_are_read_too() {
    let dashed = with(
        ipam(),
        json!({"range": "172.23.0.30-172.23.0.70/24", "range_start": null, "range_end": null}),
    );
    // With the address of a host in front of the length, the prefix is still that of the network.
    let outcome = outcome(&json!({}), Some(&nad(&dashed)));
    assert_eq!(outcome.faults.len(), 0, "{:?}", outcome.faults);
    assert_eq!(outcome.design.unwrap().provider_pool.to_string(), "172.23.0.71-172.23.0.96");
    let listed = json!({"type": "whereabouts", "routes": [{"dst": "172.24.0.0/16", "gw": "172.23.0.150"}],
        "ipRanges": [{"range": "172.23.0.0/24", "range_start": "172.23.0.30", "range_end": "172.23.0.70"}]});
    assert_eq!(good(&json!({}), &listed), good(&json!({}), &ipam()));
    let chained = json!({"cniVersion": "0.3.1", "name": "octavia",
        "plugins": [{"type": "bridge", "bridge": "octbr", "ipam": ipam()}, {"type": "tuning"}]});
    let outcome = self::outcome(&json!({}), Some(&definition(&chained.to_string())));
    assert_eq!(outcome.design, Some(good(&json!({}), &ipam())));
}

#[test]
fn zones() {
    let spec = json!({"lbMgmtNetwork": {"availabilityZones": ["zone-1"],
        "availabilityZoneCIDRs": {"edge-b": "172.26.0.0/24", "edge-a": "172.25.0.0/24"}}});
    let design = good(&spec, &ipam());
    let names: Vec<_> = design.tenants.iter().map(|tenant| tenant.zone.as_deref()).collect();
    assert_eq!(names, [None, Some("edge-a"), Some("edge-b")]);
    assert_eq!(design.zones, ["zone-1"]);
    // The mix for edge sites: no default network, no route, the router named by the Octavia.
    let spec = json!({"tenantName": "lb", "lbMgmtNetwork": {"createDefaultLbMgmtNetwork": false,
        "lbMgmtRouterGateway": "172.23.0.5", "availabilityZoneCIDRs": {"edge-a": "172.25.0.0/24"}}});
    let design = good(&spec, &with(ipam(), json!({"routes": []})));
    assert_eq!(design.tenants.len(), 1);
    assert_eq!(design.gateway.unwrap().to_string(), "172.23.0.5");
    assert_eq!(design.project, "lb");
}

#[test]
fn without_management_only_the_attachment_has_to_fit() {
    let spec = json!({"lbMgmtNetwork": {"manageLbMgmtNetworks": false}});
    let design = good(&spec, &with(ipam(), json!({"routes": null})));
    assert_eq!((design.is_managed, design.gateway, design.tenants.len()), (false, None, 0));
    assert_eq!(design.predictable.to_string(), "172.23.0.97-172.23.0.122");
}

fn faults(outcome: &Outcome) -> Vec<String> {
    outcome.faults.iter().map(ToString::to_string).collect()
}

#[test]
fn wrong_definitions() {
    let route = |to: &str, gw: &str| json!({"routes": [{"dst": to, "gw": gw}]});
    let via = |gw: &str| json!({"routes": [{"dst": "172.24.0.0/16", "gw": gw}]});
    let to = |to: &str| json!({"routes": [{"dst": to, "gw": "172.23.0.150"}]});
    let v6 = json!({"range": "fd00:cccc::/64", "range_start": "fd00:cccc::30", "range_end": "fd00:cccc::70"});
    let rows: Vec<(Value, &str)> = vec![
        (json!({"type": null}), "(ipam.type): is missing: only of \"whereabouts\""),
        (json!({"type": "static"}), "(ipam.type): is \"static\": only of"),
        (
            json!({"range": null}),
            "(ipam.range): is missing: it is the prefix of the provider subnet",
        ),
        (json!({"range": 5}), "(ipam.range): must be a text, not a number"),
        (json!({"range": "172.23.0.0"}), "(ipam.range): \"172.23.0.0\" is not an address prefix"),
        (
            json!({"range": "172.23.0.9/24"}),
            "(ipam.range): 172.23.0.9/24 has bits behind the prefix; 172.23.0.0/24 is meant",
        ),
        (json!({"range_end": null}), "(ipam.range_end): is missing: what lies behind it"),
        (json!({"range_end": ""}), "(ipam.range_end): is missing"),
        (json!({"range_end": "x"}), "(ipam.range_end): \"x\" is not an IP address"),
        (
            json!({"range_end": "172.25.0.70"}),
            "(ipam.range_end): 172.25.0.70 does not lie in 172.23.0.0/24",
        ),
        (
            json!({"range_end": "fd00::70"}),
            "(ipam.range_end): fd00::70 and 172.23.0.0/24 are of different address families",
        ),
        (json!({"range_start": "172.22.0.3"}), "(ipam.range_start): 172.22.0.3 does not lie in"),
        (
            json!({"range_start": "172.23.0.80"}),
            "(ipam.range_start): 172.23.0.80 comes after range_end 172.23.0.70",
        ),
        // Every row of the facts' table that upstream takes, or breaks off at half way.
        (
            json!({"range_end": "172.23.0.203"}),
            "behind 172.23.0.203 51 addresses of 172.23.0.0/24 are left, and 52 are needed",
        ),
        (json!({"range_end": "172.23.0.204"}), "behind 172.23.0.204 50 addresses"),
        (json!({"range_end": "172.23.0.230"}), "behind 172.23.0.230 24 addresses"),
        (json!({"range_end": "172.23.0.231"}), "behind 172.23.0.231 23 addresses"),
        (json!({"range_end": "172.23.0.255"}), "behind 172.23.0.255 0 addresses"),
        (json!({"routes": "x"}), "(ipam.routes): must be a list, not a text"),
        (json!({"routes": null}), "(lbMgmtRouterGateway)?"),
        (json!({"routes": [{"gw": "172.23.0.150"}]}), "(ipam.routes[0].dst): is missing"),
        (
            json!({"routes": [{"dst": "172.24.0.0/16"}]}),
            "(ipam.routes[0].gw): is missing: it is the address of the router",
        ),
        (to("172.24.0.0"), "(ipam.routes[0].dst): \"172.24.0.0\" is not an address prefix"),
        (
            to("172.24.0.1/16"),
            "(ipam.routes[0].dst): 172.24.0.1/16 has bits behind the prefix; 172.24.0.0/16 is meant",
        ),
        (to("172.24.0.0/30"), "(ipam.routes[0].dst): 172.24.0.0/30 is too small for amphorae"),
        (
            to("172.23.0.0/25"),
            "(ipam.routes[0].dst): 172.23.0.0/25 overlaps 172.23.0.0/24, the attachment's range",
        ),
        (to("172.16.0.0/12"), "(ipam.routes[0].dst): 172.16.0.0/12 overlaps 172.23.0.0/24"),
        (
            to("fd00::/64"),
            "(ipam.routes[0].dst): fd00::/64 and 172.23.0.0/24 are of different address families",
        ),
        (via("gw"), "(ipam.routes[0].gw): \"gw\" is not an IP address"),
        (
            via("fd00::1"),
            "(ipam.routes[0].gw): fd00::1 and 172.23.0.0/24 are of different address families",
        ),
        (
            via("172.24.0.150"),
            "(ipam.routes[0].gw): the router's address 172.24.0.150 does not lie in 172.23.0.0/24",
        ),
        (via("172.23.0.0"), "(ipam.routes[0].gw): 172.23.0.0 is the network address of"),
        (via("172.23.0.255"), "(ipam.routes[0].gw): 172.23.0.255 is the broadcast address of"),
        (
            via("172.23.0.50"),
            "the router's address 172.23.0.50 lies in 172.23.0.30-172.23.0.70, which pods get",
        ),
        (
            via("172.23.0.80"),
            "the router's address 172.23.0.80 lies in 172.23.0.71-172.23.0.96, which Neutron gives",
        ),
        (
            via("172.23.0.100"),
            "the router's address 172.23.0.100 lies in 172.23.0.97-172.23.0.122, which health managers",
        ),
        (
            with(v6.clone(), route("fd01::/48", "fd00:cccc::1")),
            "(ipam.routes[0].dst): fd01::/48: amphorae make their IPv6 addresses themselves, which needs a /64",
        ),
        (
            with(v6.clone(), route("fd00:cccc::/64", "fd00:cccc::1")),
            "overlaps fd00:cccc::/64, the attachment's range",
        ),
        (with(v6, route("fd01::/64", "fd00:cccc::")), "is the subnet-router anycast address of"),
    ];
    for (change, expected) in rows {
        let outcome = outcome(&json!({}), Some(&nad(&with(ipam(), change.clone()))));
        let told = faults(&outcome);
        assert!(outcome.design.is_none(), "{change}: taken");
        let expected = if expected == "(lbMgmtRouterGateway)?" {
            "cannot find gateway information in network attachment"
        } else {
            expected
        };
        assert!(told.iter().any(|text| text.contains(expected)), "{change}: {told:#?}");
    }
    for (config, expected) in [
        ("", "spec.config: is missing"),
        ("{", "spec.config: is not JSON"),
        ("{}", "spec.config (ipam): is missing"),
        ("[]", "spec.config (ipam): is missing"),
    ] {
        let told = faults(&outcome(&json!({}), Some(&definition(config))));
        assert!(told.iter().any(|text| text.starts_with(expected)), "{config:?}: {told:?}");
    }
    let told = faults(&outcome(&json!({}), None));
    assert!(told[0].starts_with(
        "spec.octaviaNetworkAttachment: there is no NetworkAttachmentDefinition octavia"
    ));
}

#[test]
fn wrong_octavias() {
    let network = |value: Value| json!({"lbMgmtNetwork": value});
    let zones = |value: Value| json!({"lbMgmtNetwork": {"availabilityZoneCIDRs": value}});
    let rows: Vec<(Value, &str)> = vec![
        (network(json!(3)), "spec.lbMgmtNetwork: must be a map"),
        (
            network(json!({"manageLbMgmtNetworks": "no"})),
            "spec.lbMgmtNetwork.manageLbMgmtNetworks: must be true or false, not a text",
        ),
        (
            network(json!({"createDefaultLbMgmtNetwork": 1})),
            "createDefaultLbMgmtNetwork: must be true or false",
        ),
        (
            network(json!({"lbMgmtRouterGateway": "172.23.0"})),
            "lbMgmtRouterGateway: \"172.23.0\" is not an IP address",
        ),
        (network(json!({"availabilityZones": "a"})), "availabilityZones: must be a list"),
        (
            network(json!({"availabilityZones": [""]})),
            "availabilityZones[0]: a zone without a name",
        ),
        (
            network(json!({"availabilityZones": ["a", "a"]})),
            "availabilityZones[1]: \"a\" stands here twice",
        ),
        (
            zones(json!(["172.25.0.0/24"])),
            "availabilityZoneCIDRs: must be a map from zones to prefixes",
        ),
        (
            zones(json!({"a": "172.25.0"})),
            "availabilityZoneCIDRs.a: cannot parse CIDR 172.25.0 for AZ a",
        ),
        (zones(json!({"a": 7})), "availabilityZoneCIDRs.a: must be a text"),
        (zones(json!({"": "172.25.0.0/24"})), "a zone without a name"),
        (zones(json!({"a\u{7}": "172.25.0.0/24"})), "cannot be the name of a zone"),
        (
            zones(json!({"a": "fd00::/64"})),
            "availabilityZoneCIDRs.a: fd00::/64 and 172.23.0.0/24 are of different address families",
        ),
        (
            zones(json!({"a": "172.23.0.128/25"})),
            "availabilityZoneCIDRs.a: 172.23.0.128/25 overlaps 172.23.0.0/24, the attachment's range",
        ),
        (
            zones(json!({"a": "172.24.9.0/24"})),
            "availabilityZoneCIDRs.a: 172.24.9.0/24 overlaps 172.24.0.0/16, the default network",
        ),
        (
            zones(json!({"a": "172.25.0.0/24", "b": "172.25.0.0/25"})),
            "availabilityZoneCIDRs.b: 172.25.0.0/25 overlaps 172.25.0.0/24, the network of zone a",
        ),
        (
            zones(json!({"a": "172.25.0.0/31"})),
            "availabilityZoneCIDRs.a: 172.25.0.0/31 is too small",
        ),
        (
            zones(json!({"a": "172.25.0.7/24"})),
            "availabilityZoneCIDRs.a: 172.25.0.7/24 has bits behind the prefix",
        ),
        (json!({"tenantName": 5}), "spec.tenantName: must be a text"),
        (json!({"octaviaNetworkAttachment": []}), "spec.octaviaNetworkAttachment: must be a text"),
    ];
    for (spec, expected) in rows {
        let outcome = outcome(&spec, Some(&nad(&ipam())));
        let told = faults(&outcome);
        assert!(outcome.design.is_none(), "{spec}: taken");
        assert!(told.iter().any(|text| text.contains(expected)), "{spec}: {told:#?}");
    }
    // A default network needs a prefix, which only a route says.
    let spec = network(json!({"lbMgmtRouterGateway": "172.23.0.150"}));
    let outcome = outcome(&spec, Some(&nad(&with(ipam(), json!({"routes": []})))));
    assert!(faults(&outcome)[0].contains("its dst is the prefix of lb-mgmt-subnet"), "{outcome:?}");
    // The router that the Octavia names is looked at in the same way.
    let spec =
        network(json!({"lbMgmtRouterGateway": "172.23.0.40", "createDefaultLbMgmtNetwork": false}));
    let outcome = self::outcome(&spec, Some(&nad(&with(ipam(), json!({"routes": []})))));
    assert!(faults(&outcome)[0].starts_with(
        "spec.lbMgmtNetwork.lbMgmtRouterGateway: the router's address 172.23.0.40 lies in"
    ));
}

#[test]
fn what_is_hardly_meant_is_told_and_taken() {
    let routes = json!({"routes": [{"dst": "172.24.0.0/16", "gw": "172.23.0.150"},
                                   {"dst": "172.29.0.0/16", "gw": "172.23.0.150"}]});
    let zone = json!({"lbMgmtNetwork": {"availabilityZoneCIDRs": {"a": "172.29.0.0/16"}}});
    let rows = [
        (
            json!({}),
            routes.clone(),
            Some("only the first route leads to a management network; 172.29.0.0/16"),
        ),
        (zone, routes, None),
        (
            json!({"lbMgmtNetwork": {"lbMgmtRouterGateway": "172.23.0.5"}}),
            json!({}),
            Some("172.23.0.5 is not used: the attachment's route says 172.23.0.150"),
        ),
        (
            json!({"lbMgmtNetwork": {"createDefaultLbMgmtNetwork": false}}),
            json!({}),
            Some("amphorae have nowhere to be"),
        ),
        (
            json!({"octaviaWorker": {"networkAttachments": ["internalapi"]}}),
            json!({}),
            Some("does not name octavia: these pods have no way"),
        ),
        (
            json!({}),
            json!({"ipRanges": [{"range": "fd00::/64"}]}),
            Some("further ranges are for pods only"),
        ),
    ];
    for (spec, change, expected) in rows {
        let outcome = outcome(&spec, Some(&nad(&with(ipam(), change))));
        let told: Vec<String> = outcome.doubts.iter().map(ToString::to_string).collect();
        assert!(outcome.design.is_some(), "{:?}", outcome.faults);
        match expected {
            Some(expected) => assert!(told[0].contains(expected), "{told:?}"),
            None => assert_eq!(told, Vec::<String>::new()),
        }
    }
    let macvlan = nad(&ipam());
    let text = macvlan["spec"]["config"].as_str().unwrap().replace("\"bridge\",", "\"macvlan\",");
    let text = text.replace("\"type\":\"bridge\"", "\"type\":\"macvlan\"");
    assert_eq!(outcome(&json!({}), Some(&definition(&text))).doubts.len(), 1);
}

#[test]
fn check_points_at_the_field() {
    let plane = |nics: Value| {
        json!({"apiVersion": "core.openstack.org/v1beta1", "kind": "OpenStackControlPlane",
            "metadata": {"name": "controlplane", "namespace": "openstack"},
            "spec": {"octavia": {"enabled": true, "template": {"octaviaWorker": {"networkAttachments": ["octavia"]}}},
                     "ovn": {"template": {"ovnController": {"nicMappings": nics}}}}})
    };
    let codes = |objects: &[Value]| -> Vec<(&'static str, String, Option<String>)> {
        let report = report(objects);
        let ours = report.findings.iter().filter(|finding| finding.code.starts_with("LB7"));
        ours.map(|finding| {
            let place = &finding.subjects[0];
            let inner = place.inner.as_ref().map(|inner| inner.as_str().to_owned());
            (finding.code, place.path.as_str().to_owned(), inner)
        })
        .collect()
    };
    let mapped = json!({"octavia": "octbr"});
    assert_eq!(codes(&[plane(mapped.clone()), nad(&ipam())]), []);
    let unmapped = codes(&[plane(json!({"datacentre": "ospbr"})), nad(&ipam())]);
    assert_eq!(unmapped, [("LB703", "spec.octavia.template".to_owned(), None)]);
    let wrong =
        nad(&with(ipam(), json!({"routes": [{"dst": "172.24.0.0/16", "gw": "172.23.0.50"}]})));
    let place = [("LB701", "spec.config".to_owned(), Some("ipam.routes[0].gw".to_owned()))];
    assert_eq!(codes(&[plane(mapped.clone()), wrong.clone()]), place);
    // What was made of the control plane only repeats it.
    let mut made = octavia(&json!({}));
    made["metadata"]["ownerReferences"] =
        json!([{"kind": "OpenStackControlPlane", "name": "controlplane"}]);
    assert_eq!(codes(&[plane(mapped.clone()), wrong, made]), place);
    let zone =
        octavia(&json!({"lbMgmtNetwork": {"availabilityZoneCIDRs": {"a": "172.24.0.0/24"}}}));
    let field = "spec.lbMgmtNetwork.availabilityZoneCIDRs.a".to_owned();
    assert_eq!(codes(&[zone, nad(&ipam())]), [("LB701", field, None)]);
    // Of one file alone nobody knows; a disabled Octavia needs nothing.
    assert_eq!(codes(&[octavia(&json!({}))]), []);
    let mut off = plane(mapped);
    off["spec"]["octavia"]["enabled"] = false.into();
    assert_eq!(codes(&[off, nad(&json!({}))]), []);
}

proptest! {
    /// Whatever is written, there is a design in which nothing overlaps, or a fault; and never a panic.
    #[test]
    fn a_design_always_fits(
        net in 8u8..=30, end in 1u32..300, gateway in 0u32..300, to in 8u8..=32, shift in 0u32..1000,
        zones in proptest::collection::vec((0u32..2000, 16u8..=32), 0..4),
        junk in proptest::option::of("[-0-9a-f./: ]{0,20}"),
    ) {
        let base = 0xac17_0000u32;
        let ip = |number: u32| std::net::Ipv4Addr::from(number).to_string();
        let prefix = |number: u32, length: u8| format!("{}/{length}", ip(number & (u32::MAX << (32 - length))));
        let mut own = json!({"type": "whereabouts", "range": format!("{}/{net}", ip(base & (u32::MAX << (32 - net)))),
            "range_start": ip(base), "range_end": ip(base + end),
            "routes": [{"dst": prefix(base + (shift << 8), to), "gw": ip(base + gateway)}]});
        if let Some(junk) = junk {
            own["range"] = junk.into();
        }
        let cidrs: serde_json::Map<String, Value> = zones.iter().enumerate()
            .map(|(n, (at, length))| (format!("z{n}"), prefix(base + (at << 8), *length).into()))
            .collect();
        let spec = json!({"lbMgmtNetwork": {"availabilityZoneCIDRs": cidrs}});
        let outcome = outcome(&spec, Some(&nad(&own)));
        prop_assert_eq!(outcome.design.is_some(), outcome.faults.is_empty());
        if let Some(design) = outcome.design {
            let pods: landbridge_api::net::Range = format!("{}-{}", ip(base), ip(base + end)).parse().unwrap();
            let gateway = design.gateway.unwrap();
            let mut parts = vec![pods, design.provider_pool, design.predictable, gateway.into()];
            for part in &parts {
                prop_assert!(design.provider.contains(part.first()) && design.provider.contains(part.last()));
                prop_assert!(design.provider.special(part.last()).is_none());
            }
            prop_assert_eq!((design.provider_pool.len(), design.predictable.len()), (26, 26));
            for tenant in &design.tenants {
                prop_assert!(tenant.cidr.contains(tenant.pool.first()) && tenant.cidr.contains(tenant.pool.last()));
            }
            parts.extend(design.tenants.iter().map(|tenant| landbridge_api::net::Range::from(tenant.cidr)));
            for (n, a) in parts.iter().enumerate() {
                for b in &parts[..n] {
                    prop_assert!(a.intersect(b).is_none(), "{a} and {b}");
                }
            }
        }
    }
}
