//! A cluster, calls, and networks that are only written down.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use landbridge_api::ledger::{Claim, block_name, block_of};
use landbridge_attach::attacher::{Attacher, Request};
use landbridge_attach::ipams::Ipams;
use landbridge_attach::networks::{Call, Networks, Sandboxes};
use landbridge_attach::objects::fake::FakeObjects;
use landbridge_attach::objects::{Block, Objects, Owner, Pod};
use landbridge_attach::releases::Releases;
use landbridge_attach::whereabouts::{Limits, Whereabouts};
use landbridge_cni::config::{Attachment, Input, Network};
use landbridge_cni::environment::{Command, Environment};
use landbridge_cni::networks::DefaultRoutes;
use landbridge_cni::result::{Interface, Ip};
use landbridge_cni::{CniError, CniResult, Code};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A cluster, and it as the trait.
pub fn cluster() -> (Arc<FakeObjects>, Arc<dyn Objects>) {
    let fake = Arc::new(FakeObjects::default());
    (Arc::clone(&fake), fake)
}

/// The plugin with limits that suit a test, and its directory of releases.
pub fn whereabouts(objects: &Arc<dyn Objects>) -> (Whereabouts, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let limits = Limits { add: Duration::from_secs(5), del: Duration::from_millis(500) };
    let plugin = Whereabouts::new(Arc::clone(objects), Releases::new(directory.path()))
        .with_limits(limits)
        .with_flat_files(Vec::new());
    (plugin, directory)
}

/// What a plugin reads whose addresses come from this section.
pub fn input(ipam: &Value) -> Input {
    let text = json!({"cniVersion": "1.1.0", "name": "n", "type": "macvlan", "ipam": ipam});
    Input::parse(text.to_string().as_bytes()).unwrap()
}

/// The environment of a call for `namespace/pod`.
pub fn environment(command: Command, container: &str, podref: &str, ifname: &str) -> Environment {
    let (namespace, pod) = podref.split_once('/').unwrap();
    let args = format!(
        "IgnoreUnknown=1;K8S_POD_NAMESPACE={namespace};K8S_POD_NAME={pod};K8S_POD_UID=uid-{pod}"
    );
    let variables = [
        ("CNI_COMMAND", command.as_str()),
        ("CNI_CONTAINERID", container),
        ("CNI_NETNS", "/run/netns/test"),
        ("CNI_IFNAME", ifname),
        ("CNI_ARGS", &args),
        ("CNI_PATH", "/opt/cni/bin"),
    ];
    let variables: BTreeMap<String, String> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Environment::read(&variables).unwrap().unwrap()
}

/// The same with addresses asked for.
pub fn asking(environment: Environment, ips: &str) -> Environment {
    let args = format!("{};IP={ips}", environment.args);
    Environment { args: landbridge_cni::args::Args::parse(&args).unwrap(), ..environment }
}

pub fn pod(podref: &str, networks: &str) -> Pod {
    let (namespace, name) = podref.split_once('/').unwrap();
    let mut annotations = BTreeMap::new();
    if !networks.is_empty() {
        let key = landbridge_cni::networks::ANNOTATION.to_owned();
        annotations.insert(key, networks.to_owned());
    }
    Pod {
        namespace: namespace.into(),
        name: name.into(),
        uid: format!("uid-{name}"),
        annotations,
        node: "worker-0".into(),
        ..Pod::default()
    }
}

/// A NetConfig with one subnet on a VLAN.
pub fn netconfig(cidr: &str, vlan: u16) -> Value {
    let subnet = json!({"name": "subnet1", "cidr": cidr, "vlan": vlan, "allocationRanges": []});
    json!({
        "apiVersion": "network.openstack.org/v1beta1", "kind": "NetConfig",
        "metadata": {"name": "netconfig", "namespace": "openstack"},
        "spec": {"networks": [{"name": "InternalApi", "subnets": [subnet]}]},
    })
}

/// What the address controller does with the ledger: the lowest address between these last octets
/// that nobody has, for an IPSet.
pub fn give_ipset(fake: &FakeObjects, base: &str, name: &str, octets: [u8; 2]) -> Option<IpAddr> {
    let [a, b, c, _] = base.parse::<Ipv4Addr>().unwrap().octets();
    let mut state = fake.state();
    for last in octets[0]..=octets[1] {
        let address = IpAddr::from([a, b, c, last]);
        let block = block_name("vlan-20", block_of(address));
        let version = state.next_version();
        let block = state.blocks.entry(block.clone()).or_insert_with(|| Block {
            name: block,
            uid: format!("uid-{version}"),
            segment: "vlan-20".into(),
            ..Block::default()
        });
        if let Entry::Vacant(free) = block.claims.entry(address) {
            let claim = Claim {
                kind: "IPSet".into(),
                namespace: "openstack".into(),
                name: name.into(),
                ..Claim::default()
            };
            free.insert(claim);
            block.resource_version = version;
            return Some(address);
        }
    }
    None
}

