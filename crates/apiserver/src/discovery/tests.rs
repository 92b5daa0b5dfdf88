use std::collections::BTreeMap;

use landbridge_machinery::hooks::NoHooks;
use landbridge_machinery::schema::Schema;
use landbridge_machinery::table::Columns;

use super::*;
use crate::registry::{OpenApiSchemas, ScalePaths, Strategy};

/// One version; `openapi` is a bare object named as upstream names it.
fn version(group: &str, name: &str, kind: &str) -> Version {
    let package = group.split('.').next().filter(|p| !p.is_empty()).unwrap_or("core");
    let root = format!("io.k8s.api.{package}.{name}.{kind}");
    Version {
        name: name.into(),
        served: true,
        schema: Arc::new(Schema::any()),
        rules: None,
        openapi: Arc::new(move || OpenApiSchemas {
            root: root.clone(),
            definitions: BTreeMap::from([(root.clone(), json!({"type": "object"}))]),
        }),
        status: false,
        scale: None,
        columns: Columns::Declared(Vec::new()),
        selectable: Vec::new(),
        deprecation: None,
    }
}

fn resource(group: &str, plural: &str, kind: &str, versions: Vec<Version>) -> Resource {
    Resource {
        group: group.into(),
        plural: plural.into(),
        singular: kind.to_lowercase(),
        kind: kind.into(),
        list_kind: format!("{kind}List"),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        versions,
        storage: 0,
        strategy: Strategy::BUILT_IN,
        hooks: Arc::new(NoHooks),
        crd_uid: None,
        crd_generation: 0,
        storage_prefix: format!("/{group}/{plural}/"),
        terminating: false,
        schema_revision: 0,
    }
}

/// A core kind, namespaces, a virtual kind and a custom kind in three versions, one not served.
pub(crate) fn registry() -> Registry {
    let mut config_maps =
        resource("", "configmaps", "ConfigMap", vec![version("", "v1", "ConfigMap")]);
    config_maps.short_names = vec!["cm".into()];

    let mut namespaces =
        resource("", "namespaces", "Namespace", vec![version("", "v1", "Namespace")]);
    namespaces.namespaced = false;
    namespaces.versions[0].status = true;

    let group = "authorization.k8s.io";
    let kind = "SelfSubjectAccessReview";
    let mut review =
        resource(group, "selfsubjectaccessreviews", kind, vec![version(group, "v1", kind)]);
    review.namespaced = false;
    review.strategy.virtual_only = true;

    Registry::new([config_maps, namespaces, review, foos()].map(Arc::new))
}

fn foos() -> Resource {
    let group = "bench.landbridge.dev";
    let versions = ["v1alpha1", "v1", "v1beta1"].map(|name| {
        let mut version = version(group, name, "Foo");
        let schema = json!({
            "type": "object",
            "description": "A Foo for measuring.",
            "properties": {"spec": {"type": "object"}},
        });
        version.openapi =
            Arc::new(move || crate::openapi::crd_schemas(group, name, "Foo", &schema));
        version.served = name != "v1alpha1";
        version.status = name == "v1";
        version.scale = (name == "v1").then(|| ScalePaths {
            spec_replicas: ".spec.replicas".into(),
            status_replicas: ".status.replicas".into(),
            label_selector: None,
        });
        version
    });
    let mut foos = resource(group, "foos", "Foo", Vec::from(versions));
    foos.categories = vec!["all".into()];
    foos.strategy = Strategy::CUSTOM;
    foos.storage = 1;
    foos.crd_uid = Some("some-uid".into());
    foos
}

fn entry<'a>(list: &'a Value, name: &str) -> &'a Value {
    list["resources"]
        .as_array()
        .and_then(|all| all.iter().find(|r| r["name"] == name))
        .unwrap_or_else(|| panic!("{name} is not in {list:#}"))
}

#[test]
fn api_names_core_versions_and_our_address() {
    assert_eq!(
        legacy_api_versions(&registry(), "127.0.0.1:6443"),
        json!({
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [
                {"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"},
            ],
        })
    );
}

