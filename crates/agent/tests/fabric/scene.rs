//! Nodes, the segments between them, and plans in few words.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ipnet::IpNet;
use landbridge_agent::fabric::cloud::Cloud;
use landbridge_fabric::{
    Direction, Fixed, HostRoute, Instance, Interface, Mac, Network, NodePlan, NodeStatus, Port,
    Router, Rule, Security, Uplink, names,
};
use landbridge_linux::link::Bridge;
use landbridge_linux::namespace::named;
use landbridge_linux::{Address, Handle, IfName, LinkKind, Namespace, NewLink, Route};
use landbridge_nodestate::wires::{SegmentLink, VlanLink, WireError, Wires};
use tempfile::TempDir;

pub fn name(text: &str) -> IfName {
    IfName::new(text).unwrap()
}

pub fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

pub fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn namespace() -> Namespace {
    let namespace = Namespace::unnamed().unwrap();
    Handle::in_namespace(&namespace).unwrap().set_up(&name("lo")).unwrap();
    namespace
}

/// Whether namespaces can be made here; says so where they cannot.
pub fn can() -> bool {
    let why = if !rustix::process::geteuid().is_root() {
        "needs root"
    } else if !namespace().run(|| Path::new("/proc/sys/net/bridge").exists()).unwrap() {
        "the kernel has no br_netfilter"
    } else {
        return true;
    };
    eprintln!("skipped: fabric: {why}");
    if let Some(path) = std::env::var_os("LANDBRIDGE_SKIP_FILE") {
        let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
        writeln!(file, "the cloud on a real kernel: {why}").unwrap();
    }
    false
}

/// The lab's switches, as far as segments need them.
struct Switches {
    namespace: Namespace,
    node: usize,
}

impl Wires for Switches {
    fn make_vlan(&self, _: &Handle, vlan: &VlanLink) -> Result<(), WireError> {
        Err(WireError::Refused(format!("no VLAN {}", vlan.id)))
    }

    fn make_segment(&self, net: &Handle, wanted: &SegmentLink) -> Result<(), WireError> {
        let here = Handle::in_namespace(&self.namespace)?;
        let bridge = NewLink::new(name(&format!("g{}", wanted.segment)), bridge()).up();
        let bridge = here.ensure_link(&bridge)?.0.index;
        let port = name(&format!("n{}g{}", self.node, wanted.segment));
        here.delete_link(&port)?;
        let port = NewLink::new(port, LinkKind::Veth).in_master(bridge).up();
        let end = NewLink::new(wanted.name.clone(), LinkKind::Veth)
            .with_mtu(wanted.mtu)
            .with_alias(wanted.alias.as_str());
        here.create_veth(&port, &end, Some(net.namespace()))?;
        Ok(())
    }
}

fn bridge() -> LinkKind {
    LinkKind::Bridge(Bridge {
        stp: Some(false),
        multicast_snooping: Some(false),
        ..Bridge::default()
    })
}

/// A few nodes.
pub struct Scene {
    pub nodes: Vec<Node>,
    pub switches: Namespace,
    runtime: tokio::runtime::Runtime,
}

pub struct Node {
    pub namespace: Namespace,
    pub netns: PathBuf,
    cloud: Option<Cloud>,
    number: usize,
    switches: Namespace,
    _directory: TempDir,
}

impl Scene {
    pub fn new(nodes: usize) -> Option<Self> {
        if !can() {
            return None;
        }
        let switches = namespace();
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(2).enable_all().build().unwrap();
        let node = |number| {
            let directory = tempfile::tempdir().unwrap();
            Node {
                namespace: namespace(),
                netns: directory.path().to_owned(),
                cloud: None,
                number,
                switches: switches.clone(),
                _directory: directory,
            }
        };
        let nodes = (0..nodes).map(node).collect();
        Some(Self { nodes, switches, runtime })
    }

    /// What the agent of a node does with a plan.
    pub fn converge(&mut self, node: usize, plan: &NodePlan) -> NodeStatus {
        let _inside = self.runtime.enter();
        let node = &mut self.nodes[node];
        let wires = Switches { namespace: node.switches.clone(), node: node.number };
        let fresh = || Cloud::new(node.namespace.clone(), node.netns.clone(), Arc::new(wires));
        node.cloud.get_or_insert_with(fresh).converge(plan)
    }

    /// The same, and it must all have been made.
    pub fn make(&mut self, node: usize, plan: &NodePlan) {
        let status = self.converge(node, plan);
        assert_eq!(status.errors, Vec::<String>::new());
    }

