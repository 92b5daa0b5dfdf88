//! The CRDs, as installed: structural, as upstream's where clients can tell, and as committed.

use std::path::Path;
use std::{env, fs};

use landbridge_machinery::field::FieldPath;
use landbridge_machinery::schema::Schema;
use serde_json::{Value, json};

use crate::support::schema;

fn crds() -> Vec<Value> {
    landbridge_api::crds().iter().map(|crd| serde_json::to_value(crd).unwrap()).collect()
}

/// Those of others.
fn foreign() -> Vec<Value> {
    let ours = landbridge_api::crds().len();
    let all = landbridge_api::all_crds();
    all[ours..].iter().map(|crd| serde_json::to_value(crd).unwrap()).collect()
}

fn crd(kind: &str) -> Value {
    crds().into_iter().find(|crd| crd["spec"]["names"]["kind"] == kind).unwrap()
}

/// What stands in one version of the CRD at a pointer below its schema's root.
fn at(kind: &str, pointer: &str) -> Value {
    let crd = crd(kind);
    let root = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    root.pointer(pointer).unwrap_or_else(|| panic!("{kind} has no {pointer}")).clone()
}

#[test]
fn files_are_up_to_date() {
    snapshots("crds", "the types of this crate", &crds());
}

#[test]
fn files_of_foreign_kinds_are_up_to_date() {
    snapshots("crds/foreign", "src/foreign/crds.rs", &foreign());
}

/// Compares each definition with its file, and looks for files without a kind.
fn snapshots(folder: &str, origin: &str, crds: &[Value]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let bless = env::var_os("LANDBRIDGE_BLESS").is_some();
    let mut names = Vec::new();
    for crd in crds {
        let name = format!("{}.yaml", crd["metadata"]["name"].as_str().unwrap());
        let text = format!(
            "# Generated from {origin}; LANDBRIDGE_BLESS=1 cargo test -p landbridge-api\n{}",
            serde_saphyr::to_string(crd).unwrap()
        );
        assert_eq!(
            serde_saphyr::from_str::<Value>(&text).unwrap(),
            *crd,
            "{name} reads differently"
        );
        if bless {
            fs::write(path.join(&name), &text).unwrap();
        }
        let stored = fs::read_to_string(path.join(&name)).unwrap_or_default();
        assert!(stored == text, "{folder}/{name} is out of date; run with LANDBRIDGE_BLESS=1");
        names.push(name);
    }
    for entry in fs::read_dir(&path).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_file() {
            assert!(names.contains(&name), "{folder}/{name} belongs to no kind");
        }
    }
}

/// Walks every schema node by hand; the compiler of `landbridge-machinery` judges as well.
#[test]
fn schemas_are_structural() {
    fn walk(node: &Value, path: &str) {
        let fields = node.as_object().unwrap_or_else(|| panic!("{path} is {node}"));
        for never in ["$ref", "definitions", "$defs", "anyOf", "oneOf", "allOf", "not", "title"] {
            assert!(!fields.contains_key(never), "{path} has {never}");
        }
        assert!(node["type"].is_string(), "{path} has no type");
        let nullable = path.ends_with(".nodeSelector");
        assert_eq!(node["nullable"] == true, nullable, "{path}: nullable");
        for (name, child) in node["properties"].as_object().into_iter().flatten() {
            // Descriptions are what `kubectl explain` shows.
            let text = child["description"].as_str().unwrap_or_default();
            assert!(text.len() > 5, "{path}.{name} has no description");
            walk(child, &format!("{path}.{name}"));
        }
        if let Some(items) = fields.get("items") {
            walk(items, &format!("{path}[]"));
        }
        if let Some(values) = fields.get("additionalProperties") {
            assert!(!fields.contains_key("properties"), "{path} mixes map and struct");
            walk(values, &format!("{path}{{}}"));
        }
    }
    for crd in crds() {
        let kind = crd["spec"]["names"]["kind"].as_str().unwrap();
        walk(&at(kind, ""), kind);
        schema(kind);
    }
}

