//! What is made of control planes and services, word by word.

use std::collections::BTreeSet;

use landbridge_controllers::endpoints::kinds::{Kind, Role};
use landbridge_controllers::endpoints::writes::Verb;
use landbridge_controllers::mirror::Key;
use serde_json::{Value, json};

use crate::operator::Operator;
use crate::support::{Scene, file, read, sample, snapshot};

/// Everything that was made, as a table: readable, and compared as a whole.
fn made(scene: &Scene) -> String {
    let mut lines = Vec::new();
    for ((kind, key), object) in &scene.server.objects {
        if kind.role() == Role::Plane || *kind == Kind::Pod {
            continue;
        }
        lines.push(format!("{} {}", kind.name(), key.name));
        let mut show = |what: &str, value: &Value| match value {
            Value::Null => {}
            Value::String(text) => lines.push(format!("  {what}: {text}")),
            Value::Object(map) => {
                lines.extend(map.iter().map(|(key, value)| format!("  {what} {key}: {value}")));
            }
            other => lines.push(format!("  {what}: {other}")),
        };
        show("annotation", &object["metadata"]["annotations"]);
        let spec = &object["spec"];
        match kind {
            Kind::Service => {
                show("label", &object["metadata"]["labels"]);
                show("type", &spec["type"]);
                let ports = spec["ports"].as_array().into_iter().flatten();
                let ports: Vec<String> = ports
                    .map(|port| {
                        let text = |field: &str| port[field].to_string().replace('"', "");
                        format!(
                            "{} {}/{} -> {}",
                            text("name"),
                            text("protocol"),
                            text("port"),
                            text("targetPort")
                        )
                    })
                    .collect();
                show("ports", &ports.join(", ").into());
            }
            Kind::Deployment | Kind::StatefulSet | Kind::DaemonSet => {
                show("replicas", &spec["replicas"]);
                show("pod", &spec["template"]["metadata"]["annotations"]);
            }
            Kind::Route
            | Kind::KeystoneEndpoint
            | Kind::NetworkAttachmentDefinition
            | Kind::DNSData => {
                show("spec", spec);
            }
            _ => {}
        }
        if kind.is_planned() {
            for field in ["apiEndpoints", "networkAttachments", "dbAddress"] {
                show(field, &object["status"][field]);
            }
            show("ready", &object["status"]["conditions"][0]["message"]);
        }
    }
    lines.join("\n") + "\n"
}

fn networks(scene: &mut Scene) {
    for name in ["internalapi", "storage", "tenant", "designate"] {
        scene.nad(name, None);
    }
}

/// All examples of the seed can be there at once: none stands under a name that the controller needs for
/// what it makes of the others. It would leave what is not its own alone, and have no pods.
#[test]
fn the_seeds_examples_live_together() {
    let folder = file("examples/seeds/000-networking");
    let mut scene = Scene::new();
    networks(&mut scene);
    let (mut given, mut asked) = (BTreeSet::new(), 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        for object in read(&entry.unwrap().path()) {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let kind = text(&object["kind"]);
            if ["Glance", "OpenStackControlPlane"].contains(&kind.as_str()) {
                scene.apply(object);
                asked += 1;
            } else if kind != "NetworkAttachmentDefinition" {
                given.insert((kind, text(&object["metadata"]["name"])));
            }
        }
    }
    assert!(asked == 2 && given.len() > 5, "{asked} and {given:?}");
    scene.settle(true);
    let made: BTreeSet<(String, String)> = scene
        .server
        .objects
        .keys()
        .map(|(kind, key)| (kind.name().to_owned(), key.name.to_string()))
        .collect();
    assert!(made.contains(&("Deployment".to_owned(), "glance-external-api".to_owned())));
    assert_eq!(made.intersection(&given).collect::<Vec<_>>(), Vec::<&(String, String)>::new());
}

