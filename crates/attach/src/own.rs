//! Networks run by the plugins of this program: the seam to `landbridge-plugins`.

use std::sync::Arc;

use landbridge_cni::config::{Attachment, Network};
use landbridge_cni::environment::Command;
use landbridge_cni::error::CniError;
use landbridge_cni::result::CniResult;
use landbridge_plugins::{Endpoint, Ipam, Runtime};

use crate::ipams::Ipams;
use crate::networks::{Call, Networks};
use crate::whereabouts::Whereabouts;
use crate::{ipsets::IPSets, networks};

/// Own plugins in this process, all others as programs, addresses from [`Ipams`].
pub struct OwnPlugins(Arc<Ipams>);

impl OwnPlugins {
    /// As [`Daemon::new`](crate::daemon::Daemon::new) wants it.
    pub fn with(ipams: Arc<Ipams>) -> Arc<dyn Networks> {
        Arc::new(Self(ipams))
    }

    fn runtime(&self, call: &Call) -> Runtime<'_> {
        Runtime::new(&*self.0, &call.cache)
    }
}

impl networks::Networks for OwnPlugins {
    fn add(&self, network: &Network, call: &Call) -> Result<CniResult, CniError> {
        self.runtime(call).add(network, &endpoint(call))
    }

    fn del(&self, network: &Network, call: &Call) -> Result<(), CniError> {
        self.runtime(call).del(network, &endpoint(call))
    }

    fn check(&self, network: &Network, call: &Call) -> Result<(), CniError> {
        self.runtime(call).check(network, &endpoint(call))
    }

    fn gc(&self, network: &Network, call: &Call, keep: &[Attachment]) -> Result<(), CniError> {
        self.runtime(call).gc(network, &call.environment.path, keep)
    }

    fn status(&self, network: &Network, call: &Call) -> Result<(), CniError> {
        self.runtime(call).status(network, &call.environment.path)
    }

    fn keep(&self, network: &Network, call: &Call, result: &CniResult) -> Result<(), CniError> {
        self.runtime(call).keep(network, &endpoint(call), result)
    }
}

fn endpoint(call: &Call) -> Endpoint {
    let environment = &call.environment;
    Endpoint {
        container_id: environment.container_id.clone(),
        netns: environment.netns.clone(),
        interface: environment.interface.clone(),
        args: environment.args.clone(),
        capabilities: call.capabilities.clone(),
        path: environment.path.clone(),
    }
}

impl landbridge_plugins::Ipams for Ipams {
    fn own(&self, kind: &str) -> Option<&dyn Ipam> {
        match kind {
            "whereabouts" => Some(&self.whereabouts),
            "landbridge" => Some(&self.ipsets),
            _ => None,
        }
    }
}

impl Ipam for Whereabouts {
    fn add(&self, call: &landbridge_plugins::Call) -> Result<CniResult, CniError> {
        self.add(&call.input, &as_command(call, Command::Add))
    }

    fn del(&self, call: &landbridge_plugins::Call) -> Result<(), CniError> {
        self.del(&call.input, &as_command(call, Command::Del))
    }

    fn check(&self, call: &landbridge_plugins::Call) -> Result<(), CniError> {
        self.check(&call.input, &as_command(call, Command::Check))
    }

    fn status(&self, call: &landbridge_plugins::Call) -> Result<(), CniError> {
        self.status(&call.input, &as_command(call, Command::Status))
    }
}

impl Ipam for IPSets {
    fn add(&self, call: &landbridge_plugins::Call) -> Result<CniResult, CniError> {
        self.add(&call.input, &as_command(call, Command::Add))
    }

    fn del(&self, call: &landbridge_plugins::Call) -> Result<(), CniError> {
        self.del(&call.input, &as_command(call, Command::Del))
    }

    fn check(&self, call: &landbridge_plugins::Call) -> Result<(), CniError> {
        self.check(&call.input, &as_command(call, Command::Check))
    }
}

/// A plugin that undoes a failed ADD calls DEL in the middle of it.
fn as_command(
    call: &landbridge_plugins::Call,
    command: Command,
) -> landbridge_cni::environment::Environment {
    call.with_command(command).environment
}
