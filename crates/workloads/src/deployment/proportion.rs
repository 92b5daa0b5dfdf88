//! Another number of replicas, spread over all ReplicaSets as they are.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::ReplicaSet;

use super::{MAXIMUM, View, annotation, replicas};
use crate::action::Decision;

/// Brings the sum of all ReplicaSets to what is wished, without changing from template to template.
pub(super) fn scale(view: &View<'_>, decision: &mut Decision) {
    if decision.actions.iter().any(|action| action.kind == crate::action::Kind::ReplicaSet) {
        return; // one write to a ReplicaSet at a time
    }
    let active: Vec<&Arc<ReplicaSet>> = view.all().filter(|set| replicas(set) > 0).collect();
    if active.len() <= 1 {
        let latest = active.first().copied().or(view.new).or(view.old.last().copied());
        if let Some(set) = latest {
            decision.actions.extend(view.resize(set, view.wanted()));
        }
        return;
    }
    if view.new.is_some_and(|new| saturated(view, new)) {
        for set in view.old.iter().filter(|set| replicas(set) > 0) {
            decision.actions.extend(view.resize(set, 0));
        }
        if let Some(new) = view.new {
            decision.actions.extend(view.resize(new, view.wanted()));
        }
        return;
    }
    if view.strategy() == "Recreate" {
        // The strategy sees to them: here they are only noted as seen.
        decision.actions.extend(active.iter().filter_map(|set| view.resize(set, replicas(set))));
        return;
    }
    for (set, size) in shares(view, active) {
        decision.actions.extend(view.resize(set, size));
    }
}

fn saturated(view: &View<'_>, new: &ReplicaSet) -> bool {
    let available = new.status.as_ref().and_then(|s| s.available_replicas).unwrap_or(0);
    replicas(new) == view.wanted() && available == view.wanted()
}

/// Every ReplicaSet with the size it gets.
fn shares<'a>(
    view: &View<'_>,
    mut sets: Vec<&'a Arc<ReplicaSet>>,
) -> Vec<(&'a Arc<ReplicaSet>, i32)> {
    let allowed = if view.wanted() > 0 { view.maximum() } else { 0 };
    let to_add = allowed - view.total();
    // The largest first; among equals the newest grows and the oldest shrinks first.
    if to_add > 0 {
        sets.reverse();
    }
    sets.sort_by_key(|set| std::cmp::Reverse(replicas(set)));
    let mut left = to_add;
    let mut sizes: Vec<i32> = Vec::new();
    for set in &sets {
        let share = if to_add == 0 { 0 } else { fraction(view, set, left) };
        left -= share;
        sizes.push((replicas(set) + share).max(0));
    }
    if let Some(first) = sizes.first_mut() {
        *first = (*first + left).max(0);
    }
    sets.into_iter().zip(sizes).collect()
}

/// How many pods a ReplicaSet gets or loses, of those that are left to give.
fn fraction(view: &View<'_>, set: &ReplicaSet, left: i32) -> i32 {
    let size = i64::from(replicas(set));
    let noted = annotation(set, MAXIMUM).and_then(|text| text.parse::<i64>().ok());
    let before = noted.filter(|maximum| *maximum > 0);
    let before = before.unwrap_or(
        view.deployment
            .status
            .as_ref()
            .map_or(1, |status| i64::from(status.replicas.unwrap_or(1).max(1))),
    );
    let after = i64::from(view.maximum());
    // Rounded to the nearest.
    let target =
        if view.wanted() == 0 { 0 } else { (2 * size * after + before).div_euclid(2 * before) };
    let share = i32::try_from(target - size).unwrap_or(0);
    if left > 0 { share.clamp(0, left) } else { share.clamp(left, 0) }
}
