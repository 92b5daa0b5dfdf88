//! A thousand addresses on one node: said at once, answered at once. The figures are printed, not
//! judged, but for a bound that only a mistake passes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use landbridge_l2::packet::Mac;
use landbridge_l2::packet::arp::{Arp, Operation};

use crate::scene::{Scene, on};

const MANY: u32 = 1000;

fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(172, 28, 0, 0)) + number)
}

/// Processor time of this process so far, in the kernel's hundredths of a second.
fn processor() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_addresses() {
    let Some(mut scene) = Scene::new(1) else { return };
    let units: BTreeMap<IpAddr, _> = (0..MANY)
        .map(|number| {
            let text = address(number).to_string();
            (IpAddr::V4(address(number)), scene.unit(&[(&text, on(0))]))
        })
        .collect();
    let (began, spent) = (Instant::now(), processor());
    scene.plan(&units);
    let mut said = BTreeSet::new();
    while said.len() < MANY as usize {
        let frame = tokio::time::timeout(Duration::from_secs(20), scene.heard.recv()).await;
        let (_, frame) = frame.expect("all are said").unwrap();
        said.extend(
            Arp::read(&frame).filter(|arp| arp.sender_ip == arp.target_ip).map(|arp| arp.sender_ip),
        );
    }
    let all_said = began.elapsed();
    let own = scene.client_mac(0);
    let began = Instant::now();
    let mut answered = BTreeSet::new();
    for number in 0..MANY {
        let request = Arp {
            destination: Mac::BROADCAST,
            source: own,
            operation: Operation::Request,
            sender_mac: own,
            sender_ip: Ipv4Addr::new(172, 28, 255, 1),
            target_mac: Mac::ZERO,
            target_ip: address(number),
        };
        scene.send(0, true, &request.write());
        // As fast as a client can, and no faster than its queue.
        if number % 64 == 63 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    let deadline = Instant::now() + Duration::from_secs(10);
    while answered.len() < MANY as usize && Instant::now() < deadline {
        let Ok(Some((_, frame))) =
            tokio::time::timeout(Duration::from_secs(1), scene.heard.recv()).await
        else {
            break;
        };
        let reply = Arp::read(&frame)
            .filter(|arp| arp.operation == Operation::Reply && arp.destination == own);
        answered.extend(reply.map(|arp| arp.sender_ip));
    }
    let all_answered = began.elapsed();
    let spent = processor().saturating_sub(spent);
    println!(
        "{MANY} addresses: announced in {all_said:?}, answered in {all_answered:?}, {spent:?} of a processor with the client"
    );
    assert_eq!(answered.len(), MANY as usize);
    assert!(all_said < Duration::from_secs(10), "{all_said:?}");
}
