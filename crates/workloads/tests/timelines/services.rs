//! EndpointSlices: what upstream is known to do case by case, and random timelines.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use landbridge_workloads::action::Kind::{self, EndpointSlice, Pod, Service};
use landbridge_workloads::endpoint_slices::{MANAGER, MOST, OURS, SERVICE};
use serde_json::{Value, json};

use crate::lab::{Lab, SPACE, at};
use crate::operator::Operator;
use crate::server::{is_leaving, is_ready, key, phase};

fn service(name: &str, spec: &Value) -> Value {
    let mut object = json!({
        "metadata": {"name": name, "namespace": SPACE, "labels": {"of": name}},
        "spec": {"clusterIP": "10.96.0.7", "ipFamilies": ["IPv4"], "selector": {"app": name},
            "ports": [{"name": "api", "port": 80, "targetPort": 8080}]},
    });
    for (field, value) in spec.as_object().unwrap() {
        object["spec"][field] = value.clone();
    }
    object
}

/// A pod that runs on a node.
fn pod(lab: &mut Lab, name: &str, app: &str, number: usize, ready: bool) {
    let object = json!({
        "metadata": {"name": name, "namespace": SPACE, "labels": {"app": app}},
        "spec": {"nodeName": format!("worker-{}", number % 4), "containers": [
            {"name": "c", "ports": [{"name": "http", "containerPort": 9000 + (number % 2)}]}]},
    });
    lab.server.create(Pod, object).unwrap();
    lab.server.set_pod(&at(name), "Running", ready);
    let (high, low) = (number / 250, number % 250 + 1);
    lab.server.change(Pod, &at(name), |pod| {
        pod["status"]["podIPs"] =
            json!([{"ip": format!("10.244.{high}.{low}")}, {"ip": format!("fd00::{high:x}:{low:x}")}]);
    });
}

fn slices<'a>(lab: &'a Lab, name: &'a str) -> impl Iterator<Item = &'a Value> {
    let of = move |slice: &&Value| slice["metadata"]["labels"][SERVICE] == name;
    lab.server.all(EndpointSlice).filter(of)
}

fn endpoints<'a>(lab: &'a Lab, name: &'a str, family: &'a str) -> Vec<&'a Value> {
    let of_family = slices(lab, name).filter(move |slice| slice["addressType"] == family);
    of_family.flat_map(|slice| slice["endpoints"].as_array().unwrap()).collect()
}

