//! How the cost grows: in calls, and in what the engine looks at.

use std::time::{Duration, Instant};

use landbridge_workloads::action::Kind;
use serde_json::json;

use crate::lab::Lab;

/// Calls to the API and time until so many pods run.
fn cost(replicas: usize) -> (usize, Duration) {
    let mut lab = Lab::new(1, 10, 1);
    for number in 0..10 {
        let name = landbridge_controllers::mirror::Key::new("", &format!("worker-{number}"));
        lab.server.change(Kind::Node, &name, |node| {
            node["status"]["allocatable"]["pods"] = json!("1000");
        });
    }
    let begun = Instant::now();
    lab.create(Kind::Deployment, "web", &json!({"replicas": replicas}));
    for _ in 0..20 {
        lab.controllers();
        if !lab.kubelets() {
            break;
        }
    }
    let took = begun.elapsed();
    assert_eq!(lab.ready(Kind::Deployment, "web"), replicas);
    (lab.server.calls, took)
}

#[test]
fn calls_and_time_grow_with_the_pods() {
    let (few, short) = cost(100);
    let (many, long) = cost(1600);
    // A create and a binding each, and some writes of status.
    assert!(many <= 1600 * 2 + 100, "{many} calls for 1600 pods, {few} for 100");
    // 16 times as many pods; quadratic would be 256 times as long.
    assert!(
        long < short * 100 + Duration::from_millis(200),
        "{short:?} for 100, {long:?} for 1600"
    );
}