#[test]
fn the_seeds_glance_and_message_buses() {
    let mut scene = Scene::new();
    networks(&mut scene);
    for name in ["80-glance.yaml", "90-openstackcontrolplane-rabbitmq.yaml"] {
        for object in read(&file("examples/seeds/000-networking").join(name)) {
            scene.apply(object);
        }
    }
    scene.settle(true);
    snapshot("endpoints/snapshots/seed.txt", &made(&scene));
    let service = scene.get(Kind::Service, "glance-internal");
    assert_eq!(
        service["metadata"]["annotations"],
        json!({
            "metallb.universe.tf/address-pool": "internalapi",
            "metallb.universe.tf/allow-shared-ip": "internalapi",
            "metallb.universe.tf/loadBalancerIPs": "172.17.0.80",
            "dnsmasq.network.openstack.org/hostname": "glance-internal.openstack.svc",
        })
    );
    let endpoints = &scene.get(Kind::KeystoneEndpoint, "glance")["spec"]["endpoints"];
    assert_eq!(
        *endpoints,
        json!({
            "internal": "http://glance-internal.openstack.svc:9292",
            "public": "http://glance-public-openstack.apps.landbridge.test",
        })
    );
    for (bus, address) in [("rabbitmq", "172.17.0.85"), ("rabbitmq-cell1", "172.17.0.86")] {
        let service = scene.get(Kind::Service, bus);
        let notes = &service["metadata"]["annotations"];
        assert_eq!(notes["metallb.universe.tf/loadBalancerIPs"], address);
        assert!(notes["metallb.universe.tf/allow-shared-ip"].is_null(), "nobody shares it");
        assert_eq!(service["status"]["loadBalancer"]["ingress"][0]["ip"], address);
    }
    let plane = scene.condition(Kind::OpenStackControlPlane, "openstack", "Ready");
    assert_eq!(plane, "True - Ready: Setup complete");
}

#[test]
fn our_own_example() {
    let mut scene = Scene::new();
    networks(&mut scene);
    scene.apply(read(&file("examples/plan/controlplane.yaml")).remove(0)).settle(true);
    snapshot("endpoints/snapshots/example.txt", &made(&scene));
    // `landbridge check` expects the Services that are made, on the same ports.
    let plane = scene.get(Kind::OpenStackControlPlane, "openstack");
    let expected = landbridge_api::foreign::openstack::read(
        plane,
        &mut landbridge_api::foreign::Trouble::default(),
    );
    assert!(expected.exposures.len() > 10);
    // The engine of Heat serves nothing, whatever its override says.
    for exposure in expected.exposures.iter().filter(|exposure| !exposure.ports.is_empty()) {
        let service = scene.get(Kind::Service, &exposure.service);
        let ports = service["spec"]["ports"].as_array().unwrap().iter();
        let mut ports: Vec<(String, u64)> = ports
            .map(|port| {
                (port["protocol"].as_str().unwrap().to_owned(), port["port"].as_u64().unwrap())
            })
            .collect();
        let said =
            exposure.ports.iter().map(|port| (port.protocol.to_owned(), u64::from(port.number)));
        let mut said: Vec<(String, u64)> = said.collect();
        ports.sort();
        said.sort();
        assert_eq!(ports, said, "{}", exposure.service);
    }
    let ready = scene.condition(Kind::OpenStackControlPlane, "openstack", "Ready");
    assert_eq!(ready, "True - Ready: Setup complete");
}

