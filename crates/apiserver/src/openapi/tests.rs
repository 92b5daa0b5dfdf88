use super::*;
use crate::discovery::tests::registry;

const FOO: &str = "bench.landbridge.dev";
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

fn meta() -> MetaDefinitions {
    let time = "io.k8s.apimachinery.pkg.apis.meta.v1.Time";
    BTreeMap::from([
        (
            OBJECT_META.to_owned(),
            json!({
                "type": "object",
                "properties": {
                    "creationTimestamp": {"$ref": format!("#/components/schemas/{time}")},
                },
            }),
        ),
        (time.to_owned(), json!({"type": "string", "format": "date-time"})),
        ("io.example.Unused".to_owned(), json!({"type": "object"})),
    ])
}

fn foo() -> Value {
    document(&registry(), FOO, "v1", &meta()).unwrap()
}

fn core() -> Value {
    document(&registry(), "", "v1", &meta()).unwrap()
}

/// Every operation of a document with its path and method.
fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let methods = ["get", "put", "post", "patch", "delete"];
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if methods.contains(&method.as_str()) {
                found.push((path.clone(), method.clone(), operation.clone()));
            }
        }
    }
    found
}

fn parameter_names(operation: &Value) -> Vec<&str> {
    let list = operation["parameters"].as_array().unwrap();
    list.iter().filter(|p| p["in"] == "query").map(|p| p["name"].as_str().unwrap()).collect()
}

fn content_types(body: &Value) -> Vec<&str> {
    body["content"].as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn every_reference_leads_somewhere_and_nothing_is_carried_along() {
    for document in [foo(), core()] {
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let text = document.to_string();
        for part in text.split("\"#/components/schemas/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(schemas.contains_key(name), "{name} is referred to but not defined");
        }
        assert!(schemas.contains_key("io.k8s.apimachinery.pkg.apis.meta.v1.Status"));
        assert!(!schemas.contains_key("io.example.Unused"));
    }
    let schemas = foo()["components"]["schemas"].clone();
    assert!(schemas[OBJECT_META]["properties"]["creationTimestamp"].is_object());
    assert!(schemas.get("io.k8s.apimachinery.pkg.apis.meta.v1.Time").is_some(), "by way of meta");
}

#[test]
fn custom_kinds_are_named_after_the_reversed_group() {
    let document = foo();
    let schemas = &document["components"]["schemas"];
    let kind = &schemas["dev.landbridge.bench.v1.Foo"];
    assert_eq!(kind["description"], "A Foo for measuring.");
    assert_eq!(
        kind["x-kubernetes-group-version-kind"],
        json!([{"group": FOO, "version": "v1", "kind": "Foo"}])
    );
    assert_eq!(kind["properties"]["spec"], json!({"type": "object"}));
    assert_eq!(kind["properties"]["kind"]["type"], "string");
    assert_eq!(
        kind["properties"]["metadata"]["allOf"][0]["$ref"],
        format!("#/components/schemas/{OBJECT_META}")
    );
    let list = &schemas["dev.landbridge.bench.v1.FooList"];
    assert_eq!(
        list["properties"]["items"]["items"]["$ref"],
        "#/components/schemas/dev.landbridge.bench.v1.Foo"
    );
    assert_eq!(
        list["x-kubernetes-group-version-kind"],
        json!([{"group": FOO, "version": "v1", "kind": "FooList"}])
    );
}

#[test]
fn a_schema_without_properties_still_gets_the_three_fields() {
    for schema in
        [json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}), json!(null)]
    {
        let OpenApiSchemas { root, definitions } = crd_schemas("a.b", "v1", "Bar", &schema);
        assert_eq!(root, "b.a.v1.Bar");
        for field in ["apiVersion", "kind", "metadata"] {
            assert!(definitions[&root]["properties"][field].is_object(), "{field}");
        }
        assert_eq!(definitions[&root]["type"], "object");
        assert_eq!(
            definitions[&root]["x-kubernetes-group-version-kind"],
            json!([{"group": "a.b", "version": "v1", "kind": "Bar"}])
        );
    }
}

#[test]
fn kubectl_explain_finds_the_kind_by_path_and_schema() {
    // What the template of kubectl does: GVK from the path of the resource, then the schema with
    // the very same GVK.
    let cases = [
        (core(), "/api/v1/configmaps", "ConfigMap"),
        (core(), "/api/v1/namespaces", "Namespace"),
        (foo(), "/apis/bench.landbridge.dev/v1/foos", "Foo"),
    ];
    for (document, path, kind) in cases {
        let gvk = &document["paths"][path]["get"]["x-kubernetes-group-version-kind"];
        assert_eq!(gvk["kind"], kind, "{path}");
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let found = schemas.values().filter(|schema| {
            schema["x-kubernetes-group-version-kind"]
                .as_array()
                .is_some_and(|list| list.contains(gvk))
        });
        assert_eq!(found.count(), 1, "{kind}");
    }
}

#[test]
fn kubectl_sees_that_the_server_validates() {
    let review = document(&registry(), "authorization.k8s.io", "v1", &meta()).unwrap();
    let cases = [
        (core(), "ConfigMap"),
        (core(), "Namespace"),
        (foo(), "Foo"),
        (review, "SelfSubjectAccessReview"),
    ];
    for (document, kind) in cases {
        let patches: Vec<_> = operations(&document)
            .into_iter()
            .filter(|(_, method, op)| {
                method == "patch" && op["x-kubernetes-group-version-kind"]["kind"] == kind
            })
            .collect();
        assert!(!patches.is_empty(), "{kind} has no PATCH");
        for (path, _, patch) in patches {
            let names = parameter_names(&patch);
            for wanted in ["dryRun", "fieldManager", "fieldValidation", "force"] {
                assert!(names.contains(&wanted), "{path} lacks {wanted}");
            }
        }
    }
}

