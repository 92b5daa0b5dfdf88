//! Who gives addresses: the caller's own, ours, or a program.

use landbridge_cni::environment::Command;
use landbridge_cni::{CniError, CniResult, Code};

use crate::call::{Call, Ipam, Ipams};
use crate::failure::{Outcome, internal, of_input};
use crate::foreign::{self, Failed};
use crate::host_local::HostLocalIpam;
use crate::static_ipam::Static;

/// The one of this crate.
pub(crate) fn ours(kind: &str) -> Option<&'static dyn Ipam> {
    match kind {
        "static" => Some(&Static),
        "host-local" => Some(&HostLocalIpam),
        _ => None,
    }
}

/// A plugin that gives addresses, called like any other.
pub(crate) fn dispatch(ipam: &dyn Ipam, call: &Call) -> Outcome<Option<CniResult>> {
    let outcome = match call.environment.command {
        Command::Add => ipam.add(call).map(Some),
        Command::Del => ipam.del(call).map(|()| None),
        Command::Check => ipam.check(call).map(|()| None),
        Command::Status => ipam.status(call).map(|()| None),
        Command::Gc => ipam.gc(call).map(|()| None),
        Command::Version => Ok(None),
    };
    outcome.map_err(|error| crate::failure::in_version(error, &call.input))
}

fn ask(
    kind: &str,
    call: &Call,
    ipams: &dyn Ipams,
    command: Command,
) -> Result<Option<CniResult>, Failed> {
    let call = call.with_command(command);
    if let Some(own) = ipams.own(kind).or_else(|| ours(kind)) {
        return Ok(dispatch(own, &call)?);
    }
    foreign::run(kind, &call)
}

/// Gives addresses; at least one.
pub(crate) fn add(kind: &str, call: &Call, ipams: &dyn Ipams) -> Outcome<CniResult> {
    match ask(kind, call, ipams, Command::Add) {
        Ok(Some(result)) if !result.ips.is_empty() => Ok(result),
        Ok(_) => {
            release(kind, call, ipams);
            Err(internal("IPAM plugin returned missing IP config"))
        }
        Err(failed) => {
            // What was stopped in the middle may have given an address nobody knows of.
            if failed.stopped {
                release(kind, call, ipams);
            }
            Err(failed.error)
        }
    }
}

/// Why there is no link.
pub(crate) enum Unmade {
    /// The container has one of that name. Asked for its addresses again, some answer with those it has: they must
    /// stay, and go with the DEL that follows.
    Present(CniError),
    Failed(CniError),
}

impl Unmade {
    pub(crate) fn into_error(self) -> CniError {
        let (Self::Present(error) | Self::Failed(error)) = self;
        error
    }
}

impl From<CniError> for Unmade {
    fn from(error: CniError) -> Self {
        Self::Failed(error)
    }
}

/// Gets addresses while a link is made: whoever gives them may have to ask a cluster, and the kernel
/// has time meanwhile. Without a link they are given back at once; a link without them is the caller's
/// to take away.
pub(crate) fn add_beside<T: Send>(
    kind: &str,
    call: &Call,
    ipams: &dyn Ipams,
    make: impl FnOnce() -> Result<T, Unmade> + Send,
) -> Outcome<(T, Outcome<CniResult>)> {
    let (made, given) = std::thread::scope(|scope| {
        // The kernel is the faster one, so this thread asks, and has not to be woken.
        let making = scope.spawn(make);
        let given = add(kind, call, ipams);
        let broke_off = |_| Err(internal("making the link broke off").into());
        (making.join().unwrap_or_else(broke_off), given)
    });
    match made {
        Ok(made) => Ok((made, given)),
        Err(Unmade::Present(error)) => Err(error),
        Err(Unmade::Failed(error)) => {
            if given.is_ok() {
                release(kind, call, ipams);
            }
            Err(error)
        }
    }
}

/// Takes addresses back after a failed ADD; the error of that is what matters.
pub(crate) fn release(kind: &str, call: &Call, ipams: &dyn Ipams) {
    if let Err(error) = del(kind, call, ipams) {
        tracing::warn!(%error, ipam = kind, "an address of a failed ADD may stay taken");
    }
}

/// Takes addresses back.
pub(crate) fn del(kind: &str, call: &Call, ipams: &dyn Ipams) -> Outcome<()> {
    if kind.is_empty() {
        return Ok(());
    }
    told(ask(kind, call, ipams, Command::Del))
}

/// Whether addresses are still given.
pub(crate) fn check(kind: &str, call: &Call, ipams: &dyn Ipams) -> Outcome<()> {
    if kind.is_empty() {
        return Ok(());
    }
    told(ask(kind, call, ipams, Command::Check))
}

pub(crate) fn status(kind: &str, call: &Call, ipams: &dyn Ipams) -> Outcome<()> {
    told(ask(kind, call, ipams, Command::Status))
}

/// Programs that came before GC say that they do not know it; then there is nothing to collect.
pub(crate) fn gc(kind: &str, call: &Call, ipams: &dyn Ipams) -> Outcome<()> {
    match told(ask(kind, call, ipams, Command::Gc)) {
        Err(error) if is_unknown_command(&error) => Ok(()),
        outcome => outcome,
    }
}

fn told(outcome: Result<Option<CniResult>, Failed>) -> Outcome<()> {
    outcome.map(drop).map_err(|failed| failed.error)
}

fn is_unknown_command(error: &CniError) -> bool {
    error.code == Code::INVALID_ENVIRONMENT && error.msg.contains("unknown CNI_COMMAND")
}

/// Which plugin gives addresses; empty for none.
pub(crate) fn kind_of(call: &Call) -> Outcome<String> {
    call.input.ipam_kind().map_err(|error| of_input(&error))
}

/// Gets addresses, does the work with them, and gives them back when that fails.
pub(crate) fn with_addresses(
    kind: &str,
    call: &Call,
    ipams: &dyn Ipams,
    work: impl FnOnce(CniResult) -> Outcome<CniResult>,
) -> Outcome<CniResult> {
    let given = add(kind, call, ipams)?;
    or_release(kind, call, ipams, work(given))
}

/// Gives addresses back when the work with them has failed.
pub(crate) fn or_release<T>(
    kind: &str,
    call: &Call,
    ipams: &dyn Ipams,
    outcome: Outcome<T>,
) -> Outcome<T> {
    if outcome.is_err() {
        release(kind, call, ipams);
    }
    outcome
}
