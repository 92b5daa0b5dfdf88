//! A switch with two VLANs and a machine network, nodes on all of them, and a client on the VLANs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use landbridge_agent::announce::plan::{Plan, PlannedUnit};
use landbridge_agent::announce::{Command, Report, Wire};
use landbridge_agent::members::{self, Dead};
use landbridge_l2::interfaces::Where;
use landbridge_l2::members::{Contact, Keys, Settings};
use landbridge_l2::packet::Mac;
use landbridge_l2::packet::arp::{Arp, Operation};
use landbridge_l2::packet::ndp::{Advertisement, Solicitation};
use landbridge_linux::link::Bridge;
use landbridge_linux::packet::Frames;
use landbridge_linux::{Address, Handle, IfName, LinkKind, Namespace, NewLink, PacketSocket};
use tokio::sync::{mpsc, watch};

pub const VLANS: [&str; 2] = ["enp6s0.20", "enp6s0.30"];
const MACHINE: &str = "enp1s0";

pub struct Node {
    pub name: String,
    pub net: Handle,
    pub wire: Option<Wire>,
    pub dead: watch::Receiver<Dead>,
    pub address: IpAddr,
}

pub struct Scene {
    pub switch: Handle,
    pub nodes: Vec<Node>,
    pub client: Handle,
    /// Frames on a VLAN, as the client hears them: VLAN, frame.
    pub heard: mpsc::UnboundedReceiver<(usize, Vec<u8>)>,
    sockets: BTreeMap<(usize, bool), Arc<PacketSocket>>,
}

pub fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn name(text: &str) -> IfName {
    IfName::new(text).unwrap()
}

fn skip(why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: announcing: {why}");
    let Some(path) = std::env::var_os("LANDBRIDGE_SKIP_FILE") else { return };
    let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
    writeln!(file, "announcing: {why}").unwrap();
}

/// Plugs a link of a namespace into a bridge of the switch.
fn plug(switch: &Handle, bridge: &str, port: &str, far: &Handle, called: &str) {
    let master = switch.index(&name(bridge)).unwrap();
    let near = NewLink::new(name(port), LinkKind::Veth).in_master(master).up();
    let end = NewLink::new(name(called), LinkKind::Veth).up();
    switch.create_veth(&near, &end, Some(far.namespace())).unwrap();
}

