//! What conditions say, in upstream's words.

use landbridge_controllers::endpoints::kinds::Kind;
use landbridge_controllers::mirror::Key;
use serde_json::{Value, json};

use crate::support::Scene;

fn neutron(spec: &Value) -> Value {
    json!({"kind": "NeutronAPI", "metadata": {"name": "neutron"}, "spec": spec})
}

#[test]
fn a_missing_attachment_is_named_and_picked_up_when_it_comes() {
    for (generation, expected) in [
        ("today", "False Warning Error: NetworkAttachment resources missing: internalapi"),
        ("first", "False Info Requested: NetworkAttachment resources missing: internalapi"),
    ] {
        let mut scene = Scene::new();
        let mut object = neutron(&json!({"networkAttachments": ["internalapi"]}));
        object["metadata"]["annotations"] = json!({"landbridge.dev/api-generation": generation});
        scene.apply(object).settle(true);
        let said =
            |scene: &Scene| scene.condition(Kind::NeutronAPI, "neutron", "NetworkAttachmentsReady");
        assert_eq!(said(&scene), expected);
        assert_eq!(scene.names(Kind::Deployment), [""; 0], "not started without its network");
        assert_eq!(scene.names(Kind::Service).len(), 2, "but known already");
        scene.nad("internalapi", None).settle(true);
        assert_eq!(said(&scene), "True - Ready: NetworkAttachments completed");
        assert_eq!(
            scene.condition(Kind::NeutronAPI, "neutron", "Ready"),
            "True - Ready: Setup complete"
        );
        // It goes: the pods stay as they are.
        scene.delete(Kind::NetworkAttachmentDefinition, "internalapi").settle(true);
        assert_eq!(said(&scene), expected);
        assert_eq!(scene.names(Kind::Deployment), ["neutron"]);
    }
}

#[test]
fn an_unreadable_attachment_is_told() {
    let mut scene = Scene::new();
    scene.apply(json!({"kind": "NetworkAttachmentDefinition", "metadata": {"name": "internalapi"}, "spec": {"config": "{"}}));
    scene.apply(neutron(&json!({"networkAttachments": ["internalapi"]}))).settle(true);
    let said = scene.condition(Kind::NeutronAPI, "neutron", "NetworkAttachmentsReady");
    assert!(
        said.starts_with(
            "False Warning Error: NetworkAttachments error occurred failed to unmarshal JSON data: "
        ),
        "{said}"
    );
    // An empty one is fine.
    scene.apply(json!({"kind": "NetworkAttachmentDefinition", "metadata": {"name": "internalapi"}, "spec": {"config": ""}})).settle(true);
    let said = scene.condition(Kind::NeutronAPI, "neutron", "NetworkAttachmentsReady");
    assert_eq!(said, "True - Ready: NetworkAttachments completed");
}

#[test]
fn pods_without_their_addresses_are_told() {
    let mut scene = Scene::new();
    scene.nad("internalapi", None).nad("storage", None);
    scene
        .apply(neutron(&json!({"networkAttachments": ["internalapi", "storage"], "replicas": 2})))
        .settle(true);
    let spot = (Kind::Pod, Key::new("openstack", "neutron-1"));
    let status = json!([{"name": "cluster", "ips": ["10.0.0.2"]}, {"name": "openstack/internalapi", "ips": ["10.1.0.2", "fd00::2"]}]);
    let patch = json!({"metadata": {"annotations": {"k8s.v1.cni.cncf.io/network-status": status.to_string()}}});
    scene.server.patch(&spot, &patch, false, "somebody").unwrap();
    scene.alone();
    assert_eq!(
        scene.condition(Kind::NeutronAPI, "neutron", "NetworkAttachmentsReady"),
        "False Warning Error: NetworkAttachments error occurred not all pods have interfaces with ips as configured in NetworkAttachments: [internalapi storage]"
    );
    let networks = &scene.get(Kind::NeutronAPI, "neutron")["status"]["networkAttachments"];
    assert_eq!(networks["openstack/internalapi"], json!(["10.1.0.1", "10.1.0.2", "fd00::2"]));
    assert_eq!(networks["cluster"], json!(["10.0.0.1", "10.0.0.2"]));
}

#[test]
fn a_pending_address_is_told_with_the_reason() {
    let mut scene = Scene::new();
    let bus = |name: &str| {
        json!({"kind": "RabbitMq", "metadata": {"name": name}, "spec": {"override": {"service": {
            "metadata": {"annotations": {"metallb.universe.tf/loadBalancerIPs": "172.17.0.85"}},
            "spec": {"type": "LoadBalancer"}}}}})
    };
    scene.apply(bus("rabbitmq")).alone();
    let said =
        |scene: &Scene, name: &str| scene.condition(Kind::RabbitMq, name, "CreateServiceReady");
    assert_eq!(
        said(&scene, "rabbitmq"),
        "False Warning Error: Create service error occurred resource is not ready: rabbitmq LoadBalancer IP still pending"
    );
    scene.settle(true).apply(bus("rabbitmq-cell1")).settle(true);
    assert_eq!(said(&scene, "rabbitmq"), "True - Ready: Create service completed");
    assert_eq!(
        said(&scene, "rabbitmq-cell1"),
        "False Warning Error: Create service error occurred resource is not ready: rabbitmq-cell1 LoadBalancer IP still pending: \
         172.17.0.85 is held by openstack/rabbitmq, which listens on TCP/5672, TCP/5671, TCP/15672, TCP/15671 as well"
    );
}

