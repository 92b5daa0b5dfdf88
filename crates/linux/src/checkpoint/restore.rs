//! Bringing a namespace back to a checkpoint.
//!
//! One phase at a time, and after each the network is looked at again: deleting a link takes others
//! with it, switching one on brings addresses and routes back. A step that failed is tried again when
//! something else was done since, for that may have been in its way (a macvlan is not made on a port
//! of a bridge). What the last look still shows is the report's.

use std::collections::HashMap;
use std::fmt;

use rustix::io::Errno;

use super::plan::{Change, Plan, Step};
use super::{Checkpoint, Lower, SavedLink, VERSION};
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::link::{LinkChange, LinkIndex, LinkKind, Master, NewLink, Select};
use crate::name::IfName;
use crate::route::Route;

/// No network needs more looks than this; each settles a phase.
const ROUNDS: usize = 40;
/// More than this and a step is not worth it.
const TRIES: u32 = 4;

/// What was done, and what could not be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub done: Vec<Step>,
    pub left: Vec<Left>,
}

/// A step that could not be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    pub step: Step,
    pub why: String,
}

impl Report {
    /// Whether the namespace is as it was.
    pub fn is_complete(&self) -> bool {
        self.left.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.done {
            writeln!(f, "done {step}")?;
        }
        for left in &self.left {
            match &left.step {
                Step::Stuck { what, why } => writeln!(f, "left {what}: {why}")?,
                step => writeln!(f, "left {step}: {}", left.why)?,
            }
        }
        Ok(())
    }
}

/// What became of a step so far.
#[derive(Default)]
struct Tried {
    count: u32,
    /// How many steps were done when it failed, and why it did.
    failed: Option<(usize, String)>,
}

/// Whether a step is worth trying.
fn is_open(step: &Step, tried: &HashMap<String, Tried>, done: usize) -> bool {
    match (step, tried.get(&step.to_string())) {
        (Step::Stuck { .. }, _) => false,
        (_, None) => true,
        (_, Some(tried)) => {
            let in_vain = tried.failed.as_ref().is_some_and(|(then, _)| *then == done);
            tried.count < TRIES && !in_vain
        }
    }
}

fn left(step: Step, tried: &mut HashMap<String, Tried>) -> Left {
    let failed = tried.remove(&step.to_string()).and_then(|tried| tried.failed);
    let why = match (&step, failed) {
        (Step::Stuck { why, .. }, _) => why.clone(),
        (_, Some((_, why))) => why,
        (_, None) => "done, but the kernel did not keep it".to_owned(),
    };
    Left { step, why }
}

impl Handle {
    /// Brings the namespace back to a checkpoint. As much as possible is done; an error is returned
    /// only where the network cannot even be read.
    pub fn restore(&self, wanted: &Checkpoint) -> Result<Report> {
        if wanted.version != VERSION {
            return Err(Error::Version { found: wanted.version, known: VERSION });
        }
        let mut done = Vec::new();
        let mut tried: HashMap<String, Tried> = HashMap::new();
        for _ in 0..ROUNDS {
            let plan = Plan::between(&self.checkpoint()?, wanted);
            let open: Vec<Step> =
                plan.steps.into_iter().filter(|step| is_open(step, &tried, done.len())).collect();
            let Some(phase) = open.first().map(Step::phase) else { break };
            for step in open.into_iter().take_while(|step| step.phase() == phase) {
                let tried = tried.entry(step.to_string()).or_default();
                tried.count += 1;
                match self.perform(&step) {
                    Ok(()) => {
                        tried.failed = None;
                        done.push(step);
                    }
                    Err(error) => tried.failed = Some((done.len(), told(&error))),
                }
            }
        }
        let rest = Plan::between(&self.checkpoint()?, wanted);
        let left = rest.steps.into_iter().map(|step| left(step, &mut tried)).collect();
        Ok(Report { done, left })
    }

