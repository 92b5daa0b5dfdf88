//! What is to be written next, for every IPSet.
//!
//! ```text
//!            seen                         to do
//!  no finalizer                       ─▶  set it
//!  an address missing                 ─▶  claim it in the ledger, together with others
//!  Reservation missing or behind      ─▶  write it
//!  status behind                      ─▶  write it
//!  going away                         ─▶  let the Reservation go, then the IPSet
//!  gone, and its Reservation too      ─▶  free its addresses in the ledger
//! ```
//!
//! The engine looks at an IPSet whenever anything about it may have changed, and takes one step at
//! a time. What it decides depends only on what it has seen.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use landbridge_addr::Pool;
use landbridge_api::ledger::Claim;
use landbridge_api::network::{IPSET_FINALIZER, IPSetNetwork, IPSetStatus, Reservation};

use super::answer::{self, Given, Trouble};
use super::ledger::{Effect, HOLDER, Ledger, Place, Swap, Swapped};
use super::networks::{self, Found, Networks};
use super::seen::{Block, Config, Record, Request, is_ours};
use crate::mirror::{Epoch, Key, Mirror, Told};

/// A write that fails is tried again after so long, then after twice as long, and so on.
const FIRST_RETRY: SignedDuration = SignedDuration::from_millis(50);
const LONGEST_RETRY: SignedDuration = SignedDuration::from_secs(30);
/// So many identities of deleted IPSets are remembered; of others, the API is asked.
const REMEMBERED_DEAD: usize = 100_000;

/// News.
#[derive(Debug)]
pub enum News {
    /// Of NetConfigs.
    Config(Told<Config>),
    /// Of IPSets.
    Request(Told<Request>),
    /// Of Reservations.
    Record(Told<Record>),
    /// Of AddressBlocks.
    Block(Told<Block>),
}

/// Something to write (or to look up), for one IPSet or one block.
#[derive(Debug)]
pub enum Action {
    /// Swap a block of the ledger.
    Swap(Swap),
    /// A step for an IPSet.
    Step(Step),
    /// Tell people, as an Event on the IPSet.
    Tell(Notice),
}

/// A step for one IPSet. No other step for it is taken until this one has ended.
#[derive(Debug)]
pub struct Step {
    /// Which IPSet.
    pub key: Key,
    /// What to do.
    pub what: What,
    epochs: (Epoch, Epoch),
}

/// What to do for an IPSet.
#[derive(Clone, Debug)]
pub enum What {
    /// Set the finalizers of the IPSet that is in this revision.
    Finalizers {
        /// The revision.
        revision: u64,
        /// All finalizers it shall have.
        finalizers: Vec<String>,
    },
    /// Set the finalizers of the Reservation that is in this revision.
    RecordFinalizers {
        /// The revision.
        revision: u64,
        /// All finalizers it shall have.
        finalizers: Vec<String>,
    },
    /// Create the Reservation.
    CreateRecord(Box<Reservation>),
    /// Bring the Reservation that is in this revision up to date.
    UpdateRecord(u64, Box<Reservation>),
    /// Write the status of the IPSet with this identity.
    Status(Arc<str>, Box<IPSetStatus>),
    /// Look whether IPSet and Reservation are really gone, because these claims hang on that.
    Confirm(Vec<(Place, String)>),
}

/// How a step ended.
#[derive(Debug)]
pub enum Ended {
    /// What is there now, as far as it is known: after success, or after a lost race.
    Now(Option<Request>, Option<Record>),
    /// Answer to [`What::Confirm`]: what there is, and what is not there.
    Confirmed(Option<Request>, Option<Record>),
    /// It could not be done.
    Failed(String),
}

/// Something people should know about an IPSet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Which IPSet.
    pub key: Key,
    /// Its identity.
    pub uid: Arc<str>,
    /// Whether it is bad news.
    pub warning: bool,
    /// One word for programs.
    pub reason: &'static str,
    /// A sentence for people.
    pub note: String,
}