/// Upstream's samples, of both generations, as they are.
#[test]
fn upstreams_samples_become_ready() {
    let cases: [(&str, &str, &[&str]); 3] = [
        (
            "network_isolation.yaml",
            "https",
            &[
                "barbican-internal",
                "cinder-internal",
                "glance-default-internal",
                "keystone-internal",
                "neutron-internal",
                "nova-internal",
                "nova-metadata-internal",
                "placement-internal",
                "swift-internal",
            ],
        ),
        (
            "network_isolation_ceph.yaml",
            "https",
            &[
                "barbican-internal",
                "cinder-internal",
                "glance-default-internal",
                "keystone-internal",
                "neutron-internal",
                "nova-internal",
                "nova-metadata-internal",
                "placement-internal",
            ],
        ),
        (
            "network_isolation_2023.yaml",
            "http",
            &[
                "cinder-internal",
                "glance-internal",
                "keystone-internal",
                "neutron-internal",
                "nova-internal",
                "nova-metadata-internal",
                "placement-internal",
            ],
        ),
    ];
    for (name, scheme, shared) in cases {
        let Some(manifests) = sample(&format!("openstack-operator/{name}")) else { continue };
        let mut scene = Scene::new();
        networks(&mut scene);
        for manifest in manifests {
            scene.apply(manifest);
        }
        scene.settle(true);
        let plane = scene.names(Kind::OpenStackControlPlane)[0].to_owned();
        let ready = scene.condition(Kind::OpenStackControlPlane, &plane, "Ready");
        assert_eq!(ready, "True - Ready: Setup complete", "{name}");
        let on = |address: &str| -> Vec<&str> {
            let all = scene.names(Kind::Service).into_iter();
            all.filter(|service| {
                let service = scene.get(Kind::Service, service);
                service["status"]["loadBalancer"]["ingress"][0]["ip"] == address
            })
            .collect()
        };
        assert_eq!(on("172.17.0.80"), shared, "{name}");
        assert_eq!(on("172.17.0.85"), ["rabbitmq"], "{name}");
        assert_eq!(on("172.17.0.86"), ["rabbitmq-cell1"], "{name}");
        assert_eq!(on("192.168.122.80").len(), 1, "{name}");
        let nova = &scene.get(Kind::KeystoneEndpoint, "nova")["spec"]["endpoints"];
        assert_eq!(
            nova["public"],
            format!("{scheme}://nova-public-openstack.apps.landbridge.test/v2.1")
        );
        assert_eq!(nova["internal"], "http://nova-internal.openstack.svc:8774/v2.1");
        assert!(!scene.names(Kind::Route).contains(&"keystone-internal"));
        assert!(scene.names(Kind::Route).contains(&"keystone-public"));
        // Off unless asked for, and this does not ask.
        assert!(!scene.names(Kind::Service).contains(&"manila-internal"), "{name}");
        let controller = scene.get(Kind::DaemonSet, "ovn-controller");
        assert_eq!(
            controller["spec"]["template"]["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"],
            r#"[{"name":"tenant","namespace":"openstack","interface":"tenant"}]"#
        );
    }
}

#[test]
fn attachments_are_asked_for_as_upstream_does() {
    let mut scene = Scene::new();
    scene.nad("internalapi", Some("172.17.0.1")).nad("storage-network-one", None);
    let spec = json!({"networkAttachments": ["internalapi", "storage-network-one"]});
    scene
        .apply(json!({"kind": "NeutronAPI", "metadata": {"name": "neutron"}, "spec": spec}))
        .alone();
    let pods = |scene: &Scene, kind, name: &str| {
        let object = scene.get(kind, name);
        object["spec"]["template"]["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"].clone()
    };
    assert_eq!(
        pods(&scene, Kind::Deployment, "neutron"),
        r#"[{"name":"internalapi","namespace":"openstack","interface":"internalapi","default-route":["172.17.0.1"]},{"name":"storage-network-one","namespace":"openstack","interface":"storage-network"}]"#
    );
    scene
        .apply(json!({"kind": "KeystoneAPI", "metadata": {"name": "keystone"}, "spec": {}}))
        .alone();
    assert_eq!(pods(&scene, Kind::Deployment, "keystone"), "[]");
}

