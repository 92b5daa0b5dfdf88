//! What is done, step by step.

use std::time::Duration;

use jiff::Timestamp;
use landbridge_agent::pods::desired::{Desired, Probe, RestartPolicy};
use landbridge_agent::pods::machine::{Action, InitFailure, Machine, Outcome};
use landbridge_agent::pods::probe::{Check, Timing};
use landbridge_agent::pods::record::{Names, Process};
use landbridge_agent::pods::run::{Kind, Run};
use landbridge_agent::pods::status::status;
use landbridge_agent::responder::{Port, Problem, Protocol};
use serde_json::json;

use crate::world::{Luck, World};

fn names() -> Names {
    Names { sandbox: "s".into(), netns: "cni-x".into() }
}

/// Does everything that is to be done now, with these outcomes where they are not `Done`.
fn script(
    machine: &mut Machine,
    now: Timestamp,
    desired: Option<&Desired>,
    outcome: impl Fn(&Action) -> Option<Outcome>,
) -> Vec<String> {
    let mut done = Vec::new();
    while let Some(action) = machine.step(now, desired, || Some(names())) {
        let text = match &action {
            Action::Write(record) => format!("Write {:?}", record.stage),
            other => format!("{other:?}"),
        };
        done.push(text);
        let outcome = outcome(&action).unwrap_or_else(|| match action {
            Action::Attach => Outcome::Attached(vec!["192.0.2.9".parse().unwrap()]),
            Action::Start => Outcome::Started(process(now)),
            _ => Outcome::Done,
        });
        machine.ended(now, desired, &action, outcome);
    }
    done
}

fn process(now: Timestamp) -> Process {
    Process { pid: 7, born: 1, started: now }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn reasons(machine: &mut Machine) -> Vec<&'static str> {
    std::mem::take(&mut machine.notices).iter().map(|notice| notice.reason).collect()
}

fn desired() -> Desired {
    World::new(false).desired.unwrap()
}

#[test]
fn a_pod_lives_and_ends_in_order() {
    let mut desired = desired();
    let mut machine = Machine::new(desired.identity.clone());
    let made = script(&mut machine, at(0), Some(&desired), |_| None);
    let expected =
        ["Write Making", "MakeNamespace", "Attach", "Write Ready", "Start", "Write Ready"];
    assert_eq!(made, expected);
    assert_eq!(reasons(&mut machine), ["Started"]);
    desired.deletion = Some(landbridge_agent::pods::desired::Deletion { deadline: at(30) });
    let asked = script(&mut machine, at(10), Some(&desired), |_| None);
    assert_eq!(asked, ["Write Ending", "Signal { kill: false }"]);
    assert_eq!(machine.wake_at(at(10), Some(&desired)), Some(at(30)));
    let forced = script(&mut machine, at(30), Some(&desired), |_| None);
    assert_eq!(forced, ["Signal { kill: true }"]);
    machine.exited(at(31), Some(&desired), Some(137));
    let ended = script(&mut machine, at(31), Some(&desired), |_| None);
    let expected =
        ["Write Ending", "Detach", "RemoveNamespace", "Forget { queue: false }", "DeletePod"];
    assert_eq!(ended, expected);
    assert!(machine.gone(Some(&desired)));
    assert_eq!(reasons(&mut machine), ["Killing"]);
}

#[test]
fn what_plugins_say_is_told_and_tried_again_later_each_time() {
    let desired = desired();
    let mut machine = Machine::new(desired.identity.clone());
    let refuse = |action: &Action| {
        (*action == Action::Attach).then(|| Outcome::Failed("no more addresses".into()))
    };
    let mut now = at(0);
    for wait in [1, 2, 4, 8, 16, 30, 30] {
        let tried = script(&mut machine, now, Some(&desired), refuse);
        assert_eq!(tried[..3], ["Write Making", "MakeNamespace", "Attach"]);
        let undone = ["Write Ending", "Detach", "RemoveNamespace", "Forget { queue: false }"];
        assert_eq!(tried[3..], undone);
        let next = machine.wake_at(now, Some(&desired)).unwrap();
        assert_eq!(next.duration_since(now).as_secs(), wait);
        now = next;
    }
    let notice = machine.notices.pop().unwrap();
    assert!(notice.warning && notice.reason == "FailedCreatePodSandBox");
    assert_eq!(
        notice.note,
        "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network \
         for sandbox \"s\": no more addresses"
    );
    // A pod that nobody wants any more does not wait for the next attempt.
    let mut deleted = desired.clone();
    deleted.deletion = Some(landbridge_agent::pods::desired::Deletion { deadline: now });
    let earlier = at(now.as_second() - 20);
    assert_eq!(script(&mut machine, earlier, Some(&deleted), |_| None), ["DeletePod"]);
}

