//! What attachments read and write in the cluster, as blocking calls.
//!
//! CNI calls are threads that wait, so everything here blocks, and every call ends within a bounded
//! time. [`KubeObjects`] speaks with an API; [`fake`] is a cluster in memory with faults on demand.

pub mod fake;
mod kube;
mod near;

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use landbridge_api::ledger::{AddressBlock, Claim};
use landbridge_api::network::IPSet;
use landbridge_cni::whereabouts::{Operation, PoolSpec, Reservation};
use serde_json::Value;
use thiserror::Error;

pub use self::kube::KubeObjects;
pub use self::near::MakeClient;

/// A pod, as far as attachments care.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its identity; a pod of the same name made later has another.
    pub uid: String,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// The node it runs on.
    pub node: String,
    /// The object that looks after it.
    pub controller: Option<Owner>,
    /// Whether it asked for the host's network, and so has no attachments.
    pub host_network: bool,
    /// Whether its containers have ended for good.
    pub is_finished: bool,
    /// Whether it is being deleted.
    pub is_terminating: bool,
    /// Whether its node is taken for lost (`DisruptionTarget`, `DeletionByTaintManager`).
    pub is_lost: bool,
}

impl Pod {
    /// `namespace/name`.
    pub fn reference(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// The object that looks after another.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// Its API group and version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its identity.
    pub uid: String,
}

/// A NetworkAttachmentDefinition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definition {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// `spec.config`; empty when the configuration is in a file of the node.
    pub config: String,
}

/// An IPPool of whereabouts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    /// Which state of it this is.
    pub resource_version: String,
    /// Who holds what.
    pub spec: PoolSpec,
}

/// An OverlappingRangeIPReservation and which state of it this is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reserved {
    /// Which state of it this is.
    pub resource_version: String,
    /// Who holds the address.
    pub spec: Reservation,
}

/// A block of the ledger, in one state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Its name.
    pub name: String,
    /// Its identity.
    pub uid: String,
    /// Which state of it this is.
    pub resource_version: String,
    /// The wire.
    pub segment: String,
    /// Who holds what.
    pub claims: BTreeMap<IpAddr, Claim>,
}

impl From<AddressBlock> for Block {
    fn from(object: AddressBlock) -> Self {
        Self {
            name: object.metadata.name.unwrap_or_default(),
            uid: object.metadata.uid.unwrap_or_default(),
            resource_version: object.metadata.resource_version.unwrap_or_default(),
            segment: object.spec.segment,
            claims: object.spec.claims,
        }
    }
}

/// A set of equal pods whose addresses may stay with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetKind {
    /// `StatefulSet`.
    Stateful,
    /// `DaemonSet`.
    Daemon,
}

/// A StatefulSet or DaemonSet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodSet {
    /// Which of the two.
    pub kind: SetKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its identity.
    pub uid: String,
    /// The numbers its pods have: the first, and how many. For a DaemonSet without meaning.
    pub ordinals: (u64, u64),
    /// Whether its pods ask for addresses that stay, whatever the definitions say.
    pub is_sticky: bool,
}

/// The state of a pool after a patch, and the states of the reservations made with it.
pub type PatchedAndReserved = (Result<String, ObjectError>, Vec<Result<String, ObjectError>>);

/// Something to tell about a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whether it is bad.
    pub is_warning: bool,
    /// One word for programs.
    pub reason: &'static str,
    /// One sentence for people.
    pub message: String,
}

/// The cluster. Calls block, and end within a bounded time.
pub trait Objects: Send + Sync {
    /// A pod; `None` when the cluster says that there is none.
    fn pod(&self, namespace: &str, name: &str) -> Result<Option<Pod>, ObjectError>;
    /// The pods of one node, or of all nodes.
    fn pods(&self, node: Option<&str>) -> Result<Vec<Pod>, ObjectError>;
    /// Writes the network-status of a pod; no error when the pod is gone or is another by now.
    fn set_network_status(&self, pod: &Pod, text: &str) -> Result<(), ObjectError>;
    /// Tells about a pod. Nobody waits for it, and nothing fails with it.
    fn tell(&self, pod: &Pod, events: Vec<Event>);

    /// A definition.
    fn definition(&self, namespace: &str, name: &str) -> Result<Option<Definition>, ObjectError>;
    /// All definitions.
    fn definitions(&self) -> Result<Vec<Definition>, ObjectError>;