#[test]
fn strategic_merge_patch_is_for_built_in_kinds() {
    let strategic = "application/strategic-merge-patch+json";
    let path = "/api/v1/namespaces/{namespace}/configmaps/{name}";
    let built_in = core()["paths"][path]["patch"]["requestBody"].clone();
    assert!(content_types(&built_in).contains(&strategic));
    assert_eq!(content_types(&built_in).len(), 4);

    let path = "/apis/bench.landbridge.dev/v1/namespaces/{namespace}/foos/{name}";
    let custom = foo()["paths"][path]["patch"]["requestBody"].clone();
    assert_eq!(
        content_types(&custom),
        [
            "application/apply-patch+yaml",
            "application/json-patch+json",
            "application/merge-patch+json",
        ]
    );
}

#[test]
fn paths_follow_scope_verbs_and_subresources() {
    let listed = |document: &Value| -> Vec<(String, String)> {
        operations(document).into_iter().map(|(path, method, _)| (path, method)).collect()
    };
    let base = "/apis/bench.landbridge.dev/v1";
    let one = format!("{base}/namespaces/{{namespace}}/foos");
    let mut expected: Vec<(String, String)> = Vec::new();
    for (path, methods) in [
        (format!("{base}/foos"), &["get"][..]),
        (one.clone(), &["get", "post", "delete"][..]),
        (format!("{one}/{{name}}"), &["get", "put", "patch", "delete"][..]),
        (format!("{one}/{{name}}/status"), &["get", "put", "patch"][..]),
        (format!("{one}/{{name}}/scale"), &["get", "put", "patch"][..]),
    ] {
        expected.extend(methods.iter().map(|m| (path.clone(), (*m).to_owned())));
    }
    let mut found = listed(&foo());
    found.sort();
    expected.sort();
    assert_eq!(found, expected);

    let core = listed(&core());
    let has = |path: &str, method: &str| core.contains(&(path.to_owned(), method.to_owned()));
    assert!(has("/api/v1/namespaces/{name}/finalize", "put"));
    assert!(has("/api/v1/namespaces", "post"));
    assert!(!has("/api/v1/namespaces", "delete"), "namespaces go one by one");

    let review = document(&registry(), "authorization.k8s.io", "v1", &meta()).unwrap();
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    assert!(listed(&review).contains(&(path.to_owned(), "post".to_owned())));
    assert!(!listed(&review).contains(&(path.to_owned(), "get".to_owned())));
}

#[test]
fn operations_are_complete_and_their_ids_unique() {
    let cases = [
        (foo(), "patchBenchLandbridgeDevV1NamespacedFooStatus"),
        (core(), "listCoreV1ConfigMapForAllNamespaces"),
        (core(), "readCoreV1Namespace"),
    ];
    for (document, expected) in cases {
        let mut ids = std::collections::BTreeSet::new();
        for (path, method, operation) in operations(&document) {
            let id = operation["operationId"].as_str().unwrap().to_owned();
            assert!(ids.insert(id.clone()), "{id} twice");
            assert!(operation["x-kubernetes-action"].is_string(), "{method} {path}");
            let gvk = operation["x-kubernetes-group-version-kind"].as_object().unwrap();
            assert_eq!(gvk.len(), 3, "{method} {path}");
            let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"];
            assert!(schema["$ref"].is_string(), "{method} {path}");
        }
        assert!(ids.contains(expected), "{expected} is not in {ids:?}");
    }
    let scale = &foo()["paths"]["/apis/bench.landbridge.dev/v1/namespaces/{namespace}/foos/{name}/scale"]
        ["patch"];
    assert_eq!(
        scale["x-kubernetes-group-version-kind"],
        json!({"group": "autoscaling", "version": "v1", "kind": "Scale"})
    );
}

#[test]
fn the_index_names_every_document_by_its_hash() {
    let documents = Documents::new(&registry(), meta);
    let index = documents.index();
    let paths = index["paths"].as_object().unwrap();
    let mut names: Vec<_> = paths.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "api/v1",
            "apis/authorization.k8s.io/v1",
            "apis/bench.landbridge.dev/v1",
            "apis/bench.landbridge.dev/v1beta1",
        ]
    );
    let hash = &documents.get(FOO, "v1").unwrap().hash;
    assert_eq!(hash.len(), 32);
    assert_eq!(
        paths["apis/bench.landbridge.dev/v1"]["serverRelativeURL"],
        format!("/openapi/v3/apis/bench.landbridge.dev/v1?hash={hash}")
    );
    assert!(documents.get(FOO, "v1alpha1").is_none(), "not served");
    assert_eq!(index, Documents::new(&registry(), meta).index(), "stable across registries");
}

#[test]
fn a_changed_registry_keeps_the_documents_of_unchanged_groups() {
    let first = registry();
    let documents = Documents::new(&first, meta);
    let before = std::ptr::from_ref(documents.get("", "v1").unwrap());
    let custom = std::ptr::from_ref(documents.get(FOO, "v1").unwrap());

    let fresh = registry();
    let mixed = Registry::new(
        first
            .all()
            .filter(|r| r.group != FOO)
            .chain(fresh.all().filter(|r| r.group == FOO))
            .cloned(),
    );
    let next = documents.successor(&mixed);
    assert_eq!(std::ptr::from_ref(next.get("", "v1").unwrap()), before);
    assert_ne!(std::ptr::from_ref(next.get(FOO, "v1").unwrap()), custom);
}

#[test]
fn the_hash_is_fnv_1a() {
    // Test vectors of the FNV authors.
    assert_eq!(content_hash(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
    assert_eq!(content_hash(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    assert_eq!(content_hash(b"foobar"), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
}
