//! Sets of fields.
//!
//! A trie over path elements. Every branch says whether its own path is in the set and which paths
//! below it are. No branch is ever empty, so equal sets are equal as values.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
use std::fmt;

use super::element::{Path, PathElement};

/// A set of fields. The object as a whole is never a member: nobody owns it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    pub(super) branches: BTreeMap<PathElement, Branch>,
}

/// What a set holds at and below one path element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Branch {
    /// The path itself is in the set.
    pub(super) member: bool,
    /// What lies below it.
    pub(super) below: FieldSet,
}

impl Branch {
    /// The path itself and nothing below.
    pub(super) fn leaf() -> Self {
        Self { member: true, below: FieldSet::default() }
    }

    fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl FieldSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The set of some fields, each given by its dotted path: `["status", "metadata.finalizers"]`.
    /// Only for names without dots.
    pub fn of_fields(paths: &[&str]) -> Self {
        let mut set = Self::new();
        for path in paths {
            let path: Vec<_> = path.split('.').map(PathElement::field).collect();
            set.insert(&path);
        }
        set
    }

    /// Adds a path. What holds it is not added with it.
    pub fn insert(&mut self, path: &[PathElement]) {
        if let [element, rest @ ..] = path {
            let branch = self.branches.entry(element.clone()).or_default();
            if rest.is_empty() {
                branch.member = true;
            } else {
                branch.below.insert(rest);
            }
        }
    }

    /// Whether a path is in the set.
    pub fn has(&self, path: &[PathElement]) -> bool {
        let [element, rest @ ..] = path else { return false };
        self.branches.get(element).is_some_and(|branch| {
            if rest.is_empty() { branch.member } else { branch.below.has(rest) }
        })
    }

    /// Whether nothing is in the set.
    pub fn is_empty(&self) -> bool {
        self.branches.is_empty()
    }

    /// How many paths are in the set.
    pub fn len(&self) -> usize {
        self.branches.values().map(|b| usize::from(b.member) + b.below.len()).sum()
    }

    /// What is in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut out = self.clone();
        out.add(other);
        out
    }

    /// What is in this set and not in the other. `a` minus `a.b` is `a`, and `a.b` minus `a` is
    /// `a.b`: only the very paths count.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.filtered(other, |mine, theirs| Branch {
            member: mine.member && !theirs.member,
            below: mine.below.difference(&theirs.below),
        })
    }

    /// What is in this set and neither in the other nor below anything in it.
    #[must_use]
    pub fn recursive_difference(&self, other: &Self) -> Self {
        self.filtered(other, |mine, theirs| {
            if theirs.member {
                return Branch::default();
            }
            let below = mine.below.recursive_difference(&theirs.below);
            Branch { member: mine.member, below }
        })
    }

    /// What is in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut out = Self::new();
        for (element, mine) in &self.branches {
            if let Some(theirs) = other.branches.get(element) {
                let member = mine.member && theirs.member;
                let below = mine.below.intersection(&theirs.below);
                out.attach(element.clone(), Branch { member, below });
            }
        }
        out
    }

    /// The members that have no members below them.
    #[must_use]
    pub fn leaves(&self) -> Self {
        let mut out = Self::new();
        for (element, branch) in &self.branches {
            let member = branch.member && branch.below.is_empty();
            out.attach(element.clone(), Branch { member, below: branch.below.leaves() });
        }
        out
    }

    /// All paths, in upstream's order: at each level the members come before what lies deeper.
    pub fn paths(&self) -> Vec<Path> {
        let mut out = Vec::new();
        self.collect(&mut Vec::new(), &mut out);
        out
    }

    fn collect(&self, prefix: &mut Vec<PathElement>, out: &mut Vec<Path>) {
        for (element, _) in self.branches.iter().filter(|(_, branch)| branch.member) {
            let path = prefix.iter().chain([element]).cloned().collect();
            out.push(Path(path));
        }
        for (element, branch) in &self.branches {
            prefix.push(element.clone());
            branch.below.collect(prefix, out);
            prefix.pop();
        }
    }

    /// Adds a branch, unless it is empty.
    pub(super) fn attach(&mut self, element: PathElement, branch: Branch) {
        if branch.is_empty() {
            return;
        }
        match self.branches.entry(element) {
            Slot::Vacant(slot) => {
                slot.insert(branch);
            }
            Slot::Occupied(slot) => {
                let mine = slot.into_mut();
                mine.member |= branch.member;
                mine.below.add(&branch.below);
            }
        }
    }

    fn add(&mut self, other: &Self) {
        if self.is_empty() {
            self.branches.clone_from(&other.branches);
            return;
        }
        for (element, branch) in &other.branches {
            let mine = self.branches.entry(element.clone()).or_default();
            mine.member |= branch.member;
            mine.below.add(&branch.below);
        }
    }

    /// The branches the other set knows nothing of, and what `keep` leaves of the rest.
    fn filtered(&self, other: &Self, keep: impl Fn(&Branch, &Branch) -> Branch) -> Self {
        let mut out = Self::new();
        for (element, mine) in &self.branches {
            let left = match other.branches.get(element) {
                None => mine.clone(),
                Some(theirs) => keep(mine, theirs),
            };
            out.attach(element.clone(), left);
        }
        out
    }
}

impl fmt::Display for FieldSet {
    /// One path per line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, path) in self.paths().iter().enumerate() {
            write!(f, "{}{path}", if i > 0 { "\n" } else { "" })?;
        }
        Ok(())
    }
}

impl FromIterator<Path> for FieldSet {
    fn from_iter<I: IntoIterator<Item = Path>>(paths: I) -> Self {
        let mut set = Self::new();
        paths.into_iter().for_each(|path| set.insert(&path.0));
        set
    }
}
