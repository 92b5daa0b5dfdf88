//! An Octavia, its attachment, and passes over a simulated cloud.

use futures::FutureExt as _;
use landbridge_api::foreign::Node;
use landbridge_controllers::octavia::marks::Owner;
use landbridge_controllers::octavia::pass::{Ended, Task, pass};
use landbridge_controllers::octavia::steps::{Found, Options};
use landbridge_plan::octavia::{Design, design};
use serde_json::{Value, json};

use crate::sim::Sim;

pub fn owner() -> Owner {
    Owner::new("openstack", "octavia")
}

/// The seed's attachment, with changes.
pub fn nad(change: &Value) -> Value {
    let mut ipam = json!({"type": "whereabouts", "range": "172.23.0.0/24", "range_start": "172.23.0.30",
        "range_end": "172.23.0.70", "routes": [{"dst": "172.24.0.0/16", "gw": "172.23.0.150"}]});
    for (name, value) in change.as_object().unwrap() {
        ipam[name] = value.clone();
    }
    let config = json!({"cniVersion": "0.3.1", "name": "octavia", "type": "bridge", "bridge": "octbr", "ipam": ipam});
    json!({"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": "octavia", "namespace": "openstack", "resourceVersion": "1"},
        "spec": {"config": config.to_string()}})
}

pub fn designed(spec: &Value, change: &Value) -> Design {
    let outcome = design(&Node::root(spec), Some(&nad(change)));
    outcome.design.unwrap_or_else(|| panic!("{:?}", outcome.faults))
}

/// The seed's.
pub fn seed() -> Design {
    designed(&json!({}), &json!({}))
}

/// With zones.
pub fn zones() -> Design {
    let spec = json!({"lbMgmtNetwork": {"availabilityZones": ["zone-1"],
        "availabilityZoneCIDRs": {"edge-a": "172.25.0.0/24", "edge-b": "172.26.0.0/24"}}});
    designed(&spec, &json!({}))
}

pub fn keep(design: &Design) -> Task {
    Task::Keep(design.clone().into(), Options::default())
}

pub fn once(sim: &Sim, task: &Task) -> Ended {
    pass(&sim.client(), &owner(), task).now_or_never().expect("the simulation answers at once")
}

/// Passes until one ends well; how many it took.
pub fn settle(sim: &Sim, task: &Task) -> Found {
    let mut whys = Vec::new();
    for _ in 0..8 {
        match once(sim, task) {
            Ended::Done(found) => return found,
            Ended::Short { why, .. } => whys.push(why),
        }
    }
    panic!("not settled: {whys:#?}\n{}", sim.shape());
}

/// Why it does not end well.
pub fn trouble(sim: &Sim, task: &Task) -> (String, bool) {
    match once(sim, task) {
        Ended::Short { why, is_passing, .. } => (why, is_passing),
        Ended::Done(_) => panic!("taken:\n{}", sim.shape()),
    }
}

/// What a design looks like when nothing went wrong.
pub fn ideal(design: &Design) -> String {
    let sim = Sim::new();
    settle(&sim, &keep(design));
    sim.shape()
}

/// Two clouds are the same; what differs is told line by line.
pub fn assert_same(have: &[String], wanted: &[String], when: &str) {
    let more: Vec<&String> = have.iter().filter(|line| !wanted.contains(line)).collect();
    let less: Vec<&String> = wanted.iter().filter(|line| !have.contains(line)).collect();
    assert!(
        more.is_empty() && less.is_empty() && have.len() == wanted.len(),
        "{when}\nthere is {more:#?}\nand not {less:#?}"
    );
}
