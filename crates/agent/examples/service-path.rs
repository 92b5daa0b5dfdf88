//! What the data path of Services costs: connections and bytes per second straight to a pod, by the
//! kernel's rules and through the agent; and what a change costs among ten thousand Services.
//!
//!   cargo run --release -p landbridge-agent --example service-path      (as root)

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code)]

#[path = "../tests/services/wires.rs"]
mod wires;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use landbridge_agent::services::kernel::Kernel;
use landbridge_agent::services::through::Through;
use landbridge_lb::rules::{change, replace, rules};
use landbridge_lb::{Port, Protocol, Table};
use landbridge_linux::Namespace;
use tokio::sync::watch;

use wires::{VIP, Wires, ask, everything, to};

const ROUND: Duration = Duration::from_secs(3);

fn main() {
    let Some(wires) = Wires::new() else { return };
    let runtime = wires
        .node
        .run(|| {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            builder.worker_threads(2).enable_all().build().unwrap()
        })
        .unwrap();
    println!("| way | connections/s | MiB/s (echo) |");
    println!("|---|---|---|");
    // The office reaches the pod by the node's ordinary routing.
    measure("straight to a pod, from a pod", &wires.pods[1], to("10.244.0.2:8080"));
    let kernel = async {
        let mut kernel = Kernel::new("cni0", &["10.96.0.0/16".parse().unwrap()]);
        kernel.apply(everything(), BTreeSet::new(), true).await.unwrap();
    };
    runtime.block_on(runtime.spawn(kernel)).unwrap();
    measure("nft: cluster address, from a pod", &wires.pods[1], to("10.96.0.7:80"));
    measure("nft: virtual address, from a VLAN", &wires.compute, to(&format!("{VIP}:80")));
    many_services(&wires);
    wires
        .node
        .run(|| {
            std::process::Command::new("nft").args(["flush", "ruleset"]).status().unwrap();
        })
        .unwrap();
    let through = async {
        let mut through = Through::new(watch::channel(Vec::new()).1);
        through.apply(&everything(), BTreeSet::new()).await.unwrap();
        through
    };
    let _through = runtime.block_on(runtime.spawn(through)).unwrap();
    measure("relay: cluster address, from a pod", &wires.pods[1], to("10.96.0.7:80"));
    measure("relay: virtual address, from a VLAN", &wires.compute, to(&format!("{VIP}:80")));
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

/// Ten thousand Services of three endpoints each.
fn services(moved: bool) -> Table {
    let port = |number: u32| {
        let [_, b, c, d] = number.to_be_bytes();
        let mut port = Port::new(&format!("ns/s{number}/tcp/80"), Protocol::Tcp, 80, true);
        port.cluster_ip = Some([10, 100 + b, c, d].into());
        port.balanced.insert([172, 20 + b, c, d].into());
        for endpoint in 1..4_u8 {
            port.anywhere.insert(SocketAddr::from(([10, 244 + b, c, endpoint], 8080)));
        }
        if moved && number == 5_000 {
            port.anywhere.insert(to("10.250.0.1:8080"));
        }
        port
    };
    Table::new((0..10_000).map(port).collect())
}

fn many_services(wires: &Wires) {
    let links = BTreeMap::from([("enp6s0.20".to_owned(), 0x4c42_0003)]);
    let timed = |what: &str, work: &dyn Fn() -> String| {
        let begun = Instant::now();
        let script = work();
        let made = begun.elapsed();
        let begun = Instant::now();
        wires
            .node
            .run(|| {
                let mut child = std::process::Command::new("nft")
                    .args(["-f", "-"])
                    .stdin(std::process::Stdio::piped())
                    .spawn()
                    .unwrap();
                child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
                assert!(child.wait().unwrap().success());
            })
            .unwrap();
        let kib = script.len() / 1024;
        println!(
            "<!-- {what}: {made:.1?} to compute, {:.1?} in nft, {kib} KiB -->",
            begun.elapsed()
        );
    };
    let (before, after) = (services(false), services(true));
    let of = |table: &Table| rules(table, &links, "cni0");
    timed("10,000 Services anew", &|| replace(&of(&before), "cni0"));
    let old = of(&before);
    timed("one endpoint of one of them", &|| change(&old, &of(&after)));
    measure("nft: cluster address among 10,000 Services", &wires.pods[1], {
        let mut table = before.ports().to_vec();
        table.extend(everything().ports().iter().cloned());
        let script = replace(&of(&Table::new(table)), "cni0");
        wires
            .node
            .run(|| {
                let mut child = std::process::Command::new("nft")
                    .args(["-f", "-"])
                    .stdin(std::process::Stdio::piped())
                    .spawn()
                    .unwrap();
                child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
                assert!(child.wait().unwrap().success());
            })
            .unwrap();
        to("10.96.0.7:80")
    });
}