    fn perform(&self, step: &Step) -> Result<()> {
        match step {
            Step::Rename { from, to } => self.rename_back(from, to),
            Step::DeleteLink { name, .. } => self.delete_link(name).map(drop),
            Step::CreateLink(link) => self.create_again(link),
            Step::ChangeLink(change) => self.change_back(change),
            Step::DeleteAddress(address) => {
                self.delete_address(&address.on(self.index(&address.link)?)).map(drop)
            }
            Step::AddAddress(address) => {
                self.ensure_address(&address.on(self.index(&address.link)?)).map(drop)
            }
            Step::DeleteRoute(route) => {
                let route = route.map_links(|name| self.index(name).ok());
                // Without its link the route is gone already.
                route.map_or(Ok(()), |route| self.delete_route(&route).map(drop))
            }
            Step::AddRoute(route) => {
                for name in route.links() {
                    self.index(name)?;
                }
                let route = route.map_links(|name| self.index(name).ok());
                route.map_or(Ok(()), |route| self.add_beside(&route))
            }
            Step::AddRule(rule) => self.ensure_rule(rule).map(drop),
            Step::DeleteRule(rule) => self.delete_rule(rule).map(drop),
            Step::Late(step) => self.perform(step),
            Step::Stuck { .. } => Ok(()),
        }
    }

    /// What is there is wanted, too: what was not is deleted by now.
    fn add_beside(&self, route: &Route) -> Result<()> {
        match self.add_route(route) {
            Err(error) if error.is_present() => match self.append_route(route) {
                Err(error) if error.is_present() => Ok(()),
                outcome => outcome,
            },
            outcome => outcome,
        }
    }

    /// Two links may have swapped their names, so a name that is taken is freed first; its owner
    /// gets its own back in the next round.
    fn rename_back(&self, from: &IfName, to: &IfName) -> Result<()> {
        let index = self.index(from)?;
        if let Some(other) = self.link(to)?
            && other.index != index
        {
            let free = IfName::new(&format!("was-{}", other.index))
                .map_err(|source| Error::Name { name: to.to_string(), source })?;
            self.down_if_busy(other.index, || self.rename(other.index, &free))?;
        }
        self.down_if_busy(index, || self.rename(index, to))
    }

    fn create_again(&self, link: &SavedLink) -> Result<()> {
        let mut wanted = NewLink::new(link.name.clone(), link.kind.bare());
        wanted.mac = link.mac;
        if let Some(Lower::Here(parent)) = &link.parent {
            wanted.parent = Some(self.index(parent)?);
        }
        match (&link.kind, &link.peer) {
            (LinkKind::Veth, Some(Lower::Here(peer))) => {
                let peer = NewLink::new(peer.clone(), LinkKind::Veth);
                self.create_veth(&wanted, &peer, None).map(drop)
            }
            _ => self.create_link(&wanted).map(drop),
        }
    }

    fn change_back(&self, change: &Change) -> Result<()> {
        let link = self.expect_link(&change.name)?;
        let master = match &change.master {
            None => None,
            Some((_, None)) => Some(Master::None),
            Some((_, Some(name))) => {
                let master = self.expect_link(name)?;
                // A bond takes only ports that are down.
                if matches!(master.kind, LinkKind::Bond(_)) && link.up {
                    self.set_down(&link)?;
                }
                Some(Master::Link(master.index))
            }
        };
        if let Some(options) = &change.options {
            self.down_if_busy(link.index, || self.change_options(&link, options))?;
        }
        let rest = LinkChange {
            mtu: change.mtu.map(|(_, mtu)| mtu),
            mac: change.mac.map(|(_, mac)| mac),
            up: change.up,
            alias: change.alias.as_ref().map(|(_, alias)| alias.clone().unwrap_or_default()),
            master,
            promiscuous: None,
        };
        self.down_if_busy(link.index, || self.change_link(Select::Index(link.index), &rest))
    }

    /// Some links are renamed and changed only while they are down; the next round switches them on.
    fn down_if_busy(&self, link: LinkIndex, change: impl Fn() -> Result<()>) -> Result<()> {
        match change() {
            Err(error) if error.errno() == Some(Errno::BUSY.raw_os_error()) => {
                self.set_down(link)?;
                change()
            }
            outcome => outcome,
        }
    }
}

/// An error with what caused it.
fn told(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
