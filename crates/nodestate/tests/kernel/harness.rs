//! A node in a namespace with NICs into a switch, and VLANs as wires where the kernel has none.

use std::io::Write;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use landbridge_linux::link::Bridge;
use landbridge_linux::probe::{Capabilities, Feature};
use landbridge_linux::sysctl::Conf;
use landbridge_linux::{Checkpoint, Handle, IfName, LinkKind, Namespace, NewLink, Sysctl, Sysctls};
use landbridge_nodestate::wires::{self, Kernel, VlanLink, Wire, WireError};
use landbridge_nodestate::{Applied, Error, Files, Node, Wires};
use serde_json::Value;
use tempfile::TempDir;

/// A switch: one bridge per network, in a namespace of its own.
#[derive(Clone)]
pub struct Switch {
    pub namespace: Namespace,
    net: Arc<Handle>,
    next: Arc<AtomicU32>,
}

impl Switch {
    pub fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skip("nodestate", "needs root");
            return None;
        }
        let namespace = Namespace::unnamed().unwrap();
        let net = Arc::new(Handle::in_namespace(&namespace).unwrap());
        Some(Self { namespace, net, next: Arc::default() })
    }

    /// A veth between a node and the bridge of a network.
    fn plug(&self, node: &Handle, end: &NewLink, network: &str) -> landbridge_linux::Result<()> {
        let kind = LinkKind::Bridge(Bridge::default());
        let bridge = self.net.ensure_link(&NewLink::new(name(network), kind).up())?.0;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let far = NewLink::new(name(&format!("port{number}")), LinkKind::Veth).up();
        node.create_veth(end, &far, Some(&self.namespace))?;
        self.net.set_mtu(&far.name, 9000)?;
        self.net.set_master(&far.name, Some(bridge.index))
    }
}

/// VLANs as wires into the switch, as the lab makes them.
impl Wires for Switch {
    fn make_vlan(&self, net: &Handle, vlan: &VlanLink) -> Result<(), WireError> {
        let mut end = NewLink::new(vlan.name.clone(), LinkKind::Veth)
            .with_alias(wires::alias(&Wire::of(vlan), None));
        end.mtu = vlan.mtu;
        net.expect_link(&vlan.base)?;
        Ok(self.plug(net, &end, &format!("vlan{}", vlan.id))?)
    }
}

/// A node with `enp6s0` and `enp7s0`, down, on one switch.
pub struct Lab {
    pub namespace: Namespace,
    pub net: Handle,
    pub node: Node,
    pub dir: TempDir,
    /// Held: with it the far ends of all wires would go.
    _switch: Switch,
}

impl Lab {
    pub fn new() -> Option<Self> {
        Some(Self::on(&Switch::new()?))
    }

    pub fn on(switch: &Switch) -> Self {
        let namespace = Namespace::unnamed().unwrap();
        let net = Handle::in_namespace(&namespace).unwrap();
        net.set_up(&name("lo")).unwrap();
        // Looking for doubles takes seconds, and there are none here.
        let dad = Sysctl::accept_dad(Conf::Default);
        Sysctls::of(&namespace).write(&dad, 0).unwrap();
        for nic in ["enp6s0", "enp7s0"] {
            let end = NewLink::new(name(nic), LinkKind::Veth);
            switch.plug(&net, &end, "plain").unwrap();
        }
        let dir = TempDir::new().unwrap();
        let node = Self::node_of(&namespace, &dir, Some(switch));
        Self { namespace, net, node, dir, _switch: switch.clone() }
    }

    /// The same node seen by an agent that starts anew.
    pub fn node_of(namespace: &Namespace, dir: &TempDir, switch: Option<&Switch>) -> Node {
        let files = Files {
            resolver: dir.path().join("resolv.conf"),
            hostname: dir.path().join("hostname"),
            state: dir.path().join("state"),
        };
        let node = Node::new(Handle::in_namespace(namespace).unwrap(), files);
        let real = Capabilities::probe().unwrap().has(Feature::Vlan);
        match switch.filter(|_| !real) {
            Some(switch) => node.with_wires(Arc::new(switch.clone())),
            None => node.with_wires(Arc::new(Kernel)),
        }
    }

    /// Applies, and expects that nothing is left to do.
    pub fn apply(&self, yaml: &str) -> Applied {
        let desired = state(yaml);
        let applied =
            self.node.apply(&desired, &|| Ok(())).unwrap_or_else(|error| panic!("{error}"));
        let again = self.node.plan(&desired).unwrap();
        assert!(again.is_empty(), "after\n{}\nstill\n{again}", applied.plan);
        applied
    }

    pub fn refused(&self, yaml: &str) -> Error {
        self.node.apply(&state(yaml), &|| Ok(())).expect_err("it should not be possible")
    }

    /// One interface as shown.
    pub fn shown(&self, called: &str) -> Value {
        let all = self.node.show().unwrap();
        let found =
            all["interfaces"].as_array().unwrap().iter().find(|link| link["name"] == called);
        found.cloned().unwrap_or_default()
    }

    /// Everything but numbers of links, which a link made again has not back, when it is quiet.
    pub fn everything(&self) -> Checkpoint {
        let mut last = self.now();
        for _ in 0..100 {
            std::thread::sleep(Duration::from_millis(50));
            let now = self.now();
            let quiet = !now.addresses.iter().any(|address| address.flags.tentative);
            if quiet && now == last {
                return now;
            }
            last = now;
        }
        panic!("it does not come to rest: {last:?}");
    }

    /// Everything as shown, but for what comes by itself.
    pub fn shown_all(&self) -> Value {
        let mut all = self.node.show().unwrap();
        for link in all["interfaces"].as_array_mut().unwrap() {
            if let Some(list) = link["ipv6"].get_mut("address") {
                list.as_array_mut()
                    .unwrap()
                    .retain(|address| !text(&address["ip"]).starts_with("fe80"));
            }
        }
        let running = all["routes"]["running"].as_array_mut().unwrap();
        running.retain(|route| !text(&route["destination"]).starts_with("fe80"));
        all
    }

    fn now(&self) -> Checkpoint {
        let mut all = self.net.checkpoint().unwrap();
        for link in &mut all.links {
            link.index.0 = 0;
        }
        // These come and go with a carrier, at times of their own.
        all.addresses.retain(|address| !is_link_local(address.net.addr()));
        all.routes.retain(|route| !is_link_local(route.destination.addr()));
        all.links.sort_by(|one, other| one.name.cmp(&other.name));
        all.addresses.sort_by_key(|address| format!("{address:?}"));
        all.routes.sort_by_key(|route| format!("{route:?}"));
        all
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn is_link_local(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local())
}

pub fn state(yaml: &str) -> Value {
    serde_saphyr::from_str(yaml).unwrap()
}

pub fn name(text: &str) -> IfName {
    IfName::new(text).unwrap()
}

/// Whether the kernel has it; otherwise the test says why it does not run.
pub fn has(feature: Feature) -> bool {
    match Capabilities::probe().unwrap().why_not(feature) {
        None => true,
        Some(why) => {
            skip(&format!("nodestate: {feature:?}").to_lowercase(), why);
            false
        }
    }
}

pub fn skip(what: &str, why: &str) {
    eprintln!("skipped: {what}: {why}");
    let Some(path) = std::env::var_os("LANDBRIDGE_SKIP_FILE") else { return };
    let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
    writeln!(file, "{what}: {why}").unwrap();
}
