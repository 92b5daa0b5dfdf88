//! The catalogue: names, ports, paths and endpoints of every service.

use serde_json::Value;

use super::Endpoint::{Internal, Public};
use super::Runs::{DaemonSet, Deployment, StatefulSet};
use super::{NOTHING, Offer, Part, Port, Registered, Wish};
use crate::endpoints::generation::Generation;
use crate::endpoints::kinds::Kind;

const fn registered(
    name: &'static str,
    kind: &'static str,
    description: &'static str,
    path: &'static str,
) -> Registered {
    Registered { name, kind, description, path }
}

static PLACEMENT: &[Registered] = &[registered("placement", "placement", "Placement Service", "")];
static GLANCE: &[Registered] = &[registered("glance", "image", "Glance Service", "")];
static CINDER: &[Registered] =
    &[registered("cinderv3", "volumev3", "Cinder Volume Service", "/v3")];
static NEUTRON: &[Registered] = &[registered("neutron", "network", "Openstack Networking", "")];
static NOVA: &[Registered] = &[registered("nova", "compute", "Nova Compute Service", "/v2.1")];
static HEAT: &[Registered] =
    &[registered("heat", "orchestration", "Heat API service", "/v1/%(tenant_id)s")];
static HEAT_CFN: &[Registered] =
    &[registered("heat-cfn", "cloudformation", "Heat Cloudformation API service", "/v1")];
static BARBICAN: &[Registered] = &[registered("barbican", "key-manager", "Barbican Service", "")];
static MANILA: &[Registered] = &[
    registered("manilav2", "sharev2", "Manila Shared Filesystem Service", "/v2"),
    registered(
        "manila",
        "share",
        "Manila Shared Filesystem Service, version 1",
        "/v1/%(project_id)s",
    ),
];
static SWIFT: &[Registered] =
    &[registered("swift", "object-store", "Object Storage", "/v1/AUTH_%(tenant_id)s")];
static OCTAVIA: &[Registered] =
    &[registered("octavia", "load-balancer", "Load Balancing Service", "")];
static DESIGNATE: &[Registered] = &[registered("designate", "dns", "DNS Service", "/")];
static IRONIC: &[Registered] = &[registered("ironic", "baremetal", "Bare Metal Service", "")];
static INSPECTOR: &[Registered] = &[registered(
    "ironic-inspector",
    "baremetal-introspection",
    "Bare Metal Introspection Service",
    "",
)];
static AODH: &[Registered] = &[registered("aodh", "alarming", "Alarming Service", "")];
static CLOUDKITTY: &[Registered] = &[registered("cloudkitty", "rating", "Rating Service", "")];
static WATCHER: &[Registered] =
    &[registered("watcher", "infra-optim", "Infrastructure Optimization Service", "")];

