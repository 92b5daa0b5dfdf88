//! Cases with a name, each told from beginning to end.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use landbridge_agent::policy::ApplyError;
use landbridge_agent::policy::engine::{Action, Ended, Engine, News, Purpose, Step};
use landbridge_agent::policy::seen::{Enactment, Policy};
use landbridge_api::foreign::nmstate::objects::PolicySpec;
use landbridge_controllers::mirror::Told;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::chance::Chance;
use crate::server::Server;

/// Some workers, each with an agent; no news is late and nothing gets lost.
struct Lab {
    server: Server,
    agents: Vec<Agent>,
    now: Timestamp,
    /// The most nodes that were at work on one policy at once.
    most_at_work: usize,
}

type Outcome<'a> = &'a dyn Fn(&str, &Value) -> Result<(), ApplyError>;

#[expect(clippy::unnecessary_wraps, reason = "one of several outcomes")]
fn fine(_: &str, _: &Value) -> Result<(), ApplyError> {
    Ok(())
}

fn broken(retry: bool) -> Result<(), ApplyError> {
    Err(ApplyError { text: "verification failed: enp6s0 is not there".into(), retry })
}

fn spec(serial: u64) -> PolicySpec {
    PolicySpec {
        node_selector: Some(BTreeMap::from([("role".into(), "worker".into())])),
        desired_state: json!({"interfaces": [{"name": "enp6s0", "serial": serial}]}),
        ..PolicySpec::default()
    }
}

impl Lab {
    fn new(workers: usize) -> Self {
        let mut server = Server::default();
        for node in 0..workers {
            server.add_node(&format!("w{node}"), "worker");
        }
        let mut lab = Self {
            server,
            agents: Vec::new(),
            now: Timestamp::from_second(1_000).unwrap(),
            most_at_work: 0,
        };
        for node in 0..workers {
            lab.start(&format!("w{node}"), BTreeMap::new(), BTreeMap::new());
        }
        lab
    }

    fn start(
        &mut self,
        name: &str,
        looks: BTreeMap<String, Value>,
        applied: BTreeMap<String, i64>,
    ) {
        self.agents.push(Agent::start(name, &self.server, looks, applied));
    }

    /// Lets things happen until `done`, or until nothing is left to do.
    fn run_until(&mut self, outcome: Outcome<'_>, done: impl Fn(&Self) -> bool) {
        let mut chance = Chance::new(7);
        for _ in 0..20_000 {
            let mut moved = false;
            for at in 0..self.agents.len() {
                let agent = &mut self.agents[at];
                for kind in 0..4 {
                    while agent.hear(&self.server, kind) {
                        moved = true;
                    }
                }
                if let Some(applying) = &agent.applying
                    && let Step::Apply { desired, .. } = &applying.job.step
                {
                    let result = outcome(&agent.name.clone(), &desired.clone());
                    moved |= agent.finish(self.now, result);
                }
                agent.act(self.now, &mut chance);
                let mut steady = Chance::new(1);
                moved |= agent.travel(&mut self.server, &mut steady, self.now);
                let at_work = self.agents.iter().filter(|a| a.works_on() == Some("osp")).count();
                self.most_at_work = self.most_at_work.max(at_work);
                if done(self) {
                    return;
                }
            }
            if moved {
                continue;
            }
            let wakes = self.agents.iter().filter_map(|agent| agent.engine.wake());
            let ends = self.agents.iter().filter_map(|a| a.applying.as_ref().map(|a| a.ends));
            match wakes.chain(ends).min() {
                Some(next) => self.now = next.max(self.now + SignedDuration::from_millis(1)),
                None => return,
            }
        }
        panic!("never comes to rest");
    }

    fn run(&mut self, outcome: Outcome<'_>) {
        self.run_until(outcome, |_| false);
    }

    fn policy(&self) -> &Policy {
        &self.server.policies.objects["osp"]
    }

    /// The condition of the policy that is True, with its reason and message.
    fn said(&self) -> String {
        let all = self.policy().status.conditions.iter().filter(|c| c.status == "True");
        all.map(|c| format!("{} {}: {}", c.type_, c.reason, c.message))
            .collect::<Vec<_>>()
            .join(" | ")
    }

    fn own(&self, node: &str) -> &Enactment {
        &self.server.enactments.objects[&format!("{node}.osp")]
    }

