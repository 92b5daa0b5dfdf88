//! The next step for one Service.

use std::net::IpAddr;
use std::sync::Arc;

use landbridge_api::ledger::{Claim, SharedBy};
use landbridge_vips::{Asked, Given, NAMESPACE, Outcome, Said, converge};

use super::Engine;
use super::messages::{Notice, Step, What};
use crate::ipam::ledger::Place;
use crate::mirror::Key;
use crate::vips::claims::{self, VIPS};
use crate::vips::seen::{Role, Service};

impl Engine {
    /// What to do for a Service next, if anything.
    pub(super) fn look_at(&mut self, key: &Key) -> Option<(Arc<str>, What)> {
        self.waiting.remove(key);
        let Some(service) = self.services.get(key).cloned() else {
            return self.without_service(key).map(|what| (Arc::from(""), what));
        };
        if let Some(odd) = self.of_another_identity(&service) {
            return Some((service.uid, odd));
        }
        let what = match service.role.clone() {
            Role::Foreign => {
                self.told.remove(key);
                self.keep(&service)
            }
            Role::Plain => {
                self.told.remove(key);
                self.settle(&service, None)
            }
            Role::Balanced(asked) => {
                if let Some(first) = self.seems_taken(&service) {
                    return Some((service.uid, first));
                }
                if self.is_left_alone(&service, &asked) {
                    return None;
                }
                let outcome = self.decide(&service, &asked);
                if outcome.waits {
                    self.waiting.insert(key.clone());
                }
                self.tell_people(&service, &outcome.said);
                self.serve(&service, &asked, outcome.given)
            }
        };
        what.map(|what| (service.uid, what))
    }

    /// Claims of another Service of this name, made for a revision that was not seen here yet: either it
    /// is the next one of that name, or the claims came from elsewhere, as in a restore.
    fn of_another_identity(&self, service: &Service) -> Option<What> {
        let places = self.ledger.of(&service.key).filter(|place| self.ledger.is_settled(place));
        let odd = places.filter_map(|place| {
            let entry = claims::entry(self.ledger.holder(place)?, &service.key)?;
            let other = *entry.uid != *service.uid && entry.revision > service.revision;
            other.then(|| (place.clone(), entry.uid.clone()))
        });
        let odd: Vec<(Place, String)> = odd.collect();
        (!odd.is_empty()).then_some(What::Confirm(odd))
    }

    /// While pools make no sense, the last ones that did are in force; but controllers may differ in
    /// which those were. So nobody loses an address for what the pools say, until they make sense again.
    fn is_left_alone(&self, service: &Service, asked: &Asked) -> bool {
        if !self.counters.config_stale || service.ingress.is_empty() {
            return false;
        }
        let config = self.allocator.config();
        config.holding(&service.ingress).is_none_or(|pool| {
            let other = asked.pool.as_ref().is_some_and(|wanted| **wanted != *pool.name);
            other || !config.is_for(&pool.name, asked)
        })
    }

    /// Addresses in the status that others are said to use, and not this Service. Then either two came
    /// by one address without a ledger, or the ledger as it is known here is behind the status: that
    /// must not cost anybody an address, so it is read anew first.
    fn seems_taken(&self, service: &Service) -> Option<What> {
        if self.refreshed.get(&service.key) == Some(&service.revision) {
            return None;
        }
        let segment: Arc<str> = Arc::from(VIPS);
        let places = service
            .ingress
            .iter()
            .map(|address| Place { segment: segment.clone(), address: *address });
        let taken = places.filter(|place| {
            let claim = self.ledger.holder(place);
            claim.is_some_and(|claim| claims::entry(claim, &service.key).is_none())
        });
        let places: Vec<Place> = taken.collect();
        let revision = service.revision;
        (!places.is_empty()).then_some(What::Refresh { revision, places })
    }

    /// What the rules say. Without a status, what is claimed for the Service already counts as what it
    /// has, unless somebody else has it on the wire.
    fn decide(&mut self, service: &Service, asked: &Asked) -> Outcome {
        if !service.ingress.is_empty() {
            return converge(&mut self.allocator, asked, &service.ingress);
        }
        let mut claimed = self.allocator.of(&asked.name);
        claimed.retain(|address| self.allocator.holder(*address).is_none());
        claimed.dedup_by_key(|address| address.is_ipv6());
        let mut outcome = converge(&mut self.allocator, asked, &claimed);
        // That a claim could not be used after all is nobody's loss.
        outcome.said.retain(|said| said.reason != "ClearAssignment");
        outcome
    }

