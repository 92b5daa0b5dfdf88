//! Random requests against the handler itself: nothing breaks it, and it does what a map does.

#![allow(clippy::expect_used)] // all of this is test code; clippy only knows `#[test]` functions

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::OnceLock;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use landbridge_apiserver::{ApiServer, Identity, Options};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// One server for all properties.
struct Shared {
    runtime: Runtime,
    server: ApiServer,
    _dir: TempDir,
}

fn shared() -> &'static Shared {
    static SHARED: OnceLock<Shared> = OnceLock::new();
    SHARED.get_or_init(|| {
        let runtime = Runtime::new().expect("runtime");
        let dir = tempfile::tempdir().expect("temporary directory");
        let open = ApiServer::open(Options::new(dir.path().join("state")));
        let server = runtime.block_on(open).expect("server");
        Shared { runtime, server, _dir: dir }
    })
}

/// Code and body of an answer. Watches must bring their own end.
fn send(method: &Method, target: &str, media: &str, body: impl Into<Bytes>) -> (u16, Bytes) {
    let Shared { runtime, server, .. } = shared();
    let request = Request::builder().method(method).uri(target).header("content-type", media);
    let request = request.body(Full::new(body.into())).expect("request");
    runtime.block_on(async {
        let response = server.handle(request, Some(&Identity::admin())).await;
        let code = response.status().as_u16();
        (code, response.into_body().collect().await.expect("body").to_bytes())
    })
}

fn send_json(method: &Method, target: &str, body: &Value) -> (u16, Value) {
    let media =
        if *method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let (code, bytes) = send(method, target, media, body.to_string());
    (code, serde_json::from_slice(&bytes).expect("JSON"))
}

fn get(target: &str) -> Value {
    let (code, bytes) = send(&Method::GET, target, "application/json", "");
    let value = serde_json::from_slice(&bytes).expect("JSON");
    assert_eq!(code, 200, "{target}: {value}");
    value
}

/// Any JSON, not too deep.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("\\PC{0,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Something like an object: the right words at the right places, with any values.
fn almost_object() -> impl Strategy<Value = Value> {
    let field = prop::sample::select(vec![
        "apiVersion",
        "kind",
        "metadata",
        "spec",
        "status",
        "data",
        "type",
        "immutable",
        "rules",
        "items",
    ]);
    let meta = prop::sample::select(vec![
        "name",
        "namespace",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
        "resourceVersion",
        "uid",
        "generateName",
        "creationTimestamp",
        "deletionTimestamp",
        "generation",
        "managedFields",
    ]);
    let metas = prop::collection::btree_map(meta, any_json(), 0..4);
    let name = prop_oneof![any_json(), "[a-z]{1,4}".prop_map(Value::from)];
    (prop::collection::btree_map(field, any_json(), 0..4), metas, name).prop_map(
        |(fields, metas, name)| {
            let owned = |(key, value): (&str, Value)| (key.to_owned(), value);
            let mut object: Map<String, Value> = fields.into_iter().map(owned).collect();
            let mut meta: Map<String, Value> = metas.into_iter().map(owned).collect();
            meta.entry("name").or_insert(name);
            object.entry("metadata").or_insert(Value::Object(meta));
            Value::Object(object)
        },
    )
}

fn any_body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => almost_object().prop_map(|value| value.to_string().into_bytes()),
        1 => any_json().prop_map(|value| value.to_string().into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..64),
        1 => "[-\\[\\]{}:,#&*!|>'\"%@ a-z0-9\n\t]{0,48}".prop_map(String::into_bytes),
    ]
}

/// Paths that mean something, and paths that nearly do. Bytes outside of a URL are escaped.
fn any_path() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "api",
        "apis",
        "v1",
        "apps",
        "namespaces",
        "default",
        "configmaps",
        "secrets",
        "services",
        "leases",
        "deployments",
        "nodes",
        "pods",
        "events",
        "events.k8s.io",
        "coordination.k8s.io",
        "status",
        "scale",
        "finalize",
        "watch",
        "openapi",
        "v3",
        "customresourcedefinitions",
        "apiextensions.k8s.io",
        "x",
        "",
        "%2F",
        "%00",
        "%ff",
        "..",
        ".",
    ]);
    let words = prop::collection::vec(word, 0..7).prop_map(|words| format!("/{}", words.join("/")));
    let known = prop::sample::select(vec![
        CONFIG_MAPS,
        "/api/v1/namespaces/default/configmaps/x",
        "/api/v1/namespaces/default/secrets",
        "/api/v1/namespaces/default/services",
        "/api/v1/namespaces/default/services/x",
        "/api/v1/namespaces/default/pods",
        "/api/v1/namespaces/default/events",
        "/apis/events.k8s.io/v1/namespaces/default/events",
        "/apis/apps/v1/namespaces/default/deployments",
        "/apis/apps/v1/namespaces/default/deployments/x/scale",
        "/apis/coordination.k8s.io/v1/namespaces/default/leases/x",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "/api/v1/nodes",
        "/api/v1/nodes/x/status",
        "/api/v1/namespaces",
    ]);
    prop_oneof![2 => known.prop_map(str::to_owned), 1 => words]
}