fn pods_in(lab: &Lab, name: &str) -> BTreeSet<String> {
    let names = endpoints(lab, name, "IPv4");
    names.iter().map(|e| e["targetRef"]["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_slice_says_what_upstream_says() {
    let mut lab = Lab::new(1, 4, 1);
    lab.server.create(Service, service("web", &json!({})));
    pod(&mut lab, "a", "web", 1, true);
    pod(&mut lab, "b", "web", 2, false);
    pod(&mut lab, "stranger", "other", 3, true);
    lab.controllers();
    let all: Vec<&Value> = slices(&lab, "web").collect();
    assert_eq!(all.len(), 1);
    let meta = &all[0]["metadata"];
    assert_eq!(meta["labels"], json!({"of": "web", SERVICE: "web", MANAGER: OURS}));
    assert_eq!(meta["generateName"], "web-");
    let owner = &meta["ownerReferences"][0];
    assert_eq!((&owner["kind"], &owner["controller"]), (&json!("Service"), &json!(true)));
    assert_eq!(all[0]["addressType"], "IPv4");
    assert_eq!(all[0]["ports"], json!([{"name": "api", "port": 8080, "protocol": "TCP"}]));
    let find = |name: &str| {
        let all = endpoints(&lab, "web", "IPv4");
        all.into_iter().find(|e| e["targetRef"]["name"] == name).unwrap().clone()
    };
    assert_eq!(find("a")["addresses"], json!(["10.244.0.2"]));
    assert_eq!(find("a")["nodeName"], "worker-1");
    assert_eq!(
        find("a")["conditions"],
        json!({"ready": true, "serving": true, "terminating": false})
    );
    assert_eq!(
        find("b")["conditions"],
        json!({"ready": false, "serving": false, "terminating": false})
    );
    assert_eq!(pods_in(&lab, "web").len(), 2);
}

#[test]
fn pods_that_go_serve_until_they_are_gone() {
    let mut lab = Lab::new(1, 4, 1);
    lab.server.create(Service, service("web", &json!({})));
    pod(&mut lab, "a", "web", 1, true);
    lab.controllers();
    lab.server.delete(Pod, &at("a"), false);
    lab.controllers();
    assert_eq!(
        endpoints(&lab, "web", "IPv4")[0]["conditions"],
        json!({"ready": false, "serving": true, "terminating": true})
    );
    lab.server.remove(Pod, &at("a"));
    lab.controllers();
    // One empty slice stays, as upstream: whoever waits sees that there is nobody.
    let all: Vec<&Value> = slices(&lab, "web").collect();
    assert_eq!((all.len(), &all[0]["endpoints"]), (1, &json!([])));
    // A pod that is over is nobody's endpoint.
    pod(&mut lab, "b", "web", 2, true);
    lab.controllers();
    assert_eq!(slices(&lab, "web").count(), 1, "the empty slice is used again");
    lab.server.set_pod(&at("b"), "Succeeded", false);
    lab.controllers();
    assert!(endpoints(&lab, "web", "IPv4").is_empty());
}

#[test]
fn named_ports_differ_from_pod_to_pod() {
    let mut lab = Lab::new(1, 4, 1);
    let ports = json!({"ports": [{"name": "api", "port": 80, "targetPort": "http"}]});
    lab.server.create(Service, service("web", &ports));
    let missing = json!({"ports": [{"name": "api", "port": 80, "targetPort": "nope"}]});
    lab.server.create(Service, service("no", &missing));
    for number in 0..4 {
        pod(&mut lab, &format!("p{number}"), "web", number, true);
        pod(&mut lab, &format!("q{number}"), "no", 10 + number, true);
    }
    lab.controllers();
    let by_port: BTreeMap<i64, usize> = slices(&lab, "web")
        .map(|slice| {
            (
                slice["ports"][0]["port"].as_i64().unwrap(),
                slice["endpoints"].as_array().unwrap().len(),
            )
        })
        .collect();
    assert_eq!(by_port, BTreeMap::from([(9000, 2), (9001, 2)]));
    assert!(endpoints(&lab, "no", "IPv4").is_empty());
}

#[test]
fn both_families_headless_and_not_ready() {
    let mut lab = Lab::new(1, 4, 1);
    let spec = json!({"clusterIP": "None", "ipFamilies": ["IPv6", "IPv4"], "ports": null,
        "publishNotReadyAddresses": true});
    lab.server.create(Service, service("db", &spec));
    pod(&mut lab, "db-0", "db", 1, false);
    lab.server.change(Pod, &at("db-0"), |pod| {
        pod["spec"]["hostname"] = json!("db-0");
        pod["spec"]["subdomain"] = json!("db");
    });
    lab.controllers();
    let families: Vec<&str> =
        slices(&lab, "db").map(|slice| slice["addressType"].as_str().unwrap()).collect();
    assert_eq!(families.len(), 2);
    let labels = &slices(&lab, "db").next().unwrap()["metadata"]["labels"];
    assert_eq!(labels["service.kubernetes.io/headless"], "");
    for family in ["IPv4", "IPv6"] {
        let found = endpoints(&lab, "db", family);
        assert_eq!(found[0]["conditions"]["ready"], true, "published although it is not ready");
        assert_eq!(found[0]["conditions"]["serving"], false);
        assert_eq!(found[0]["hostname"], "db-0");
    }
    // A family that is given up goes with its slices.
    lab.server
        .change(Service, &at("db"), |service| service["spec"]["ipFamilies"] = json!(["IPv4"]));
    lab.controllers();
    assert_eq!(slices(&lab, "db").count(), 1);
}

#[test]
fn what_others_make_is_left_alone() {
    let mut lab = Lab::new(1, 4, 1);
    lab.server.create(Service, service("web", &json!({"selector": null})));
    lab.server.create(Service, service("mixed", &json!({})));
    for of in ["web", "mixed"] {
        lab.server.create(
            EndpointSlice,
            json!({"metadata": {"name": format!("{of}-mine"), "namespace": SPACE,
                "labels": {SERVICE: of, MANAGER: "staff"}},
                "addressType": "IPv4", "endpoints": [{"addresses": ["192.0.2.1"]}], "ports": []}),
        );
    }
    pod(&mut lab, "a", "mixed", 1, true);
    lab.controllers();
    assert_eq!(slices(&lab, "web").count(), 1);
    assert_eq!(slices(&lab, "mixed").count(), 2);
    assert_eq!(
        lab.object(EndpointSlice, "mixed-mine")["endpoints"][0]["addresses"][0],
        "192.0.2.1"
    );
}

#[test]
fn slices_hold_a_hundred_and_one_pod_is_one_write() {
    let mut lab = Lab::new(1, 4, 1);
    lab.server.create(Service, service("web", &json!({})));
    for number in 0..250 {
        pod(&mut lab, &format!("p{number}"), "web", number, true);
    }
    lab.controllers();
    let mut sizes: Vec<usize> =
        slices(&lab, "web").map(|slice| slice["endpoints"].as_array().unwrap().len()).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [50, MOST, MOST]);
    for (what, change) in [
        (
            "not ready",
            (|lab: &mut Lab| lab.server.set_pod(&at("p7"), "Running", false)) as fn(&mut Lab),
        ),
        ("ready", |lab| lab.server.set_pod(&at("p7"), "Running", true)),
        ("gone", |lab| lab.server.remove(Pod, &at("p120"))),
        ("new", |lab| pod(lab, "new", "web", 900, true)),
    ] {
        let calls = lab.server.calls;
        change(&mut lab);
        lab.controllers();
        assert_eq!(lab.server.calls - calls, 1, "{what}");
    }
    // Heartbeats and the like write nothing.
    let calls = lab.server.calls;
    lab.server.change(Pod, &at("p3"), |pod| pod["status"]["note"] = json!("x"));
    lab.controllers();
    assert_eq!(lab.server.calls, calls);
}

/// What the slices should say, said otherwise: for every Service and family, who and how.
fn wanted(lab: &Lab, service: &Value) -> BTreeSet<(String, String, bool, bool)> {
    let mut wanted = BTreeSet::new();
    let Some(selector) = service["spec"]["selector"].as_object() else { return wanted };
    for pod in lab.server.all(Pod) {
        let labels = &pod["metadata"]["labels"];
        if !selector.iter().all(|(name, value)| &labels[name] == value) {
            continue;
        }
        if matches!(phase(pod), "Succeeded" | "Failed") {
            continue;
        }
        for ip in pod["status"]["podIPs"].as_array().into_iter().flatten() {
            let ip = ip["ip"].as_str().unwrap();
            let family = if ip.contains(':') { "IPv6" } else { "IPv4" };
            if service["spec"]["ipFamilies"].as_array().unwrap().iter().any(|f| f == family) {
                let ready = is_ready(pod);
                wanted.insert((ip.to_owned(), family.to_owned(), ready && !is_leaving(pod), ready));
            }
        }
    }
    wanted
}

fn found(lab: &Lab, name: &str) -> BTreeSet<(String, String, bool, bool)> {
    let mut found = BTreeSet::new();
    for slice in slices(lab, name) {
        let all = slice["endpoints"].as_array().unwrap();
        assert!(all.len() <= MOST);
        for endpoint in all {
            let family = slice["addressType"].as_str().unwrap().to_owned();
            let ip = endpoint["addresses"][0].as_str().unwrap().to_owned();
            let condition = |name: &str| endpoint["conditions"][name].as_bool().unwrap();
            let new = found.insert((ip, family, condition("ready"), condition("serving")));
            assert!(new, "an endpoint is in two slices");
        }
    }
    found
}

fn play(seed: u64) {
    let operators = 1 + usize::try_from(seed % 2).unwrap();
    let mut lab = Lab::new(seed, 4, operators);
    let names = ["web", "db", "both"];
    lab.server.create(Service, service("web", &json!({})));
    lab.server.create(Service, service("db", &json!({"ipFamilies": ["IPv6", "IPv4"]})));
    let named = json!([{"name": "api", "port": 80, "targetPort": "http"}]);
    lab.server
        .create(Service, service("both", &json!({"selector": {"app": "web"}, "ports": named})));
    let mut number = 0;
    for _ in 0..400 {
        match lab.chance.below(40) {
            0..=3 => {
                let app = *lab.chance.pick(&["web", "db", "none"]);
                pod(&mut lab, &format!("p{number}"), app, number, number % 3 == 0);
                number += 1;
            }
            4..=8 => {
                let pods: Vec<_> = lab.server.all(Pod).map(key).collect();
                if pods.is_empty() {
                    continue;
                }
                let one = lab.chance.pick(&pods).clone();
                match lab.chance.below(5) {
                    0 => drop(lab.server.delete(Pod, &one, false)),
                    1 => lab.server.remove(Pod, &one),
                    2 => lab.server.set_pod(&one, "Running", true),
                    3 => lab.server.set_pod(&one, "Running", false),
                    _ => {
                        let app = *lab.chance.pick(&["web", "db", "none"]);
                        lab.server
                            .change(Pod, &one, |pod| pod["metadata"]["labels"]["app"] = json!(app));
                    }
                }
            }
            9 => {
                let name = *lab.chance.pick(&names);
                let app = *lab.chance.pick(&["web", "db"]);
                lab.server.change(Service, &at(name), |service| {
                    service["spec"]["selector"]["app"] = json!(app);
                });
            }
            10 => {
                // Somebody takes a slice away.
                let all: Vec<_> = lab.server.all(EndpointSlice).map(key).collect();
                if !all.is_empty() {
                    let one = lab.chance.pick(&all).clone();
                    lab.server.remove(EndpointSlice, &one);
                }
            }
            11 if seed.is_multiple_of(3) => {
                let at = lab.chance.below(lab.operators.len());
                let dead = lab.operators.swap_remove(at);
                dead.die(&mut lab.server, &mut lab.chance);
                let new = Operator::start(&lab.server, landbridge_workloads::Settings::default());
                lab.operators.push(new);
            }
            12 => {
                let at = lab.chance.below(lab.operators.len());
                let kind = *lab.chance.pick(&Kind::ALL);
                lab.operators[at].list(&lab.server, kind);
            }
            _ => {
                let at = lab.chance.below(lab.operators.len());
                let operator = &mut lab.operators[at];
                match lab.chance.below(3) {
                    0 => {
                        let kind = *lab.chance.pick(&Kind::ALL);
                        operator.hear(&lab.server, kind);
                    }
                    1 => operator.act(lab.server.now, 1 + lab.chance.below(5)),
                    _ => {
                        operator.travel(&mut lab.server, &mut lab.chance, false);
                    }
                }
            }
        }
        lab.server.now = lab.server.now.checked_add(SignedDuration::from_millis(10)).unwrap();
    }
    // Peace: everything is heard, and what failed is tried again.
    for _ in 0..40 {
        lab.controllers();
        lab.pass(2);
    }
    for name in names {
        let service = lab.object(Service, name).clone();
        assert_eq!(found(&lab, name), wanted(&lab, &service), "{name}");
        let families = service["spec"]["ipFamilies"].as_array().unwrap().len();
        assert!(slices(&lab, name).count() >= families);
    }
    let calls = lab.server.calls;
    lab.controllers();
    assert_eq!(lab.server.calls, calls, "at rest nothing is written");
}

#[test]
fn random_timelines() {
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let first = number("LANDBRIDGE_TIMELINE", 0);
    for seed in first..first + number("LANDBRIDGE_TIMELINES", 250) {
        let result = std::panic::catch_unwind(|| play(seed));
        assert!(result.is_ok(), "seed {seed}: LANDBRIDGE_TIMELINE={seed} LANDBRIDGE_TIMELINES=1");
    }
}