#[test]
fn an_init_container_that_fails_is_told_with_its_words_and_tried_again() {
    let pod: k8s_openapi::api::core::v1::Pod = serde_json::from_value(json!({
        "metadata": {"namespace": "n", "name": "p", "uid": "u"},
        "spec": {
            "initContainers": [{"name": "first"}, {"name": "init"}, {"name": "later"}],
            "containers": [{"name": "dnsmasq-dns"}],
        },
    }))
    .unwrap();
    let desired = Desired::of(&pod);
    let mut machine = Machine::new(desired.identity.clone());
    let refuse = |action: &Action| {
        let failure = InitFailure {
            container: "init".into(),
            code: 1,
            words: "bad option at line 1 of config.cfg".into(),
            at: at(0),
        };
        (*action == Action::Start).then_some(Outcome::InitFailed(failure))
    };
    script(&mut machine, at(0), Some(&desired), refuse);
    let notices = std::mem::take(&mut machine.notices);
    assert!(notices[0].note.contains("init ended: bad option at line 1"), "{notices:?}");
    assert_eq!(notices[1].note, "Back-off restarting failed container init in pod p_n(u)");
    let next = machine.wake_at(at(0), Some(&desired)).unwrap();
    assert_eq!(next, at(10));
    script(&mut machine, next, Some(&desired), refuse);
    let shown = status(next, &pod, &desired, &machine, &[]);
    assert_eq!(shown["phase"], "Pending");
    let init = &shown["initContainerStatuses"];
    assert_eq!(init[0]["state"]["terminated"]["exitCode"], 0);
    assert_eq!(init[1]["state"]["waiting"]["reason"], "CrashLoopBackOff");
    assert_eq!(init[1]["restartCount"], 1);
    let last = &init[1]["lastState"]["terminated"];
    assert_eq!(last["message"], "bad option at line 1 of config.cfg");
    assert_eq!(init[2]["state"]["waiting"]["reason"], "PodInitializing");
    assert_eq!(shown["containerStatuses"][0]["state"]["waiting"]["reason"], "PodInitializing");
    let conditions = shown["conditions"].as_array().unwrap();
    let of = |kind: &str| conditions.iter().find(|c| c["type"] == kind).unwrap();
    assert_eq!(of("Initialized")["status"], "False");
    assert_eq!(of("Initialized")["message"], "containers with incomplete status: [init]");
    // Once it passes, nothing of it is left.
    let next = machine.wake_at(next, Some(&desired)).unwrap();
    script(&mut machine, next, Some(&desired), |_| None);
    let shown = status(next, &pod, &desired, &machine, &[]);
    assert_eq!(shown["initContainerStatuses"][1]["state"]["terminated"]["exitCode"], 0);
    assert!(shown["initContainerStatuses"][1].get("lastState").is_none());
}

#[test]
fn detaching_that_fails_is_left_to_the_queue() {
    let mut world = World::new(false);
    world.settle();
    world.delete(Duration::ZERO);
    while world.attached.is_empty() || world.queue.is_empty() {
        assert!(world.step(Luck::Fails) || world.now < at(100), "{:?}", world.machine);
        // Writes that fail are tried again.
        world.pass(Duration::from_secs(1));
        world.step(Luck::Good);
        if world.desired.is_none() {
            break;
        }
    }
    world.settle();
    assert!(world.desired.is_none() && world.namespaces.is_empty());
    world.release();
    assert!(world.attached.is_empty());
}