    /// Claims the addresses, then writes them down.
    fn serve(&mut self, service: &Service, asked: &Asked, given: Option<Given>) -> Option<What> {
        let mut settled = true;
        if let Some(given) = &given {
            for address in &given.addresses {
                for place in self.places(*address) {
                    settled &= self.claim(service, asked, &place, &given.pool);
                }
            }
        }
        if settled { self.settle(service, given) } else { None }
    }

    /// Where an address is claimed: among virtual addresses, and on its wires.
    fn places(&self, address: IpAddr) -> Vec<Place> {
        let wires = self.wires(address).into_iter();
        let segments = std::iter::once(Arc::from(VIPS)).chain(wires);
        segments.map(|segment| Place { segment, address }).collect()
    }

    /// Sees to it that the Service stands in the claim of an address; says whether the server agrees.
    fn claim(&mut self, service: &Service, asked: &Asked, place: &Place, pool: &str) -> bool {
        let held = self.ledger.holder(place).cloned();
        if held.as_ref().is_some_and(|claim| claims::of_services(claim).is_none()) {
            // A stranger has it on this wire. The Service had it before, or would not get it.
            return true;
        }
        let entry = held.as_ref().and_then(|claim| claims::entry(claim, &service.key));
        if entry.is_some_and(|entry| entry.revision > service.revision) {
            return false; // somebody has seen more of the Service; the watch will tell
        }
        // For an address that the status names already, any earlier claim will do.
        let has = service.ingress.contains(&place.address);
        let known = entry.filter(|entry| has && *entry.uid == *service.uid);
        let revision = known.map_or(service.revision, |entry| entry.revision);
        let user = SharedBy {
            namespace: service.key.namespace.to_string(),
            name: service.key.name.to_string(),
            uid: service.uid.to_string(),
            revision,
            ports: asked.ports.iter().map(|port| claims::port_text(*port)).collect(),
        };
        let pool = format!("{NAMESPACE}/{pool}");
        let mut wanted = claims::with(held.as_ref(), user, &asked.sharing, &pool);
        if let Some(held) = held.as_ref().filter(|_| self.counters.config_stale) {
            wanted.source.clone_from(&held.source);
        }
        self.enter(place, held.as_ref(), wanted);
        let settled = self.ledger.is_settled(place);
        if !settled {
            self.awaiting.entry(place.clone()).or_default().insert(service.key.clone());
        }
        settled
    }

    fn enter(&mut self, place: &Place, held: Option<&Claim>, wanted: Claim) {
        // What is on its way out has to be claimed anew, also where nothing else would change.
        if (held != Some(&wanted) || self.ledger.is_leaving(place))
            && let Some(effect) = self.ledger.put(place, wanted)
        {
            self.follow(&[effect]);
        }
    }

    /// A Service that is somebody else's now is not written any more. What it got here stays its own as
    /// long as its status names it: clients go there, and it may come back as it is.
    fn keep(&mut self, service: &Service) -> Option<What> {
        let mut kept = Vec::new();
        for address in &service.ingress {
            let vip = Place { segment: Arc::from(VIPS), address: *address };
            let Some(claim) = self.ledger.holder(&vip).cloned() else { continue };
            let entry = claims::entry(&claim, &service.key);
            let Some(user) = entry.filter(|entry| *entry.uid == *service.uid) else { continue };
            kept.push(*address);
            for place in self.places(*address) {
                let held = self.ledger.holder(&place).cloned();
                if held.as_ref().is_some_and(|held| claims::of_services(held).is_none()) {
                    continue; // a stranger's
                }
                let mut user = user.clone();
                let known = held.as_ref().and_then(|held| claims::entry(held, &service.key));
                if let Some(known) = known.filter(|known| known.uid == user.uid) {
                    user.revision = known.revision;
                }
                let mut wanted = claims::with(held.as_ref(), user, &claims::sharing(&claim), "");
                wanted.source.clone_from(&claim.source);
                self.enter(&place, held.as_ref(), wanted);
            }
        }
        self.free_rest(service, &kept)
    }

    /// Everything is claimed: the status, or when that is as it should be, what is too much.
    fn settle(&mut self, service: &Service, given: Option<Given>) -> Option<What> {
        let (addresses, pool) = match given {
            Some(given) => (given.addresses, Some(given.pool.to_string())),
            None => (Vec::new(), None),
        };
        let says_more = service.has_ingress && addresses.is_empty();
        let stale = self.counters.config_stale && pool.is_some() && service.from_pool.is_some();
        let other_pool = service.from_pool != pool && !stale;
        if service.ingress != addresses || other_pool || says_more {
            let fresh = service.ingress != addresses;
            return Some(What::Status { revision: service.revision, addresses, pool, fresh });
        }
        self.free_rest(service, &addresses)
    }

