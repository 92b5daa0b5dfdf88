//! The reference plugins by themselves, as a runtime would call them for a pod of three interfaces.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use landbridge_bench::plugin::{Call, Plugin};
use serde_json::json;

use crate::node::{MASTER, Node};
use crate::objects::macvlan;

/// Interface, plugin and configuration, in the order of ADD.
pub struct Peers(Vec<(&'static str, Plugin, String)>);

impl Peers {
    /// Plugins of a directory, with records on the same disk as ours.
    pub fn new(node: &Node, directory: &Path) -> Self {
        let plugin = |name: &str| Plugin { program: directory.join(name), variables: Vec::new() };
        let local = |subnet: &str| {
            json!({
                "type": "host-local", "ranges": [[{"subnet": subnet}]], "dataDir": node.files("theirs"),
            })
        };
        let bridge = json!({
            "cniVersion": "1.0.0", "name": "their-cluster", "type": "bridge", "bridge": "cni1",
            "isGateway": true, "ipam": local("10.245.0.0/20"),
        });
        let mut calls = vec![("eth0", plugin("bridge"), bridge.to_string())];
        for (interface, subnet) in [("net1", "172.31.0.0/20"), ("net2", "172.31.16.0/20")] {
            let config = macvlan(&format!("their-{interface}"), MASTER, &local(subnet));
            calls.push((interface, plugin("macvlan"), config.to_string()));
        }
        Self(calls)
    }

    /// All interfaces of a pod, one after the other.
    pub fn run(&self, command: &str, container: &str, netns: &Path) -> Result<Duration> {
        let one = |(interface, plugin, config): &(&str, Plugin, String)| {
            plugin.run(command, &Call { container, netns, interface, args: "", config })
        };
        if command == "DEL" {
            self.0.iter().rev().map(one).sum()
        } else {
            self.0.iter().map(one).sum()
        }
    }
}