/// The parts of a service, and what in its spec cannot be followed.
pub fn parts<'a>(
    kind: Kind,
    name: &str,
    spec: &'a Value,
    generation: Generation,
) -> (Vec<Part<'a>>, Vec<String>) {
    let mut wrong = Vec::new();
    let parts = match kind {
        Kind::KeystoneAPI => one_api("keystone", spec, 5000, &[]),
        Kind::PlacementAPI => one_api("placement", spec, 8778, PLACEMENT),
        Kind::NeutronAPI => one_api("neutron", spec, 9696, NEUTRON),
        Kind::Glance => glance(spec, generation, &mut wrong),
        Kind::GlanceAPI => glance_api(name, spec, generation, &mut wrong),
        Kind::Cinder => cinder(spec),
        Kind::Nova => nova(spec),
        Kind::Heat => heat(spec),
        Kind::Horizon => horizon(spec),
        Kind::Barbican => {
            let worker = |name, key: &str| Part::new(name, "barbican", Deployment, &spec[key]);
            vec![
                api("barbican-api", "barbican", Deployment, &spec["barbicanAPI"], 9311, BARBICAN),
                worker("barbican-worker", "barbicanWorker"),
                worker("barbican-keystone-listener", "barbicanKeystoneListener"),
            ]
        }
        Kind::Manila => manila(spec),
        Kind::Swift => swift(spec),
        Kind::Octavia => octavia(spec),
        Kind::Designate => designate(spec),
        Kind::Ironic => ironic(spec),
        Kind::Telemetry => telemetry(spec),
        Kind::Watcher => {
            let worker = |name, key: &str| Part::new(name, "watcher", StatefulSet, &spec[key]);
            let api_spec = &spec["apiServiceTemplate"];
            vec![
                api("watcher-api", "watcher", StatefulSet, api_spec, 9322, WATCHER),
                worker("watcher-applier", "applierServiceTemplate"),
                worker("watcher-decision-engine", "decisionengineServiceTemplate"),
            ]
        }
        Kind::Galera => {
            let part = Part::new(format!("{name}-galera"), name, StatefulSet, spec)
                .listens("mysql", "TCP", 3306)
                .listens("replication", "TCP", 4567)
                .listens("transfer", "TCP", 4444)
                .inside(&format!("{name}-galera"), Wish::Nothing, true)
                .inside(name, Wish::of(spec, None), false);
            vec![only(part, name, &[3306])]
        }
        Kind::RabbitMq | Kind::RabbitmqCluster => {
            let part = Part::new(format!("{name}-server"), name, StatefulSet, spec)
                .listens("amqp", "TCP", 5672)
                .listens("amqps", "TCP", 5671)
                .listens("management", "TCP", 15672)
                .listens("management-tls", "TCP", 15671)
                .inside(&format!("{name}-nodes"), Wish::Nothing, true)
                .inside(name, Wish::of(spec, None), false);
            vec![part]
        }
        Kind::Memcached => {
            let part = Part::new(name, name, StatefulSet, spec)
                .listens("memcached", "TCP", 11211)
                .listens("memcached-tls", "TCP", 11212)
                .inside(name, Wish::Nothing, true);
            vec![part]
        }
        Kind::Redis => {
            let part = Part::new(format!("{name}-redis"), name, StatefulSet, spec)
                .listens("redis", "TCP", 6379)
                .listens("sentinel", "TCP", 26379)
                .inside(&format!("{name}-redis"), Wish::Nothing, true)
                .inside(name, Wish::of(spec, None), false);
            vec![part]
        }
        Kind::OVNDBCluster => vec![ovn_database(spec)],
        Kind::OVNNorthd => {
            vec![attached(Part::new("ovn-northd", "ovn-northd", Deployment, spec), spec)]
        }
        Kind::OVNController => {
            let part = Part::new("ovn-controller", "ovn-controller", DaemonSet, spec);
            vec![controller_attachments(part, spec)]
        }
        _ => Vec::new(),
    };
    (parts, wrong)
}

fn api<'a>(
    name: &str,
    service: &str,
    runs: super::Runs,
    spec: &'a Value,
    port: u16,
    registered: &'static [Registered],
) -> Part<'a> {
    Part::new(name, service, runs, spec).api(service, port, registered, spec)
}

fn one_api<'a>(
    name: &str,
    spec: &'a Value,
    port: u16,
    registered: &'static [Registered],
) -> Vec<Part<'a>> {
    vec![api(name, name, Deployment, spec, port, registered)]
}

/// The Service of that name offers only these ports.
fn only<'a>(mut part: Part<'a>, service: &str, numbers: &[u16]) -> Part<'a> {
    for offer in part.offers.iter_mut().filter(|offer| offer.service == service) {
        offer.ports.retain(|port| numbers.contains(&port.number));
    }
    part
}

/// Entries of a map, by name.
fn entries(map: &Value) -> impl Iterator<Item = (&str, &Value)> {
    map.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

fn is_enabled(spec: &Value, unless_said: bool) -> bool {
    spec["enabled"].as_bool().unwrap_or(unless_said)
}

fn glance<'a>(spec: &'a Value, generation: Generation, wrong: &mut Vec<String>) -> Vec<Part<'a>> {
    if generation == Generation::First && !spec["glanceAPIs"].is_object() {
        let side = |key: &'static str, endpoint, name, wrong: &mut Vec<String>| {
            let api_spec = &spec[key];
            other_endpoints(api_spec, endpoint, key, wrong);
            Part::new(name, "glance", Deployment, api_spec)
                .endpoint("glance", endpoint, 9292, GLANCE, api_spec)
        };
        return vec![
            side("glanceAPIInternal", Internal, "glance-internal-api", wrong),
            side("glanceAPIExternal", Public, "glance-external-api", wrong),
        ];
    }
    let mut apis: Vec<(&str, &Value)> = entries(&spec["glanceAPIs"]).collect();
    if apis.is_empty() {
        apis.push(("default", &NOTHING));
    }
    let flagged = spec["keystoneEndpoint"].as_str().filter(|name| !name.is_empty());
    if let Some(name) = flagged.filter(|name| apis.iter().all(|(api, _)| api != name)) {
        wrong.push(format!("keystoneEndpoint names the API {name}, which is not in glanceAPIs"));
    }
    let flagged = flagged.unwrap_or_else(|| apis.first().map_or("", |(name, _)| *name));
    let split = apis.iter().flat_map(|(name, api_spec)| {
        let is_registered = *name == flagged;
        sides(&format!("glance-{name}"), api_spec, is_registered)
    });
    split.collect()
}

