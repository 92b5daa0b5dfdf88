//! The pods of this node.
//!
//! ```text
//!  watch ─► Desired ─► Machine ─► Action ─► hands ─► Outcome ─┐     namespaces, CNI, processes
//!                         ▲                                   │
//!                         └───────────────────────────────────┘
//!                      status ─► API
//! ```
//!
//! A pod gets a sandbox (a named network namespace with loopback, attached by [`Attachments`]) and in
//! it one [`responder`](crate::responder) process, with files of its own below `/etc`. Images, volumes,
//! environment and resource limits are not used; init containers count as done. Pods with `hostNetwork`
//! share the node's network. Name servers are an exception: they are run ([`server`]); so are services of the
//! embedded cloud ([`cloud`]).
//!
//! | module | idea |
//! |---|---|
//! | [`desired`] | what a Pod asks for |
//! | [`machine`], [`run`], [`probe`] | what is to be done next (pure) |
//! | [`status`] | what is reported (pure) |
//! | [`etc`] | its files below `/etc`: resolver, hosts, hostname |
//! | [`server`], [`volumes`], `keeper` | name servers in pods, and their files |
//! | [`cloud`] | the embedded cloud behind pods, and for their commands |
//! | [`ways`] | routes and addresses that pods would give themselves |
//! | [`record`] | what survives the agent |
//! | [`driver`], [`hands`] | watches, and carries out |
//! | [`releases`] | attachments whose release is tried again |
//! | [`directory`] | the pods as they are, for the kubelet's socket |

mod check;
pub mod cloud;
pub mod desired;
pub mod directory;
mod driver;
pub mod etc;
mod find;
mod hands;
mod keeper;
mod leftovers;
pub mod machine;
mod notices;
pub mod probe;
pub mod process;
pub mod record;
mod releases;
pub mod run;
pub mod server;
pub mod status;
pub mod volumes;
pub mod ways;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use landbridge_cni::{CniError, CniResult};

pub use self::desired::PodIdentity;
pub use self::directory::{Directory, View};
pub use self::driver::run;
pub use self::find::{Sandbox, sandbox_of};

/// Whoever attaches sandboxes to networks. Calls block.
pub trait Attachments: Send + Sync {
    /// Attaches a sandbox. What it answers is what the cluster's own network gave.
    fn add(
        &self,
        pod: &PodIdentity,
        container_id: &str,
        netns: &Path,
    ) -> Result<CniResult, CniError>;

    /// Releases whatever a sandbox was given; also when that is nothing, when it was released before,
    /// and when its namespace is gone.
    fn del(&self, pod: &PodIdentity, container_id: &str, netns: &Path) -> Result<(), CniError>;
}

/// How pods are run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name of this node.
    pub node: String,
    /// Records, logs and settings of pods go below it.
    pub state_dir: PathBuf,
    /// Where network namespaces get their names.
    pub netns_dir: PathBuf,
    /// The command that runs a responder; the path of its settings is added as last argument.
    pub responder: Vec<OsString>,
    /// The command that is a name server; its arguments are added. Without it none is run.
    pub name_server: Vec<OsString>,
    /// The key with which responders sign certificates for TLS; there is none without it.
    pub authority: Option<PathBuf>,
    /// Where the sockets of the embedded cloud are; without it none stands behind a pod.
    pub cloud: Option<PathBuf>,
    /// Where pods find names of the cluster.
    pub names: Option<etc::ClusterDns>,
    /// Deleting a pod waits this long for its attachments; then they are released later.
    pub detach_within: Duration,
}

impl Settings {
    /// The usual, with `landbridge` at a path.
    pub fn new(node: &str, state_dir: &Path, landbridge: &Path) -> Self {
        Self {
            node: node.to_owned(),
            state_dir: state_dir.to_owned(),
            netns_dir: PathBuf::from("/run/netns"),
            responder: vec![landbridge.into(), "responder".into()],
            name_server: Vec::new(),
            authority: None,
            cloud: None,
            names: None,
            detach_within: Duration::from_secs(10),
        }
    }
}
