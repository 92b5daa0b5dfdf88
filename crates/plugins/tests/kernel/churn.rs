//! Pods by the hundred: nothing leaks, nothing is given twice.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::{Asked, Net, Node, failed, ok};

const PODS: usize = 100;
const AT_ONCE: usize = 10;

fn config(node: &Node, kind: &str) -> Value {
    json!({"cniVersion": "1.0.0", "name": kind, "type": kind, "master": "eth0",
        "bridge": "br0", "isGateway": true,
        "ipam": {"type": "host-local", "dataDir": node.dir("networks"), "subnet": "10.3.0.0/22"}})
}

#[test]
fn nothing_is_left_of_a_hundred_pods() {
    let Some(node) = Node::new() else { return };
    for kind in ["macvlan", "bridge"] {
        let config = config(&node, kind);
        let mut given = BTreeSet::new();
        for round in 0..PODS / AT_ONCE {
            let pods: Vec<Net> = (0..AT_ONCE).map(|_| Net::new()).collect();
            let results: Vec<Value> = std::thread::scope(|scope| {
                let one = |number: usize| {
                    let (node, config, pod) = (&node, &config, &pods[number]);
                    move || {
                        let container = format!("c{round}-{number}");
                        let path = pod.path();
                        let asked = |command| Asked {
                            container: &container,
                            ..Asked::new(command, &path, config)
                        };
                        let result = ok(&node.call(kind, &asked("ADD")));
                        // One in three dies in the middle: the namespace goes before DEL.
                        if number.is_multiple_of(3) {
                            ok(&node.call(kind, &Asked { netns: "/gone", ..asked("DEL") }));
                        } else {
                            ok(&node.call(kind, &asked("DEL")));
                        }
                        result
                    }
                };
                let threads: Vec<_> = (0..AT_ONCE).map(|n| scope.spawn(one(n))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            given.extend(results.iter().map(|result| result["ips"][0]["address"].to_string()));
        }
        assert_eq!(given.len(), PODS, "{kind}: an address was given twice");
        let files = std::fs::read_dir(format!("{}/{kind}", node.dir("networks"))).unwrap();
        let mut left: Vec<_> =
            files.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        left.sort();
        assert_eq!(left, ["last_reserved_ip.0", "lock"], "{kind}");
    }
    // A namespace goes away in the background; its end of a pair takes the node's with it.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while node.net.links() != ["far", "eth0", "br0"] {
        assert!(std::time::Instant::now() < deadline, "{:?}", node.net.links());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn failures_leak_nothing_either() {
    let Some(node) = Node::new() else { return };
    for kind in ["macvlan", "bridge"] {
        let mut config = config(&node, kind);
        config["isGateway"] = false.into();
        config["ipam"]["routes"] = json!([{"dst": "192.0.2.0/24", "gw": "203.0.113.1"}]);
        let pod = Net::new();
        for number in 0..30 {
            let container = format!("c{number}");
            let path = pod.path();
            failed(
                &node.call(
                    kind,
                    &Asked { container: &container, ..Asked::new("ADD", &path, &config) },
                ),
            );
        }
        assert_eq!(pod.links(), [""; 0]);
        let files = std::fs::read_dir(format!("{}/{kind}", node.dir("networks"))).unwrap();
        assert_eq!(files.count(), 2, "{kind}: only the lock and the last address");
    }
    assert_eq!(node.net.links(), ["far", "eth0", "br0"]);
}