/// The pool of one subnet, and who waits for an address of it, oldest first.
#[derive(Debug)]
struct Source {
    pool: Pool,
    segment: Arc<str>,
    waiting: BTreeSet<(i64, Key)>,
}

/// A subnet: namespace, and place in its NetConfig.
type SubnetId = (Arc<str>, (usize, usize));

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Engine {
    configs: Mirror<Config>,
    requests: Mirror<Request>,
    records: Mirror<Record>,
    ledger: Ledger,
    networks: HashMap<Arc<str>, Networks>,
    sources: HashMap<SubnetId, Source>,
    on_segment: HashMap<Arc<str>, Vec<SubnetId>>,
    /// Who waits for one address in particular.
    awaited: HashMap<Place, BTreeSet<Key>>,
    /// What each IPSet waits for, so that it can be struck off.
    waits: HashMap<Key, Vec<Wait>>,
    dirty: BTreeSet<Key>,
    busy: HashSet<Key>,
    failures: HashMap<Key, u32>,
    retries: BTreeSet<(Timestamp, Key)>,
    dead: Dead,
    /// What people were last told about an IPSet.
    told: HashMap<Key, String>,
    notices: Vec<Notice>,
}

#[derive(Debug)]
enum Wait {
    Pool(SubnetId, i64),
    Address(Place),
}

impl Engine {
    /// Takes news.
    pub fn tell(&mut self, news: News) {
        let before = self.is_ready();
        match news {
            News::Config(told) => {
                let changes = self.configs.tell(told);
                let namespaces: BTreeSet<_> =
                    changes.into_iter().map(|change| change.key.namespace).collect();
                for namespace in namespaces {
                    self.reconfigure(&namespace);
                }
            }
            News::Request(told) => {
                let farewell = matches!(told, Told::Deleted(_));
                for change in self.requests.tell(told) {
                    if farewell && let Some(request) = change.before {
                        self.dead.insert(request.uid);
                    }
                    self.dirty.insert(change.key);
                }
            }
            News::Record(told) => {
                for change in self.records.tell(told) {
                    self.dirty.insert(change.key);
                }
            }
            News::Block(told) => {
                let effects = self.ledger.tell(told);
                self.follow(&effects);
            }
        }
        if !before && self.is_ready() {
            self.dirty.extend(self.ledger.all_holders().cloned());
        }
    }

    /// Whether enough has been seen to decide anything.
    pub fn is_ready(&self) -> bool {
        self.configs.is_complete()
            && self.requests.is_complete()
            && self.records.is_complete()
            && self.ledger.is_complete()
    }

    /// When [`act`](Self::act) should be called again at the latest.
    pub fn wake_at(&self) -> Option<Timestamp> {
        self.retries.first().map(|(at, _)| *at)
    }

    /// Whether nothing is to be done, and nothing under way.
    pub fn is_idle(&self) -> bool {
        self.dirty.is_empty() && self.busy.is_empty() && self.ledger.is_idle()
    }

    /// What is to be done now.
    pub fn act(&mut self, now: Timestamp) -> Vec<Action> {
        if !self.is_ready() {
            return Vec::new();
        }
        while let Some((at, key)) = self.retries.first().filter(|(at, _)| *at <= now).cloned() {
            self.retries.remove(&(at, key.clone()));
            self.dirty.insert(key);
        }
        let mut actions = Vec::new();
        // Claims of one may wake others, in the same breath.
        loop {
            self.wake_waiters();
            let batch = self.take_batch();
            if batch.is_empty() {
                break;
            }
            for key in batch {
                if let Some(what) = self.look_at(&key, now) {
                    self.busy.insert(key.clone());
                    let epochs = (self.requests.epoch(), self.records.epoch());
                    actions.push(Action::Step(Step { key, what, epochs }));
                }
            }
        }
        actions.extend(self.ledger.swaps().into_iter().map(Action::Swap));
        actions.extend(self.notices.drain(..).map(Action::Tell));
        actions
    }

