//! A bound on the number of entries.
//!
//! Every program that ever updated an object leaves an entry. Past a bound the oldest ones of each
//! version become one, `ancient-changes`. Entries of appliers always stay, as what an applier owns
//! decides what its next apply removes.

use std::collections::BTreeMap;

use super::{Entry, ManagedFields, Operation, Owner, age};

/// How many entries of updates an object keeps.
const MOST_UPDATES: usize = 10;

/// The manager all forgotten managers become.
const BUCKET: &str = "ancient-changes";

impl ManagedFields {
    /// Merges the oldest entries of updates while there are too many.
    pub(in super::super) fn cap(&mut self) {
        let mut updates: Vec<Owner> = {
            let mut updates: Vec<&Entry> =
                self.entries.iter().filter(|e| e.owner.operation == Operation::Update).collect();
            updates.sort_by(|a, b| age(a).cmp(&age(b)).then_with(|| a.owner.cmp(&b.owner)));
            updates.into_iter().map(|entry| entry.owner.clone()).collect()
        };
        let mut excess = updates.len().saturating_sub(MOST_UPDATES);
        // The oldest entry of each version, which is not worth a merge of its own.
        let mut oldest: BTreeMap<String, Owner> = BTreeMap::new();
        for owner in updates.drain(..) {
            if excess == 0 {
                return;
            }
            let bucket = Owner::new(BUCKET, Operation::Update, &owner.version, None);
            let first = match oldest.get(&owner.version) {
                Some(first) if owner != bucket => first.clone(),
                _ => {
                    oldest.insert(owner.version.clone(), owner);
                    continue;
                }
            };
            let Some(entry) = self.remove(&owner) else { continue };
            let into = if self.get(&bucket).is_some() { &bucket } else { &first };
            let Some(old) = self.remove(into) else { continue };
            let fields = old.fields.union(&entry.fields);
            // The younger of the two gives the time.
            self.put(Entry { owner: bucket, fields, ..entry });
            excess -= 1;
        }
    }
}
