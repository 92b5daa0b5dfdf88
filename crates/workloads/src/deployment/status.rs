//! What a Deployment says of itself.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{DeploymentCondition, DeploymentStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;

use super::{View, replicas};
use crate::action::{Decision, Kind};
use crate::pods::{status_if_new, whole_seconds};

const NEVER: i32 = i32::MAX;

struct Counts {
    total: i32,
    updated: i32,
    ready: i32,
    available: i32,
}

/// Writes the status if it is another.
pub(super) fn report(view: &View<'_>, now: Timestamp, decision: &mut Decision) {
    let status = |set: &k8s_openapi::api::apps::v1::ReplicaSet| set.status.clone();
    let statuses: Vec<_> = view.all().filter_map(|set| status(set)).collect();
    let sum = |number: fn(&k8s_openapi::api::apps::v1::ReplicaSetStatus) -> i32| {
        statuses.iter().map(number).sum::<i32>()
    };
    let counts = Counts {
        total: sum(|status| status.replicas),
        updated: view.new.and_then(|new| status(new)).map_or(0, |status| status.replicas),
        ready: sum(|status| status.ready_replicas.unwrap_or(0)),
        available: sum(|status| status.available_replicas.unwrap_or(0)),
    };
    let spec_total: i32 = view.all().map(|set| replicas(set)).sum();
    let old = view.deployment.status.clone().unwrap_or_default();
    let mut conditions = old.conditions.clone().unwrap_or_default();
    let (_, may_lack) = view.limits();
    let enough = counts.available >= view.wanted() - may_lack;
    let (status, reason, message) = if enough {
        ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    } else {
        ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    };
    set(&mut conditions, "Available", status, reason, message.to_owned(), now, false);
    progress(view, &counts, &old, &mut conditions, now, decision);
    let status = json!({
        "observedGeneration": view.deployment.metadata.generation.unwrap_or(0),
        "replicas": counts.total,
        "updatedReplicas": counts.updated,
        "readyReplicas": counts.ready,
        "availableReplicas": counts.available,
        "unavailableReplicas": (spec_total - counts.available).max(0),
        "conditions": conditions,
    });
    let before = view.deployment.status.as_ref().map(|status| json!(status));
    let meta = &view.deployment.metadata;
    decision.actions.extend(status_if_new(Kind::Deployment, meta, before, &status));
}

fn progress(
    view: &View<'_>,
    counts: &Counts,
    old: &DeploymentStatus,
    conditions: &mut Vec<DeploymentCondition>,
    now: Timestamp,
    decision: &mut Decision,
) {
    let deadline = view.spec.progress_deadline_seconds.unwrap_or(600);
    if deadline == NEVER {
        conditions.retain(|condition| condition.type_ != "Progressing");
        return;
    }
    let current = conditions.iter().find(|condition| condition.type_ == "Progressing").cloned();
    let reason = current.as_ref().and_then(|c| c.reason.as_deref()).unwrap_or_default();
    let name = &view.deployment.metadata.name;
    let about = match view.new {
        Some(new) => format!("ReplicaSet {:?}", new.metadata.name.as_deref().unwrap_or_default()),
        None => format!("Deployment {:?}", name.as_deref().unwrap_or_default()),
    };
    let mut now_is = |status, reason, message: String, fresh| {
        set(conditions, "Progressing", status, reason, message, now, fresh);
    };
    if view.is_paused() {
        if reason != "DeploymentPaused" {
            now_is("Unknown", "DeploymentPaused", "Deployment is paused".to_owned(), true);
        }
        return;
    }
    if reason == "DeploymentPaused" {
        now_is("Unknown", "DeploymentResumed", "Deployment is resumed".to_owned(), true);
        return;
    }
    let number = |value: Option<i32>| value.unwrap_or(0);
    let complete = counts.updated == view.wanted()
        && counts.total == view.wanted()
        && counts.available == view.wanted();
    // A set that is done is done for ever, until there is a new one.
    if complete && view.new.is_some() {
        let message = format!("{about} has successfully progressed.");
        now_is("True", "NewReplicaSetAvailable", message, false);
        return;
    }
    let observed = old.observed_generation == view.deployment.metadata.generation;
    let begun = current.is_none() || !observed;
    let moved = counts.updated > number(old.updated_replicas)
        || counts.total - counts.updated < number(old.replicas) - number(old.updated_replicas)
        || counts.ready > number(old.ready_replicas)
        || counts.available > number(old.available_replicas);
    if reason == "NewReplicaSetAvailable" && observed {
        let same = current.as_ref().and_then(|c| c.message.as_deref())
            == Some(format!("{about} has successfully progressed.").as_str());
        if same {
            return; // pods come and go; the rollout was a success
        }
    }
    if begun || moved || reason == "NewReplicaSetAvailable" {
        now_is("True", "ReplicaSetUpdated", format!("{about} is progressing."), true);
    }
    let current = conditions.iter().find(|condition| condition.type_ == "Progressing");
    let Some(current) = current else { return };
    if current.reason.as_deref() == Some("ProgressDeadlineExceeded") {
        return;
    }
    let since = current.last_update_time.as_ref().map_or(now, |time| time.0);
    let wait = SignedDuration::from_secs(i64::from(deadline.max(0)));
    let until = since.checked_add(wait).unwrap_or(Timestamp::MAX);
    if until <= now {
        let message = format!("{about} has timed out progressing.");
        set(conditions, "Progressing", "False", "ProgressDeadlineExceeded", message, now, true);
    } else {
        decision.wake_at(until);
    }
}

/// Sets a condition. Times move with the status (and, when `fresh`, the time of the last update
/// always); a condition that says the same as before is left alone.
fn set(
    conditions: &mut Vec<DeploymentCondition>,
    name: &str,
    status: &str,
    reason: &str,
    message: String,
    now: Timestamp,
    fresh: bool,
) {
    let now = Time(whole_seconds(now));
    let old = conditions.iter().find(|condition| condition.type_ == name).cloned();
    let same = |old: &DeploymentCondition| {
        old.status == status
            && old.reason.as_deref() == Some(reason)
            && old.message.as_deref() == Some(&*message)
    };
    if !fresh && old.as_ref().is_some_and(same) {
        return;
    }
    let kept = old.as_ref().filter(|old| old.status == status);
    let transition = kept.and_then(|old| old.last_transition_time.clone());
    let condition = DeploymentCondition {
        type_: name.to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message),
        last_update_time: Some(now.clone()),
        last_transition_time: Some(transition.unwrap_or(now)),
    };
    conditions.retain(|condition| condition.type_ != name);
    conditions.push(condition);
    conditions.sort_by(|a, b| a.type_.cmp(&b.type_));
}