    /// A swap has ended.
    pub fn swapped(&mut self, swap: &Swap, how: Swapped) {
        let effects = self.ledger.swapped(swap, how);
        self.follow(&effects);
    }

    /// A step has ended.
    pub fn ended(&mut self, step: &Step, how: Ended, now: Timestamp) {
        let key = &step.key;
        self.busy.remove(key);
        let (request, record) = match how {
            Ended::Failed(_) => return self.retry(key, now),
            Ended::Now(request, record) => {
                if request.is_none() && record.is_none() {
                    // Lost to a deletion that the watch will tell of; no need to hurry.
                    return self.retry(key, now);
                }
                (request, record)
            }
            Ended::Confirmed(request, record) => {
                if request.is_none() {
                    self.free_abandoned(step, record.as_ref());
                }
                (request, record)
            }
        };
        self.failures.remove(key);
        if let Some(request) = request {
            self.requests.learn(step.epochs.0, request);
        }
        if let Some(record) = record {
            self.records.learn(step.epochs.1, record);
        }
        self.dirty.insert(key.clone());
    }

    fn retry(&mut self, key: &Key, now: Timestamp) {
        let failures = self.failures.entry(key.clone()).or_default();
        let wait = FIRST_RETRY.checked_mul(1 << (*failures).min(16)).unwrap_or(LONGEST_RETRY);
        *failures += 1;
        let at = now.checked_add(wait.min(LONGEST_RETRY)).unwrap_or(now);
        self.retries.insert((at, key.clone()));
    }

    /// Everybody to look at, oldest request first: who asked first is served first.
    fn take_batch(&mut self) -> Vec<Key> {
        let (busy, mut batch): (Vec<Key>, Vec<Key>) =
            std::mem::take(&mut self.dirty).into_iter().partition(|key| self.busy.contains(key));
        self.dirty = busy.into_iter().collect();
        batch.sort_by_cached_key(|key| self.requests.get(key).map(|request| request.created));
        batch
    }

    /// A NetConfig came, changed or went: resolves it anew, and looks at everybody it concerns.
    fn reconfigure(&mut self, namespace: &Arc<str>) {
        self.networks.remove(namespace);
        self.sources.retain(|(place, _), _| place != namespace);
        for subnets in self.on_segment.values_mut() {
            subnets.retain(|(place, _)| place != namespace);
        }
        self.on_segment.retain(|_, subnets| !subnets.is_empty());
        // There should be one. If there are several, the first by name counts, always.
        let configs = self.configs.iter().filter(|config| config.key.namespace == *namespace);
        if let Some(config) = configs.min_by(|a, b| a.key.name.cmp(&b.key.name)) {
            let networks = Networks::new(config);
            for (index, site, subnet) in networks.sites() {
                let pool = networks::pool(site, subnet, self.ledger.held_on(&site.segment));
                let id = (namespace.clone(), index);
                self.on_segment.entry(site.segment.clone()).or_default().push(id.clone());
                let segment = site.segment.clone();
                self.sources.insert(id, Source { pool, segment, waiting: BTreeSet::new() });
            }
            self.networks.insert(namespace.clone(), networks);
        }
        let concerned = self.requests.iter().map(|request| &request.key);
        let concerned = concerned.chain(self.records.iter().map(|record| &record.key));
        self.dirty.extend(concerned.filter(|key| key.namespace == *namespace).cloned());
    }

    /// Passes on to pools and IPSets what became different in the ledger.
    fn follow(&mut self, effects: &[Effect]) {
        for Effect { place, before, after } in effects {
            for id in self.on_segment.get(&place.segment).into_iter().flatten() {
                let Some(source) = self.sources.get_mut(id) else { continue };
                match after {
                    Some(_) => source.pool.take(place.address),
                    None => source.pool.release(place.address),
                };
            }
            if after.is_none() {
                let awaited = self.awaited.get(place).into_iter().flatten();
                self.dirty.extend(awaited.cloned());
            }
            for claim in [before, after].into_iter().flatten().filter(|c| c.kind == HOLDER) {
                self.dirty.insert(Key::new(&claim.namespace, &claim.name));
            }
        }
    }