    /// The agent of a node is gone from one moment to the next.
    pub fn kill(&mut self, node: usize) {
        let _inside = self.runtime.enter();
        // Its sockets go with it, and nothing is given back.
        if let Some(cloud) = self.nodes[node].cloud.take() {
            cloud.leave();
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for number in 0..self.nodes.len() {
            let status = self.converge(number, &NodePlan::default());
            let node = &self.nodes[number];
            let left = named::list(&node.netns).unwrap_or_default();
            for name in &left {
                let _ = named::delete(&node.netns, name);
            }
            if !std::thread::panicking() {
                assert_eq!(left, Vec::<String>::new(), "{:?}", status.errors);
            }
        }
    }
}

impl Node {
    pub fn handle(&self) -> Handle {
        Handle::in_namespace(&self.namespace).unwrap()
    }

    /// A bridge of the node, with a pod on it.
    pub fn bridge_with_pod(
        &self,
        called: &str,
        address: &str,
        routes: &[(&str, &str)],
    ) -> Namespace {
        let here = self.handle();
        let made = here.ensure_link(&NewLink::new(name(called), bridge()).up()).unwrap();
        let pod = namespace();
        let number = here.links().unwrap().len();
        let end = NewLink::new(name(&format!("veth{number}")), LinkKind::Veth)
            .in_master(made.0.index)
            .up();
        let far = NewLink::new(name("net1"), LinkKind::Veth).up();
        here.create_veth(&end, &far, Some(&pod)).unwrap();
        let there = Handle::in_namespace(&pod).unwrap();
        let link = there.index(&name("net1")).unwrap();
        there.add_address(&Address::new(link, net(address)).without_dad()).unwrap();
        for (to, via) in routes {
            there.add_route(&Route::via(net(to), ip(via))).unwrap();
        }
        pod
    }

    pub fn instance(&self, id: &str) -> Namespace {
        named::open(&self.netns, &names::instance(id)).unwrap()
    }

    pub fn spaces(&self) -> Vec<String> {
        named::list(&self.netns).unwrap()
    }
}

/// A cable between bridges of the same name on two nodes.
pub fn cable(one: &Node, other: &Node, called: &str) {
    let (here, there) = (one.handle(), other.handle());
    let master = |net: &Handle| net.index(&name(called)).unwrap();
    let end = NewLink::new(name("enp6s0"), LinkKind::Veth);
    here.create_veth(&end.clone().in_master(master(&here)).up(), &end.up(), Some(&other.namespace))
        .unwrap();
    let far = there.index(&name("enp6s0")).unwrap();
    there.set_master(far, Some(master(&there))).unwrap();
}

/// What a server says to a client at once; an error in words.
pub fn ask(from: &Namespace, to: &str) -> Result<String, String> {
    let to: SocketAddr = to.parse().unwrap();
    from.run(|| {
        let mut stream = connect(to)?;
        read(&mut stream)
    })
    .unwrap()
}

/// The same, from an address.
pub fn ask_from(from: &Namespace, source: &str, to: &str) -> Result<String, String> {
    let (source, to): (SocketAddr, SocketAddr) =
        (SocketAddr::new(ip(source), 0), to.parse().unwrap());
    from.run(|| {
        let socket = UdpSocket::bind(source).map_err(|error| error.kind().to_string())?;
        socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        socket.send_to(b"?", to).map_err(|error| error.kind().to_string())?;
        let mut buffer = [0; 256];
        let count = socket.recv(&mut buffer).map_err(|error| error.kind().to_string())?;
        Ok(String::from_utf8_lossy(&buffer[..count]).trim().to_owned())
    })
    .unwrap()
}

pub fn connect(to: SocketAddr) -> Result<TcpStream, String> {
    let stream = TcpStream::connect_timeout(&to, Duration::from_millis(700));
    let stream = stream.map_err(|error| error.kind().to_string())?;
    stream.set_read_timeout(Some(Duration::from_millis(700))).unwrap();
    Ok(stream)
}

pub fn read(stream: &mut TcpStream) -> Result<String, String> {
    let mut buffer = [0; 512];
    let count = stream.read(&mut buffer).map_err(|error| error.kind().to_string())?;
    Ok(String::from_utf8_lossy(&buffer[..count]).trim().to_owned())
}

/// Servers at port 8080, for as long as the test runs: they say who asks (TCP then echoes).
pub fn serve(within: &Namespace) {
    let (listener, socket) = within
        .run(|| (TcpListener::bind("[::]:8080").unwrap(), UdpSocket::bind("[::]:8080").unwrap()))
        .unwrap();
    std::thread::spawn(move || {
        while let Ok((mut stream, peer)) = listener.accept() {
            std::thread::spawn(move || {
                let _ = stream.write_all(peer.ip().to_canonical().to_string().as_bytes());
                let mut buffer = [0; 512];
                while let Ok(count) = stream.read(&mut buffer) {
                    if count == 0 || stream.write_all(&buffer[..count]).is_err() {
                        return;
                    }
                }
            });
        }
    });
    std::thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok((_, peer)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(peer.ip().to_canonical().to_string().as_bytes(), peer);
        }
    });
}