    fn states(&self) -> Vec<String> {
        let all = self.server.enactments.objects.values();
        let truth = |e: &Enactment| {
            let all = e.status.conditions.iter().filter(|c| c.status == "True");
            all.map(|c| c.type_.clone()).collect::<Vec<_>>().join("+")
        };
        all.map(|e| format!("{} {}", e.id.name(), truth(e))).collect()
    }
}

#[test]
fn all_workers_are_configured_half_at_a_time() {
    let mut lab = Lab::new(3);
    lab.server.add_node("infra", "infra");
    lab.start("infra", BTreeMap::new(), BTreeMap::new());
    lab.server.add_policy("osp", spec(1));
    lab.run(&fine);
    assert_eq!(lab.said(), "Available SuccessfullyConfigured: 3/3 nodes successfully configured");
    assert_eq!(lab.states(), ["w0.osp Available", "w1.osp Available", "w2.osp Available"]);
    assert_eq!(lab.most_at_work, 2, "50% of 3, rounded up");
    let status = &lab.policy().status;
    assert!(status.unavailable_node_count_map.is_empty(), "success resets the counters");
    assert_eq!(lab.own("w0").status.desired_state, spec(1).desired_state);
    assert_eq!(lab.own("w0").status.policy_generation, Some(1));
}

/// 22
#[test]
fn a_policy_for_no_node_is_ignored() {
    let mut lab = Lab::new(2);
    let selector = Some(BTreeMap::from([("role".to_owned(), "nobody".to_owned())]));
    lab.server.add_policy("osp", PolicySpec { node_selector: selector, ..spec(1) });
    lab.run(&fine);
    assert_eq!(lab.said(), "Ignored NoMatchingNode: Policy does not match any node");
    assert_eq!(lab.states(), Vec::<String>::new());
    let writes = lab.server.writes;
    for node in ["w0", "w1"] {
        lab.server.change_node(node, |node| node.ready = false);
    }
    lab.run(&fine);
    assert_eq!(lab.server.writes, writes + 2, "the agents do not fight over it");
}

/// 23
#[test]
fn when_a_policy_goes_the_nodes_stay_as_they_are() {
    let mut lab = Lab::new(2);
    lab.server.add_policy("osp", spec(1));
    lab.run(&fine);
    let applies: usize = lab.agents.iter().map(|agent| agent.applies).sum();
    lab.server.remove_policy("osp");
    lab.run(&fine);
    assert_eq!(lab.states(), Vec::<String>::new());
    for agent in &lab.agents {
        assert_eq!(agent.looks["osp"], spec(1).desired_state);
        assert!(agent.engine.applied().is_empty(), "not to be made true again after a boot");
    }
    assert_eq!(lab.agents.iter().map(|agent| agent.applies).sum::<usize>(), applies);
    // Another policy of the same name starts from the beginning.
    lab.server.add_policy("osp", spec(9));
    lab.run(&fine);
    assert_eq!(lab.agents[1].looks["osp"], spec(9).desired_state);
}

/// 24 is a table in `limit`; here it holds.
#[test]
fn one_at_a_time_and_all() {
    for (max, most) in [(IntOrString::Int(1), 1), (IntOrString::String("100%".into()), 4)] {
        let mut lab = Lab::new(4);
        lab.server.add_policy("osp", PolicySpec { max_unavailable: Some(max.clone()), ..spec(1) });
        lab.run(&fine);
        assert_eq!(lab.most_at_work, most, "{max:?}");
        assert!(lab.said().starts_with("Available"), "{}", lab.said());
    }
}

/// 25
#[test]
fn an_edit_while_nodes_are_at_work() {
    let mut lab = Lab::new(3);
    lab.server.add_policy("osp", spec(1));
    lab.run_until(&fine, |lab| lab.agents.iter().any(|agent| agent.works_on().is_some()));
    assert!(lab.said().starts_with("Progressing ConfigurationProgressing"), "{}", lab.said());
    lab.server.edit_policy("osp", |old| *old = spec(2));
    lab.run_until(&fine, |lab| lab.policy().status.unavailable_node_count_map.contains_key("2"));
    let counts = &lab.policy().status.unavailable_node_count_map;
    assert!(counts.contains_key("1"), "the old generation's counter stays: {counts:?}");
    lab.run(&fine);
    assert_eq!(lab.said(), "Available SuccessfullyConfigured: 3/3 nodes successfully configured");
    assert!(lab.policy().status.unavailable_node_count_map.is_empty());
    for agent in &lab.agents {
        assert_eq!(agent.looks["osp"], spec(2).desired_state);
    }
    assert!(lab.most_at_work <= 2);
}

