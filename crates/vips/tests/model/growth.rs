//! Costs: what is asked of large pools and of many users stays a lookup. Counted in operations that
//! would not end otherwise, not in time.

use std::collections::BTreeMap;
use std::net::IpAddr;

use landbridge_addr::net::Family;
use landbridge_vips::{Allocator, Asked, Config, Families, Port, Sharing, converge};
use serde_json::json;

fn asked(number: usize, key: &str, family: Family, ports: &[u16]) -> Asked {
    Asked {
        name: format!("ns/svc-{number}").into(),
        namespace: "ns".into(),
        labels: BTreeMap::new(),
        families: Ok(Families::One(family)),
        pool: None,
        addresses: Ok(Vec::new()),
        sharing: Sharing { key: key.to_owned(), backend: String::new() },
        ports: ports.iter().map(|number| Port { protocol: "TCP", number: *number }).collect(),
    }
}

fn allocator(addresses: &str) -> Allocator {
    let spec = json!({"addresses": [addresses]});
    let mut allocator = Allocator::default();
    allocator.configure(Config::read([("p", &spec)], &[]).unwrap());
    allocator
}

fn give(allocator: &mut Allocator, asked: &Asked) -> IpAddr {
    let given = converge(allocator, asked, &[]).given.expect("an address").addresses[0];
    allocator.occupy(given, &asked.name, &asked.sharing, &asked.ports);
    given
}

/// With MetalLB's walk these are half a billion steps; a walk over the group is as many.
#[test]
fn thirty_thousand_services_of_one_key_and_port_are_a_moment() {
    let mut allocator = allocator("10.0.0.0/8");
    for number in 0..30_000 {
        let address = give(&mut allocator, &asked(number, "k", Family::V4, &[80, 443]));
        assert_eq!(landbridge_addr::number::number(address), 0x0a00_0000 + number as u128);
    }
    // Somebody in the middle goes, and the next one takes just that place.
    let middle: IpAddr = "10.0.58.152".parse().unwrap();
    assert!(allocator.vacate(middle, &"ns/svc-15000".into()));
    assert_eq!(give(&mut allocator, &asked(30_001, "k", Family::V4, &[80, 443])), middle);
    assert_eq!(
        give(&mut allocator, &asked(30_002, "k", Family::V4, &[22])).to_string(),
        "10.0.0.0"
    );
}

#[test]
fn a_prefix_of_ipv6_is_never_written_out() {
    let mut allocator = allocator("fd00::/64");
    for number in 0..1000 {
        give(&mut allocator, &asked(number, "", Family::V6, &[80]));
    }
    let status = landbridge_vips::figures::status(&allocator, "p").unwrap();
    assert_eq!((status.assigned_v6, status.available_v6), (1000, i64::MAX - 1000));
}
