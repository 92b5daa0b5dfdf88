//! Which plugin is run, in which order, and what is undone when one fails.
//!
//! Two levels. A pod's networks are attached one after the other; each network is a chain of
//! plugins, each of which gets the result of the one before.
//!
//! ```text
//!   ADD   network 0: a ─▶ b      network 1: c ─▶ d      forward; a failure undoes from there back
//!   DEL   network 1: d ─▶ c      network 0: b ─▶ a      backward; all are tried
//! ```
//!
//! What failed may have done half of its work, so undoing includes it; undoing what was never done
//! is no error anywhere.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::args::Pod;
use crate::config::Network;
use crate::environment::Command;
use crate::error::{CniError, Code, Coded};
use crate::names::{self, BadName};
use crate::version::Version;

/// Who does a plugin's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runner {
    /// We do, in this process.
    Own,
    /// A program in one of the directories of `CNI_PATH`.
    Foreign,
}

/// The plugins we do ourselves, and those of them that are to be left to a program all the same.
#[derive(Clone, Debug, Default)]
pub struct Runners {
    own: BTreeSet<String>,
    foreign: BTreeSet<String>,
}

impl Runners {
    /// `foreign` wins where both have a plugin.
    pub fn new<S: Into<String>>(
        own: impl IntoIterator<Item = S>,
        foreign: impl IntoIterator<Item = S>,
    ) -> Self {
        let set = |names: &mut dyn Iterator<Item = String>| names.collect();
        Self {
            own: set(&mut own.into_iter().map(Into::into)),
            foreign: set(&mut foreign.into_iter().map(Into::into)),
        }
    }

    /// Who runs a plugin. A name that is a path is nobody's.
    pub fn of(&self, kind: &str) -> Result<Runner, BadName> {
        names::plugin(kind)?;
        let own = self.own.contains(kind) && !self.foreign.contains(kind);
        Ok(if own { Runner::Own } else { Runner::Foreign })
    }
}

/// The result a plugin is handed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Previous {
    /// None.
    None,
    /// That of the call before it in the plan.
    OfCallBefore,
    /// That of the network's last ADD, which was kept; none when it was not.
    OfLastAdd,
}

/// One call of one plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The plugin's place in the network.
    pub plugin: usize,
    /// Who does it.
    pub runner: Runner,
    /// What it is handed.
    pub previous: Previous,
}

/// The calls of one command on one network, in order; none when the network does not take part.
pub fn calls(
    network: &Network,
    command: Command,
    runners: &Runners,
) -> Result<Vec<Call>, CannotPlan> {
    let version = network.version;
    let kept = if version.has_check() { Previous::OfLastAdd } else { Previous::None };
    let (backward, takes_part, later) = match command {
        Command::Add => (false, true, Previous::OfCallBefore),
        Command::Del => (true, true, kept),
        Command::Check if !version.has_check() => return Err(CannotPlan::NoCheck(version)),
        Command::Check => (false, !network.disable_check, kept),
        Command::Gc => (false, version.has_gc_and_status() && !network.disable_gc, Previous::None),
        Command::Status => (false, version.has_gc_and_status(), Previous::None),
        Command::Version => (false, true, Previous::None),
    };
    let count = if takes_part { network.plugins.len() } else { 0 };
    let mut calls = Vec::with_capacity(count);
    for (place, plugin) in network.plugins.iter().enumerate().take(count) {
        let is_first_add = command == Command::Add && place == 0;
        calls.push(Call {
            plugin: place,
            runner: runners.of(&plugin.kind)?,
            previous: if is_first_add { Previous::None } else { later },
        });
    }
    if backward {
        calls.reverse();
    }
    Ok(calls)
}

/// The networks of a pod in the order of a command.
pub fn networks(count: usize, command: Command) -> Vec<usize> {
    if command == Command::Del { (0..count).rev().collect() } else { (0..count).collect() }
}

/// The networks to detach, in order, when attaching one failed. Errors of that are not told: the
/// first one is what matters.
pub fn undo(failed: usize) -> Vec<usize> {
    (0..=failed).rev().collect()
}

/// What one plugin does for ADD, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Makes the link.
    Link,
    /// Gets addresses.
    Addresses,
    /// Sets addresses and routes on the link.
    Setup,
}

/// What is to be taken back, in order, when a stage failed. Peers leave the link behind in one
/// case; we do not.
pub fn clean_up(failed: Stage) -> Vec<Stage> {
    let undone = [Stage::Addresses, Stage::Link];
    undone.into_iter().filter(|stage| *stage <= failed).collect()
}

/// What the pod's ADD says when one network failed.
pub fn add_failed(pod: &Pod, network: &str, cause: &CniError) -> CniError {
    let Pod { namespace, name, uid, .. } = pod;
    CniError {
        msg: format!(
            "[{namespace}/{name}/{uid}:{network}]: error adding container to network \
             \"{network}\": {cause}"
        ),
        details: String::new(),
        ..cause.clone()
    }
}

/// What DEL says after all were tried; `None` when all went well.
pub fn del_failed(failures: &[CniError]) -> Option<CniError> {
    let first = failures.first()?;
    let texts: Vec<_> = failures.iter().map(ToString::to_string).collect();
    let same = failures.iter().all(|failure| failure.code == first.code);
    let code = if same { first.code } else { Code::INTERNAL };
    Some(CniError::new(code, texts.join(" / ")))
}

