//! OpenStackControlPlane and the kinds of its services.
//!
//! Whatever touches networks has a type here, in every section; settings of the services that do not
//! are kept as given. A template in a section has the schema of the kind it becomes.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, JSONSchemaProps,
};
use kube::CustomResourceExt as _;

use super::schema::{
    all_of_kind, at_least, between, default, flag, free, integer, list, map, matching, not_empty,
    object, one_of, open, required, text, texts,
};
use super::{Served, column};
use crate::foreign::controlplane::{self, Makes, SECTIONS};
use crate::network::DNSMasq;

type Schema = JSONSchemaProps;

/// Every kind of OpenStack that is not ours, and Route.
pub(super) fn openstack() -> Vec<Served> {
    let mut served = vec![Served {
        group: controlplane::GROUP,
        kind: controlplane::KIND,
        plural: "openstackcontrolplanes",
        singular: "openstackcontrolplane",
        short: &["osctlplane", "osctlplanes", "oscp", "oscps"],
        namespaced: true,
        versions: &[controlplane::VERSION],
        columns: progress(),
        status: true,
        schema: whole("A whole OpenStack control plane.", control_plane()),
    }];
    served.extend(controlplane::KINDS.iter().map(|known| {
        let mut columns = progress();
        if attaches(known.kind) {
            let path = ".status.networkAttachments";
            columns.insert(0, column("NetworkAttachments", "string", path));
        }
        Served {
            group: known.group,
            kind: known.kind,
            plural: known.plural,
            singular: singular(known.kind),
            short: &[],
            namespaced: true,
            versions: &[controlplane::VERSION],
            columns,
            status: true,
            schema: whole("One service of an OpenStack control plane.", spec_of(known.kind)),
        }
    }));
    served.extend(keystone_records());
    served
}

fn progress() -> Vec<CustomResourceColumnDefinition> {
    vec![
        column("Status", "string", ".status.conditions[0].status"),
        column("Message", "string", ".status.conditions[0].message"),
    ]
}

/// Kinds whose upstream columns begin with the attachments of their pods.
fn attaches(kind: &str) -> bool {
    matches!(kind, "GlanceAPI" | "NeutronAPI" | "OVNDBCluster" | "OVNNorthd" | "OVNController")
}

fn singular(kind: &str) -> &'static str {
    match kind {
        "KeystoneAPI" => "keystoneapi",
        "PlacementAPI" => "placementapi",
        "Glance" => "glance",
        "GlanceAPI" => "glanceapi",
        "Cinder" => "cinder",
        "NeutronAPI" => "neutronapi",
        "Nova" => "nova",
        "Heat" => "heat",
        "Horizon" => "horizon",
        "Barbican" => "barbican",
        "Manila" => "manila",
        "Swift" => "swift",
        "Octavia" => "octavia",
        "Designate" => "designate",
        "Ironic" => "ironic",
        "Telemetry" => "telemetry",
        "Watcher" => "watcher",
        "Galera" => "galera",
        "RabbitMq" => "rabbitmq",
        "RabbitmqCluster" => "rabbitmqcluster",
        "Memcached" => "memcached",
        "Redis" => "redis",
        "OVNDBCluster" => "ovndbcluster",
        "OVNNorthd" => "ovnnorthd",
        _ => "ovncontroller",
    }
}

fn whole(description: &str, spec: Schema) -> Schema {
    object(description, [("spec", spec), ("status", free("How it is doing."))])
}

/// The sections of a control plane.
fn control_plane() -> Schema {
    let switch = |what: &str| open(object(what, [("enabled", flag("Whether it is wanted."))]));
    let tls = open(object(
        "Encryption.",
        [
            ("ingress", switch("Of Routes.")),
            ("podLevel", switch("Between pods; off unless it is asked for.")),
        ],
    ));
    let mut sections = open(object(
        "The services of the control plane.",
        [
            ("secret", text("The Secret with the passwords.")),
            ("storageClass", text("Where volumes come from.")),
            ("nodeSelector", map("Nodes the services run on.", text(""))),
            ("tls", tls),
        ],
    ));
    let properties = sections.properties.get_or_insert_default();
    for section in SECTIONS {
        properties.insert(section.name.to_owned(), section_of(section));
    }
    // What the section was called before telemetry.
    let former = switch("The section of ceilometer, before it became a part of telemetry.");
    properties.insert("ceilometer".to_owned(), former);
    sections
}