fn any_query() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "limit",
        "continue",
        "resourceVersion",
        "resourceVersionMatch",
        "labelSelector",
        "fieldSelector",
        "watch",
        "allowWatchBookmarks",
        "sendInitialEvents",
        "dryRun",
        "fieldValidation",
        "propagationPolicy",
        "gracePeriodSeconds",
        "includeObject",
        "pretty",
        "fieldManager",
        "force",
    ]);
    let value = prop_oneof![
        "[a-z0-9=,!()%. -]{0,8}".prop_map(|text: String| text.replace(' ', "%20")),
        prop::sample::select(vec![
            "0",
            "1",
            "-1",
            "true",
            "false",
            "All",
            "Strict",
            "Exact",
            "NotOlderThan",
            "metadata.name%3Dx",
            "99999999999999999999",
            "%ff",
            "a%20in%20(b)",
            "Foreground",
            "Orphan",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec((key, value), 0..4).prop_map(|pairs| {
        // A watch would last for half an hour; a revision in the future may be waited for.
        let mut query = "timeoutSeconds=0".to_owned();
        for (key, value) in pairs {
            let _ = write!(query, "&{key}={value}"); // a String takes everything
        }
        query
    })
}

fn any_method() -> impl Strategy<Value = Method> {
    prop::sample::select(vec![
        Method::GET,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::HEAD,
        Method::OPTIONS,
    ])
}

fn any_media() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "application/json",
        "application/yaml",
        "application/merge-patch+json",
        "application/json-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
        "application/vnd.kubernetes.protobuf",
        "text/plain",
        "",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever comes, the answer is an answer: no 5xx but for a revision that lies in the
    /// future, and every refusal is a Status.
    #[test]
    fn nothing_breaks_the_handler(
        method in any_method(),
        path in any_path(),
        query in any_query(),
        media in any_media(),
        body in any_body(),
    ) {
        let target = format!("{path}?{query}");
        prop_assume!(target.parse::<http::Uri>().is_ok());
        let (code, answer) = send(&method, &target, media, body.clone());
        if code >= 400 {
            let text = String::from_utf8_lossy(&answer).into_owned();
            let status: Value = serde_json::from_slice(&answer).map_err(|e| TestCaseError::fail(format!("{e}: {text}")))?;
            prop_assert_eq!(&status["kind"], "Status", "{}", text);
            prop_assert_eq!(&status["code"], code, "{}", text);
            prop_assert!(!status["message"].as_str().unwrap_or_default().is_empty(), "{}", text);
            let sent = String::from_utf8_lossy(&body).into_owned();
            prop_assert!(code < 500 || code == 504, "{} {}: {} for {}", method, target, text, sent);
        }
    }
}

/// One step of a client that uses a few names only.
#[derive(Clone, Debug)]
enum Step {
    Create(u8, BTreeMap<String, String>),
    Replace(u8, BTreeMap<String, String>),
    Patch(u8, BTreeMap<String, Option<String>>),
    Delete(u8),
    DeleteAll,
}

fn any_step() -> impl Strategy<Value = Step> {
    let data = || prop::collection::btree_map("[a-c]", "[x-z]{0,2}", 0..4);
    let patch = prop::collection::btree_map(
        "[a-c]",
        prop::option::of("[x-z]{0,2}".prop_map(String::from)),
        0..4,
    );
    prop_oneof![
        4 => (0..4u8, data()).prop_map(|(name, data)| Step::Create(name, data)),
        3 => (0..4u8, data()).prop_map(|(name, data)| Step::Replace(name, data)),
        4 => (0..4u8, patch).prop_map(|(name, patch)| Step::Patch(name, patch)),
        3 => (0..4u8).prop_map(Step::Delete),
        1 => Just(Step::DeleteAll),
    ]
}

fn fresh_namespace() -> String {
    let body =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "model-"}});
    let (code, created) = send_json(&Method::POST, "/api/v1/namespaces", &body);
    assert_eq!(code, 201, "{created}");
    created["metadata"]["name"].as_str().expect("name").to_owned()
}

