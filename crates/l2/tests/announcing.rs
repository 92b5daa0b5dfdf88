//! Requests answered and frames sent unasked, on a virtual clock.

#![allow(clippy::unwrap_used)] // all of this is test code

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use landbridge_l2::announcer::{Announcer, Output};
use landbridge_l2::interfaces::{Ability, Where};
use landbridge_l2::packet::Mac;
use landbridge_l2::packet::arp::{Arp, Operation};
use landbridge_l2::packet::ndp::{Advertisement, Solicitation};

const OWN: Mac = Mac([2, 0, 0, 0, 0, 0x14]);
const ASKER: Mac = Mac([2, 0, 0, 0, 0, 0x64]);
const VIP: Ipv4Addr = Ipv4Addr::new(172, 17, 0, 80);
const NOW: Duration = Duration::from_secs(100);

fn named(name: &str) -> Where {
    Where::Named(BTreeSet::from([name.to_owned()]))
}

/// Interface 2 is VLAN 20, interface 3 another one.
fn announcer() -> Announcer {
    let mut announcer = Announcer::default();
    let ability = Ability { mac: OWN, arp: true, ndp: Some("fe80::14".parse().unwrap()) };
    let of = |index: u32, name: &str| (index, (name.to_owned(), ability));
    announcer.set_interfaces(NOW, BTreeMap::from([of(2, "enp6s0.20"), of(3, "enp7s0")]));
    announcer
}

fn request(target: Ipv4Addr) -> Arp {
    Arp {
        destination: Mac::BROADCAST,
        source: ASKER,
        operation: Operation::Request,
        sender_mac: ASKER,
        sender_ip: Ipv4Addr::new(172, 17, 0, 100),
        target_mac: Mac::ZERO,
        target_ip: target,
    }
}

fn frames(outputs: &[Output]) -> Vec<(u32, &[u8])> {
    let frame = |output: &'_ Output| match output {
        Output::Frame { interface, .. } => Some(*interface),
        _ => None,
    };
    outputs
        .iter()
        .filter_map(|output| match output {
            Output::Frame { bytes, .. } => Some((frame(output)?, bytes.as_slice())),
            _ => None,
        })
        .collect()
}

#[test]
fn only_what_is_held_and_only_where() {
    let mut announcer = announcer();
    let ask = |announcer: &mut Announcer, interface: u32, arp: Arp| {
        announcer.receive(interface, &arp.write())
    };
    assert_eq!(ask(&mut announcer, 2, request(VIP)), [], "not held yet");
    announcer.hold(NOW, VIP.into(), named("enp6s0.20"));
    let answered = ask(&mut announcer, 2, request(VIP));
    assert_eq!(
        answered,
        [
            Output::Learned { interface: 2, ip: "172.17.0.100".parse().unwrap(), mac: ASKER },
            Output::Frame { interface: 2, bytes: request(VIP).answer(OWN).write() },
        ]
    );
    assert_eq!(ask(&mut announcer, 3, request(VIP)), [], "not on this interface");
    assert_eq!(ask(&mut announcer, 9, request(VIP)), [], "no such interface");
    assert_eq!(ask(&mut announcer, 2, request(Ipv4Addr::new(172, 17, 0, 81))), []);
    let to_another = Arp { destination: Mac([2, 0, 0, 0, 0, 0x15]), ..request(VIP) };
    assert_eq!(ask(&mut announcer, 2, to_another), []);
    let to_us = Arp { destination: OWN, ..request(VIP) };
    assert_eq!(ask(&mut announcer, 2, to_us).len(), 2);
    let reply = Arp { operation: Operation::Reply, ..request(VIP) };
    assert_eq!(ask(&mut announcer, 2, reply), []);
    let group = Arp { sender_mac: Mac::BROADCAST, ..request(VIP) };
    assert_eq!(ask(&mut announcer, 2, group), [], "nobody can be there");
    // Who looks for a double has no address to be learned, and is answered.
    let probe = Arp { sender_ip: Ipv4Addr::UNSPECIFIED, ..request(VIP) };
    assert_eq!(ask(&mut announcer, 2, probe).len(), 1);
    announcer.release(VIP.into());
    assert_eq!(ask(&mut announcer, 2, request(VIP)), [], "released");
    let counts = announcer.counts()[&IpAddr::V4(VIP)];
    assert_eq!((counts.requests, counts.responses), (3, 3));
}

