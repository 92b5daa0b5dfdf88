//! The next step for one IPSet.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use landbridge_api::ledger::Claim;
use landbridge_api::network::IPSET_FINALIZER;

use super::Engine;
use super::messages::{Notice, Step, What};
use super::supply::Wait;
use crate::ipam::answer::{self, Given, Trouble};
use crate::ipam::ledger::{HOLDER, Place};
use crate::ipam::networks::Networks;
use crate::ipam::seen::{Record, Request, is_ours};
use crate::mirror::Key;

impl Engine {
    /// The next step for an IPSet.
    pub(super) fn look_at(&mut self, key: &Key, now: Timestamp) -> Option<What> {
        self.supply.stop_waiting(key);
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
    pub(super) fn free_abandoned(&mut self, step: &Step, record: Option<&Record>) {
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
                    self.supply.wait(&record.key, Wait::Address(place));
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
                ..Claim::default()
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
        let status = answer::status(request, given, trouble, &Time(now));
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