fn secret(name: &str, annotations: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": name, "annotations": annotations},
    })
}

/// What is stored, by name: the annotations.
fn stored(path: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let list = get(path);
    let items = list["items"].as_array().expect("items").clone();
    let entry = |item: &Value| {
        let name = item["metadata"]["name"].as_str().expect("name").to_owned();
        let annotations = item["metadata"]["annotations"].clone();
        (name, serde_json::from_value(annotations).unwrap_or_default())
    };
    items.iter().map(entry).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// The API is a map from names to objects.
    #[test]
    fn behaves_like_a_map(steps in prop::collection::vec(any_step(), 1..25)) {
        let path = format!("/api/v1/namespaces/{}/secrets", fresh_namespace());
        let mut model: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        let mut revision = 0;
        for step in steps {
            let before = model.clone();
            let (code, expected) = match step {
                Step::Create(name, data) => {
                    let name = format!("n{name}");
                    let (code, _) = send_json(&Method::POST, &path, &secret(&name, &json!(data)));
                    let taken = model.contains_key(&name);
                    model.entry(name).or_insert(data);
                    (code, if taken { 409 } else { 201 })
                }
                Step::Replace(name, data) => {
                    let name = format!("n{name}");
                    let (code, _) = send_json(&Method::PUT, &format!("{path}/{name}"), &secret(&name, &json!(data)));
                    let there = model.contains_key(&name);
                    if there {
                        model.insert(name, data);
                    }
                    (code, if there { 200 } else { 404 })
                }
                Step::Patch(name, changes) => {
                    let name = format!("n{name}");
                    let patch = json!({"metadata": {"annotations": changes}});
                    let (code, _) = send_json(&Method::PATCH, &format!("{path}/{name}"), &patch);
                    if let Some(data) = model.get_mut(&name) {
                        for (key, value) in changes {
                            match value {
                                Some(value) => data.insert(key, value),
                                None => data.remove(&key),
                            };
                        }
                        (code, 200)
                    } else {
                        (code, 404)
                    }
                }
                Step::Delete(name) => {
                    let name = format!("n{name}");
                    let (code, _) = send(&Method::DELETE, &format!("{path}/{name}"), "", "");
                    (code, if model.remove(&name).is_some() { 200 } else { 404 })
                }
                Step::DeleteAll => {
                    let (code, _) = send(&Method::DELETE, &path, "", "");
                    model.clear();
                    (code, 200)
                }
            };
            prop_assert_eq!(code, expected);
            prop_assert_eq!(stored(&path), model.clone());
            let now: u64 = get(&path)["metadata"]["resourceVersion"].as_str().unwrap_or_default().parse().unwrap_or(0);
            prop_assert!(now >= revision && (now > revision || before == model), "{} after {}", now, revision);
            revision = now;
        }
    }

    /// However a list is cut into pages, the pages together are the list.
    #[test]
    fn pages_make_the_list(count in 0..30usize, sizes in prop::collection::vec(1..9usize, 1..6)) {
        let path = format!("/api/v1/namespaces/{}/secrets", fresh_namespace());
        for index in 0..count {
            let (code, _) = send_json(&Method::POST, &path, &secret(&format!("s{}", index * 7 % 31), &json!({})));
            prop_assert_eq!(code, 201);
        }
        let whole = get(&path)["items"].as_array().cloned().unwrap_or_default();
        prop_assert_eq!(whole.len(), count);
        let (mut seen, mut token) = (Vec::new(), String::new());
        for size in sizes.iter().cycle() {
            let page = get(&format!("{path}?limit={size}&continue={token}"));
            let items = page["items"].as_array().cloned().unwrap_or_default();
            prop_assert!(items.len() <= *size);
            seen.extend(items);
            token = page["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
            let left = page["metadata"]["remainingItemCount"].as_u64().unwrap_or(0);
            prop_assert_eq!(left, (count - seen.len()) as u64);
            if token.is_empty() {
                break;
            }
        }
        prop_assert_eq!(seen, whole);
    }
}
