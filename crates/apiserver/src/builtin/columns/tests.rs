//! Rows of realistic objects, as `kubectl get -o wide` would show them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use jiff::Timestamp;
use serde_json::{Value, json};

use super::for_kind;

mod pods;

fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

/// Headings (a star marks the wide ones) and cells, each as one line.
fn table(group: &str, kind: &str, mut object: Value) -> (String, String) {
    object["metadata"]["name"] = "x".into();
    object["metadata"]["creationTimestamp"] = "2026-03-01T09:00:00Z".into();
    let columns = for_kind(group, kind).unwrap();
    let definitions = columns.definitions();
    let cells = columns.cells(&object, now());
    assert_eq!(definitions.len(), cells.len(), "{kind}: every heading has its cell");
    for definition in &definitions {
        assert_ne!(definition["description"], "", "{kind}: every heading is explained");
    }
    let heading = |definition: &Value| {
        let star = if definition["priority"] == 0 { "" } else { "*" };
        format!("{}{star}", definition["name"].as_str().unwrap())
    };
    let cell = |cell: &Value| cell.as_str().map_or_else(|| cell.to_string(), str::to_owned);
    (
        definitions.iter().map(heading).collect::<Vec<_>>().join(" | "),
        cells.iter().map(cell).collect::<Vec<_>>().join(" | "),
    )
}

fn check(group: &str, kind: &str, headings: &str, rows: &[(Value, &str)]) {
    for (object, row) in rows {
        let (is_headings, is_row) = table(group, kind, object.clone());
        assert_eq!(is_headings, headings, "{kind}");
        assert_eq!(is_row, *row, "{kind}: {object}");
    }
}

#[test]
fn unknown_kinds_have_no_columns() {
    assert!(for_kind("", "Deployment").is_none());
    assert!(for_kind("example.com", "Pod").is_none());
}

#[test]
fn kinds_with_data() {
    check(
        "",
        "Namespace",
        "Name | Status | Age",
        &[(json!({"status": {"phase": "Active"}}), "x | Active | 3h"), (json!({}), "x |  | 3h")],
    );
    check(
        "",
        "ConfigMap",
        "Name | Data | Age",
        &[
            (json!({"data": {"a": "1", "b": "2"}, "binaryData": {"c": "AA=="}}), "x | 3 | 3h"),
            (json!({}), "x | 0 | 3h"),
        ],
    );
    check(
        "",
        "Secret",
        "Name | Type | Data | Age",
        &[(json!({"type": "Opaque", "data": {"a": ""}}), "x | Opaque | 1 | 3h")],
    );
    check(
        "",
        "ServiceAccount",
        "Name | Secrets | Age",
        &[(json!({}), "x | 0 | 3h"), (json!({"secrets": [{"name": "s"}]}), "x | 1 | 3h")],
    );
    check(
        "coordination.k8s.io",
        "Lease",
        "Name | Holder | Age",
        &[(json!({"spec": {"holderIdentity": "n1"}}), "x | n1 | 3h"), (json!({}), "x |  | 3h")],
    );
}

#[test]
fn services() {
    let balancer = json!({
        "spec": {
            "type": "LoadBalancer", "clusterIP": "10.0.0.5", "clusterIPs": ["10.0.0.5", "fd00::5"],
            "selector": {"tier": "front", "app": "web"},
            "ports": [
                {"port": 80, "nodePort": 30080, "protocol": "TCP"},
                {"port": 53, "protocol": "UDP"},
            ],
        },
        "status": {"loadBalancer": {"ingress": [
            {"ip": "192.0.2.9"}, {"hostname": "lb.example"}, {"ip": "192.0.2.10"},
        ]}},
    });
    let mut pending = balancer.clone();
    pending["status"] = json!({"loadBalancer": {}});
    let mut both = balancer.clone();
    both["spec"]["externalIPs"] = json!(["198.51.100.1"]);
    let ports = "80:30080/TCP,53/UDP | 3h | app=web,tier=front";
    let rows = [
        (
            json!({"spec": {"clusterIP": "10.0.0.1", "ports": [{"port": 443}]}}),
            "x | ClusterIP | 10.0.0.1 | <none> | 443/TCP | 3h | <none>".to_owned(),
        ),
        (
            json!({"spec": {"type": "ClusterIP", "clusterIP": "None", "externalIPs": ["a", "b"]}}),
            "x | ClusterIP | None | a,b | <none> | 3h | <none>".to_owned(),
        ),
        (
            json!({"spec": {"type": "ExternalName", "externalName": "db.example"}}),
            "x | ExternalName | <none> | db.example | <none> | 3h | <none>".to_owned(),
        ),
        (
            balancer,
            format!("x | LoadBalancer | 10.0.0.5 | 192.0.2.10,192.0.2.9,lb.example | {ports}"),
        ),
        (pending, format!("x | LoadBalancer | 10.0.0.5 | <pending> | {ports}")),
        (
            both,
            format!(
                "x | LoadBalancer | 10.0.0.5 | 192.0.2.10,192.0.2.9,lb.example,198.51.100.1 | {ports}"
            ),
        ),
    ];
    let headings = "Name | Type | Cluster-IP | External-IP | Port(s) | Age | Selector*";
    for (object, row) in rows {
        check("", "Service", headings, &[(object, &row)]);
    }
}