#[test]
fn what_others_made_is_left_alone() {
    let mut scene = Scene::new();
    let theirs = json!({"kind": "Service", "metadata": {"name": "neutron-internal"}, "spec": {"type": "ClusterIP", "ports": []}});
    scene.apply(theirs).settle(true);
    let before = scene.get(Kind::Service, "neutron-internal").clone();
    scene.apply(neutron(&json!({}))).settle(true);
    assert_eq!(*scene.get(Kind::Service, "neutron-internal"), before);
    assert_eq!(
        scene.condition(Kind::NeutronAPI, "neutron", "CreateServiceReady"),
        "False Warning Error: Create service error occurred Service neutron-internal was made by somebody else: it is left alone; delete it, or name one of the two differently"
    );
    scene.delete(Kind::Service, "neutron-internal").settle(true);
    assert_eq!(
        scene.condition(Kind::NeutronAPI, "neutron", "Ready"),
        "True - Ready: Setup complete"
    );
}

#[test]
fn a_service_that_was_there_before_is_not_taken_over() {
    let mut scene = Scene::new();
    scene.apply(neutron(&json!({}))).settle(true);
    let plane = json!({"kind": "OpenStackControlPlane", "metadata": {"name": "openstack"}, "spec": {"neutron": {"template": {"networkAttachments": ["x"]}}}});
    scene.apply(plane).settle(true);
    assert_eq!(scene.get(Kind::NeutronAPI, "neutron")["spec"], json!({}));
    assert_eq!(
        scene.condition(
            Kind::OpenStackControlPlane,
            "openstack",
            "OpenStackControlPlaneNeutronReady"
        ),
        "False Error Error: OpenStackControlPlane Neutron error occured NeutronAPI neutron: NeutronAPI neutron was made by somebody else: it is left alone; delete it, or name one of the two differently"
    );
}

#[test]
fn the_control_plane_says_which_section_waits_for_what() {
    let mut scene = Scene::new();
    let plane = json!({"kind": "OpenStackControlPlane", "metadata": {"name": "openstack"}, "spec": {
        "keystone": {"template": {}}, "neutron": {"template": {"networkAttachments": ["internalapi"]}}}});
    scene.apply(plane).settle(true);
    let said = |scene: &Scene, type_: &str| {
        scene.condition(Kind::OpenStackControlPlane, "openstack", type_)
    };
    assert_eq!(
        said(&scene, "OpenStackControlPlaneKeystoneAPIReady"),
        "True - Ready: OpenStackControlPlane KeystoneAPI completed"
    );
    assert_eq!(
        said(&scene, "OpenStackControlPlaneExposeKeystoneAPIReady"),
        "True - Ready: OpenStackControlPlane KeystoneAPI service exposed"
    );
    let waits = "False Warning Error: OpenStackControlPlane Neutron error occured NeutronAPI neutron: NetworkAttachment resources missing: internalapi";
    assert_eq!(said(&scene, "OpenStackControlPlaneNeutronReady"), waits);
    assert_eq!(said(&scene, "Ready"), waits);
    // The ingress refuses a Route.
    let spot = (Kind::Route, Key::new("openstack", "keystone-public"));
    let refused = json!({"status": {"ingress": [{"conditions": [{"type": "Admitted", "status": "False", "reason": "HostAlreadyClaimed"}]}]}});
    scene.server.patch(&spot, &refused, true, "ingress").unwrap();
    scene.settle(true);
    assert_eq!(
        said(&scene, "OpenStackControlPlaneExposeKeystoneAPIReady"),
        "False Warning Error: OpenStackControlPlane KeystoneAPI route keystone-public admission failed: HostAlreadyClaimed"
    );
}

#[test]
fn an_endpoint_that_an_api_does_not_have_is_told() {
    let mut scene = Scene::new();
    let block = |endpoint: &str| json!([{"endpoint": endpoint, "ipAddressPool": "internalapi"}]);
    let spec = json!({"glanceAPIInternal": {"externalEndpoints": block("public")}});
    scene
        .apply(json!({"kind": "Glance", "metadata": {"name": "glance"}, "spec": spec}))
        .settle(true);
    assert_eq!(
        scene.condition(Kind::Glance, "glance", "InputReady"),
        "False Error Error: Input data error occurred glanceAPIInternal.externalEndpoints: this API has only the internal endpoint, not public"
    );
    let service = scene.get(Kind::Service, "glance-internal");
    assert_eq!(service["spec"]["ports"][0]["port"], 9292, "and no Service with port 0");
}

#[test]
fn times_stay_as_long_as_nothing_changes() {
    let mut scene = Scene::new();
    scene.apply(neutron(&json!({}))).settle(true);
    let before = scene.get(Kind::NeutronAPI, "neutron").clone();
    scene.nad("unrelated", None).settle(true);
    assert_eq!(*scene.get(Kind::NeutronAPI, "neutron"), before);
}