/// The workloads of one API of today's Glance, by its type.
fn sides<'a>(base: &str, spec: &'a Value, is_registered: bool) -> Vec<Part<'a>> {
    let records: &[Registered] = if is_registered { GLANCE } else { &[] };
    let part = |suffix: &str| Part::new(format!("{base}-{suffix}"), "glance", StatefulSet, spec);
    let mut parts = match spec["apiType"].as_str().unwrap_or("split") {
        "single" => vec![part("single-api").api(base, 9292, records, spec)],
        "edge" => vec![part("edge-api").endpoint(base, Internal, 9292, records, spec)],
        "internal" => vec![part("internal-api").endpoint(base, Internal, 9292, records, spec)],
        "external" => vec![part("external-api").endpoint(base, Public, 9292, records, spec)],
        _ => vec![
            part("external-api").endpoint(base, Public, 9292, records, spec),
            part("internal-api").endpoint(base, Internal, 9292, records, spec),
        ],
    };
    // Others are there for whoever knows them, and need no name outside.
    for offer in parts.iter_mut().flat_map(|part| part.offers.iter_mut()) {
        offer.is_routed &= is_registered;
    }
    parts
}

fn glance_api<'a>(
    name: &str,
    spec: &'a Value,
    generation: Generation,
    wrong: &mut Vec<String>,
) -> Vec<Part<'a>> {
    if generation == Generation::Today {
        return sides(name, spec, true);
    }
    let (endpoint, part) = match spec["apiType"].as_str() {
        Some("internal") => (Internal, "glance-internal-api"),
        _ => (Public, "glance-external-api"),
    };
    other_endpoints(spec, endpoint, "spec", wrong);
    let part = Part::new(part, "glance", Deployment, spec);
    vec![part.endpoint("glance", endpoint, 9292, GLANCE, spec)]
}

/// Blocks for an endpoint that the API does not have. Upstream makes a Service with port 0 of them.
fn other_endpoints(spec: &Value, own: super::Endpoint, place: &str, wrong: &mut Vec<String>) {
    let blocks = spec["externalEndpoints"].as_array().into_iter().flatten();
    for block in blocks.filter(|block| block["endpoint"] != own.name()) {
        wrong.push(format!(
            "{place}.externalEndpoints: this API has only the {} endpoint, not {}",
            own.name(),
            block["endpoint"].as_str().unwrap_or_default()
        ));
    }
}

fn cinder(spec: &Value) -> Vec<Part<'_>> {
    let worker = |name: String, spec| Part::new(name, "cinder", StatefulSet, spec);
    let mut parts = vec![
        api("cinder-api", "cinder", StatefulSet, &spec["cinderAPI"], 8776, CINDER),
        worker("cinder-scheduler".to_owned(), &spec["cinderScheduler"]),
    ];
    if spec["cinderBackup"].is_object() {
        parts.push(worker("cinder-backup".to_owned(), &spec["cinderBackup"]));
    }
    let volumes = entries(&spec["cinderVolumes"]);
    parts.extend(volumes.map(|(name, spec)| worker(format!("cinder-volume-{name}"), spec)));
    parts
}

fn nova(spec: &Value) -> Vec<Part<'_>> {
    let worker = |name: String, spec| Part::new(name, "nova", StatefulSet, spec);
    let metadata = |name: String, service: String, spec| {
        worker(name, spec).endpoint(&service, Internal, 8775, &[], spec)
    };
    let mut parts = vec![
        api("nova-api", "nova", StatefulSet, &spec["apiServiceTemplate"], 8774, NOVA),
        worker("nova-scheduler".to_owned(), &spec["schedulerServiceTemplate"]),
    ];
    let shared = &spec["metadataServiceTemplate"];
    if is_enabled(shared, true) {
        parts.push(metadata("nova-metadata".to_owned(), "nova-metadata".to_owned(), shared));
    }
    let mut cells: Vec<(&str, &Value)> = entries(&spec["cellTemplates"]).collect();
    if cells.is_empty() {
        cells.extend([("cell0", &NOTHING), ("cell1", &NOTHING)]);
    }
    for (cell, spec) in cells {
        parts.push(worker(format!("nova-{cell}-conductor"), &spec["conductorServiceTemplate"]));
        let own = &spec["metadataServiceTemplate"];
        if is_enabled(own, false) {
            let service = format!("nova-metadata-{cell}");
            parts.push(metadata(format!("nova-{cell}-metadata"), service, own));
        }
        let proxy = &spec["noVNCProxyServiceTemplate"];
        // Nothing runs in the first cell that could have a console.
        if is_enabled(proxy, cell != "cell0") {
            let service = format!("nova-novncproxy-{cell}");
            let part = worker(format!("nova-{cell}-novncproxy"), proxy);
            parts.push(part.endpoint(&service, Public, 6080, &[], proxy));
        }
    }
    parts
}

