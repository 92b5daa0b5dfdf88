//! Whole networks: own plugins and programs in one chain, the kept result.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use landbridge_cni::args::Args;
use landbridge_cni::config::{Attachment, Network};
use landbridge_cni::result::Ip;
use landbridge_cni::{CniError, CniResult, Code};
use landbridge_plugins::{Call, Endpoint, Ipam, Ipams, NoIpams, Runtime};
use serde_json::{Value, json};

use crate::harness::{Net, Node};

fn endpoint(node: &Node, pod: &Net, container: &str) -> Endpoint {
    Endpoint {
        container_id: container.to_owned(),
        netns: Some(pod.path()),
        interface: "net1".to_owned(),
        args: Args::parse("IgnoreUnknown=1;K8S_POD_NAME=p").unwrap(),
        capabilities: serde_json::from_value(json!({"mac": mac(container), "odd": 1})).unwrap(),
        path: vec![node.dir("bin")],
    }
}

fn mac(container: &str) -> String {
    format!("02:00:00:00:00:0{}", container.trim_start_matches('c'))
}

fn list(node: &Node, version: &str, more: &[Value]) -> Network {
    let mut plugins =
        vec![json!({"type": "macvlan", "master": "eth0", "capabilities": {"mac": true},
        "ipam": {"type": "host-local", "dataDir": node.dir("networks"), "subnet": "10.4.0.0/24"}})];
    plugins.extend(more.iter().cloned());
    let text = json!({"cniVersion": version, "name": "storage", "plugins": plugins}).to_string();
    Network::parse(text.as_bytes()).unwrap()
}

