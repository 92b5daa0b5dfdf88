//! Octavia's pods, as the seed shows them.

use landbridge_controllers::endpoints::kinds::Kind;
use landbridge_controllers::mirror::Key;
use serde_json::{Value, json};

use crate::support::{Scene, file, read};

fn plane(octavia: &Value, scene: &mut Scene) {
    for nad in read(&file("examples/seeds/001-octavia/20-nad-octavia.yaml")) {
        scene.apply(nad);
    }
    scene.apply(json!({"kind": "OpenStackControlPlane", "metadata": {"name": "controlplane"},
        "spec": {"octavia": {"enabled": true, "template": octavia}}}));
    scene.settle(true);
}

/// The seed's patch.
fn patch() -> Value {
    let patch = read(&file("examples/seeds/001-octavia/patches/controlplane.yaml"));
    patch[0]["spec"]["octavia"]["template"].clone()
}

fn pod<'s>(scene: &'s Scene, kind: Kind, name: &str) -> &'s Value {
    &scene.get(kind, name)["spec"]["template"]
}

#[test]
fn the_pods_are_the_seeds() {
    let mut scene = Scene::new();
    plane(&patch(), &mut scene);
    assert_eq!(scene.names(Kind::Deployment), ["octavia-api", "octavia-image-upload"]);
    let daemons = ["octavia-healthmanager", "octavia-housekeeping", "octavia-worker"];
    assert_eq!(scene.names(Kind::DaemonSet), daemons);
    // `2/2` in the seed's list.
    let containers =
        |kind, name| pod(&scene, kind, name)["spec"]["containers"].as_array().unwrap().len();
    assert_eq!(containers(Kind::Deployment, "octavia-api"), 2);
    for name in daemons {
        assert_eq!(containers(Kind::DaemonSet, name), 1);
        let template = pod(&scene, Kind::DaemonSet, name);
        let networks = &template["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"];
        assert_eq!(
            networks,
            r#"[{"name":"octavia","namespace":"openstack","interface":"octavia"}]"#
        );
        let env = json!([
            {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "MGMT_CIDR", "value": "172.24.0.0/16"},
            {"name": "MGMT_GATEWAY", "value": "172.23.0.150"},
        ]);
        assert_eq!(template["spec"]["containers"][0]["env"], env);
    }
    assert!(scene.condition(Kind::Octavia, "octavia", "Ready").starts_with("True"));
}

#[test]
fn who_talks_to_amphorae_is_attached_also_when_nobody_says_so() {
    let mut scene = Scene::new();
    let zones = json!({"availabilityZoneCIDRs": {"b": "172.26.0.0/24", "a": "172.25.0.0/24"}});
    plane(&json!({"octaviaRsyslog": {}, "lbMgmtNetwork": zones}), &mut scene);
    let template = pod(&scene, Kind::DaemonSet, "octavia-rsyslog");
    let networks =
        template["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"].as_str().unwrap();
    assert!(networks.contains(r#""name":"octavia""#), "{networks}");
    let env = template["spec"]["containers"][0]["env"].to_string();
    assert!(env.contains(r#"{"name":"MGMT_CIDR1","value":"172.26.0.0/24"}"#), "{env}");
}

/// The seed's patch before the seed's attachment: OVN has made one of that name, and gives it up.
#[test]
fn the_attachment_may_come_after_the_patch() {
    let mut scene = Scene::new();
    let patch = read(&file("examples/seeds/001-octavia/patches/controlplane.yaml"));
    scene.apply(json!({"kind": "OpenStackControlPlane", "metadata": {"name": "controlplane"}, "spec": patch[0]["spec"]}));
    scene.settle(true);
    let nad = Kind::NetworkAttachmentDefinition;
    let made = scene.get(nad, "octavia").clone();
    assert!(made["spec"]["config"].as_str().unwrap().contains("host-device"), "{made}");
    assert_eq!(made["metadata"]["ownerReferences"][0]["kind"], "OVNController");
    let theirs = read(&file("examples/seeds/001-octavia/20-nad-octavia.yaml")).remove(0);
    let config = theirs["spec"]["config"].clone();
    scene.apply(theirs);
    scene.settle(true);
    let found = scene.get(nad, "octavia").clone();
    assert_eq!(found["spec"]["config"], config, "what people say stands");
    assert_eq!(found["metadata"]["uid"], made["metadata"]["uid"]);
    assert!(found["metadata"]["ownerReferences"].as_array().is_none_or(Vec::is_empty), "{found}");
    let template = pod(&scene, Kind::DaemonSet, "octavia-healthmanager");
    let env = template["spec"]["containers"][0]["env"].to_string();
    assert!(env.contains("172.23.0.150"), "{env}");
    assert!(scene.condition(Kind::Octavia, "octavia", "Ready").starts_with("True"));
    // It is theirs, and stays when OVN goes.
    scene.apply(
        json!({"kind": "OpenStackControlPlane", "metadata": {"name": "controlplane"}, "spec": {}}),
    );
    scene.settle(true);
    assert_eq!(scene.get(nad, "octavia")["spec"]["config"], config);
}

/// Another controller tells how the networks are: it stays, and counts.
#[test]
fn the_condition_of_the_management_network_counts() {
    let mut scene = Scene::new();
    plane(&patch(), &mut scene);
    let type_ = "OctaviaManagementNetworkReady";
    for (status, severity, expected) in [("False", "Error", "False Error"), ("True", "", "True")] {
        let live = scene.get(Kind::Octavia, "octavia").clone();
        let mut list = live["status"]["conditions"].as_array().unwrap().clone();
        list.retain(|known| known["type"] != type_);
        let reason = if status == "True" { "Ready" } else { "Error" };
        list.push(json!({"type": type_, "status": status, "severity": severity, "reason": reason,
            "message": "somebody said so", "lastTransitionTime": "2024-01-01T00:00:00Z"}));
        let spot = (Kind::Octavia, Key::new("openstack", "octavia"));
        let patch = json!({"metadata": {"resourceVersion": live["metadata"]["resourceVersion"]},
            "status": {"conditions": list}});
        scene.server.patch(&spot, &patch, true, "landbridge-octavia").unwrap();
        scene.settle(true);
        let told = scene.condition(Kind::Octavia, "octavia", type_);
        assert!(told.starts_with(expected) && told.ends_with("somebody said so"), "{told}");
        let ready = scene.condition(Kind::Octavia, "octavia", "Ready");
        assert!(ready.starts_with(expected), "{ready}");
        let plane = scene.condition(
            Kind::OpenStackControlPlane,
            "controlplane",
            "OpenStackControlPlaneOctaviaReady",
        );
        assert!(plane.starts_with(status), "{plane}");
    }
}
