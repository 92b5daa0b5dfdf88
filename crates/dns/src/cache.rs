//! Answers of other servers, kept as long as they say.
//!
//! Readers never lock: the table is fixed, each place holds at most one answer behind an atomic
//! pointer, and only the forwarder writes. A question has eight places it may be in; when all are taken,
//! what is out of date goes first, then what was used longest ago.
//!
//! Whole answers are kept, by question. Whatever else a server puts into an answer (records of other
//! names, addresses of servers) is never used for another question, so nothing can be planted there.

mod stored;

use std::hash::{BuildHasher as _, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use foldhash::quality::RandomState;

pub use self::stored::{BadReply, Form, Stored};
use crate::wire::{Key, Query};

/// How many places a question may be in.
const WAYS: usize = 8;
/// Longer answers are not kept: whoever needs them asks rarely.
const LONGEST: usize = 16 * 1024;

/// What an answer is an answer to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Question {
    /// The name, in lower case.
    pub name: Box<[u8]>,
    pub qtype: u16,
    pub qclass: u16,
    /// The client wants signatures: a different answer.
    pub dnssec_ok: bool,
    /// The client checks them itself: a different answer, too.
    pub checking_disabled: bool,
}

/// The same, borrowed from a query.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    name: &'a [u8],
    qtype: u16,
    qclass: u16,
    dnssec_ok: bool,
    checking_disabled: bool,
}

/// Names that do not exist do not for all types; they are kept once, under this one.
const NO_TYPE: u16 = 0;

impl<'a> Asked<'a> {
    pub fn of(query: &'a Query<'_>) -> Self {
        Self {
            name: Key::wire(&query.name),
            qtype: query.qtype,
            qclass: query.qclass,
            dnssec_ok: query.edns.is_some_and(|edns| edns.dnssec_ok),
            checking_disabled: query.flags & crate::wire::flag::CD != 0,
        }
    }

    pub fn to_question(self) -> Question {
        Question {
            name: self.name.into(),
            qtype: self.qtype,
            qclass: self.qclass,
            dnssec_ok: self.dnssec_ok,
            checking_disabled: self.checking_disabled,
        }
    }

    fn is(&self, question: &Question) -> bool {
        *self.name == *question.name
            && self.qtype == question.qtype
            && self.qclass == question.qclass
            && self.dnssec_ok == question.dnssec_ok
            && self.checking_disabled == question.checking_disabled
    }
}

impl Question {
    fn asked(&self) -> Asked<'_> {
        Asked {
            name: &self.name,
            qtype: self.qtype,
            qclass: self.qclass,
            dnssec_ok: self.dnssec_ok,
            checking_disabled: self.checking_disabled,
        }
    }
}

/// One kept answer.
#[derive(Debug)]
pub struct Entry {
    question: Question,
    pub stored: Stored,
    /// When it was used last, in milliseconds.
    used: AtomicU64,
}

/// The table.
#[derive(Debug)]
pub struct Cache {
    places: Box<[ArcSwapOption<Entry>]>,
    hasher: RandomState,
}

impl Cache {
    /// A table for so many answers, rounded up to whole groups; none at all for 0.
    pub fn new(size: usize) -> Self {
        let places = (0..size.next_multiple_of(WAYS)).map(|_| ArcSwapOption::empty()).collect();
        Self { places, hasher: RandomState::default() }
    }

    /// The answer to a question, if one is there and not out of date.
    pub fn get(&self, asked: Asked<'_>, now: Duration) -> Option<Arc<Entry>> {
        // A name that does not exist first: it says more than that a type is not there.
        self.find(Asked { qtype: NO_TYPE, ..asked }, now).or_else(|| self.find(asked, now))
    }

    fn find(&self, asked: Asked<'_>, now: Duration) -> Option<Arc<Entry>> {
        self.group(asked).iter().find_map(|place| {
            let held = place.load();
            let entry = held.as_ref()?;
            if !asked.is(&entry.question) || entry.stored.expired(now) {
                return None;
            }
            entry.used.store(millis(now), Ordering::Relaxed);
            Some(Arc::clone(entry))
        })
    }

    /// Keeps an answer. Called by one thread only.
    pub fn put(&self, question: &Question, stored: Stored, now: Duration) {
        if stored.expired(now) || stored.len() > LONGEST {
            return;
        }
        let mut question = question.clone();
        if stored.is_nxdomain() {
            question.qtype = NO_TYPE;
        }
        let group = self.group(question.asked());
        // The same question, else an empty place, else what is out of date, else the longest unused.
        let worth = |place: &ArcSwapOption<Entry>| match place.load().as_ref() {
            Some(entry) if entry.question == question => (0, 0),
            None => (1, 0),
            Some(entry) if entry.stored.expired(now) => (2, 0),
            Some(entry) => (3, entry.used.load(Ordering::Relaxed)),
        };
        if let Some(place) = group.iter().min_by_key(|place| worth(place)) {
            let used = AtomicU64::new(millis(now));
            place.store(Some(Arc::new(Entry { question, stored, used })));
        }
    }

    /// Forgets everything: the settings have changed.
    pub fn clear(&self) {
        for place in &self.places {
            place.store(None);
        }
    }

    /// How many answers are there, out of date or not.
    pub fn len(&self) -> usize {
        self.places.iter().filter(|place| place.load().is_some()).count()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn group(&self, asked: Asked<'_>) -> &[ArcSwapOption<Entry>] {
        let groups = self.places.len() / WAYS;
        if groups == 0 {
            return &[];
        }
        let mut hasher = self.hasher.build_hasher();
        asked.name.hash(&mut hasher);
        hasher.write_u16(asked.qtype);
        let from = usize::try_from(hasher.finish() % groups as u64).unwrap_or(0) * WAYS;
        self.places.get(from..from + WAYS).unwrap_or_default()
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