#[test]
fn a_public_endpoint_may_have_a_virtual_address() {
    for (spec, url) in [
        (
            json!({"externalEndpoints": [{"endpoint": "public", "ipAddressPool": "external", "loadBalancerIPs": ["10.0.0.80"]}]}),
            "http://placement-public.openstack.svc:8778",
        ),
        (
            json!({"override": {"service": {"public": {"spec": {"type": "LoadBalancer"},
                "metadata": {"annotations": {"metallb.universe.tf/loadBalancerIPs": "10.0.0.80"}}}}}}),
            "http://placement-public.openstack.svc:8778",
        ),
        (
            json!({"override": {"service": {"public": {"endpointURL": "https://placement.example.com/",
                "spec": {"type": "LoadBalancer"}}}}}),
            "https://placement.example.com",
        ),
    ] {
        let mut scene = Scene::new();
        scene.apply(
            json!({"kind": "PlacementAPI", "metadata": {"name": "placement"}, "spec": spec}),
        );
        scene.settle(true);
        assert_eq!(scene.names(Kind::Route), [""; 0], "{spec}");
        let endpoints = &scene.get(Kind::KeystoneEndpoint, "placement")["spec"]["endpoints"];
        assert_eq!(endpoints["public"], url);
        assert_eq!(endpoints["internal"], "http://placement-internal.openstack.svc:8778");
        // Back to a Route.
        scene
            .apply(json!({"kind": "PlacementAPI", "metadata": {"name": "placement"}, "spec": {}}))
            .settle(true);
        let service = scene.get(Kind::Service, "placement-public");
        assert_eq!(service["spec"]["type"], "ClusterIP");
        assert!(service["spec"]["externalTrafficPolicy"].is_null());
        let notes = &service["metadata"]["annotations"];
        assert!(notes["metallb.universe.tf/loadBalancerIPs"].is_null(), "{notes}");
        assert!(notes["dnsmasq.network.openstack.org/hostname"].is_null());
        assert_eq!(scene.names(Kind::Route), ["placement-public"]);
    }
}

#[test]
fn a_changed_address_takes_effect_and_the_user_wins() {
    let mut scene = Scene::new();
    let spec = |address: &str, sharing: Option<&str>| {
        let mut annotations =
            json!({"metallb.universe.tf/loadBalancerIPs": address, "endpoint": "mine"});
        if let Some(key) = sharing {
            annotations["metallb.universe.tf/allow-shared-ip"] = key.into();
        }
        let metadata =
            json!({"annotations": annotations, "labels": {"service": "other", "mine": "1"}});
        let service = json!({"metadata": metadata,
            "spec": {"type": "LoadBalancer", "sessionAffinity": "ClientIP"}});
        json!({"kind": "KeystoneAPI", "metadata": {"name": "keystone"},
            "spec": {"override": {"service": {"internal": service}}}})
    };
    scene.apply(spec("172.17.0.80", Some("a"))).settle(true);
    // Somebody else adds something, which stays.
    let spot =
        (Kind::Service, landbridge_controllers::mirror::Key::new("openstack", "keystone-internal"));
    let patch = json!({"metadata": {"annotations": {"theirs": "1"}}});
    scene.server.patch(&spot, &patch, false, "user").unwrap();
    scene.apply(spec("172.17.0.81", None)).settle(true);
    let service = scene.get(Kind::Service, "keystone-internal");
    assert_eq!(
        service["metadata"]["annotations"],
        json!({
            "metallb.universe.tf/loadBalancerIPs": "172.17.0.81", "endpoint": "mine", "theirs": "1",
            "core.openstack.org/ingress_create": "false",
            "dnsmasq.network.openstack.org/hostname": "keystone-internal.openstack.svc",
        })
    );
    assert_eq!(service["metadata"]["labels"]["service"], "other", "labels, too");
    assert_eq!(service["spec"]["selector"]["service"], "keystone", "but not the selector");
    assert_eq!(service["spec"]["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"], 10800);
    assert_eq!(service["status"]["loadBalancer"]["ingress"][0]["ip"], "172.17.0.81");
}