/// 26
#[test]
fn nodes_that_are_not_ready_are_not_waited_for() {
    let mut lab = Lab::new(3);
    lab.server.change_node("w2", |node| node.ready = false);
    lab.agents.pop();
    lab.server.add_policy("osp", spec(1));
    lab.run_until(&fine, |lab| lab.said().starts_with("Progressing"));
    assert!(
        lab.said().ends_with("/2 nodes finished, 1 nodes ignored due to NotReady state"),
        "{}",
        lab.said()
    );
    lab.run(&fine);
    assert_eq!(
        lab.said(),
        "Available SuccessfullyConfigured: 2/3 nodes successfully configured, 1 nodes ignored due to NotReady state"
    );
    // It comes back later, and is served.
    lab.server.change_node("w2", |node| node.ready = true);
    lab.start("w2", BTreeMap::new(), BTreeMap::new());
    lab.run(&fine);
    assert_eq!(lab.said(), "Available SuccessfullyConfigured: 3/3 nodes successfully configured");
}

/// 27
#[test]
fn what_an_edit_leaves_out_is_not_undone() {
    let mut lab = Lab::new(1);
    lab.server.add_policy("osp", spec(1));
    lab.run(&fine);
    lab.server.edit_policy("osp", |old| {
        old.desired_state = json!({"interfaces": [{"name": "octbr", "type": "linux-bridge",
            "bridge": {"port": [{"name": "enp6s0.24"}]}}]});
    });
    lab.run(&fine);
    let desired = &lab.own("w0").status.desired_state;
    assert_eq!(desired["interfaces"].as_array().unwrap().len(), 1, "nothing absent is added");
    assert_eq!(desired["interfaces"][0]["bridge"]["port"][0]["vlan"]["mode"], "trunk");
}

#[test]
fn five_tries_and_then_it_has_failed() {
    let mut lab = Lab::new(1);
    lab.server.add_policy("osp", spec(1));
    let begin = lab.now;
    lab.run_until(&|_, _| broken(true), |lab| {
        lab.server.enactments.objects.get("w0.osp").is_some_and(|e| e.is("Failing"))
    });
    let own = lab.own("w0");
    let said = own.condition("Failing").unwrap();
    assert_eq!(said.reason, "Retrying");
    assert_eq!(
        said.message,
        "failed to reconcile NodeNetworkConfigurationPolicy on node w0. Retrying 2/5: verification failed: enp6s0 is not there"
    );
    assert!(own.is("Progressing"));
    lab.run(&|_, _| broken(true));
    let own = lab.own("w0");
    assert_eq!(
        own.condition("Failing").unwrap().message,
        "error reconciling NodeNetworkConfigurationPolicy on node w0 at desired state apply: verification failed: enp6s0 is not there"
    );
    assert_eq!(own.status.retry_count, BTreeMap::from([("1".to_owned(), 5)]));
    assert_eq!(lab.agents[0].applies, 5);
    let took = lab.now.duration_since(begin);
    assert!(took >= SignedDuration::from_secs(15), "1 + 2 + 4 + 8 seconds: {took}");
    assert_eq!(lab.said(), "Degraded FailedToConfigure: 1/1 nodes failed to configure");
    let notices = &lab.agents[0].notices;
    assert_eq!(notices.len(), 1);
    assert_eq!(
        notices[0].note,
        "reconciliation of enactment \"w0.osp\" has failed after 5 retries"
    );
    assert_eq!(
        lab.policy().status.unavailable_node_count_map.get("1"),
        Some(&0),
        "its place is free"
    );
    // An edit is a new beginning.
    lab.server.edit_policy("osp", |old| *old = spec(2));
    lab.run(&fine);
    assert_eq!(lab.said(), "Available SuccessfullyConfigured: 1/1 nodes successfully configured");
    assert!(lab.own("w0").status.retry_count.is_empty());
}

#[test]
fn what_cannot_succeed_fails_at_once() {
    let mut lab = Lab::new(1);
    lab.server.add_policy("osp", spec(1));
    lab.run(&|_, _| broken(false));
    assert_eq!((lab.agents[0].applies, lab.states()), (1, vec!["w0.osp Failing".to_owned()]));
    lab.server.edit_policy("osp", |old| old.desired_state = json!("interfaces: []"));
    lab.run(&fine);
    assert_eq!(
        lab.own("w0").condition("Failing").unwrap().message,
        "failure generating desiredState and capturedStates: spec.desiredState has to be an object"
    );
    assert_eq!(lab.agents[0].applies, 1, "it was not even tried");
}

