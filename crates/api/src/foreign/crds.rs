//! CRDs of the foreign kinds, for the embedded API.
//!
//! Names, scopes, versions, subresources and columns are upstream's, so that clients and manifests
//! cannot tell the difference. Schemas hold the fields that matter here; where upstream has
//! hundreds, unknown ones are kept as they are. A real cluster has these CRDs from their owners:
//! [`crate::crds`] leaves them out.

mod openstack;
mod schema;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition, CustomResourceDefinitionNames,
    CustomResourceDefinitionSpec, CustomResourceDefinitionVersion, CustomResourceSubresourceStatus,
    CustomResourceSubresources, CustomResourceValidation, JSONSchemaProps, ValidationRule,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use self::schema::{
    default, flag, free, int_or_string, integer, list, map, object, open, required, selector,
    selectors, text, texts, time,
};
use super::{cni, metallb, nmstate, route, whereabouts};

/// Every foreign kind that the embedded API serves.
pub fn crds() -> Vec<CustomResourceDefinition> {
    [cni(), whereabouts(), nmstate(), metallb(), announcements(), openstack::openstack(), routes()]
        .into_iter()
        .flatten()
        .map(Served::crd)
        .collect()
}

/// One kind.
struct Served {
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
    short: &'static [&'static str],
    namespaced: bool,
    /// The first one is stored; the others have the same schema and are on their way out.
    versions: &'static [&'static str],
    columns: Vec<CustomResourceColumnDefinition>,
    status: bool,
    schema: JSONSchemaProps,
}

impl Served {
    fn crd(self) -> CustomResourceDefinition {
        let versions = self.versions.iter().enumerate();
        let versions = versions.map(|(i, name)| CustomResourceDefinitionVersion {
            name: (*name).to_owned(),
            served: true,
            storage: i == 0,
            deprecated: (i > 0).then_some(true),
            additional_printer_columns: Some(self.columns.clone()).filter(|all| !all.is_empty()),
            subresources: self.status.then(|| CustomResourceSubresources {
                status: Some(CustomResourceSubresourceStatus(serde_json::json!({}))),
                scale: None,
            }),
            schema: Some(CustomResourceValidation {
                open_api_v3_schema: Some(self.schema.clone()),
            }),
            ..CustomResourceDefinitionVersion::default()
        });
        let short: Vec<String> = self.short.iter().map(|name| (*name).to_owned()).collect();
        CustomResourceDefinition {
            metadata: ObjectMeta {
                name: Some(format!("{}.{}", self.plural, self.group)),
                ..ObjectMeta::default()
            },
            spec: CustomResourceDefinitionSpec {
                group: self.group.to_owned(),
                names: CustomResourceDefinitionNames {
                    kind: self.kind.to_owned(),
                    list_kind: Some(format!("{}List", self.kind)),
                    plural: self.plural.to_owned(),
                    singular: Some(self.singular.to_owned()),
                    short_names: Some(short).filter(|short| !short.is_empty()),
                    ..CustomResourceDefinitionNames::default()
                },
                scope: if self.namespaced { "Namespaced" } else { "Cluster" }.to_owned(),
                versions: versions.collect(),
                ..CustomResourceDefinitionSpec::default()
            },
            status: None,
        }
    }
}

fn column(name: &str, kind: &str, path: &str) -> CustomResourceColumnDefinition {
    CustomResourceColumnDefinition {
        name: name.to_owned(),
        type_: kind.to_owned(),
        json_path: path.to_owned(),
        ..CustomResourceColumnDefinition::default()
    }
}

fn cni() -> Vec<Served> {
    let config = text("The CNI configuration, as JSON.");
    vec![Served {
        group: cni::GROUP,
        kind: cni::KIND,
        plural: "network-attachment-definitions",
        singular: "network-attachment-definition",
        short: &["net-attach-def"],
        namespaced: true,
        versions: &["v1"],
        columns: Vec::new(),
        status: false,
        schema: object(
            "How pods are attached to a further network.",
            [("spec", object("The attachment.", [("config", config)]))],
        ),
    }]
}

