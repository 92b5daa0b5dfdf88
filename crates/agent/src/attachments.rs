//! Pods of a lab node get their networks as on any node: one call of Multus, with the cluster network
//! of the lab as its first delegate.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ipnet::IpNet;
use landbridge_attach::attacher::Request;
use landbridge_attach::daemon::Daemon;
use landbridge_cni::args::Args;
use landbridge_cni::environment::{Command, Environment};
use landbridge_cni::error::Code;
use landbridge_cni::{CniError, CniResult};
use serde_json::json;
use tokio::sync::watch;

use crate::cluster;
use crate::pods::{Attachments, PodIdentity};

/// What pods call their interface on the cluster network.
const FIRST: &str = "eth0";
const CLUSTER_MTU: u32 = 1500;

/// Calls Multus in this process.
pub struct InProcess {
    pub daemon: Arc<Daemon>,
    /// The ranges of this node's pods; empty until somebody has given it some.
    pub pod_cidrs: watch::Receiver<Vec<IpNet>>,
    /// Where caches and the records of addresses go.
    pub directory: PathBuf,
    /// Where plugins that are programs are found.
    pub path: Vec<String>,
}

impl InProcess {
    fn call(
        &self,
        command: Command,
        pod: &PodIdentity,
        container_id: &str,
        netns: &Path,
    ) -> Result<Option<CniResult>, CniError> {
        let ranges = self.pod_cidrs.borrow().clone();
        if ranges.is_empty() && command == Command::Add {
            let text = "this node has no range for its pods yet (spec.podCIDRs of its Node)";
            return Err(CniError::new(Code::TRY_AGAIN, text));
        }
        let addresses = self.directory.join("networks");
        let config = json!({
            "cniVersion": "1.0.0",
            "name": "multus-cni-network",
            "type": "multus",
            "cniDir": self.directory.join("multus"),
            "confDir": self.directory.join("net.d"),
            "delegates": [cluster::configuration(&ranges, &addresses.to_string_lossy(), CLUSTER_MTU)],
        });
        let args = format!(
            "IgnoreUnknown=1;K8S_POD_NAMESPACE={};K8S_POD_NAME={};K8S_POD_INFRA_CONTAINER_ID={container_id};K8S_POD_UID={}",
            pod.namespace, pod.name, pod.uid
        );
        let args = Args::parse(&args)
            .map_err(|error| CniError::new(Code::INVALID_ENVIRONMENT, error.to_string()))?;
        let environment = Environment {
            command,
            container_id: container_id.to_owned(),
            netns: Some(netns.to_string_lossy().into_owned()),
            interface: FIRST.to_owned(),
            args,
            path: self.path.clone(),
            netns_override: false,
        };
        self.daemon.run(&Request { environment, config: config.to_string().into_bytes() })
    }
}

impl Attachments for InProcess {
    fn add(
        &self,
        pod: &PodIdentity,
        container_id: &str,
        netns: &Path,
    ) -> Result<CniResult, CniError> {
        self.call(Command::Add, pod, container_id, netns)?
            .ok_or_else(|| CniError::new(Code::INTERNAL, "Multus answered ADD without a result"))
    }

    fn del(&self, pod: &PodIdentity, container_id: &str, netns: &Path) -> Result<(), CniError> {
        self.call(Command::Del, pod, container_id, netns).map(drop)
    }
}
