//! How long an answer and a change take, without sockets. Figures, not tests:
//! `cargo test --release -p landbridge-dns --test core -- --ignored --nocapture speed`.

use std::hint::black_box;
use std::time::Instant;

use landbridge_dns::{Catalog, Outcome, Settings, answer, hosts};

use crate::ask::{arrival, query, with_edns};
use crate::catalog::many;

const HOSTS: u32 = 100_000;

#[test]
#[ignore = "a measurement"]
fn of_an_answer() {
    let text = many(HOSTS);
    let (entries, _) = hosts::parse("hosts", &text);
    let (settings, _) = Settings::parse(
        "conf",
        "no-resolv\ndomain-needed\nbogus-priv\nlocal=/openstack.svc/\ncname=a.b,c.d\nserver=10.0.0.1\n",
    );
    let catalog = Catalog::new(settings).with_hosts("hosts", Some(entries));
    let ask = |what: &str, queries: &[Vec<u8>]| {
        let mut out = [0; 1232];
        let arrival = arrival();
        let start = Instant::now();
        let rounds = 10;
        for _ in 0..rounds {
            for message in queries {
                black_box(matches!(
                    answer(&catalog, message, &arrival, &mut out),
                    Outcome::Reply(_)
                ));
            }
        }
        let each = start.elapsed().as_nanos() / (rounds * queries.len() as u128);
        println!("{each:5} ns  {what}");
    };
    // In an order that no cache of the processor foresees.
    let order =
        (0..HOSTS).map(|n| u32::try_from(u64::from(n) * 48_271 % u64::from(HOSTS)).unwrap());
    let name = |n: u32| format!("edpm-compute-{n}.ctlplane.example.com");
    let a: Vec<_> = order.clone().map(|n| query(&name(n), 1)).collect();
    ask("A", &a);
    ask(
        "A with EDNS",
        &a.iter().map(|message| with_edns(message.clone(), 1232)).collect::<Vec<_>>(),
    );
    ask("AAAA, to be forwarded", &order.clone().map(|n| query(&name(n), 28)).collect::<Vec<_>>());
    let reverse = |n: u32| {
        let [_, b, c, d] = n.to_be_bytes();
        format!("{d}.{c}.{b}.10.in-addr.arpa")
    };
    ask("PTR", &order.clone().map(|n| query(&reverse(n), 12)).collect::<Vec<_>>());
    let absent: Vec<_> = order.map(|n| query(&format!("nova-{n}.openstack.svc"), 1)).collect();
    ask("NXDOMAIN of a local domain", &absent);
}

#[test]
#[ignore = "a measurement"]
fn of_a_change() {
    let text = many(HOSTS);
    let large = Catalog::new(Settings::default());
    for round in 0..3 {
        let start = Instant::now();
        let (entries, _) = hosts::parse("hosts", &text);
        let parsed = start.elapsed();
        let large = large.with_hosts("hosts", Some(entries));
        println!("{round}: {:?} for a file of {HOSTS} ({parsed:?} of it reading)", start.elapsed());
        let changed = text.replacen("10.0.0.7 ", "10.200.0.7 ", 1);
        let start = Instant::now();
        let (entries, _) = hosts::parse("hosts", &changed);
        let parsed = start.elapsed();
        drop(large.with_hosts("hosts", Some(entries)));
        println!("{round}: {:?} for one change in it ({parsed:?} of it reading)", start.elapsed());
        let start = Instant::now();
        let (entries, _) = hosts::parse("small", "10.200.0.1 new.example.com\n");
        let small = large.with_hosts("small", Some(entries));
        println!("{round}: {:?} for a file of one host beside it", start.elapsed());
        drop(small);
    }
}
