//! What an API holds of one kind, as far as one has been told.
//!
//! News come from two sides: the watch, which tells everything in order but late, and the answers
//! to one's own writes, which come early but tell only of one object. A mirror takes both and
//! never goes back in time.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

/// Where an object stands. Objects outside of namespaces have an empty one.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Namespace.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

impl Key {
    /// The object of that name in that namespace.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

/// An object, or what a controller needs to know of it.
pub trait Observed {
    /// Where it stands.
    fn key(&self) -> &Key;
    /// Its resourceVersion as a number. Servers promise that it grows with every write of a kind.
    fn revision(&self) -> u64;
}

/// What a watch tells.
#[derive(Clone, Debug)]
pub enum Told<T> {
    /// The watch starts over: a full list follows.
    Restart,
    /// One object of that list.
    Listed(T),
    /// The list is complete.
    Complete,
    /// An object was created or changed.
    Applied(T),
    /// An object is gone; this was its last state.
    Deleted(T),
}

/// A change of the mirror: the object as it was. What it is now, the mirror says.
#[derive(Debug)]
pub struct Change<T> {
    /// Where it stands.
    pub key: Key,
    /// What was there before.
    pub before: Option<T>,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Mirror<T> {
    objects: HashMap<Key, T>,
    /// The newest revision the watch has told of: nothing older is news.
    told: u64,
    /// What has not been listed yet while a list comes in.
    unlisted: Option<HashSet<Key>>,
    epoch: Epoch,
    complete: bool,
}

/// Counts how often the watch started over. Answers to writes from before are no news after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Epoch(u64);

impl<T> Default for Mirror<T> {
    fn default() -> Self {
        Self {
            objects: HashMap::new(),
            told: 0,
            unlisted: None,
            epoch: Epoch::default(),
            complete: false,
        }
    }
}

impl<T: Observed> Mirror<T> {
    /// The object, if there is one.
    pub fn get(&self, key: &Key) -> Option<&T> {
        self.objects.get(key)
    }

    /// Everything.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.objects.values()
    }

    /// Whether a full list has come in.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// To be handed to [`learn`](Self::learn) with the answer to a write that is sent now.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Takes what the watch tells.
    pub fn tell(&mut self, told: Told<T>) -> Vec<Change<T>> {
        match told {
            Told::Restart => {
                self.epoch.0 += 1;
                self.unlisted = Some(self.objects.keys().cloned().collect());
                Vec::new()
            }
            Told::Listed(object) => {
                if let Some(unlisted) = &mut self.unlisted {
                    unlisted.remove(object.key());
                }
                self.apply(object)
            }
            Told::Complete => {
                self.complete = true;
                let gone = self.unlisted.take().unwrap_or_default();
                gone.into_iter().filter_map(|key| self.remove(&key)).collect()
            }
            Told::Applied(object) => self.apply(object),
            Told::Deleted(object) => {
                self.told = self.told.max(object.revision());
                let known = self.objects.get(object.key());
                if known.is_some_and(|known| known.revision() > object.revision()) {
                    return Vec::new();
                }
                self.remove(object.key()).into_iter().collect()
            }
        }
    }

    /// Takes the answer to one's own write or read.
    pub fn learn(&mut self, epoch: Epoch, object: T) -> Option<Change<T>> {
        if epoch != self.epoch || object.revision() <= self.told {
            return None; // the watch has told this, or what came after
        }
        self.put(object)
    }

    fn apply(&mut self, object: T) -> Vec<Change<T>> {
        self.told = self.told.max(object.revision());
        self.put(object).into_iter().collect()
    }

    fn put(&mut self, object: T) -> Option<Change<T>> {
        let key = object.key().clone();
        if self.objects.get(&key).is_some_and(|known| known.revision() >= object.revision()) {
            return None;
        }
        let before = self.objects.insert(key.clone(), object);
        Some(Change { key, before })
    }

    fn remove(&mut self, key: &Key) -> Option<Change<T>> {
        let before = self.objects.remove(key)?;
        Some(Change { key: key.clone(), before: Some(before) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Thing(Key, u64);

    impl Observed for Thing {
        fn key(&self) -> &Key {
            &self.0
        }
        fn revision(&self) -> u64 {
            self.1
        }
    }

    fn thing(name: &str, revision: u64) -> Thing {
        Thing(Key::new("ns", name), revision)
    }

    fn mirror() -> Mirror<Thing> {
        let mut mirror = Mirror::default();
        mirror.tell(Told::Restart);
        mirror.tell(Told::Listed(thing("a", 3)));
        mirror.tell(Told::Complete);
        mirror
    }

    fn revision(mirror: &Mirror<Thing>, name: &str) -> Option<u64> {
        mirror.get(&Key::new("ns", name)).map(|thing| thing.1)
    }

    #[test]
    fn an_answer_is_known_before_the_watch_tells_it() {
        let mut mirror = mirror();
        assert!(mirror.learn(mirror.epoch(), thing("a", 7)).is_some());
        assert!(mirror.tell(Told::Applied(thing("a", 5))).is_empty(), "older than the answer");
        assert!(mirror.tell(Told::Applied(thing("a", 7))).is_empty(), "the answer again");
        assert_eq!(revision(&mirror, "a"), Some(7));
    }

    #[test]
    fn a_late_answer_raises_no_dead() {
        let mut mirror = mirror();
        let epoch = mirror.epoch();
        assert_eq!(mirror.tell(Told::Deleted(thing("a", 9))).len(), 1);
        assert!(mirror.learn(epoch, thing("a", 8)).is_none());
        assert_eq!(revision(&mirror, "a"), None);
    }

    #[test]
    fn a_late_farewell_takes_no_successor() {
        let mut mirror = mirror();
        mirror.learn(mirror.epoch(), thing("a", 12));
        assert!(mirror.tell(Told::Deleted(thing("a", 9))).is_empty());
        assert_eq!(revision(&mirror, "a"), Some(12));
    }

    #[test]
    fn what_a_new_list_does_not_name_is_gone() {
        let mut mirror = mirror();
        let epoch = mirror.epoch();
        mirror.tell(Told::Applied(thing("b", 4)));
        mirror.tell(Told::Restart);
        mirror.tell(Told::Listed(thing("b", 4)));
        let gone = mirror.tell(Told::Complete);
        assert_eq!(gone.len(), 1);
        assert_eq!(&*gone[0].key.name, "a");
        assert!(mirror.learn(epoch, thing("a", 50)).is_none(), "written before the list");
    }
}
