//! From objects to the table: upstream's rules.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use landbridge_agent::services::Seen;
use landbridge_agent::services::desired::table;
use landbridge_lb::{Choice, Port, Reach};
use serde_json::{Value, json};

pub fn seen(spec: &Value, status: &Value, endpoints: &Value) -> Seen {
    let mut service = json!({"metadata": {"namespace": "ns", "name": "web"}, "status": status,
        "spec": {"type": "ClusterIP", "clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7"],
            "ports": [{"name": "api", "port": 80, "protocol": "TCP", "nodePort": 30080}]}});
    for (field, value) in spec.as_object().unwrap() {
        service["spec"][field] = value.clone();
    }
    let slice = |name: &str, family: &str, endpoints: &Value| {
        json!({"metadata": {"namespace": "ns", "name": name,
            "labels": {"kubernetes.io/service-name": "web"}}, "addressType": family,
            "ports": [{"name": "api", "port": 8080, "protocol": "TCP"}], "endpoints": endpoints})
    };
    let mut seen = Seen::default();
    let key = |name: &str| ("ns".to_owned(), name.to_owned());
    seen.services.insert(key("web"), Arc::new(serde_json::from_value(service).unwrap()));
    let (v6, v4): (Vec<Value>, Vec<Value>) = endpoints
        .as_array()
        .unwrap()
        .iter()
        .cloned()
        .partition(|e| e["addresses"][0].as_str().unwrap().contains(':'));
    for (name, family, all) in [("four", "IPv4", v4), ("six", "IPv6", v6)] {
        let slice = slice(name, family, &json!(all));
        seen.slices.insert(key(name), Arc::new(serde_json::from_value(slice).unwrap()));
    }
    seen
}

/// `10.0.0.1@a`: an endpoint on a node; `!`: not ready, `-`: going and serving, `x`: going and not.
pub fn endpoints(words: &str) -> Value {
    let each = words.split_whitespace().map(|word| {
        let (state, rest) = match word.split_at(1) {
            (mark @ ("!" | "-" | "x"), rest) => (mark, rest),
            _ => ("", word),
        };
        let (ip, node) = rest.split_once('@').unwrap();
        let (ready, serving, terminating) = match state {
            "!" => (false, false, false),
            "-" => (false, true, true),
            "x" => (false, false, true),
            _ => (true, true, false),
        };
        json!({"addresses": [ip], "nodeName": node,
            "conditions": {"ready": ready, "serving": serving, "terminating": terminating}})
    });
    json!(each.collect::<Vec<_>>())
}

fn ports(spec: &Value, status: &Value, words: &str, dead: &[&str]) -> Vec<Port> {
    let dead: BTreeSet<String> = dead.iter().map(|node| (*node).to_owned()).collect();
    table(&seen(spec, status, &endpoints(words)), "a", &dead).0.ports().to_vec()
}

fn show(choice: Choice<'_>) -> String {
    let words = |set: &BTreeSet<SocketAddr>| {
        set.iter().map(|to| to.ip().to_string()).collect::<Vec<_>>().join(" ")
    };
    match choice {
        Choice::Of(backends) => words(backends),
        Choice::Refuse => "refuse".to_owned(),
        Choice::Drop => "drop".to_owned(),
    }
}

#[test]
fn who_gets_connections() {
    for (endpoints, dead, cluster, local) in [
        ("10.0.0.1@a 10.0.0.2@b", &[][..], "10.0.0.1 10.0.0.2", "10.0.0.1"),
        ("10.0.0.1@a !10.0.0.2@b", &[], "10.0.0.1", "10.0.0.1"),
        ("10.0.0.2@b", &[], "10.0.0.2", "drop"),
        ("", &[], "refuse", "refuse"),
        ("!10.0.0.1@a", &[], "refuse", "refuse"),
        // Nobody is ready: whoever still serves does, here and everywhere.
        ("-10.0.0.1@a x10.0.0.2@b", &[], "10.0.0.1", "10.0.0.1"),
        ("-10.0.0.1@a 10.0.0.2@b", &[], "10.0.0.2", "10.0.0.1"),
        ("x10.0.0.1@a", &[], "refuse", "refuse"),
        // The dead are nobody's endpoints, whatever the API still says.
        ("10.0.0.1@a 10.0.0.2@b", &["b"], "10.0.0.1", "10.0.0.1"),
        ("10.0.0.2@b", &["b"], "refuse", "refuse"),
        ("10.0.0.1@a -10.0.0.2@b", &["a"], "10.0.0.2", "drop"),
    ] {
        let port = &ports(&json!({}), &json!({}), endpoints, dead)[0];
        assert_eq!(show(port.choice(Reach::Cluster)), cluster, "{endpoints} Cluster");
        assert_eq!(show(port.choice(Reach::Local)), local, "{endpoints} Local");
    }
}