#[test]
fn groups_name_served_versions_with_the_best_first() {
    let registry = registry();
    let list = group_list(&registry);
    let names: Vec<_> =
        list["groups"].as_array().unwrap().iter().map(|g| g["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["authorization.k8s.io", "bench.landbridge.dev"]);

    let foo = group(&registry, "bench.landbridge.dev").unwrap();
    assert_eq!(
        foo,
        json!({
            "kind": "APIGroup",
            "apiVersion": "v1",
            "name": "bench.landbridge.dev",
            "versions": [
                {"groupVersion": "bench.landbridge.dev/v1", "version": "v1"},
                {"groupVersion": "bench.landbridge.dev/v1beta1", "version": "v1beta1"},
            ],
            "preferredVersion": {"groupVersion": "bench.landbridge.dev/v1", "version": "v1"},
        })
    );
    assert_eq!(group(&registry, ""), None);
    assert_eq!(group(&registry, "no.such.group"), None);
}

#[test]
fn core_resources_have_their_verbs_and_subresources() {
    let list = resource_list(&registry(), "", "v1").unwrap();
    assert_eq!(list["groupVersion"], "v1");
    assert!(list.get("apiVersion").is_none(), "upstream leaves it out for core");
    let config_map = entry(&list, "configmaps");
    assert_eq!(config_map["verbs"], json!(ALL_VERBS));
    assert_eq!(config_map["shortNames"], json!(["cm"]));
    assert_eq!(config_map["singularName"], "configmap");
    assert_eq!(config_map["namespaced"], true);
    assert_eq!(config_map["storageVersionHash"].as_str().unwrap().len(), 12);

    let namespaces = entry(&list, "namespaces");
    assert!(!namespaces["verbs"].as_array().unwrap().contains(&json!("deletecollection")));
    assert_eq!(entry(&list, "namespaces/finalize")["verbs"], json!(["update"]));
    assert_eq!(entry(&list, "namespaces/status")["kind"], "Namespace");
}

#[test]
fn custom_resources_show_status_and_scale_of_the_version_asked_for() {
    let registry = registry();
    let list = resource_list(&registry, "bench.landbridge.dev", "v1").unwrap();
    assert_eq!(list["apiVersion"], "v1");
    let scale = entry(&list, "foos/scale");
    assert_eq!(scale["group"], "autoscaling");
    assert_eq!(scale["version"], "v1");
    assert_eq!(scale["kind"], "Scale");
    assert_eq!(entry(&list, "foos/status")["verbs"], json!(["get", "patch", "update"]));
    assert_eq!(entry(&list, "foos")["categories"], json!(["all"]));

    let beta = resource_list(&registry, "bench.landbridge.dev", "v1beta1").unwrap();
    assert_eq!(beta["resources"].as_array().unwrap().len(), 1);
    assert_eq!(
        entry(&beta, "foos")["storageVersionHash"],
        entry(&list, "foos")["storageVersionHash"],
        "stored in one version whichever is asked for"
    );
    assert_eq!(resource_list(&registry, "bench.landbridge.dev", "v1alpha1"), None);
}

#[test]
fn reviews_can_only_be_created() {
    let list = resource_list(&registry(), "authorization.k8s.io", "v1").unwrap();
    let review = entry(&list, "selfsubjectaccessreviews");
    assert_eq!(review["verbs"], json!(["create"]));
    assert!(review.get("storageVersionHash").is_none());
}

#[test]
fn instances_of_a_going_crd_can_only_go() {
    let mut foos = foos();
    foos.terminating = true;
    let list =
        resource_list(&Registry::new([Arc::new(foos)]), "bench.landbridge.dev", "v1").unwrap();
    assert_eq!(
        entry(&list, "foos")["verbs"],
        json!(["delete", "deletecollection", "get", "list", "watch"])
    );
}

#[test]
fn aggregated_core_has_one_group_without_a_name() {
    let document = aggregated(&registry(), true, Aggregated::V2);
    assert_eq!(document["kind"], "APIGroupDiscoveryList");
    assert_eq!(document["apiVersion"], "apidiscovery.k8s.io/v2");
    assert_eq!(document["items"].as_array().unwrap().len(), 1);
    let core = &document["items"][0];
    assert!(core["metadata"].get("name").is_none());
    assert_eq!(core["versions"][0]["version"], "v1");
    assert_eq!(core["versions"][0]["freshness"], "Current");
    let namespaces = &core["versions"][0]["resources"][1];
    assert_eq!(namespaces["resource"], "namespaces");
    assert_eq!(namespaces["scope"], "Cluster");
    assert_eq!(namespaces["subresources"][0]["subresource"], "finalize");
    assert_eq!(namespaces["subresources"][1]["subresource"], "status");
}

#[test]
fn aggregated_groups_carry_kinds_and_subresources() {
    let document = aggregated(&registry(), false, Aggregated::V2Beta1);
    assert_eq!(document["apiVersion"], "apidiscovery.k8s.io/v2beta1");
    let items = document["items"].as_array().unwrap();
    assert_eq!(items.len(), 2);
    assert_eq!(items[1]["metadata"]["name"], "bench.landbridge.dev");
    let versions: Vec<_> =
        items[1]["versions"].as_array().unwrap().iter().map(|v| &v["version"]).collect();
    assert_eq!(versions, ["v1", "v1beta1"]);
    let foo = &items[1]["versions"][0]["resources"][0];
    assert_eq!(
        foo["responseKind"],
        json!({"group": "bench.landbridge.dev", "version": "v1", "kind": "Foo"})
    );
    assert_eq!(
        foo["subresources"][0],
        json!({
            "subresource": "scale",
            "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
            "verbs": ["get", "patch", "update"],
        })
    );
}

#[test]
fn an_empty_registry_serves_no_groups() {
    let empty = Registry::default();
    assert_eq!(aggregated(&empty, true, Aggregated::V2)["items"], json!([]));
    assert_eq!(group_list(&empty)["groups"], json!([]));
    assert_eq!(resource_list(&empty, "", "v1"), None);
}

#[test]
fn media_types_are_what_clients_ask_for() {
    for form in [Aggregated::V2, Aggregated::V2Beta1] {
        assert_eq!(
            form.media_type(),
            format!(
                "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList",
                form.version()
            )
        );
    }
}