    /// Looks again at as many waiting IPSets as there are addresses for.
    fn wake_waiters(&mut self) {
        for source in self.sources.values().filter(|source| !source.waiting.is_empty()) {
            let free = usize::try_from(source.pool.free()).unwrap_or(usize::MAX);
            self.dirty.extend(source.waiting.iter().take(free).map(|(_, key)| key.clone()));
        }
    }

    fn stop_waiting(&mut self, key: &Key) {
        for wait in self.waits.remove(key).unwrap_or_default() {
            match wait {
                Wait::Pool(id, created) => {
                    if let Some(source) = self.sources.get_mut(&id) {
                        source.waiting.remove(&(created, key.clone()));
                    }
                }
                Wait::Address(place) => {
                    if let Some(keys) = self.awaited.get_mut(&place) {
                        keys.remove(key);
                        if keys.is_empty() {
                            self.awaited.remove(&place);
                        }
                    }
                }
            }
        }
    }

    /// The next step for an IPSet.
    fn look_at(&mut self, key: &Key, now: Timestamp) -> Option<What> {
        self.stop_waiting(key);
        match self.requests.get(key) {
            None => self.without_request(key),
            Some(request) if request.deleting => {
                self.told.remove(key);
                let record = self.records.get(key);
                let held = record.filter(|record| record.finalizers.iter().any(|f| is_ours(f)));
                if let Some(record) = held.filter(|record| *record.owner == *request.uid) {
                    return Some(let_record_go(record));
                }
                let finalizers = without_ours(&request.finalizers)?;
                Some(What::Finalizers { revision: request.revision, finalizers })
            }
            Some(request) if !request.finalizers.iter().any(|f| is_ours(f)) => {
                let mut finalizers = request.finalizers.clone();
                finalizers.push(IPSET_FINALIZER.to_owned());
                Some(What::Finalizers { revision: request.revision, finalizers })
            }
            Some(request) => {
                let request = request.clone();
                self.serve(&request, now)
            }
        }
    }

    /// There is no IPSet: what a Reservation records stays reserved, anything else is freed.
    fn without_request(&mut self, key: &Key) -> Option<What> {
        self.told.remove(key);
        if let Some(record) = self.records.get(key) {
            if record.deleting && record.finalizers.iter().any(|f| is_ours(f)) {
                return Some(let_record_go(record));
            }
            if !record.deleting && !self.dead.contains(&record.owner) {
                let record = record.clone();
                if let Some(networks) = self.networks.remove(&key.namespace) {
                    self.import(&record, &networks, None);
                    self.networks.insert(key.namespace.clone(), networks);
                }
            }
        }
        let mut unsure = Vec::new();
        let record = self.records.get(key);
        let unrecorded = |place: &&Place| record.is_none_or(|record| !record.lists(place.address));
        let places: Vec<Place> = self.ledger.of(key).filter(unrecorded).cloned().collect();
        for place in places {
            match self.ledger.holder(&place).map(|claim| claim.uid.clone()) {
                Some(uid) if !self.dead.contains(&uid) => unsure.push((place, uid)),
                _ => self.free(&place),
            }
        }
        // Somebody else may know an IPSet that is not told here yet.
        (!unsure.is_empty()).then_some(What::Confirm(unsure))
    }

    fn free(&mut self, place: &Place) {
        let effects = self.ledger.remove(place);
        self.follow(&effects);
    }

    /// Frees what the absent IPSet held when it was found absent, unless its Reservation is there
    /// and lists it. What it was given since belongs to another one of its name.
    fn free_abandoned(&mut self, step: &Step, record: Option<&Record>) {
        let What::Confirm(claims) = &step.what else { return };
        if self.requests.get(&step.key).is_some() {
            return;
        }
        for (place, uid) in claims {
            let listed = [record, self.records.get(&step.key)]
                .into_iter()
                .flatten()
                .any(|record| record.lists(place.address));
            let still = self.ledger.holder(place).is_some_and(|claim| {
                claim.kind == HOLDER && *claim.name == *step.key.name && claim.uid == *uid
            });
            if still && !listed {
                self.free(place);
            }
        }
    }