fn heat(spec: &Value) -> Vec<Part<'_>> {
    let side = |name: &str, key: &str, port, records: &'static [Registered]| {
        let part = Part::new(name, "heat", Deployment, &spec[key]);
        part.api(name, port, records, &spec[key])
    };
    vec![
        side("heat-api", "heatAPI", 8004, HEAT),
        side("heat-cfnapi", "heatCfnAPI", 8000, HEAT_CFN),
        Part::new("heat-engine", "heat", Deployment, &spec["heatEngine"]),
    ]
}

fn horizon(spec: &Value) -> Vec<Part<'_>> {
    let mut part =
        Part::new("horizon", "horizon", Deployment, spec).listens("horizon", "TCP", 8080);
    part.offers.push(Offer {
        service: "horizon".to_owned(),
        endpoint: Some(Public),
        ports: vec![Port { name: "horizon".to_owned(), protocol: "TCP", number: 80, target: 8080 }],
        wish: Wish::of(spec, Some(Public)),
        registered: &[],
        is_routed: true,
        is_headless: false,
    });
    vec![part]
}

fn manila(spec: &Value) -> Vec<Part<'_>> {
    let worker = |name: String, spec| Part::new(name, "manila", StatefulSet, spec);
    let mut parts = vec![
        api("manila-api", "manila", StatefulSet, &spec["manilaAPI"], 8786, MANILA),
        worker("manila-scheduler".to_owned(), &spec["manilaScheduler"]),
    ];
    let shares = entries(&spec["manilaShares"]);
    parts.extend(shares.map(|(name, spec)| worker(format!("manila-share-{name}"), spec)));
    parts
}

fn swift(spec: &Value) -> Vec<Part<'_>> {
    let storage = Part::new("swift-storage", "swift", StatefulSet, &spec["swiftStorage"])
        .listens("account", "TCP", 6202)
        .listens("container", "TCP", 6201)
        .listens("object", "TCP", 6200)
        .listens("rsync", "TCP", 873)
        .inside("swift-storage", Wish::Nothing, true);
    vec![api("swift-proxy", "swift", Deployment, &spec["swiftProxy"], 8080, SWIFT), storage]
}

/// Whoever talks to amphorae is on the management network, also when nobody says so.
fn octavia(spec: &Value) -> Vec<Part<'_>> {
    let management = || vec![landbridge_plan::octavia::attachment_name(spec).to_owned()];
    let daemon = |name: &str, key: &str| {
        let mut part = Part::new(name, "octavia", DaemonSet, &spec[key]);
        if part.attachments.is_empty() {
            part.attachments = management();
        }
        part
    };
    let mut api = api("octavia-api", "octavia", Deployment, &spec["octaviaAPI"], 9876, OCTAVIA);
    api.beside = &["octavia-provider-agent"];
    let mut parts = vec![
        api,
        daemon("octavia-healthmanager", "octaviaHealthManager").listens("status", "UDP", 5555),
        daemon("octavia-housekeeping", "octaviaHousekeeping"),
        // Puts the amphorae's image into Glance.
        Part::new("octavia-image-upload", "octavia", Deployment, &spec["octaviaImageUpload"]),
        daemon("octavia-worker", "octaviaWorker"),
    ];
    if spec["octaviaRsyslog"].is_object() {
        let rsyslog = daemon("octavia-rsyslog", "octaviaRsyslog");
        parts.push(rsyslog.listens("syslog", "UDP", 514).listens("syslog-tcp", "TCP", 514));
    }
    parts
}

fn designate(spec: &Value) -> Vec<Part<'_>> {
    let part = |name: &str, runs, key: &str| Part::new(name, "designate", runs, &spec[key]);
    let mut parts = vec![
        api("designate-api", "designate", Deployment, &spec["designateAPI"], 9001, DESIGNATE),
        part("designate-central", Deployment, "designateCentral"),
        part("designate-producer", Deployment, "designateProducer"),
        part("designate-worker", StatefulSet, "designateWorker"),
        part("designate-mdns", StatefulSet, "designateMdns")
            .listens("mdns", "UDP", 5354)
            .listens("mdns-tcp", "TCP", 5354),
        part("designate-backendbind9", StatefulSet, "designateBackendbind9")
            .listens("dns", "UDP", 53)
            .listens("dns-tcp", "TCP", 53)
            .listens("rndc", "TCP", 953),
    ];
    if spec["designateUnbound"].is_object() {
        let unbound = part("designate-unbound", StatefulSet, "designateUnbound");
        parts.push(unbound.listens("dns", "UDP", 53).listens("dns-tcp", "TCP", 53));
    }
    parts
}