impl Scene {
    /// Nothing where that needs root.
    pub fn new(nodes: usize) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skip("needs root");
            return None;
        }
        let space = || Handle::in_namespace(&Namespace::unnamed().unwrap()).unwrap();
        let switch = space();
        for bridge in ["machine", "v0", "v1"] {
            let kind = LinkKind::Bridge(Bridge::default());
            switch.create_link(&NewLink::new(name(bridge), kind).up()).unwrap();
        }
        let client = space();
        for vlan in 0..2 {
            plug(&switch, &format!("v{vlan}"), &format!("c{vlan}"), &client, VLANS[vlan]);
        }
        let (tell, heard) = mpsc::unbounded_channel();
        let mut sockets = BTreeMap::new();
        for vlan in 0..2 {
            let link = client.index(&name(VLANS[vlan])).unwrap();
            for (arp, frames) in [(true, Frames::Arp), (false, Frames::NeighbourDiscovery)] {
                let runtime = tokio::runtime::Handle::current();
                let open = || {
                    let _inside = runtime.enter();
                    PacketSocket::open(link, frames).unwrap()
                };
                let socket = Arc::new(client.namespace().run(open).unwrap());
                sockets.insert((vlan, arp), Arc::clone(&socket));
                let tell = tell.clone();
                tokio::spawn(async move {
                    loop {
                        match socket.receive().await {
                            Ok(frame) => {
                                if tell.send((vlan, frame)).is_err() {
                                    return;
                                }
                            }
                            Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                        }
                    }
                });
            }
        }
        let nodes = (0..nodes).map(|number| {
            let net = space();
            net.set_up(&name("lo")).unwrap();
            plug(&switch, "machine", &format!("m{number}"), &net, MACHINE);
            for vlan in 0..2 {
                plug(&switch, &format!("v{vlan}"), &format!("n{number}v{vlan}"), &net, VLANS[vlan]);
            }
            let address = format!("192.168.111.{}/24", number + 20);
            let link = net.index(&name(MACHINE)).unwrap();
            net.add_address(&Address::new(link, address.parse().unwrap())).unwrap();
            let (_, dead) = members::dead();
            let address = IpAddr::from([192, 168, 111, u8::try_from(number + 20).unwrap()]);
            Node { name: format!("worker-{number}"), net, wire: None, dead, address }
        });
        let nodes: Vec<Node> = nodes.collect();
        let mut scene = Self { switch, nodes, client, heard, sockets };
        for node in 0..scene.nodes.len() {
            scene.start(node);
        }
        Some(scene)
    }

    /// Starts the wire of a node.
    pub fn start(&mut self, number: usize) {
        let node = &mut self.nodes[number];
        let (tell, dead) = members::dead();
        let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let life = u64::try_from(wall.as_millis()).unwrap() << 16;
        let settings = Settings { name: node.name.clone(), life };
        let start = || Wire::start(settings, members::PORT, tell).unwrap();
        node.wire = Some(node.net.namespace().run(start).unwrap());
        node.dead = dead;
        let wire = self.nodes[number].wire.as_ref().unwrap();
        wire.tell(Command::Keys(Keys::new(&[3; 32], &[]).unwrap()));
    }

    /// Gives every node the same plan, each from its own point of view.
    pub fn plan(&self, units: &BTreeMap<IpAddr, PlannedUnit>) {
        for node in 0..self.nodes.len() {
            self.plan_for(node, units);
        }
    }

    pub fn plan_for(&self, number: usize, units: &BTreeMap<IpAddr, PlannedUnit>) {
        let own = &self.nodes[number];
        let others = self.nodes.iter().filter(|node| node.name != own.name);
        let contact = |node: &Node| Contact { address: node.address, counted: true };
        let plan = Plan {
            units: units.clone(),
            roster: others.map(|node| (node.name.clone(), contact(node))).collect(),
            own_address: Some(own.address),
            refused: BTreeMap::new(),
        };
        let Some(wire) = &own.wire else { return };
        wire.tell(Command::Plan(Box::new(plan)));
        wire.tell(Command::Reread);
    }

    /// Dies without a word.
    pub fn kill(&mut self, node: usize) {
        self.nodes[node].wire = None;
    }

    pub fn unit(&self, addresses: &[(&str, Where)]) -> PlannedUnit {
        PlannedUnit {
            candidates: self.nodes.iter().map(|node| (node.name.clone(), 0)).collect(),
            addresses: addresses.iter().map(|(at, w)| (ip(at), Some(w.clone()))).collect(),
            ..PlannedUnit::default()
        }
    }

    pub fn report(&self, node: usize) -> Report {
        self.nodes[node]
            .wire
            .as_ref()
            .map(|wire| wire.reports().borrow().clone())
            .unwrap_or_default()
    }

    pub fn holders(&self, key: IpAddr) -> Vec<usize> {
        let holds = |node: &usize| self.report(*node).held.contains_key(&key);
        (0..self.nodes.len()).filter(holds).collect()
    }

    pub fn mac(&self, node: usize, interface: &str) -> Mac {
        Mac(self.nodes[node].net.expect_link(&name(interface)).unwrap().mac.unwrap().0)
    }

    pub fn client_mac(&self, vlan: usize) -> Mac {
        Mac(self.client.expect_link(&name(VLANS[vlan])).unwrap().mac.unwrap().0)
    }

    pub fn send(&self, vlan: usize, arp: bool, frame: &[u8]) {
        self.sockets[&(vlan, arp)].send(frame).unwrap();
    }

    pub async fn drain(&mut self) -> Vec<(usize, Vec<u8>)> {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let mut frames = Vec::new();
        while let Ok(frame) = self.heard.try_recv() {
            frames.push(frame);
        }
        frames
    }

    /// Who answers a request on a VLAN, within a moment.
    pub async fn ask(&mut self, vlan: usize, target: &str) -> Vec<Mac> {
        self.drain().await;
        let own = self.client_mac(vlan);
        match ip(target) {
            IpAddr::V4(target) => {
                let request = Arp {
                    destination: Mac::BROADCAST,
                    source: own,
                    operation: Operation::Request,
                    sender_mac: own,
                    sender_ip: "172.17.0.100".parse().unwrap(),
                    target_mac: Mac::ZERO,
                    target_ip: target,
                };
                self.send(vlan, true, &request.write());
            }
            IpAddr::V6(target) => {
                let source = "fe80::64".parse().unwrap();
                let asked = Solicitation { source, source_mac: Some(own), target };
                self.send(vlan, false, &asked.write(own));
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        let frames = self.drain().await;
        let answer = |frame: &Vec<u8>| match (Arp::read(frame), Advertisement::read(frame)) {
            (Some(arp), _) => (arp.operation == Operation::Reply
                && arp.destination == own
                && IpAddr::V4(arp.sender_ip) == ip(target))
            .then_some(arp.sender_mac),
            (_, Some(told)) => {
                (told.solicited && IpAddr::V6(told.target) == ip(target)).then_some(told.mac)
            }
            _ => None,
        };
        frames.iter().filter(|(at, _)| *at == vlan).filter_map(|(_, frame)| answer(frame)).collect()
    }

    /// The node that holds an address and keeps it. Who hears of a plan before it hears of the others
    /// may begin, and gives way.
    pub async fn settled(&mut self, key: IpAddr) -> usize {
        let began = Instant::now();
        let (mut holder, mut since) = (Vec::new(), Instant::now());
        loop {
            let now = self.holders(key);
            if now != holder {
                (holder, since) = (now, Instant::now());
            }
            if let [only] = holder[..]
                && since.elapsed() > Duration::from_millis(700)
            {
                return only;
            }
            assert!(began.elapsed() < Duration::from_secs(10), "nobody keeps {key}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until something holds; says how long that took.
    pub async fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) -> Duration {
        let began = Instant::now();
        while !holds(self) {
            assert!(began.elapsed() < Duration::from_secs(10), "not within 10 s: {what}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        began.elapsed()
    }
}

pub fn on(vlan: usize) -> Where {
    Where::Named(BTreeSet::from([VLANS[vlan].to_owned()]))
}