/// An IPSet is gone.
pub fn free_ipset(fake: &FakeObjects, address: IpAddr) {
    let mut state = fake.state();
    let version = state.next_version();
    let name = block_name("vlan-20", block_of(address));
    let block = state.blocks.get_mut(&name).unwrap();
    block.claims.remove(&address);
    block.resource_version = version;
    if block.claims.is_empty() {
        state.blocks.remove(&name);
    }
}

/// Who holds what in the ledger, in words.
pub fn claims(fake: &FakeObjects) -> BTreeMap<IpAddr, String> {
    let state = fake.state();
    let claims = state.blocks.values().flat_map(|block| &block.claims);
    claims.map(|(address, claim)| (*address, claim.to_string())).collect()
}

pub fn owned(pod: Pod, kind: &str, name: &str) -> Pod {
    let owner = Owner {
        api_version: "apps/v1".into(),
        kind: kind.into(),
        name: name.into(),
        uid: format!("uid-{kind}-{name}"),
    };
    Pod { controller: Some(owner), ..pod }
}

/// The addresses of a result.
pub fn ips(result: &CniResult) -> Vec<String> {
    result.ips.iter().map(|ip| ip.address.to_string()).collect()
}

/// Networks that make nothing but addresses: whereabouts and landbridge are asked for them, others
/// get a fixed one. What is done is written down.
#[derive(Default)]
pub struct FakeNetworks {
    pub done: Mutex<Vec<String>>,
    pub calls: Mutex<Vec<(String, Call)>>,
    /// Networks whose ADD, DEL or CHECK fails.
    pub broken: Mutex<Vec<(String, Command)>>,
    /// Networks whose ADD fails once it has addresses.
    pub broken_late: Mutex<Vec<String>>,
    /// How long an ADD takes.
    pub slowness: Mutex<Duration>,
    pub kept: Mutex<BTreeMap<String, CniResult>>,
    pub ipams: Mutex<Option<Arc<Ipams>>>,
}

impl FakeNetworks {
    fn note(&self, command: Command, network: &Network, call: &Call) -> Result<(), CniError> {
        let interface = &call.environment.interface;
        self.done.lock().unwrap().push(format!("{command} {} {interface}", network.name));
        self.calls.lock().unwrap().push((network.name.clone(), call.clone()));
        let broken = self.broken.lock().unwrap();
        if broken.iter().any(|(name, when)| *name == network.name && *when == command) {
            return Err(CniError::new(Code::INTERNAL, format!("{} is broken", network.name)));
        }
        Ok(())
    }

    fn ipam(&self, network: &Network, call: &Call) -> Result<Option<CniResult>, CniError> {
        let plugin = &network.plugins[0];
        let ipams = self.ipams.lock().unwrap().clone();
        match ipams {
            Some(ipams) if Ipams::has(&plugin.ipam) => {
                let stdin = network.stdin_for(plugin, None, &call.capabilities).unwrap();
                let input = Input::parse(stdin.as_bytes()).unwrap();
                ipams.run(&plugin.ipam, &input, &call.environment)
            }
            _ => Ok(None),
        }
    }

    pub fn take_done(&self) -> Vec<String> {
        std::mem::take(&mut *self.done.lock().unwrap())
    }
}

impl Networks for FakeNetworks {
    fn add(&self, network: &Network, call: &Call) -> Result<CniResult, CniError> {
        self.note(Command::Add, network, call)?;
        let slowness = *self.slowness.lock().unwrap();
        std::thread::sleep(slowness);
        let mut result = self.ipam(network, call)?.unwrap_or_else(|| CniResult {
            ips: vec![Ip {
                address: "10.244.0.5/24".parse().unwrap(),
                gateway: Some("10.244.0.1".parse().unwrap()),
                interface: None,
            }],
            routes: vec![landbridge_cni::result::Route::new(
                "0.0.0.0/0".parse().unwrap(),
                Some("10.244.0.1".parse().unwrap()),
            )],
            ..CniResult::default()
        });
        if self.broken_late.lock().unwrap().contains(&network.name) {
            let text = "failed to add route: network is unreachable";
            return Err(CniError::new(Code::INTERNAL, text));
        }
        result.interfaces = vec![Interface {
            name: call.environment.interface.clone(),
            mac: "02:00:00:00:00:01".into(),
            sandbox: call.environment.netns.clone().unwrap_or_default(),
            ..Interface::default()
        }];
        result.ips.iter_mut().for_each(|ip| ip.interface = Some(0));
        Ok(result)
    }

    fn del(&self, network: &Network, call: &Call) -> Result<(), CniError> {
        self.note(Command::Del, network, call)?;
        assert_eq!(call.environment.command, Command::Del);
        self.ipam(network, call).map(|_| ())
    }

    fn check(&self, network: &Network, call: &Call) -> Result<(), CniError> {
        self.note(Command::Check, network, call)
    }