    /// Claims what a Reservation records and nobody asks for: its IPSet may come later, when a
    /// backup is restored, or ask for fewer networks than before.
    fn import(&mut self, record: &Record, networks: &Networks, request: Option<&Request>) {
        let source = format!("NetConfig {}", networks.config);
        let uid = request.map(|request| request.uid.to_string()).unwrap_or_default();
        let asked = |network: &str| {
            let wanted = request.into_iter().flat_map(|request| &request.networks);
            wanted.into_iter().any(|wanted| wanted.name.eq_ignore_ascii_case(network))
        };
        let mut claims = Vec::new();
        for entry in record.addresses.values().filter(|entry| !asked(&entry.network)) {
            let found = networks.find(&entry.network, &entry.subnet);
            if let (Ok(found), Ok(address)) = (found, entry.address.parse()) {
                let place = Place { segment: found.site.segment.clone(), address };
                claims.push((place, found.network.name.clone()));
            }
        }
        for (place, attachment) in claims {
            if self.ledger.holder(&place).is_some() {
                if self.other_holder(&place, &record.key).is_some() {
                    self.wait_for(&record.key, Wait::Address(place));
                }
                continue;
            }
            let claim = Claim {
                kind: HOLDER.to_owned(),
                namespace: record.key.namespace.to_string(),
                name: record.key.name.to_string(),
                uid: uid.clone(),
                attachment,
                source: source.clone(),
                fixed: false,
            };
            let effect = self.ledger.put(&place, claim);
            self.follow(effect.as_slice());
        }
    }

    /// The next step for an IPSet that wants addresses.
    fn serve(&mut self, request: &Request, now: Timestamp) -> Option<What> {
        let key = &request.key;
        let Some(networks) = self.networks.remove(&key.namespace) else {
            return self.report(request, &[], Some(&Trouble::NoNetConfig), now);
        };
        let record = self.records.get(key).cloned();
        let mut given = Vec::new();
        let mut causes = Vec::new();
        let mut settled = true;
        for wanted in &request.networks {
            match self.obtain(request, record.as_ref(), &networks, wanted) {
                Ok((found, address)) => {
                    let place = Place { segment: found.site.segment.clone(), address };
                    settled &= self.ledger.is_settled(&place);
                    given.push(Given { wanted, found, address });
                }
                Err(cause) => causes.push(cause),
            }
        }
        if let Some(record) = record.as_ref().filter(|record| !record.deleting) {
            self.import(record, &networks, Some(request));
        }
        let step = if settled {
            let trouble = (!causes.is_empty()).then_some(Trouble::Missing(causes));
            self.record(request, record.as_ref(), &given)
                .or_else(|| self.report(request, &given, trouble.as_ref(), now))
        } else {
            None // looked at again when the swaps have ended
        };
        self.networks.insert(key.namespace.clone(), networks);
        step
    }

