//! Which link of now is which link of then.
//!
//! A link keeps its number when it is renamed, and gets another when it is made again. So numbers
//! come first, where they mean the same (one boot, one namespace), and names second.

use std::collections::{HashMap, HashSet};

use super::{Checkpoint, Lower, SavedLink};
use crate::link::LinkKind;
use crate::name::IfName;

type Alike<'a> = dyn Fn(&SavedLink, &SavedLink) -> bool + 'a;

pub(super) struct Matching<'a> {
    /// The same link, now and as wanted.
    pub(super) pairs: Vec<(&'a SavedLink, &'a SavedLink)>,
    /// What came since.
    pub(super) extra: Vec<&'a SavedLink>,
    /// What is gone, or has become something else.
    pub(super) missing: Vec<&'a SavedLink>,
    /// Names of now that are wanted otherwise.
    renamed: HashMap<&'a IfName, &'a IfName>,
}

impl<'a> Matching<'a> {
    pub(super) fn new(now: &'a Checkpoint, wanted: &'a Checkpoint) -> Self {
        let mut candidates: Vec<(&SavedLink, &SavedLink)> = Vec::new();
        let mut used: HashSet<&IfName> = HashSet::new();
        let numbers = now.world == wanted.world;
        let by_number = |a: &SavedLink, b: &SavedLink| numbers && a.index == b.index;
        let by_name = |a: &SavedLink, b: &SavedLink| a.name == b.name;
        for rule in [&by_number as &Alike<'_>, &by_name] {
            for want in &wanted.links {
                if candidates.iter().any(|(_, taken)| taken.name == want.name) {
                    continue;
                }
                let found = now.links.iter().find(|have| {
                    !used.contains(&have.name)
                        && rule(have, want)
                        && have.kind.word() == want.kind.word()
                });
                if let Some(have) = found {
                    used.insert(&have.name);
                    candidates.push((have, want));
                }
            }
        }
        let renamed = candidates
            .iter()
            .filter(|(have, want)| have.name != want.name)
            .map(|(have, want)| (&have.name, &want.name))
            .collect();
        let mut matching =
            Self { pairs: Vec::new(), extra: Vec::new(), missing: Vec::new(), renamed };
        candidates.retain(|(have, want)| matching.is_same(have, want));
        let (kept, wished): (HashSet<_>, HashSet<_>) =
            candidates.iter().map(|(have, want)| (&have.name, &want.name)).unzip();
        matching.extra = now.links.iter().filter(|link| !kept.contains(&link.name)).collect();
        matching.missing =
            wanted.links.iter().filter(|link| !wished.contains(&link.name)).collect();
        matching.pairs = candidates;
        matching
    }

    /// What a link of now will be called.
    pub(super) fn called<'b>(&'b self, name: &'b IfName) -> &'b IfName {
        self.renamed.get(name).copied().unwrap_or(name)
    }

    /// Whether changes are enough to turn one into the other.
    fn is_same(&self, have: &SavedLink, want: &SavedLink) -> bool {
        if !have.kind.turns_into(&want.kind) {
            return false;
        }
        let same = |have: &Option<Lower>, want: &Option<Lower>| match (have, want) {
            (Some(Lower::Here(have)), Some(Lower::Here(want))) => self.called(have) == want,
            (have, want) => have == want,
        };
        // A far end that was away and is here cannot be sent back, but the link is the same one.
        let came_home = have.kind == LinkKind::Veth && want.peer == Some(Lower::Away);
        same(&have.parent, &want.parent) && (came_home || same(&have.peer, &want.peer))
    }
}