#[test]
fn unasked_seven_rounds_in_five_seconds() {
    let mut announcer = announcer();
    let outputs = announcer.hold(NOW, VIP.into(), named("enp6s0.20"));
    let [request, reply] = Arp::gratuitous(OWN, VIP).map(|arp| arp.write());
    assert_eq!(frames(&outputs), [(2, request.as_slice()), (2, reply.as_slice())]);
    let mut rounds = vec![0];
    while let Some(at) = announcer.wake() {
        assert_eq!(announcer.tick(at.saturating_sub(Duration::from_millis(1))), [], "too early");
        assert_eq!(announcer.tick(at).len(), 2);
        rounds.push(at.saturating_sub(NOW).as_millis());
    }
    assert_eq!(rounds, [0, 100, 300, 1400, 2500, 3600, 4700]);
    assert_eq!(announcer.counts()[&IpAddr::V4(VIP)].gratuitous, 14);
    // The same again is no reason; being told to, is.
    assert_eq!(announcer.hold(NOW * 2, VIP.into(), named("enp6s0.20")), []);
    assert_eq!(announcer.wake(), None);
    assert_eq!(announcer.renew(NOW * 2, VIP.into()).len(), 2);
    assert!(announcer.wake().is_some());
    announcer.release(VIP.into());
    assert_eq!(announcer.wake(), None, "silence is silence");
    assert_eq!(announcer.renew(NOW * 3, VIP.into()), []);
}

#[test]
fn a_new_interface_hears_of_it() {
    let mut announcer = announcer();
    announcer.hold(NOW, VIP.into(), Where::All);
    let later = NOW + Duration::from_mins(1);
    while let Some(at) = announcer.wake() {
        announcer.tick(at);
    }
    let ability = Ability { mac: OWN, arp: true, ndp: None };
    let of = |index: u32, name: &str| (index, (name.to_owned(), ability));
    let outputs = announcer.set_interfaces(later, BTreeMap::from([of(7, "enp8s0")]));
    assert_eq!(frames(&outputs).len(), 2);
    assert!(frames(&outputs).iter().all(|(interface, _)| *interface == 7));
    let same = announcer.set_interfaces(later, BTreeMap::from([of(7, "enp8s0")]));
    assert_eq!(same, [], "nothing new");
}

#[test]
fn ipv6_is_asked_for_in_a_group() {
    let mut announcer = announcer();
    let vip: std::net::Ipv6Addr = "fd00:17::80".parse().unwrap();
    let outputs = announcer.hold(NOW, vip.into(), named("enp6s0.20"));
    let group = "ff02::1:ff00:80".parse().unwrap();
    assert_eq!(outputs[0], Output::Join { interface: 2, group });
    let told = Advertisement::read(frames(&outputs)[0].1).unwrap();
    assert!(told.overrides && !told.solicited);
    let asked =
        Solicitation { source: "fe80::64".parse().unwrap(), source_mac: Some(ASKER), target: vip };
    let answer = announcer.receive(2, &asked.write(ASKER));
    let told = Advertisement::read(frames(&answer)[0].1).unwrap();
    assert!(told.solicited && !told.overrides);
    assert_eq!((told.destination_mac, told.mac, told.target), (ASKER, OWN, vip));
    assert_eq!(announcer.receive(3, &asked.write(ASKER)), [], "not on this interface");
    let probe = Solicitation { source_mac: None, source: std::net::Ipv6Addr::UNSPECIFIED, ..asked };
    assert_eq!(announcer.receive(2, &probe.write(ASKER)), [], "who looks for a double");
    // Two addresses with the same last three bytes share a group.
    let twin: std::net::Ipv6Addr = "fd00:18::80".parse().unwrap();
    let joins = announcer.hold(NOW, twin.into(), named("enp6s0.20"));
    assert!(!joins.iter().any(|output| matches!(output, Output::Join { .. })));
    assert_eq!(announcer.release(vip.into()), []);
    assert_eq!(announcer.release(twin.into()), [Output::Leave { interface: 2, group }]);
}

#[test]
fn somebody_else_announces_it() {
    let mut announcer = announcer();
    announcer.hold(NOW, VIP.into(), named("enp6s0.20"));
    let other = Mac([2, 0, 0, 0, 0, 0x15]);
    for arp in Arp::gratuitous(other, VIP) {
        let expected = [Output::Foreign { ip: VIP.into(), mac: other }];
        assert_eq!(announcer.receive(2, &arp.write()), expected);
    }
    for arp in Arp::gratuitous(OWN, VIP) {
        assert_eq!(announcer.receive(3, &arp.write()), [], "our own, by another interface");
    }
    announcer.release(VIP.into());
    for arp in Arp::gratuitous(other, VIP) {
        assert_eq!(announcer.receive(2, &arp.write()), []);
    }
}
