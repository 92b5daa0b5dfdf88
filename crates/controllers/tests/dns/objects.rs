//! What is made of DNSMasq and DNSData, word by word.

use landbridge_controllers::making::kinds::Kind;
use landbridge_controllers::mirror::Key;
use serde_json::{Value, json};

use crate::support::{Scene, file, read, sample, snapshot};

/// Everything that was made, whole: names, labels, and all that is said about it.
fn made(scene: &Scene) -> String {
    let mut texts = Vec::new();
    for ((kind, _), object) in &scene.server.objects {
        if *kind == Kind::Pod {
            continue;
        }
        let mut object = object.clone();
        let meta = object["metadata"].as_object_mut().unwrap();
        for field in ["managedFields", "resourceVersion", "uid", "generation", "namespace"] {
            meta.remove(field);
        }
        meta.retain(|_, value| !value.is_null());
        let list = meta.remove("ownerReferences").unwrap_or(json!([]));
        let owners = list.as_array().unwrap().iter().map(|owner| {
            assert_eq!(
                (&owner["controller"], &owner["blockOwnerDeletion"]),
                (&true.into(), &true.into())
            );
            format!("{} {}", owner["kind"].as_str().unwrap(), owner["name"].as_str().unwrap())
        });
        let owners: Vec<String> = owners.collect();
        if !owners.is_empty() {
            meta.insert("owners".to_owned(), owners.into());
        }
        let conditions = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
        for condition in conditions.into_iter().flatten() {
            let part = |field: &str| condition[field].as_str().unwrap_or("-").to_owned();
            *condition = format!(
                "{} {} {} {}: {}",
                part("type"),
                part("status"),
                part("severity"),
                part("reason"),
                part("message")
            )
            .into();
        }
        texts.push(serde_json::to_string_pretty(&object).unwrap());
    }
    texts.join("\n---\n") + "\n"
}

const TODAY: &str = r#"{"kind": "DNSMasq", "metadata": {"name": "dns"}, "spec": {
    "containerImage": "registry.example/openstack-neutron-server:current", "replicas": 2,
    "nodeSelector": {"role": "control"},
    "options": [
        {"key": "server", "values": ["192.168.122.1"]},
        {"key": "no-negcache", "values": []},
        {"key": "local", "values": ["/openstack.svc/"]}
    ],
    "override": {"service": {
        "metadata": {"annotations": {
            "metallb.universe.tf/address-pool": "ctlplane",
            "metallb.universe.tf/allow-shared-ip": "ctlplane",
            "metallb.universe.tf/loadBalancerIPs": "192.168.122.80"
        }},
        "spec": {"type": "LoadBalancer"}
    }}
}}"#;

fn today() -> Value {
    serde_json::from_str(TODAY).unwrap()
}

fn somehosts() -> Value {
    json!({"kind": "DNSData", "metadata": {"name": "somehosts"}, "spec": {"hosts": [
        {"ip": "192.168.122.100", "hostnames": ["edpm-compute-0.ctlplane", "compute-0"]},
        {"ip": "172.17.0.100", "hostnames": ["edpm-compute-0.internalapi"]},
    ]}})
}

#[test]
fn a_dnsmasq_image_gets_what_upstream_makes() {
    let mut scene = Scene::new();
    scene.apply(today()).apply(somehosts()).settle(true);
    snapshot("dns/snapshots/today.json", &made(&scene));
}

#[test]
fn the_first_generation_gets_what_upstream_made_then() {
    let mut scene = Scene::new();
    let mut server = today();
    let spec = server["spec"].as_object_mut().unwrap();
    spec.remove("override");
    spec.remove("nodeSelector");
    spec.insert(
        "externalEndpoints".to_owned(),
        json!([
            {"ipAddressPool": "ctlplane", "loadBalancerIPs": ["192.168.122.80"]},
            {"ipAddressPool": "internalapi", "sharedIP": false},
        ]),
    );
    scene.apply(server).settle(true);
    snapshot("dns/snapshots/first.json", &made(&scene));
}

