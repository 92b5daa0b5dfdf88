//! The status of a policy, and who writes it when.
//!
//! Every agent can work out every policy's status, and any may write it. The one that has just
//! changed something does so at once; the others watch, and step in one after the other if the
//! status stays behind. So it is right soon, also when agents die, and they do not race.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::super::conditions::{Standing, same_words};
use super::super::seen::{NodeSeen, Policy};
use super::{Ended, Engine, Report};

/// Each agent in line waits so much longer than the one before it.
const APART: i64 = 500;
/// Nobody in line waits longer.
const LONGEST: i64 = 5_000;
/// Agents of nodes the policy is not for come after all others.
const OUTSIDE: i64 = 6_000;

/// A status that is not as it should be.
#[derive(Debug, Default)]
pub struct Behind {
    since: Option<Timestamp>,
    /// Whether this agent's own doing is why.
    own: bool,
}

impl Engine {
    /// This agent has changed something about a policy.
    pub(super) fn stir(&mut self, policy: &str) {
        self.behind.entry(policy.to_owned()).or_default().own = true;
    }

    /// What the status of a policy should be, to be written. `claim`: with this node counted in.
    pub(super) fn status(&self, policy: &Policy, now: Timestamp, claim: bool) -> Report {
        let overview = self.overview(policy, self.enactments.iter());
        let standing = overview.standing();
        let before = &policy.status;
        let mut status = before.clone();
        let conditions = standing.conditions(&before.conditions, now);
        if !same_words(&conditions, &before.conditions) {
            status.conditions = conditions;
        }
        let counts = &mut status.unavailable_node_count_map;
        let owed = self.courses.get(policy.id.name()).and_then(|course| course.owed);
        if let Some(count) = owed.and_then(|of| counts.get_mut(&of.to_string())) {
            *count = (*count - 1).max(0);
        }
        if matches!(standing, Standing::Available(_)) {
            counts.clear();
        }
        let key = policy.generation.to_string();
        if claim {
            let taken = overview.taken(&self.node, now);
            counts.insert(key.clone(), i64::try_from(taken).unwrap_or(i64::MAX - 1) + 1);
        }
        if *counts != before.unavailable_node_count_map || claim {
            status.unavailable_node_count = Some(counts.get(&key).copied().unwrap_or(0));
            status.last_unavailable_node_count_update = Some(Time(now));
        }
        Report {
            policy: policy.id.name().to_owned(),
            uid: policy.id.uid.clone(),
            revision: policy.id.revision,
            before: Box::new(before.clone()),
            status: Box::new(status),
            epoch: self.policies.epoch(),
            releases: owed.is_some(),
        }
    }

    /// The statuses to write now.
    pub(super) fn reports(&mut self, now: Timestamp) -> Vec<Report> {
        let mut due = Vec::new();
        let mut names: Vec<String> = self.policies.iter().map(|p| p.id.name().to_owned()).collect();
        names.sort_unstable();
        for name in names {
            let Some(policy) = self.policy(&name) else { continue };
            if policy.going || self.reporting.contains(&name) {
                continue;
            }
            let report = self.status(policy, now, false);
            if report.status == report.before {
                self.behind.remove(&name);
                if report.releases
                    && let Some(course) = self.courses.get_mut(&name)
                {
                    course.owed = None; // somebody has cleared the count
                }
                continue;
            }
            let turn = self.turn(policy);
            let behind = self.behind.entry(name.clone()).or_default();
            let since = *behind.since.get_or_insert(now);
            let wait = if behind.own || report.releases { 0 } else { turn };
            match since.checked_add(SignedDuration::from_millis(wait)) {
                Ok(at) if at > now => self.wake_at(at),
                _ => {
                    self.reporting.insert(name);
                    due.push(report);
                }
            }
        }
        due
    }

    /// How long this agent leaves it to others, in milliseconds.
    fn turn(&self, policy: &Policy) -> i64 {
        let mut line: Vec<&NodeSeen> = self.tended().filter(|node| node.ready).collect();
        let matching = |node: &&NodeSeen| policy.matches(&node.labels);
        let concerned = line.iter().any(matching);
        if concerned {
            line.retain(|node| policy.matches(&node.labels));
        }
        line.sort_by_key(|node| node.id.name());
        match line.iter().position(|node| node.id.name() == self.node) {
            Some(place) => {
                i64::try_from(place).unwrap_or(LONGEST).saturating_mul(APART).min(LONGEST)
            }
            None => OUTSIDE,
        }
    }

    /// Takes in how writing a status ended.
    pub fn reported(&mut self, report: &Report, ended: Ended, now: Timestamp) {
        self.reporting.remove(&report.policy);
        match ended {
            Ended::Policy { won, now: seen } => {
                match seen {
                    Some(policy) => drop(self.policies.learn(report.epoch, *policy)),
                    None => self.pause(now), // the watch will tell that it is gone
                }
                if won
                    && report.releases
                    && let Some(course) = self.courses.get_mut(&report.policy)
                {
                    course.owed = None;
                }
            }
            other => {
                if let Ended::Failed(why) = other {
                    tracing::warn!(policy = report.policy, why, "status will be written again");
                }
                self.pause(now);
            }
        }
    }
}