fn ironic(spec: &Value) -> Vec<Part<'_>> {
    let inspector = &spec["ironicInspector"];
    let mut parts = vec![
        api("ironic-api", "ironic", Deployment, &spec["ironicAPI"], 6385, IRONIC),
        Part::new("ironic-inspector", "ironic", StatefulSet, inspector).api(
            "ironic-inspector",
            5050,
            INSPECTOR,
            inspector,
        ),
        Part::new("ironic-neutron-agent", "ironic", Deployment, &spec["ironicNeutronAgent"]),
    ];
    for (i, spec) in spec["ironicConductors"].as_array().into_iter().flatten().enumerate() {
        let group = spec["conductorGroup"].as_str().filter(|group| !group.is_empty());
        let name = match (group, i) {
            (Some(group), _) => format!("ironic-conductor-{group}"),
            (None, 0) => "ironic-conductor".to_owned(),
            (None, i) => format!("ironic-conductor-{i}"),
        };
        parts.push(Part::new(name, "ironic", StatefulSet, spec));
    }
    parts
}

fn telemetry(spec: &Value) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let sampler = if spec["ceilometer"].is_object() {
        &spec["ceilometer"]
    } else {
        &spec["ceilometerCentral"]
    };
    if sampler.is_object() && is_enabled(sampler, true) {
        parts.push(Part::new("ceilometer", "ceilometer", StatefulSet, sampler));
    }
    if is_enabled(&spec["autoscaling"], false) {
        let aodh = &spec["autoscaling"]["aodh"];
        parts.push(api("aodh", "aodh", StatefulSet, aodh, 8042, AODH));
    }
    if is_enabled(&spec["cloudkitty"], false) {
        let rating = &spec["cloudkitty"]["cloudKittyAPI"];
        parts.push(api("cloudkitty-api", "cloudkitty", StatefulSet, rating, 8889, CLOUDKITTY));
    }
    parts
}

/// With the one attachment that the parts of OVN have.
fn attached<'a>(mut part: Part<'a>, spec: &'a Value) -> Part<'a> {
    let name = spec["networkAttachment"].as_str().filter(|name| !name.is_empty());
    part.attachments.extend(name.map(str::to_owned));
    part
}

/// Which database of OVN, and its ports.
pub fn database(spec: &Value) -> (&'static str, &'static str, u16) {
    match spec["dbType"].as_str() {
        Some("SB") => ("ovsdbserver-sb", "south", 6642),
        _ => ("ovsdbserver-nb", "north", 6641),
    }
}

fn ovn_database(spec: &Value) -> Part<'_> {
    let (name, side, port) = database(spec);
    let part = Part::new(name, name, StatefulSet, spec)
        .listens(side, "TCP", port)
        .listens(&format!("{side}-raft"), "TCP", port + 2)
        .inside(name, Wish::of(spec, None), false);
    let mut part = attached(part, spec);
    part.is_sticky = true;
    part
}

/// The physical networks, the links of bonds before them, and the network of the tunnels.
fn controller_attachments<'a>(mut part: Part<'a>, spec: &'a Value) -> Part<'a> {
    let mut networks: Vec<String> =
        entries(&spec["nicMappings"]).map(|(name, _)| name.to_owned()).collect();
    let tunnels = spec["networkAttachment"].as_str().filter(|name| !name.is_empty());
    networks.extend(tunnels.map(str::to_owned));
    networks.sort();
    networks.dedup();
    let mut links: Vec<String> = entries(&spec["nicMappings"])
        .filter_map(|(_, nic)| bond(spec, nic.as_str()?))
        .flat_map(|bond| bond["links"].as_array().into_iter().flatten())
        .filter_map(|link| link.as_str().map(str::to_owned))
        .collect();
    links.sort();
    links.dedup();
    // A bond finds its links in the pod.
    links.extend(networks.into_iter().filter(|name| !part.attachments.contains(name)));
    part.attachments.splice(0..0, links);
    part
}

/// The bond that a NIC of the mappings stands for.
pub fn bond<'a>(spec: &'a Value, nic: &str) -> Option<&'a Value> {
    spec["bondConfiguration"].get(nic).filter(|bond| bond.is_object())
}
