//! What may be there although it was never seen: a create whose answer was lost, or came while a list
//! was under way.
//!
//! While an object stays this does no harm, because the create is tried again. When it goes, it goes in
//! stages, and whatever stands on a later one would be taken away under something nobody knows of.

use std::collections::{BTreeSet, HashMap};

use super::world::Spot;
use super::writes::{Action, Verb};

/// See the [module](self): by the object it was made for.
#[derive(Debug, Default)]
pub struct Unsure(HashMap<Spot, BTreeSet<Spot>>);

impl Unsure {
    /// It is not known whether this is there.
    pub fn doubt(&mut self, item: &Spot, made: Spot) {
        self.0.entry(item.clone()).or_default().insert(made);
    }

    /// It is known.
    pub fn settle(&mut self, item: &Spot, made: &Spot) {
        if let Some(all) = self.0.get_mut(item) {
            all.remove(made);
            if all.is_empty() {
                self.0.remove(item);
            }
        }
    }

    /// The object is gone, and with it everything that was made for it.
    pub fn forget(&mut self, item: &Spot) {
        self.0.remove(item);
    }

    /// What has to be read before anything is taken away.
    pub fn reads(&self, item: &Spot) -> Vec<Action> {
        let all = self.0.get(item).into_iter().flatten();
        all.map(|(kind, key)| Action { kind: *kind, key: key.clone(), verb: Verb::Read }).collect()
    }
}