    /// A pool.
    fn pool(&self, name: &str) -> Result<Option<Pool>, ObjectError>;
    /// All pools by name.
    fn pools(&self) -> Result<BTreeMap<String, Pool>, ObjectError>;
    /// Makes an empty pool; a conflict when there is one.
    fn create_pool(&self, name: &str, range: &str) -> Result<Pool, ObjectError>;
    /// Changes a pool and says which state it has then; a conflict when one of the patch's tests
    /// fails. The pool itself is not answered: it may be large, and who insists on the state it
    /// changes knows what became of it.
    fn patch_pool(&self, name: &str, patch: &[Operation]) -> Result<String, ObjectError>;

    /// A reservation.
    fn reservation(&self, name: &str) -> Result<Option<Reserved>, ObjectError>;
    /// All reservations by name.
    fn reservations(&self) -> Result<BTreeMap<String, Reserved>, ObjectError>;
    /// Makes a reservation and says which state it has; a conflict when there is one.
    fn create_reservation(&self, name: &str, spec: &Reservation) -> Result<String, ObjectError>;
    /// [`Self::patch_pool`] and [`Self::create_reservation`] for each of these, all at the same time.
    fn patch_and_reserve(
        &self,
        pool: &str,
        patch: &[Operation],
        reservations: &[(String, Reservation)],
    ) -> PatchedAndReserved;
    /// Puts another in the place of that state of it; a conflict when it has another state.
    fn replace_reservation(&self, name: &str, with: &Reserved) -> Result<(), ObjectError>;
    /// Deletes that state of it; a conflict when it has another state. No error when it is gone.
    fn delete_reservation(&self, name: &str, version: &str) -> Result<(), ObjectError>;

    /// An IPSet.
    fn ipset(&self, namespace: &str, name: &str) -> Result<Option<IPSet>, ObjectError>;
    /// The IPSets that carry a label with this name.
    fn ipsets(&self, label: &str) -> Result<Vec<IPSet>, ObjectError>;
    /// Makes an IPSet; a conflict when there is one.
    fn create_ipset(&self, ipset: &IPSet) -> Result<IPSet, ObjectError>;
    /// Puts another in the place of the state it names; a conflict when it has another state.
    fn replace_ipset(&self, ipset: &IPSet) -> Result<IPSet, ObjectError>;
    /// Deletes that state of it; a conflict when it has another state. No error when it is gone.
    fn delete_ipset(&self, ipset: &IPSet) -> Result<(), ObjectError>;

    /// The prefixes of a network of the NetConfig, by the subnets' names in lower case.
    fn subnet_prefixes(
        &self,
        namespace: &str,
        network: &str,
    ) -> Result<BTreeMap<String, IpNet>, ObjectError>;

    /// All NetConfigs, as they are written.
    fn netconfigs(&self) -> Result<Vec<Value>, ObjectError>;
    /// All NodeNetworkConfigurationPolicies, as they are written.
    fn policies(&self) -> Result<Vec<Value>, ObjectError>;
    /// A block of the ledger.
    fn block(&self, name: &str) -> Result<Option<Block>, ObjectError>;
    /// All blocks of the ledger.
    fn blocks(&self) -> Result<Vec<Block>, ObjectError>;
    /// Makes a block; a conflict when there is one. `None`: this cluster has no ledger.
    fn create_block(&self, block: &AddressBlock) -> Result<Option<Block>, ObjectError>;
    /// Changes claims of that state of a block; a conflict when it has another state. `None`:
    /// nothing was claimed any more, and the block is gone.
    fn swap_block(
        &self,
        from: &Block,
        edits: &BTreeMap<IpAddr, Option<Claim>>,
    ) -> Result<Option<Block>, ObjectError>;

    /// All StatefulSets and DaemonSets.
    fn pod_sets(&self) -> Result<Vec<PodSet>, ObjectError>;
    /// The names of all nodes.
    fn nodes(&self) -> Result<Vec<String>, ObjectError>;
}

/// Why a call of the cluster failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ObjectError {
    /// Somebody else was faster; read and decide again.
    #[error("somebody else changed it at the same time: {0}")]
    Conflict(String),
    /// No answer. Whether a change was made is not known.
    #[error("the Kubernetes API does not answer: {0}")]
    Unreachable(String),
    /// The answer is no.
    #[error("the Kubernetes API refuses it: {0}")]
    Refused(String),
}

impl Block {
    /// Whether nothing is claimed once these changes are made.
    pub fn empties(&self, edits: &BTreeMap<IpAddr, Option<Claim>>) -> bool {
        let stays = |address: &IpAddr| !matches!(edits.get(address), Some(None));
        !self.claims.keys().any(stays) && edits.values().all(Option::is_none)
    }
}

impl ObjectError {
    /// Whether reading and deciding again is the right thing.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict(_))
    }
}