#[test]
fn crashes_are_answered_slower_each_time_and_counted() {
    let mut world = World::new(false);
    world.settle();
    let mut waits = Vec::new();
    for _ in 0..4 {
        world.process_dies();
        let before = world.now;
        world.settle();
        waits.push(world.now.duration_since(before).as_secs());
    }
    assert_eq!(waits, [0, 10, 20, 40]);
    assert_eq!(world.disk.as_ref().unwrap().restarts, 4);
    // An agent that starts over does not forget them.
    world.agent_dies();
    world.pass(Duration::from_secs(601));
    world.process_dies();
    world.settle();
    assert_eq!(world.disk.as_ref().unwrap().restarts, 5);
}

#[test]
fn after_a_reboot_a_pod_gets_a_new_sandbox() {
    let mut world = World::new(false);
    world.settle();
    let before = world.disk.clone().unwrap();
    world.reboot();
    assert_eq!(reasons(&mut world.machine), ["SandboxChanged"]);
    world.settle();
    let after = world.disk.clone().unwrap();
    assert_ne!(before.sandbox, after.sandbox);
    assert_eq!(after.restarts, 1);
    assert_eq!(world.attached.len(), 1, "the first attachment was released");
}

#[test]
fn a_pod_that_is_not_started_again_ends() {
    for (policy, code, again) in [
        (RestartPolicy::Always, 0, true),
        (RestartPolicy::OnFailure, 0, false),
        (RestartPolicy::OnFailure, 1, true),
        (RestartPolicy::Never, 0, false),
        (RestartPolicy::Never, 1, false),
    ] {
        let mut desired = desired();
        desired.restart_policy = policy;
        let mut machine = Machine::new(desired.identity.clone());
        script(&mut machine, at(0), Some(&desired), |_| None);
        machine.exited(at(5), Some(&desired), Some(code));
        assert_eq!(machine.finished().is_none(), again, "{policy:?} {code}");
        let pod = serde_json::from_value(json!({"metadata": {}})).unwrap();
        let status = status(at(5), &pod, &desired, &machine, &[]);
        if !again {
            assert_eq!(status["phase"], if code == 0 { "Succeeded" } else { "Failed" });
            // The end is known before the sandbox is given up.
            assert_eq!(script(&mut machine, at(6), Some(&desired), |_| None), ["Write Ending"]);
            desired.finished = true;
            let ended = script(&mut machine, at(6), Some(&desired), |_| None);
            assert_eq!(ended, ["Detach", "RemoveNamespace", "Forget { queue: false }"]);
            assert!(!machine.gone(Some(&desired)), "the Pod stays until somebody deletes it");
        }
    }
}

#[test]
fn a_container_that_is_not_alive_is_started_again() {
    let mut desired = desired();
    let timing = Timing {
        initial_delay: Duration::from_secs(3),
        period: Duration::from_secs(10),
        timeout: Duration::from_secs(1),
        successes: 1,
        failures: 2,
    };
    let probe = |port| Some(Probe { timing, check: Check::Tcp { host: None, port } });
    desired.containers[0].liveness = probe(1);
    desired.containers[0].readiness = probe(2);
    let mut machine = Machine::new(desired.identity.clone());
    script(&mut machine, at(0), Some(&desired), |_| None);
    assert_eq!(machine.ask(at(5), Some(&desired)), [], "its ports are not known yet");
    machine.reported(7, vec![]);
    assert_eq!(machine.wake_at(at(0), Some(&desired)), Some(at(3)));
    let pod = serde_json::from_value(json!({"metadata": {}})).unwrap();
    let ready = |machine: &Machine| {
        status(at(9), &pod, &desired, machine, &[])["containerStatuses"][0]["ready"] == true
    };
    let mut ended = Vec::new();
    for now in [3, 13] {
        for ask in machine.ask(at(now), Some(&desired)) {
            let answer = match ask.kind {
                Kind::Readiness => Ok(()),
                _ => Err("connection refused".to_owned()),
            };
            machine.answered(at(now), Some(&desired), &ask, answer);
        }
        assert!(ready(&machine));
        ended.extend(script(&mut machine, at(now), Some(&desired), |_| None));
    }
    assert_eq!(ended, ["Signal { kill: false }"]);
    let told = reasons(&mut machine);
    assert_eq!(told, ["Started", "Unhealthy", "Unhealthy", "Killing"]);
    machine.exited(at(14), Some(&desired), Some(143));
    let again = script(&mut machine, at(14), Some(&desired), |_| None);
    assert_eq!(again, ["Write Ready", "Start", "Write Ready"]);
    assert!(!ready(&machine), "a new process has everything to show again");
}