#[test]
fn the_own_image_runs_the_own_server() {
    let mut scene = Scene::new();
    let mut server = today();
    server["spec"]["containerImage"] = "registry.example:5000/site/landbridge:1.0".into();
    scene.apply(server).apply(somehosts()).settle(true);
    snapshot("dns/snapshots/own.json", &made(&scene));
}

#[test]
fn the_seeds_and_upstreams_examples_are_served_as_they_are() {
    let mut scene = Scene::new();
    for name in ["30-dnsmasq.yaml", "40-dnsdata.yaml"] {
        for object in read(&file(&format!("examples/seeds/000-networking/{name}"))) {
            scene.apply(object);
        }
    }
    scene.settle(true);
    let ready = "True - Ready: Setup complete";
    assert_eq!(scene.condition(Kind::DNSMasq, "dnsmasq", "Ready"), ready);
    assert_eq!(scene.condition(Kind::DNSData, "somehosts", "Ready"), ready);
    assert_eq!(scene.condition(Kind::DNSData, "somehosts", "EntriesReady"), "no EntriesReady");
    let text = "192.168.122.100 edpm-compute-0.ctlplane\n172.17.0.100 edpm-compute-0.internalapi\n\
        172.18.0.100 edpm-compute-0.storge\n172.19.0.100 edpm-compute-0.tenant\n\
        192.168.122.101 edpm-compute-1.ctlplane\n172.17.0.101 edpm-compute-1.internalapi\n\
        172.18.0.101 edpm-compute-1.storge\n172.19.0.101 edpm-compute-1.tenant\n";
    assert_eq!(scene.get(Kind::ConfigMap, "somehosts")["data"], json!({"somehosts": text}));

    let (Some(servers), Some(data)) =
        (sample("infra-operator/dnsmasq.yaml"), sample("infra-operator/dnsdata.yaml"))
    else {
        return;
    };
    for object in servers.into_iter().chain(data) {
        scene.apply(object);
    }
    scene.settle(true);
    assert_eq!(scene.condition(Kind::DNSData, "allhosts", "Ready"), ready);
    assert_eq!(
        scene.get(Kind::ConfigMap, "dnsmasq")["data"]["dnsmasq"],
        "server=192.168.122.1\nlocal=/example.com/\n"
    );
    let text = scene.get(Kind::ConfigMap, "allhosts")["data"]["allhosts"].as_str().unwrap();
    assert_eq!(
        text.lines().nth(8).unwrap(),
        "172.17.0.80 cinder-internal.openstack.svc glance-internal.openstack.svc \
         keystone-internal.openstack.svc neutron-internal.openstack.svc nova-internal.openstack.svc \
         nova-metadata-internal.openstack.svc placement-internal.openstack.svc"
    );
}

/// A Service with a virtual address and a name.
fn balanced(name: &str, hostname: &str, ingress: &Value) -> Value {
    json!({"kind": "Service",
        "metadata": {"name": name, "annotations": {"dnsmasq.network.openstack.org/hostname": hostname}},
        "spec": {"type": "LoadBalancer", "clusterIP": "10.96.7.7", "ports": []},
        "status": {"loadBalancer": {"ingress": ingress}}})
}

