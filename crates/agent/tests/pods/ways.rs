//! What Octavia's pods would do for themselves.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use kube::api::{Patch, PatchParams};
use landbridge_l2::packet::{Mac, arp};
use landbridge_linux::packet::Frames;
use landbridge_linux::{Address, Handle, Namespace, PacketSocket};
use serde_json::{Value, json};

use crate::harness::{Node, in_node, name, until};

fn inside(node: &Node, pod: &str) -> Handle {
    let path = node.directory.get("default", pod).unwrap().network.unwrap();
    Handle::in_namespace(&Namespace::open(path).unwrap()).unwrap()
}

/// The addresses of a pod that stand by themselves.
fn alone(net: &Handle) -> Vec<IpAddr> {
    let all = net.addresses().unwrap().into_iter();
    let alone = all.filter(|address| address.net.prefix_len() == address.net.max_prefix_len());
    alone.map(|address| address.ip()).filter(|ip| !ip.is_loopback()).collect()
}

async fn until_alone(net: &Handle, wanted: &[&str]) {
    let wanted: Vec<IpAddr> = wanted.iter().map(|text| text.parse().unwrap()).collect();
    until(&format!("{wanted:?}, not {:?}", alone(net)), || async {
        (alone(net) == wanted).then_some(())
    })
    .await;
}

async fn label(node: &Node, pod: &str, value: Value) {
    let patch = Patch::Merge(json!({"metadata": {"labels": {"predictableip": value}}}));
    node.pods().patch(pod, &PatchParams::default(), &patch).await.unwrap();
}

#[test]
fn a_health_manager_has_its_address_and_the_way_to_amphorae() {
    in_node(|| async {
        let mut node = Node::new().await;
        node.start();
        let env = json!([{"name": "MGMT_CIDR", "value": "10.24.0.0/16"}, {"name": "MGMT_GATEWAY", "value": "10.9.0.150"},
            {"name": "MGMT_CIDR0", "value": "10.25.0.0/24"}]);
        let spec = |env: &Value| json!({"containers": [{"name": "c", "image": "i", "env": env}]});
        node.create("hm", spec(&env)).await;
        node.create("other", spec(&json!([]))).await;
        for pod in ["hm", "other"] {
            node.ready(pod).await;
        }
        let (net, other) = (inside(&node, "hm"), inside(&node, "other"));
        until("routes", || async {
            let routes = net.routes().unwrap();
            let leads = |to: &str| {
                let (to, via) = (to.parse().unwrap(), "10.9.0.150".parse().ok());
                routes.iter().any(|route| route.destination == to && route.gateway == via)
            };
            (leads("10.24.0.0/16") && leads("10.25.0.0/24")).then_some(())
        })
        .await;
        assert_eq!(alone(&net), [] as [IpAddr; 0]);

        // Everybody on the wire is told.
        let host = Handle::open().unwrap();
        let wire = PacketSocket::open(host.index(&name("v0")).unwrap(), Frames::Arp).unwrap();
        label(&node, "hm", json!("10.9.0.97")).await;
        label(&node, "other", json!("10.9.1.97")).await;
        until_alone(&net, &["10.9.0.97"]).await;
        let own = net.expect_link(&name("eth0")).unwrap().mac.unwrap();
        let told = arp::Arp::gratuitous(Mac(own.0), Ipv4Addr::new(10, 9, 0, 97))
            .map(|packet| packet.write());
        let heard = async {
            loop {
                let frame = wire.receive().await.unwrap();
                if told.iter().any(|told| frame.starts_with(told)) {
                    return;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(10), heard).await.expect("nobody was told");

        // Another address, of the other family; somebody takes it away; none any more.
        label(&node, "hm", json!("10.9.0.98")).await;
        until_alone(&net, &["10.9.0.98"]).await;
        label(&node, "hm", json!("fd09--8b")).await;
        until_alone(&net, &["fd09::8b"]).await;
        let link = net.index(&name("eth0")).unwrap();
        net.delete_address(&Address::new(link, "fd09::8b/128".parse().unwrap())).unwrap();
        until_alone(&net, &["fd09::8b"]).await;
        label(&node, "hm", Value::Null).await;
        until_alone(&net, &[]).await;
        assert_eq!(alone(&other), [] as [IpAddr; 0], "who does not ask is left alone");
        node.stop().await;
    });
}