#[test]
fn a_failure_aborts_the_rest_and_nothing_is_stuck() {
    let mut lab = Lab::new(4);
    let max = Some(IntOrString::Int(1));
    lab.server.add_policy("osp", PolicySpec { max_unavailable: max.clone(), ..spec(1) });
    lab.run(&|_, _| broken(true));
    let mut states = lab.states();
    states.sort();
    let failed = states.iter().filter(|state| state.ends_with("Failing")).count();
    let aborted = states.iter().filter(|state| state.ends_with("Aborted")).count();
    assert_eq!((failed, aborted), (1, 3), "{states:?}");
    assert_eq!(
        lab.said(),
        "Degraded FailedToConfigure: 1/4 nodes failed to configure, 3 nodes aborted configuration"
    );
    let aborted = lab.server.enactments.objects.values().find(|e| e.is("Aborted")).unwrap();
    let message = &aborted.condition("Aborted").unwrap().message;
    assert_eq!(
        *message,
        format!("reconciliation of enactment {:?} has aborted", aborted.id.name())
    );
    lab.server.edit_policy("osp", |old| *old = PolicySpec { max_unavailable: max, ..spec(2) });
    lab.run(&fine);
    assert_eq!(lab.said(), "Available SuccessfullyConfigured: 4/4 nodes successfully configured");
}

#[test]
fn nodes_that_wait_say_so() {
    let mut lab = Lab::new(2);
    let max = Some(IntOrString::Int(1));
    lab.server.add_policy("osp", PolicySpec { max_unavailable: max, ..spec(1) });
    lab.run_until(&fine, |lab| lab.server.enactments.objects.values().any(|e| e.is("Pending")));
    let waiting = lab.server.enactments.objects.values().find(|e| e.is("Pending")).unwrap();
    let said = waiting.condition("Pending").unwrap();
    assert_eq!(said.reason, "MaxUnavailableLimitReached");
    assert_eq!(said.message, "Waiting for progressing nodes to finish");
    lab.run(&fine);
    assert_eq!(lab.said(), "Available SuccessfullyConfigured: 2/2 nodes successfully configured");
}

#[test]
fn labels_decide_and_may_change() {
    let mut lab = Lab::new(2);
    lab.server.add_policy("osp", spec(1));
    lab.run(&fine);
    lab.server.change_node("w0", |node| drop(node.labels.remove("role")));
    lab.run(&fine);
    assert_eq!(lab.states(), ["w1.osp Available"]);
    assert_eq!(lab.said(), "Available SuccessfullyConfigured: 1/1 nodes successfully configured");
    lab.server.change_node("w0", |node| {
        node.labels.insert("role".into(), "worker".into());
    });
    lab.run(&fine);
    assert_eq!(lab.states(), ["w0.osp Available", "w1.osp Available"]);
    lab.server.remove_node("w1");
    lab.agents.pop();
    lab.run(&fine);
    assert_eq!(lab.said(), "Available SuccessfullyConfigured: 1/1 nodes successfully configured");
}

#[test]
fn a_crash_at_work_blocks_nobody_for_ever() {
    for comes_back in [true, false] {
        let mut lab = Lab::new(3);
        let max = Some(IntOrString::Int(1));
        lab.server.add_policy("osp", PolicySpec { max_unavailable: max, ..spec(1) });
        lab.run_until(&fine, |lab| lab.agents.iter().any(|agent| agent.works_on().is_some()));
        let at = lab.agents.iter().position(|agent| agent.works_on().is_some()).unwrap();
        let dead = lab.agents.remove(at);
        let name = dead.name.clone();
        drop(dead);
        if comes_back {
            lab.start(&name, BTreeMap::new(), BTreeMap::new());
        } else {
            lab.server.change_node(&name, |node| node.ready = false);
        }
        let begin = lab.now;
        lab.run(&fine);
        let took = lab.now.duration_since(begin);
        if comes_back {
            assert!(took < SignedDuration::from_mins(5), "{took}");
            assert_eq!(
                lab.said(),
                "Available SuccessfullyConfigured: 3/3 nodes successfully configured"
            );
        } else {
            assert!(took < SignedDuration::from_mins(10), "{took}");
            assert!(
                lab.said().starts_with("Available SuccessfullyConfigured: 2/3"),
                "{}",
                lab.said()
            );
        }
        assert_eq!(lab.most_at_work, 1);
    }
}