fn section_of(section: &controlplane::Section) -> Schema {
    let route = || {
        open(object(
            "What is to be different in the Route.",
            [("route", free("Labels, annotations and parts of the spec.")), ("tls", free("TLS."))],
        ))
    };
    let mut schema = open(object(
        &format!("The section of {}.", section.title),
        [("enabled", flag("Whether the service is wanted."))],
    ));
    let fields = schema.properties.get_or_insert_default();
    let mut field = |name: &str, schema| fields.insert(name.to_owned(), schema);
    match section.makes {
        Makes::One { kind: "DNSMasq", .. } => {
            field("template", dnsmasq());
        }
        Makes::One { kind, .. } => {
            field("template", spec_of(kind));
            for name in route_overrides(section.name) {
                field(name, route());
            }
            if section.name == "glance" {
                field("apiOverrides", map("The same for each API.", route()));
            }
            if section.name == "nova" {
                let cell = open(object("One cell.", [("noVNCProxy", route())]));
                field("cellOverride", map("The same for each cell.", cell));
            }
        }
        Makes::Many { kind, .. } => {
            field("templates", map("The instances by name.", spec_of(kind)));
        }
        Makes::Ovn => {
            let template = open(object(
                "The parts of OVN.",
                [
                    ("ovnDBCluster", map("The databases by name.", spec_of("OVNDBCluster"))),
                    ("ovnNorthd", spec_of("OVNNorthd")),
                    ("ovnController", spec_of("OVNController")),
                ],
            ));
            field("template", template);
        }
    }
    schema
}

/// What networks amphorae are on.
fn management_network() -> Schema {
    open(object(
        "The networks amphorae are on. What is not said follows from the attachment.",
        [
            (
                "manageLbMgmtNetworks",
                flag("Whether networks are made; otherwise they are looked for."),
            ),
            (
                "createDefaultLbMgmtNetwork",
                flag(
                    "Whether there is one for all zones, with the prefix of the attachment's route.",
                ),
            ),
            (
                "lbMgmtRouterGateway",
                text("The router's address, where the attachment has no route."),
            ),
            ("availabilityZones", texts("Zones of the default network and the router.")),
            ("availabilityZoneCIDRs", map("Further networks: zones and their prefixes.", text(""))),
        ],
    ))
}

/// How the overrides of a section's Routes are called.
fn route_overrides(section: &str) -> &'static [&'static str] {
    match section {
        "heat" => &["apiOverride", "cnfAPIOverride"],
        "ironic" => &["apiOverride", "inspectorOverride"],
        "swift" => &["proxyOverride"],
        "telemetry" => &[
            "aodhApiOverride",
            "cloudKittyApiOverride",
            "prometheusOverride",
            "alertmanagerOverride",
        ],
        "glance" => &[],
        _ => &["apiOverride"],
    }
}

/// The name server's own schema, without what the operator fills in.
fn dnsmasq() -> Schema {
    let crd = DNSMasq::crd();
    let version = crd.spec.versions.into_iter().next();
    let root = version.and_then(|version| version.schema?.open_api_v3_schema);
    let spec = root.and_then(|root| root.properties?.remove("spec"));
    let mut spec = spec.unwrap_or_else(|| free("The name server."));
    all_of_kind(&mut spec);
    if let Some(fields) = &mut spec.properties {
        fields.remove("containerImage");
    }
    spec
}

fn attachments() -> Schema {
    let name = not_empty(text(""));
    list("Names of NetworkAttachmentDefinitions in the same namespace.", name)
}

fn attachment() -> Schema {
    text("Name of a NetworkAttachmentDefinition in the same namespace.")
}