#[test]
fn endpoints_of_services() {
    let subset = json!({
        "addresses": [{"ip": "10.1.0.1"}, {"ip": "fd00::1"}],
        "ports": [{"port": 80}, {"port": 443}],
    });
    check(
        "",
        "Endpoints",
        "Name | Endpoints | Age",
        &[
            (json!({}), "x | <none> | 3h"),
            (
                json!({"subsets": [{"addresses": [{"ip": "10.1.0.1"}, {"ip": "10.1.0.2"}]}]}),
                "x | 10.1.0.1,10.1.0.2 | 3h",
            ),
            (
                json!({"subsets": [subset]}),
                "x | 10.1.0.1:80,[fd00::1]:80,10.1.0.1:443 + 1 more... | 3h",
            ),
        ],
    );
    check(
        "discovery.k8s.io",
        "EndpointSlice",
        "Name | AddressType | Ports | Endpoints | Age",
        &[
            (json!({"addressType": "IPv4"}), "x | IPv4 | <unset> | <unset> | 3h"),
            (
                json!({
                    "addressType": "IPv4",
                    "ports": [{"port": 80}, {"name": "dns"}, {}],
                    "endpoints": [
                        {"addresses": ["10.1.0.1"]}, {"addresses": ["10.1.0.2", "10.1.0.3"]},
                        {"addresses": ["10.1.0.4"]}, {"addresses": ["10.1.0.5"]},
                    ],
                }),
                "x | IPv4 | 80,dns,* | 10.1.0.1,10.1.0.2,10.1.0.3 + 2 more... | 3h",
            ),
        ],
    );
}

#[test]
fn nodes() {
    let node = json!({
        "metadata": {"labels": {
            "node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": "",
            "kubernetes.io/role": "edge", "other": "y",
        }},
        "status": {
            "conditions": [
                {"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"},
            ],
            "addresses": [
                {"type": "Hostname", "address": "x"}, {"type": "InternalIP", "address": "10.2.0.1"},
                {"type": "ExternalIP", "address": "192.0.2.1"},
            ],
            "nodeInfo": {
                "kubeletVersion": "v1.34.1", "osImage": "Debian 13", "kernelVersion": "6.12.1",
                "containerRuntimeVersion": "containerd://2.1.0",
            },
        },
    });
    let mut closed = node.clone();
    closed["spec"]["unschedulable"] = true.into();
    closed["status"]["conditions"][1]["status"] = "Unknown".into();
    let rest = "3h | v1.34.1 | 10.2.0.1 | 192.0.2.1 | Debian 13 | 6.12.1 | containerd://2.1.0";
    check(
        "",
        "Node",
        "Name | Status | Roles | Age | Version | Internal-IP* | External-IP* | OS-Image* | \
         Kernel-Version* | Container-Runtime*",
        &[
            (node, &format!("x | Ready | control-plane,edge,worker | {rest}")),
            (
                closed,
                &format!("x | NotReady,SchedulingDisabled | control-plane,edge,worker | {rest}"),
            ),
            (
                json!({}),
                "x | Unknown | <none> | 3h |  | <none> | <none> | <unknown> | <unknown> | <unknown>",
            ),
        ],
    );
}

