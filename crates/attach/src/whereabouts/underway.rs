//! A batch on its way to the pool, and what was claimed and reserved for it so far.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use landbridge_cni::whereabouts::{Ledger, Reservation, reservation_name};

use super::batch::{Answer, Ask, Holder};
use crate::claims::edits::Wants;
use crate::claims::{Claims, Record, Share};
use crate::objects::{ObjectError, Objects};

/// How many reservations are made beside one patch; who else is in the batch makes their own.
const BESIDE_MAX: usize = 32;

/// A batch on its way.
pub(super) struct Batch<'a> {
    pub asks: &'a [(u64, Instant, Ask)],
    pub end: Instant,
    /// What was claimed for it so far.
    pub made: Wants,
    /// What was reserved for it so far, by name: the container, and the state.
    pub reserved: BTreeMap<String, (String, String)>,
    /// Whether the blocks were read for it, so that it counts who holds what there.
    pub is_sure: bool,
}

impl Batch<'_> {
    pub fn asks(&self) -> impl Iterator<Item = &Ask> {
        self.asks.iter().map(|(.., ask)| ask)
    }

    /// What has to stand in the ledger for these answers.
    pub fn wants(&self, answers: &[Answer]) -> Wants {
        let mut wants = Wants::new();
        for (ask, answer) in self.asks().zip(answers) {
            if let (Ask::Take { share: Some(share), .. }, Answer::Given(net)) = (ask, answer) {
                wants.extend(share.places(net.addr()).map(|place| (place, share.claim.clone())));
            }
        }
        wants
    }

    /// The reservation that belongs to an answer.
    fn reservation_of(ask: &Ask, answer: &Answer) -> Option<(String, Reservation)> {
        let (Ask::Take { holder, reserve_for: Some(network), .. }, Answer::Given(net)) =
            (ask, answer)
        else {
            return None;
        };
        Some((reservation_name(network, net.addr()), holder.reservation()))
    }

    /// What has to be reserved for these answers and is not yet.
    pub fn unreserved(&self, answers: &[Answer]) -> Vec<(String, Reservation)> {
        let all = self.asks().zip(answers).filter_map(|(ask, a)| Self::reservation_of(ask, a));
        all.filter(|(name, _)| !self.reserved.contains_key(name)).take(BESIDE_MAX).collect()
    }

    /// The state of the reservation that was made for this answer.
    pub fn reserved_for(&self, ask: &Ask, answer: &Answer) -> Option<String> {
        let (name, wanted) = Self::reservation_of(ask, answer)?;
        let (container, version) = self.reserved.get(&name)?;
        (*container == wanted.containerid).then(|| version.clone())
    }

    /// The shares of those who would lose what is recorded for them, because it was last seen held by
    /// somebody else.
    pub fn moved(&self, ledger: &Ledger, claims: &Claims) -> Vec<&Share> {
        let moved = self.asks().filter_map(|ask| {
            let Ask::Take { holder, share: Some(share), .. } = ask else { return None };
            let own = ledger.held_by(&holder.podref, &holder.ifname);
            own.iter().any(|ip| claims.other(share, *ip).is_some()).then_some(&**share)
        });
        moved.collect()
    }

    /// The shares of those who would be refused.
    pub fn refused<'b>(&'b self, answers: &'b [Answer]) -> impl Iterator<Item = &'b Share> {
        let each = self.asks().zip(answers);
        each.filter_map(|(ask, answer)| match (ask, answer) {
            (Ask::Take { share, .. }, Answer::Failed(_)) => share.as_deref(),
            _ => None,
        })
    }

    /// Gives back what was claimed and reserved on the way and is not needed for these answers, and frees the
    /// claims of what the pool has no record of any more. What cannot be done now, reconcile does.
    pub fn clean_up(&self, objects: &dyn Objects, claims: &Claims, answers: &[Answer]) {
        if let Err(error) = self.free_claims(claims, answers) {
            tracing::warn!(%error, "a claim in the ledger is freed later, by reconcile");
        }
        let used: BTreeSet<String> = (self.asks().zip(answers))
            .filter_map(|(ask, answer)| Some(Self::reservation_of(ask, answer)?.0))
            .collect();
        for (name, (_, version)) in self.reserved.iter().filter(|(name, _)| !used.contains(*name)) {
            if let Err(error) = objects.delete_reservation(name, version) {
                tracing::warn!(%error, name, "a reservation is deleted later, by reconcile");
            }
        }
    }

    fn free_claims(&self, claims: &Claims, answers: &[Answer]) -> Result<(), ObjectError> {
        let wants = self.wants(answers);
        let mut surplus = self.made.clone();
        surplus.retain(|place, claim| wants.get(place) != Some(claim));
        let mut outcome = claims.take_back(&surplus, self.end);
        for (ask, answer) in self.asks().zip(answers) {
            let Answer::Freed(Some(address)) = answer else { continue };
            let record = match ask {
                Ask::Release(holder) => record_of(holder),
                Ask::Forget(_, r) => Record { id: &r.id, podref: &r.podref, ifname: &r.ifname },
                Ask::Take { .. } => continue,
            };
            outcome = outcome.and(claims.free(*address, &record, self.end));
        }
        // What another range turned out to have reserved was claimed in vain.
        for ask in self.asks() {
            let Ask::Take { holder, reserved, share: Some(_), .. } = ask else { continue };
            for address in reserved.keys() {
                outcome = outcome.and(claims.free(*address, &record_of(holder), self.end));
            }
        }
        outcome
    }
}

fn record_of(holder: &Holder) -> Record<'_> {
    Record { id: &holder.container_id, podref: &holder.podref, ifname: &holder.ifname }
}
