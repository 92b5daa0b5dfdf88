//! What conditions and Events say.

use landbridge_controllers::making::kinds::Kind;
use serde_json::{Value, json};

use crate::support::Scene;

fn server(spec: &Value) -> Value {
    let mut object = json!({"kind": "DNSMasq", "metadata": {"name": "dns"}, "spec": spec});
    object["spec"]["containerImage"] = "dnsmasq".into();
    object
}

fn data(hosts: &Value) -> Value {
    json!({"kind": "DNSData", "metadata": {"name": "hosts"}, "spec": {"hosts": hosts}})
}

const BALANCED: &str = r#"{"override": {"service": {
    "metadata": {"annotations": {"metallb.universe.tf/loadBalancerIPs": "192.168.122.80"}},
    "spec": {"type": "LoadBalancer"}}}}"#;

#[test]
fn conditions_follow_upstreams_words() {
    let mut scene = Scene::new();
    scene.apply(server(&serde_json::from_str(BALANCED).unwrap())).alone();
    let said = |scene: &Scene, type_: &str| scene.condition(Kind::DNSMasq, "dns", type_);
    assert_eq!(
        said(&scene, "CreateServiceReady"),
        "False Warning Error: Create service error occurred resource is not ready: dnsmasq-dns \
         LoadBalancer IP still pending"
    );
    assert_eq!(said(&scene, "Ready"), said(&scene, "CreateServiceReady"));
    assert_eq!(said(&scene, "DeploymentReady"), "False Info Requested: Deployment in progress");
    scene.settle(true);
    for (type_, text) in [
        ("Ready", "Setup complete"),
        ("InputReady", "Input data complete"),
        ("ServiceConfigReady", "Service config create completed"),
        ("CreateServiceReady", "Create service completed"),
        ("DeploymentReady", "Deployment completed"),
        ("ServiceAccountReady", "ServiceAccount created"),
        ("RoleReady", "Role created"),
        ("RoleBindingReady", "RoleBinding created"),
    ] {
        assert_eq!(said(&scene, type_), format!("True - Ready: {text}"));
    }
    assert_eq!(said(&scene, "EntriesReady"), "no EntriesReady");
    let status = &scene.get(Kind::DNSMasq, "dns")["status"];
    assert_eq!(status["conditions"].as_array().unwrap().len(), 8);
    assert_eq!(status["conditions"][0]["type"], "Ready");
    assert_eq!(status["dnsAddresses"], json!(["192.168.122.80"]));
    assert_eq!(status["dnsClusterAddresses"], json!(["10.96.0.1"]));
    assert_eq!(status["readyCount"], 1);
    assert_eq!(status["observedGeneration"], 1);
    assert!(status["hash"]["input"].is_string());
}

#[test]
fn names_that_somebody_else_has_are_told_and_taken_when_free() {
    let mut scene = Scene::new();
    for (kind, name) in [
        ("ConfigMap", "dns"),
        ("ConfigMap", "hosts"),
        ("Service", "dnsmasq-dns"),
        ("Deployment", "dnsmasq-dns"),
        ("Role", "dnsmasq-dns-role"),
        ("DNSData", "dns-svc"),
    ] {
        let mut theirs = json!({"kind": kind, "metadata": {"name": name}});
        if kind == "Service" {
            theirs["spec"] = json!({"ports": []});
        }
        scene.apply(theirs);
    }
    scene.apply(server(&json!({}))).apply(data(&json!([]))).settle(true);
    for (kind, name, type_, part) in [
        (
            Kind::DNSMasq,
            "dns",
            "CreateServiceReady",
            "Create service error occurred Service dnsmasq-dns was made by somebody else",
        ),
        (
            Kind::DNSMasq,
            "dns",
            "DeploymentReady",
            "Deployment error occurred Deployment dnsmasq-dns was made by somebody else",
        ),
        (
            Kind::DNSMasq,
            "dns",
            "RoleReady",
            "Role error occurred Role dnsmasq-dns-role was made by somebody else",
        ),
        (
            Kind::DNSMasq,
            "dns",
            "ServiceConfigReady",
            "Service config create error occurred ConfigMap dns was made by somebody else",
        ),
        (Kind::DNSMasq, "dns", "ServiceConfigReady", "DNSData dns-svc was made by somebody else"),
        (
            Kind::DNSData,
            "hosts",
            "ServiceConfigReady",
            "Service config create error occurred ConfigMap hosts was made by somebody else",
        ),
    ] {
        let said = scene.condition(kind, name, type_);
        assert!(said.contains(part), "{said}");
    }
    scene.delete(Kind::ConfigMap, "dns").delete(Kind::ConfigMap, "hosts");
    scene.delete(Kind::Service, "dnsmasq-dns").delete(Kind::Deployment, "dnsmasq-dns");
    scene.delete(Kind::Role, "dnsmasq-dns-role").delete(Kind::DNSData, "dns-svc").settle(true);
    assert_eq!(scene.condition(Kind::DNSMasq, "dns", "Ready"), "True - Ready: Setup complete");
    assert_eq!(scene.condition(Kind::DNSData, "hosts", "Ready"), "True - Ready: Setup complete");
}