#[test]
fn events() {
    let headings = "Last Seen | Type | Reason | Object | Subobject* | Source* | Message | \
                    First Seen* | Count* | Name*";
    let core = json!({
        "type": "Warning", "reason": "BackOff", "message": " Back-off restarting\n", "count": 7,
        "involvedObject": {"kind": "Pod", "name": "web-0", "fieldPath": "spec.containers{web}"},
        "source": {"component": "kubelet", "host": "n1"},
        "firstTimestamp": "2026-03-01T11:00:00Z", "lastTimestamp": "2026-03-01T11:59:30Z",
        "eventTime": null,
    });
    let recorded = json!({
        "type": "Normal", "reason": "Scheduled", "message": "ok", "involvedObject": {"kind": "Pod"},
        "reportingComponent": "scheduler", "reportingInstance": "s-1", "source": {},
        "firstTimestamp": null, "lastTimestamp": null, "eventTime": "2026-03-01T11:58:20.123456Z",
    });
    let mut series = recorded.clone();
    series["series"] = json!({"count": 4, "lastObservedTime": "2026-03-01T11:59:50.000000Z"});
    check(
        "",
        "Event",
        headings,
        &[
            (
                core,
                "30s | Warning | BackOff | pod/web-0 | spec.containers{web} | kubelet, n1 | \
                 Back-off restarting | 60m | 7 | x",
            ),
            (recorded, "99s | Normal | Scheduled | pod |  | scheduler, s-1 | ok | 99s | 1 | x"),
            (series, "10s | Normal | Scheduled | pod |  | scheduler, s-1 | ok | 99s | 4 | x"),
        ],
    );
    let newer = json!({
        "type": "Normal", "reason": "Pulled", "note": "done", "reportingController": "kubelet",
        "regarding": {"kind": "Pod", "name": "web-0"}, "deprecatedCount": 2,
        "deprecatedFirstTimestamp": "2026-03-01T11:00:00Z",
        "deprecatedLastTimestamp": "2026-03-01T11:30:00Z",
    });
    let row = "30m | Normal | Pulled | pod/web-0 |  | kubelet | done | 60m | 2 | x";
    check("events.k8s.io", "Event", headings, &[(newer, row)]);
}

fn template() -> Value {
    json!({"spec": {
        "nodeSelector": {"disk": "ssd"},
        "containers": [{"name": "web", "image": "nginx:1"}, {"name": "log", "image": "fluent:2"}],
    }})
}

