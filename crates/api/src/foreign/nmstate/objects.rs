//! The objects of kubernetes-nmstate, as they are written.
//!
//! Two of the three kinds have no spec, so they are no `CustomResource`s; all three are written out
//! here. Times and unknown fields are read tolerantly: one odd object must not end a watch.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::core::{ClusterResourceScope, Resource};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::GROUP;

/// Names the policy on an enactment.
pub const POLICY_LABEL: &str = "nmstate.io/policy";
/// Names the node on an enactment.
pub const NODE_LABEL: &str = "nmstate.io/node";

/// One aspect of an object's state. Heartbeat: last said; transition: last time the status changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "time")]
    pub last_heartbeat_time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "time")]
    pub last_transition_time: Option<Time>,
}

/// What nodes shall look like.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicySpec {
    /// Labels a node must have, all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<BTreeMap<String, String>>,
    /// Named expressions over the state of the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<BTreeMap<String, String>>,
    /// The state, in the words of nmstate.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub desired_state: Value,
    /// How many nodes may be changed at once: a number or a percentage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
}

/// How far the nodes are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicyStatus {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Nodes that are being changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable_node_count: Option<i64>,
    /// The same by generation of the policy.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unavailable_node_count_map: BTreeMap<String, i64>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "time")]
    pub last_unavailable_node_count_update: Option<Time>,
}

/// How one policy is doing on one node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnactmentStatus {
    /// The state, with captures filled in and defaults added.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub desired_state: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired_state_meta_info: Option<MetaInfo>,
    /// What was captured, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub captured_states: BTreeMap<String, CapturedState>,
    /// Which state of the policy this is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_generation: Option<i64>,
    pub features: Vec<String>,
    /// Failed tries, by generation of the policy.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub retry_count: BTreeMap<String, i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// When a state was worked out, and from which version of its source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MetaInfo {
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "time")]
    pub time: Option<Time>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
}

/// One captured state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CapturedState {
    #[serde(skip_serializing_if = "Value::is_null")]
    pub state: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta_info: Option<MetaInfo>,
}

/// What a node looks like.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StateStatus {
    #[serde(skip_serializing_if = "Value::is_null")]
    pub current_state: Value,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "time")]
    pub last_successful_update_time: Option<Time>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub handler_nmstate_version: String,
}

/// What nodes shall look like, and how far they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeNetworkConfigurationPolicy {
    #[serde(default = "v1")]
    pub api_version: String,
    #[serde(default = "policy_kind")]
    pub kind: String,
    pub metadata: ObjectMeta,
    #[serde(default)]
    pub spec: PolicySpec,
    #[serde(default)]
    pub status: PolicyStatus,
}

/// How one policy is doing on one node; named `<node>.<policy>`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeNetworkConfigurationEnactment {
    #[serde(default = "v1beta1")]
    pub api_version: String,
    #[serde(default = "enactment_kind")]
    pub kind: String,
    pub metadata: ObjectMeta,
    #[serde(default)]
    pub status: EnactmentStatus,
}

/// What the network of a node looks like; has the node's name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeNetworkState {
    #[serde(default = "v1beta1")]
    pub api_version: String,
    #[serde(default = "state_kind")]
    pub kind: String,
    pub metadata: ObjectMeta,
    #[serde(default)]
    pub status: StateStatus,
}

impl NodeNetworkConfigurationPolicy {
    /// A policy without a status.
    pub fn new(name: &str, spec: PolicySpec) -> Self {
        Self {
            api_version: v1(),
            kind: policy_kind(),
            metadata: named(name),
            spec,
            status: PolicyStatus::default(),
        }
    }
}

