//! What the plugin multus does.

use std::time::{Duration, Instant};

use landbridge_attach::objects::Pod;
use landbridge_attach::objects::fake::Fault;
use landbridge_cni::environment::Command;
use landbridge_cni::{CniError, Code};
use serde_json::{Value, json};

use crate::support::{Node, ips, mode, owned, pod};

const BOTH: &str = r#"[{"name":"internalapi","namespace":"openstack"},{"name":"storage","namespace":"openstack"}]"#;

fn failure(node: &Node, podref: &str, networks: &str) -> CniError {
    node.fake.put_pod(pod(podref, networks));
    node.run(Command::Add, "c1", podref).unwrap_err()
}

#[test]
fn the_seeds_pod_gets_its_networks() {
    let node = Node::new();
    node.fake.put_pod(pod("openstack/glance-0", BOTH));
    let result = node.run(Command::Add, "c1", "openstack/glance-0").unwrap().unwrap();
    // The cluster's network is the answer.
    assert_eq!(ips(&result), ["10.244.0.5/24"]);
    let status = node.status("openstack/glance-0");
    let one = |interface: &str, name: &str, ip: &str| {
        (interface.to_owned(), name.to_owned(), vec![ip.to_owned()])
    };
    assert_eq!(
        status,
        [
            one("eth0", "cbr0", "10.244.0.5"),
            one("net1", "openstack/internalapi", "172.17.0.30"),
            one("net2", "openstack/storage", "172.18.0.30"),
        ]
    );
    let text = node.fake.state().pods["openstack/glance-0"].annotations
        [landbridge_cni::status::ANNOTATION]
        .clone();
    assert!(
        text.starts_with("[{\n    \"name\": \"cbr0\",\n    \"interface\": \"eth0\","),
        "{text}"
    );
    let events: Vec<String> = node
        .fake
        .state()
        .events
        .iter()
        .map(|(_, e)| format!("{} {}", e.reason, e.message))
        .collect();
    assert_eq!(
        events,
        [
            "AddedInterface Add eth0 [10.244.0.5/24] from cbr0",
            "AddedInterface Add net1 [172.17.0.30/24] from openstack/internalapi",
            "AddedInterface Add net2 [172.18.0.30/24] from openstack/storage",
        ]
    );
    let file = node.cni_dir().join("c1");
    assert_eq!(mode(&file), 0o600);
    let cached: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(cached[1]["Conf"]["type"], "macvlan");
    assert_eq!(cached[1]["Name"], "openstack/internalapi");
    node.networks.take_done();
    node.run(Command::Del, "c1", "openstack/glance-0").unwrap();
    assert_eq!(
        node.networks.take_done(),
        ["DEL storage net2", "DEL internalapi net1", "DEL cbr0 eth0"]
    );
    assert!(!file.exists());
    let state = node.fake.state();
    assert!(state.reservations.is_empty());
    assert!(state.pools.values().all(|pool| pool.spec.allocations.is_empty()));
}

#[test]
fn delegates_get_the_pod_in_upstreams_order() {
    let node = Node::new();
    let asked = r#"[{"name":"internalapi","ips":["172.17.0.20/24"],"mac":"02:00:00:00:00:07","cni-args":{"a":1}}]"#;
    node.fake.put_pod(pod("openstack/ovn-0", asked));
    node.run(Command::Add, "c1", "openstack/ovn-0").unwrap();
    {
        let calls = node.networks.calls.lock().unwrap();
        assert_eq!(
            calls[1].1.environment.args.to_string(),
            "IgnoreUnknown=true;K8S_POD_NAMESPACE=openstack;K8S_POD_NAME=ovn-0;\
             K8S_POD_INFRA_CONTAINER_ID=;K8S_POD_UID=uid-ovn-0;MAC=02:00:00:00:00:07;\
             IP=172.17.0.20/24"
        );
        assert_eq!(calls[1].1.capabilities["ips"], json!(["172.17.0.20/24"]));
        assert_eq!(calls[0].1.environment.path, ["/opt/cni/bin"]);
    }
    // The static address of the seed, without a capability declared.
    assert_eq!(node.status("openstack/ovn-0")[1].2, ["172.17.0.20"]);
    node.run(Command::Del, "c1", "openstack/ovn-0").unwrap();
    let calls = node.networks.calls.lock().unwrap();
    let args = calls.last().unwrap().1.environment.args.to_string();
    assert!(!args.contains("IP=") && !args.contains("MAC="), "{args}");
}

