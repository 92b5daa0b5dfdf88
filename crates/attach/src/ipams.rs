//! The address plugins that need the cluster, and the releases they still owe.

use std::sync::Arc;
use std::time::{Duration, Instant};

use landbridge_cni::config::Input;
use landbridge_cni::environment::{Command, Environment};
use landbridge_cni::error::{CniError, Code, Coded};
use landbridge_cni::result::CniResult;

use crate::ipsets::IPSets;
use crate::objects::Objects;
use crate::releases::{Release, Releases};
use crate::whereabouts::Whereabouts;

/// How long one queued release may take.
const RELEASE: Duration = Duration::from_secs(10);

/// `whereabouts` and `landbridge`.
pub struct Ipams {
    /// Addresses in the records of whereabouts.
    pub whereabouts: Whereabouts,
    /// Addresses of the NetConfig.
    pub ipsets: IPSets,
    releases: Releases,
}

impl Ipams {
    /// Releases that cannot be made are written down there.
    pub fn new(objects: &Arc<dyn Objects>, releases: Releases) -> Self {
        Self {
            whereabouts: Whereabouts::new(Arc::clone(objects), releases.clone()),
            ipsets: IPSets::new(Arc::clone(objects), releases.clone()),
            releases,
        }
    }

    /// Whether a plugin of that name is here.
    pub fn has(kind: &str) -> bool {
        matches!(kind, "whereabouts" | "landbridge")
    }

    /// One call of one of them; ADD answers a result, all else nothing.
    pub fn run(
        &self,
        kind: &str,
        input: &Input,
        environment: &Environment,
    ) -> Result<Option<CniResult>, CniError> {
        let command = environment.command;
        command.allowed_in(input.version).map_err(|error| error.report(input.version.as_str()))?;
        let done = match (kind, command) {
            // Which containers of other nodes there are is not known here: nothing is collected.
            (_, Command::Gc | Command::Version) | ("landbridge", Command::Status) => Ok(None),
            ("whereabouts", Command::Add) => self.whereabouts.add(input, environment).map(Some),
            ("whereabouts", Command::Del) => {
                self.whereabouts.del(input, environment).map(|()| None)
            }
            ("whereabouts", Command::Check) => {
                self.whereabouts.check(input, environment).map(|()| None)
            }
            ("whereabouts", Command::Status) => {
                self.whereabouts.status(input, environment).map(|()| None)
            }
            ("landbridge", Command::Add) => self.ipsets.add(input, environment).map(Some),
            ("landbridge", Command::Del) => self.ipsets.del(input, environment).map(|()| None),
            ("landbridge", Command::Check) => self.ipsets.check(input, environment).map(|()| None),
            _ => {
                let text = format!("no address plugin {kind:?} here");
                Err(CniError::new(Code::INTERNAL, text))
            }
        };
        done.map_err(|mut error| {
            input.version.as_str().clone_into(&mut error.cni_version);
            error
        })
    }

    /// Makes a release that was written down. Whole calls are not its business.
    pub fn release(&self, release: &Release) -> Result<(), CniError> {
        let end = Instant::now() + RELEASE;
        match release {
            Release::Whereabouts { pools, network_name, overlapping, holder } => {
                self.whereabouts.release(pools, network_name, *overlapping, holder, end)
            }
            Release::IPSets { namespace, names, container_id } => {
                self.ipsets.release(namespace, names, container_id, end)
            }
            Release::Call { plugin, .. } => {
                let text = format!("a queued call of {plugin} is for the daemon");
                Err(CniError::new(Code::INTERNAL, text))
            }
        }
    }

    /// The directory of the releases.
    pub fn releases(&self) -> &Releases {
        &self.releases
    }
}
