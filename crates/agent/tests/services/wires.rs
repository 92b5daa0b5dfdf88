//! A node between clients on networks and pods, as namespaces.
//!
//! ```text
//!  compute 172.17.0.100/24 ── enp6s0.20 (no address) ┐      ┌ pod-1 10.244.0.2, fd00:244::2
//!  office  192.168.111.50  ── enp1s0 .20 ────────────┤ node ┤ cni0 10.244.0.1
//!  storage 172.18.0.100/24 ── enp6s0.21 (no address) ┘      └ pod-2 10.244.0.3, fd00:244::3
//! ```

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use ipnet::IpNet;
use landbridge_lb::{Port, Protocol, Table};
use landbridge_linux::link::Bridge;
use landbridge_linux::sysctl::{Conf, Sysctl};
use landbridge_linux::{
    Address, Handle, IfName, LinkKind, Namespace, Neighbour, NewLink, Route, Sysctls,
};

pub fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

pub fn to(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// A namespace, or nothing where that needs root.
pub fn namespace() -> Option<Namespace> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: services: needs root");
        if let Some(path) = std::env::var_os("LANDBRIDGE_SKIP_FILE") {
            let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
            writeln!(file, "services on a real kernel: needs root").unwrap();
        }
        return None;
    }
    let namespace = Namespace::unnamed().unwrap();
    let handle = Handle::in_namespace(&namespace).unwrap();
    handle.set_up(&IfName::new("lo").unwrap()).unwrap();
    Some(namespace)
}

pub struct Wires {
    pub node: Namespace,
    pub compute: Namespace,
    pub storage: Namespace,
    pub office: Namespace,
    pub pods: Vec<Namespace>,
}

/// The virtual address, on the network where the node has no address.
pub const VIP: &str = "172.17.0.80";
pub const VIP6: &str = "fd00:17::80";

fn handle(namespace: &Namespace) -> Handle {
    Handle::in_namespace(namespace).unwrap()
}

fn give(net_of: &Handle, link: &str, address: &str) {
    let link = net_of.index(&IfName::new(link).unwrap()).unwrap();
    net_of.add_address(&Address::new(link, net(address)).without_dad()).unwrap();
}

impl Wires {
    pub fn new() -> Option<Self> {
        let node = namespace()?;
        let on_node = handle(&node);
        let name = |text: &str| IfName::new(text).unwrap();
        let sysctls = Sysctls::of(&node);
        sysctls.write(&Sysctl::ipv4_forwarding(), 1).unwrap();
        sysctls.write(&Sysctl::ipv6_forwarding(), 1).unwrap();
        // As distributions have it: a source must have a way back.
        sysctls.write(&Sysctl::rp_filter(Conf::All), 1).unwrap();
        let bridge = NewLink::new(name("cni0"), LinkKind::Bridge(Bridge::default())).up();
        let bridge = on_node.create_link(&bridge).unwrap();
        give(&on_node, "cni0", "10.244.0.1/24");
        give(&on_node, "cni0", "fd00:244::1/64");
        let outside = |link: &str, addresses: &[&str]| {
            let client = namespace().unwrap();
            let end = NewLink::new(name(link), LinkKind::Veth).up();
            let far = NewLink::new(name("eth0"), LinkKind::Veth).up();
            let near = on_node.create_veth(&end, &far, Some(&client)).unwrap();
            let there = handle(&client);
            for address in addresses {
                give(&there, "eth0", address);
            }
            let eth0 = there.index(&name("eth0")).unwrap();
            // Whoever announces virtual addresses is another part: here neighbours are told.
            for vip in [VIP, VIP6] {
                let vip: IpAddr = vip.parse().unwrap();
                let neighbour = Neighbour::permanent(eth0, vip, near.mac.unwrap());
                there.replace_neighbour(&neighbour).unwrap();
            }
            Sysctls::of(&client).write(&Sysctl::rp_filter(Conf::All), 1).unwrap();
            client
        };
        let compute = outside("enp6s0.20", &["172.17.0.100/24", "fd00:17::100/64"]);
        let storage = outside("enp6s0.21", &["172.18.0.100/24"]);
        let office = outside("enp1s0", &["192.168.111.50/24"]);
        give(&on_node, "enp1s0", "192.168.111.20/24");
        let mut pods = Vec::new();
        for number in [2, 3] {
            let pod = namespace().unwrap();
            let end = NewLink::new(name(&format!("veth{number}")), LinkKind::Veth).up();
            let end = NewLink { master: Some(bridge.index), ..end };
            let far = NewLink::new(name("eth0"), LinkKind::Veth).up();
            on_node.create_veth(&end, &far, Some(&pod)).unwrap();
            let there = handle(&pod);
            give(&there, "eth0", &format!("10.244.0.{number}/24"));
            give(&there, "eth0", &format!("fd00:244::{number}/64"));
            let eth0 = there.index(&name("eth0")).unwrap();
            for (all, gateway) in [("0.0.0.0/0", "10.244.0.1"), ("::/0", "fd00:244::1")] {
                let route = Route::via(net(all), gateway.parse().unwrap()).on(eth0);
                there.add_route(&route).unwrap();
            }
            serve(&pod, &format!("pod-{}", number - 1));
            pods.push(pod);
        }
        Some(Self { node, compute, storage, office, pods })
    }
}

