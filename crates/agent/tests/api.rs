//! Agents against the embedded API: what they write is what it keeps, and what users see.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Event, Namespace, Node};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt as _};
use landbridge_agent::host::{self, HostDuty, HostSettings};
use landbridge_agent::policy::settings::Settings;
use landbridge_agent::policy::{self, ApplyError, Duty, NodeNetwork};
use landbridge_api::foreign::nmstate::objects::{
    NodeNetworkConfigurationEnactment, NodeNetworkConfigurationPolicy, NodeNetworkState, PolicySpec,
};
use landbridge_api::network::IPSet;
use landbridge_apiserver::{ApiServer, CustomKind, Identity, Options};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// A node that believes everything, unless told to refuse.
#[derive(Default)]
struct Fake {
    applied: Mutex<Vec<Value>>,
    refuses: Mutex<Option<ApplyError>>,
    /// After how many changes what was there before a boot was made again.
    restored: Mutex<Vec<usize>>,
}

impl NodeNetwork for Fake {
    fn show(&self) -> Result<Value, String> {
        let applied = self.applied.lock().unwrap().len();
        Ok(json!({
            "interfaces": [
                {"name": "enp1s0", "type": "ethernet", "mtu": 1500},
                {"name": "enp6s0", "type": "ethernet", "mtu": 1500, "description": format!("{applied} changes")},
            ],
            "routes": {"running": [{"destination": "0.0.0.0/0", "next-hop-interface": "enp1s0"}], "config": []},
        }))
    }

    fn apply(
        &self,
        desired: &Value,
        probe: &dyn Fn() -> Result<(), String>,
    ) -> Result<(), ApplyError> {
        if let Some(error) = &*self.refuses.lock().unwrap() {
            return Err(error.clone());
        }
        probe().map_err(|text| ApplyError { text, retry: true })?;
        self.applied.lock().unwrap().push(desired.clone());
        Ok(())
    }

    fn drift(&self, _: &Value) -> Result<bool, String> {
        Ok(false)
    }

    fn restore(&self) -> Result<(), String> {
        self.restored.lock().unwrap().push(self.applied.lock().unwrap().len());
        Ok(())
    }
}

struct Cluster {
    dir: tempfile::TempDir,
    _server: ApiServer,
    client: Client,
}

async fn cluster() -> Cluster {
    let dir = tempfile::tempdir().unwrap();
    let server = ApiServer::open(Options::new(dir.path())).await.unwrap();
    let kinds = landbridge_api::all_crds().into_iter();
    let kinds = kinds.map(|crd| CustomKind { crd: json!(crd), hooks: None }).collect();
    server.install(kinds).await.unwrap();
    let client = server.client(Identity::admin());
    Cluster { dir, _server: server, client }
}

impl Cluster {
    async fn node(&self, name: &str) -> (Arc<Fake>, JoinHandle<()>) {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name,
            "labels": {"node-role.kubernetes.io/worker": ""}}});
        let node = serde_json::from_value(node).unwrap();
        nodes.create(&PostParams::default(), &node).await.unwrap();
        let status = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        nodes.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
        std::fs::create_dir(self.state_dir(name)).unwrap();
        self.agent(name)
    }

    fn state_dir(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Starts the agent of a node.
    fn agent(&self, name: &str) -> (Arc<Fake>, JoinHandle<()>) {
        let network = Arc::new(Fake::default());
        let duty = Duty {
            client: self.client.clone(),
            node: name.to_owned(),
            network: network.clone(),
            state_dir: self.state_dir(name),
            changed: Arc::default(),
        };
        let running = tokio::spawn(policy::run(duty, std::future::pending()));
        (network, running)
    }
}