#[test]
fn compute_nodes_resolve_to_the_virtual_address_and_pods_to_the_clusters() {
    let mut scene = Scene::new();
    let glance = balanced(
        "glance-internal",
        "glance-internal.openstack.svc",
        &json!([{"ip": "172.17.0.80"}]),
    );
    // Alone: nobody here gives out addresses.
    scene.apply(today()).apply(glance).alone();
    let data = scene.get(Kind::DNSData, "dns-svc");
    assert_eq!(
        data["spec"],
        json!({"dnsDataLabelSelectorValue": "dnsdata", "hosts": [
            {"ip": "172.17.0.80", "hostnames": ["glance-internal.openstack.svc"]},
        ]})
    );
    assert_eq!(data["metadata"]["ownerReferences"][0]["name"], "dns");
    // What nodes ask answers for the name, and nobody further is asked for its neighbours.
    let files = |scene: &Scene| {
        let hosts =
            scene.get(Kind::ConfigMap, "dns-svc")["data"]["dns-svc"].as_str().unwrap().to_owned();
        hosts + scene.get(Kind::ConfigMap, "dns")["data"]["dns"].as_str().unwrap()
    };
    let text = files(&scene);
    assert!(text.starts_with("172.17.0.80 glance-internal.openstack.svc\n"), "{text}");
    assert!(text.contains("local=/openstack.svc/\n"), "{text}");
    // What pods ask (the cluster's DNS) knows the Service by the same name and by its ClusterIP.
    let service = scene.get(Kind::Service, "glance-internal");
    assert_eq!(service["spec"]["clusterIP"], "10.96.7.7");
    assert!(!text.contains("10.96."), "{text}");
    // It follows, and goes.
    let spot = (Kind::Service, Key::new("openstack", "glance-internal"));
    let patch = json!({"status": {"loadBalancer": {"ingress": [{"ip": "172.17.0.81"}]}}});
    scene.server.patch(&spot, &patch, true, "vips").unwrap();
    scene.alone();
    assert!(files(&scene).starts_with("172.17.0.81 glance-internal.openstack.svc\n"));
    scene.delete(Kind::Service, "glance-internal").alone();
    assert_eq!(
        scene.get(Kind::DNSData, "dns-svc")["spec"],
        json!({"dnsDataLabelSelectorValue": "dnsdata"})
    );
    assert_eq!(scene.get(Kind::ConfigMap, "dns-svc")["data"], json!({"dns-svc": ""}));
}

#[test]
fn services_are_registered_as_upstream_does_and_none_hinders_another() {
    let mut scene = Scene::new();
    let ip = |ip: &str| json!([{"ip": ip}]);
    scene
        .apply(balanced("a", "b.svc", &ip("9.0.0.1")))
        .apply(balanced("b", "a.svc", &ip("9.0.0.1")))
        .apply(balanced("c", "both.svc", &json!([{"ip": "10.0.0.1"}, {"ip": "fd00::1"}])))
        .apply(balanced(
            "d",
            "cloud.svc",
            &json!([{"hostname": "lb.cloud.example"}, {"ip": "9.0.0.3"}]),
        ))
        .apply(balanced("e", "x\n9.0.0.9 evil.svc", &ip("9.0.0.1")))
        .apply(balanced("f", "pending.svc", &json!([])));
    let mut inner = balanced("g", "inner.svc", &ip("9.0.0.1"));
    inner["spec"]["type"] = "ClusterIP".into();
    let mut nameless = balanced("h", "", &ip("9.0.0.1"));
    nameless["metadata"].as_object_mut().unwrap().remove("annotations");
    // Without any Service of its own that could be an occasion, and later than all others.
    let mut server = today();
    server["spec"].as_object_mut().unwrap().remove("override");
    scene.apply(inner).apply(nameless).alone();
    scene.apply(server).alone();
    let spec = &scene.get(Kind::DNSData, "dns-svc")["spec"];
    assert_eq!(
        spec["hosts"],
        json!([
            {"ip": "10.0.0.1", "hostnames": ["both.svc"]},
            {"ip": "9.0.0.1", "hostnames": ["a.svc", "b.svc"]},
            {"ip": "9.0.0.3", "hostnames": ["cloud.svc"]},
            {"ip": "fd00::1", "hostnames": ["both.svc"]},
        ])
    );
    assert_eq!(
        scene.condition(Kind::DNSMasq, "dns", "EntriesReady"),
        "False Warning Error: Not everything is answered as written: \
         Service d: its load balancer gave \"lb.cloud.example\", which is no address, so cloud.svc is not answered for it; \
         Service e: annotation dnsmasq.network.openstack.org/hostname is \"x\\n9.0.0.9 evil.svc\", which is no name"
    );
}

fn ipset(name: &str, reservations: &Value) -> Value {
    json!({"kind": "IPSet", "metadata": {"name": name}, "spec": {"networks": []},
        "status": {"reservations": reservations}})
}