fn whereabouts() -> Vec<Served> {
    let allocation = object(
        "Who holds the address.",
        [
            ("id", text("The container.")),
            ("podref", text("The pod, as namespace/name.")),
            ("ifname", text("The interface in the pod.")),
        ],
    );
    let allocations = map("Holders by their offset from the start of the range.", allocation);
    let pool = object(
        "The record of one range.",
        [("range", text("The prefix.")), ("allocations", allocations)],
    );
    let reservation = object(
        "Who holds the address.",
        [
            ("containerid", text("The container.")),
            ("podref", text("The pod, as namespace/name.")),
            ("ifname", text("The interface in the pod.")),
        ],
    );
    let kind = |kind, plural, singular, schema| Served {
        group: whereabouts::GROUP,
        kind,
        plural,
        singular,
        short: &[],
        namespaced: true,
        versions: &["v1alpha1"],
        columns: Vec::new(),
        status: false,
        schema,
    };
    vec![
        kind(
            whereabouts::KIND,
            "ippools",
            "ippool",
            object(
                "What whereabouts has given to whom, range by range.",
                [("spec", required(&["allocations", "range"], pool))],
            ),
        ),
        kind(
            "OverlappingRangeIPReservation",
            "overlappingrangeipreservations",
            "overlappingrangeipreservation",
            object(
                "One address that whereabouts has given, over all ranges.",
                [("spec", required(&["podref"], reservation))],
            ),
        ),
    ]
}

/// Conditions as kubernetes-nmstate writes them.
fn nmstate_conditions() -> JSONSchemaProps {
    let condition = object(
        "One aspect.",
        [
            ("type", text("Which aspect.")),
            ("status", text("True, False or Unknown.")),
            ("reason", text("Why, as one word.")),
            ("message", text("Why, in words.")),
            ("messageEncoded", text("Why, compressed.")),
            ("lastHeartbeatTime", time("When it was last looked at.")),
            // Upstream's spelling in one of the kinds.
            ("lastHearbeatTime", time("When it was last looked at.")),
            ("lastTransitionTime", time("When the status last changed.")),
        ],
    );
    list("How it is doing.", required(&["status", "type"], condition))
}

fn nmstate() -> Vec<Served> {
    const TRUE: &str = r#".status.conditions[?(@.status=="True")]"#;
    let status = column("Status", "string", &format!("{TRUE}.type"));
    let since = column("Status Age", "date", &format!("{TRUE}.lastTransitionTime"));
    let reason = column("Reason", "string", &format!("{TRUE}.reason"));
    let meta =
        || object("About the state.", [("time", time("When.")), ("version", text("Which."))]);
    let policy = object(
        "What nodes shall look like.",
        [
            ("nodeSelector", map("Labels a node must have; none: every node.", text(""))),
            ("capture", map("Named expressions over the state of the node.", text(""))),
            ("desiredState", free("The state, in the words of nmstate.")),
            ("maxUnavailable", int_or_string("How many nodes may be changed at once.")),
        ],
    );
    let policy_status = object(
        "How far the nodes are.",
        [
            ("conditions", nmstate_conditions()),
            ("unavailableNodeCount", integer("Nodes that are being changed.")),
            ("unavailableNodeCountMap", map("The same by generation.", integer(""))),
            ("lastUnavailableNodeCountUpdate", time("When that was counted.")),
        ],
    );
    let captured =
        object("One captured state.", [("state", free("The state.")), ("metaInfo", meta())]);
    let enactment_status = object(
        "How far the node is.",
        [
            ("desiredState", free("The state, with captures filled in.")),
            ("desiredStateMetaInfo", meta()),
            ("capturedStates", map("What was captured.", captured)),
            ("policyGeneration", integer("Which state of the policy this is about.")),
            ("features", texts("What of nmstate is used.")),
            ("retryCount", map("Tries by generation.", integer(""))),
            ("conditions", nmstate_conditions()),
        ],
    );
    let state_status = object(
        "What the node looks like.",
        [
            ("currentState", free("The state, in the words of nmstate.")),
            ("lastSuccessfulUpdateTime", time("When it was read.")),
            ("handlerNmstateVersion", text("Version of nmstate.")),
            ("hostNetworkManagerVersion", text("Version of NetworkManager on the node.")),
            ("handlerNetworkManagerVersion", text("Version of NetworkManager in the handler.")),
            ("conditions", nmstate_conditions()),
        ],
    );
    let kind = |kind, plural, singular, short, versions, columns, schema| Served {
        group: nmstate::GROUP,
        kind,
        plural,
        singular,
        short,
        namespaced: false,
        versions,
        columns,
        status: true,
        schema,
    };
    vec![
        kind(
            nmstate::KIND,
            "nodenetworkconfigurationpolicies",
            "nodenetworkconfigurationpolicy",
            &["nncp"],
            &["v1", "v1beta1", "v1alpha1"],
            vec![status.clone(), reason.clone()],
            object(
                "What the network interfaces of nodes shall look like.",
                [("spec", policy), ("status", policy_status)],
            ),
        ),
        kind(
            "NodeNetworkConfigurationEnactment",
            "nodenetworkconfigurationenactments",
            "nodenetworkconfigurationenactment",
            &["nnce"],
            &["v1beta1", "v1alpha1"],
            vec![status, since, reason],
            open(object("How one policy is doing on one node.", [("status", enactment_status)])),
        ),
        kind(
            "NodeNetworkState",
            "nodenetworkstates",
            "nodenetworkstate",
            &["nns"],
            &["v1beta1", "v1alpha1"],
            Vec::new(),
            object("What the network of a node looks like.", [("status", state_status)]),
        ),
    ]
}