/// A virtual address, first generation.
fn address<const N: usize>(more: [(&str, Schema); N]) -> Schema {
    let mut schema = object(
        "A virtual address, first generation.",
        [
            ("ipAddressPool", not_empty(text("The pool it is taken from."))),
            ("loadBalancerIPs", texts("The address itself, one per family.")),
            ("sharedIP", default(true, flag("Whether other services may have the same address."))),
            (
                "sharedIPKey",
                default("", text("Who shares must have the same key; empty: that of the pool.")),
            ),
        ],
    );
    let mut names = vec!["ipAddressPool"];
    let fields = schema.properties.get_or_insert_default();
    for (name, field) in more {
        names.insert(0, name);
        fields.insert(name.to_owned(), field);
    }
    required(&names, schema)
}

fn endpoints() -> Schema {
    let endpoint = one_of(&["internal", "public"], text("The endpoint that gets the address."));
    list("Virtual addresses, first generation.", address([("endpoint", endpoint)]))
}

/// What is to be different in a Service, today's generation.
fn service_override(routed: bool) -> Schema {
    let metadata = object(
        "Labels and annotations; they win over those set otherwise.",
        [("annotations", map("Annotations.", text(""))), ("labels", map("Labels.", text("")))],
    );
    let client = object("By address.", [("timeoutSeconds", integer("How long."))]);
    let spec = object(
        "Parts of the Service. Ports, selector and cluster address cannot be changed.",
        [
            ("type", text("ClusterIP, NodePort, LoadBalancer or ExternalName.")),
            ("sessionAffinity", text("None or ClientIP.")),
            ("sessionAffinityConfig", object("Details of it.", [("clientIP", client)])),
            ("loadBalancerSourceRanges", texts("Prefixes clients may come from.")),
            ("loadBalancerClass", text("Who is responsible.")),
            ("externalName", text("Name this stands for.")),
            ("externalTrafficPolicy", text("Cluster or Local.")),
            ("internalTrafficPolicy", text("Cluster or Local.")),
            ("ipFamilyPolicy", text("SingleStack, PreferDualStack or RequireDualStack.")),
        ],
    );
    let mut schema =
        object("What is to be different in the Service.", [("metadata", metadata), ("spec", spec)]);
    if routed {
        let url = text("The address under which clients find it.");
        schema.properties.get_or_insert_default().insert("endpointURL".to_owned(), url);
    }
    schema
}

/// Something that runs pods.
fn worker(description: &str) -> Schema {
    open(object(
        description,
        [
            ("replicas", at_least(0, integer("How many pods."))),
            ("networkAttachments", attachments()),
            ("nodeSelector", map("Nodes the pods run on.", text(""))),
        ],
    ))
}

/// A service of several parts; its pods are those of the parts.
fn service(description: &str) -> Schema {
    let nodes = map("Nodes the pods run on.", text(""));
    open(object(description, [("nodeSelector", nodes)]))
}

fn with<const N: usize>(mut schema: Schema, fields: [(&str, Schema); N]) -> Schema {
    let properties = schema.properties.get_or_insert_default();
    for (name, field) in fields {
        properties.insert(name.to_owned(), field);
    }
    schema
}

/// Something with an internal and a public endpoint.
fn api(description: &str) -> Schema {
    let services = map("The Services by endpoint: internal, public.", service_override(true));
    let overrides = open(object("What is to be different.", [("service", services)]));
    with(worker(description), [("externalEndpoints", endpoints()), ("override", overrides)])
}

/// Something with one Service.
fn single(description: &str, first_generation: bool) -> Schema {
    let services = service_override(true);
    let overrides = open(object("What is to be different.", [("service", services)]));
    let schema = with(worker(description), [("override", overrides)]);
    if !first_generation {
        return schema;
    }
    with(schema, [("externalEndpoints", endpoints())])
}