#[test]
fn both_families_ask_for_both() {
    let mut scene = Scene::new();
    let endpoint = json!({"endpoint": "internal", "ipAddressPool": "p", "loadBalancerIPs": ["172.17.0.80", "fd00::80"], "sharedIPKey": "k"});
    scene.apply(json!({"kind": "KeystoneAPI", "metadata": {"name": "keystone"}, "spec": {"externalEndpoints": [endpoint]}}));
    scene.alone();
    let service = scene.get(Kind::Service, "keystone-internal");
    assert_eq!(service["spec"]["ipFamilyPolicy"], "PreferDualStack");
    let notes = &service["metadata"]["annotations"];
    assert_eq!(notes["metallb.universe.tf/loadBalancerIPs"], "172.17.0.80,fd00::80");
    assert_eq!(notes["metallb.universe.tf/allow-shared-ip"], "k");
    assert_eq!(service["metadata"]["labels"]["internal"], "true");
}

#[test]
fn physical_networks_become_definitions() {
    let mut scene = Scene::new();
    scene.nad("tenant", None);
    let spec = json!({"networkAttachment": "tenant", "nicMappings": {"datacentre": "ospbr", "octavia": "octbr"}});
    scene
        .apply(
            json!({"kind": "OVNController", "metadata": {"name": "ovncontroller"}, "spec": spec}),
        )
        .settle(true);
    let nad = scene.get(Kind::NetworkAttachmentDefinition, "datacentre");
    assert_eq!(
        nad["spec"]["config"],
        r#"{"cniVersion":"0.3.1","name":"datacentre","type":"host-device","device":"ospbr"}"#
    );
    let pods =
        scene.get(Kind::DaemonSet, "ovn-controller")["spec"]["template"]["metadata"]["annotations"]
            ["k8s.v1.cni.cncf.io/networks"]
            .to_string();
    let order: Vec<usize> =
        ["datacentre", "octavia", "tenant"].iter().map(|n| pods.find(n).unwrap()).collect();
    assert!(order.is_sorted(), "{pods}");
    // Changed, and one taken away.
    let spec = json!({"networkAttachment": "tenant", "nicMappings": {"datacentre": "enp7s0"}});
    scene
        .apply(
            json!({"kind": "OVNController", "metadata": {"name": "ovncontroller"}, "spec": spec}),
        )
        .settle(true);
    let nad = scene.get(Kind::NetworkAttachmentDefinition, "datacentre");
    assert!(nad["spec"]["config"].as_str().unwrap().contains("enp7s0"));
    assert_eq!(scene.names(Kind::NetworkAttachmentDefinition), ["datacentre", "tenant"]);
}

#[test]
fn definitions_of_others_are_used_untouched() {
    let mut scene = Scene::new();
    scene.nad("datacentre", None);
    let before = scene.get(Kind::NetworkAttachmentDefinition, "datacentre").clone();
    let spec = json!({"nicMappings": {"datacentre": "ospbr"}});
    scene
        .apply(
            json!({"kind": "OVNController", "metadata": {"name": "ovncontroller"}, "spec": spec}),
        )
        .settle(true);
    assert_eq!(*scene.get(Kind::NetworkAttachmentDefinition, "datacentre"), before);
    assert_eq!(
        scene.condition(Kind::OVNController, "ovncontroller", "Ready"),
        "True - Ready: Setup complete"
    );
    scene.delete(Kind::OVNController, "ovncontroller").settle(true);
    assert_eq!(*scene.get(Kind::NetworkAttachmentDefinition, "datacentre"), before);
}

#[test]
fn a_bond_finds_its_links_in_the_pod() {
    let mut scene = Scene::new();
    let spec = json!({"nicMappings": {"datacentre": "bond0"}, "bondConfiguration": {"bond0": {"links": ["enp7s0", "enp8s0"]}}});
    scene
        .apply(json!({"kind": "OVNController", "metadata": {"name": "c"}, "spec": spec}))
        .settle(true);
    let config =
        scene.get(Kind::NetworkAttachmentDefinition, "datacentre")["spec"]["config"].clone();
    let config: Value = serde_json::from_str(config.as_str().unwrap()).unwrap();
    assert_eq!(
        (&config["type"], &config["mode"], &config["mtu"]),
        (&json!("bond"), &json!("active-backup"), &json!(1500))
    );
    assert_eq!(config["links"], json!([{"name": "enp7s0"}, {"name": "enp8s0"}]));
    let pods =
        scene.get(Kind::DaemonSet, "ovn-controller")["spec"]["template"]["metadata"]["annotations"]
            ["k8s.v1.cni.cncf.io/networks"]
            .to_string();
    assert!(pods.find("enp7s0").unwrap() < pods.find("datacentre").unwrap(), "{pods}");
}