fn metallb() -> Vec<Served> {
    let allocation = object(
        "Which Services may use the pool.",
        [
            ("priority", integer("Pools with a lower number are used first; 0 is last.")),
            ("namespaces", texts("Namespaces of the Services.")),
            ("namespaceSelectors", selectors("The same by label.")),
            ("serviceSelectors", selectors("Labels of the Services.")),
        ],
    );
    let pool = object(
        "The addresses and who may use them.",
        [
            ("addresses", texts("Prefixes and ranges, for example 172.17.0.80-172.17.0.90.")),
            ("autoAssign", default(true, flag("Whether Services get these without asking."))),
            (
                "avoidBuggyIPs",
                default(false, flag("Whether addresses ending in .0 and .255 are left out.")),
            ),
            ("serviceAllocation", allocation),
        ],
    );
    let pool_status = object(
        "How full it is.",
        [
            ("assignedIPv4", integer("IPv4 addresses in use.")),
            ("assignedIPv6", integer("IPv6 addresses in use.")),
            ("availableIPv4", integer("IPv4 addresses left.")),
            ("availableIPv6", integer("IPv6 addresses left.")),
        ],
    );
    let preferred =
        object("A wish.", [("weight", integer("1 to 100.")), ("preference", selector())]);
    let advertisement = object(
        "Which pools are announced where.",
        [
            ("ipAddressPools", texts("The pools by name; neither names nor selectors: all.")),
            ("ipAddressPoolSelectors", selectors("The pools by label.")),
            ("nodeSelectors", selectors("Nodes that may announce.")),
            ("interfaces", texts("Interfaces to announce on; none: all.")),
            ("serviceSelectors", selectors("Services this is about.")),
            ("preferredNodeSelectors", list("Nodes that announce rather than others.", preferred)),
        ],
    );
    let kind = |kind, plural, singular, columns, schema| Served {
        group: metallb::GROUP,
        kind,
        plural,
        singular,
        short: &[],
        namespaced: true,
        versions: &["v1beta1"],
        columns,
        status: true,
        schema,
    };
    let mut nodes = column("Node Selectors", "string", ".spec.nodeSelectors");
    nodes.priority = Some(10);
    vec![
        kind(
            "IPAddressPool",
            "ipaddresspools",
            "ipaddresspool",
            vec![
                column("Auto Assign", "boolean", ".spec.autoAssign"),
                column("Avoid Buggy IPs", "boolean", ".spec.avoidBuggyIPs"),
                column("Addresses", "string", ".spec.addresses"),
            ],
            required(
                &["spec"],
                object(
                    "Addresses for Services of type LoadBalancer.",
                    [("spec", required(&["addresses"], pool)), ("status", pool_status)],
                ),
            ),
        ),
        kind(
            "L2Advertisement",
            "l2advertisements",
            "l2advertisement",
            vec![
                column("IPAddressPools", "string", ".spec.ipAddressPools"),
                column("IPAddressPool Selectors", "string", ".spec.ipAddressPoolSelectors"),
                column("Interfaces", "string", ".spec.interfaces"),
                nodes,
            ],
            object(
                "Where addresses of pools are announced by ARP and NDP.",
                [("spec", advertisement), ("status", object("Nothing is reported.", []))],
            ),
        ),
        kind(
            "ConfigurationState",
            "configurationstates",
            "configurationstate",
            vec![
                column("Result", "string", ".status.result"),
                column("ErrorSummary", "string", ".status.errorSummary"),
                column("Age", "date", ".metadata.creationTimestamp"),
            ],
            object(
                "Whether the configuration makes sense to one component.",
                [("spec", free("Nothing is asked.")), ("status", configuration_status())],
            ),
        ),
    ]
}