/// Edge case 15.
#[test]
fn names_of_interfaces_count_places() {
    let node = Node::new();
    for name in ["a", "b", "c"] {
        node.fake.define("n", name, &format!(r#"{{"type":"macvlan","name":"{name}"}}"#));
    }
    node.fake.put_pod(pod("n/p", "a,b@eth5,c"));
    node.run(Command::Add, "c1", "n/p").unwrap();
    let interfaces: Vec<_> = node.status("n/p").into_iter().map(|s| s.0).collect();
    assert_eq!(interfaces, ["eth0", "net1", "eth5", "net3"]);
}

/// Edge case 16.
#[test]
fn one_network_twice_is_two_addresses() {
    let node = Node::new();
    node.fake.put_pod(pod("openstack/p", "internalapi,internalapi"));
    node.run(Command::Add, "c1", "openstack/p").unwrap();
    let mut found: Vec<_> =
        node.status("openstack/p").into_iter().skip(1).map(|s| (s.0, s.2)).collect();
    assert_eq!((found[0].0.as_str(), found[1].0.as_str()), ("net1", "net2"));
    found.sort_by(|a, b| a.1.cmp(&b.1));
    assert_eq!((found[0].1[0].as_str(), found[1].1[0].as_str()), ("172.17.0.30", "172.17.0.31"));
}

/// Edge case 17.
#[test]
fn del_needs_no_definition_and_no_cluster() {
    let node = Node::new();
    node.fake.put_pod(pod("openstack/p", "internalapi"));
    node.run(Command::Add, "c1", "openstack/p").unwrap();
    {
        let mut state = node.fake.state();
        state.definitions.clear();
        state.pods.clear();
    }
    node.networks.take_done();
    node.run(Command::Del, "c1", "openstack/p").unwrap();
    assert_eq!(node.networks.take_done(), ["DEL internalapi net1", "DEL cbr0 eth0"]);
    assert!(node.fake.state().reservations.is_empty());
}

/// Edge case 18.
#[test]
fn a_missing_definition_fails_the_sandbox_and_is_told() {
    let node = Node::new();
    let error = failure(&node, "openstack/p", "internalapi,missing");
    assert_eq!(
        error.msg,
        "Multus: [openstack/p/uid-p]: error loading k8s delegates k8s args: cannot find a \
         network-attachment-definition (missing) in namespace (openstack): \
         network-attachment-definitions.k8s.cni.cncf.io \"missing\" not found"
    );
    let state = node.fake.state();
    let (podref, event) = &state.events[0];
    assert_eq!(
        (podref.as_str(), event.reason, event.is_warning),
        ("openstack/p", "NoNetworkFound", true)
    );
    assert!(event.message.starts_with("cannot find a network-attachment-definition (missing)"));
    assert!(node.networks.done.lock().unwrap().is_empty());
}

#[test]
fn bad_annotations_and_definitions_say_what_is_wrong() {
    let node = Node::new();
    node.fake.define("n", "torn", "{");
    node.fake.define("n", "untyped", r#"{"cniVersion":"0.3.1"}"#);
    node.fake.define("n", "empty-list", r#"{"plugins":[]}"#);
    node.fake.define("n", "path", r#"{"type":"../sh"}"#);
    node.fake.define("n", "future", r#"{"cniVersion":"7.0.0","type":"macvlan"}"#);
    node.fake.define("n", "bare", "");
    let directory = node.directory.path().join("net.d");
    let cases = [
        ("torn", 6, "network-attachment-definition n/torn: the network configuration is no JSON object: EOF while parsing an object at line 1 column 1".to_owned()),
        ("untyped", 7, "network-attachment-definition n/untyped: the network configuration has neither \"type\" nor \"plugins\"".to_owned()),
        ("empty-list", 7, "network-attachment-definition n/empty-list: the network configuration lists no plugins".to_owned()),
        ("path", 7, "network-attachment-definition n/path: invalid plugin name: ../sh".to_owned()),
        ("future", 1, "network-attachment-definition n/future: incompatible CNI versions; config is \"7.0.0\", plugin supports [\"0.1.0\" \"0.2.0\" \"0.3.0\" \"0.3.1\" \"0.4.0\" \"1.0.0\" \"1.1.0\"]".to_owned()),
        ("bare", 7, format!("network-attachment-definition n/bare has no spec.config, and no file of {} has a network of that name", directory.display())),
        ("{\"name\":\"a\"}", 6, "failed to parse pod Network Attachment Selection Annotation JSON format: invalid type: map, expected a sequence at line 1 column 0".to_owned()),
        ("[{\"name\":\"a\"", 6, "failed to parse pod Network Attachment Selection Annotation JSON format: EOF while parsing an object at line 1 column 12".to_owned()),
        ("a/b/c", 7, "Invalid network object (failed at '/'): \"a/b/c\"".to_owned()),
        ("a@b@c", 7, "Invalid network object (failed at '@'): \"a@b@c\"".to_owned()),
        ("a,", 7, "a network of the annotation has no name".to_owned()),
        ("[{\"name\":\"bare\",\"ips\":[\"1.2.3\"]}]", 7, "network n/bare: failed to parse IP address \"1.2.3\"".to_owned()),
        ("[{\"name\":\"bare\",\"mac\":\"zz\"}]", 7, "network n/bare: failed to mac: address zz: invalid MAC address".to_owned()),
    ];
    for (networks, code, message) in cases {
        let error = failure(&node, "n/p", networks);
        let expected =
            format!("Multus: [n/p/uid-p]: error loading k8s delegates k8s args: {message}");
        assert_eq!((error.msg, error.code), (expected, Code(code)), "{networks}");
        assert_eq!(error.cni_version, "1.1.0");
    }
    assert!(!node.cni_dir().exists(), "nothing was attached, nothing is remembered");
}

#[test]
fn a_definition_without_configuration_is_looked_up_on_the_node() {
    let node = Node::new();
    let directory = node.directory.path().join("net.d");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("10-a.conf"), "not json").unwrap();
    let list =
        r#"{"cniVersion":"0.3.1","name":"bare","plugins":[{"type":"ptp"},{"type":"tuning"}]}"#;
    std::fs::write(directory.join("20-b.conflist"), list).unwrap();
    node.fake.define("n", "bare", "");
    node.fake.put_pod(pod("n/p", "bare"));
    node.run(Command::Add, "c1", "n/p").unwrap();
    assert_eq!(node.networks.take_done(), ["ADD cbr0 eth0", "ADD bare net1"]);
}

#[test]
fn a_failure_undoes_what_was_done() {
    let node = Node::new();
    node.fake.define("openstack", "odd", r#"{"type":"somebodys","name":"odd"}"#);
    node.fake.put_pod(pod("openstack/p", "internalapi,odd,storage"));
    node.networks.broken.lock().unwrap().push(("odd".into(), Command::Add));
    let error = node.run(Command::Add, "c1", "openstack/p").unwrap_err();
    assert_eq!(
        error.msg,
        "[openstack/p/uid-p:odd]: error adding container to network \"odd\": odd is broken"
    );
    assert_eq!(
        node.networks.take_done(),
        [
            "ADD cbr0 eth0",
            "ADD internalapi net1",
            "ADD odd net2",
            "DEL odd net2",
            "DEL internalapi net1",
            "DEL cbr0 eth0"
        ]
    );
    assert!(node.fake.state().reservations.is_empty());
    assert!(
        !node.fake.state().pods["openstack/p"]
            .annotations
            .contains_key(landbridge_cni::status::ANNOTATION)
    );
}

/// Edge case 20, as far as it is not the plugin's own.
#[test]
fn an_address_of_a_network_that_failed_later_is_free_again() {
    let node = Node::new();
    node.fake.put_pod(pod("openstack/p", "internalapi"));
    node.networks.broken_late.lock().unwrap().push("internalapi".into());
    let error = node.run(Command::Add, "c1", "openstack/p").unwrap_err();
    assert!(error.msg.ends_with("failed to add route: network is unreachable"), "{error}");
    let state = node.fake.state();
    assert!(state.pools["172.17.0.0-24"].spec.allocations.is_empty());
    assert!(state.reservations.is_empty());
}

#[test]
fn known_plugins_are_attached_at_the_same_time_in_status_order() {
    let node = Node::new();
    *node.networks.slowness.lock().unwrap() = Duration::from_millis(300);
    node.fake.put_pod(pod("openstack/p", "internalapi,storage,internalapi,storage"));
    let begun = Instant::now();
    node.run(Command::Add, "c1", "openstack/p").unwrap();
    assert!(begun.elapsed() < Duration::from_millis(1200), "{:?}", begun.elapsed());
    let interfaces: Vec<_> = node.status("openstack/p").into_iter().map(|s| s.0).collect();
    assert_eq!(interfaces, ["eth0", "net1", "net2", "net3", "net4"]);
    // One of them fails: all are taken back.
    node.fake.put_pod(pod("openstack/q", "internalapi,storage"));
    node.networks.broken.lock().unwrap().push(("storage".into(), Command::Add));
    node.networks.take_done();
    node.run(Command::Add, "c2", "openstack/q").unwrap_err();
    let undone: Vec<_> =
        node.networks.take_done().into_iter().filter(|d| d.starts_with("DEL")).collect();
    assert_eq!(undone, ["DEL storage net2", "DEL internalapi net1", "DEL cbr0 eth0"]);
}

#[test]
fn a_pod_that_is_gone_is_answered_as_upstream_does() {
    let node = Node::new();
    let result = node.run(Command::Add, "c1", "n/gone").unwrap().unwrap();
    assert_eq!(ips(&result), ["0.0.0.0/0"]);
    assert_eq!(result.ips[0].gateway, Some("0.0.0.0".parse().unwrap()));
    assert!(node.networks.done.lock().unwrap().is_empty());
}

#[test]
fn another_pod_of_the_same_name_is_not_meant() {
    let node = Node::new();
    let other = Pod { uid: "later".into(), ..pod("n/p", "") };
    node.fake.put_pod(other.clone());
    assert_eq!(
        node.run(Command::Add, "c1", "n/p").unwrap_err().msg,
        "Multus: [n/p/uid-p]: expected pod UID \"uid-p\" but got \"later\" from Kube API"
    );
    // DEL: only what is remembered counts.
    node.run(Command::Del, "c1", "n/p").unwrap();
    assert!(node.networks.take_done().is_empty());
    // Pods of a file have an identity of their own.
    let mut file = other;
    file.annotations.insert("kubernetes.io/config.source".into(), "file".into());
    node.fake.put_pod(file);
    node.run(Command::Add, "c1", "n/p").unwrap();
}

#[test]
fn del_without_a_cache_file_goes_by_the_annotation_and_never_blocks() {
    let node = Node::new();
    node.fake.put_pod(pod("openstack/p", "internalapi"));
    node.run(Command::Del, "c9", "openstack/p").unwrap();
    assert_eq!(node.networks.take_done(), ["DEL internalapi net1", "DEL cbr0 eth0"]);
    std::fs::create_dir_all(node.cni_dir()).unwrap();
    std::fs::write(node.cni_dir().join("c9"), "torn").unwrap();
    node.fake.state().is_away = true;
    let begun = Instant::now();
    node.run(Command::Del, "c9", "openstack/p").unwrap();
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert!(node.networks.take_done().is_empty());
}

#[test]
fn del_tries_all_and_joins_what_failed() {
    let node = Node::new();
    node.fake.put_pod(pod("openstack/p", "internalapi,storage"));
    node.run(Command::Add, "c1", "openstack/p").unwrap();
    for name in ["internalapi", "cbr0"] {
        node.networks.broken.lock().unwrap().push((name.into(), Command::Del));
    }
    let careful = json!({"retryDeleteOnError": true});
    let request = node.request(Command::Del, "c1", "openstack/p", &careful);
    let error = node.attacher.run(&request).unwrap_err();
    assert_eq!(error.msg, "Multus: [openstack/p/uid-p]: internalapi is broken / cbr0 is broken");
    assert!(node.cni_dir().join("c1").exists());
    node.run(Command::Del, "c1", "openstack/p").unwrap_err();
    assert!(!node.cni_dir().join("c1").exists());
}

#[test]
fn namespaces_are_kept_apart_on_demand() {
    let node = Node::new();
    node.fake.put_pod(pod("n/p", "openstack/internalapi"));
    let isolated = json!({"namespaceIsolation": true});
    let error = node.attacher.run(&node.request(Command::Add, "c1", "n/p", &isolated)).unwrap_err();
    assert!(
        error.msg.ends_with(
            "namespace isolation enabled, annotation violates permission, pod is in namespace n \
             but refers to target namespace openstack"
        ),
        "{error}"
    );
    let global = json!({"namespaceIsolation": true, "globalNamespaces": "default, openstack"});
    node.attacher.run(&node.request(Command::Add, "c1", "n/p", &global)).unwrap();
}

#[test]
fn the_clusters_network_may_be_named_and_replaced() {
    let node = Node::new();
    node.fake.define("kube-system", "main", r#"{"type":"bridge","name":"main-net"}"#);
    node.fake.define("kube-system", "extra", r#"{"type":"macvlan","name":"extra-net"}"#);
    node.fake.define("kube-system", "other", r#"{"type":"bridge","name":"other-net"}"#);
    let named = json!({"delegates": null, "clusterNetwork": "main", "defaultNetworks": ["extra"]});
    node.fake.put_pod(pod("openstack/p", "internalapi"));
    node.attacher.run(&node.request(Command::Add, "c1", "openstack/p", &named)).unwrap();
    let names = |podref: &str| -> Vec<_> {
        node.status(podref).into_iter().map(|s| format!("{} {}", s.0, s.1)).collect()
    };
    assert_eq!(
        names("openstack/p"),
        ["eth0 kube-system/main", "net1 kube-system/extra", "net2 openstack/internalapi"]
    );
    // Pods of the system do not get the default networks.
    node.fake.put_pod(pod("kube-system/q", ""));
    node.attacher.run(&node.request(Command::Add, "c2", "kube-system/q", &named)).unwrap();
    assert_eq!(names("kube-system/q"), ["eth0 kube-system/main"]);
    let mut replaced = pod("openstack/r", "");
    replaced
        .annotations
        .insert(landbridge_cni::networks::DEFAULT_ANNOTATION.into(), "other".into());
    node.fake.put_pod(replaced);
    node.attacher.run(&node.request(Command::Add, "c3", "openstack/r", &named)).unwrap();
    assert_eq!(names("openstack/r"), ["eth0 kube-system/other", "net1 kube-system/extra"]);
    let missing = json!({"delegates": null, "clusterNetwork": "nowhere"});
    let error =
        node.attacher.run(&node.request(Command::Add, "c4", "openstack/p", &missing)).unwrap_err();
    assert!(
        error.msg.contains("network \"nowhere\" of the Multus configuration is neither"),
        "{error}"
    );
}

#[test]
fn default_routes_go_where_they_are_asked() {
    let node = Node::new();
    let asked = r#"[{"name":"internalapi","default-route":["172.17.0.1"]}]"#;
    node.fake.put_pod(pod("openstack/p", asked));
    let result = node.run(Command::Add, "c1", "openstack/p").unwrap().unwrap();
    assert!(result.routes.is_empty(), "the cluster's network lost its default route");
    let routes = node.sandboxes.routes.lock().unwrap();
    assert_eq!(routes[0].0, "eth0");
    assert!(routes[0].1.drop_v4 && routes[0].1.through.is_empty());
    assert_eq!(routes[1].0, "net1");
    assert_eq!(routes[1].1.through, ["172.17.0.1".parse::<std::net::IpAddr>().unwrap()]);
    // What is kept for CHECK and DEL says the same.
    let kept = node.networks.kept.lock().unwrap();
    assert!(kept["cbr0 eth0"].routes.is_empty());
    assert_eq!(kept["internalapi net1"].routes[0].gw, Some("172.17.0.1".parse().unwrap()));
    drop(kept);
    let two = r#"[{"name":"internalapi","default-route":["172.17.0.1"]},{"name":"storage","default-route":["172.18.0.1"]}]"#;
    let error = failure(&node, "openstack/q", two);
    assert_eq!(
        error.msg,
        "Multus: [openstack/q/uid-q]: multus does not support ECMP for default-route"
    );
}

#[test]
fn an_interface_that_is_there_is_an_error_before_the_plugin_runs() {
    let node = Node::new();
    node.sandboxes.interfaces.lock().unwrap().push("net1".into());
    let error = failure(&node, "openstack/p", "internalapi");
    assert_eq!(
        error.msg,
        "[openstack/p/uid-p:internalapi]: error adding container to network \"internalapi\": \
         cannot set \"macvlan\" interface name to \"net1\": ifname net1 is already exist"
    );
    assert!(!node.networks.take_done().contains(&"ADD internalapi net1".to_owned()));
}

#[test]
fn an_api_that_comes_back_in_time_is_waited_for() {
    let node = Node::new();
    node.fake.put_pod(pod("openstack/p", "internalapi"));
    node.fake.fail("pod", &[Fault::Unreachable, Fault::Unreachable]);
    node.run(Command::Add, "c1", "openstack/p").unwrap();
    node.fake.state().is_away = true;
    let error = node.run(Command::Add, "c2", "openstack/p").unwrap_err();
    assert_eq!(
        error.msg,
        "Multus: [openstack/p/uid-p]: error waiting for pod: the Kubernetes API does not answer: \
         pod: the fake is away"
    );
    assert_eq!(error.code, Code::TRY_AGAIN);
}

#[test]
fn a_status_that_cannot_be_written_fails_the_add() {
    let node = Node::new();
    node.fake.put_pod(pod("openstack/p", "internalapi"));
    node.fake.fail("set_network_status", &[Fault::Refused]);
    let error = node.run(Command::Add, "c1", "openstack/p").unwrap_err();
    assert!(error.msg.contains("error setting the networks status"), "{error}");
}

#[test]
fn the_readiness_file_is_waited_for() {
    let node = Node::new();
    node.fake.put_pod(pod("n/p", ""));
    let file = node.directory.path().join("ready");
    let more = json!({"readinessindicatorfile": file});
    let request = node.request(Command::Add, "c1", "n/p", &more);
    let error = node.attacher.run(&request).unwrap_err();
    assert!(error.msg.contains("still waiting for readinessindicatorfile @ "), "{error}");
    let status = node.request(Command::Status, "c1", "n/p", &more);
    assert_eq!(node.attacher.run(&status).unwrap_err().code, Code::NOT_AVAILABLE);
    std::fs::write(&file, "").unwrap();
    node.attacher.run(&request).unwrap();
    node.attacher.run(&status).unwrap();
}

#[test]
fn check_covers_the_networks_of_the_annotation() {
    let node = Node::new();
    node.fake.define("n", "new", r#"{"cniVersion":"1.0.0","type":"macvlan","name":"new"}"#);
    node.fake.put_pod(pod("n/p", "new,openstack/internalapi"));
    node.run(Command::Add, "c1", "n/p").unwrap();
    node.networks.take_done();
    node.run(Command::Check, "c1", "n/p").unwrap();
    // The seed's network is of a version without CHECK.
    assert_eq!(node.networks.take_done(), ["CHECK cbr0 eth0", "CHECK new net1"]);
    node.networks.broken.lock().unwrap().push(("new".into(), Command::Check));
    assert_eq!(
        node.run(Command::Check, "c1", "n/p").unwrap_err().msg,
        "Multus: [n/p/uid-p]: new is broken"
    );
    let old = json!({"cniVersion": "0.3.1"});
    let error = node.attacher.run(&node.request(Command::Check, "c1", "n/p", &old)).unwrap_err();
    assert_eq!((error.msg.as_str(), error.code), ("config version does not allow CHECK", Code(1)));
}

#[test]
fn gc_detaches_what_is_not_to_be_kept() {
    let node = Node::new();
    for name in ["p", "q"] {
        node.fake.put_pod(pod(&format!("openstack/{name}"), "internalapi"));
        node.run(Command::Add, &format!("c-{name}"), &format!("openstack/{name}")).unwrap();
    }
    node.networks.take_done();
    let keep = json!({"cni.dev/valid-attachments": [{"containerID": "c-q", "ifname": "eth0"}]});
    node.attacher.run(&node.request(Command::Gc, "", "openstack/x", &keep)).unwrap();
    assert_eq!(
        node.networks.take_done(),
        ["DEL internalapi net1", "DEL cbr0 eth0", "GC cbr0 ", "keeping 1"]
    );
    assert!(!node.cni_dir().join("c-p").exists() && node.cni_dir().join("c-q").exists());
    let held: Vec<_> =
        node.fake.state().reservations.values().map(|r| r.spec.podref.clone()).collect();
    assert_eq!(held, ["openstack/q"]);
    // No list at all is not an empty list.
    node.attacher.run(&node.request(Command::Gc, "", "openstack/x", &json!({}))).unwrap();
    assert!(node.cni_dir().join("c-q").exists());
}

#[test]
fn sticky_definitions_mark_the_section_and_the_cache_keeps_it() {
    let node = Node::new();
    node.fake
        .state()
        .definitions
        .get_mut("openstack/internalapi")
        .unwrap()
        .annotations
        .insert("landbridge.dev/sticky".into(), "true".into());
    node.fake.put_pod(owned(pod("openstack/ovn-x1", "internalapi"), "DaemonSet", "ovn"));
    node.run(Command::Add, "c1", "openstack/ovn-x1").unwrap();
    assert_eq!(node.status("openstack/ovn-x1")[1].2, ["172.17.0.30"]);
    node.fake.state().pods.clear();
    node.run(Command::Del, "c1", "openstack/ovn-x1").unwrap();
    // Somebody else does not get it, the same set on the same node does.
    node.fake.put_pod(pod("openstack/other", "internalapi"));
    node.run(Command::Add, "c2", "openstack/other").unwrap();
    assert_eq!(node.status("openstack/other")[1].2, ["172.17.0.31"]);
    node.fake.put_pod(owned(pod("openstack/ovn-x2", "internalapi"), "DaemonSet", "ovn"));
    node.run(Command::Add, "c3", "openstack/ovn-x2").unwrap();
    assert_eq!(node.status("openstack/ovn-x2")[1].2, ["172.17.0.30"]);
}

#[test]
fn a_definition_cannot_claim_to_be_somebody_elses() {
    let node = Node::new();
    let stolen = r#"{"type":"macvlan","name":"s","ipam":{"type":"whereabouts","range":"172.17.0.0/24",
        "range_start":"172.17.0.30","landbridge.dev/holder":{"podref":"openstack/ovn-0",
        "owner":{"apiVersion":"apps/v1","kind":"StatefulSet","name":"ovn","uid":"u"}}}}"#;
    node.fake.define("n", "stolen", stolen);
    node.fake.put_pod(pod("openstack/ovn-0", "internalapi"));
    node.run(Command::Add, "c1", "openstack/ovn-0").unwrap();
    node.fake.put_pod(pod("n/thief", "stolen"));
    node.run(Command::Add, "c2", "n/thief").unwrap();
    assert_eq!(node.status("n/thief")[1].2, ["172.17.0.31"]);
}
