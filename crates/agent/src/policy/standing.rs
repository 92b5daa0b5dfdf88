//! Where a policy stands: counted from its enactments and nodes alone, so that agents which see the
//! same say the same, and what an enactment said of an older generation counts for nothing.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::conditions::Standing;
use super::limit::limit;
use super::seen::{Enactment, NodeSeen, Policy};

/// A node that says "at work" and has not said it again for so long holds no place any more. An
/// agent at work says so each minute.
pub const STALE: SignedDuration = SignedDuration::from_mins(5);
/// The counter runs ahead of the enactments while a node takes its place. After so long without a
/// change, what is counted without an enactment at work was left behind by a crash.
pub const GRACE: SignedDuration = SignedDuration::from_secs(20);

/// A policy with everything that belongs to it.
pub struct Overview<'a> {
    pub policy: &'a Policy,
    /// The nodes that it means and that have an agent.
    pub nodes: Vec<&'a NodeSeen>,
    /// The enactments of those nodes.
    pub enactments: Vec<&'a Enactment>,
    /// All enactments of the policy: a node may still be at work after its labels were changed.
    pub everyone: Vec<&'a Enactment>,
}

impl<'a> Overview<'a> {
    /// Of all nodes that have an agent, and of all enactments, those that belong to the policy.
    pub fn new(
        policy: &'a Policy,
        nodes: impl Iterator<Item = &'a NodeSeen>,
        enactments: impl Iterator<Item = &'a Enactment>,
    ) -> Self {
        let nodes: Vec<&NodeSeen> = nodes.filter(|node| policy.matches(&node.labels)).collect();
        let names: BTreeSet<&str> = nodes.iter().map(|node| node.id.name()).collect();
        let everyone: Vec<&Enactment> =
            enactments.filter(|enactment| enactment.policy == policy.id.name()).collect();
        // A former policy of the same name has nothing to say about this one.
        let is_its = |e: &&Enactment| e.policy_uid.as_ref().is_none_or(|uid| *uid == policy.id.uid);
        let enactments = everyone
            .iter()
            .copied()
            .filter(|enactment| names.contains(enactment.node.as_str()))
            .filter(is_its)
            .collect();
        Self { policy, nodes, enactments, everyone }
    }

    /// How many nodes may be changed at once.
    pub fn limit(&self) -> usize {
        limit(self.policy.spec.max_unavailable.as_ref(), self.nodes.len())
    }

    fn current(&self) -> impl Iterator<Item = &'a Enactment> {
        let generation = self.policy.generation;
        self.enactments.iter().copied().filter(move |enactment| enactment.is_of(generation))
    }

    /// Nodes where this generation has failed for good.
    pub fn failed(&self) -> usize {
        self.current().filter(|e| e.is("Failing") && !e.is("Progressing")).count()
    }

    /// Other nodes that are at work, on whatever generation.
    pub fn at_work(&self, but: &str, now: Timestamp) -> usize {
        let others = self.everyone.iter().filter(|enactment| enactment.node != but);
        others.filter(|enactment| is_at_work(enactment, now)).count()
    }

    /// How many places are taken, as far as this node can tell.
    pub fn taken(&self, but: &str, now: Timestamp) -> usize {
        let status = &self.policy.status;
        let counted = status.unavailable_node_count_map.get(&self.policy.generation.to_string());
        let counted = counted.and_then(|count| usize::try_from(*count).ok()).unwrap_or(0);
        let at_work = self.at_work(but, now);
        let changed = status.last_unavailable_node_count_update.as_ref().map(|time| time.0);
        let settled = changed.is_none_or(|changed| now.duration_since(changed) > GRACE);
        if settled { at_work } else { at_work.max(counted) }
    }

    /// Where the policy stands.
    pub fn standing(&self) -> Standing {
        let count = |type_| self.current().filter(|enactment| enactment.is(type_)).count();
        let (available, failed) = (count("Available"), count("Failing"));
        let (aborted, pending) = (count("Aborted"), count("Pending"));
        let nodes = self.nodes.len();
        let ready = self.nodes.iter().filter(|node| node.ready).count();
        let finished = available + failed + aborted;
        let unready = match nodes - ready {
            0 => String::new(),
            some => format!(", {some} nodes ignored due to NotReady state"),
        };
        if nodes == 0 {
            Standing::NoNode("Policy does not match any node".to_owned())
        } else if failed > 0 || aborted > 0 {
            let aborted = match aborted {
                0 => String::new(),
                some => format!(", {some} nodes aborted configuration"),
            };
            Standing::Degraded(format!("{failed}/{nodes} nodes failed to configure{aborted}"))
        } else if finished < ready {
            Standing::Progressing(format!(
                "Policy is progressing {finished}/{ready} nodes finished{unready}"
            ))
        } else if pending > 0 {
            Standing::Progressing(format!(
                "Policy is progressing {finished}/{ready} nodes finished, {pending} pending{unready}"
            ))
        } else {
            Standing::Available(format!(
                "{available}/{nodes} nodes successfully configured{unready}"
            ))
        }
    }
}

