//! Discovery: which groups, versions and resources are served, in both forms clients ask for.
//!
//! | path | legacy document | aggregated document |
//! |---|---|---|
//! | `/api` | [`legacy_api_versions`] | [`aggregated`] with `core` |
//! | `/apis` | [`group_list`] | [`aggregated`] without `core` |
//! | `/apis/G` | [`group`] | |
//! | `/api/v1`, `/apis/G/V` | [`resource_list`] | |
//!
//! Everything is a function of one [`Registry`]: the caller negotiates the form and may cache the
//! bytes until the registry changes. A version is served when at least one resource serves it.

use std::collections::BTreeSet;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use landbridge_machinery::gvk::api_version;
use serde_json::{Map, Value, json};

use crate::openapi::content_hash;
use crate::registry::{Registry, Resource, Version};

mod order;

pub use order::{compare_groups, compare_versions};

/// Form of the aggregated discovery document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregated {
    /// `apidiscovery.k8s.io/v2`, since Kubernetes 1.30.
    V2,
    /// `apidiscovery.k8s.io/v2beta1`, for clients from 1.26 to 1.29.
    V2Beta1,
}

impl Aggregated {
    /// `v` parameter of the media type.
    pub const fn version(self) -> &'static str {
        match self {
            Self::V2 => "v2",
            Self::V2Beta1 => "v2beta1",
        }
    }

    /// `Content-Type` of the answer; clients put the same words into `Accept`.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::V2 => AGGREGATED_V2,
            Self::V2Beta1 => AGGREGATED_V2BETA1,
        }
    }
}

/// Media type of [`Aggregated::V2`].
pub const AGGREGATED_V2: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
/// Media type of [`Aggregated::V2Beta1`].
pub const AGGREGATED_V2BETA1: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

/// A subresource that a kind of the core group has by nature, not by declaration.
struct Extra {
    plural: &'static str,
    subresource: &'static str,
    /// Group, version and kind it speaks, when that is not the kind itself.
    foreign: Option<(&'static str, &'static str, &'static str)>,
    verbs: &'static [&'static str],
}

const CONNECT: &[&str] = &["create", "get"];

/// In the order of their names, as discovery lists them.
const EXTRA: &[Extra] = &[
    extra("namespaces", "finalize", None, &["update"]),
    extra("pods", "attach", Some(("", "v1", "PodAttachOptions")), CONNECT),
    extra("pods", "binding", Some(("", "v1", "Binding")), &["create"]),
    extra("pods", "eviction", Some(("policy", "v1", "Eviction")), &["create"]),
    extra("pods", "exec", Some(("", "v1", "PodExecOptions")), CONNECT),
    extra("pods", "log", None, &["get"]),
    extra("pods", "portforward", Some(("", "v1", "PodPortForwardOptions")), CONNECT),
    extra(
        "serviceaccounts",
        "token",
        Some(("authentication.k8s.io", "v1", "TokenRequest")),
        &["create"],
    ),
];

const fn extra(
    plural: &'static str,
    subresource: &'static str,
    foreign: Option<(&'static str, &'static str, &'static str)>,
    verbs: &'static [&'static str],
) -> Extra {
    Extra { plural, subresource, foreign, verbs }
}

const ALL_VERBS: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
/// Namespaces are deleted one by one.
const NAMESPACE_VERBS: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];
/// While the CRD is being deleted, its instances may only be looked at and removed.
const TERMINATING_VERBS: &[&str] = &["delete", "deletecollection", "get", "list", "watch"];
const SUBRESOURCE_VERBS: &[&str] = &["get", "patch", "update"];

/// `/api`. `server_address` is `HOST:PORT` as the client reached us.
pub fn legacy_api_versions(registry: &Registry, server_address: &str) -> Value {
    let versions = versions_of(registry, "");
    json!({
        "kind": "APIVersions",
        "versions": versions,
        "serverAddressByClientCIDRs": [
            {"clientCIDR": "0.0.0.0/0", "serverAddress": server_address},
        ],
    })
}