#[test]
fn a_port_that_is_taken_is_said() {
    let desired = desired();
    let mut machine = Machine::new(desired.identity.clone());
    script(&mut machine, at(0), Some(&desired), |_| None);
    let pod = serde_json::from_value(json!({"metadata": {}})).unwrap();
    let state = |machine: &Machine| {
        status(at(1), &pod, &desired, machine, &[])["containerStatuses"][0]["state"].clone()
    };
    assert_eq!(state(&machine), json!({"waiting": {"reason": "ContainerCreating"}}));
    let port = Port { number: 80, protocol: Protocol::Tcp };
    let problem = Problem { container: "c".into(), port, why: "taken".into() };
    machine.reported(7, vec![problem.clone()]);
    let waiting = json!({"reason": "PortNotAvailable", "message": "port 80/TCP: taken"});
    assert_eq!(state(&machine), json!({"waiting": waiting}));
    machine.reported(8, vec![]);
    assert_eq!(state(&machine)["waiting"]["reason"], "PortNotAvailable", "another process's words");
    machine.reported(7, vec![]);
    assert_eq!(state(&machine)["running"]["startedAt"], "1970-01-01T00:00:00Z");
}

#[test]
fn a_status_that_says_nothing_new_stays_the_same() {
    let desired = desired();
    let mut machine = Machine::new(desired.identity.clone());
    script(&mut machine, at(0), Some(&desired), |_| None);
    machine.reported(7, vec![]);
    let mut pod: k8s_openapi::api::core::v1::Pod = serde_json::from_value(json!({
        "metadata": {"name": "p"},
        "spec": {"containers": [], "initContainers": [{"name": "i", "image": "x"}]},
    }))
    .unwrap();
    let node = ["198.51.100.1".parse().unwrap(), "2001:db8::1".parse().unwrap()];
    let first = status(at(3), &pod, &desired, &machine, &node);
    assert_eq!(first["phase"], "Running");
    assert_eq!(first["podIP"], "192.0.2.9");
    assert_eq!(first["hostIPs"][2]["ip"], "2001:db8::1");
    assert_eq!(first["initContainerStatuses"][0]["state"]["terminated"]["reason"], "Completed");
    let conditions: Vec<(&str, &str)> = first["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| (c["type"].as_str().unwrap(), c["status"].as_str().unwrap()))
        .collect();
    let all =
        ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
    assert_eq!(conditions, all.map(|kind| (kind, "True")));
    // What the API gives back of it.
    let mut kept = first.clone();
    for list in ["podIPs", "hostIPs"] {
        kept[list].as_array_mut().unwrap().remove(0);
    }
    pod.status = Some(serde_json::from_value(kept).unwrap());
    assert_eq!(status(at(99), &pod, &desired, &machine, &node), first);
    machine.exited(at(99), Some(&desired), Some(1));
    let after = status(at(99), &pod, &desired, &machine, &node);
    assert_eq!(after["phase"], "Running");
    assert_eq!(after["conditions"][2]["status"], "False");
    assert_eq!(after["conditions"][2]["lastTransitionTime"], "1970-01-01T00:01:39Z");
    assert!(matches!(machine.run(), Run::Stopped { .. }));
}

#[test]
fn exec_probes_are_told_of_once() {
    let mut desired = desired();
    let timing = Timing {
        initial_delay: Duration::ZERO,
        period: Duration::from_secs(1),
        timeout: Duration::from_secs(1),
        successes: 1,
        failures: 1,
    };
    desired.containers[0].readiness = Some(Probe { timing, check: Check::Exec });
    let mut machine = Machine::new(desired.identity.clone());
    script(&mut machine, at(0), Some(&desired), |_| None);
    machine.exited(at(1), Some(&desired), Some(1));
    script(&mut machine, at(1), Some(&desired), |_| None);
    let told = reasons(&mut machine);
    assert_eq!(told.iter().filter(|reason| **reason == "ExecProbeNotRun").count(), 1, "{told:?}");
}
