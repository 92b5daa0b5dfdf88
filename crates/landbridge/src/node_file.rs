//! What `up` tells the agent of a lab node about the node: `node.json` in the node's directory.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use landbridge_apiserver::pki::write_private;
use landbridge_lab::spec::{Node, Taint};
use serde::{Deserialize, Serialize};

use crate::args::ServicePath;

const NAME: &str = "node.json";

/// The part of a lab's shape that concerns one agent.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeFile {
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
    /// The NIC by whose addresses the node is known: the first that has any from boot on, else the first.
    pub nic: Option<String>,
    /// The networks of cluster addresses.
    #[serde(default)]
    pub service_cidrs: Vec<ipnet::IpNet>,
    /// How connections to Services are forwarded.
    #[serde(default)]
    pub services: ServicePath,
}

impl NodeFile {
    /// What the shape says.
    pub fn of(node: &Node) -> Self {
        Self {
            labels: node.labels.clone(),
            taints: node.taints.clone(),
            nic: node
                .nics
                .iter()
                .find(|nic| !nic.addresses.is_empty())
                .or(node.nics.first())
                .map(|nic| nic.name.to_string()),
            ..Self::default()
        }
    }

    /// The taints as Kubernetes has them.
    pub fn taints(&self) -> Vec<k8s_openapi::api::core::v1::Taint> {
        let of = |taint: &Taint| k8s_openapi::api::core::v1::Taint {
            key: taint.key.clone(),
            value: Some(taint.value.clone()).filter(|value| !value.is_empty()),
            effect: taint.effect.as_str().to_owned(),
            time_added: None,
        };
        self.taints.iter().map(of).collect()
    }

    /// Writes it into the node's directory.
    pub fn write(&self, directory: &Path) -> anyhow::Result<()> {
        Ok(write_private(&directory.join(NAME), &serde_json::to_vec_pretty(self)?)?)
    }

    /// Reads it there.
    pub fn read(directory: &Path) -> anyhow::Result<Self> {
        let path = directory.join(NAME);
        let text =
            std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("{} is not ours", path.display()))
    }
}