/// Whether a node holds a place.
pub fn is_at_work(enactment: &Enactment, now: Timestamp) -> bool {
    enactment.is("Progressing")
        && enactment.heartbeat().is_some_and(|said| now.duration_since(said) <= STALE)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use landbridge_api::foreign::nmstate::objects::EnactmentStatus;

    use super::super::conditions::Progress;
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn enactment(node: &str, generation: i64, progress: &Progress) -> Enactment {
        Enactment {
            node: node.to_owned(),
            status: EnactmentStatus {
                policy_generation: Some(generation),
                conditions: progress.conditions(&[], at(0)),
                ..EnactmentStatus::default()
            },
            ..Enactment::default()
        }
    }

    /// a: available, f: failing, r: retrying, x: aborted, p: pending, w: at work, o: available for
    /// an older generation, u: unknown, -: no enactment; upper case: the node is not ready.
    fn standing(of: &str) -> Standing {
        let policy = Policy { generation: 2, ..Policy::default() };
        let mut nodes = Vec::new();
        let mut enactments = Vec::new();
        for (at, letter) in of.chars().enumerate() {
            let ready = letter.is_lowercase() || letter == '-';
            nodes.push(NodeSeen { ready, ..NodeSeen::default() });
            let (generation, progress) = match letter.to_ascii_lowercase() {
                'a' => (2, Progress::Available),
                'f' => (2, Progress::Failing("x".into())),
                'r' => (2, Progress::Retrying("x".into())),
                'x' => (2, Progress::Aborted("x".into())),
                'p' => (2, Progress::Pending),
                'w' => (2, Progress::Applying),
                'o' => (1, Progress::Available),
                'u' => (2, Progress::Unknown),
                _ => continue,
            };
            enactments.push(enactment(&format!("n{at}"), generation, &progress));
        }
        let nodes = nodes.iter().collect();
        let enactments = enactments.iter().collect();
        Overview { policy: &policy, nodes, enactments, everyone: vec![] }.standing()
    }

    #[test]
    fn every_message() {
        use Standing::{Available, Degraded, NoNode, Progressing};
        type Kind = fn(String) -> Standing;
        let cases: [(&str, Kind, &str); 15] = [
            ("", NoNode, "Policy does not match any node"),
            ("aaa", Available, "3/3 nodes successfully configured"),
            (
                "aaA",
                Available,
                "3/3 nodes successfully configured, 1 nodes ignored due to NotReady state",
            ),
            (
                "aaW",
                Available,
                "2/3 nodes successfully configured, 1 nodes ignored due to NotReady state",
            ),
            ("aoo", Progressing, "Policy is progressing 1/3 nodes finished"),
            ("ooo", Progressing, "Policy is progressing 0/3 nodes finished"),
            ("aw-", Progressing, "Policy is progressing 1/3 nodes finished"),
            (
                "auW",
                Progressing,
                "Policy is progressing 1/2 nodes finished, 1 nodes ignored due to NotReady state",
            ),
            ("awp", Progressing, "Policy is progressing 1/3 nodes finished"),
            (
                "aP",
                Progressing,
                "Policy is progressing 1/1 nodes finished, 1 pending, 1 nodes ignored due to NotReady state",
            ),
            ("afa", Degraded, "1/3 nodes failed to configure"),
            ("arw", Degraded, "1/3 nodes failed to configure"),
            ("fxx", Degraded, "1/3 nodes failed to configure, 2 nodes aborted configuration"),
            ("fpw", Degraded, "1/3 nodes failed to configure"),
            ("FA", Degraded, "1/2 nodes failed to configure"),
        ];
        for (of, kind, message) in cases {
            assert_eq!(standing(of), kind(message.to_owned()), "{of}");
        }
    }

    #[test]
    fn places_are_taken_by_nodes_at_work_and_for_a_while_by_the_count() {
        let mut policy = Policy { generation: 2, ..Policy::default() };
        policy.status.unavailable_node_count_map.insert("2".into(), 3);
        policy.status.unavailable_node_count_map.insert("1".into(), 9);
        policy.status.last_unavailable_node_count_update = Some(Time(at(100)));
        let one = enactment("one", 2, &Progress::Applying);
        let older = enactment("older", 1, &Progress::Retrying("x".into()));
        let done = enactment("done", 2, &Progress::Available);
        let everyone = vec![&one, &older, &done];
        let overview = Overview { policy: &policy, nodes: vec![], enactments: vec![], everyone };
        assert_eq!(overview.taken("me", at(110)), 3, "the count is fresh");
        assert_eq!(overview.taken("me", at(121)), 2, "the count was left behind");
        assert_eq!(overview.taken("one", at(121)), 1, "oneself does not stand in the way");
        assert_eq!(overview.taken("me", at(301)), 0, "at work five minutes ago, and never since");
    }
}