#[test]
fn databases_are_found_by_name_or_by_address() {
    let mut scene = Scene::new();
    scene.nad("internalapi", None);
    let spec = json!({"dbType": "SB", "networkAttachment": "internalapi", "replicas": 3});
    scene
        .apply(
            json!({"kind": "OVNDBCluster", "metadata": {"name": "ovndbcluster-sb"}, "spec": spec}),
        )
        .settle(true);
    let status = &scene.get(Kind::OVNDBCluster, "ovndbcluster-sb")["status"];
    assert_eq!(status["dbAddress"], "tcp:ovsdbserver-sb.openstack.svc:6642");
    assert_eq!(
        status["networkAttachments"]["openstack/internalapi"],
        json!(["10.1.0.1", "10.1.0.2", "10.1.0.3"])
    );
    let names = &scene.get(Kind::DNSData, "ovsdbserver-sb")["spec"];
    assert_eq!(
        names["hosts"][2],
        json!({"ip": "10.1.0.3", "hostnames": ["ovsdbserver-sb.openstack.svc"]})
    );
    assert_eq!(names["dnsDataLabelSelectorValue"], "dnsdata");
    let pods = &scene.get(Kind::StatefulSet, "ovsdbserver-sb")["spec"]["template"]["metadata"]["annotations"];
    assert_eq!(pods["landbridge.dev/sticky"], "true");
    // With an address of its own, the Service gives the name.
    let mut balanced = spec.clone();
    balanced["override"] = json!({"service": {"spec": {"type": "LoadBalancer"}}});
    scene.apply(json!({"kind": "OVNDBCluster", "metadata": {"name": "ovndbcluster-sb"}, "spec": balanced})).settle(true);
    assert_eq!(scene.names(Kind::DNSData), [""; 0]);
    // The first generation lists the addresses.
    let mut scene = Scene::new();
    scene.nad("internalapi", None);
    scene.apply(json!({"kind": "OVNDBCluster", "metadata": {"name": "n", "annotations": {"landbridge.dev/api-generation": "first"}},
        "spec": {"dbType": "NB", "networkAttachment": "internalapi", "replicas": 2}})).settle(true);
    let status = &scene.get(Kind::OVNDBCluster, "n")["status"];
    assert_eq!(status["dbAddress"], "tcp:10.1.0.1:6641,tcp:10.1.0.2:6641");
}

