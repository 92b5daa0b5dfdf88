//! OpenShift's Route: a host name, and the Service behind it.
//!
//! Read tolerantly: one odd object must not end a watch. OpenShift's API fills in the host when it is
//! left out, from name, namespace and the domain of the cluster's ingress; so does the embedded one, and
//! controllers need not know the domain.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::core::{NamespaceResourceScope, Resource};
use landbridge_machinery::hooks::{Hooks, Operation, Request};
use landbridge_machinery::object;
use landbridge_machinery::status::ApiResult;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The group of Routes.
pub const GROUP: &str = "route.openshift.io";
/// Their kind.
pub const KIND: &str = "Route";

/// A host name, and the Service behind it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Route {
    pub api_version: String,
    pub kind: String,
    pub metadata: ObjectMeta,
    pub spec: RouteSpec,
    pub status: RouteStatus,
}

/// What is wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RouteSpec {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// Only requests whose path begins so.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    pub to: RouteTarget,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<RoutePort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<RouteTls>,
}

/// The Service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RouteTarget {
    pub kind: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<i32>,
}

/// Which of the Service's ports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoutePort {
    /// The port's name in the Service, or the number on the pods.
    pub target_port: IntOrString,
}

/// How TLS ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RouteTls {
    /// `edge`, `reencrypt` or `passthrough`.
    pub termination: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub certificate: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    #[serde(rename = "caCertificate", skip_serializing_if = "String::is_empty")]
    pub ca_certificate: String,
    /// Whom the pods' certificates are trusted from, with `reencrypt`.
    #[serde(rename = "destinationCACertificate", skip_serializing_if = "String::is_empty")]
    pub destination_ca_certificate: String,
    /// `None`, `Allow` or `Redirect`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub insecure_edge_termination_policy: String,
}

/// Who serves it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RouteStatus {
    pub ingress: Vec<RouteIngress>,
}

/// One ingress that has an opinion on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RouteIngress {
    pub host: String,
    pub router_name: String,
    pub router_canonical_hostname: String,
    pub wildcard_policy: String,
    pub conditions: Vec<RouteCondition>,
}

/// Whether it is served.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RouteCondition {
    #[serde(rename = "type")]
    pub type_: String,
    pub status: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_transition_time: String,
}

impl Route {
    /// Whether an ingress has said that it serves this Route.
    pub fn is_admitted(&self) -> bool {
        let said = self.status.ingress.iter().flat_map(|ingress| &ingress.conditions);
        said.into_iter().any(|c| c.type_ == "Admitted" && c.status == "True")
    }
}

impl Resource for Route {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        KIND.into()
    }
    fn group((): &()) -> Cow<'_, str> {
        GROUP.into()
    }
    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }
    fn plural((): &()) -> Cow<'_, str> {
        "routes".into()
    }
    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Marks hosts that were made up, as OpenShift does.
pub const HOST_GENERATED: &str = "openshift.io/host.generated";

/// The host of a Route that names none.
pub fn made_up_host(name: &str, namespace: &str, domain: &str) -> String {
    // Names of Routes may have dots; one label of a certificate's wildcard has none.
    format!("{}-{namespace}.{domain}", name.replace('.', "-"))
}

/// The host a Route answers to; `None` as long as nobody has given it one.
pub fn host(route: &Value) -> Option<&str> {
    let given = route["spec"]["host"].as_str().filter(|host| !host.is_empty());
    given.or_else(|| route["status"]["ingress"][0]["host"].as_str().filter(|host| !host.is_empty()))
}

/// Why the ingress does not take the Route, if it says so.
pub fn refusal(route: &Value) -> Option<String> {
    let ingress = route["status"]["ingress"].as_array()?;
    let conditions = ingress.iter().filter_map(|one| one["conditions"].as_array()).flatten();
    let refused = conditions
        .filter(|condition| condition["type"] == "Admitted" && condition["status"] == "False");
    refused
        .map(|condition| {
            let part = |field: &str| condition[field].as_str().unwrap_or_default();
            let (reason, message) = (part("reason"), part("message"));
            if message.is_empty() { reason.to_owned() } else { format!("{reason}: {message}") }
        })
        .next()
}

/// Fills in the host.
pub struct RouteHooks {
    domain: String,
}

impl RouteHooks {
    /// For an ingress of that domain.
    pub fn new(domain: impl Into<String>) -> Self {
        Self { domain: domain.into() }
    }
}

impl Hooks for RouteHooks {
    fn mutate(&self, request: &Request<'_>, route: &mut Value) -> ApiResult<()> {
        if request.operation == Operation::Delete || !route["spec"].is_object() {
            return Ok(());
        }
        if route["spec"]["host"].as_str().is_none_or(str::is_empty) {
            let name = Some(object::name(route)).filter(|name| !name.is_empty());
            let name = name.unwrap_or(request.name);
            let namespace = request.namespace.unwrap_or_default();
            if name.is_empty() {
                return Ok(()); // the server has not made the name up yet
            }
            route["spec"]["host"] = made_up_host(name, namespace, &self.domain).into();
            let notes = &mut route["metadata"]["annotations"];
            if notes.is_null() || notes.is_object() {
                notes[HOST_GENERATED] = "true".into();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use landbridge_machinery::gvk::GroupVersionKind;
    use serde_json::json;

    use super::*;
    use crate::foreign::testing::Nothing;

    #[test]
    fn a_host_is_made_up_and_marked_as_openshift_does() {
        let kind = GroupVersionKind::new(GROUP, "v1", KIND);
        let create = Request {
            operation: Operation::Create,
            kind: &kind,
            namespace: Some("openstack"),
            name: "",
            old: None,
            user: "tester",
            dry_run: false,
            objects: &Nothing,
        };
        let made = |mut route: Value| {
            RouteHooks::new("apps.test").mutate(&create, &mut route).unwrap();
            route
        };
        let route = made(json!({"metadata": {"name": "glance.public"}, "spec": {}}));
        assert_eq!(route["spec"]["host"], "glance-public-openstack.apps.test");
        assert_eq!(route["metadata"]["annotations"], json!({HOST_GENERATED: "true"}));
        let noted =
            json!({"metadata": {"name": "a", "annotations": {"x": "y"}}, "spec": {"host": ""}});
        let noted = made(noted);
        assert_eq!(noted["metadata"]["annotations"], json!({"x": "y", HOST_GENERATED: "true"}));
        let named = json!({"metadata": {"name": "a"}, "spec": {"host": "shop.test"}});
        assert_eq!(made(named.clone()), named, "a host that was asked for is nobody's invention");
        let unnamed = json!({"metadata": {"generateName": "a-"}, "spec": {}});
        assert_eq!(made(unnamed.clone()), unnamed, "not before there is a name");
    }

    #[test]
    fn the_host_is_the_one_that_is_asked_for_or_else_given() {
        assert_eq!(host(&json!({"spec": {"host": "a"}})), Some("a"));
        let given = json!({"spec": {}, "status": {"ingress": [{"host": "b"}]}});
        assert_eq!(host(&given), Some("b"));
        assert_eq!(host(&json!({"spec": {"host": ""}})), None);
    }

    #[test]
    fn only_a_refusal_is_one() {
        let with = |status: &str| {
            json!({"status": {"ingress": [{"conditions": [
                {"type": "Admitted", "status": status, "reason": "HostAlreadyClaimed", "message": "by x"}]}]}})
        };
        assert_eq!(refusal(&with("False")).as_deref(), Some("HostAlreadyClaimed: by x"));
        assert_eq!(refusal(&with("True")), None);
        assert_eq!(refusal(&json!({})), None);
    }
}
