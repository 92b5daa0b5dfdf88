//! When which Octavia is looked at: at once after a change, soon after a failure, and every few seconds because
//! others change Neutron, too.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::Settings;
use crate::mirror::Key;

const FIRST_RETRY: SignedDuration = SignedDuration::from_millis(500);

/// See the [module](self).
#[derive(Debug)]
pub struct Agenda {
    settings: Settings,
    items: BTreeMap<Key, Item>,
}

#[derive(Debug)]
struct Item {
    due: Timestamp,
    failures: u32,
    is_running: bool,
    /// Something changed while it was looked at.
    is_stale: bool,
}

impl Agenda {
    /// An empty one.
    pub fn new(settings: Settings) -> Self {
        Self { settings, items: BTreeMap::new() }
    }

    /// Something about it changed.
    pub fn note(&mut self, key: &Key, now: Timestamp) {
        let item = self.items.entry(key.clone()).or_insert(Item {
            due: now,
            failures: 0,
            is_running: false,
            is_stale: false,
        });
        item.due = item.due.min(now);
        item.failures = 0;
        item.is_stale |= item.is_running;
    }

    /// It is gone.
    pub fn forget(&mut self, key: &Key) {
        self.items.remove(key);
    }

    /// Those to look at now. Each is looked at by one at a time.
    pub fn take(&mut self, now: Timestamp) -> Vec<Key> {
        let due = self.items.iter_mut().filter(|(_, item)| !item.is_running && item.due <= now);
        due.map(|(key, item)| {
            item.is_running = true;
            item.is_stale = false;
            key.clone()
        })
        .collect()
    }

    /// It was looked at.
    pub fn ended(&mut self, key: &Key, is_good: bool, now: Timestamp) {
        let Some(item) = self.items.get_mut(key) else { return };
        item.is_running = false;
        let wait = if item.is_stale {
            SignedDuration::ZERO
        } else if is_good {
            item.failures = 0;
            self.settings.period
        } else {
            let longest = self.settings.longest_wait;
            let wait = FIRST_RETRY.checked_mul(1 << item.failures.min(16)).unwrap_or(longest);
            item.failures += 1;
            wait.min(longest)
        };
        item.due = now.checked_add(wait).unwrap_or(now);
    }

    /// When to ask again.
    pub fn wake_at(&self) -> Option<Timestamp> {
        self.items.values().filter(|item| !item.is_running).map(|item| item.due).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millisecond(millis).unwrap()
    }

    #[test]
    fn changes_come_at_once_failures_later_each_time_and_the_rest_by_the_clock() {
        let key = Key::new("openstack", "octavia");
        let mut agenda = Agenda::new(Settings::default());
        assert_eq!(agenda.wake_at(), None);
        agenda.note(&key, at(0));
        assert_eq!(agenda.take(at(0)), std::slice::from_ref(&key));
        assert_eq!((agenda.take(at(9_000)).len(), agenda.wake_at()), (0, None), "one at a time");
        agenda.ended(&key, true, at(100));
        assert_eq!(agenda.wake_at(), Some(at(5_100)));
        let mut now = 5_100;
        for wait in [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000] {
            assert_eq!(agenda.take(at(now)).len(), 1);
            agenda.ended(&key, false, at(now));
            now += wait;
            assert_eq!(agenda.wake_at(), Some(at(now)));
        }
        // A change does not wait for the retry, and one that comes meanwhile is not lost.
        agenda.note(&key, at(now - 20_000));
        assert_eq!(agenda.take(at(now - 20_000)).len(), 1);
        agenda.note(&key, at(now - 19_000));
        agenda.ended(&key, true, at(now - 18_000));
        assert_eq!(agenda.take(at(now - 18_000)).len(), 1);
        agenda.forget(&key);
        agenda.ended(&key, true, at(now));
        assert_eq!(agenda.wake_at(), None);
    }
}
