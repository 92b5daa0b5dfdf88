//! Clients reach pods: by the kernel and through the agent, with real packets.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::net::{IpAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use landbridge_agent::services::kernel::Kernel;
use landbridge_agent::services::through::Through;
use landbridge_lb::{Port, Protocol, Reach, Table};
use landbridge_linux::Handle;
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, watch};

use crate::wires::{VIP, VIP6, Wires, ask, ask_udp, connect, everything, port, read, to};

enum Path {
    Kernel(Kernel),
    Through(Through),
}

/// A node that forwards.
struct Node {
    runtime: Runtime,
    path: Arc<Mutex<Path>>,
    wires: Wires,
}

impl Node {
    fn new(make: impl FnOnce() -> Path) -> Option<Self> {
        let wires = Wires::new()?;
        // Threads of a runtime are where the one was that made it.
        let runtime = wires
            .node
            .run(|| {
                let mut builder = tokio::runtime::Builder::new_multi_thread();
                builder.worker_threads(2).enable_all().build().unwrap()
            })
            .unwrap();
        Some(Self { runtime, path: Arc::new(Mutex::new(make())), wires })
    }

    fn by_kernel() -> Option<Self> {
        Self::new(|| Path::Kernel(Kernel::new("cni0", &["10.96.0.0/16".parse().unwrap()])))
    }

    fn through_the_agent() -> Option<Self> {
        let own: Vec<IpAddr> = vec!["192.168.111.20".parse().unwrap()];
        Self::new(|| Path::Through(Through::new(watch::channel(own).1)))
    }

    fn apply(&self, table: Table, dead: &[&str]) {
        let dead: BTreeSet<IpAddr> = dead.iter().map(|ip| ip.parse().unwrap()).collect();
        let path = Arc::clone(&self.path);
        let work = self.runtime.spawn(async move {
            match &mut *path.lock().await {
                Path::Kernel(kernel) => kernel.apply(table, dead, true).await,
                Path::Through(through) => through.apply(&table, dead).await,
            }
        });
        self.runtime.block_on(work).unwrap().unwrap();
    }
}

fn of(change: impl Fn(&mut Port)) -> Table {
    let ports = everything().ports().to_vec();
    Table::new(
        ports
            .into_iter()
            .map(|mut port| {
                change(&mut port);
                port
            })
            .collect(),
    )
}

fn only(port: &mut Port, numbers: &[u8]) {
    let keep = |to: &std::net::SocketAddr| {
        numbers.iter().any(|n| to.ip().to_string().ends_with(&format!("{n}")))
    };
    port.anywhere.retain(keep);
    port.here.retain(keep);
}

/// Everybody who answers in some tries.
fn everybody(mut ask: impl FnMut() -> Result<String, String>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for _ in 0..24 {
        let answer = ask().unwrap();
        names.insert(answer.split(' ').next().unwrap().to_owned());
    }
    names
}

fn both() -> BTreeSet<String> {
    BTreeSet::from(["pod-1".to_owned(), "pod-2".to_owned()])
}

/// From everywhere, at every address, to both pods.
fn reaches_everything(node: &Node) {
    let wires = &node.wires;
    let vip = to(&format!("{VIP}:80"));
    assert_eq!(everybody(|| ask(&wires.compute, vip)), both(), "a client on a bare VLAN");
    assert_eq!(
        everybody(|| ask(&wires.pods[0], to("10.96.0.7:80"))),
        both(),
        "a pod, also to itself"
    );
    assert_eq!(everybody(|| ask(&wires.pods[1], vip)), both(), "a pod to the virtual address");
    assert_eq!(everybody(|| ask(&wires.node, to("10.96.0.7:80"))), both(), "the node itself");
    assert_eq!(everybody(|| ask(&wires.node, vip)), both(), "the node to the virtual address");
    assert_eq!(everybody(|| ask(&wires.office, to("192.168.111.20:30080"))), both(), "a node port");
    let socket = |from: &landbridge_linux::Namespace, bind: &str| {
        from.run(|| UdpSocket::bind(bind).unwrap()).unwrap()
    };
    let udp = |from: &landbridge_linux::Namespace, at: &str| {
        everybody(|| ask_udp(&socket(from, "0.0.0.0:0"), to(at)))
    };
    assert_eq!(udp(&wires.compute, &format!("{VIP}:80")), both(), "datagrams of a client");
    assert_eq!(udp(&wires.pods[0], "10.96.0.7:80"), both(), "datagrams of a pod");
    assert_eq!(everybody(|| ask(&wires.pods[0], to("[fd00:96::7]:80"))), both(), "IPv6");
}

