//! The Service `kube-system/kube-dns` and this node's slice of it, as they are on other clusters.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;
use serde_json::{Value, json};

pub const NAMESPACE: &str = "kube-system";
pub const NAME: &str = "kube-dns";
/// Where the server of each node listens. Not 53, which a pod in the node's network may want.
pub const PORT: u16 = 1053;

/// The address of the name server: the tenth of the first range, as kubeadm has it.
pub fn server(ranges: &[IpNet]) -> Option<IpAddr> {
    let range = ranges.first()?;
    let ip = match range.network() {
        IpAddr::V4(ip) => IpAddr::from(u32::from(ip).checked_add(10)?.to_be_bytes()),
        IpAddr::V6(ip) => IpAddr::from(u128::from(ip).checked_add(10)?.to_be_bytes()),
    };
    range.contains(&ip).then_some(ip)
}

/// The Service. Every node asks its own server.
pub fn service(server: IpAddr) -> Value {
    let port = |name: &str, protocol: &str| json!({"name": name, "protocol": protocol, "port": 53, "targetPort": PORT});
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"namespace": NAMESPACE, "name": NAME, "labels": {
            "k8s-app": NAME,
            "kubernetes.io/cluster-service": "true",
            "kubernetes.io/name": "CoreDNS",
        }},
        "spec": {
            "type": "ClusterIP",
            "clusterIP": server,
            "internalTrafficPolicy": "Local",
            "ports": [port("dns", "UDP"), port("dns-tcp", "TCP")],
        },
    })
}

/// The slice of a node, whose uid it goes with. Ready is a node whose sockets are open.
pub fn slice(node: &str, uid: &str, address: SocketAddr, ready: bool) -> Value {
    let port =
        |name: &str, protocol: &str| json!({"name": name, "protocol": protocol, "port": PORT});
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {
            "namespace": NAMESPACE, "name": format!("{NAME}-{node}"),
            "labels": {
                "kubernetes.io/service-name": NAME,
                "endpointslice.kubernetes.io/managed-by": "landbridge-agent",
                "k8s-app": NAME,
            },
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}],
        },
        "addressType": if address.is_ipv4() { "IPv4" } else { "IPv6" },
        "ports": [port("dns", "UDP"), port("dns-tcp", "TCP")],
        "endpoints": [{
            "addresses": [address.ip()],
            "nodeName": node,
            "conditions": {"ready": ready, "serving": ready, "terminating": false},
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_the_tenth_address() {
        let of = |ranges: &[&str]| {
            let ranges: Vec<IpNet> = ranges.iter().map(|range| range.parse().unwrap()).collect();
            server(&ranges).map(|ip| ip.to_string())
        };
        assert_eq!(of(&["10.96.0.0/12", "fd00:10:96::/112"]).as_deref(), Some("10.96.0.10"));
        assert_eq!(of(&["fd00:10:96::/112"]).as_deref(), Some("fd00:10:96::a"));
        assert_eq!(of(&["10.96.0.0/29"]), None, "too small");
        assert_eq!(of(&[]), None);
    }
}
