//! What a change of the ledger means for the rules.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use landbridge_api::ledger::{Claim, SharedBy};

use super::Engine;
use crate::ipam::ledger::{Effect, Place};
use crate::mirror::Key;
use crate::vips::claims::{self, VIPS};

impl Engine {
    /// Passes on to the rules and to Services what became different in the ledger.
    pub(super) fn follow(&mut self, effects: &[Effect]) {
        for Effect { place, before, after } in effects {
            self.dirty.extend(self.awaiting.remove(place).into_iter().flatten());
            if &*place.segment == VIPS {
                self.follow_users(place.address, before.as_ref(), after.as_ref());
                self.touch_pool_of(place.address);
            } else if self.is_wire_of_pool(place) {
                self.follow_stranger(place);
                let is_strange = |claim: &Option<Claim>| {
                    claim.as_ref().is_some_and(|claim| claims::of_services(claim).is_none())
                };
                if is_strange(before) != is_strange(after) {
                    self.look_at_users(place.address);
                }
            }
            self.dirty.extend(concerned(before.as_ref(), after.as_ref()));
        }
    }

    fn follow_users(&mut self, address: IpAddr, before: Option<&Claim>, after: Option<&Claim>) {
        let mut freed = false;
        for (user, _) in claims::users(before) {
            let key = key_of(user);
            if after.and_then(|claim| claims::entry(claim, &key)).is_none() {
                freed |= self.allocator.vacate(address, &claims::name_of(&key));
            }
        }
        if let Some(claim) = after {
            let sharing = claims::sharing(claim);
            let old = self.allocator.usage(address).map(|found| found.sharing.clone());
            freed |= old.is_some_and(|old| old != sharing);
            for (user, ports) in claims::users(after) {
                let name = claims::name_of(&key_of(user));
                let known = self.allocator.usage(address).and_then(|found| found.users.get(&name));
                if let Some(known) = known {
                    freed |= known.iter().any(|port| !ports.contains(port));
                }
                self.allocator.occupy(address, &name, &sharing, &ports);
            }
        }
        if freed {
            self.wake();
        }
    }

    /// Looks at everybody who could not be served: something was freed.
    fn wake(&mut self) {
        self.dirty.extend(self.waiting.iter().cloned());
    }

    /// Looks at whoever uses an address: it claims the address on a wire that became free, and tells
    /// people when somebody else has it there.
    fn look_at_users(&mut self, address: IpAddr) {
        let place = Place { segment: Arc::from(VIPS), address };
        self.dirty.extend(concerned(self.ledger.holder(&place), None));
    }

    /// Who else has the address now, on any wire of its pool.
    fn follow_stranger(&mut self, place: &Place) {
        let holder = self.stranger(place.address);
        let before = self.allocator.holder(place.address).is_some();
        let freed = before && holder.is_none();
        self.allocator.hold(place.address, holder);
        if freed {
            self.wake();
        }
    }

    /// Somebody who is no Service and has the address on a wire of its pool.
    fn stranger(&self, address: IpAddr) -> Option<String> {
        self.wires(address).into_iter().find_map(|segment| {
            let claim = self.ledger.holder(&Place { segment, address })?;
            claims::of_services(claim).is_none().then(|| claim.to_string())
        })
    }

    /// Finds all strangers anew: pools or wires are others now.
    pub(super) fn find_strangers(&mut self) {
        let sites = self.sites.iter().flat_map(|sites| sites.values().flatten());
        let segments: BTreeSet<Arc<str>> = sites.map(|site| site.segment.clone()).collect();
        let mut addresses: BTreeSet<IpAddr> = self.allocator.held().collect();
        for segment in &segments {
            addresses.extend(self.ledger.held_on(segment));
        }
        for address in addresses {
            let holder = self.stranger(address);
            self.allocator.hold(address, holder);
        }
    }

    /// The wires that hold an address of a pool.
    pub(super) fn wires(&self, address: IpAddr) -> Vec<Arc<str>> {
        let Some(pool) = self.allocator.config().around(address) else { return Vec::new() };
        let sites = self.sites.as_ref().and_then(|sites| sites.get(&*pool.name));
        let sites = sites.into_iter().flatten().filter(|site| site.prefix.contains(address));
        let mut wires: Vec<Arc<str>> = sites.map(|site| site.segment.clone()).collect();
        wires.sort_unstable();
        wires.dedup();
        wires
    }

    fn is_wire_of_pool(&self, place: &Place) -> bool {
        self.wires(place.address).contains(&place.segment)
    }

    fn touch_pool_of(&mut self, address: IpAddr) {
        if let Some(pool) = self.allocator.config().around(address) {
            self.reports.touch(&pool.name);
        }
    }
}

fn key_of(user: &SharedBy) -> Key {
    Key::new(&user.namespace, &user.name)
}

/// The Services of both claims. All of them are looked at again: an edit that was decided on a claim
/// comes to nothing when the claim turns out another, whoever made the difference.
fn concerned(before: Option<&Claim>, after: Option<&Claim>) -> BTreeSet<Key> {
    let all = claims::users(before).chain(claims::users(after));
    all.map(|(user, _)| key_of(user)).collect()
}
