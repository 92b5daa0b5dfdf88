//! The steps from one checkpoint to another, as a value that prints.

use std::collections::HashSet;
use std::fmt;

use super::matching::Matching;
use super::{Checkpoint, Lower, SavedLink, addresses, links, routes};
use crate::address::Address;
use crate::link::LinkKind;
use crate::mac::MacAddr;
use crate::name::IfName;
use crate::route::Route;
use crate::rule::Rule;

/// What has to be done, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub steps: Vec<Step>,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Rename {
        from: IfName,
        to: IfName,
    },
    DeleteLink {
        name: IfName,
        kind: LinkKind,
    },
    /// Makes a link; with a veth comes its other end.
    CreateLink(Box<SavedLink>),
    ChangeLink(Box<Change>),
    DeleteAddress(Address<IfName>),
    AddAddress(Address<IfName>),
    DeleteRoute(Box<Route<IfName>>),
    AddRoute(Box<Route<IfName>>),
    AddRule(Box<Rule>),
    DeleteRule(Box<Rule>),
    /// The same as the others, but only when all of them are done: what the kernel may do by itself.
    Late(Box<Step>),
    /// What cannot be done.
    Stuck {
        what: String,
        why: String,
    },
}

/// What differs on a link; each pair is (now, wanted).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub name: IfName,
    pub options: Option<LinkKind>,
    pub mtu: Option<(u32, u32)>,
    pub mac: Option<(Option<MacAddr>, MacAddr)>,
    pub master: Option<(Option<IfName>, Option<IfName>)>,
    pub alias: Option<(Option<String>, Option<String>)>,
    pub up: Option<bool>,
}

impl Change {
    pub(super) fn nothing(name: &IfName) -> Self {
        let name = name.clone();
        Self { name, options: None, mtu: None, mac: None, master: None, alias: None, up: None }
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::nothing(&self.name)
    }
}

/// Steps of one phase do not disturb each other; after a phase the network is looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Rename,
    DeleteLinks,
    CreateLinks,
    ChangeLinks,
    Addresses,
    Routes,
    Rules,
    Late,
    Stuck,
}

impl Step {
    /// When it is done.
    pub fn phase(&self) -> Phase {
        match self {
            Self::Rename { .. } => Phase::Rename,
            Self::DeleteLink { .. } => Phase::DeleteLinks,
            Self::CreateLink(_) => Phase::CreateLinks,
            Self::ChangeLink(_) => Phase::ChangeLinks,
            Self::DeleteAddress(_) | Self::AddAddress(_) => Phase::Addresses,
            Self::DeleteRoute(_) | Self::AddRoute(_) => Phase::Routes,
            Self::AddRule(_) | Self::DeleteRule(_) => Phase::Rules,
            Self::Late(_) => Phase::Late,
            Self::Stuck { .. } => Phase::Stuck,
        }
    }
}

impl Step {
    /// The links that are other ones afterwards, or have other addresses.
    fn touches(&self) -> Vec<&IfName> {
        match self {
            Self::Rename { to, .. } => vec![to],
            Self::DeleteLink { name, .. } => vec![name],
            Self::CreateLink(link) => match &link.peer {
                Some(Lower::Here(peer)) => vec![&link.name, peer],
                _ => vec![&link.name],
            },
            Self::ChangeLink(change) => vec![&change.name],
            Self::DeleteAddress(address) | Self::AddAddress(address) => vec![&address.link],
            _ => Vec::new(),
        }
    }

    /// Whether the kernel will do it when the links are right, or at least has not had its chance.
    fn comes_by_itself(&self, touched: &HashSet<IfName>) -> bool {
        let Self::Late(step) = self else { return false };
        match &**step {
            Self::AddAddress(address) => touched.contains(&address.link),
            Self::AddRoute(route) => route.links().any(|link| touched.contains(link)),
            _ => false,
        }
    }
}

impl Plan {
    /// The steps that lead from one state to the other.
    pub fn between(now: &Checkpoint, wanted: &Checkpoint) -> Self {
        let matching = Matching::new(now, wanted);
        let mut steps = links::steps(&matching);
        steps.extend(addresses::steps(&matching, now, wanted));
        steps.extend(routes::steps(&matching, now, wanted));
        steps.extend(rules(now, wanted));
        let touched: HashSet<IfName> = steps.iter().flat_map(Step::touches).cloned().collect();
        steps.retain(|step| !step.comes_by_itself(&touched));
        // Stable: within a phase the order above stays.
        steps.sort_by_key(Step::phase);
        Self { steps }
    }

    /// Whether nothing has to be done.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

/// New rules first: a packet is never left without one.
fn rules(now: &Checkpoint, wanted: &Checkpoint) -> Vec<Step> {
    let missing = wanted.rules.iter().filter(|rule| !now.rules.contains(rule)).map(|rule| {
        if rule.partial {
            let why = "it has parts that this program does not model".to_owned();
            return Step::Stuck { what: format!("add rule {rule}"), why };
        }
        Step::AddRule(Box::new(rule.clone()))
    });
    let extra = now.rules.iter().filter(|rule| !wanted.rules.contains(rule));
    missing.chain(extra.map(|rule| Step::DeleteRule(Box::new(rule.clone())))).collect()
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            writeln!(f, "{step}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rename { from, to } => write!(f, "~ link {from}: name {from} -> {to}"),
            Self::DeleteLink { name, kind } => write!(f, "- link {name} ({kind})"),
            Self::CreateLink(link) => write!(f, "+ link {} ({})", link.name, link.kind),
            Self::ChangeLink(change) => change.fmt(f),
            Self::DeleteAddress(address) => write!(f, "- address {address}"),
            Self::AddAddress(address) => write!(f, "+ address {address}"),
            Self::DeleteRoute(route) => write!(f, "- route {route}"),
            Self::AddRoute(route) => write!(f, "+ route {route}"),
            Self::AddRule(rule) => write!(f, "+ rule {rule}"),
            Self::DeleteRule(rule) => write!(f, "- rule {rule}"),
            Self::Late(step) => step.fmt(f),
            Self::Stuck { what, why } => write!(f, "! {what}: {why}"),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn or<T: fmt::Display>(value: Option<&T>, none: &str) -> String {
            value.map_or_else(|| none.to_owned(), T::to_string)
        }
        let parts = [
            self.options.as_ref().map(|kind| format!("options of {}", kind.word())),
            self.mtu.map(|(now, wanted)| format!("mtu {now} -> {wanted}")),
            self.mac.map(|(now, wanted)| format!("mac {} -> {wanted}", or(now.as_ref(), "none"))),
            self.master.as_ref().map(|(now, wanted)| {
                format!("master {} -> {}", or(now.as_ref(), "none"), or(wanted.as_ref(), "none"))
            }),
            self.alias.as_ref().map(|(now, wanted)| {
                format!("alias {:?} -> {:?}", or(now.as_ref(), ""), or(wanted.as_ref(), ""))
            }),
            self.up.map(|up| if up { "down -> up".to_owned() } else { "up -> down".to_owned() }),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        write!(f, "~ link {}: {}", self.name, parts.join(", "))
    }
}