fn program(node: &Node, name: &str, script: &str) {
    let directory = node.dir("bin");
    std::fs::create_dir_all(&directory).unwrap();
    let file = Path::new(&directory).join(name);
    std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A program that notes its calls and hands the previous result on.
fn noting(node: &Node, name: &str) -> String {
    let log = node.dir(&format!("{name}.log"));
    program(
        node,
        name,
        &format!(
            "stdin=$(cat); printf '%s %s\\n' \"$CNI_COMMAND\" \"$stdin\" >>{log}\n\
             [ \"$CNI_COMMAND\" = ADD ] && printf '%s' \"$stdin\" | sed 's/.*\"prevResult\"://; s/,\"type\".*//'\nexit 0"
        ),
    );
    log
}

fn in_node<T: Send>(node: &Node, work: impl FnOnce() -> T + Send) -> T {
    node.net.namespace.run(work).unwrap()
}

#[test]
fn a_chain_of_own_and_foreign_plugins() {
    let Some(node) = Node::new() else { return };
    let pod = Net::new();
    let log = noting(&node, "noting");
    let tuning = json!({"type": "tuning", "mtu": 1400, "dataDir": node.dir("tuning")});
    let network = list(&node, "1.0.0", &[json!({"type": "noting", "x": 1}), tuning]);
    let endpoint = endpoint(&node, &pod, "c1");
    in_node(&node, || {
        let runtime = Runtime::new(&NoIpams, node.dir("cache"));
        let result = runtime.add(&network, &endpoint).unwrap();
        assert_eq!(result.ips[0].address.to_string(), "10.4.0.2/24");
        assert_eq!(result.interfaces[0].mac, mac("c1"), "the capability was told");
        assert_eq!(pod.link("net1").unwrap().mtu, 1400);

        let file = node.directory.path().join("cache/results/storage-c1-net1");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let kept: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert_eq!((&kept["kind"], &kept["ifName"]), (&json!("cniCacheV1"), &json!("net1")));
        assert_eq!(kept["cniArgs"][1], json!(["K8S_POD_NAME", "p"]));
        assert_eq!(kept["capabilityArgs"]["odd"], 1);
        assert_eq!(kept["result"]["cniVersion"], "1.0.0");
        let config = kept["config"].as_str().unwrap();
        let config = base64::engine::general_purpose::STANDARD.decode(config).unwrap();
        assert_eq!(Network::parse(&config).unwrap(), network);

        runtime.check(&network, &endpoint).unwrap();
        runtime.del(&network, &endpoint).unwrap();
        assert!(!file.exists());
        runtime.del(&network, &endpoint).unwrap();
    });
    assert_eq!(pod.links(), [""; 0]);
    let noted = std::fs::read_to_string(log).unwrap();
    let commands: Vec<&str> = noted.lines().map(|l| l.split(' ').next().unwrap()).collect();
    assert_eq!(commands, ["ADD", "CHECK", "DEL", "DEL"]);
    let inputs: Vec<Value> = noted
        .lines()
        .map(|l| serde_json::from_str(l.split_once(' ').unwrap().1).unwrap())
        .collect();
    for input in &inputs[..3] {
        assert_eq!(input["prevResult"]["ips"][0]["address"], "10.4.0.2/24");
        assert_eq!((&input["name"], &input["x"]), (&json!("storage"), &json!(1)));
        assert_eq!(input.get("runtimeConfig"), None, "it declared no capability");
    }
    assert_eq!(inputs[3].get("prevResult"), None);
}

#[test]
fn old_versions_are_spoken_with_old_plugins() {
    let Some(node) = Node::new() else { return };
    let pod = Net::new();
    let log = noting(&node, "noting");
    let network = list(&node, "0.3.1", &[json!({"type": "noting"})]);
    let endpoint = endpoint(&node, &pod, "c1");
    in_node(&node, || {
        let runtime = Runtime::new(&NoIpams, node.dir("cache"));
        runtime.add(&network, &endpoint).unwrap();
        let error = runtime.check(&network, &endpoint).unwrap_err();
        assert!(error.msg.contains("does not support CHECK"), "{error}");
        runtime.del(&network, &endpoint).unwrap();
    });
    let noted = std::fs::read_to_string(log).unwrap();
    assert!(noted.contains(r#""version":"4""#) && noted.contains(r#""cniVersion":"0.3.1""#));
    assert!(!noted.lines().nth(1).unwrap().contains("prevResult"), "not before 0.4.0");
}

#[test]
fn a_failure_is_undone_in_reverse() {
    let Some(node) = Node::new() else { return };
    let pod = Net::new();
    let log = noting(&node, "noting");
    let failing = format!(
        "cat >/dev/null; echo \"$CNI_COMMAND failing\" >>{log}; [ $CNI_COMMAND = ADD ] || exit 0\n\
         echo 'no luck' >&2; echo '{{\"code\": 103, \"msg\": \"today not\"}}'; exit 1"
    );
    program(&node, "failing", &failing);
    let network = list(&node, "1.0.0", &[json!({"type": "noting"}), json!({"type": "failing"})]);
    let endpoint = endpoint(&node, &pod, "c1");
    let error = in_node(&node, || {
        Runtime::new(&NoIpams, node.dir("cache")).add(&network, &endpoint).unwrap_err()
    });
    assert_eq!(error.code.0, 103);
    assert_eq!(
        error.to_string(),
        "plugin type=\"failing\" name=\"storage\" failed (add): today not; stderr: no luck"
    );
    assert_eq!(pod.links(), [""; 0]);
    assert!(!Path::new(&node.dir("cache")).join("results/storage-c1-net1").exists());
    assert!(!Path::new(&node.dir("networks")).join("storage/10.4.0.2").exists());
    let noted = std::fs::read_to_string(log).unwrap();
    let commands: Vec<&str> = noted.lines().map(|line| line.get(..11).unwrap_or(line)).collect();
    assert_eq!(commands[1..3], ["ADD failing", "DEL failing"]);
    assert!(commands[3].starts_with("DEL {"));
}

#[test]
fn a_del_tries_all_and_tells_all() {
    let Some(node) = Node::new() else { return };
    let pod = Net::new();
    for name in ["one", "two"] {
        let script = format!(
            "in=$(cat); case $CNI_COMMAND in ADD) printf '%s' \"$in\" | sed 's/.*\"prevResult\"://; s/,\"type\".*//';;\n\
             *) echo '{{\"code\": 999, \"msg\": \"{name} fails\"}}'; exit 1;; esac"
        );
        program(&node, name, &script);
    }
    let network = list(&node, "1.0.0", &[json!({"type": "one"}), json!({"type": "two"})]);
    let endpoint = endpoint(&node, &pod, "c1");
    in_node(&node, || {
        let runtime = Runtime::new(&NoIpams, node.dir("cache"));
        runtime.add(&network, &endpoint).unwrap();
        let error = runtime.del(&network, &endpoint).unwrap_err();
        assert!(error.msg.contains("two fails") && error.msg.contains("one fails"), "{error}");
        assert_eq!(pod.links(), [""; 0], "the main plugin was tried too");
        assert!(runtime.kept(&network, &endpoint).is_some(), "kept for the next DEL");
    });
}

#[test]
fn garbage_of_a_network_is_collected() {
    let Some(node) = Node::new() else { return };
    let pods = [Net::new(), Net::new()];
    let network = list(&node, "1.1.0", &[]);
    in_node(&node, || {
        let runtime = Runtime::new(&NoIpams, node.dir("cache"));
        for (pod, container) in pods.iter().zip(["c1", "c2"]) {
            runtime.add(&network, &endpoint(&node, pod, container)).unwrap();
        }
        // Taken by nobody who is kept: only the plugin's own GC can find it.
        let store = Path::new(&node.dir("networks")).join("storage");
        std::fs::write(store.join("10.4.0.77"), "lost\r\nnet1").unwrap();
        let valid = [Attachment { container_id: "c2".into(), ifname: "net1".into() }];
        runtime.status(&network, &[]).unwrap();
        runtime.gc(&network, &[], &valid).unwrap();
        assert!(runtime.kept(&network, &endpoint(&node, &pods[0], "c1")).is_none());
        assert!(runtime.kept(&network, &endpoint(&node, &pods[1], "c2")).is_some());
        assert!(!store.join("10.4.0.2").exists() && !store.join("10.4.0.77").exists());
        assert!(store.join("10.4.0.3").exists());
    });
    assert_eq!((pods[0].links().len(), pods[1].links().len()), (0, 1));
}

#[test]
fn a_kept_result_that_is_broken_does_not_stop_del() {
    let Some(node) = Node::new() else { return };
    let pod = Net::new();
    let network = list(&node, "1.0.0", &[]);
    let endpoint = endpoint(&node, &pod, "c1");
    in_node(&node, || {
        let runtime = Runtime::new(&NoIpams, node.dir("cache"));
        runtime.add(&network, &endpoint).unwrap();
        std::fs::write(runtime.file("storage", &endpoint), "{").unwrap();
        runtime.del(&network, &endpoint).unwrap();
        assert!(!runtime.file("storage", &endpoint).exists());
    });
    assert_eq!(pod.links(), [""; 0]);
}

#[test]
fn a_program_that_is_missing_is_named() {
    let Some(node) = Node::new() else { return };
    let pod = Net::new();
    let network = list(&node, "1.0.0", &[json!({"type": "portmap"})]);
    let error = in_node(&node, || {
        let runtime = Runtime::new(&NoIpams, node.dir("cache"));
        runtime.add(&network, &endpoint(&node, &pod, "c1")).unwrap_err()
    });
    assert!(error.msg.contains("failed to find plugin \"portmap\" in path ["), "{error}");
    assert_eq!(pod.links(), [""; 0]);
}

/// Gives one address, or none when it is out.
#[derive(Default)]
struct Counting {
    given: AtomicUsize,
    taken_back: AtomicUsize,
}

impl Ipam for Counting {
    fn add(&self, call: &Call) -> Result<CniResult, CniError> {
        if call.environment.container_id == "c9" {
            return Err(CniError::new(Code::TRY_AGAIN, "the pool is busy"));
        }
        self.given.fetch_add(1, Ordering::SeqCst);
        let address = "10.9.0.2/24".parse().unwrap();
        let ips = vec![Ip { address, gateway: None, interface: None }];
        Ok(CniResult { ips, ..CniResult::default() })
    }

    fn del(&self, _call: &Call) -> Result<(), CniError> {
        self.taken_back.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn check(&self, _call: &Call) -> Result<(), CniError> {
        Ok(())
    }
}

impl Ipams for Counting {
    fn own(&self, kind: &str) -> Option<&dyn Ipam> {
        ["whereabouts", "static"].contains(&kind).then_some(self as &dyn Ipam)
    }
}

#[test]
fn addresses_may_come_from_this_process() {
    let Some(node) = Node::new() else { return };
    let counting = Counting::default();
    // The caller's goes before this crate's own of the same name.
    for kind in ["whereabouts", "static"] {
        let pod = Net::new();
        let text = json!({"cniVersion": "0.3.1", "name": "storage", "type": "macvlan",
            "master": "eth0", "ipam": {"type": kind}});
        let network = Network::parse(text.to_string().as_bytes()).unwrap();
        in_node(&node, || {
            let runtime = Runtime::new(&counting, node.dir("cache"));
            runtime.add(&network, &endpoint(&node, &pod, "c1")).unwrap();
            assert_eq!(pod.addresses("net1"), ["10.9.0.2/24"]);
            runtime.del(&network, &endpoint(&node, &pod, "c1")).unwrap();
            // Its numbers reach the runtime as they are.
            let error = runtime.add(&network, &endpoint(&node, &pod, "c9")).unwrap_err();
            assert_eq!(error.code, Code::TRY_AGAIN);
            assert_eq!(pod.links(), [""; 0]);
        });
    }
    let counts = [&counting.given, &counting.taken_back].map(|count| count.load(Ordering::SeqCst));
    assert_eq!(counts, [2, 2]);
}

#[test]
fn an_address_program_is_found_in_the_path() {
    let Some(node) = Node::new() else { return };
    let pod = Net::new();
    let log = node.dir("ipam.log");
    program(
        &node,
        "pool",
        &format!(
            "cat >/dev/null; echo $CNI_COMMAND $CNI_IFNAME >>{log}; [ $CNI_COMMAND = ADD ] || exit 0\n\
         echo '{{\"cniVersion\": \"0.3.1\", \"ips\": [{{\"version\": \"4\", \"address\": \"10.8.0.2/24\"}}],\
         \"routes\": [{{\"dst\": \"192.0.2.0/24\", \"gw\": \"203.0.113.1\"}}]}}'"
        ),
    );
    let text = json!({"cniVersion": "1.0.0", "name": "storage", "type": "bridge", "ipam": {"type": "pool"}});
    let network = Network::parse(text.to_string().as_bytes()).unwrap();
    let error = in_node(&node, || {
        let runtime = Runtime::new(&NoIpams, node.dir("cache"));
        runtime.add(&network, &endpoint(&node, &pod, "c1")).unwrap_err()
    });
    assert!(
        error.msg.contains("failed to add route '192.0.2.0/24 via 203.0.113.1 dev net1'"),
        "{error}"
    );
    assert_eq!(std::fs::read_to_string(log).unwrap(), "ADD net1\nDEL net1\n");
    assert_eq!(pod.links(), [""; 0]);
}

#[test]
fn names_lead_nowhere_else() {
    let Some(node) = Node::new() else { return };
    let pod = Net::new();
    let network = list(&node, "1.0.0", &[]);
    let runtime = Runtime::new(&NoIpams, node.dir("cache"));
    let good = endpoint(&node, &pod, "c1");
    for (container, interface, code) in
        [("", "net1", 3), ("../c", "net1", 4), ("c1", "../../x", 4), ("c1", "", 4)]
    {
        let bad = Endpoint {
            container_id: container.into(),
            interface: interface.into(),
            ..good.clone()
        };
        assert_eq!(
            runtime.add(&network, &bad).unwrap_err().code.0,
            code,
            "{container} {interface}"
        );
        assert_eq!(runtime.check(&network, &bad).unwrap_err().code.0, code);
        assert_eq!(runtime.del(&network, &bad).unwrap_err().code.0, code);
    }
    assert!(!Path::new(&node.dir("cache")).exists());
}
