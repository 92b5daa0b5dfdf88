//! The Node object, on a real NIC and with the rights of a node.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{Patch, PatchParams};
use landbridge_agent::node::{self, Settings};
use landbridge_linux::link::Bridge;
use landbridge_linux::{Address, Handle, LinkKind, NewLink};
use serde_json::{Value, json};

use crate::harness::{NODE, Node, in_node, name, until};

type Nodes = Api<k8s_openapi::api::core::v1::Node>;

async fn node_is(nodes: &Nodes, what: &str, is: impl Fn(&Value) -> bool) -> Value {
    until(what, || async {
        let node = serde_json::to_value(nodes.get_opt(NODE).await.unwrap()?).unwrap();
        is(&node).then_some(node)
    })
    .await
}

fn addresses(node: &Value) -> Vec<&str> {
    let all = node["status"]["addresses"].as_array().into_iter().flatten();
    all.filter(|address| address["type"] == "InternalIP")
        .map(|address| address["address"].as_str().unwrap())
        .collect()
}

fn ready(node: &Value) -> Option<&str> {
    let all = node["status"]["conditions"].as_array()?;
    all.iter().find(|condition| condition["type"] == "Ready")?["status"].as_str()
}

#[test]
fn a_node_registers_and_follows_its_addresses() {
    in_node(|| async {
        let api = Node::new().await;
        let net = Handle::open().unwrap();
        let end = |text: &str| NewLink::new(name(text), LinkKind::Veth).up();
        net.create_veth(&end("enp1s0"), &end("other"), None).unwrap();
        let nodes: Nodes = Api::all(api.admin());
        let role = ("node-role.kubernetes.io/worker".to_owned(), String::new());
        let settings =
            Settings { labels: [role].into(), ..Settings::new(NODE, Some(name("enp1s0"))) };
        let (teller, known) = node::known();
        let running =
            tokio::spawn(node::run(api.own_client(), settings, teller, std::future::pending()));

        let node = node_is(&nodes, "registered", |node| ready(node) == Some("False")).await;
        assert_eq!(node["metadata"]["labels"]["kubernetes.io/hostname"], NODE);
        assert_eq!(node["metadata"]["labels"]["node-role.kubernetes.io/worker"], "");
        let leases: Api<Lease> = Api::namespaced(api.admin(), "kube-node-lease");
        let lease = until("a lease", || async { leases.get_opt(NODE).await.unwrap() }).await;
        let spec = lease.spec.unwrap();
        assert_eq!(spec.holder_identity.as_deref(), Some(NODE));
        assert_eq!(spec.lease_duration_seconds, Some(40));

        let add = |link: &str, address: &str| {
            let link = net.index(&name(link)).unwrap();
            net.add_address(&Address::new(link, address.parse().unwrap()).without_dad()).unwrap();
        };
        add("enp1s0", "192.0.2.10/24");
        add("enp1s0", "2001:db8::10/64");
        let both = |node: &Value| {
            addresses(node) == ["192.0.2.10", "2001:db8::10"] && ready(node) == Some("True")
        };
        let node = node_is(&nodes, "with addresses", both).await;
        assert_eq!(
            node["status"]["nodeInfo"]["kubeletVersion"],
            concat!("v", env!("CARGO_PKG_VERSION"))
        );
        assert!(node["status"]["allocatable"]["pods"].is_string());
        assert_eq!(known.addresses.borrow().len(), 2);

        // What others set stays.
        let patch = json!({
            "metadata": {"labels": {"node-role.kubernetes.io/worker": "mine", "zone": "a"}},
            "spec": {"podCIDR": "10.244.1.0/24", "podCIDRs": ["10.244.1.0/24"],
                "taints": [{"key": "k", "effect": "NoSchedule"}]},
        });
        nodes.patch(NODE, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
        until("pod networks are known", || async {
            (known.pod_cidrs.borrow().iter().map(ToString::to_string).collect::<Vec<_>>()
                == ["10.244.1.0/24"])
            .then_some(())
        })
        .await;

        // The NIC goes into a bridge, which takes its address over, as OpenShift does with br-ex.
        let bridge = LinkKind::Bridge(Bridge::default());
        let bridge = net.create_link(&NewLink::new(name("br-ex"), bridge).up()).unwrap();
        let nic = net.index(&name("enp1s0")).unwrap();
        net.flush_addresses(nic).unwrap();
        net.set_master(&name("enp1s0"), Some(bridge.index)).unwrap();
        add("br-ex", "192.0.2.20/24");
        let node = node_is(&nodes, "moved", |node| addresses(node) == ["192.0.2.20"]).await;
        assert_eq!(ready(&node), Some("True"));
        assert_eq!(node["metadata"]["labels"]["node-role.kubernetes.io/worker"], "mine");
        assert_eq!(node["metadata"]["labels"]["zone"], "a");
        assert_eq!(node["spec"]["taints"][0]["key"], "k");

        // Nothing is written while nothing changes.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let revision = |node: &Value| node["metadata"]["resourceVersion"].clone();
        let before = revision(&node_is(&nodes, "there", |_| true).await);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(revision(&node_is(&nodes, "there", |_| true).await), before);

        // A Node that somebody deletes comes back.
        nodes.delete(NODE, &kube::api::DeleteParams::default()).await.unwrap();
        node_is(&nodes, "registered again", |node| ready(node) == Some("True")).await;
        running.abort();
    });
}