#[test]
fn names_scope_and_labels_are_upstreams() {
    let cases = [
        ("NetConfig", "netconfigs", "netconfig", json!(["netcfg", "netscfg"]), Some("20")),
        ("IPSet", "ipsets", "ipset", Value::Null, Some("40")),
        ("Reservation", "reservations", "reservation", Value::Null, Some("30")),
        ("DNSMasq", "dnsmasqs", "dnsmasq", Value::Null, None),
        ("DNSData", "dnsdata", "dnsdata", Value::Null, Some("20")),
    ];
    let ours = crds().iter().filter(|crd| crd["spec"]["group"] == "network.openstack.org").count();
    assert_eq!(ours, cases.len());
    for (kind, plural, singular, short, restore_order) in cases {
        let crd = crd(kind);
        assert_eq!(crd["metadata"]["name"], format!("{plural}.network.openstack.org"));
        let names = &crd["spec"]["names"];
        assert_eq!(names["plural"], plural);
        assert_eq!(names["singular"], singular);
        assert_eq!(names["shortNames"], short);
        assert_eq!(names["listKind"], format!("{kind}List"));
        assert_eq!(crd["spec"]["scope"], "Namespaced");
        let version = &crd["spec"]["versions"][0];
        assert_eq!(version["name"], "v1beta1");
        assert_eq!((&version["served"], &version["storage"]), (&json!(true), &json!(true)));
        assert_eq!(version["subresources"], json!({"status": {}}));
        let labels = restore_order.map_or(Value::Null, |order| {
            json!({
                "backup.openstack.org/restore": "true",
                "backup.openstack.org/category": "dataplane",
                "backup.openstack.org/restore-order": order,
            })
        });
        assert_eq!(crd["metadata"]["labels"], labels, "{kind}");
    }
}

#[test]
fn columns() {
    let ready = ("Ready", ".status.conditions[0].status");
    let message = ("Message", ".status.conditions[0].message");
    let cases: [(&str, &[(&str, &str)]); 5] = [
        (
            "NetConfig",
            &[
                ("Age", ".metadata.creationTimestamp"),
                ("Networks", ".spec.networks[*].name"),
                ("Prefixes", ".spec.networks[*].subnets[*].cidr"),
                ("VLANs", ".spec.networks[*].subnets[*].vlan"),
            ],
        ),
        (
            "IPSet",
            &[
                ready,
                message,
                ("Reservation", ".status.reservations[*].address"),
                ("Networks", ".status.reservations[*].network"),
            ],
        ),
        ("Reservation", &[("Reservation", ".spec.reservation")]),
        ("DNSMasq", &[ready, message]),
        ("DNSData", &[ready, message]),
    ];
    for (kind, expected) in cases {
        let crd = crd(kind);
        let columns = crd["spec"]["versions"][0]["additionalPrinterColumns"].as_array();
        let columns: Vec<_> = columns
            .into_iter()
            .flatten()
            .map(|column| (column["name"].as_str().unwrap(), column["jsonPath"].as_str().unwrap()))
            .collect();
        assert_eq!(columns, expected, "{kind}");
    }
}

/// Kind, name of the CRD, short names, scope, versions (the stored one first), columns.
type Foreign<'a> = (&'a str, &'a str, &'a [&'a str], &'a str, &'a [&'a str], &'a [&'a str]);