/// Whether a pod may use a definition of another namespace.
pub fn check_namespace(
    pod: &str,
    definition: &str,
    isolated: bool,
    global: &[&str],
) -> Result<(), CannotPlan> {
    if !isolated || pod == definition || global.contains(&definition) {
        return Ok(());
    }
    Err(CannotPlan::Isolated { pod: pod.to_owned(), definition: definition.to_owned() })
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CannotPlan {
    /// The version knows no CHECK.
    #[error("configuration version \"{0}\" does not support CHECK command")]
    NoCheck(Version),
    /// A plugin's name is refused.
    #[error(transparent)]
    Name(#[from] BadName),
    /// Namespaces are kept apart.
    #[error(
        "namespace isolation enabled, annotation violates permission, pod is in namespace {pod} \
         but refers to target namespace {definition}"
    )]
    Isolated {
        /// The pod's.
        pod: String,
        /// The definition's.
        definition: String,
    },
}

impl Coded for CannotPlan {
    fn code(&self) -> Code {
        match self {
            Self::NoCheck(_) => Code::INCOMPATIBLE_VERSION,
            Self::Name(error) => error.code(),
            Self::Isolated { .. } => Code::INVALID_CONFIG,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(version: &str, more: &str) -> Network {
        let text = format!(
            r#"{{"cniVersion":"{version}","name":"n",{more}
                "plugins":[{{"type":"bridge"}},{{"type":"tuning"}},{{"type":"portmap"}}]}}"#
        );
        Network::parse(text.as_bytes()).unwrap()
    }

    fn plan(version: &str, more: &str, command: Command) -> Result<Vec<Call>, CannotPlan> {
        calls(&network(version, more), command, &Runners::new(["bridge", "tuning"], ["tuning"]))
    }

    fn places(calls: &[Call]) -> Vec<usize> {
        calls.iter().map(|call| call.plugin).collect()
    }

    #[test]
    fn adding_goes_forward_and_hands_results_on() {
        use Previous::{None, OfCallBefore};
        use Runner::{Foreign, Own};
        let found = plan("0.3.1", "", Command::Add).unwrap();
        let shown: Vec<_> = found.iter().map(|c| (c.plugin, c.runner, c.previous)).collect();
        assert_eq!(shown, [(0, Own, None), (1, Foreign, OfCallBefore), (2, Foreign, OfCallBefore)]);
    }

    #[test]
    fn deleting_goes_backward_with_what_add_answered() {
        for (version, previous) in [("0.3.1", Previous::None), ("0.4.0", Previous::OfLastAdd)] {
            let found = plan(version, "", Command::Del).unwrap();
            assert_eq!(places(&found), [2, 1, 0]);
            assert!(found.iter().all(|call| call.previous == previous), "{version}");
        }
    }

    #[test]
    fn commands_a_network_takes_no_part_in() {
        let error = plan("0.3.1", "", Command::Check).unwrap_err();
        assert_eq!(
            error.to_string(),
            "configuration version \"0.3.1\" does not support CHECK command"
        );
        let count = |version, more, command| plan(version, more, command).unwrap().len();
        assert_eq!(count("0.4.0", "", Command::Check), 3);
        assert_eq!(count("0.4.0", r#""disableCheck":true,"#, Command::Check), 0);
        assert_eq!(count("1.0.0", "", Command::Gc), 0);
        assert_eq!(count("1.1.0", "", Command::Gc), 3);
        assert_eq!(count("1.1.0", r#""disableGC":true,"#, Command::Gc), 0);
        assert_eq!(count("1.0.0", "", Command::Status), 0);
        assert_eq!(count("1.1.0", "", Command::Status), 3);
    }

    #[test]
    fn a_failure_is_undone_with_what_failed() {
        assert_eq!(networks(3, Command::Add), [0, 1, 2]);
        assert_eq!(networks(3, Command::Del), [2, 1, 0]);
        assert_eq!(undo(1), [1, 0]);
        assert_eq!(clean_up(Stage::Link), [Stage::Link]);
        assert_eq!(clean_up(Stage::Addresses), [Stage::Addresses, Stage::Link]);
        assert_eq!(clean_up(Stage::Setup), [Stage::Addresses, Stage::Link]);
    }

    #[test]
    fn failures_are_told_as_multus_tells_them() {
        let pod =
            Pod { namespace: "ns".into(), name: "p".into(), uid: "u".into(), ..Pod::default() };
        let cause = CniError { details: "why".into(), ..CniError::new(Code(11), "no address") };
        let told = add_failed(&pod, "storage", &cause);
        assert_eq!(
            told.to_string(),
            "[ns/p/u:storage]: error adding container to network \"storage\": no address; why"
        );
        assert_eq!(told.code, Code::TRY_AGAIN);
        assert_eq!(del_failed(&[]), None);
        let both = del_failed(&[cause.clone(), CniError::new(Code(7), "b")]).unwrap();
        assert_eq!((both.to_string().as_str(), both.code), ("no address; why / b", Code(999)));
        assert_eq!(del_failed(&[cause]).unwrap().code, Code(11));
    }

    #[test]
    fn namespaces_are_kept_apart_on_demand() {
        assert!(check_namespace("a", "b", false, &[]).is_ok());
        assert!(check_namespace("a", "a", true, &[]).is_ok());
        assert!(check_namespace("a", "default", true, &["default"]).is_ok());
        assert!(check_namespace("a", "b", true, &["default"]).is_err());
    }

    #[test]
    fn a_path_is_nobodys_plugin() {
        assert!(Runners::default().of("../x").is_err());
        assert_eq!(Runners::default().of("x"), Ok(Runner::Foreign));
    }
}