    fn gc(&self, network: &Network, call: &Call, keep: &[Attachment]) -> Result<(), CniError> {
        self.note(Command::Gc, network, call)?;
        self.done.lock().unwrap().push(format!("keeping {}", keep.len()));
        Ok(())
    }

    fn status(&self, network: &Network, call: &Call) -> Result<(), CniError> {
        self.note(Command::Status, network, call)
    }

    fn keep(&self, network: &Network, call: &Call, result: &CniResult) -> Result<(), CniError> {
        let key = format!("{} {}", network.name, call.environment.interface);
        self.kept.lock().unwrap().insert(key, result.clone());
        Ok(())
    }
}

/// A pod's namespace that is only written down.
#[derive(Default)]
pub struct FakeSandboxes {
    pub interfaces: Mutex<Vec<String>>,
    pub routes: Mutex<Vec<(String, DefaultRoutes)>>,
}

impl Sandboxes for FakeSandboxes {
    fn interfaces(&self, _netns: &str) -> Result<Vec<String>, CniError> {
        Ok(self.interfaces.lock().unwrap().clone())
    }

    fn default_routes(
        &self,
        _netns: &str,
        interface: &str,
        wanted: &DefaultRoutes,
    ) -> Result<(), CniError> {
        self.routes.lock().unwrap().push((interface.to_owned(), wanted.clone()));
        Ok(())
    }
}

/// A node with the seed's networks defined.
pub struct Node {
    pub fake: Arc<FakeObjects>,
    pub networks: Arc<FakeNetworks>,
    pub sandboxes: Arc<FakeSandboxes>,
    pub attacher: Attacher,
    pub directory: TempDir,
}

pub const INTERNALAPI: &str = r#"{"cniVersion": "0.3.1", "name": "internalapi", "type": "macvlan",
    "master": "enp6s0.20", "ipam": {"type": "whereabouts", "range": "172.17.0.0/24",
    "range_start": "172.17.0.30", "range_end": "172.17.0.70"}}"#;
pub const STORAGE: &str = r#"{"cniVersion": "0.3.1", "name": "storage", "type": "macvlan",
    "master": "enp6s0.21", "ipam": {"type": "whereabouts", "range": "172.18.0.0/24",
    "range_start": "172.18.0.30", "range_end": "172.18.0.70"}}"#;

impl Node {
    pub fn new() -> Self {
        let (fake, objects) = cluster();
        fake.define("openstack", "internalapi", INTERNALAPI);
        fake.define("openstack", "storage", STORAGE);
        Self::on(&fake, &objects)
    }

    pub fn on(fake: &Arc<FakeObjects>, objects: &Arc<dyn Objects>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let releases = Releases::new(directory.path().join("releases"));
        let ipams = Arc::new(Ipams::new(objects, releases));
        let networks = Arc::new(FakeNetworks::default());
        *networks.ipams.lock().unwrap() = Some(ipams);
        let sandboxes = Arc::new(FakeSandboxes::default());
        let attacher = Attacher::new(
            Arc::clone(objects),
            Arc::clone(&networks) as Arc<dyn Networks>,
            Arc::clone(&sandboxes) as Arc<dyn Sandboxes>,
        )
        .with_readiness(Duration::from_millis(300));
        Self { fake: Arc::clone(fake), networks, sandboxes, attacher, directory }
    }

    pub fn cni_dir(&self) -> PathBuf {
        self.directory.path().join("multus")
    }

    /// The configuration of Multus, with more keys.
    pub fn config(&self, more: &Value) -> Value {
        let mut config = json!({
            "cniVersion": "1.1.0", "name": "multus-cni-network", "type": "multus",
            "cniDir": self.cni_dir(), "confDir": self.directory.path().join("net.d"),
            "delegates": [{"cniVersion": "1.1.0", "name": "cbr0", "plugins": [{"type": "bridge"}]}],
        });
        let object = config.as_object_mut().unwrap();
        object.extend(more.as_object().unwrap().clone());
        object.retain(|_, value| !value.is_null());
        config
    }

    pub fn request(
        &self,
        command: Command,
        container: &str,
        podref: &str,
        more: &Value,
    ) -> Request {
        Request {
            environment: environment(command, container, podref, "eth0"),
            config: self.config(more).to_string().into_bytes(),
        }
    }

    pub fn run(
        &self,
        command: Command,
        container: &str,
        podref: &str,
    ) -> Result<Option<CniResult>, CniError> {
        self.attacher.run(&self.request(command, container, podref, &json!({})))
    }

    /// The network-status of a pod: interface, network, addresses.
    pub fn status(&self, podref: &str) -> Vec<(String, String, Vec<String>)> {
        let state = self.fake.state();
        let found = landbridge_cni::status::of_pod(&state.pods[podref].annotations).unwrap();
        found.into_iter().map(|s| (s.interface, s.name, s.ips)).collect()
    }
}

pub fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}
