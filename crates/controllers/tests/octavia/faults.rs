//! Each single call goes wrong once, in every way: everything is there in the end, once.

use http::Method;
use landbridge_controllers::octavia::pass::Task;

use crate::scene::{ideal, keep, seed, settle, zones};
use crate::sim::{Fault, Sim};

/// The calls it takes when nothing goes wrong: which of them only read.
fn calls(prepare: &dyn Fn(&Sim), task: &Task) -> Vec<bool> {
    let sim = Sim::new();
    prepare(&sim);
    let before = sim.calls();
    settle(&sim, task);
    sim.with(|state| state.log[before..].iter().map(|(method, _)| *method == Method::GET).collect())
}

fn each_fault(prepare: &dyn Fn(&Sim), task: &Task, expected: &str, faults: &[Fault]) {
    let calls = calls(prepare, task);
    assert!(calls.len() > 10, "{calls:?}");
    for (number, is_read) in calls.into_iter().enumerate() {
        // A read that fails fails, however it does.
        let faults = if is_read { &faults[..1] } else { faults };
        for fault in faults {
            let sim = Sim::new();
            prepare(&sim);
            let at = sim.calls() + number;
            sim.with(|state| state.faults.insert(at, *fault));
            settle(&sim, task);
            // What was late has come by now; it is looked at once more.
            for _ in 0..2 {
                settle(&sim, task);
            }
            assert_eq!(sim.shape(), expected, "call {number}: {fault:?}");
        }
    }
}

#[test]
fn while_it_is_made() {
    each_fault(&|_| {}, &keep(&seed()), &ideal(&seed()), &Fault::ALL);
}

#[test]
fn while_zones_are_made() {
    // The rest is as without zones.
    each_fault(&|_| {}, &keep(&zones()), &ideal(&zones()), &[Fault::LostReply, Fault::Late]);
}

#[test]
fn while_zones_are_taken_away() {
    let prepare = |sim: &Sim| drop(settle(sim, &keep(&zones())));
    let fewer = crate::scene::designed(
        &serde_json::json!({"lbMgmtNetwork": {"availabilityZones": ["zone-1"]}}),
        &serde_json::json!({}),
    );
    each_fault(&prepare, &keep(&fewer), &ideal(&fewer), &Fault::ALL);
}

#[test]
fn while_everything_is_taken_away() {
    let prepare = |sim: &Sim| drop(settle(sim, &keep(&zones())));
    let sim = Sim::new();
    prepare(&sim);
    settle(&sim, &Task::Remove);
    let nothing = sim.shape();
    assert_eq!(nothing.lines().count(), 1, "only the quota is left: {nothing}");
    each_fault(&prepare, &Task::Remove, &nothing, &Fault::ALL);
}