/// The spec of a kind.
pub(super) fn spec_of(kind: &str) -> Schema {
    match kind {
        "KeystoneAPI" | "PlacementAPI" | "NeutronAPI" => api("The API."),
        "GlanceAPI" => with(
            api("One API of the image service."),
            [("apiType", text("internal, external, single, split or edge."))],
        ),
        "Glance" => with(
            service("The image service."),
            [
                ("glanceAPIInternal", api("The internal API, first generation.")),
                ("glanceAPIExternal", api("The public API, first generation.")),
                ("glanceAPIs", map("The APIs by name, today.", spec_of("GlanceAPI"))),
                ("keystoneEndpoint", text("The API that is registered in Keystone.")),
            ],
        ),
        "Cinder" => with(
            service("The volume service."),
            [
                ("cinderAPI", api("The API.")),
                ("cinderScheduler", worker("The scheduler.")),
                ("cinderBackup", worker("The backup service.")),
                ("cinderVolumes", map("The volume services by name.", worker("One of them."))),
            ],
        ),
        "Nova" => nova(),
        "Heat" => with(
            service("The orchestration service."),
            [
                ("heatAPI", api("The API.")),
                ("heatCfnAPI", api("The API of CloudFormation.")),
                ("heatEngine", api("The engine; it serves no API.")),
            ],
        ),
        "Horizon" => single("The dashboard.", false),
        "Barbican" => with(
            service("The key manager."),
            [
                ("barbicanAPI", api("The API.")),
                ("barbicanWorker", worker("The worker.")),
                ("barbicanKeystoneListener", worker("Listens to Keystone.")),
            ],
        ),
        "Manila" => with(
            service("The share service."),
            [
                ("manilaAPI", api("The API.")),
                ("manilaScheduler", worker("The scheduler.")),
                ("manilaShares", map("The share services by name.", worker("One of them."))),
            ],
        ),
        "Swift" => with(
            service("The object store."),
            [
                ("swiftProxy", api("The proxy.")),
                ("swiftStorage", worker("The storage.")),
                ("swiftRing", worker("Builds the rings.")),
            ],
        ),
        "Octavia" => with(
            service("The load balancer service."),
            [
                ("octaviaAPI", api("The API.")),
                ("octaviaHealthManager", worker("Watches over the amphorae.")),
                ("octaviaHousekeeping", worker("Cleans up.")),
                ("octaviaWorker", worker("Makes the amphorae.")),
                ("octaviaRsyslog", worker("Takes the amphorae's logs.")),
                ("octaviaNetworkAttachment", text("The attachment of the management network.")),
                ("lbMgmtNetwork", management_network()),
                ("tenantName", text("The project of amphorae; service when nothing is said.")),
                ("tenantDomainName", text("Its domain; Default when nothing is said.")),
            ],
        ),
        "Designate" => with(
            service("The name service."),
            [
                ("designateAPI", api("The API.")),
                ("designateCentral", worker("Central.")),
                ("designateProducer", worker("The producer.")),
                ("designateWorker", worker("The worker.")),
                ("designateMdns", worker("mDNS.")),
                ("designateBackendbind9", worker("The name servers.")),
                ("designateUnbound", worker("The resolvers.")),
            ],
        ),
        "Ironic" => with(
            service("The bare metal service."),
            [
                ("ironicAPI", api("The API.")),
                ("ironicConductors", list("The conductors.", worker("One of them."))),
                ("ironicInspector", api("The inspector.")),
                ("ironicNeutronAgent", worker("The agent of Neutron.")),
            ],
        ),
        "Telemetry" => telemetry(),
        "Watcher" => with(
            service("The optimisation service."),
            [
                ("apiServiceTemplate", api("The API.")),
                ("applierServiceTemplate", worker("The applier.")),
                ("decisionengineServiceTemplate", worker("The decision engine.")),
            ],
        ),
        "RabbitMq" | "RabbitmqCluster" => {
            with(single("A message bus.", false), [("externalEndpoint", address([]))])
        }
        "OVNDBCluster" => ovn_database(),
        "OVNNorthd" => with(worker("The daemon."), [("networkAttachment", attachment())]),
        "OVNController" => ovn_controller(),
        _ => worker("The service."),
    }
}

