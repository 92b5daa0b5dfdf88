//! What the engine knows of objects: the parts that matter, comparable.

use std::collections::BTreeMap;
use std::net::IpAddr;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::PartialObjectMeta;
use landbridge_api::foreign::nmstate::objects::{
    Condition, EnactmentStatus, NODE_LABEL, NodeNetworkConfigurationEnactment,
    NodeNetworkConfigurationPolicy, NodeNetworkState, POLICY_LABEL, PolicySpec, PolicyStatus,
};
use landbridge_controllers::mirror::{Key, Observed};

/// On an enactment: the uid of its policy.
pub const POLICY_UID: &str = "landbridge.dev/policy-uid";

/// What every object has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity {
    pub key: Key,
    pub uid: String,
    pub revision: u64,
}

impl From<&ObjectMeta> for Identity {
    fn from(meta: &ObjectMeta) -> Self {
        Self {
            key: Key::new("", meta.name.as_deref().unwrap_or_default()),
            uid: meta.uid.clone().unwrap_or_default(),
            revision: meta.resource_version.as_ref().and_then(|v| v.parse().ok()).unwrap_or(0),
        }
    }
}

impl Identity {
    /// The name.
    pub fn name(&self) -> &str {
        &self.key.name
    }
}

/// A node of the cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeSeen {
    pub id: Identity,
    pub labels: BTreeMap<String, String>,
    pub ready: bool,
    /// The addresses under which the cluster knows it.
    pub addresses: Vec<IpAddr>,
}

impl From<Node> for NodeSeen {
    fn from(node: Node) -> Self {
        let status = node.status.unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        let addresses = status.addresses.unwrap_or_default();
        Self {
            id: Identity::from(&node.metadata),
            labels: node.metadata.labels.unwrap_or_default(),
            ready: conditions.iter().any(|c| c.type_ == "Ready" && c.status == "True"),
            addresses: addresses
                .iter()
                .filter(|address| address.type_ == "InternalIP")
                .filter_map(|address| address.address.parse().ok())
                .collect(),
        }
    }
}

/// A node that has an agent: it publishes a NodeNetworkState.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentSeen(pub Identity);

impl From<PartialObjectMeta<NodeNetworkState>> for AgentSeen {
    fn from(state: PartialObjectMeta<NodeNetworkState>) -> Self {
        Self(Identity::from(&state.metadata))
    }
}

/// A policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    pub id: Identity,
    pub generation: i64,
    pub going: bool,
    pub annotations: BTreeMap<String, String>,
    pub spec: PolicySpec,
    pub status: PolicyStatus,
}

impl From<NodeNetworkConfigurationPolicy> for Policy {
    fn from(policy: NodeNetworkConfigurationPolicy) -> Self {
        Self {
            id: Identity::from(&policy.metadata),
            generation: policy.metadata.generation.unwrap_or(0),
            going: policy.metadata.deletion_timestamp.is_some(),
            annotations: policy.metadata.annotations.unwrap_or_default(),
            spec: policy.spec,
            status: policy.status,
        }
    }
}

impl Policy {
    /// Whether a node with these labels is meant.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let wanted = self.spec.node_selector.iter().flatten();
        wanted.into_iter().all(|(key, value)| labels.get(key) == Some(value))
    }
}

/// How a policy is doing on a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Enactment {
    pub id: Identity,
    pub node: String,
    pub policy: String,
    /// Identity of the policy, where this agent made the enactment: another policy of the same name
    /// begins with the same generation.
    pub policy_uid: Option<String>,
    pub status: EnactmentStatus,
}

impl From<NodeNetworkConfigurationEnactment> for Enactment {
    fn from(enactment: NodeNetworkConfigurationEnactment) -> Self {
        let label = |key: &str| {
            let labels = enactment.metadata.labels.as_ref();
            labels.and_then(|labels| labels.get(key)).cloned().unwrap_or_default()
        };
        Self {
            id: Identity::from(&enactment.metadata),
            node: label(NODE_LABEL),
            policy: label(POLICY_LABEL),
            policy_uid: enactment
                .metadata
                .annotations
                .as_ref()
                .and_then(|annotations| annotations.get(POLICY_UID).cloned()),
            status: enactment.status,
        }
    }
}

impl Enactment {
    /// The condition of that type.
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        self.status.conditions.iter().find(|condition| condition.type_ == type_)
    }

    /// Whether the condition of that type is True.
    pub fn is(&self, type_: &str) -> bool {
        self.condition(type_).is_some_and(|condition| condition.status == "True")
    }

    /// Whether it is about that generation of the policy.
    pub fn is_of(&self, generation: i64) -> bool {
        self.status.policy_generation == Some(generation)
    }

    /// When the node last said that it is at work.
    pub fn heartbeat(&self) -> Option<Timestamp> {
        self.condition("Progressing")?.last_heartbeat_time.as_ref().map(|time| time.0)
    }
}

macro_rules! observed {
    ($($type:ty, $id:tt;)*) => {$(
        impl Observed for $type {
            fn key(&self) -> &Key {
                &self.$id.key
            }
            fn revision(&self) -> u64 {
                self.$id.revision
            }
        }
    )*};
}
observed! { NodeSeen, id; AgentSeen, 0; Policy, id; Enactment, id; }