#[test]
fn routes_are_as_the_control_plane_wants_them() {
    let mut scene = Scene::new();
    let plane = |tls: Value| {
        json!({"kind": "OpenStackControlPlane", "metadata": {"name": "openstack"}, "spec": {"tls": tls, "keystone": {
            "apiOverride": {"route": {"metadata": {"labels": {"router": "a"}}, "spec": {"host": "keystone.example.com"}}},
            "template": {}}}})
    };
    scene.apply(plane(json!({}))).settle(true);
    let route = scene.get(Kind::Route, "keystone-public");
    assert_eq!(route["spec"]["host"], "keystone.example.com");
    assert_eq!(route["metadata"]["labels"]["router"], "a");
    assert_eq!(
        route["spec"]["tls"],
        json!({"termination": "edge", "insecureEdgeTerminationPolicy": "Redirect"})
    );
    let kinds: Vec<&Value> = route["metadata"]["ownerReferences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|o| &o["kind"])
        .collect();
    assert_eq!(kinds, ["OpenStackControlPlane", "KeystoneAPI"]);
    assert_eq!(
        scene.get(Kind::KeystoneAPI, "keystone")["status"]["apiEndpoints"],
        json!({"public": "https://keystone.example.com", "internal": "http://keystone-internal.openstack.svc:5000"})
    );
    scene.apply(plane(json!({"ingress": {"enabled": false}}))).settle(true);
    assert!(scene.get(Kind::Route, "keystone-public")["spec"]["tls"].is_null());
    scene.apply(plane(json!({"podLevel": {"enabled": true}}))).settle(true);
    assert_eq!(
        scene.get(Kind::Route, "keystone-public")["spec"]["tls"]["termination"],
        "reencrypt"
    );
    let urls = &scene.get(Kind::KeystoneAPI, "keystone")["status"]["apiEndpoints"];
    assert_eq!(urls["internal"], "https://keystone-internal.openstack.svc:5000");
}

#[test]
fn what_a_section_no_longer_says_goes() {
    let mut scene = Scene::new();
    networks(&mut scene);
    let plane = |keystone: Value, glance: Value| {
        json!({"kind": "OpenStackControlPlane", "metadata": {"name": "openstack"},
            "spec": {"nodeSelector": {"role": "control"}, "keystone": keystone, "glance": glance}})
    };
    let attached = json!({"template": {"networkAttachments": ["internalapi"]}});
    scene.apply(plane(attached, json!({"template": {}}))).settle(true);
    assert_eq!(scene.names(Kind::KeystoneEndpoint), ["glance"]);
    let template = &scene.get(Kind::Deployment, "keystone")["spec"]["template"]["spec"];
    assert_eq!(template["nodeSelector"], json!({"role": "control"}));
    scene
        .apply(plane(json!({"template": {"nodeSelector": {}}}), json!({"enabled": false})))
        .settle(true);
    let template = &scene.get(Kind::Deployment, "keystone")["spec"]["template"];
    assert_eq!(template["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"], "[]");
    assert_eq!(template["spec"]["nodeSelector"], json!({}));
    for kind in [Kind::Glance, Kind::KeystoneEndpoint, Kind::KeystoneService] {
        assert_eq!(scene.names(kind), [""; 0], "{kind:?}");
    }
    assert_eq!(scene.names(Kind::Service), ["keystone-internal", "keystone-public"]);
    assert_eq!(scene.names(Kind::Route), ["keystone-public"]);
}

#[test]
fn it_goes_in_order_and_takes_nothing_else() {
    let mut scene = Scene::new();
    networks(&mut scene);
    scene.apply(read(&file("examples/plan/controlplane.yaml")).remove(0));
    scene.apply(json!({"kind": "Service", "metadata": {"name": "theirs"}, "spec": {"type": "ClusterIP", "ports": []}}));
    scene.settle(true);
    scene.delete(Kind::OpenStackControlPlane, "openstack").settle(true);
    let left: Vec<String> = scene
        .server
        .objects
        .keys()
        .map(|(kind, key)| format!("{} {}", kind.name(), key.name))
        .collect();
    assert_eq!(
        left,
        [
            "Service theirs",
            "NetworkAttachmentDefinition designate",
            "NetworkAttachmentDefinition internalapi",
            "NetworkAttachmentDefinition storage",
            "NetworkAttachmentDefinition tenant"
        ]
    );
    let order: Vec<Kind> = scene.server.deletions.iter().map(|(kind, _)| *kind).collect();
    let first = |kind| order.iter().position(|other| *other == kind).unwrap();
    let last = |kind| order.iter().rposition(|other| *other == kind).unwrap();
    assert!(last(Kind::Nova) < first(Kind::KeystoneAPI));
    assert!(first(Kind::KeystoneAPI) < first(Kind::OVNDBCluster));
    assert!(last(Kind::OVNDBCluster) < first(Kind::RabbitMq));
    assert!(last(Kind::RabbitMq) < first(Kind::DNSMasq));
}

#[test]
fn sections_that_are_switched_off_go_in_the_same_order() {
    let mut scene = Scene::new();
    networks(&mut scene);
    let mut plane = read(&file("examples/plan/controlplane.yaml")).remove(0);
    scene.apply(plane.clone()).settle(true);
    assert_eq!(scene.server.deletions, []);
    let sections = plane["spec"].as_object_mut().unwrap().iter_mut();
    for (_, section) in sections.filter(|(name, _)| !["rabbitmq", "dns"].contains(&name.as_str())) {
        if section["template"].is_object() || section["templates"].is_object() {
            section["enabled"] = false.into();
        }
    }
    scene.apply(plane).settle(true);
    let order: Vec<Kind> = scene.server.deletions.iter().map(|(kind, _)| *kind).collect();
    let first = |kind| order.iter().position(|other| *other == kind).unwrap();
    let last = |kind| order.iter().rposition(|other| *other == kind).unwrap();
    assert!(last(Kind::Nova) < first(Kind::KeystoneAPI));
    assert!(first(Kind::KeystoneAPI) < first(Kind::OVNController));
    assert!(last(Kind::OVNController) < first(Kind::OVNDBCluster));
    assert!(!order.contains(&Kind::RabbitMq) && !order.contains(&Kind::DNSMasq));
    assert_eq!(scene.names(Kind::KeystoneAPI), [""; 0]);
    assert_eq!(scene.names(Kind::DNSMasq).len(), 1);
}

#[test]
fn it_goes_as_fast_as_its_parts() {
    let mut scene = Scene::new();
    networks(&mut scene);
    scene.apply(read(&file("examples/plan/controlplane.yaml")).remove(0)).settle(true);
    scene.delete(Kind::OpenStackControlPlane, "openstack");
    let rounds = scene.settle_at_once();
    assert_eq!(scene.names(Kind::OpenStackControlPlane), [""; 0]);
    // Every stage of the control plane takes as long as the stages of its services, and no longer.
    let stages = |kind: Kind| kind.makes().len();
    let most = stages(Kind::OpenStackControlPlane) * (stages(Kind::Nova) + 3);
    assert!(rounds <= most, "{rounds} rounds, at most {most} are needed");
}

#[test]
fn what_was_created_without_an_answer_is_read_before_keystone_goes() {
    let Scene { mut server, mut operator, now, .. } = Scene::new();
    let mut chance = crate::chance::Chance::new(1);
    let plane = json!({"metadata": {"name": "openstack", "namespace": "openstack"},
        "spec": {"keystone": {"template": {}}, "glance": {"template": {}}}});
    server.create(Kind::OpenStackControlPlane, plane, "user").unwrap();
    // First its finalizer, then its services.
    for _ in 0..2 {
        operator.hear(&server, Kind::OpenStackControlPlane, usize::MAX);
        let decided = operator.decide(now, 1);
        if decided.iter().any(|task| task.action.kind == Kind::Glance) {
            operator.create_without_answer(&mut server, Kind::Glance, now);
        }
        while operator.is_busy() {
            operator.write(&mut server, &mut chance, now, false);
        }
    }
    assert!(server.get(Kind::Glance, "glance").is_some());
    let spot = (Kind::OpenStackControlPlane, Key::new("openstack", "openstack"));
    server.delete(&spot, None).unwrap();
    // The watch of Glance is late.
    operator.hear(&server, Kind::OpenStackControlPlane, usize::MAX);
    let later = now.checked_add(jiff::SignedDuration::from_secs(60)).unwrap();
    let of_plane = |operator: &mut Operator| -> Vec<(Kind, Verb)> {
        let mut decided = operator.decide(later, usize::MAX);
        decided.retain(|task| task.item.0 == Kind::OpenStackControlPlane);
        decided.into_iter().map(|task| (task.action.kind, task.action.verb)).collect()
    };
    assert_eq!(of_plane(&mut operator), [(Kind::Glance, Verb::Read)]);
    while operator.is_busy() {
        operator.write(&mut server, &mut chance, later, false);
    }
    let next = of_plane(&mut operator);
    assert!(matches!(&next[..], [(Kind::Glance, Verb::Delete { .. })]), "{next:?}");
}