/// `/apis`.
pub fn group_list(registry: &Registry) -> Value {
    let groups: Vec<Value> = named_groups(registry)
        .into_iter()
        .map(|(name, versions)| Value::Object(group_object(&name, &versions)))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/NAME`; `None` when the group is not served.
pub fn group(registry: &Registry, name: &str) -> Option<Value> {
    let versions = versions_of(registry, name);
    if name.is_empty() || versions.is_empty() {
        return None;
    }
    let mut object = group_object(name, &versions);
    object.insert("kind".into(), "APIGroup".into());
    object.insert("apiVersion".into(), "v1".into());
    Some(Value::Object(object))
}

/// `/apis/GROUP/VERSION`, or `/api/VERSION` when the group is empty; `None` when not served.
pub fn resource_list(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let entries: Vec<Value> = resources_of(registry, group, version)
        .flat_map(|(resource, version)| resource_entries(resource, version))
        .collect();
    if entries.is_empty() {
        return None;
    }
    let mut list = Map::new();
    list.insert("kind".into(), "APIResourceList".into());
    if !group.is_empty() {
        // Upstream leaves it out for the core group only.
        list.insert("apiVersion".into(), "v1".into());
    }
    list.insert("groupVersion".into(), api_version(group, version).into());
    list.insert("resources".into(), entries.into());
    Some(Value::Object(list))
}

/// `/api` (`core`) or `/apis` in aggregated form.
pub fn aggregated(registry: &Registry, core: bool, form: Aggregated) -> Value {
    let groups = if core {
        vec![(String::new(), versions_of(registry, ""))]
    } else {
        named_groups(registry)
    };
    let items: Vec<Value> = groups
        .into_iter()
        .filter(|(_, versions)| !versions.is_empty())
        .map(|(name, versions)| aggregated_group(registry, &name, &versions))
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{}", form.version()),
        "metadata": {},
        "items": items,
    })
}

/// Served versions of a group, the preferred one first.
pub fn versions_of(registry: &Registry, group: &str) -> Vec<String> {
    let mut versions: Vec<String> = registry
        .all()
        .filter(|r| r.group == group)
        .flat_map(|r| &r.versions)
        .filter(|v| v.served)
        .map(|v| v.name.clone())
        .collect();
    versions.sort_by(|a, b| compare_versions(a, b));
    versions.dedup();
    versions
}

/// Every served group version, core first, then as in [`group_list`].
pub fn group_versions(registry: &Registry) -> Vec<(String, String)> {
    let core = (String::new(), versions_of(registry, ""));
    std::iter::once(core)
        .chain(named_groups(registry))
        .flat_map(|(group, versions)| versions.into_iter().map(move |v| (group.clone(), v)))
        .collect()
}

/// Verbs served on a resource itself.
pub fn verbs(resource: &Resource) -> &'static [&'static str] {
    if resource.strategy.virtual_only {
        &["create"]
    } else if resource.terminating {
        TERMINATING_VERBS
    } else if resource.group.is_empty() && resource.plural == "namespaces" {
        NAMESPACE_VERBS
    } else {
        ALL_VERBS
    }
}

/// Resources of a group version that are served, with that version.
pub(crate) fn resources_of<'a>(
    registry: &'a Registry,
    group: &'a str,
    version: &'a str,
) -> impl Iterator<Item = (&'a Arc<Resource>, &'a Version)> {
    registry
        .all()
        .filter(move |r| r.group == group)
        .filter_map(move |r| r.version(version).map(|v| (r, v)))
}

/// All groups but core, in upstream's order, with their served versions.
fn named_groups(registry: &Registry) -> Vec<(String, Vec<String>)> {
    let names: BTreeSet<&str> =
        registry.all().map(|r| r.group.as_str()).filter(|name| !name.is_empty()).collect();
    let mut groups: Vec<(String, Vec<String>)> = names
        .into_iter()
        .map(|name| (name.to_owned(), versions_of(registry, name)))
        .filter(|(_, versions)| !versions.is_empty())
        .collect();
    groups.sort_by(|(a, _), (b, _)| compare_groups(a, b));
    groups
}

fn group_object(name: &str, versions: &[String]) -> Map<String, Value> {
    let entry = |v: &String| json!({"groupVersion": api_version(name, v), "version": v});
    let mut object = Map::new();
    object.insert("name".into(), name.into());
    object.insert("versions".into(), versions.iter().map(entry).collect());
    if let Some(preferred) = versions.first() {
        object.insert("preferredVersion".into(), entry(preferred));
    }
    object
}

/// One subresource of a resource: its name, the kind it speaks and its verbs.
struct Sub {
    name: &'static str,
    group: String,
    version: String,
    kind: String,
    foreign: bool,
    verbs: &'static [&'static str],
}

fn subresources(resource: &Resource, version: &Version) -> Vec<Sub> {
    let own = |name, verbs| Sub {
        name,
        group: resource.group.clone(),
        version: version.name.clone(),
        kind: resource.kind.clone(),
        foreign: false,
        verbs,
    };
    let mut subs: Vec<Sub> = EXTRA
        .iter()
        .filter(|e| resource.group.is_empty() && e.plural == resource.plural)
        .map(|e| match e.foreign {
            None => own(e.subresource, e.verbs),
            Some((group, version, kind)) => Sub {
                group: group.into(),
                version: version.into(),
                kind: kind.into(),
                // Legacy discovery names the group only where it is another one.
                foreign: !group.is_empty(),
                ..own(e.subresource, e.verbs)
            },
        })
        .collect();
    if version.scale.is_some() {
        subs.push(Sub {
            name: "scale",
            group: "autoscaling".into(),
            version: "v1".into(),
            kind: "Scale".into(),
            foreign: true,
            verbs: SUBRESOURCE_VERBS,
        });
    }
    if version.status {
        subs.push(own("status", SUBRESOURCE_VERBS));
    }
    subs
}

fn resource_entries(resource: &Resource, version: &Version) -> Vec<Value> {
    let mut entry = Map::new();
    entry.insert("name".into(), resource.plural.clone().into());
    entry.insert("singularName".into(), resource.singular.clone().into());
    entry.insert("namespaced".into(), resource.namespaced.into());
    entry.insert("kind".into(), resource.kind.clone().into());
    entry.insert("verbs".into(), verbs(resource).into());
    if !resource.short_names.is_empty() {
        entry.insert("shortNames".into(), resource.short_names.clone().into());
    }
    if !resource.categories.is_empty() {
        entry.insert("categories".into(), resource.categories.clone().into());
    }
    if !resource.strategy.virtual_only {
        entry.insert("storageVersionHash".into(), storage_version_hash(resource).into());
    }
    let subs = subresources(resource, version).into_iter().map(|sub| {
        let mut entry = Map::new();
        entry.insert("name".into(), format!("{}/{}", resource.plural, sub.name).into());
        entry.insert("singularName".into(), "".into());
        entry.insert("namespaced".into(), resource.namespaced.into());
        if sub.foreign {
            entry.insert("group".into(), sub.group.into());
            entry.insert("version".into(), sub.version.into());
        }
        entry.insert("kind".into(), sub.kind.into());
        entry.insert("verbs".into(), sub.verbs.into());
        Value::Object(entry)
    });
    std::iter::once(Value::Object(entry)).chain(subs).collect()
}

fn aggregated_group(registry: &Registry, name: &str, versions: &[String]) -> Value {
    let mut metadata = Map::new();
    if !name.is_empty() {
        metadata.insert("name".into(), name.into());
    }
    metadata.insert("creationTimestamp".into(), Value::Null);
    let versions: Vec<Value> = versions
        .iter()
        .map(|version| {
            let resources: Vec<Value> = resources_of(registry, name, version)
                .map(|(resource, version)| aggregated_resource(resource, version))
                .collect();
            json!({"version": version, "resources": resources, "freshness": "Current"})
        })
        .collect();
    json!({"metadata": metadata, "versions": versions})
}

fn aggregated_resource(resource: &Resource, version: &Version) -> Value {
    let kind = |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
    let mut entry = Map::new();
    entry.insert("resource".into(), resource.plural.clone().into());
    entry.insert("responseKind".into(), kind(&resource.group, &version.name, &resource.kind));
    let scope = if resource.namespaced { "Namespaced" } else { "Cluster" };
    entry.insert("scope".into(), scope.into());
    entry.insert("singularResource".into(), resource.singular.clone().into());
    entry.insert("verbs".into(), verbs(resource).into());
    if !resource.short_names.is_empty() {
        entry.insert("shortNames".into(), resource.short_names.clone().into());
    }
    if !resource.categories.is_empty() {
        entry.insert("categories".into(), resource.categories.clone().into());
    }
    let subs: Vec<Value> = subresources(resource, version)
        .into_iter()
        .map(|sub| {
            json!({
                "subresource": sub.name,
                "responseKind": kind(&sub.group, &sub.version, &sub.kind),
                "verbs": sub.verbs,
            })
        })
        .collect();
    if !subs.is_empty() {
        entry.insert("subresources".into(), subs.into());
    }
    Value::Object(entry)
}

/// Changes when objects of this resource begin to be stored in another version; opaque to clients.
fn storage_version_hash(resource: &Resource) -> String {
    let stored = resource.versions.get(resource.storage).map_or("", |v| v.name.as_str());
    let text = format!("{}/{stored}/{}", resource.group, resource.kind);
    let hash = content_hash(text.as_bytes());
    BASE64.encode(hash.to_be_bytes().get(..8).unwrap_or_default())
}

#[cfg(test)]
pub(crate) mod tests;