/// Waits until something holds.
async fn until<T, F: Future<Output = Option<T>>>(what: &str, look: impl Fn() -> F) -> T {
    let begin = std::time::Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(begin.elapsed() < Duration::from_secs(40), "never: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn said(policies: &Api<NodeNetworkConfigurationPolicy>, text: &str) {
    until(text, || async {
        let policy = policies.get("osp").await.unwrap();
        let truth: Vec<String> = policy
            .status
            .conditions
            .iter()
            .filter(|c| c.status == "True")
            .map(|c| format!("{} {}: {}", c.type_, c.reason, c.message))
            .collect();
        (truth == [text]).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_on_two_nodes() {
    let cluster = cluster().await;
    let (one, _running) = cluster.node("worker-0").await;
    let (two, _running) = cluster.node("worker-1").await;
    let client = &cluster.client;
    let states: Api<NodeNetworkState> = Api::all(client.clone());
    for node in ["worker-0", "worker-1"] {
        let state = until("published", || async {
            states.get_opt(node).await.unwrap().filter(|s| !s.status.current_state.is_null())
        })
        .await;
        assert_eq!(state.status.current_state["interfaces"][1]["name"], "enp6s0");
        assert_eq!(state.owner_references()[0].kind, "Node");
    }

    let policies: Api<NodeNetworkConfigurationPolicy> = Api::all(client.clone());
    let enactments: Api<NodeNetworkConfigurationEnactment> = Api::all(client.clone());
    let desired = |serial: u64| {
        json!({"interfaces": [{"name": "enp6s0", "type": "ethernet", "state": "up", "mtu": serial,
            "ipv4": {"enabled": true, "address": [{"ip": "192.168.122.10", "prefix-length": 24}]}}]})
    };
    let selector = BTreeMap::from([("node-role.kubernetes.io/worker".to_owned(), String::new())]);
    let spec = PolicySpec {
        node_selector: Some(selector),
        desired_state: desired(1500),
        ..PolicySpec::default()
    };
    let mut policy = NodeNetworkConfigurationPolicy::new("osp", spec);
    // The gateway would be that of the machine the test runs on.
    let probes = ("landbridge.dev/probes".to_owned(), "api,address".to_owned());
    policy.metadata.annotations = Some(BTreeMap::from([probes]));
    policies.create(&PostParams::default(), &policy).await.unwrap();
    said(&policies, "Available SuccessfullyConfigured: 2/2 nodes successfully configured").await;
    for (node, fake) in [("worker-0", &one), ("worker-1", &two)] {
        assert_eq!(*fake.applied.lock().unwrap(), [desired(1500)]);
        let enactment = enactments.get(&format!("{node}.osp")).await.unwrap();
        assert_eq!(enactment.status.policy_generation, Some(1));
        assert_eq!(enactment.status.desired_state, desired(1500));
        assert_eq!(enactment.status.conditions[0].message, "successfully reconciled");
        assert_eq!(enactment.labels()["nmstate.io/policy"], "osp");
        assert_eq!(enactment.owner_references()[0].name, node);
        until("published again", || async {
            let state = states.get(node).await.unwrap().status.current_state;
            (state["interfaces"][1]["description"] == "1 changes").then_some(())
        })
        .await;
    }
    let events: Api<Event> = Api::namespaced(client.clone(), "default");
    until("pointed out", || async {
        let all = events.list(&kube::api::ListParams::default()).await.unwrap();
        let found = all.into_iter().find(|e| e.reason.as_deref() == Some("DuplicateAddress"))?;
        let note = found.message.unwrap();
        assert!(note.contains("192.168.122.10 is given to 2 nodes: worker-0, worker-1"), "{note}");
        Some(())
    })
    .await;

    // A change that one node cannot make. What the old state had and the new one lacks is gone.
    let refusal = ApplyError { text: "no such device".into(), retry: false };
    *two.refuses.lock().unwrap() = Some(refusal);
    let patch = json!({"spec": {"maxUnavailable": "100%",
        "desiredState": {"interfaces": [], "hostname": {"running": "a"}}}});
    policies.patch("osp", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    said(&policies, "Degraded FailedToConfigure: 1/2 nodes failed to configure").await;
    let failed = enactments.get("worker-1.osp").await.unwrap();
    assert_eq!(
        failed.status.desired_state,
        json!({"interfaces": [], "hostname": {"running": "a"}})
    );
    assert_eq!(
        failed.status.conditions[1].message,
        "error reconciling NodeNetworkConfigurationPolicy on node worker-1 at desired state apply: no such device"
    );
    assert_eq!(failed.status.retry_count, BTreeMap::from([("2".to_owned(), 1)]));

    // Without a match it is ignored, and when it goes the enactments go.
    let patch = json!({"spec": {"nodeSelector": {"node-role.kubernetes.io/worker": "no"}}});
    policies.patch("osp", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    said(&policies, "Ignored NoMatchingNode: Policy does not match any node").await;
    until("no enactment", || async {
        let all = enactments.list(&kube::api::ListParams::default()).await.unwrap();
        all.items.is_empty().then_some(())
    })
    .await;
    policies.delete("osp", &DeleteParams::default()).await.unwrap();
}

/// What former policies made stays until one says that it is absent, so a boot may not take it away.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_boot_a_node_has_again_what_it_had() {
    let cluster = cluster().await;
    let (_, running) = cluster.node("worker-0").await;
    let policies: Api<NodeNetworkConfigurationPolicy> = Api::all(cluster.client.clone());
    let desired_state =
        json!({"interfaces": [{"name": "enp6s0", "type": "ethernet", "state": "up"}]});
    let spec = PolicySpec { desired_state: desired_state.clone(), ..PolicySpec::default() };
    let mut policy = NodeNetworkConfigurationPolicy::new("osp", spec);
    let probes = ("landbridge.dev/probes".to_owned(), "api".to_owned());
    policy.metadata.annotations = Some(BTreeMap::from([probes]));
    policies.create(&PostParams::default(), &policy).await.unwrap();
    said(&policies, "Available SuccessfullyConfigured: 1/1 nodes successfully configured").await;
    running.abort();
    let _ = running.await;

    let file = cluster.state_dir("worker-0").join("policies.json");
    let again = |what: &'static str| {
        let (network, running) = cluster.agent("worker-0");
        let file = file.clone();
        async move {
            // Done is what is written down, too.
            until(what, || async {
                let record: Value = serde_json::from_slice(&std::fs::read(&file).ok()?).ok()?;
                let is_restored = !network.restored.lock().unwrap().is_empty();
                (is_restored && record["boot"] != "an earlier one").then_some(())
            })
            .await;
            running.abort();
            let _ = running.await;
            network.restored.lock().unwrap().clone()
        }
    };
    let mut record: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    record["boot"] = json!("an earlier one");
    std::fs::write(&file, record.to_string()).unwrap();
    assert_eq!(again("restored after a boot").await, [0], "once, before any policy");
    // A record that cannot be read may be of any boot.
    std::fs::write(&file, "{").unwrap();
    assert_eq!(again("restored without a record").await, [0]);

    let (network, _running) = cluster.agent("worker-0");
    let states: Api<NodeNetworkState> = Api::all(cluster.client.clone());
    states.delete("worker-0", &DeleteParams::default()).await.unwrap();
    until("at work", || async { states.get_opt("worker-0").await.unwrap() }).await;
    assert_eq!(*network.restored.lock().unwrap(), [0; 0], "only the agent was restarted");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_follows_its_ipset() {
    let cluster = cluster().await;
    let client = &cluster.client;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = serde_json::from_value(json!({"metadata": {"name": "openstack"}})).unwrap();
    namespaces.create(&PostParams::default(), &namespace).await.unwrap();
    let network = Arc::new(Fake::default());
    let duty = HostDuty {
        client: client.clone(),
        network: network.clone(),
        settings: HostSettings {
            name: "edpm-compute-0".into(),
            namespace: "openstack".into(),
            state_dir: cluster.dir.path().to_owned(),
            probes: Settings { gateway: false, ..Settings::default() },
            ..HostSettings::default()
        },
    };
    let _running = tokio::spawn(host::run(duty, std::future::pending()));
    let ipsets: Api<IPSet> = Api::namespaced(client.clone(), "openstack");
    for name in ["edpm-compute-0", "edpm-compute-1"] {
        let ipset = json!({"apiVersion": "network.openstack.org/v1beta1", "kind": "IPSet",
            "metadata": {"name": name},
            "spec": {"networks": [{"name": "InternalApi", "subnetName": "subnet1"}]}});
        let ipset = serde_json::from_value(ipset).unwrap();
        ipsets.create(&PostParams::default(), &ipset).await.unwrap();
    }
    let status = |address: &str, vlan: u16| {
        Patch::Merge(json!({"status": {
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            "reservations": [{"network": "InternalApi", "subnet": "subnet1", "address": address,
                "cidr": "172.17.0.0/24", "mtu": 1500, "vlan": vlan}]}}))
    };
    let params = PatchParams::default();
    ipsets.patch_status("edpm-compute-1", &params, &status("172.17.0.101", 20)).await.unwrap();
    ipsets.patch_status("edpm-compute-0", &params, &status("172.17.0.100", 20)).await.unwrap();
    let applied = |count: usize| {
        let network = network.clone();
        async move {
            until("applied", || async {
                let applied = network.applied.lock().unwrap();
                (applied.len() == count).then(|| applied[count - 1].clone())
            })
            .await
        }
    };
    let first = applied(1).await;
    assert_eq!(first["interfaces"][0]["name"], "enp6s0", "{first}");
    assert_eq!(first["interfaces"][1]["name"], "enp6s0.20");
    assert_eq!(first["interfaces"][1]["ipv4"]["address"][0]["ip"], "172.17.0.100");
    let events: Api<Event> = Api::namespaced(client.clone(), "openstack");
    until("told", || async {
        let all = events.list(&kube::api::ListParams::default()).await.unwrap();
        let event = all.into_iter().find(|e| e.reason.as_deref() == Some("HostConfigured"))?;
        assert_eq!(event.message.as_deref(), Some("this host has 172.17.0.100/24 on enp6s0.20"));
        assert_eq!(event.involved_object.name.as_deref(), Some("edpm-compute-0"));
        Some(())
    })
    .await;
    ipsets.patch_status("edpm-compute-0", &params, &status("172.17.0.111", 21)).await.unwrap();
    let second = applied(2).await;
    assert_eq!(second["interfaces"][1]["name"], "enp6s0.21", "{second}");
    ipsets.delete("edpm-compute-0", &DeleteParams::default()).await.unwrap();
    let gone = applied(3).await;
    assert_eq!(gone["interfaces"], json!([{"name": "enp6s0", "type": "ethernet", "state": "up"}]));
}
