//! What goes with the Octavia, and what stays.

use http::Method;
use landbridge_controllers::octavia::pass::Task;
use serde_json::{Value, json};

use crate::scene::{ideal, keep, settle, trouble, zones};
use crate::sim::Sim;

#[test]
fn everything_that_was_made_goes_and_nothing_else() {
    let sim = Sim::new();
    let other = sim.create("network", json!({"name": "public", "router:external": true}));
    sim.create("security_group", json!({"name": "lb-mgmt-sec-grp", "project_id": "p-other"}));
    let before = sim.shape();
    settle(&sim, &keep(&zones()));
    // Whatever they are called meanwhile.
    for (kind, singular) in [("networks", "network"), ("routers", "router"), ("ports", "port")] {
        for object in sim.all(kind) {
            if object["id"] == other.as_str() || object["device_owner"] == "network:router_gateway"
            {
                continue;
            }
            let path = format!("/{kind}/{}", object["id"].as_str().unwrap());
            sim.admin(&Method::PUT, &path, json!({singular: {"name": "renamed"}})).unwrap();
        }
    }
    settle(&sim, &Task::Remove);
    let quota = |text: &str| {
        text.lines().filter(|line| !line.starts_with("quota")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(quota(&sim.shape()), quota(&before));
}

#[test]
fn load_balancers_are_in_the_way_until_they_are_gone() {
    let sim = Sim::new();
    settle(&sim, &keep(&zones()));
    let network = sim.named("networks", "lb-mgmt-net")["id"].clone();
    let amphora = sim.create("port", json!({"network_id": network, "name": "amphora"}));
    let before = sim.shape();
    let (why, _) = trouble(&sim, &Task::Remove);
    assert_eq!(sim.shape(), before, "half of a removal");
    assert!(
        why.contains("network lb-mgmt-net cannot go: it is still in use by amphora (nobody's)"),
        "{why}"
    );
    sim.admin(&Method::DELETE, &format!("/ports/{amphora}"), Value::Null).unwrap();
    settle(&sim, &Task::Remove);
    assert_eq!(sim.all("networks"), Vec::<Value>::new());
}

#[test]
fn who_lets_go_leaves_everything_and_another_may_take_it() {
    let sim = Sim::new();
    settle(&sim, &keep(&zones()));
    settle(&sim, &Task::LetGo);
    for kind in ["networks", "subnets", "security-groups"] {
        for object in sim.all(kind) {
            assert_eq!(object["tags"], json!([]), "{object}");
        }
    }
    let count = |sim: &Sim| sim.with(|state| state.objects.len());
    let before = count(&sim);
    sim.writes();
    settle(&sim, &Task::Remove);
    assert_eq!((count(&sim), sim.writes()), (before, vec![]), "it is nobody's now");
    settle(&sim, &keep(&zones()));
    assert_eq!(count(&sim), before);
    let made = |text: &str| text.replace("landbridge:adopted:", "landbridge:made:");
    let without_notes = |text: &str| -> Vec<String> {
        let lines = made(text);
        let lines = lines.lines().map(|line| {
            let mut line = line.to_owned();
            for note in [
                "\"landbridge:port:<lb-mgmt-router-port>\",",
                "\"landbridge:port:<lb-mgmt-edge-a-router-port>\",",
                "\"landbridge:port:<lb-mgmt-edge-b-router-port>\",",
                ",\"landbridge:router:<octavia-link-router>\"",
            ] {
                line = line.replace(note, "");
            }
            line
        });
        lines.collect()
    };
    assert_eq!(without_notes(&sim.shape()), without_notes(&ideal(&zones())));
}