#[test]
fn after_a_boot_the_state_is_made_true_again() {
    let mut lab = Lab::new(2);
    let max = Some(IntOrString::Int(1));
    lab.server.add_policy("osp", PolicySpec { max_unavailable: max, ..spec(1) });
    lab.run(&fine);
    let writes = lab.server.writes;
    let restarted = lab.agents.remove(0);
    lab.start("w0", restarted.looks, restarted.engine.applied().clone());
    lab.run(&fine);
    assert_eq!(lab.agents[1].applies, 0, "the agent was restarted; the node was not");
    lab.agents.pop();
    lab.start("w0", BTreeMap::new(), BTreeMap::new());
    lab.run_until(&fine, |lab| lab.agents[1].applying.is_some());
    let Step::Apply { purpose, .. } = &lab.agents[1].applying.as_ref().unwrap().job.step else {
        panic!()
    };
    assert_eq!(*purpose, Purpose::Boot);
    lab.run(&fine);
    assert_eq!(lab.agents[1].looks["osp"], spec(1).desired_state);
    assert_eq!(lab.server.writes, writes, "nothing was new to anybody");
}

#[test]
fn the_same_address_for_everybody_is_applied_and_pointed_out_once() {
    let mut lab = Lab::new(3);
    let mut policy = spec(1);
    policy.desired_state = json!({"interfaces": [{"name": "enp6s0", "type": "ethernet",
        "ipv4": {"enabled": true, "address": [{"ip": "192.168.122.10", "prefix-length": 24}]}}]});
    lab.server.add_policy("osp", policy);
    lab.run(&fine);
    assert!(lab.said().starts_with("Available"), "{}", lab.said());
    let notices: Vec<_> = lab.agents.iter().flat_map(|agent| &agent.notices).collect();
    let [notice] = &notices[..] else { panic!("{notices:?}") };
    assert_eq!((notice.reason, notice.warning), ("DuplicateAddress", true));
    assert!(
        notice.note.starts_with("spec.desiredState.interfaces[0].ipv4.address[0].ip: 192.168.122.10 is given to 3 nodes: w0, w1, w2;"),
        "{}",
        notice.note
    );
}

#[test]
fn drift_is_corrected_only_where_asked_for() {
    let mut lab = Lab::new(1);
    lab.server.add_policy("osp", spec(1));
    lab.run(&fine);
    assert_eq!(lab.agents[0].engine.wake(), None, "nobody looks");
    let mut policy = lab.policy().clone();
    policy.annotations.insert("landbridge.dev/drift".into(), "correct".into());
    let mut engine = Engine::new("w0", lab.agents[0].engine.applied().clone());
    for news in [
        News::Node(Told::Listed(lab.server.nodes.objects["w0"].clone())),
        News::Node(Told::Complete),
        News::Agent(Told::Complete),
        News::Policy(Told::Listed(policy)),
        News::Policy(Told::Complete),
        News::Enactment(Told::Listed(lab.own("w0").clone())),
        News::Enactment(Told::Complete),
    ] {
        engine.tell(news);
    }
    let step = |engine: &mut Engine, now| {
        engine.act(now).into_iter().find_map(|action| match action {
            Action::Work(job) => Some(job),
            _ => None,
        })
    };
    let now = lab.now;
    let job = step(&mut engine, now).unwrap();
    assert!(matches!(job.step, Step::Compare { .. }));
    engine.ended(&job, Ended::Compared(Ok(false)), now);
    assert!(step(&mut engine, now).is_none());
    assert_eq!(engine.wake(), Some(now + SignedDuration::from_secs(30)));
    let now = now + SignedDuration::from_secs(30);
    let job = step(&mut engine, now).unwrap();
    engine.ended(&job, Ended::Compared(Ok(true)), now);
    let job = step(&mut engine, now).unwrap();
    assert!(matches!(job.step, Step::Apply { purpose: Purpose::Drift, .. }));
    engine.ended(&job, Ended::Applied(Ok(())), now);
    let told = engine.act(now);
    assert!(
        matches!(&told[..], [Action::Tell(notice)] if notice.reason == "DriftCorrected"),
        "{told:?}"
    );
}
