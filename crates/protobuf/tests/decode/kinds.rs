//! Kinds that kubectl has no command for, written by hand.

use landbridge_protobuf::{decode, decode_as};
use serde_json::{Value, json};

use super::encoder::{Bytes, body, double, entry, length, message, text, varint};

fn named(name: &str) -> Bytes {
    message(1, &[text(1, name)])
}

/// Field `field`, a `Time` or a `MicroTime`.
fn time(field: u64, seconds: i64, nanos: i64) -> Bytes {
    message(field, &[varint(1, seconds), varint(2, nanos)])
}

#[track_caller]
fn check(api_version: &str, kind: &str, raw: &[Bytes], mut wanted: Value) {
    wanted["apiVersion"] = api_version.into();
    wanted["kind"] = kind.into();
    assert_eq!(decode(&body(api_version, kind, &raw.concat())).unwrap().value, wanted);
}

#[test]
fn leases_have_microseconds() {
    let spec = [text(1, "me"), varint(2, 15), time(3, 1_700_000_000, 123_456_789), varint(5, 0)];
    check(
        "coordination.k8s.io/v1",
        "Lease",
        &[named("leader"), message(2, &spec)],
        json!({"metadata": {"name": "leader"}, "spec": {
            "holderIdentity": "me",
            "leaseDurationSeconds": 15,
            "acquireTime": "2023-11-14T22:13:20.123456Z",
            "leaseTransitions": 0,
        }}),
    );
}