    /// The Reservation, if it is not what it should be. If it is, claims beyond it are freed.
    fn record(
        &mut self,
        request: &Request,
        record: Option<&Record>,
        given: &[Given<'_>],
    ) -> Option<What> {
        match record {
            // Its owner is gone, and so will it be: the next one is written then.
            Some(record) if record.deleting => {
                let ours = record.finalizers.iter().any(|f| is_ours(f));
                return ours.then(|| let_record_go(record));
            }
            None if given.is_empty() => {}
            None => {
                let wanted = answer::reservation(request, None, given);
                return Some(What::CreateRecord(Box::new(wanted)));
            }
            Some(record) => {
                let wanted = answer::reservation(request, Some(record), given);
                if !answer::is_recorded(&wanted, record) {
                    return Some(What::UpdateRecord(record.revision, Box::new(wanted)));
                }
            }
        }
        let extra = |place: &&Place| {
            let Some(claim) = self.ledger.holder(place) else { return false };
            let same = |name: &str| name.eq_ignore_ascii_case(&claim.attachment);
            match given.iter().find(|given| same(&given.found.network.name)) {
                Some(given) => {
                    given.address != place.address || given.found.site.segment != place.segment
                }
                None => {
                    record.is_none_or(|record| record.entry(&claim.attachment).is_none())
                        && !request.networks.iter().any(|wanted| same(&wanted.name))
                }
            }
        };
        let extra: Vec<Place> = self.ledger.of(&request.key).filter(extra).cloned().collect();
        for place in extra {
            self.free(&place);
        }
        None
    }

    /// The status, if it is not what it should be.
    fn report(
        &mut self,
        request: &Request,
        given: &[Given<'_>],
        trouble: Option<&Trouble>,
        now: Timestamp,
    ) -> Option<What> {
        let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
        let status = answer::status(request, given, trouble, Time(now));
        self.tell_people(request, trouble);
        if status == request.status {
            return None;
        }
        Some(What::Status(request.uid.clone(), Box::new(status)))
    }

    fn tell_people(&mut self, request: &Request, trouble: Option<&Trouble>) {
        let note = match trouble {
            None => None,
            Some(Trouble::NoNetConfig) => {
                Some(format!("NetConfig missing in namespace {}", request.key.namespace))
            }
            Some(Trouble::Missing(causes)) => Some(causes.join("; ")),
        };
        let last = match &note {
            Some(note) => self.told.insert(request.key.clone(), note.clone()),
            None => self.told.remove(&request.key),
        };
        if note == last {
            return;
        }
        let notice = |warning, reason, note| Notice {
            key: request.key.clone(),
            uid: request.uid.clone(),
            warning,
            reason,
            note,
        };
        self.notices.push(match note {
            Some(note) => notice(true, "AddressesMissing", note),
            None => notice(false, "AddressesGiven", "all addresses are there now".to_owned()),
        });
    }

    /// An address for one network: the one that is held already, the one that is asked for, or
    /// the lowest that is free. Or else, in words, why not.
    fn obtain<'a>(
        &mut self,
        request: &Request,
        record: Option<&Record>,
        networks: &'a Networks,
        wanted: &IPSetNetwork,
    ) -> Result<(Found<'a>, IpAddr), String> {
        let found = networks
            .find(&wanted.name, &wanted.subnet_name)
            .map_err(|why| format!("network {}: {why}", wanted.name))?;
        let trouble = |why: String| {
            let (network, subnet) = (&found.network.name, &found.subnet.name);
            format!("network {network}, subnet {subnet}: {why}")
        };
        let claim = Claim {
            kind: HOLDER.to_owned(),
            namespace: request.key.namespace.to_string(),
            name: request.key.name.to_string(),
            uid: request.uid.to_string(),
            attachment: found.network.name.clone(),
            source: format!("NetConfig {}", networks.config),
            fixed: wanted.fixed_ip.is_some(),
        };
        let id: SubnetId = (request.key.namespace.clone(), found.index);
        if let Some(address) = self.kept(request, record, &found) {
            let place = Place { segment: found.site.segment.clone(), address };
            if let Some(other) = self.other_holder(&place, &request.key) {
                let why = format!(
                    "{address} is recorded here but held by {other}; delete one of the two"
                );
                self.wait_for(&request.key, Wait::Address(place));
                return Err(trouble(why));
            }
            self.claim(&place, claim);
            return Ok((found, address));
        }
        let prefix = found.site.prefix.as_ref().map_err(|why| trouble(why.clone()))?;
        let address = if let Some(text) = &wanted.fixed_ip {
            let address = prefix.member(text).map_err(|why| trouble(format!("{text}: {why}")))?;
            if found.site.excluded.contains(&address) {
                return Err(trouble(format!("FixedIP {address} is in ExcludeAddresses")));
            }
            let place = Place { segment: found.site.segment.clone(), address };
            if let Some(other) = self.other_holder(&place, &request.key) {
                let left = self.left(&id);
                let why = format!("{address} already reserved for {other}; {left}");
                self.wait_for(&request.key, Wait::Address(place));
                return Err(trouble(why));
            }
            address
        } else {
            let lowest = self.sources.get(&id).and_then(|source| source.pool.lowest());
            let Some(address) = lowest else {
                let left = self.left(&id);
                self.wait_for(&request.key, Wait::Pool(id, request.created));
                return Err(trouble(format!(
                    "no ip address could be created for {} in subnet {}; {left}",
                    request.key.name, found.subnet.name
                )));
            };
            address
        };
        self.claim(&Place { segment: found.site.segment.clone(), address }, claim);
        Ok((found, address))
    }

    /// The address the IPSet has on this network: what its record says, or what it claimed before
    /// a record could be written.
    fn kept(
        &self,
        request: &Request,
        record: Option<&Record>,
        found: &Found<'_>,
    ) -> Option<IpAddr> {
        let recorded = record
            .and_then(|record| record.entry(&found.network.name))
            .and_then(|entry| entry.address.parse().ok());
        recorded.or_else(|| {
            let mine = self.ledger.of(&request.key).filter(|place| {
                place.segment == found.site.segment
                    && self.ledger.holder(place).is_some_and(|claim| {
                        claim.attachment.eq_ignore_ascii_case(&found.network.name)
                    })
            });
            mine.map(|place| place.address).min()
        })
    }

    /// Who holds the address, if it is somebody else.
    fn other_holder(&self, place: &Place, me: &Key) -> Option<&Claim> {
        self.ledger.holder(place).filter(|claim| {
            claim.kind != HOLDER || *claim.namespace != *me.namespace || *claim.name != *me.name
        })
    }

    fn claim(&mut self, place: &Place, claim: Claim) {
        let effect = self.ledger.put(place, claim);
        if let Some(effect) = effect
            && effect.before.is_none()
        {
            for id in self.on_segment.get(&place.segment).into_iter().flatten() {
                if let Some(source) = self.sources.get_mut(id) {
                    source.pool.take(place.address);
                }
            }
        }
    }

    fn wait_for(&mut self, key: &Key, wait: Wait) {
        match &wait {
            Wait::Pool(id, created) => {
                if let Some(source) = self.sources.get_mut(id) {
                    source.waiting.insert((*created, key.clone()));
                }
            }
            Wait::Address(place) => {
                self.awaited.entry(place.clone()).or_default().insert(key.clone());
            }
        }
        self.waits.entry(key.clone()).or_default().push(wait);
    }

    /// How many addresses a subnet has left.
    fn left(&self, id: &SubnetId) -> String {
        let Some(source) = self.sources.get(id) else { return "no addresses".to_owned() };
        let (free, all) = (source.pool.free(), source.pool.capacity());
        format!("{free} of {all} addresses of its ranges on {} are left", source.segment)
    }
}

fn let_record_go(record: &Record) -> What {
    let finalizers = without_ours(&record.finalizers).unwrap_or_default();
    What::RecordFinalizers { revision: record.revision, finalizers }
}

/// The finalizers without ours; `None` when ours is not among them.
fn without_ours(finalizers: &[String]) -> Option<Vec<String>> {
    let others: Vec<String> = finalizers.iter().filter(|f| !is_ours(f)).cloned().collect();
    (others.len() < finalizers.len()).then_some(others)
}

/// Identities of IPSets that were seen to go. An identity never comes back.
#[derive(Debug, Default)]
struct Dead {
    known: HashSet<Arc<str>>,
    order: VecDeque<Arc<str>>,
}

impl Dead {
    fn insert(&mut self, uid: Arc<str>) {
        if uid.is_empty() || !self.known.insert(uid.clone()) {
            return;
        }
        self.order.push_back(uid);
        if self.order.len() > REMEMBERED_DEAD
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    fn contains(&self, uid: &str) -> bool {
        self.known.contains(uid)
    }
}