#[test]
fn foreign_names_scopes_versions_and_columns_are_upstreams() {
    let status: &[&str] = &["Status", "Message"];
    let attached: &[&str] = &["NetworkAttachments", "Status", "Message"];
    let mut cases: Vec<Foreign<'_>> = vec![
        (
            "NetworkAttachmentDefinition",
            "network-attachment-definitions.k8s.cni.cncf.io",
            &["net-attach-def"],
            "Namespaced",
            &["v1"],
            &[],
        ),
        ("IPPool", "ippools.whereabouts.cni.cncf.io", &[], "Namespaced", &["v1alpha1"], &[]),
        (
            "OverlappingRangeIPReservation",
            "overlappingrangeipreservations.whereabouts.cni.cncf.io",
            &[],
            "Namespaced",
            &["v1alpha1"],
            &[],
        ),
        (
            "NodeNetworkConfigurationPolicy",
            "nodenetworkconfigurationpolicies.nmstate.io",
            &["nncp"],
            "Cluster",
            &["v1", "v1beta1", "v1alpha1"],
            &["Status", "Reason"],
        ),
        (
            "NodeNetworkConfigurationEnactment",
            "nodenetworkconfigurationenactments.nmstate.io",
            &["nnce"],
            "Cluster",
            &["v1beta1", "v1alpha1"],
            &["Status", "Status Age", "Reason"],
        ),
        (
            "NodeNetworkState",
            "nodenetworkstates.nmstate.io",
            &["nns"],
            "Cluster",
            &["v1beta1", "v1alpha1"],
            &[],
        ),
        (
            "IPAddressPool",
            "ipaddresspools.metallb.io",
            &[],
            "Namespaced",
            &["v1beta1"],
            &["Auto Assign", "Avoid Buggy IPs", "Addresses"],
        ),
        (
            "L2Advertisement",
            "l2advertisements.metallb.io",
            &[],
            "Namespaced",
            &["v1beta1"],
            &["IPAddressPools", "IPAddressPool Selectors", "Interfaces", "Node Selectors"],
        ),
        (
            "ConfigurationState",
            "configurationstates.metallb.io",
            &[],
            "Namespaced",
            &["v1beta1"],
            &["Result", "ErrorSummary", "Age"],
        ),
        (
            "ServiceL2Status",
            "servicel2statuses.metallb.io",
            &[],
            "Namespaced",
            &["v1beta1"],
            &["Allocated Node", "Service Name", "Service Namespace"],
        ),
        (
            "OpenStackControlPlane",
            "openstackcontrolplanes.core.openstack.org",
            &["osctlplane", "osctlplanes", "oscp", "oscps"],
            "Namespaced",
            &["v1beta1"],
            status,
        ),
    ];
    // Kind, name of the CRD, columns.
    let services = [
        ("KeystoneAPI", "keystoneapis.keystone.openstack.org", status),
        ("PlacementAPI", "placementapis.placement.openstack.org", status),
        ("Glance", "glances.glance.openstack.org", status),
        ("GlanceAPI", "glanceapis.glance.openstack.org", attached),
        ("Cinder", "cinders.cinder.openstack.org", status),
        ("NeutronAPI", "neutronapis.neutron.openstack.org", attached),
        ("Nova", "nova.nova.openstack.org", status),
        ("Heat", "heats.heat.openstack.org", status),
        ("Horizon", "horizons.horizon.openstack.org", status),
        ("Barbican", "barbicans.barbican.openstack.org", status),
        ("Manila", "manilas.manila.openstack.org", status),
        ("Swift", "swifts.swift.openstack.org", status),
        ("Octavia", "octavias.octavia.openstack.org", status),
        ("Designate", "designates.designate.openstack.org", status),
        ("Ironic", "ironics.ironic.openstack.org", status),
        ("Telemetry", "telemetries.telemetry.openstack.org", status),
        ("Watcher", "watchers.watcher.openstack.org", status),
        ("Galera", "galeras.mariadb.openstack.org", status),
        ("RabbitMq", "rabbitmqs.rabbitmq.openstack.org", status),
        ("RabbitmqCluster", "rabbitmqclusters.rabbitmq.com", status),
        ("Memcached", "memcacheds.memcached.openstack.org", status),
        ("Redis", "redises.redis.openstack.org", status),
        ("OVNDBCluster", "ovndbclusters.ovn.openstack.org", attached),
        ("OVNNorthd", "ovnnorthds.ovn.openstack.org", attached),
        ("OVNController", "ovncontrollers.ovn.openstack.org", attached),
        ("KeystoneService", "keystoneservices.keystone.openstack.org", status),
        ("KeystoneEndpoint", "keystoneendpoints.keystone.openstack.org", status),
    ];
    cases.extend(services.map(|(kind, name, columns)| -> Foreign<'_> {
        (kind, name, &[], "Namespaced", &["v1beta1"], columns)
    }));
    let route: &[&str] = &["Host", "Admitted", "Service", "TLS"];
    cases.push(("Route", "routes.route.openshift.io", &[], "Namespaced", &["v1"], route));
    let texts = |list: &Value, field: &str| -> Vec<String> {
        let list = list.as_array().into_iter().flatten();
        let text =
            |entry: &Value| if field.is_empty() { entry.clone() } else { entry[field].clone() };
        list.map(|entry| text(entry).as_str().unwrap().to_owned()).collect()
    };
    let foreign = foreign();
    assert_eq!(foreign.len(), cases.len());
    for ((kind, name, short, scope, versions, columns), crd) in cases.iter().zip(&foreign) {
        let spec = &crd["spec"];
        assert_eq!(spec["names"]["kind"], *kind);
        assert_eq!(crd["metadata"]["name"], *name);
        assert_eq!(texts(&spec["names"]["shortNames"], ""), *short, "{kind}");
        assert_eq!(spec["scope"], *scope, "{kind}");
        assert_eq!(texts(&spec["versions"], "name"), *versions, "{kind}");
        assert!(landbridge_api::crds().iter().all(|ours| ours.spec.names.kind != *kind));
        for (i, version) in spec["versions"].as_array().unwrap().iter().enumerate() {
            assert_eq!(version["storage"], i == 0, "{kind}");
            assert_eq!(version["deprecated"] == true, i > 0, "{kind}");
            assert_eq!(texts(&version["additionalPrinterColumns"], "name"), *columns, "{kind}");
            let schema = &version["schema"]["openAPIV3Schema"];
            Schema::structural(schema, &FieldPath::root())
                .unwrap_or_else(|e| panic!("{kind}: {e:?}"));
        }
        let without = ["k8s.cni.cncf.io", "whereabouts.cni.cncf.io"];
        let group = spec["group"].as_str().unwrap();
        let status = spec["versions"][0]["subresources"]["status"].is_object();
        assert_eq!(status, !without.contains(&group), "{kind}");
    }
}

