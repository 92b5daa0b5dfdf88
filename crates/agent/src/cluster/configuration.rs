//! The CNI configuration of the cluster network on one node.

use ipnet::IpNet;
use serde_json::{Value, json};

/// The bridge of a node's pods.
pub const BRIDGE: &str = "cni0";

/// A bridge with the node as gateway, and addresses from the node's own ranges.
pub fn configuration(pod_ranges: &[IpNet], data_dir: &str, mtu: u32) -> Value {
    let ranges: Vec<Value> =
        pod_ranges.iter().map(|range| json!([{ "subnet": range.trunc().to_string() }])).collect();
    let routes: Vec<Value> = pod_ranges
        .iter()
        .map(|range| match range {
            IpNet::V4(_) => json!({ "dst": "0.0.0.0/0" }),
            IpNet::V6(_) => json!({ "dst": "::/0" }),
        })
        .collect();
    json!({
        "cniVersion": "1.0.0",
        "name": "landbridge-cluster",
        "plugins": [{
            "type": "bridge",
            "bridge": BRIDGE,
            "isGateway": true,
            "mtu": mtu,
            "ipam": { "type": "host-local", "dataDir": data_dir, "ranges": ranges, "routes": routes },
        }],
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn one_range_and_one_default_route_per_family() {
        let ranges = ["10.244.1.0/24".parse().unwrap(), "fd00:10:244:1::/64".parse().unwrap()];
        let made = configuration(&ranges, "/data", 1500);
        let ipam = &made["plugins"][0]["ipam"];
        assert_eq!(ipam["ranges"][0][0]["subnet"], "10.244.1.0/24");
        assert_eq!(ipam["ranges"][1][0]["subnet"], "fd00:10:244:1::/64");
        assert_eq!(ipam["routes"], json!([{ "dst": "0.0.0.0/0" }, { "dst": "::/0" }]));
    }
}
