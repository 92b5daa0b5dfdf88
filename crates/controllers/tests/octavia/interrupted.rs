//! Each single call of a whole creation, of a change and of a removal fails once, on clouds with all the rules of real
//! ones: everything is there in the end, once, and nothing is left behind.

use std::sync::{Arc, Mutex};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use landbridge_controllers::octavia::pass::{Ended, Task, pass};
use landbridge_openstack::error::Asked;
use landbridge_openstack::{Call, Client, Cloud, Error, Method, Reply};
use serde_json::json;

use crate::observed::observed;
use crate::place::{Embedded, Place, run};
use crate::scene::{assert_same, designed, keep, owner, seed, zones};
use crate::servers::settle;
use crate::sim::{Fault, refused};

/// A cloud in front of which something goes wrong once.
#[derive(Clone)]
struct Broken {
    behind: Client,
    plan: Arc<Mutex<Plan>>,
}

#[derive(Default)]
struct Plan {
    /// Methods of the calls so far.
    calls: Vec<Method>,
    /// What goes wrong with which.
    fault: Option<(usize, Fault)>,
    /// What is done only after some more.
    late: Option<(usize, Call)>,
    /// No answer to a write arrives.
    is_deaf: bool,
}

impl Cloud for Broken {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        async move {
            let (number, fault, due) = {
                let mut plan = self.plan.lock().unwrap();
                let number = plan.calls.len();
                plan.calls.push(call.method.clone());
                let planned = plan.fault.take_if(|(at, _)| *at == number).map(|(_, fault)| fault);
                let is_lost = plan.is_deaf && call.method != Method::GET;
                let fault = if is_lost { Some(Fault::LostReply) } else { planned };
                (number, fault, plan.late.take_if(|(at, _)| *at <= number).map(|(_, call)| call))
            };
            if let Some(late) = due {
                let _ = self.behind.call(late).await;
            }
            let asked = Asked { method: call.method.clone(), url: call.path.clone() };
            let lost = |asked| Error::Lost { asked, why: "nobody answered in time".to_owned() };
            Err(match fault {
                None => return self.behind.call(call).await,
                Some(Fault::Conflict) => {
                    refused(asked, 409, "Conflict", "somebody is in the way".to_owned())
                }
                Some(Fault::Broken) => {
                    refused(asked, 500, "HTTPInternalServerError", "no".to_owned())
                }
                Some(Fault::Unreachable) => Error::Unreachable { asked, why: "refused".to_owned() },
                Some(Fault::LostReply) => {
                    let _ = self.behind.call(call).await;
                    lost(asked)
                }
                Some(Fault::Late) => {
                    if call.method != Method::GET {
                        self.plan.lock().unwrap().late = Some((number + 17, call));
                    }
                    lost(asked)
                }
            })
        }
        .boxed()
    }
}

fn broken(place: &Place) -> (Place, Arc<Mutex<Plan>>) {
    let plan = Arc::new(Mutex::new(Plan::default()));
    let front = Broken { behind: place.client.clone(), plan: plan.clone() };
    let place =
        Place { name: place.name.clone(), client: Client::new(front), has_nova: place.has_nova };
    (place, plan)
}

/// The methods of the calls that a task takes when nothing goes wrong.
async fn calls(place: &Place, task: &Task) -> Vec<Method> {
    let (front, plan) = broken(place);
    settle(&front, task).await;
    let calls = plan.lock().unwrap().calls.clone();
    assert!(calls.len() > 15, "{calls:?}");
    calls
}

