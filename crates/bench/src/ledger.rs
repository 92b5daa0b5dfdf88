//! What a client knows for certain about its own writes when the server dies under it.
//!
//! Each key belongs to one writer. A write is first noted as *begun*, then, when the server has
//! answered, as *acknowledged*. After a crash the key must hold what was last acknowledged or what
//! had begun since; anything else means that an acknowledged write was lost or invented.

use std::collections::BTreeMap;

/// A key's value; `None` is absence.
pub type State = Option<u64>;

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    acknowledged: State,
    begun: Option<State>,
}

/// The writes of one writer.
#[derive(Clone, Debug, Default)]
pub struct Ledger(BTreeMap<String, Entry>);

impl Ledger {
    /// A write is about to be sent.
    pub fn begin(&mut self, key: &str, to: State) {
        self.0.entry(key.to_owned()).or_default().begun = Some(to);
    }

    /// The server said yes to the write that had begun.
    pub fn acknowledge(&mut self, key: &str) {
        if let Some(entry) = self.0.get_mut(key)
            && let Some(to) = entry.begun.take()
        {
            entry.acknowledged = to;
        }
    }

    /// The server said no to the write that had begun: nothing changed.
    pub fn refuse(&mut self, key: &str) {
        if let Some(entry) = self.0.get_mut(key) {
            entry.begun = None;
        }
    }

    /// What the key held when last acknowledged.
    pub fn known(&self, key: &str) -> State {
        self.0.get(key).and_then(|entry| entry.acknowledged)
    }

    /// Compares with what a server holds after a crash, and takes that over as the truth.
    /// Returns one sentence per contradiction.
    pub fn settle(&mut self, found: &BTreeMap<String, u64>) -> Vec<String> {
        let mut wrong = Vec::new();
        for (key, entry) in &mut self.0 {
            let now = found.get(key).copied();
            if now != entry.acknowledged && Some(now) != entry.begun {
                wrong.push(format!(
                    "{key} holds {now:?}; acknowledged was {:?}, begun {:?}",
                    entry.acknowledged, entry.begun
                ));
            }
            *entry = Entry { acknowledged: now, begun: None };
        }
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect()
    }

    #[test]
    fn acknowledged_must_be_there() {
        let mut ledger = Ledger::default();
        ledger.begin("a", Some(1));
        ledger.acknowledge("a");
        assert!(ledger.clone().settle(&found(&[("a", 1)])).is_empty());
        assert_eq!(ledger.clone().settle(&found(&[])).len(), 1);
        assert_eq!(ledger.settle(&found(&[("a", 2)])).len(), 1);
    }

    #[test]
    fn begun_may_or_may_not_be_there() {
        let mut ledger = Ledger::default();
        ledger.begin("a", Some(1));
        ledger.acknowledge("a");
        ledger.begin("a", None);
        for state in [found(&[]), found(&[("a", 1)])] {
            assert!(ledger.clone().settle(&state).is_empty(), "{state:?}");
        }
        assert_eq!(ledger.settle(&found(&[("a", 3)])).len(), 1);
    }

    #[test]
    fn refused_changes_nothing() {
        let mut ledger = Ledger::default();
        ledger.begin("a", Some(1));
        ledger.refuse("a");
        assert_eq!(ledger.known("a"), None);
        assert_eq!(ledger.settle(&found(&[("a", 1)])).len(), 1);
    }

    #[test]
    fn a_deletion_must_not_come_back() {
        let mut ledger = Ledger::default();
        for to in [Some(1), None] {
            ledger.begin("a", to);
            ledger.acknowledge("a");
        }
        assert_eq!(ledger.settle(&found(&[("a", 1)])).len(), 1);
    }
}
