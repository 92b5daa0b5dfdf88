//! Random wishes on the real kernel: each is done and then there is nothing left to do, or it is
//! refused or fails and nothing has changed.

use std::sync::{Arc, Mutex};

use landbridge_linux::IfName;
use landbridge_linux::probe::{Capabilities, Feature};
use landbridge_linux::route::Family;
use landbridge_nodestate::dhcp::{Dhcp, Request};
use landbridge_nodestate::{Error, Plan};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::Value;

use crate::harness::{Lab, Switch};
use crate::wishes::wish;

/// Walks and wishes of each.
const WALKS: u64 = 16;
const WISHES: usize = 12;

/// Says yes to everything.
#[derive(Default)]
struct Clients(Mutex<Vec<Request>>);

impl Dhcp for Clients {
    fn start(&self, request: &Request) -> Result<(), String> {
        self.0.lock().unwrap().push(request.clone());
        Ok(())
    }

    fn stop(&self, link: &IfName, family: Family) -> Result<(), String> {
        self.0.lock().unwrap().retain(|other| other.link != *link || other.family != family);
        Ok(())
    }

    fn running(&self) -> Vec<Request> {
        self.0.lock().unwrap().clone()
    }
}

/// Leaves out what this kernel has not.
fn possible(mut desired: Value) -> Value {
    let can = Capabilities::probe().unwrap();
    let lacks = |link: &Value| match link["type"].as_str() {
        Some("bond") => !can.has(Feature::Bond),
        Some("vrf") => !can.has(Feature::Vrf),
        Some("mac-vlan") => !can.has(Feature::Macvlan),
        _ => false,
    };
    let interfaces = desired["interfaces"].as_array_mut().unwrap();
    interfaces.retain(|link| !lacks(link));
    desired
}

#[test]
fn all_or_nothing() {
    let Some(switch) = Switch::new() else { return };
    let (mut done, mut failed) = (0, 0);
    for walk in 0..WALKS {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&walk.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        let mut lab = Lab::on(&switch);
        let clients = Arc::new(Clients::default());
        lab.node = Lab::node_of(&lab.namespace, &lab.dir, Some(&switch)).with_dhcp(clients);
        for number in 0..WISHES {
            let desired = possible(wish().new_tree(&mut runner).unwrap().current());
            let probe = || if number % 3 == 2 { Err("no".to_owned()) } else { Ok(()) };
            let plan = match lab.node.plan(&desired) {
                Ok(plan) if !plan.is_empty() => plan,
                _ => continue,
            };
            step(&lab, &desired, &plan, &probe, &mut done, &mut failed);
        }
    }
    assert!(done > 15 && failed > 10, "{done} done, {failed} failed: too few to say anything");
}

fn step(
    lab: &Lab,
    desired: &Value,
    plan: &Plan,
    probe: &dyn Fn() -> Result<(), String>,
    done: &mut usize,
    failed: &mut usize,
) {
    let before = (lab.everything(), lab.shown_all());
    match lab.node.apply(desired, probe) {
        Ok(_) => {
            let again = lab.node.plan(desired).unwrap();
            assert!(again.is_empty(), "{desired}\n{plan}\nstill\n{again}");
            *done += 1;
        }
        Err(error @ Error::RolledBack { .. }) => {
            assert!(error.to_string().ends_with("; rolled back"), "{error}\n{plan}");
            let after = (lab.everything(), lab.shown_all());
            assert_eq!(after.1, before.1, "{error}\n{plan}");
            assert_eq!(after.0, before.0, "{error}\n{plan}");
            *failed += 1;
        }
        Err(error) => panic!("{error}\n{plan}"),
    }
}
