//! Pools and configuration: what their status says, written at most so often.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use landbridge_vips::{Allocator, NAMESPACE, figures};

use super::messages::Action;
use crate::mirror::{Key, Mirror};
use crate::vips::seen::Pool;

/// Pools fill up one address at a time, and nobody reads that fast.
const EACH: SignedDuration = SignedDuration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct Reports {
    /// Pools whose figures may have changed.
    touched: BTreeSet<String>,
    /// Pools whose status is being written.
    under_way: BTreeSet<String>,
    /// When a pool was written last.
    written: BTreeMap<String, Timestamp>,
    /// When something may be written.
    next: Option<Timestamp>,
    /// What is to be said about the configuration, and whether it was.
    said: Option<(Option<String>, Told)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    NotYet,
    NotBefore(Timestamp),
    /// Being written; `again`: whoever reads it may miss it already.
    UnderWay {
        again: bool,
    },
    Done(Timestamp),
}

impl Reports {
    pub fn touch(&mut self, pool: &str) {
        self.touched.insert(pool.to_owned());
    }

    pub fn touch_all<'a>(&mut self, pools: impl Iterator<Item = &'a str>) {
        self.touched.extend(pools.map(str::to_owned));
    }

    /// What was said before is said again, because it may be gone with its namespace. The writer
    /// looks whether it still stands.
    pub fn say(&mut self, wrong: Option<String>) {
        match &mut self.said {
            Some((said, told)) if *said == wrong => match told {
                Told::NotYet | Told::NotBefore(_) => {}
                Told::UnderWay { again } => *again = true,
                Told::Done(at) => *told = Told::NotBefore(later(*at)),
            },
            said => *said = Some((wrong, Told::NotYet)),
        }
    }

    pub fn is_idle(&self) -> bool {
        let told = self.said.as_ref().is_none_or(|(_, told)| matches!(told, Told::Done(_)));
        self.touched.is_empty() && self.under_way.is_empty() && told
    }

    pub fn wake_at(&self) -> Option<Timestamp> {
        let told = match self.said {
            Some((_, Told::NotBefore(at))) => Some(at),
            _ => None,
        };
        [self.next.filter(|_| !self.touched.is_empty()), told].into_iter().flatten().min()
    }

    /// What is to be written. Without `pools` nothing is known of them that could be said.
    pub fn act(
        &mut self,
        now: Timestamp,
        pools: Option<&Mirror<Pool>>,
        allocator: &Allocator,
        actions: &mut Vec<Action>,
    ) {
        if let Some((wrong, told)) = &mut self.said
            && (*told == Told::NotYet || matches!(*told, Told::NotBefore(at) if at <= now))
        {
            *told = Told::UnderWay { again: false };
            actions.push(Action::Configuration(wrong.clone()));
        }
        self.next = None;
        let Some(pools) = pools else {
            self.touched.clear(); // all of them are, once pools make sense again
            return;
        };
        for name in std::mem::take(&mut self.touched) {
            let due = self.written.get(&name).and_then(|at| at.checked_add(EACH).ok());
            if self.under_way.contains(&name) || due.is_some_and(|due| due > now) {
                // While a write is under way, its end is what is waited for.
                let again = due.filter(|due| *due > now);
                self.next = [self.next, again].into_iter().flatten().min();
                self.touched.insert(name);
                continue;
            }
            let key = Key::new(NAMESPACE, &name);
            let Some(pool) = pools.get(&key) else {
                self.written.remove(&name);
                continue;
            };
            match figures::status(allocator, &name) {
                Some(status) if pool.status != Some(status) => {
                    self.written.insert(name.clone(), now);
                    self.under_way.insert(name);
                    actions.push(Action::Pool(key, status));
                }
                _ => {}
            }
        }
    }

    pub fn reported(&mut self, pool: &Key, done: bool, now: Timestamp) {
        self.under_way.remove(&*pool.name);
        if !done {
            self.written.insert(pool.name.to_string(), now);
            self.touch(&pool.name);
        }
    }

    pub fn configured(&mut self, done: bool, now: Timestamp) {
        if let Some((_, told)) = &mut self.said
            && let Told::UnderWay { again } = *told
        {
            *told = if done && !again { Told::Done(now) } else { Told::NotBefore(later(now)) };
        }
    }
}

fn later(than: Timestamp) -> Timestamp {
    than.checked_add(EACH).unwrap_or(than)
}