#[test]
fn what_is_required() {
    let network = "/properties/spec/properties/networks/items";
    let subnet = "/properties/spec/properties/networks/items/properties/subnets/items";
    let cases = [
        ("NetConfig", "", json!(["spec"])),
        ("NetConfig", "/properties/spec", json!(["networks"])),
        ("NetConfig", network, json!(["name", "subnets"])),
        ("NetConfig", subnet, json!(["allocationRanges", "cidr", "name"])),
        (
            "NetConfig",
            &format!("{subnet}/properties/allocationRanges/items"),
            json!(["end", "start"]),
        ),
        (
            "NetConfig",
            &format!("{subnet}/properties/routes/items"),
            json!(["destination", "nexthop"]),
        ),
        ("IPSet", "/properties/spec", json!(["networks"])),
        ("IPSet", network, json!(["name", "subnetName"])),
        (
            "IPSet",
            "/properties/status/properties/reservations/items",
            json!(["address", "network", "subnet"]),
        ),
        (
            "IPSet",
            "/properties/status/properties/conditions/items",
            json!(["lastTransitionTime", "status", "type"]),
        ),
        ("Reservation", "/properties/spec", json!(["ipSetRef", "reservation"])),
        (
            "Reservation",
            "/properties/spec/properties/reservation/additionalProperties",
            json!(["address", "network", "subnet"]),
        ),
        ("DNSMasq", "/properties/spec/properties/options/items", json!(["key", "values"])),
        (
            "DNSMasq",
            "/properties/spec/properties/externalEndpoints/items",
            json!(["ipAddressPool"]),
        ),
        ("DNSData", "/properties/spec/properties/hosts/items", json!(["hostnames", "ip"])),
    ];
    for (kind, pointer, required) in cases {
        let mut found = at(kind, pointer)["required"].as_array().cloned().unwrap_or_default();
        found.sort_by_key(ToString::to_string);
        assert_eq!(Value::Array(found), required, "{kind}{pointer}");
    }
    for kind in ["DNSMasq", "DNSData"] {
        assert_eq!(at(kind, "")["required"], Value::Null, "{kind} may come without a spec");
        assert_eq!(at(kind, "/properties/spec/default"), json!({}));
    }
}