fn nova() -> Schema {
    let cell = open(object(
        "One cell.",
        [
            ("conductorServiceTemplate", worker("The conductor.")),
            ("metadataServiceTemplate", single("The metadata service.", true)),
            ("noVNCProxyServiceTemplate", single("The proxy to consoles.", true)),
            ("novaComputeTemplates", map("Compute services by name.", worker("One of them."))),
        ],
    ));
    with(
        service("The compute service."),
        [
            ("apiServiceTemplate", api("The API.")),
            ("schedulerServiceTemplate", worker("The scheduler.")),
            ("metadataServiceTemplate", single("The metadata service.", true)),
            ("cellTemplates", map("The cells by name.", cell)),
        ],
    )
}

fn telemetry() -> Schema {
    let part =
        |description: &str| with(worker(description), [("enabled", flag("Whether it is wanted."))]);
    let logging = open(object(
        "Collects what the services log.",
        [
            ("enabled", flag("Whether it is wanted.")),
            ("ipaddr", text("The virtual address.")),
            ("port", between(1, 65535, integer("The port."))),
            ("annotations", map("Annotations of the Service.", text(""))),
        ],
    ));
    with(
        service("The telemetry services."),
        [
            ("autoscaling", with(part("Alarms."), [("aodh", api("The API."))])),
            ("ceilometer", part("Collects samples.")),
            ("cloudkitty", with(part("Rating."), [("cloudKittyAPI", api("The API."))])),
            ("logging", logging),
            ("metricStorage", part("Stores metrics.")),
        ],
    )
}

fn ovn_database() -> Schema {
    let replicas = default(1, between(0, 32, integer("How many pods.")));
    with(
        single("A database of OVN.", false),
        [
            ("dbType", matching("^NB|SB$", text("NB or SB."))),
            ("replicas", replicas),
            ("networkAttachment", attachment()),
        ],
    )
}

fn ovn_controller() -> Schema {
    let encapsulation = one_of(&["geneve", "vxlan"], text("How tenants' packets travel."));
    let ids = open(object(
        "What Open vSwitch is told.",
        [
            ("system-id", default("random", text("Name of the chassis."))),
            ("ovn-bridge", default("br-int", text("The bridge."))),
            ("ovn-encap-type", default("geneve", encapsulation)),
        ],
    ));
    let bond = object(
        "A bond of NICs.",
        [
            ("links", list("The NICs.", not_empty(text("")))),
            ("mode", default("active-backup", text("As the kernel calls it."))),
            ("mtu", default(1500, integer("Largest packet."))),
        ],
    );
    with(
        worker("The controllers on the nodes."),
        [
            ("external-ids", ids),
            (
                "nicMappings",
                map("NICs or bridges of the nodes by physical network.", not_empty(text(""))),
            ),
            ("bondConfiguration", map("Bonds by the name the mappings use.", bond)),
            ("networkAttachment", attachment()),
        ],
    )
}

/// What is to be registered in Keystone.
fn keystone_records() -> Vec<Served> {
    let group = "keystone.openstack.org";
    let served = |kind, plural, singular, spec| Served {
        group,
        kind,
        plural,
        singular,
        short: &[],
        namespaced: true,
        versions: &[controlplane::VERSION],
        columns: progress(),
        status: true,
        schema: whole("A record for Keystone.", spec),
    };
    let service = open(object(
        "A service.",
        [
            ("serviceType", text("For example image.")),
            ("serviceName", text("For example glance.")),
            ("serviceDescription", text("For people.")),
            ("enabled", flag("Whether it is offered.")),
            ("serviceUser", text("The user of the service.")),
            ("secret", text("The Secret with its password.")),
            ("passwordSelector", text("The key in it.")),
        ],
    ));
    let endpoint = open(object(
        "Where a service is reached.",
        [
            ("serviceName", text("The service.")),
            ("endpoints", map("URLs by interface: internal, public.", text(""))),
        ],
    ));
    vec![
        served(
            "KeystoneService",
            "keystoneservices",
            "keystoneservice",
            required(&["serviceName", "serviceType"], service),
        ),
        served(
            "KeystoneEndpoint",
            "keystoneendpoints",
            "keystoneendpoint",
            required(&["endpoints", "serviceName"], endpoint),
        ),
    ]
}