#[test]
fn bad_entries_are_named_and_the_others_are_served() {
    let mut scene = Scene::new();
    let hosts = json!([
        {"ip": "10.0.0.1", "hostnames": ["good.example"]},
        {"ip": "10.0.0.300", "hostnames": ["bad.example"]},
        {"ip": "10.0.0.2", "hostnames": ["no name", "fine.example"]},
    ]);
    scene.apply(server(&json!({}))).apply(data(&hosts)).settle(true);
    let text = "Not everything is answered as written: \
        spec.hosts[1]: \"10.0.0.300\" is not an IP address, so bad.example is not answered; \
        spec.hosts[2]: \"no name\" is not a host name and is not answered";
    assert_eq!(
        scene.condition(Kind::DNSData, "hosts", "EntriesReady"),
        format!("False Warning Error: {text}")
    );
    assert_eq!(scene.condition(Kind::DNSData, "hosts", "Ready"), "True - Ready: Setup complete");
    assert_eq!(
        scene.condition(Kind::DNSMasq, "dns", "EntriesReady"),
        "no EntriesReady",
        "said where it is"
    );
    let map = scene.get(Kind::ConfigMap, "hosts");
    assert_eq!(
        map["data"]["hosts"],
        "10.0.0.1 good.example\n10.0.0.300 bad.example\n10.0.0.2 fine.example no name\n"
    );
    let told = |scene: &Scene| {
        scene
            .server
            .notices
            .iter()
            .filter(|(spot, _)| spot.0 == Kind::DNSData)
            .map(|(_, note)| note.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(told(&scene), [text], "once");
    scene.settle(true);
    assert_eq!(told(&scene).len(), 1);
    // Corrected, and wrong again: told again.
    scene.apply(data(&json!([]))).settle(true);
    assert_eq!(scene.condition(Kind::DNSData, "hosts", "EntriesReady"), "no EntriesReady");
    scene.apply(data(&hosts)).settle(true);
    assert_eq!(told(&scene).len(), 2);
}

#[test]
fn contradictions_between_configmaps_are_named_at_the_name_server() {
    let mut scene = Scene::new();
    scene
        .apply(server(&json!({})))
        .apply(data(&json!([{"ip": "10.0.0.1", "hostnames": ["x.example"]}])));
    scene.apply(json!({"kind": "ConfigMap", "metadata": {"name": "mine", "labels": {"dnsmasqhosts": "dnsdata"}},
        "data": {"mine": "10.0.0.2 x.example\n"}})).settle(true);
    let text = "Not everything is answered as written: x.example is 10.0.0.1 in ConfigMap hosts and \
        10.0.0.2 in ConfigMap mine: all are answered";
    assert_eq!(
        scene.condition(Kind::DNSMasq, "dns", "EntriesReady"),
        format!("False Warning Error: {text}")
    );
    assert_eq!(scene.condition(Kind::DNSMasq, "dns", "Ready"), "True - Ready: Setup complete");
    assert!(
        scene.server.notices.iter().any(|(spot, note)| spot.0 == Kind::DNSMasq && note == text)
    );
    scene.delete(Kind::ConfigMap, "mine").settle(true);
    assert_eq!(scene.condition(Kind::DNSMasq, "dns", "EntriesReady"), "no EntriesReady");
}

#[test]
fn options_that_are_refused_are_named() {
    let options = json!({"options": [
        {"key": "server", "values": ["192.168.122.1"]},
        {"key": "host-record", "values": ["a.example", "10.0.0.300"]},
    ]});
    let mut scene = Scene::new();
    scene.apply(server(&options)).settle(true);
    let said = |scene: &Scene, type_: &str| scene.condition(Kind::DNSMasq, "dns", type_);
    let text = said(&scene, "OptionsReady");
    let begin = "False Warning Error: dnsmasq will not start: spec.options[1]: \"host-record=a.example,10.0.0.300\": ";
    assert!(text.starts_with(begin), "{text}");
    assert_eq!(said(&scene, "Ready"), text, "the name server is not");
    let file = scene.get(Kind::ConfigMap, "dns")["data"]["dns"].clone();
    assert_eq!(file, "server=192.168.122.1\nhost-record=a.example,10.0.0.300\n", "upstream's form");
    assert_eq!(scene.server.notices.len(), 1);
    // Landbridge's own leaves the line out and goes on.
    let mut own = server(&options);
    own["spec"]["containerImage"] = "landbridge".into();
    scene.apply(own).settle(true);
    let text = said(&scene, "OptionsReady");
    assert!(
        text.starts_with("False Warning Error: Options that are left out: spec.options[1]: "),
        "{text}"
    );
    assert_eq!(said(&scene, "Ready"), "True - Ready: Setup complete");
    scene.apply(server(&json!({}))).settle(true);
    assert_eq!(said(&scene, "OptionsReady"), "no OptionsReady");
}
