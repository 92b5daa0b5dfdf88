//! From the old template to the new one.

use super::{View, available, create, replicas, revision};
use crate::action::Decision;
use crate::pods::{self, Owner};
use crate::world::uid;

/// Step by step: never more pods than allowed, never fewer that are available.
pub(super) fn roll(view: &View<'_>, owner: &Owner<'_>, decision: &mut Decision) {
    let Some(new) = view.new else {
        create(view, owner, room_above(view, 0), decision);
        return;
    };
    if !revision::keep(view, decision) {
        return; // one write to a ReplicaSet at a time
    }
    let before = replicas(new);
    let wanted = view.wanted();
    let size = if before > wanted { wanted } else { before + room_above(view, before) };
    if let Some(action) = view.resize(new, size) {
        decision.actions.push(action);
        return;
    }
    shrink_old(view, decision);
}

/// How much a new ReplicaSet of this size may grow.
fn room_above(view: &View<'_>, size: i32) -> i32 {
    let room = view.maximum() - view.occupied();
    room.min(view.wanted() - size).max(0)
}

/// Takes pods from old ReplicaSets: first those that do not work, then as many as may be missing.
fn shrink_old(view: &View<'_>, decision: &mut Decision) {
    let (_, may_lack) = view.limits();
    let least = view.wanted() - may_lack;
    let coming = view.new.map_or(0, |new| replicas(new) - available(new));
    // Even if all the new ones never come up, and all the old ones work, enough must be left.
    let mut budget = view.total() - least - coming;
    let mut sizes: Vec<i32> = view.old.iter().map(|set| replicas(set)).collect();
    let mut working: i32 = view.all().map(|set| available(set).min(replicas(set))).sum();
    for (set, size) in view.old.iter().zip(&mut sizes) {
        let broken = (*size - available(set)).clamp(0, budget.max(0));
        *size -= broken;
        budget -= broken;
    }
    for (set, size) in view.old.iter().zip(&mut sizes) {
        let spare = (working - least).min(budget).min(*size).max(0);
        // What was just taken as broken may have come to work: it does not count twice.
        let spare = spare.min(available(set));
        *size -= spare;
        budget -= spare;
        working -= spare;
    }
    for (set, size) in view.old.iter().zip(sizes) {
        if size != replicas(set) {
            decision.actions.extend(view.resize(set, size));
        }
    }
}

/// First all the old ones go, then the new ones come.
pub(super) fn recreate(view: &View<'_>, owner: &Owner<'_>, decision: &mut Decision) {
    let full = view.old.iter().filter(|set| replicas(set) > 0);
    let shrunk: Vec<_> = full.filter_map(|set| view.resize(set, 0)).collect();
    if !shrunk.is_empty() {
        decision.actions.extend(shrunk);
        return;
    }
    let mut old_pods = view.old.iter().flat_map(|set| view.world.pods_of(uid(&set.metadata)));
    if old_pods.any(|pod| !pods::is_over(pod)) {
        return;
    }
    match view.new {
        None => create(view, owner, view.wanted(), decision),
        Some(new) => {
            if revision::keep(view, decision) {
                decision.actions.extend(view.resize(new, view.wanted()));
            }
        }
    }
}
