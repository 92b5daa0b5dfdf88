//! A host that is no Kubernetes node, such as an OpenStack compute node: it gets VLAN interfaces,
//! addresses, routes and resolver from the IPSet of its name, as soon as that is Ready.
//!
//! ```text
//!  IPSet ─▶ wanted ─▶ compose ─▶ apply, verify, probe, or back ─▶ Event on the IPSet
//!                      ▲   what is there now, and what this agent made (on disk)
//! ```
//!
//! What an older state of the IPSet had and the new one lacks is removed again; what this agent did
//! not make is never touched. An IPSet that is not Ready changes nothing; one that is gone takes its
//! addresses with it, because they may be somebody else's soon.
//!
//! | module | idea |
//! |---|---|
//! | [`wanted`] | what an IPSet says, as interfaces, addresses, routes and resolver |
//! | [`compose`] | the desired state that makes it so, given what is there |
//! | [`servers`] | the name servers, from DNSMasq objects |
//! | `driver` | watches the IPSet, applies, keeps the record |

pub mod compose;
mod driver;
pub mod servers;
pub mod wanted;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

pub use self::driver::{HostDuty, run};
use crate::policy::settings::Settings;

/// What a host has to be told, because no IPSet says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostSettings {
    /// Name of the host, and of its IPSet.
    pub name: String,
    /// Namespace of the IPSet; `openstack` as a rule.
    pub namespace: String,
    /// The NIC of all networks that have none of their own. Nothing: the first NIC that does not
    /// have the default route when the host is first configured.
    pub trunk: Option<String>,
    /// NICs of particular networks, by name of the network in any letter case.
    pub nics: BTreeMap<String, String>,
    /// Name servers. None: those of the namespace's DNSMasq objects; without any the resolver is left
    /// as it is.
    pub nameservers: Vec<IpAddr>,
    /// What must still work after a change.
    pub probes: Settings,
    /// Where `host.json` is kept.
    pub state_dir: PathBuf,
}