fn reservation(network: &str, address: &str, domain: Option<&str>) -> Value {
    let mut entry = json!({"network": network, "subnet": "subnet1", "address": address,
        "serviceNetwork": network.to_lowercase()});
    if let Some(domain) = domain {
        entry["dnsDomain"] = domain.into();
    }
    entry
}

fn hosts(scene: &Scene, name: &str) -> Value {
    scene.get(Kind::DNSData, name)["spec"]["hosts"].clone()
}

#[test]
fn ipsets_are_published_for_whoever_asks_and_not_twice() {
    let mut scene = Scene::new();
    let full = "edpm-compute-1.example.com";
    scene
        .apply(ipset(
            "edpm-compute-0",
            &json!([
                reservation("CtlPlane", "192.168.122.100", Some("ctlplane.example.com")),
                reservation("InternalApi", "172.17.0.100", Some("internalapi.example.com")),
                reservation("Storage", "172.18.0.100", None),
            ]),
        ))
        .apply(ipset(
            full,
            &json!([
                reservation("CtlPlane", "192.168.122.101", Some("ctlplane.example.com")),
                reservation("InternalApi", "fd00::101", Some("internalapi.example.com")),
            ]),
        ))
        .apply(today())
        .settle(true);
    assert!(!scene.names(Kind::DNSData).contains(&"dns-ipsets"), "nobody asked");
    let ask = |scene: &mut Scene, value: &str| {
        let spot = (Kind::DNSMasq, Key::new("openstack", "dns"));
        let patch = json!({"metadata": {"annotations": {"landbridge.dev/publish-ipsets": value}}});
        scene.server.patch(&spot, &patch, false, "user").unwrap();
        scene.settle(true);
    };
    ask(&mut scene, "true");
    assert_eq!(
        hosts(&scene, "dns-ipsets"),
        json!([
            {"ip": "192.168.122.100", "hostnames": ["edpm-compute-0.ctlplane.example.com"]},
            {"ip": "172.17.0.100", "hostnames": ["edpm-compute-0.internalapi.example.com"]},
            {"ip": "192.168.122.101", "hostnames": ["edpm-compute-1.ctlplane.example.com", full]},
            {"ip": "fd00::101", "hostnames": ["edpm-compute-1.internalapi.example.com"]},
        ])
    );
    assert_eq!(
        scene.get(Kind::ConfigMap, "dns-ipsets")["metadata"]["labels"]["dnsmasqhosts"],
        "dnsdata"
    );
    assert_eq!(
        scene.condition(Kind::DNSMasq, "dns", "EntriesReady"),
        "False Warning Error: Not everything is answered as written: network Storage has no dnsDomain \
         in the NetConfig, so its addresses of 1 IPSets get no names"
    );
    // The node set's own names win, even where they say something else.
    scene
        .apply(
            json!({"kind": "DNSData", "metadata": {"name": "openstack-edpm"}, "spec": {"hosts": [
                {"ip": "192.168.122.100", "hostnames": ["EDPM-compute-0.ctlplane.example.com."]},
                {"ip": "172.17.0.200", "hostnames": ["edpm-compute-0.internalapi.example.com"]},
            ]}}),
        )
        .settle(true);
    assert_eq!(hosts(&scene, "dns-ipsets").as_array().unwrap().len(), 2);
    scene.delete(Kind::DNSData, "openstack-edpm").settle(true);
    assert_eq!(hosts(&scene, "dns-ipsets").as_array().unwrap().len(), 4);
    // Some networks only, by either of their names; those that are not there are named.
    ask(&mut scene, "internalapi, Nowhere");
    assert_eq!(hosts(&scene, "dns-ipsets").as_array().unwrap().len(), 2);
    let said = scene.condition(Kind::DNSMasq, "dns", "EntriesReady");
    assert!(said.contains("names \"nowhere\", and no IPSet has an address there"), "{said}");
    // Addresses change and go.
    scene.delete(Kind::IPSet, "edpm-compute-0").settle(true);
    assert_eq!(hosts(&scene, "dns-ipsets").as_array().unwrap().len(), 1);
    ask(&mut scene, "false");
    assert!(!scene.names(Kind::DNSData).contains(&"dns-ipsets"));
    assert!(!scene.names(Kind::ConfigMap).contains(&"dns-ipsets"));
}