#[test]
fn addresses_and_policies() {
    let spec = json!({"type": "LoadBalancer", "externalIPs": ["192.0.2.7"],
        "externalTrafficPolicy": "Local", "internalTrafficPolicy": "Local",
        "sessionAffinity": "ClientIP", "loadBalancerSourceRanges": [" 10.0.0.0/8 ", "nonsense"],
        "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 60}}});
    let status = json!({"loadBalancer": {"ingress": [{"ip": "172.17.0.80"}, {"hostname": "x"},
        {"ip": "172.17.0.81", "ipMode": "Proxy"}, {"ip": "fd00::80"}]}});
    let ports = ports(&spec, &status, "10.0.0.1@a fd00::1@a", &[]);
    assert_eq!(ports.len(), 1, "no cluster address of IPv6, no IPv6");
    let port = &ports[0];
    assert_eq!(port.name, "ns/web/tcp/80");
    let frontends: Vec<String> = port.frontends().map(|to| to.to_string()).collect();
    assert_eq!(frontends, ["10.96.0.7:80", "172.17.0.80:80", "192.0.2.7:80"]);
    assert_eq!(port.node_port, Some(30080));
    assert_eq!((port.inside, port.outside), (Reach::Local, Reach::Local));
    assert_eq!((port.affinity, port.sources.len()), (Some(60), 1));
    assert_eq!(port.anywhere.first().unwrap().port(), 8080);
}

#[test]
fn both_families_and_what_is_no_business_of_ours() {
    let spec = json!({"clusterIPs": ["10.96.0.7", "fd00:96::7"]});
    let both = ports(&spec, &json!({}), "10.0.0.1@a fd00::1@b", &[]);
    assert_eq!(both.len(), 2);
    assert!(both[0].ipv4 && both[0].anywhere.iter().all(SocketAddr::is_ipv4));
    assert!(!both[1].ipv4 && both[1].anywhere.iter().all(SocketAddr::is_ipv6));
    for spec in [
        json!({"clusterIP": "None", "clusterIPs": ["None"]}),
        json!({"type": "ExternalName"}),
        json!({"ports": [{"port": 80, "protocol": "SCTP"}]}),
        json!({"ports": [{"port": 0}]}),
        json!({"ports": [{"port": 70000}]}),
        json!({"clusterIP": "nonsense", "clusterIPs": ["nonsense"]}),
    ] {
        assert_eq!(ports(&spec, &json!({}), "10.0.0.1@a", &[]), [], "{spec}");
    }
    // Endpoints that would lead back into the node itself.
    for odd in ["127.0.0.1@a", "0.0.0.0@a", "nonsense@a"] {
        let port = &ports(&json!({}), &json!({}), odd, &[])[0];
        assert_eq!(port.choice(Reach::Cluster), Choice::Refuse, "{odd}");
    }
}

#[test]
fn addresses_of_the_dead_are_told() {
    let seen = seen(&json!({}), &json!({}), &endpoints("10.0.0.1@a -10.0.0.2@b fd00::2@b"));
    let (_, dead) = table(&seen, "a", &BTreeSet::from(["b".to_owned()]));
    let wanted = ["10.0.0.2".parse().unwrap(), "fd00::2".parse().unwrap()];
    assert_eq!(dead, BTreeSet::from(wanted));
}