/// On the embedded cloud, where going back costs nothing, each call in each way.
async fn each_call(before: &[Task], task: &Task, faults: &[Fault]) {
    let cloud = Embedded::new();
    let place = Place {
        name: "embedded".to_owned(),
        client: cloud.client("admin", "secret"),
        has_nova: true,
    };
    for task in before {
        settle(&place, task).await;
    }
    let start = cloud.state();
    let calls = calls(&place, task).await;
    let expected = observed(&place).await;
    for (number, method) in calls.iter().enumerate() {
        for fault in faults {
            // A read that fails fails, however it does.
            if *method == Method::GET && *fault != Fault::Conflict {
                continue;
            }
            cloud.go_back(start.clone());
            let (front, plan) = broken(&place);
            plan.lock().unwrap().fault = Some((number, *fault));
            settle(&front, task).await;
            if *fault == Fault::Late {
                settle(&front, task).await; // it has come by now
                settle(&front, task).await;
            }
            assert!(plan.lock().unwrap().late.is_none());
            assert_same(
                &observed(&place).await,
                &expected,
                &format!("call {number} {method}: {fault:?}"),
            );
        }
    }
}

fn while_it_is_made(fault: Fault) {
    run(each_call(&[], &keep(&seed()), &[fault]));
}

#[test]
fn while_it_is_made_and_somebody_is_in_the_way() {
    while_it_is_made(Fault::Conflict);
}

#[test]
fn while_it_is_made_and_neutron_breaks() {
    while_it_is_made(Fault::Broken);
}

#[test]
fn while_it_is_made_and_nobody_is_reached() {
    while_it_is_made(Fault::Unreachable);
}

#[test]
fn while_it_is_made_and_an_answer_is_lost() {
    while_it_is_made(Fault::LostReply);
}

#[test]
fn while_it_is_made_and_something_is_done_late() {
    while_it_is_made(Fault::Late);
}

/// One zone goes, another comes, pool and gateway move.
fn while_it_is_changed(faults: &[Fault]) {
    let zone =
        |name: &str, cidr: &str| json!({"lbMgmtNetwork": {"availabilityZoneCIDRs": {name: cidr}}});
    let before = designed(&zone("edge-a", "172.25.0.0/24"), &json!({}));
    let moved = json!({"range_end": "172.23.0.80", "routes": [{"dst": "172.24.0.0/16", "gw": "172.23.0.160"}]});
    let after = designed(&zone("edge-b", "172.27.0.0/24"), &moved);
    run(each_call(&[keep(&before)], &keep(&after), faults));
}

#[test]
fn while_it_is_changed_and_somebody_is_in_the_way() {
    while_it_is_changed(&[Fault::Conflict]);
}

#[test]
fn while_it_is_changed_and_neutron_is_not_there() {
    while_it_is_changed(&[Fault::Broken, Fault::Unreachable]);
}

#[test]
fn while_it_is_changed_and_answers_are_lost() {
    while_it_is_changed(&[Fault::LostReply, Fault::Late]);
}

#[test]
fn while_it_is_taken_away() {
    run(each_call(&[keep(&zones())], &Task::Remove, &Fault::ALL));
}

/// On a real Neutron, where everything takes its time: not one answer to a write arrives, while the seed's networks are
/// made, and while they go.
async fn each_answer_lost(place: &Place) {
    for task in [keep(&seed()), Task::Remove] {
        let (front, plan) = broken(place);
        plan.lock().unwrap().is_deaf = true;
        let mut lost = 0;
        for round in 0.. {
            assert!(round < 60, "{}: there is no end", place.name);
            plan.lock().unwrap().calls.clear();
            let ended = pass(&front.client, &owner(), &task).await;
            let writes =
                plan.lock().unwrap().calls.iter().filter(|method| **method != Method::GET).count();
            if writes == 0 {
                assert!(matches!(ended, Ended::Done(_)), "{}: {ended:?}", place.name);
                break;
            }
            lost += writes;
        }
        assert!(lost > 10, "{}: {lost}", place.name);
        if matches!(task, Task::Keep(..)) {
            crate::servers::the_seed(place).await;
        } else {
            assert_eq!(place.all_of("networks").await.len(), 0, "{}", place.name);
        }
    }
}

#[test]
fn each_answer_lost_on_the_embedded_cloud() {
    run(each_answer_lost(&Place::embedded()));
}

#[test]
fn each_answer_lost_on_a_real_keystone_and_neutron() {
    crate::servers::on_real_ones(&each_answer_lost);
}