/// Nobody there: told at once. Wrong ports of a virtual address: silence.
fn refuses_and_drops(node: &Node) {
    node.apply(of(|port| only(port, &[])), &[]);
    let wires = &node.wires;
    for (who, from, at) in [
        ("a client", &wires.compute, format!("{VIP}:80")),
        ("a pod", &wires.pods[0], "10.96.0.7:80".to_owned()),
        ("the node", &wires.node, "10.96.0.7:80".to_owned()),
        ("a pod at the virtual address", &wires.pods[0], format!("{VIP}:80")),
    ] {
        let begun = Instant::now();
        let answer = ask(from, to(&at)).unwrap_err();
        // Through the agent a link without routes is only reset.
        let told = ["connection refused", "connection reset"].contains(&answer.as_str());
        assert!(told, "{who}: {answer}");
        assert!(begun.elapsed() < Duration::from_millis(500), "{who}: {:?}", begun.elapsed());
    }
    node.apply(everything(), &[]);
    assert_eq!(ask(&wires.pods[0], to("10.96.0.7:81")), Err("connection refused".to_owned()));
    assert_eq!(ask(&wires.compute, to(&format!("{VIP}:80"))).err(), None);
}

#[test]
fn the_kernel_forwards() {
    let Some(node) = Node::by_kernel() else { return };
    node.apply(everything(), &[]);
    reaches_everything(&node);
    let (compute, vip) = (&node.wires.compute, to(&format!("[{VIP6}]:80")));
    // A new link asks for a second or two whether its address is somebody else's, and is silent so long.
    let begun = Instant::now();
    while ask(compute, vip).is_err() && begun.elapsed() < Duration::from_secs(8) {}
    assert_eq!(everybody(|| ask(compute, vip)), both(), "IPv6 at the VLAN");
}

#[test]
fn the_kernel_refuses_and_drops() {
    let Some(node) = Node::by_kernel() else { return };
    refuses_and_drops(&node);
    let compute = &node.wires.compute;
    assert_eq!(ask(compute, to(&format!("{VIP}:81"))), Err("timed out".to_owned()));
    // Whom it sees nothing of: other networks of the node.
    for at in ["192.168.111.20:30080", "10.244.0.2:8080", "172.18.0.100:80"] {
        let route =
            landbridge_linux::Route::via("0.0.0.0/0".parse().unwrap(), VIP.parse().unwrap());
        let there = Handle::in_namespace(compute).unwrap();
        let eth0 = there.index(&landbridge_linux::IfName::new("eth0").unwrap()).unwrap();
        let _ = there.ensure_route(&route.on(eth0));
        assert!(ask(compute, to(at)).is_err(), "{at}");
    }
}

#[test]
fn clients_are_seen_with_policy_local_and_not_otherwise() {
    let Some(node) = Node::by_kernel() else { return };
    let vip = to(&format!("{VIP}:80"));
    node.apply(everything(), &[]);
    let answer = ask(&node.wires.compute, vip).unwrap();
    assert!(answer.ends_with("10.244.0.1"), "the node stands for the client: {answer}");
    node.apply(of(|port| port.outside = Reach::Local), &[]);
    let answer = ask(&node.wires.compute, vip).unwrap();
    assert!(answer.ends_with("172.17.0.100"), "the client itself: {answer}");
    let answer = ask(&node.wires.office, to("192.168.111.20:30080")).unwrap();
    assert!(answer.ends_with("192.168.111.50"), "at a node port, too: {answer}");
    // Nobody on this node: silence, so that another node is tried. Inside it does not matter.
    let elsewhere = of(|port| {
        port.outside = Reach::Local;
        port.here.clear();
    });
    node.apply(elsewhere, &[]);
    assert_eq!(ask(&node.wires.compute, vip), Err("timed out".to_owned()));
    assert!(ask(&node.wires.pods[0], vip).is_ok());
    assert!(ask(&node.wires.node, vip).is_ok());
    // The same for those inside.
    let inside = of(|port| {
        port.inside = Reach::Local;
        port.here.clear();
    });
    node.apply(inside, &[]);
    assert_eq!(ask(&node.wires.pods[0], to("10.96.0.7:80")), Err("timed out".to_owned()));
}

#[test]
fn only_sources_that_may_come_do() {
    let Some(node) = Node::by_kernel() else { return };
    let vip = to(&format!("{VIP}:80"));
    node.apply(of(|port| port.sources = vec!["172.17.0.0/25".parse().unwrap()]), &[]);
    assert!(ask(&node.wires.compute, vip).is_ok());
    node.apply(of(|port| port.sources = vec!["172.17.0.128/25".parse().unwrap()]), &[]);
    assert_eq!(ask(&node.wires.compute, vip), Err("timed out".to_owned()));
    assert!(ask(&node.wires.pods[0], to("10.96.0.7:80")).is_ok(), "inside it is open");
}

