//! What Kubernetes says about an Octavia, and what people are told.

use jiff::Timestamp;
use landbridge_api::condition::{Condition, ConditionStatus, Severity};
use landbridge_controllers::octavia::assess::{
    Around, Assessment, CONDITION, FINALIZER, Write, assess, condition, release, status_patch,
};
use landbridge_controllers::octavia::pass::{Ended, Task};
use landbridge_controllers::octavia::steps::Found;
use serde_json::{Value, json};

use crate::scene::nad;

fn octavia(spec: Value) -> Value {
    let mut object = json!({"apiVersion": "octavia.openstack.org/v1beta1", "kind": "Octavia", "metadata": {
        "name": "octavia", "namespace": "openstack", "uid": "u1", "resourceVersion": "7", "finalizers": ["other", FINALIZER]}});
    object["spec"] = spec;
    object
}

fn nodes(count: usize) -> Vec<Value> {
    (0..count)
        .map(|n| json!({"metadata": {"name": format!("worker-{n}"), "labels": {"zone": format!("z{}", n % 2)}}}))
        .collect()
}

fn look(
    octavia: &Value,
    nad: Option<&Value>,
    nodes: &[Value],
    map: Option<&Value>,
    pods: &[Value],
) -> Assessment {
    let around =
        Around { attachment: nad, nodes: nodes.iter().collect(), map, pods: pods.iter().collect() };
    assess(octavia, &around)
}

fn map_of(found: &Assessment) -> Value {
    let write = found.writes.iter().find_map(|write| match write {
        Write::CreateMap(map) => Some(map.clone()),
        _ => None,
    });
    write.expect("a map")
}

#[test]
fn nothing_is_made_before_it_is_sure_to_be_taken_away() {
    let mut new = octavia(json!({}));
    new["metadata"]["finalizers"] = json!(["other"]);
    let found = look(&new, Some(&nad(&json!({}))), &nodes(1), None, &[]);
    assert_eq!(found.task, None);
    let patch = json!({"metadata": {"resourceVersion": "7", "finalizers": ["other", FINALIZER]}});
    assert_eq!(found.writes, [Write::Finalizers(patch)]);
}

#[test]
fn nodes_get_their_addresses() {
    let own = octavia(json!({"nodeSelector": {"zone": "z0"}}));
    let found = look(&own, Some(&nad(&json!({}))), &nodes(3), None, &[]);
    let mut map = map_of(&found);
    let data = json!({"hm_worker-0": "172.23.0.97", "rsyslog_worker-0": "172.23.0.98",
        "hm_worker-2": "172.23.0.99", "rsyslog_worker-2": "172.23.0.100"});
    assert_eq!((&map["metadata"]["name"], &map["data"]), (&json!("octavia-hmport-map"), &data));
    assert_eq!(map["metadata"]["ownerReferences"][0]["uid"], "u1");
    assert!(matches!(found.task, Some(Task::Keep(..))));
    // A node goes, another comes: who stays keeps what it has.
    map["metadata"]["resourceVersion"] = "9".into();
    let mut fewer = nodes(5);
    fewer.remove(0);
    let found = look(&own, Some(&nad(&json!({}))), &fewer, Some(&map), &[]);
    let patch = json!({"metadata": {"resourceVersion": "9"}, "data": {
        "hm_worker-0": null, "rsyslog_worker-0": null, "hm_worker-4": "172.23.0.97", "rsyslog_worker-4": "172.23.0.98"}});
    assert_eq!(found.writes, [Write::PatchMap(patch)]);
    // The parts may choose their own nodes.
    let own = octavia(
        json!({"nodeSelector": {"zone": "z0"}, "octaviaRsyslog": {"nodeSelector": {"zone": "z1"}}}),
    );
    let found = look(&own, Some(&nad(&json!({}))), &nodes(2), None, &[]);
    assert_eq!(map_of(&found)["data"].as_object().unwrap().len(), 4);
}

#[test]
fn somebody_elses_map_is_left_alone() {
    let own = octavia(json!({}));
    let map = json!({"metadata": {"resourceVersion": "3", "ownerReferences": [
        {"controller": true, "uid": "u9", "kind": "Octavia", "name": "other"}]}, "data": {}});
    let found = look(&own, Some(&nad(&json!({}))), &nodes(1), Some(&map), &[]);
    assert_eq!(found.writes, []);
    assert!(
        found.shortage.unwrap().contains("ConfigMap octavia-hmport-map belongs to Octavia other")
    );
}

#[test]
fn too_many_nodes_are_told() {
    let own = octavia(json!({}));
    let found = look(&own, Some(&nad(&json!({}))), &nodes(14), None, &[]);
    let done = Ended::Done(Found::default());
    let told = condition(&own, &found, Some(&done), Timestamp::UNIX_EPOCH);
    assert_eq!((told.status, told.severity), (ConditionStatus::False, Severity::Error));
    assert!(
        told.message.contains("predictable IPs: out of available addresses"),
        "{}",
        told.message
    );
    assert!(
        told.message.contains("172.23.0.97-172.23.0.122 has 26, and 14 nodes need 28"),
        "{}",
        told.message
    );
}