/// Who announces what, as MetalLB's speakers tell it.
fn announcements() -> Vec<Served> {
    let fixed = |description: &str| {
        let mut field = text(description);
        field.x_kubernetes_validations = Some(vec![ValidationRule {
            rule: "self == oldSelf".to_owned(),
            message: Some("Value is immutable".to_owned()),
            ..ValidationRule::default()
        }]);
        field
    };
    let interface = object("An interface.", [("name", text("Its name."))]);
    let status = object(
        "Where it is announced.",
        [
            ("node", fixed("The node that announces it.")),
            ("serviceName", fixed("The Service.")),
            ("serviceNamespace", fixed("Its namespace.")),
            ("interfaces", list("On these interfaces only; none: on all.", interface)),
        ],
    );
    vec![Served {
        group: metallb::GROUP,
        kind: "ServiceL2Status",
        plural: "servicel2statuses",
        singular: "servicel2status",
        short: &[],
        namespaced: true,
        versions: &["v1beta1"],
        columns: vec![
            column("Allocated Node", "string", ".status.node"),
            column("Service Name", "string", ".status.serviceName"),
            column("Service Namespace", "string", ".status.serviceNamespace"),
        ],
        status: true,
        schema: object(
            "Which node announces a Service.",
            [("spec", free("Nothing is asked.")), ("status", status)],
        ),
    }]
}

fn routes() -> Vec<Served> {
    let target = || {
        let fields = [
            ("kind", default("Service", text("Always Service."))),
            ("name", text("The Service.")),
            ("weight", integer("Beside alternateBackends.")),
        ];
        required(&["name"], object("The Service behind it.", fields))
    };
    let tls = object(
        "How TLS ends.",
        [
            ("termination", text("edge, reencrypt or passthrough.")),
            ("certificate", text("The certificate, PEM; none: the ingress's own.")),
            ("key", text("Its key, PEM.")),
            ("caCertificate", text("Certificates between it and its authority, PEM.")),
            ("destinationCACertificate", text("Whom pods' certificates are trusted from, PEM.")),
            ("insecureEdgeTerminationPolicy", text("None, Allow or Redirect.")),
            ("externalCertificate", open(object("A Secret with the certificate.", []))),
        ],
    );
    let spec = object(
        "What is wanted.",
        [
            ("host", text("The name; none: one is made of name, namespace and domain.")),
            ("subdomain", text("Kept.")),
            ("path", text("Only requests whose path begins so.")),
            ("to", target()),
            ("alternateBackends", list("Kept; all requests go to `to`.", target())),
            ("port", object("Which port.", [("targetPort", int_or_string("Its name or number."))])),
            ("tls", required(&["termination"], tls)),
            ("wildcardPolicy", default("None", text("Always None."))),
            ("httpHeaders", open(object("Kept.", []))),
        ],
    );
    let condition = object(
        "One aspect.",
        [
            ("type", text("Admitted.")),
            ("status", text("True, False or Unknown.")),
            ("reason", text("Why, as one word.")),
            ("message", text("Why, in words.")),
            ("lastTransitionTime", time("When the status last changed.")),
        ],
    );
    let ingress = object(
        "What one ingress says.",
        [
            ("host", text("The name it is served under.")),
            ("routerName", text("Which ingress.")),
            ("routerCanonicalHostname", text("The ingress's own name.")),
            ("wildcardPolicy", text("Always None.")),
            ("conditions", list("Whether it is served.", condition)),
        ],
    );
    let status = object("Who serves it.", [("ingress", list("One for each ingress.", ingress))]);
    vec![Served {
        group: route::GROUP,
        kind: route::KIND,
        plural: "routes",
        singular: "route",
        short: &[],
        namespaced: true,
        versions: &["v1"],
        columns: vec![
            column("Host", "string", ".status.ingress[0].host"),
            column(
                "Admitted",
                "string",
                r#".status.ingress[0].conditions[?(@.type=="Admitted")].status"#,
            ),
            column("Service", "string", ".spec.to.name"),
            column("TLS", "string", ".spec.tls.termination"),
        ],
        status: true,
        schema: required(
            &["spec"],
            object(
                "A host name under which a Service is reached from outside.",
                [("spec", required(&["to"], spec)), ("status", status)],
            ),
        ),
    }]
}

fn configuration_status() -> JSONSchemaProps {
    let condition = required(
        &["type", "status"],
        object(
            "One aspect.",
            [
                ("type", text("poolReconcilerValid or configReconcilerValid.")),
                ("status", text("True, False or Unknown.")),
                ("reason", text("One word.")),
                ("message", text("What is wrong.")),
                ("lastTransitionTime", time("When it was said.")),
                ("observedGeneration", integer("Of what.")),
            ],
        ),
    );
    let mut conditions = list("The aspects.", condition);
    conditions.x_kubernetes_list_type = Some("map".to_owned());
    conditions.x_kubernetes_list_map_keys = Some(vec!["type".to_owned()]);
    object(
        "What was found.",
        [
            ("result", text("Valid, Invalid or Unknown.")),
            ("errorSummary", text("What is wrong.")),
            ("conditions", conditions),
        ],
    )
}