impl NodeNetworkConfigurationEnactment {
    /// An enactment without owner and status.
    pub fn new(node: &str, policy: &str) -> Self {
        let labels = [(POLICY_LABEL, policy), (NODE_LABEL, node)];
        let labels = labels.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        let metadata = ObjectMeta { labels: Some(labels), ..named(&enactment_name(node, policy)) };
        Self {
            api_version: v1beta1(),
            kind: enactment_kind(),
            metadata,
            status: EnactmentStatus::default(),
        }
    }
}

impl NodeNetworkState {
    /// The state of a node, without owner and status.
    pub fn new(node: &str) -> Self {
        Self {
            api_version: v1beta1(),
            kind: state_kind(),
            metadata: named(node),
            status: StateStatus::default(),
        }
    }
}

/// The name of an enactment.
pub fn enactment_name(node: &str, policy: &str) -> String {
    format!("{node}.{policy}")
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

/// A time that cannot be read is no time.
fn time<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Time>, D::Error> {
    let value = Option::<Value>::deserialize(input)?;
    Ok(value.and_then(|value| serde_json::from_value(value).ok()))
}

macro_rules! kinds {
    ($($type:ty, $kind:literal, $kind_fn:ident, $plural:literal, $version:literal, $version_fn:ident;)*) => {$(
        impl Resource for $type {
            type DynamicType = ();
            type Scope = ClusterResourceScope;
            fn kind((): &()) -> Cow<'_, str> {
                $kind.into()
            }
            fn group((): &()) -> Cow<'_, str> {
                GROUP.into()
            }
            fn version((): &()) -> Cow<'_, str> {
                $version.into()
            }
            fn plural((): &()) -> Cow<'_, str> {
                $plural.into()
            }
            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }
            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
        fn $kind_fn() -> String {
            $kind.to_owned()
        }
    )*};
}

kinds! {
    NodeNetworkConfigurationPolicy, "NodeNetworkConfigurationPolicy", policy_kind,
        "nodenetworkconfigurationpolicies", "v1", v1;
    NodeNetworkConfigurationEnactment, "NodeNetworkConfigurationEnactment", enactment_kind,
        "nodenetworkconfigurationenactments", "v1beta1", v1beta1;
    NodeNetworkState, "NodeNetworkState", state_kind, "nodenetworkstates", "v1beta1", v1beta1;
}

fn v1() -> String {
    format!("{GROUP}/v1")
}

fn v1beta1() -> String {
    format!("{GROUP}/v1beta1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_odd_object_can_still_be_read() {
        let read: NodeNetworkConfigurationPolicy = serde_json::from_value(json!({
            "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkConfigurationPolicy",
            "metadata": {"name": "osp", "generation": 3},
            "spec": {"nodeSelector": {"a": ""}, "maxUnavailable": "50%", "desiredState": {"interfaces": []}, "later": 1},
            "status": {"conditions": [{"type": "Available", "status": "True", "lastHeartbeatTime": "soon"}],
                "unavailableNodeCountMap": {"3": 1}, "lastUnavailableNodeCountUpdate": null},
        }))
        .unwrap();
        assert_eq!(read.status.conditions[0].last_heartbeat_time, None);
        assert_eq!(read.status.unavailable_node_count_map["3"], 1);
        assert_eq!(read.spec.max_unavailable, Some(IntOrString::String("50%".into())));
        let bare = serde_json::from_value::<NodeNetworkState>(json!({"metadata": {"name": "a"}}));
        assert_eq!(bare.unwrap(), NodeNetworkState::new("a"));
    }

    #[test]
    fn an_enactment_is_named_and_labelled_as_upstream_does() {
        let made = serde_json::to_value(NodeNetworkConfigurationEnactment::new("worker-0", "osp"));
        assert_eq!(
            made.unwrap(),
            json!({
                "apiVersion": "nmstate.io/v1beta1", "kind": "NodeNetworkConfigurationEnactment",
                "metadata": {"name": "worker-0.osp", "labels": {
                    "nmstate.io/node": "worker-0", "nmstate.io/policy": "osp"}},
                "status": {"features": []},
            })
        );
    }
}
