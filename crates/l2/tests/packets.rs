//! Frames byte by byte, both ways, and whatever else may come in.

#![allow(clippy::unwrap_used)] // all of this is test code

use std::net::Ipv6Addr;

use landbridge_l2::packet::Mac;
use landbridge_l2::packet::arp::{Arp, Operation};
use landbridge_l2::packet::ndp::{Advertisement, Solicitation, group_mac, solicited_node};
use proptest::prelude::*;

const OWN: Mac = Mac([2, 0, 0, 0, 0, 0x14]);
const ASKER: Mac = Mac([2, 0, 0, 0, 0, 0x64]);

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap())
        .collect()
}

/// A request as Linux sends it, and the answer as MetalLB gives it.
#[test]
fn an_arp_request_and_its_answer() {
    let request = bytes(
        "ffffffffffff 020000000064 0806 0001 0800 06 04 0001 020000000064 ac110064 000000000000 ac110050",
    );
    let read = Arp::read(&request).unwrap();
    assert_eq!(read.operation, Operation::Request);
    assert_eq!(read.write(), request);
    let answer = bytes(
        "020000000064 020000000014 0806 0001 0800 06 04 0002 020000000014 ac110050 020000000064 ac110064",
    );
    assert_eq!(read.answer(OWN).write(), answer);
    // Padded, as a wire delivers it.
    let mut padded = request.clone();
    padded.resize(60, 0);
    assert_eq!(Arp::read(&padded), Some(read));
}

#[test]
fn both_gratuitous_forms() {
    let frames = Arp::gratuitous(OWN, "172.17.0.80".parse().unwrap()).map(|arp| arp.write());
    let form = |operation: &str| {
        bytes(&format!(
            "ffffffffffff 020000000014 0806 0001 0800 06 04 {operation} 020000000014 ac110050 ffffffffffff ac110050"
        ))
    };
    assert_eq!(frames, [form("0001"), form("0002")]);
}

#[test]
fn what_is_not_arp_for_ipv4_on_ethernet_is_nothing() {
    let good = bytes(
        "ffffffffffff 020000000064 0806 0001 0800 06 04 0001 020000000064 ac110064 000000000000 ac110050",
    );
    for (at, wrong) in [(12, 0x86), (15, 6), (16, 0x86), (18, 8), (19, 16), (21, 3)] {
        let mut frame = good.clone();
        frame[at] = wrong;
        assert_eq!(Arp::read(&frame), None, "byte {at}");
    }
    for length in 0..good.len() {
        assert_eq!(Arp::read(&good[..length]), None, "{length} bytes");
    }
}

/// A solicitation as Linux sends it; the checksum was computed by another program.
#[test]
fn a_solicitation_and_its_answer() {
    let asked = Solicitation {
        source: "fe80::64".parse().unwrap(),
        source_mac: Some(ASKER),
        target: "fd00:17::80".parse().unwrap(),
    };
    let frame = asked.write(ASKER);
    let known = bytes(
        "3333ff000080 020000000064 86dd 60000000 0020 3a ff
         fe800000000000000000000000000064 ff0200000000000000000001ff000080
         87 00 7a3e 00000000 fd000017000000000000000000000080 0101 020000000064",
    );
    assert_eq!(frame, known);
    assert_eq!(Solicitation::read(&frame), Some(asked));
    let answer = Advertisement::answer(&asked, ASKER, OWN, "fe80::14".parse().unwrap());
    let written = answer.write();
    assert_eq!(Advertisement::read(&written), Some(answer));
    let flags = written[14 + 40 + 4];
    assert_eq!(flags, 0x40, "solicited, and does not override");
    assert_eq!(written[14 + 7], 255, "never routed");
}

#[test]
fn an_unsolicited_advertisement() {
    let told = Advertisement::unsolicited(
        OWN,
        "fe80::14".parse().unwrap(),
        "fd00:17::80".parse().unwrap(),
    );
    let frame = told.write();
    assert_eq!(frame[..6], [0x33, 0x33, 0, 0, 0, 1]);
    assert_eq!(frame[14 + 40 + 4], 0x20, "overrides, and answers nobody");
    assert_eq!(Advertisement::read(&frame), Some(told));
}

#[test]
fn groups_of_addresses() {
    let ip: Ipv6Addr = "fd00:17::ab12:3456".parse().unwrap();
    let group = solicited_node(ip);
    assert_eq!(group, "ff02::1:ff12:3456".parse::<Ipv6Addr>().unwrap());
    assert_eq!(group_mac(group), Mac([0x33, 0x33, 0xff, 0x12, 0x34, 0x56]));
}

#[test]
fn a_spoiled_solicitation_is_nothing() {
    let asked = Solicitation {
        source: "fe80::64".parse().unwrap(),
        source_mac: Some(ASKER),
        target: "fd00:17::80".parse().unwrap(),
    };
    let good = asked.write(ASKER);
    // Every byte after the Ethernet addresses and outside of the flow label matters.
    for at in (12..14).chain(18..good.len()) {
        let mut frame = good.clone();
        frame[at] ^= 1;
        assert_eq!(Solicitation::read(&frame), None, "byte {at}");
    }
    for length in 0..good.len() {
        assert_eq!(Solicitation::read(&good[..length]), None, "{length} bytes");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_taken(frame in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = (Arp::read(&frame), Solicitation::read(&frame), Advertisement::read(&frame));
    }

    #[test]
    fn any_options_are_taken(options in proptest::collection::vec(any::<u8>(), 0..64)) {
        let asked = Solicitation { source: "fe80::64".parse().unwrap(), source_mac: None, target: "fd00::1".parse().unwrap() };
        let mut frame = asked.write(ASKER);
        frame.extend(&options);
        let _ = (Solicitation::read(&frame), Advertisement::read(&frame));
    }
}