/// A pod's servers: who it is, and who it sees; TCP and UDP at 8080, for as long as the test runs.
fn serve(pod: &Namespace, name: &str) {
    let (listener, socket) = pod
        .run(|| (TcpListener::bind("[::]:8080").unwrap(), UdpSocket::bind("[::]:8080").unwrap()))
        .unwrap();
    let called = name.to_owned();
    std::thread::spawn(move || {
        while let Ok((mut stream, peer)) = listener.accept() {
            let called = called.clone();
            std::thread::spawn(move || {
                let ip = peer.ip().to_canonical();
                let _ = stream.write_all(format!("{called} {ip}\n").as_bytes());
                // What is said after that comes back.
                let mut buffer = vec![0; 64 * 1024];
                while let Ok(count) = stream.read(&mut buffer) {
                    if count == 0 || stream.write_all(&buffer[..count]).is_err() {
                        return;
                    }
                }
            });
        }
    });
    let called = name.to_owned();
    std::thread::spawn(move || {
        let mut buffer = [0; 1024];
        while let Ok((_, peer)) = socket.recv_from(&mut buffer) {
            let text = format!("{called} {}", peer.ip().to_canonical());
            let _ = socket.send_to(text.as_bytes(), peer);
        }
    });
}

/// What a server says to a client at once; an error in words.
pub fn ask(from: &Namespace, to: SocketAddr) -> Result<String, String> {
    from.run(|| {
        let mut stream = connect(to)?;
        read(&mut stream)
    })
    .unwrap()
}

pub fn connect(to: SocketAddr) -> Result<TcpStream, String> {
    let stream = TcpStream::connect_timeout(&to, Duration::from_millis(1500));
    let stream = stream.map_err(|error| error.kind().to_string())?;
    stream.set_read_timeout(Some(Duration::from_millis(1500))).unwrap();
    Ok(stream)
}

pub fn read(stream: &mut TcpStream) -> Result<String, String> {
    let mut buffer = [0; 256];
    let count = stream.read(&mut buffer).map_err(|error| error.kind().to_string())?;
    Ok(String::from_utf8_lossy(&buffer[..count]).trim().to_owned())
}

/// The same by one datagram.
pub fn ask_udp(socket: &UdpSocket, to: SocketAddr) -> Result<String, String> {
    socket.set_read_timeout(Some(Duration::from_millis(700))).unwrap();
    socket.connect(to).map_err(|error| error.kind().to_string())?;
    socket.send(b"?").map_err(|error| error.kind().to_string())?;
    let mut buffer = [0; 256];
    let count = socket.recv(&mut buffer).map_err(|error| error.kind().to_string())?;
    Ok(String::from_utf8_lossy(&buffer[..count]).trim().to_owned())
}

/// A Service of both pods, at all its addresses.
pub fn port(protocol: Protocol, ipv4: bool) -> Port {
    let mut port = Port::new(&format!("ns/web/{protocol}/80"), protocol, 80, ipv4);
    let ip = |four: &str, six: &str| -> IpAddr { if ipv4 { four } else { six }.parse().unwrap() };
    port.cluster_ip = Some(ip("10.96.0.7", "fd00:96::7"));
    port.balanced = BTreeSet::from([ip(VIP, VIP6)]);
    port.node_port = Some(30080);
    for number in [2, 3] {
        let pod = ip(&format!("10.244.0.{number}"), &format!("fd00:244::{number}"));
        port.anywhere.insert(SocketAddr::new(pod, 8080));
        port.here.insert(SocketAddr::new(pod, 8080));
    }
    port
}

pub fn everything() -> Table {
    let mut ports = Vec::new();
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        for ipv4 in [true, false] {
            ports.push(port(protocol, ipv4));
        }
    }
    Table::new(ports)
}