#[test]
fn patterns_bounds_and_values() {
    let name = r"^[a-zA-Z0-9][a-zA-Z0-9\-_]*[a-zA-Z0-9]$";
    let networks = "/properties/spec/properties/networks/items/properties";
    let subnets = "/properties/spec/properties/networks/items/properties/subnets/items/properties";
    let reservation = "/properties/spec/properties/reservation/additionalProperties/properties";
    let cases = [
        ("NetConfig", format!("{networks}/name/pattern"), json!(name)),
        ("NetConfig", format!("{subnets}/name/pattern"), json!(name)),
        (
            "NetConfig",
            format!("{networks}/serviceNetwork/pattern"),
            json!(r"^[a-z0-9][a-z0-9\-_]*[a-z0-9]$"),
        ),
        ("NetConfig", format!("{subnets}/vlan/maximum"), json!(4094.0)),
        ("IPSet", format!("{networks}/name/pattern"), json!(name)),
        ("IPSet", format!("{networks}/subnetName/pattern"), json!(name)),
        ("Reservation", format!("{reservation}/network/pattern"), json!(name)),
        ("Reservation", format!("{reservation}/subnet/pattern"), json!(name)),
        (
            "DNSMasq",
            "/properties/spec/properties/externalEndpoints/items/properties/ipAddressPool/minLength"
                .to_owned(),
            json!(1),
        ),
        (
            "DNSMasq",
            "/properties/spec/properties/options/items/properties/key/enum".to_owned(),
            json!([
                "server", "rev-server", "srv-host", "txt-record", "ptr-record", "rebind-domain-ok",
                "naptr-record", "cname", "host-record", "caa-record", "dns-rr", "auth-zone",
                "synth-domain", "no-negcache", "local", "local-ttl", "dhcp-ttl", "max-ttl"
            ]),
        ),
    ];
    for (kind, pointer, expected) in cases {
        assert_eq!(at(kind, &pointer), expected, "{kind}{pointer}");
    }
    let vlan = at("NetConfig", &format!("{subnets}/vlan"));
    assert_eq!(vlan.get("minimum"), None, "small numbers are refused by the rules, with words");
}

#[test]
fn defaults_fill_in() {
    let cases = [
        (
            "NetConfig",
            json!({"spec": {"networks": [{"name": "aa", "subnets": []}]}}),
            json!({"spec": {"networks": [{"name": "aa", "mtu": 1500, "subnets": []}]}}),
        ),
        (
            "IPSet",
            json!({"spec": {"networks": []}}),
            json!({"spec": {"immutable": false, "networks": []}}),
        ),
        (
            "DNSMasq",
            json!({"spec": {"externalEndpoints": [{"ipAddressPool": "ctlplane"}], "debug": {}}}),
            json!({"spec": {
                "externalEndpoints": [
                    {"ipAddressPool": "ctlplane", "sharedIP": true, "sharedIPKey": ""}
                ],
                "debug": {"service": false},
                "dnsDataLabelSelectorValue": "dnsdata",
                "replicas": 1,
            }}),
        ),
        ("DNSData", json!({}), json!({"spec": {"dnsDataLabelSelectorValue": "dnsdata"}})),
    ];
    for (kind, mut given, expected) in cases {
        schema(kind).apply_defaults(&mut given);
        assert_eq!(given, expected, "{kind}");
    }
}

/// `null` is dropped as upstream drops it, but for the one field where it means something.
#[test]
fn null_is_absent_except_where_it_means_something() {
    let mut object = json!({"spec": {"containerImage": null, "nodeSelector": null}});
    schema("DNSMasq").prune_nulls(&mut object);
    assert_eq!(object, json!({"spec": {"nodeSelector": null}}));
}