#[test]
fn times_are_whole_seconds_and_unset_when_empty() {
    let metadata = [
        time(8, 1_700_000_000, 123_456_789),
        length(9, &[]),
        message(17, &[text(1, "kubectl"), time(4, 0, 0), message(7, &[text(1, r#"{"f:a":{}}"#)])]),
    ];
    assert_eq!(
        decode_as("meta.v1.ObjectMeta", &metadata.concat()).unwrap(),
        json!({"creationTimestamp": "2023-11-14T22:13:20Z", "managedFields": [{
            "manager": "kubectl", "time": "1970-01-01T00:00:00Z", "fieldsV1": {"f:a": {}},
        }]})
    );
    for seconds in [i64::MAX, i64::MIN, 253_402_300_800, -62_167_219_201] {
        let error = decode_as("meta.v1.ObjectMeta", &time(8, seconds, 0)).unwrap_err();
        assert!(error.to_string().ends_with("the time is out of range"), "{error}");
    }
    let last = decode_as("meta.v1.Time", &varint(1, 253_402_300_799)).unwrap();
    assert_eq!(last, "9999-12-31T23:59:59Z");
    assert!(decode_as("meta.v1.MicroTime", &varint(2, -1000)).is_err());
}

#[test]
fn events_of_both_groups() {
    let object = message(2, &[text(1, "Pod"), text(3, "web")]);
    check(
        "v1",
        "Event",
        &[named("e"), object, text(3, "Started"), time(7, 10, 0), varint(8, 2), text(9, "Normal")],
        json!({"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "web"},
            "reason": "Started", "lastTimestamp": "1970-01-01T00:00:10Z", "count": 2, "type": "Normal"}),
    );
    check(
        "events.k8s.io/v1",
        "Event",
        &[named("e"), time(2, 10, 5000), text(4, "landbridge"), text(10, "note")],
        json!({"metadata": {"name": "e"}, "eventTime": "1970-01-01T00:00:10.000005Z",
            "reportingController": "landbridge", "note": "note"}),
    );
}

#[test]
fn endpoint_slices() {
    let conditions = message(2, &[varint(1, 1), varint(2, 0)]);
    let endpoint = message(2, &[text(1, "10.0.0.1"), text(1, "10.0.0.2"), conditions]);
    let port = message(3, &[text(1, ""), text(2, "TCP"), varint(3, 80)]);
    check(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        &[named("web"), endpoint, port, text(4, "IPv4")],
        json!({"metadata": {"name": "web"}, "addressType": "IPv4",
            "endpoints": [{"addresses": ["10.0.0.1", "10.0.0.2"],
                "conditions": {"ready": true, "serving": false}}],
            "ports": [{"name": "", "protocol": "TCP", "port": 80}]}),
    );
}

#[test]
fn nodes_have_quantities() {
    let cpu = entry(1, "cpu", &text(1, "1500m"));
    let status = message(3, &[cpu, message(6, &[message(1, &[varint(1, 10250)])])]);
    check(
        "v1",
        "Node",
        &[named("n1"), message(2, &[varint(4, 1), text(7, "10.1.0.0/24")]), status],
        json!({"metadata": {"name": "n1"}, "spec": {"unschedulable": true, "podCIDRs": ["10.1.0.0/24"]},
            "status": {"capacity": {"cpu": "1500m"}, "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}}}}),
    );
}

#[test]
fn network_policies_have_numbers_or_strings() {
    let number = message(2, &[varint(1, 0), varint(2, 53), text(3, "")]);
    let word = message(2, &[varint(1, 1), varint(2, 0), text(3, "dns")]);
    let ingress = message(2, &[message(1, &[text(1, "UDP"), number]), message(1, &[word])]);
    check(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        &[named("dns"), message(2, &[length(1, &[]), ingress, text(4, "Ingress")])],
        json!({"metadata": {"name": "dns"}, "spec": {
            "podSelector": {},
            "ingress": [{"ports": [{"protocol": "UDP", "port": 53}, {"port": "dns"}]}],
            "policyTypes": ["Ingress"],
        }}),
    );
}

#[test]
fn webhooks_inline_their_rules() {
    let rule = message(2, &[text(1, "apps"), text(2, "v1"), text(3, "deployments"), text(4, "*")]);
    let rules = message(3, &[text(1, "CREATE"), rule]);
    let client = message(
        2,
        &[message(1, &[text(1, "ns"), text(2, "hook"), varint(4, 443)]), length(2, b"ca")],
    );
    check(
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        &[named("v"), message(2, &[text(1, "a.example.org"), client, rules, varint(7, 5)])],
        json!({"metadata": {"name": "v"}, "webhooks": [{
            "name": "a.example.org",
            "clientConfig": {"service": {"namespace": "ns", "name": "hook", "port": 443}, "caBundle": "Y2E="},
            "rules": [{"operations": ["CREATE"], "apiGroups": ["apps"], "apiVersions": ["v1"],
                "resources": ["deployments"], "scope": "*"}],
            "timeoutSeconds": 5,
        }]}),
    );
}

#[test]
fn crds_have_schemas_with_unions() {
    let schema = [
        text(5, "object"),
        entry(29, "a", &[message(8, &[text(1, "0")]), double(9, 10.0), double(11, 0.0)].concat()),
        entry(29, "b", &message(24, &[message(1, &[text(5, "string")])])),
        entry(
            29,
            "c",
            &message(24, &[message(2, &[text(5, "string")]), message(2, &[double(19, 0.25)])]),
        ),
        entry(29, "d", &message(30, &[varint(1, 0)])),
        entry(29, "e", &message(30, &[varint(1, 1), message(2, &[varint(37, 1)])])),
        entry(
            29,
            "f",
            &[
                varint(38, 0),
                varint(40, 1),
                message(20, &[text(1, r#""x""#)]),
                message(20, &[text(1, "null")]),
            ]
            .concat(),
        ),
        entry(32, "g", &[text(2, "h"), text(2, "i")].concat()),
        text(3, "#/x"),
        message(44, &[text(1, "self.a > 0")]),
    ];
    let version = message(
        7,
        &[
            text(1, "v1"),
            varint(2, 1),
            varint(3, 0),
            message(4, &[message(1, &schema)]),
            message(5, &[length(1, &[]), message(2, &[text(1, ".spec.replicas")])]),
        ],
    );
    check(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        &[named("things.example.org"), message(2, &[text(1, "example.org"), version])],
        json!({"metadata": {"name": "things.example.org"}, "spec": {"group": "example.org", "versions": [{
            "name": "v1", "served": true, "storage": false,
            "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "a": {"default": 0, "maximum": 10, "minimum": 0},
                    "b": {"items": {"type": "string"}},
                    "c": {"items": [{"type": "string"}, {"multipleOf": 0.25}]},
                    "d": {"additionalProperties": false},
                    "e": {"additionalProperties": {"nullable": true}},
                    "f": {"x-kubernetes-preserve-unknown-fields": false, "x-kubernetes-int-or-string": true,
                        "enum": ["x", null]},
                },
                "dependencies": {"g": ["h", "i"]},
                "$ref": "#/x",
                "x-kubernetes-validations": [{"rule": "self.a > 0"}],
            }},
            "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas"}},
        }]}}),
    );
    let broken = message(8, &[text(1, "{")]);
    let error = decode_as("apiextensions.v1.JSONSchemaProps", &broken).unwrap_err();
    assert!(error.to_string().contains("embedded JSON"), "{error}");
    let error = decode_as("apiextensions.v1.JSONSchemaProps", &double(9, f64::NAN)).unwrap_err();
    assert!(error.to_string().contains("not finite"), "{error}");
}

#[test]
fn options_come_under_any_version() {
    let raw =
        [varint(1, 0), message(2, &[text(1, "11-22")]), text(4, "Foreground"), text(5, "All")];
    for version in ["v1", "apps/v1", "meta.k8s.io/v1", "example.org/v1alpha1"] {
        check(
            version,
            "DeleteOptions",
            &raw,
            json!({"gracePeriodSeconds": 0, "preconditions": {"uid": "11-22"},
                "propagationPolicy": "Foreground", "dryRun": ["All"]}),
        );
    }
    check(
        "policy/v1",
        "Eviction",
        &[named("web"), message(2, &[varint(1, 30)])],
        json!({"metadata": {"name": "web"}, "deleteOptions": {"gracePeriodSeconds": 30}}),
    );
    check(
        "autoscaling/v1",
        "Scale",
        &[named("web"), message(2, &[varint(1, 0)])],
        json!({"metadata": {"name": "web"}, "spec": {}}),
    );
    check(
        "v1",
        "Status",
        &[length(1, &[]), text(2, "Failure"), varint(6, 404)],
        json!({"metadata": {}, "status": "Failure", "code": 404}),
    );
}

#[test]
fn reviews_have_lists_in_maps() {
    let extra = entry(5, "scopes", &[text(1, "a"), text(1, "b")].concat());
    check(
        "authorization.k8s.io/v1",
        "SubjectAccessReview",
        &[length(1, &[]), message(2, &[text(3, "eve"), text(4, "staff"), extra])],
        json!({"metadata": {}, "spec": {"user": "eve", "groups": ["staff"],
            "extra": {"scopes": ["a", "b"]}}}),
    );
}

#[test]
fn lists_of_numbers_may_be_packed() {
    let one_by_one = [varint(4, 1), varint(4, -2)].concat();
    let packed = length(4, &[&[1][..], &varint(0, -2)[1..]].concat());
    for raw in [one_by_one, packed] {
        let value = decode_as("core.v1.PodSecurityContext", &raw).unwrap();
        assert_eq!(value, json!({"supplementalGroups": [1, -2]}));
    }
}

#[test]
fn repeated_fields_merge_as_protobuf_asks() {
    let raw = [
        message(1, &[text(1, "old"), entry(11, "a", b"1")]),
        message(1, &[text(1, "new"), entry(11, "b", b"2"), entry(11, "a", b"3")]),
        message(2, &[message(14, &[varint(2, 5)])]),
        message(2, &[message(14, &[varint(3, 0)])]),
    ];
    let value = decode_as("core.v1.Pod", &raw.concat()).unwrap();
    assert_eq!(value["metadata"], json!({"name": "new", "labels": {"a": "3", "b": "2"}}));
    let security = json!({"runAsUser": 5, "runAsNonRoot": false});
    assert_eq!(value["spec"], json!({"securityContext": security}));
    // An entry without a value has the value of nothing.
    let value = decode_as("core.v1.Secret", &message(2, &[text(1, "k")])).unwrap();
    assert_eq!(value, json!({"data": {"k": ""}}));
    let value = decode_as("core.v1.ResourceRequirements", &message(1, &[text(1, "cpu")])).unwrap();
    assert_eq!(value, json!({"limits": {"cpu": "0"}}));
}
