//! `allOf`, `anyOf`, `oneOf` and `not`.
//!
//! Upstream reports these against the whole object, naming the place in the text only.

use serde_json::Value;

use super::Judge;
use crate::field::{FieldError, FieldPath};
use crate::schema::node::{Node, NodeId};
use crate::schema::trail::Trail;

impl Judge<'_> {
    pub(super) fn choices(
        &mut self,
        node: &Node,
        value: &Value,
        old: Option<&Value>,
        trail: &Trail<'_>,
        depth: usize,
    ) {
        let rules = &node.rules;
        if !rules.any_of.is_empty() {
            let (valid, mut best) = self.tally(&rules.any_of, value, trail, depth);
            if valid == 0 {
                self.unchosen(trail, "must validate at least one schema (anyOf)");
                self.errors.append(&mut best);
            }
        }
        if !rules.one_of.is_empty() {
            let (valid, mut best) = self.tally(&rules.one_of, value, trail, depth);
            let found = match valid {
                1 => None,
                0 => Some("Found none valid".to_owned()),
                more => Some(format!("Found {more} valid alternatives")),
            };
            if let Some(found) = found {
                let why = format!("must validate one and only one schema (oneOf). {found}");
                self.unchosen(trail, &why);
                self.errors.append(&mut best);
            }
        }
        let mut failed = 0;
        for id in &rules.all_of {
            let before = self.errors.len();
            self.value(*id, value, old, trail, depth + 1);
            failed += usize::from(self.errors.len() > before);
        }
        if failed > 0 {
            let suffix = if failed == rules.all_of.len() { ". None validated" } else { "" };
            self.unchosen(trail, &format!("must validate all the schemas (allOf){suffix}"));
        }
        if let Some(id) = rules.not
            && self.trial(id, value, trail, depth + 1).is_empty()
        {
            self.unchosen(trail, "must not validate the schema (not)");
        }
    }

    /// How many alternatives take the value; when none does, the errors of the one that comes
    /// closest.
    fn tally(
        &self,
        alternatives: &[NodeId],
        value: &Value,
        trail: &Trail<'_>,
        depth: usize,
    ) -> (usize, Vec<FieldError>) {
        let mut valid = 0;
        let mut best: Option<Vec<FieldError>> = None;
        for id in alternatives {
            let errors = self.trial(*id, value, trail, depth + 1);
            if errors.is_empty() {
                valid += 1;
            } else if best.as_ref().is_none_or(|best| errors.len() < best.len()) {
                best = Some(errors);
            }
        }
        (valid, if valid == 0 { best.unwrap_or_default() } else { Vec::new() })
    }

    fn unchosen(&mut self, trail: &Trail<'_>, why: &str) {
        let detail = format!("{:?} {why}", trail.path().as_str());
        self.errors.push(FieldError::invalid(&FieldPath::root(), "", detail));
    }
}