#[test]
fn pods_carry_their_address() {
    let own = octavia(json!({}));
    let pod = |name: &str, component: &str, node: Value, label: Value| {
        json!({"metadata": {"name": name, "uid": name, "labels": {"service": "octavia", "component": component, "predictableip": label}},
            "spec": {"nodeName": node}})
    };
    let pods = [
        pod("hm", "octavia-healthmanager", json!("worker-0"), Value::Null),
        pod("right", "octavia-healthmanager", json!("worker-1"), json!("172.23.0.99")),
        pod("wrong", "octavia-rsyslog", json!("worker-1"), json!("172.23.0.99")),
        pod("nowhere", "octavia-healthmanager", Value::Null, Value::Null),
        pod("worker", "octavia-worker", json!("worker-0"), Value::Null),
    ];
    let found = look(&own, Some(&nad(&json!({}))), &nodes(2), None, &pods);
    let labels: Vec<(&str, &Value)> = found
        .writes
        .iter()
        .filter_map(|write| match write {
            Write::LabelPod { pod, patch } => {
                Some((pod.as_str(), &patch["metadata"]["labels"]["predictableip"]))
            }
            _ => None,
        })
        .collect();
    assert_eq!(labels, [("hm", &json!("172.23.0.97")), ("wrong", &json!("172.23.0.100"))]);
}

#[test]
fn what_is_wrong_is_in_the_condition() {
    let wrong = nad(&json!({"routes": [{"dst": "172.24.0.0/16", "gw": "172.23.0.40"}]}));
    let own = octavia(json!({}));
    let rows = [
        (
            None,
            "Octavia Management Network setup error occured spec.octaviaNetworkAttachment: there is no NetworkAttachmentDefinition octavia",
        ),
        (
            Some(&wrong),
            "NetworkAttachmentDefinition octavia: spec.config (ipam.routes[0].gw): the router's address 172.23.0.40 lies in",
        ),
    ];
    for (nad, expected) in rows {
        let found = look(&own, nad, &nodes(1), None, &[]);
        assert!(found.task.is_none() && found.writes.is_empty());
        // Whatever was there before the attachment was changed.
        let done = Ended::Done(Found::default());
        let told = condition(&own, &found, Some(&done), Timestamp::UNIX_EPOCH);
        assert_eq!((told.status, told.severity), (ConditionStatus::False, Severity::Error));
        assert!(told.message.contains(expected), "{}", told.message);
    }
    let found = look(&own, Some(&nad(&json!({}))), &nodes(1), None, &[]);
    let tell = |ended: Option<&Ended>| condition(&own, &found, ended, Timestamp::UNIX_EPOCH);
    assert_eq!(tell(None).message, "Octavia Management Network setup is not initialized");
    let short =
        |is_passing| Ended::Short { why: "no".to_owned(), is_passing, found: Found::default() };
    assert_eq!(tell(Some(&short(true))).severity, Severity::Warning);
    assert_eq!(tell(Some(&short(false))).severity, Severity::Error);
    let done = tell(Some(&Ended::Done(Found::default())));
    assert_eq!(
        (done.status, done.message.as_str()),
        (ConditionStatus::True, "Octavia Management Network setup completed")
    );
    let noted = Found { note: Some("there is more".to_owned()), ..Found::default() };
    let noted = tell(Some(&Ended::Done(noted)));
    assert_eq!(noted.status, ConditionStatus::True);
    assert!(noted.message.ends_with("setup completed; there is more"), "{}", noted.message);
}

#[test]
fn conditions_of_others_stay() {
    let mut own = octavia(json!({}));
    let found = look(&own, Some(&nad(&json!({}))), &nodes(1), None, &[]);
    let told = condition(&own, &found, Some(&Ended::Done(Found::default())), Timestamp::UNIX_EPOCH);
    let condition = |type_: &str| {
        json!({"type": type_, "status": "True", "reason": "Ready", "message": "m",
        "lastTransitionTime": "2024-01-01T00:00:00Z"})
    };
    own["status"]["conditions"] =
        json!([condition("Ready"), condition("DeploymentReady"), condition("RoleReady")]);
    let patch = status_patch(&own, told.clone()).unwrap();
    assert_eq!(patch["metadata"]["resourceVersion"], "7");
    let list: Vec<Condition> =
        serde_json::from_value(patch["status"]["conditions"].clone()).unwrap();
    let types: Vec<&str> = list.iter().map(|c| c.type_.as_str()).collect();
    assert_eq!(types, ["Ready", "DeploymentReady", CONDITION, "RoleReady"]);
    own["status"] = patch["status"].clone();
    assert_eq!(status_patch(&own, told), None, "told once");
}

#[test]
fn who_goes_takes_its_networks_along_or_leaves_them() {
    let mut going = octavia(json!({}));
    going["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z".into();
    let task = |octavia: &Value| look(octavia, None, &nodes(1), None, &[]).task;
    assert_eq!(task(&going), Some(Task::Remove), "also without its attachment");
    going["metadata"]["annotations"] = json!({"landbridge.dev/on-delete": "detach"});
    assert_eq!(task(&going), Some(Task::LetGo));
    going["metadata"]["annotations"] = json!({});
    going["spec"] = json!({"lbMgmtNetwork": {"manageLbMgmtNetworks": false}});
    assert_eq!(task(&going), Some(Task::LetGo), "they are not ours");
    assert_eq!(
        release(&going),
        json!({"metadata": {"resourceVersion": "7", "finalizers": ["other"]}})
    );
    going["metadata"]["finalizers"] = json!(["other"]);
    assert_eq!(task(&going), None);
}