/// Waits until it becomes so.
#[allow(clippy::needless_pass_by_value)] // what is wanted is written where it is wanted
pub fn eventually<T: std::fmt::Debug + PartialEq>(wanted: T, mut look: impl FnMut() -> T) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let seen = look();
        if seen == wanted {
            return;
        }
        assert!(Instant::now() < deadline, "{seen:?} instead of {wanted:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

pub fn addresses(within: &Namespace, link: &str) -> Vec<String> {
    let net = Handle::in_namespace(within).unwrap();
    let Ok(Some(link)) = net.link(&name(link)) else { return Vec::new() };
    let all = net.addresses_of(link.index).unwrap();
    let mut all: Vec<String> = all
        .iter()
        .filter(|address| !address.net.to_string().starts_with("fe80"))
        .map(|address| address.net.to_string())
        .collect();
    all.sort();
    all
}

pub fn routes(within: &Namespace) -> Vec<String> {
    let net = Handle::in_namespace(within).unwrap();
    let all = net.routes_of(254).unwrap();
    let mut all: Vec<String> = all
        .iter()
        .filter_map(|route| Some(format!("{} via {}", route.destination, route.gateway?)))
        .collect();
    all.sort();
    all
}

/// The id that begins with a letter.
pub fn id(letter: char) -> String {
    format!("{}-1111-4222-8333-444444444444", letter.to_string().repeat(8))
}

pub fn network(letter: char, uplink: Uplink) -> Network {
    Network { id: id(letter), name: format!("net-{letter}"), mtu: 1442, uplink }
}

pub fn on_bridge(link: &str) -> Uplink {
    Uplink::Physical { network: "octavia".into(), link: link.into(), vlan: None }
}

pub fn mac(last: u8) -> Mac {
    Mac([0xfa, 0x16, 0x3e, 0, 0, last])
}

/// An instance with one port on a network, its address by DHCP.
pub fn instance(letter: char, on: char, address: &str, last: u8) -> Instance {
    Instance {
        id: id(letter),
        name: format!("vm-{letter}"),
        ports: vec![port(letter, on, address, last)],
    }
}

pub fn port(letter: char, on: char, address: &str, last: u8) -> Port {
    let address = net(address);
    let dhcp = match address.trunc().addr() {
        IpAddr::V4(network) => Some((u32::from(network) + 1).into()),
        IpAddr::V6(_) => None,
    };
    Port {
        id: id(letter),
        network: id(on),
        mac: mac(last),
        mtu: 1442,
        up: true,
        fixed: vec![Fixed { address, gateway: None, routes: Vec::new(), dhcp }],
        resolvers: Vec::new(),
        child: None,
        security: Some(Security { pairs: Vec::new(), rules: everything_out() }),
    }
}

pub fn everything_out() -> Vec<Rule> {
    [false, true].map(|ipv6| rule(Direction::Egress, ipv6, None, None, None)).to_vec()
}

pub fn rule(
    direction: Direction,
    ipv6: bool,
    protocol: Option<u8>,
    port: Option<u16>,
    remotes: Option<&[&str]>,
) -> Rule {
    let remotes = remotes.map(|all| all.iter().map(|text| net(text)).collect());
    Rule { direction, ipv6, protocol, first: port, last: port, remotes }
}

/// Lets TCP to a port in, from anybody.
pub fn open(port: u16) -> Rule {
    rule(Direction::Ingress, false, Some(6), Some(port), None)
}

pub fn allow(instance: &mut Instance, rules: &[Rule]) {
    instance.ports[0].security.as_mut().unwrap().rules.extend_from_slice(rules);
}

pub fn via(to: &str, nexthop: &str) -> HostRoute {
    HostRoute { destination: net(to), nexthop: ip(nexthop) }
}

pub fn router(letter: char, interfaces: Vec<Interface>) -> Router {
    Router {
        id: id(letter),
        name: format!("router-{letter}"),
        interfaces,
        routes: Vec::new(),
        snat: None,
        floating: Vec::new(),
    }
}

pub fn interface(letter: char, on: char, address: &str, outside: bool) -> Interface {
    Interface {
        port: id(letter),
        network: id(on),
        mac: mac(u8::try_from(u32::from(letter)).unwrap()),
        mtu: 1442,
        addresses: vec![net(address)],
        outside,
    }
}

pub fn plan(networks: Vec<Network>, instances: Vec<Instance>, routers: Vec<Router>) -> NodePlan {
    NodePlan { generation: 1, networks, instances, routers }
}

pub fn links(within: &Namespace) -> Vec<String> {
    let net = Handle::in_namespace(within).unwrap();
    net.links().unwrap().iter().map(|link| link.name.to_string()).collect()
}

pub fn cloud_of(netns: &Path) -> Namespace {
    named::open(netns, names::CLOUD).unwrap()
}
