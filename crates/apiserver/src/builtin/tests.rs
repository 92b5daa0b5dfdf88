//! What holds for all built-in kinds.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::*;

#[test]
fn every_kind_has_a_schema_and_a_place() {
    let resources = resources();
    let shapes = schemas::Shapes::new();
    assert_eq!(resources.len(), 34);
    for entry in entries() {
        shapes.compile(&schemas::full_name(entry.definition)).expect(entry.definition);
    }
    let mut places = BTreeMap::new();
    for resource in &resources {
        let api = resource.api_version("v1");
        places.entry(resource.storage_prefix.clone()).or_insert_with(Vec::new).push(api);
    }
    let shared: Vec<_> = places.iter().filter(|(_, kinds)| kinds.len() > 1).collect();
    assert_eq!(shared.len(), 1);
    assert_eq!(places["/core/events/"], ["v1", "events.k8s.io/v1"]);
    assert!(places.contains_key("/apps/deployments/"));
}

#[test]
fn strategies_are_upstreams() {
    let with = |flag: fn(&Resource) -> bool| {
        resources().iter().filter(|r| flag(r)).map(|r| r.plural.clone()).collect::<BTreeSet<_>>()
    };
    let set = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(
        with(|r| r.versions[0].scale.is_some()),
        set(&["deployments", "replicasets", "statefulsets"])
    );
    assert_eq!(
        with(|r| r.strategy.create_on_update),
        set(&[
            "services",
            "endpoints",
            "events",
            "leases",
            "roles",
            "rolebindings",
            "clusterroles",
            "clusterrolebindings",
        ])
    );
    assert_eq!(with(|r| r.strategy.graceful), set(&["pods"]));
    assert_eq!(with(|r| r.strategy.status_with_metadata), set(&["nodes", "pods", "services"]));
    assert_eq!(
        with(|r| !r.strategy.unconditional_update),
        set(&[
            "leases",
            "customresourcedefinitions",
            "validatingwebhookconfigurations",
            "mutatingwebhookconfigurations",
        ])
    );
    assert_eq!(
        with(|r| r.categories.iter().any(|c| c == "all")),
        set(&[
            "pods",
            "services",
            "deployments",
            "replicasets",
            "daemonsets",
            "statefulsets",
            "jobs"
        ])
    );
    assert_eq!(
        with(|r| r.versions[0].status),
        set(&[
            "namespaces",
            "nodes",
            "pods",
            "services",
            "deployments",
            "replicasets",
            "daemonsets",
            "statefulsets",
            "jobs",
            "customresourcedefinitions",
        ])
    );
    assert_eq!(
        with(|r| !r.namespaced && !r.strategy.virtual_only),
        set(&[
            "namespaces",
            "nodes",
            "clusterroles",
            "clusterrolebindings",
            "priorityclasses",
            "customresourcedefinitions",
            "validatingwebhookconfigurations",
            "mutatingwebhookconfigurations",
        ])
    );
}

#[test]
fn published_definitions_are_closed_and_openapi_3() {
    fn walk(schema: &Value, known: &BTreeSet<&String>, at: &str) {
        match schema {
            Value::Object(map) => {
                if let Some(Value::String(target)) = map.get("$ref") {
                    assert_eq!(map.len(), 1, "{at}: $ref with siblings");
                    let name = target.strip_prefix("#/components/schemas/").expect("ref");
                    assert!(known.contains(&name.to_owned()), "{at}: {name} is missing");
                }
                assert!(!map.get("type").is_some_and(Value::is_array), "{at}: list of types");
                assert!(!map.get("$schema").is_some_and(Value::is_string), "{at}: $schema");
                map.iter().for_each(|(key, child)| walk(child, known, &format!("{at}.{key}")));
            }
            Value::Array(list) => list.iter().for_each(|child| walk(child, known, at)),
            _ => {}
        }
    }
    let documents = resources().into_iter().map(|resource| {
        let openapi = (resource.versions[0].openapi)();
        let gvk = &openapi.definitions[&openapi.root]["x-kubernetes-group-version-kind"][0];
        assert_eq!(gvk["kind"], resource.kind);
        assert_eq!(gvk["group"], resource.group);
        assert!(openapi.definitions.contains_key(&format!("{}List", openapi.root)));
        openapi.definitions
    });
    for definitions in documents.chain([openapi_meta_definitions()]) {
        let known = definitions.keys().collect();
        for (name, schema) in &definitions {
            walk(schema, &known, name);
        }
    }
    let meta = openapi_meta_definitions();
    for name in
        ["meta.v1.ObjectMeta", "meta.v1.Status", "meta.v1.DeleteOptions", "autoscaling.v1.Scale"]
    {
        assert!(meta.contains_key(&schemas::full_name(name)), "{name}");
    }
}

/// Not a limit, a measure: run with `--nocapture`.
#[test]
fn how_long_the_kinds_take() {
    let start = Instant::now();
    let count = schemas::all().len();
    let generated = start.elapsed();
    let start = Instant::now();
    let kinds = resources().len();
    println!(
        "{count} definitions in {generated:?}, {kinds} kinds compiled in {:?}",
        start.elapsed()
    );
}
