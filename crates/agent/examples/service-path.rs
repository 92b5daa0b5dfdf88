//! What the data path of Services costs: connections and bytes per second straight to a pod, by the
//! kernel's rules and through the agent, in one run; and what a change costs among thousands of Services.
//!
//! One client makes one connection after the other, so a connection's time is what is measured; bytes go
//! to the pod and back by one connection. It takes less than a minute.
//!
//!   cargo run --release -p landbridge-agent --example service-path      (as root)

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code)]

#[path = "../tests/services/wires.rs"]
mod wires;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use landbridge_agent::services::kernel::Kernel;
use landbridge_agent::services::through::Through;
use landbridge_lb::rules::{change, replace, rules};
use landbridge_lb::{Port, Protocol, Table};
use landbridge_linux::{Handle, IfName, Namespace, Route};
use tokio::sync::watch;

use wires::{VIP, Wires, ask, everything, to};

const ROUND: Duration = Duration::from_secs(2);
/// Enough to see whether a change costs what it changes; the kernel takes seconds for each thousand.
const MANY: u32 = 5_000;

fn main() {
    let Some(wires) = Wires::new() else { return };
    let runtime = wires
        .node
        .run(|| {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            builder.worker_threads(2).enable_all().build().unwrap()
        })
        .unwrap();
    println!("| way | connections/s | MiB/s there and back |");
    println!("|---|---|---|");
    measure("straight to a pod, from a pod", &wires.pods[1], to("10.244.0.2:8080"));
    route_to_pods(&wires);
    measure("straight to a pod, from outside by routing", &wires.office, to("10.244.0.2:8080"));
    let has_nft = Command::new("nft").arg("--version").stdout(Stdio::null()).status().is_ok();
    if has_nft {
        let kernel = async {
            let mut kernel = Kernel::new("cni0", &["10.96.0.0/16".parse().unwrap()]);
            kernel.apply(everything(), BTreeSet::new(), true).await.unwrap();
        };
        runtime.block_on(runtime.spawn(kernel)).unwrap();
        measure("nft: cluster address, from a pod", &wires.pods[1], to("10.96.0.7:80"));
        measure("nft: virtual address, from a VLAN", &wires.compute, to(&format!("{VIP}:80")));
        nft(&wires, "flush ruleset");
    } else {
        println!("<!-- the program nft is not here: only the agent's own way is measured -->");
    }
    let through = async {
        let mut through = Through::new(watch::channel(Vec::new()).1);
        through.apply(&everything(), BTreeSet::new()).await.unwrap();
        through
    };
    let through = runtime.block_on(runtime.spawn(through)).unwrap();
    measure("relay: cluster address, from a pod", &wires.pods[1], to("10.96.0.7:80"));
    measure("relay: virtual address, from a VLAN", &wires.compute, to(&format!("{VIP}:80")));
    runtime.block_on(runtime.spawn(through.end())).unwrap();
    if has_nft {
        many_services(&wires);
    }
}

/// The office reaches pods through the node, as if it were their router.
fn route_to_pods(wires: &Wires) {
    let net = Handle::in_namespace(&wires.office).unwrap();
    let eth0 = net.index(&IfName::new("eth0").unwrap()).unwrap();
    let pods = Route::via("10.244.0.0/24".parse().unwrap(), "192.168.111.20".parse().unwrap());
    net.add_route(&pods.on(eth0)).unwrap();
}

/// Runs a script on the node.
fn nft(wires: &Wires, script: &str) {
    wires
        .node
        .run(|| {
            let mut child =
                Command::new("nft").args(["-f", "-"]).stdin(Stdio::piped()).spawn().unwrap();
            child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
            assert!(child.wait().unwrap().success());
        })
        .unwrap();
}

fn measure(way: &str, from: &Namespace, at: SocketAddr) {
    ask(from, at).unwrap();
    let connections = from
        .run(|| {
            let (begun, mut count) = (Instant::now(), 0_u32);
            while begun.elapsed() < ROUND {
                let mut stream = TcpStream::connect(at).unwrap();
                let mut buffer = [0; 64];
                assert!(stream.read(&mut buffer).unwrap() > 0);
                // Reset: a port that waits for its connection to be forgotten is missing after some seconds.
                rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
                count += 1;
            }
            f64::from(count) / begun.elapsed().as_secs_f64()
        })
        .unwrap();
    let bytes = from
        .run(|| {
            let mut stream = TcpStream::connect(at).unwrap();
            let mut back = stream.try_clone().unwrap();
            let reader = std::thread::spawn(move || {
                let (mut buffer, mut total) = (vec![0; 256 * 1024], 0_usize);
                while let Ok(count) = back.read(&mut buffer) {
                    if count == 0 {
                        break;
                    }
                    total += count;
                }
                total
            });
            let (begun, block) = (Instant::now(), vec![7; 256 * 1024]);
            while begun.elapsed() < ROUND {
                stream.write_all(&block).unwrap();
            }
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            let total = u32::try_from(reader.join().unwrap() / 1024).unwrap();
            f64::from(total) / 1024.0 / begun.elapsed().as_secs_f64()
        })
        .unwrap();
    println!("| {way} | {connections:.0} | {bytes:.0} |");
}

/// Many Services of three endpoints each.
fn services(moved: bool) -> Table {
    let port = |number: u32| {
        let [_, b, c, d] = number.to_be_bytes();
        let mut port = Port::new(&format!("ns/s{number}/tcp/80"), Protocol::Tcp, 80, true);
        port.cluster_ip = Some([10, 100 + b, c, d].into());
        port.balanced.insert([172, 20 + b, c, d].into());
        for endpoint in 1..4_u8 {
            port.anywhere.insert(SocketAddr::from(([10, 244 + b, c, endpoint], 8080)));
        }
        if moved && number == MANY / 2 {
            port.anywhere.insert(to("10.250.0.1:8080"));
        }
        port
    };
    Table::new((0..MANY).map(port).collect())
}

fn many_services(wires: &Wires) {
    let links = BTreeMap::from([("enp6s0.20".to_owned(), 0x4c42_0003)]);
    let timed = |what: &str, work: &dyn Fn() -> String| {
        let begun = Instant::now();
        let script = work();
        let made = begun.elapsed();
        let begun = Instant::now();
        nft(wires, &script);
        let (took, kib) = (begun.elapsed(), script.len() / 1024);
        println!("<!-- {what}: {made:.1?} to compute, {took:.1?} in nft, {kib} KiB -->");
    };
    let (before, after) = (services(false), services(true));
    let of = |table: &Table| rules(table, &links, "cni0");
    timed(&format!("{MANY} Services anew"), &|| replace(&of(&before), "cni0"));
    let old = of(&before);
    timed("one endpoint of one of them", &|| change(&old, &of(&after)));
    // The one that is asked for comes last, by a change like any other.
    let mut all = after.ports().to_vec();
    all.extend(everything().ports().iter().cloned());
    let old = of(&after);
    timed("one Service more", &|| change(&old, &of(&Table::new(all.clone()))));
    let way = format!("nft: cluster address among {MANY} Services");
    measure(&way, &wires.pods[1], to("10.96.0.7:80"));
}