/// The pods' template: what restarts them when it changes.
fn template(scene: &Scene) -> Value {
    scene.get(Kind::Deployment, "dnsmasq-dns")["spec"]["template"].clone()
}

fn change_names(scene: &mut Scene) {
    let mut data = somehosts();
    data["spec"]["hosts"][0]["ip"] = "192.168.122.150".into();
    scene.apply(data);
    scene.apply(json!({"kind": "DNSData", "metadata": {"name": "new"}, "spec": {"hosts": [
        {"ip": "10.0.0.1", "hostnames": ["new.example"]},
    ]}}));
    scene.settle(true);
}

#[test]
fn a_change_restarts_dnsmasq_and_not_the_own_server() {
    let mut scene = Scene::new();
    scene.apply(today()).apply(somehosts()).settle(true);
    let before = template(&scene);
    change_names(&mut scene);
    assert_ne!(template(&scene), before);
    let volumes = template(&scene)["spec"]["volumes"].clone();
    let names: Vec<&str> =
        volumes.as_array().unwrap().iter().map(|v| v["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["config", "dns-svc", "new", "somehosts"]);

    let mut scene = Scene::new();
    let mut server = today();
    server["spec"]["containerImage"] = "landbridge".into();
    scene.apply(server.clone()).apply(somehosts()).settle(true);
    let (before, hash) =
        (template(&scene), scene.get(Kind::DNSMasq, "dns")["status"]["hash"].clone());
    change_names(&mut scene);
    assert_eq!(template(&scene), before);
    assert_ne!(scene.get(Kind::DNSMasq, "dns")["status"]["hash"], hash);
    let part = &scene.get(Kind::ConfigMap, "dnsmasq-dns-hosts-0")["data"];
    assert_eq!(part["new"], "10.0.0.1 new.example\n");
    assert!(part["somehosts"].as_str().unwrap().starts_with("192.168.122.150 "), "{part}");
    // Options are followed as well.
    server["spec"]["options"][0]["values"] = json!(["192.168.122.2"]);
    scene.apply(server).settle(true);
    assert_eq!(template(&scene), before);
    // What goes, goes.
    scene.delete(Kind::DNSData, "new").settle(true);
    assert!(scene.get(Kind::ConfigMap, "dnsmasq-dns-hosts-0")["data"].get("new").is_none());
    assert_eq!(template(&scene), before);
}

#[test]
fn an_image_may_be_exchanged_for_the_other_kind_and_back() {
    let mut scene = Scene::new();
    scene.apply(today()).apply(somehosts()).settle(true);
    let before = template(&scene);
    let mut server = today();
    server["spec"]["containerImage"] = "landbridge".into();
    scene.apply(server).settle(true);
    assert!(template(&scene)["spec"]["initContainers"].is_null());
    assert_eq!(template(&scene)["spec"]["volumes"][1]["configMap"], Value::Null);
    scene.apply(today()).settle(true);
    assert_eq!(template(&scene), before);
    assert!(!scene.names(Kind::ConfigMap).contains(&"dnsmasq-dns-hosts-0"), "nobody reads it");
}

#[test]
fn configmaps_made_by_hand_count() {
    let mut scene = Scene::new();
    let by_hand = |name: &str, key: &str, label: &str| {
        json!({"kind": "ConfigMap", "metadata": {"name": name, "labels": {"dnsmasqhosts": label}},
            "data": {key: "10.0.0.9 by-hand.example\n"}})
    };
    scene
        .apply(today())
        .apply(by_hand("mine.with.dots", "mine.with.dots", "dnsdata"))
        .apply(by_hand("config", "config", "dnsdata"))
        .apply(by_hand("keyless", "other", "dnsdata"))
        .apply(by_hand("others", "others", "otherdata"))
        .settle(true);
    let pod = &template(&scene)["spec"];
    let mounts: Vec<&str> = pod["containers"][0]["volumeMounts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mount| mount["mountPath"].as_str().unwrap())
        .collect();
    assert_eq!(
        mounts,
        [
            "/etc/dnsmasq.d/config.cfg",
            "/etc/dnsmasq.d/hosts/config",
            "/etc/dnsmasq.d/hosts/dns-svc",
            "/etc/dnsmasq.d/hosts/mine.with.dots",
        ]
    );
    let mut names: Vec<&str> =
        pod["volumes"].as_array().unwrap().iter().map(|v| v["name"].as_str().unwrap()).collect();
    assert!(names.iter().all(|name| !name.contains('.')), "{names:?}");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 4);
    let said = scene.condition(Kind::DNSMasq, "dns", "EntriesReady");
    assert!(said.contains("ConfigMap keyless has no key keyless"), "{said}");
}

#[test]
fn what_upstream_made_is_taken_over_as_it_is() {
    let mut scene = Scene::new();
    let mut server = today();
    server["metadata"]["finalizers"] = json!(["DNSMasq"]);
    scene.apply(server).apply(somehosts());
    let uid = scene.get(Kind::DNSMasq, "dns")["metadata"]["uid"].clone();
    let owner = json!([{"apiVersion": "network.openstack.org/v1beta1", "kind": "DNSMasq", "name": "dns",
        "uid": uid, "controller": true, "blockOwnerDeletion": true}]);
    let labels = json!({"service": "dnsmasq"});
    scene.apply(
        json!({"kind": "Deployment", "metadata": {"name": "dnsmasq-dns", "ownerReferences": owner},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels},
            "spec": {"initContainers": [{"name": "init", "image": "old"}],
                "containers": [{"name": "dnsmasq-dns", "image": "old", "env": [
                    {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                    {"name": "CONFIG_HASH", "value": "n1234"},
                ]}]}}}}),
    );
    scene.settle(true);
    let live = scene.get(Kind::Deployment, "dnsmasq-dns");
    assert_eq!(live["spec"]["selector"]["matchLabels"], labels, "it cannot be changed");
    assert_eq!(scene.get(Kind::Service, "dnsmasq-dns")["spec"]["selector"], labels);
    let env = live["spec"]["template"]["spec"]["containers"][0]["env"].as_array().unwrap();
    assert_eq!(env.len(), 2);
    assert!(env.iter().all(|one| one["value"].is_null() != one["valueFrom"].is_null()), "{env:?}");
    // It goes with either mark.
    scene.delete(Kind::DNSMasq, "dns").delete(Kind::DNSData, "somehosts").settle(true);
    let left: Vec<_> = scene.server.objects.keys().filter(|(kind, _)| *kind != Kind::Pod).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn two_name_servers_of_a_namespace_do_not_answer_for_each_other() {
    let mut scene = Scene::new();
    let mut other = today();
    other["metadata"]["name"] = "other".into();
    other["spec"].as_object_mut().unwrap().remove("override");
    other["spec"]["dnsDataLabelSelectorValue"] = "OtherData".into();
    let mut data = somehosts();
    data["spec"]["dnsDataLabelSelectorValue"] = "otherDATA".into();
    scene.apply(today()).apply(other).apply(data).settle(true);
    let selector = |name: &str| scene.get(Kind::Service, name)["spec"]["selector"].clone();
    assert_ne!(selector("dnsmasq-dns"), selector("dnsmasq-other"));
    let volumes = |name: &str| {
        let list = scene.get(Kind::Deployment, name)["spec"]["template"]["spec"]["volumes"].clone();
        list.as_array()
            .unwrap()
            .iter()
            .map(|v| v["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(volumes("dnsmasq-dns"), ["config", "dns-svc"]);
    assert_eq!(volumes("dnsmasq-other"), ["config", "other-svc", "somehosts"]);
    let map = scene.get(Kind::ConfigMap, "somehosts");
    assert_eq!(map["metadata"]["labels"]["dnsmasqhosts"], "otherdata");
}

#[test]
fn a_topology_places_the_pods() {
    let mut scene = Scene::new();
    let mut server = today();
    server["spec"]["topologyRef"] = json!({"name": "spread"});
    scene.apply(server).settle(true);
    assert_eq!(
        scene.condition(Kind::DNSMasq, "dns", "TopologyReady"),
        "False Warning Error: Topology config create error occurred Topology spread is not in namespace \
         openstack: create it, or take topologyRef out"
    );
    assert_eq!(scene.names(Kind::Deployment), [""; 0]);
    let constraints =
        json!([{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]);
    scene
        .apply(json!({"kind": "Topology", "metadata": {"name": "spread"},
        "spec": {"topologySpreadConstraints": constraints}}))
        .settle(true);
    let pod = &template(&scene)["spec"];
    assert_eq!(pod["topologySpreadConstraints"], constraints);
    assert_eq!(pod["affinity"], Value::Null);
    assert_eq!(scene.condition(Kind::DNSMasq, "dns", "Ready"), "True - Ready: Setup complete");
    assert_eq!(
        scene.get(Kind::DNSMasq, "dns")["status"]["lastAppliedTopology"],
        json!({"name": "spread", "namespace": "openstack"})
    );
}

#[test]
fn two_name_servers_with_the_same_label_publish_side_by_side() {
    let mut scene = Scene::new();
    let addresses =
        json!([reservation("InternalApi", "172.17.0.100", Some("internalapi.example.com"))]);
    scene.apply(ipset("compute-0", &addresses));
    for name in ["dns", "other"] {
        let mut server = today();
        server["metadata"]["name"] = name.into();
        server["metadata"]["annotations"] = json!({"landbridge.dev/publish-ipsets": "true"});
        server["spec"].as_object_mut().unwrap().remove("override");
        scene.apply(server);
    }
    scene.settle(true);
    assert_eq!(hosts(&scene, "dns-ipsets"), hosts(&scene, "other-ipsets"));
    assert_eq!(hosts(&scene, "dns-ipsets").as_array().unwrap().len(), 1);
    assert_eq!(scene.condition(Kind::DNSMasq, "dns", "EntriesReady"), "no EntriesReady");
}

#[test]
fn the_own_server_takes_what_it_is_started_with() {
    use landbridge_dns::command::{Command, parse, test};
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("names");
    for (generation, port) in [("override", "5353"), ("externalEndpoints", "53")] {
        let mut scene = Scene::new();
        let mut server = today();
        server["spec"]["containerImage"] = "landbridge".into();
        if generation == "externalEndpoints" {
            server["spec"].as_object_mut().unwrap().remove("override");
            server["spec"]["externalEndpoints"] = json!([{"ipAddressPool": "ctlplane"}]);
        }
        scene.apply(server).apply(somehosts()).settle(true);
        let container = &template(&scene)["spec"]["containers"][0];
        assert_eq!(container["command"], json!(["landbridge", "dns"]));
        // The files as a pod has them.
        let (config, hosts) = (folder.join("config"), folder.join("hosts"));
        std::fs::create_dir_all(&config).unwrap();
        std::fs::create_dir_all(&hosts).unwrap();
        let file = |kind, name: &str, key: &str| {
            scene.get(kind, name)["data"][key].as_str().unwrap().to_owned()
        };
        std::fs::write(config.join("config.cfg"), file(Kind::ConfigMap, "dns", "dns")).unwrap();
        let part = scene.get(Kind::ConfigMap, "dnsmasq-dns-hosts-0")["data"].clone();
        for (name, text) in part.as_object().unwrap() {
            std::fs::write(hosts.join(name), text.as_str().unwrap()).unwrap();
        }
        let words: Vec<String> = container["args"]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| {
                let word = word.as_str().unwrap().replace("$(POD_IP)", "127.0.0.1");
                word.replace("/etc/dnsmasq.d", folder.to_str().unwrap())
            })
            .collect();
        assert!(words.contains(&format!("--port={port}")), "{words:?}");
        let command = parse(words.iter().map(String::as_str)).unwrap();
        let Command::Serve(config) = command else { panic!("{command:?}") };
        assert_eq!(test(&config), []);
    }
}