#[test]
fn workloads() {
    let selector = json!({
        "matchLabels": {"app": "web"},
        "matchExpressions": [{"key": "tier", "operator": "Exists"}],
    });
    let spec = json!({"replicas": 3, "selector": selector, "template": template()});
    let containers = "web,log | nginx:1,fluent:2";
    check(
        "apps",
        "Deployment",
        "Name | Ready | Up-to-date | Available | Age | Containers* | Images* | Selector*",
        &[
            (
                json!({
                    "spec": spec,
                    "status": {"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1},
                }),
                &format!("x | 2/3 | 3 | 1 | 3h | {containers} | app=web,tier"),
            ),
            (json!({}), "x | 0/1 | 0 | 0 | 3h |  |  | <none>"),
        ],
    );
    check(
        "apps",
        "ReplicaSet",
        "Name | Desired | Current | Ready | Age | Containers* | Images* | Selector*",
        &[(
            json!({"spec": spec, "status": {"replicas": 3, "readyReplicas": 2}}),
            &format!("x | 3 | 3 | 2 | 3h | {containers} | app=web,tier"),
        )],
    );
    check(
        "apps",
        "DaemonSet",
        "Name | Desired | Current | Ready | Up-to-date | Available | Node Selector | Age | \
         Containers* | Images* | Selector*",
        &[(
            json!({"spec": spec, "status": {
                "desiredNumberScheduled": 5, "currentNumberScheduled": 4, "numberReady": 3,
                "updatedNumberScheduled": 2, "numberAvailable": 1,
            }}),
            &format!("x | 5 | 4 | 3 | 2 | 1 | disk=ssd | 3h | {containers} | app=web,tier"),
        )],
    );
    check(
        "apps",
        "StatefulSet",
        "Name | Ready | Age | Containers* | Images*",
        &[(
            json!({"spec": spec, "status": {"readyReplicas": 1}}),
            &format!("x | 1/3 | 3h | {containers}"),
        )],
    );
}

#[test]
fn jobs() {
    let headings =
        "Name | Status | Completions | Duration | Age | Containers* | Images* | Selector*";
    let condition = |kind: &str| json!([{"type": kind, "status": "True"}]);
    let started = "2026-03-01T11:00:00Z";
    let rows = [
        (json!({}), "x | Running | 0/1 |  | 3h |  |  | <none>"),
        (
            json!({
                "spec": {"completions": 3, "template": template()},
                "status": {
                    "conditions": condition("Complete"), "succeeded": 3, "startTime": started,
                    "completionTime": "2026-03-01T11:02:05Z",
                },
            }),
            "x | Complete | 3/3 | 2m5s | 3h | web,log | nginx:1,fluent:2 | <none>",
        ),
        (
            json!({"spec": {"parallelism": 4}, "status": {"succeeded": 1, "startTime": started}}),
            "x | Running | 1/1 of 4 | 60m | 3h |  |  | <none>",
        ),
        (
            json!({"status": {"conditions": condition("Failed")}}),
            "x | Failed | 0/1 |  | 3h |  |  | <none>",
        ),
        (
            json!({
                "metadata": {"deletionTimestamp": started},
                "status": {"conditions": condition("Suspended")},
            }),
            "x | Terminating | 0/1 |  | 3h |  |  | <none>",
        ),
        (
            json!({"status": {"conditions": condition("Suspended")}}),
            "x | Suspended | 0/1 |  | 3h |  |  | <none>",
        ),
        (
            json!({"status": {"conditions": condition("FailureTarget")}}),
            "x | FailureTarget | 0/1 |  | 3h |  |  | <none>",
        ),
    ];
    check("batch", "Job", headings, &rows);
}

#[test]
fn rules_and_definitions() {
    let created = [
        ("rbac.authorization.k8s.io", "Role"),
        ("rbac.authorization.k8s.io", "ClusterRole"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ];
    for (group, kind) in created {
        check(group, kind, "Name | Created At", &[(json!({}), "x | 2026-03-01T09:00:00Z")]);
    }
    let binding = json!({
        "roleRef": {"kind": "ClusterRole", "name": "admin"},
        "subjects": [
            {"kind": "User", "name": "ann"}, {"kind": "Group", "name": "ops"},
            {"kind": "User", "name": "bob"},
            {"kind": "ServiceAccount", "name": "ci", "namespace": "build"},
        ],
    });
    for kind in ["RoleBinding", "ClusterRoleBinding"] {
        check(
            "rbac.authorization.k8s.io",
            kind,
            "Name | Role | Age | Users* | Groups* | ServiceAccounts*",
            &[(binding.clone(), "x | ClusterRole/admin | 3h | ann, bob | ops | build/ci")],
        );
    }
    check(
        "networking.k8s.io",
        "NetworkPolicy",
        "Name | Pod-Selector | Age",
        &[
            (json!({"spec": {"podSelector": {}}}), "x | <none> | 3h"),
            (
                json!({"spec": {"podSelector": {
                    "matchExpressions": [{"key": "a", "operator": "In", "values": ["c", "b"]}],
                }}}),
                "x | a in (b,c) | 3h",
            ),
            (json!({"spec": {"podSelector": {"matchLabels": {"a": 1}}}}), "x | <error> | 3h"),
        ],
    );
    check(
        "scheduling.k8s.io",
        "PriorityClass",
        "Name | Value | Global-Default | Age | PreemptionPolicy",
        &[
            (json!({"value": 1000}), "x | 1000 | false | 3h | PreemptLowerPriority"),
            (
                json!({"value": -5, "globalDefault": true, "preemptionPolicy": "Never"}),
                "x | -5 | true | 3h | Never",
            ),
        ],
    );
    for kind in ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] {
        check(
            "admissionregistration.k8s.io",
            kind,
            "Name | Webhooks | Age",
            &[(json!({"webhooks": [{}, {}]}), "x | 2 | 3h"), (json!({}), "x | 0 | 3h")],
        );
    }
}

#[test]
fn revisions_name_their_controller() {
    let owner = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "controller": true}]);
    check(
        "apps",
        "ControllerRevision",
        "Name | Controller | Revision | Age",
        &[
            (
                json!({"revision": 2, "metadata": {"ownerReferences": owner}}),
                "x | statefulset.apps/web | 2 | 3h",
            ),
            (json!({"revision": 1}), "x | <none> | 1 | 3h"),
        ],
    );
}
