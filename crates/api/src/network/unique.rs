//! Names that may stand only once, whatever their letter case: lookups ignore it.

use std::collections::HashMap;

use landbridge_machinery::field::FieldPath;

use crate::admission::Findings;

/// Where each name was first used.
#[derive(Default)]
pub(super) struct Taken(HashMap<String, (String, FieldPath)>);

impl Taken {
    /// `Some(where)` when the name is taken; a note is added when only the letter case differs.
    pub fn claim(&mut self, name: &str, path: &FieldPath) -> Option<String> {
        let key = name.to_ascii_lowercase();
        if let Some((first, place)) = self.0.get(&key) {
            return Some(if first == name {
                place.to_string()
            } else {
                format!("{place} (as {first}, letter case does not count)")
            });
        }
        self.0.insert(key, (name.to_owned(), path.clone()));
        None
    }

    /// Claims the `name` below `path`. Upstream says "network name" of subnets too.
    pub fn claim_name(&mut self, name: &str, path: &FieldPath, findings: &mut Findings) {
        let path = path.child("name");
        if let Some(place) = self.claim(name, &path) {
            let why = format!("network name {name} already in use at {place}, must be uniq");
            findings.invalid(&path, name, why);
        }
    }
}
