//! What the API holds of one kind, as small values: a list that comes in replaces the former one
//! only when it is complete.

use std::collections::BTreeMap;

use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt as _};

type Key = (String, String);

/// What a watch tells, with objects made small.
pub enum News<V> {
    Restart,
    Listed(Key, Option<V>),
    Complete,
    Applied(Key, Option<V>),
    Deleted(Key),
}

/// Makes objects small. An object that does not matter is nothing.
pub fn told<K: Resource, V>(event: Event<K>, small: impl Fn(&K) -> Option<V>) -> News<V> {
    let key = |object: &K| (object.namespace().unwrap_or_default(), object.name_any());
    match event {
        Event::Init => News::Restart,
        Event::InitApply(object) => News::Listed(key(&object), small(&object)),
        Event::InitDone => News::Complete,
        Event::Apply(object) => News::Applied(key(&object), small(&object)),
        Event::Delete(object) => News::Deleted(key(&object)),
    }
}

/// See the [module](self).
pub struct Mirrored<V> {
    pub now: BTreeMap<Key, V>,
    pub complete: bool,
    coming: BTreeMap<Key, V>,
}

impl<V> Default for Mirrored<V> {
    fn default() -> Self {
        Self { now: BTreeMap::new(), complete: false, coming: BTreeMap::new() }
    }
}

impl<V: PartialEq> Mirrored<V> {
    /// Takes news; says whether anything that matters has changed.
    pub fn take(&mut self, news: News<V>) -> bool {
        match news {
            News::Restart => {
                self.coming.clear();
                false
            }
            News::Listed(key, value) => {
                self.coming.extend(value.map(|value| (key, value)));
                false
            }
            News::Complete => {
                let new = std::mem::take(&mut self.coming);
                let changed = !self.complete || new != self.now;
                (self.now, self.complete) = (new, true);
                changed
            }
            News::Applied(key, Some(value)) => {
                if self.now.get(&key) == Some(&value) {
                    return false;
                }
                self.now.insert(key, value);
                true
            }
            News::Applied(key, None) | News::Deleted(key) => self.now.remove(&key).is_some(),
        }
    }

    /// The watch is begun anew by us: what is known holds until it tells.
    pub fn restart(&mut self) {
        self.complete = false;
        self.coming.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        (String::new(), name.to_owned())
    }

    #[test]
    fn a_list_counts_when_it_is_complete() {
        let mut mirror = Mirrored::default();
        assert!(!mirror.take(News::Restart));
        assert!(!mirror.take(News::Listed(key("a"), Some(1))));
        assert!(!mirror.take(News::Listed(key("b"), None)));
        assert!(mirror.now.is_empty() && !mirror.complete);
        assert!(mirror.take(News::Complete));
        assert_eq!(mirror.now.len(), 1);
        assert!(!mirror.take(News::Applied(key("a"), Some(1))), "nothing new");
        assert!(mirror.take(News::Applied(key("a"), Some(2))));
        assert!(mirror.take(News::Applied(key("a"), None)), "matters no more");
        assert!(!mirror.take(News::Deleted(key("a"))));
        // Cut short: the former list holds.
        mirror.take(News::Applied(key("c"), Some(3)));
        mirror.take(News::Restart);
        mirror.take(News::Listed(key("d"), Some(4)));
        mirror.take(News::Restart);
        assert_eq!(mirror.now.len(), 1);
        assert!(mirror.take(News::Complete), "and now there is nothing");
        assert!(mirror.now.is_empty());
    }
}