    /// Frees what the Service does not have. An address that was claimed for the Service as it is now
    /// may still get into its status, by another controller: then the Service is changed first.
    fn free_rest(&mut self, service: &Service, addresses: &[IpAddr]) -> Option<What> {
        let wanted: Vec<Place> =
            addresses.iter().flat_map(|address| self.places(*address)).collect();
        let places: Vec<Place> = self.ledger.of(&service.key).cloned().collect();
        let mut fence = None;
        for place in places.into_iter().filter(|place| !wanted.contains(place)) {
            let entry = self.ledger.holder(&place).and_then(|c| claims::entry(c, &service.key));
            let Some(revision) = entry.map(|entry| entry.revision) else { continue };
            let has = addresses.contains(&place.address);
            if has && self.counters.config_stale {
                continue; // which wires it is on, the pools say
            }
            if has || revision < service.revision {
                self.free(&place, &service.key);
            } else if revision == service.revision && self.ledger.is_settled(&place) {
                fence = Some(What::Fence { revision });
            }
        }
        fence
    }

    /// There is no Service: its claims go, once that is certain.
    fn without_service(&mut self, key: &Key) -> Option<What> {
        self.told.remove(key);
        self.failures.remove(key);
        self.refreshed.remove(key);
        let mut unsure = Vec::new();
        let places: Vec<Place> = self.ledger.of(key).cloned().collect();
        for place in places {
            let entry = self.ledger.holder(&place).and_then(|claim| claims::entry(claim, key));
            match entry.map(|entry| entry.uid.clone()) {
                Some(uid) if !self.dead.contains(&uid) => unsure.push((place, uid)),
                Some(_) => self.free(&place, key),
                None => {}
            }
        }
        // Somebody else may know a Service that is not told here yet.
        (!unsure.is_empty()).then_some(What::Confirm(unsure))
    }

    /// Frees what belongs to identities that are not there any more.
    pub(super) fn free_abandoned(&mut self, step: &Step, now: Option<&Service>) {
        let What::Confirm(claims) = &step.what else { return };
        for (place, uid) in claims {
            let entry = self.ledger.holder(place).and_then(|c| claims::entry(c, &step.key));
            let is_it = entry.is_some_and(|entry| entry.uid == *uid);
            if is_it && now.is_none_or(|service| *service.uid != **uid) {
                self.free(place, &step.key);
            }
        }
    }

    fn free(&mut self, place: &Place, key: &Key) {
        // All users are on their way out. Taking out one of them would bring the others back.
        if self.ledger.is_leaving(place) {
            return;
        }
        let Some(claim) = self.ledger.holder(place).cloned() else { return };
        let effects = match claims::without(&claim, key) {
            Some(rest) => self.ledger.put(place, rest).into_iter().collect(),
            None => self.ledger.withdraw(place),
        };
        self.follow(&effects);
    }

    /// Tells people what keeps a Service from its address, once.
    fn tell_people(&mut self, service: &Service, said: &[Said]) {
        let mut notices: Vec<(bool, &'static str, String)> = service
            .deprecated
            .iter()
            .map(|key| {
                let note = format!("Service uses deprecated annotation {key}");
                (true, "deprecatedAnnotation", note)
            })
            .collect();
        // That it got one is told when it is written.
        let said = said.iter().filter(|said| said.reason != "IPAllocated");
        notices.extend(said.map(|said| (said.warning, said.reason, said.note.clone())));
        let strangers = service.ingress.iter().filter_map(|address| {
            let holder = self.allocator.holder(*address)?;
            let note = format!(
                "{address} of this Service is held by {holder} on the same network: change one of the two"
            );
            Some((true, "AddressHeldTwice", note))
        });
        notices.extend(strangers);
        let digest = format!("{} {notices:?}", service.uid);
        let last = if notices.is_empty() {
            self.told.remove(&service.key)
        } else {
            self.told.insert(service.key.clone(), digest.clone())
        };
        if last.as_ref() == Some(&digest) {
            return;
        }
        for (warning, reason, note) in notices {
            let (key, uid) = (service.key.clone(), service.uid.clone());
            self.notices.push(Notice { key, uid, warning, reason, note });
        }
    }

    /// Tells people which addresses a Service got.
    pub(super) fn tell_of_success(&mut self, step: &Step) {
        let What::Status { addresses, fresh: true, .. } = &step.what else { return };
        if addresses.is_empty() {
            return;
        }
        let texts: Vec<String> = addresses.iter().map(|a| format!("\"{a}\"")).collect();
        self.notices.push(Notice {
            key: step.key.clone(),
            uid: step.uid.clone(),
            warning: false,
            reason: "IPAllocated",
            note: format!("Assigned IP [{}]", texts.join(" ")),
        });
    }
}