fn sticks(node: &Node) {
    let vip = to(&format!("{VIP}:80"));
    let table = || of(|port| port.affinity = Some(2));
    node.apply(table(), &[]);
    assert_eq!(everybody(|| ask(&node.wires.compute, vip)).len(), 1);
    let with = ask(&node.wires.compute, vip).unwrap().split(' ').next().unwrap().to_owned();
    // A change of something else does not make anybody move.
    let mut more = table().ports().to_vec();
    more.push(Port::new("ns/other/tcp/1", Protocol::Tcp, 1, true));
    node.apply(Table::new(more), &[]);
    assert_eq!(everybody(|| ask(&node.wires.compute, vip)), BTreeSet::from([with.clone()]));
    // The backend goes: the client moves on at once.
    let left = if with == "pod-1" { 3 } else { 2 };
    node.apply(
        of(|port| {
            port.affinity = Some(2);
            only(port, &[left]);
        }),
        &[],
    );
    let other = ask(&node.wires.compute, vip).unwrap();
    assert!(!other.starts_with(&with), "{other}");
    // It comes back, and time passes: by chance again.
    node.apply(table(), &[]);
    assert!(ask(&node.wires.compute, vip).unwrap().starts_with(other.split(' ').next().unwrap()));
    let mut met = BTreeSet::new();
    for _ in 0..12 {
        std::thread::sleep(Duration::from_millis(2100));
        met.insert(ask(&node.wires.compute, vip).unwrap().split(' ').next().unwrap().to_owned());
        if met.len() == 2 {
            break;
        }
    }
    assert_eq!(met, both());
}

#[test]
fn clients_stay_with_their_pod() {
    let Some(node) = Node::by_kernel() else { return };
    sticks(&node);
}

/// One socket, one flow: its datagrams go on elsewhere when the backend leaves.
fn datagrams_move_on(node: &Node) {
    node.apply(of(|port| only(port, &[2])), &[]);
    let socket = node.wires.compute.run(|| UdpSocket::bind("0.0.0.0:0").unwrap()).unwrap();
    let vip = to(&format!("{VIP}:80"));
    assert!(ask_udp(&socket, vip).unwrap().starts_with("pod-1"));
    node.apply(of(|port| only(port, &[3])), &[]);
    assert!(ask_udp(&socket, vip).unwrap().starts_with("pod-2"), "at once, with the next datagram");
}

#[test]
fn datagrams_move_on_by_the_kernel() {
    let Some(node) = Node::by_kernel() else { return };
    datagrams_move_on(&node);
}

/// A connection to a backend on a dead node ends with the next packet; others go on.
fn connections_to_the_dead_end(node: &Node) {
    node.apply(of(|port| only(port, &[2])), &[]);
    let open = |node: &Node| {
        node.wires
            .compute
            .run(|| {
                let mut stream = connect(to(&format!("{VIP}:80"))).unwrap();
                read(&mut stream).unwrap();
                stream
            })
            .unwrap()
    };
    let mut stream = open(node);
    // A pod that leaves in peace ends its connections itself.
    node.apply(of(|port| only(port, &[3])), &[]);
    stream.write_all(b"still there").unwrap();
    assert_eq!(read(&mut stream), Ok("still there".to_owned()));
    let begun = Instant::now();
    node.apply(of(|port| only(port, &[3])), &["10.244.0.2"]);
    let mut ended = false;
    for _ in 0..10 {
        ended |= stream.write_all(b"hello").is_err()
            || read(&mut stream).is_err_and(|e| e != "timed out" && e != "operation would block");
        if ended {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(ended && begun.elapsed() < Duration::from_secs(1), "{ended} {:?}", begun.elapsed());
    assert!(read(&mut open(node)).is_err(), "a new one says nothing more by itself");
}

#[test]
fn connections_to_the_dead_end_by_the_kernel() {
    let Some(node) = Node::by_kernel() else { return };
    connections_to_the_dead_end(&node);
}

#[test]
fn the_agent_forwards() {
    let Some(node) = Node::through_the_agent() else { return };
    node.apply(everything(), &[]);
    reaches_everything(&node);
    refuses_and_drops(&node);
    // The kernel answers no neighbour for addresses of Services.
    let asked = node.wires.storage.run(|| ask(&node.wires.storage, to("172.18.0.80:80"))).unwrap();
    assert!(asked.is_err());
}

#[test]
fn the_agent_keeps_clients_with_their_pod_and_moves_them_on() {
    let Some(node) = Node::through_the_agent() else { return };
    sticks(&node);
    datagrams_move_on(&node);
    connections_to_the_dead_end(&node);
}

#[test]
fn a_table_that_somebody_took_away_comes_back() {
    let Some(node) = Node::by_kernel() else { return };
    node.apply(everything(), &[]);
    node.wires
        .node
        .run(|| std::process::Command::new("nft").args(["flush", "ruleset"]).status().unwrap())
        .unwrap();
    let vip = to(&format!("{VIP}:80"));
    assert!(ask(&node.wires.compute, vip).is_err());
    node.apply(everything(), &[]);
    assert!(ask(&node.wires.compute, vip).is_ok());
}

#[test]
fn an_ipv4_service_alone_is_enough() {
    let Some(node) = Node::by_kernel() else { return };
    node.apply(Table::new(vec![port(Protocol::Tcp, true)]), &[]);
    assert!(ask(&node.wires.compute, to(&format!("{VIP}:80"))).is_ok());
}
