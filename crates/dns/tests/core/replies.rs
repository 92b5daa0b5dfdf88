//! What the comparison with dnsmasq does not show: sizes, malformed messages, TCP, subnets.

use hickory_proto::op::Message;
use landbridge_dns::{Arrival, Outcome, Transport, answer};

use crate::ask::{answers, arrival, ask, catalog, query, with_edns};

#[test]
fn replies_fit_what_the_client_takes() {
    let hosts: String = (0..200).map(|n| format!("10.0.0.{n} many.example.com\n")).collect();
    let catalog = catalog("", &hosts);
    let plain = query("many.example.com", 1);
    for (message, transport, limit, complete) in [
        (plain.clone(), Transport::Udp, 512, false),
        (with_edns(plain.clone(), 100), Transport::Udp, 512, false),
        (with_edns(plain.clone(), 1000), Transport::Udp, 1000, false),
        // No more than edns-packet-max, whatever the client says.
        (with_edns(plain.clone(), 4096), Transport::Udp, 1232, false),
        (plain.clone(), Transport::Tcp, 65_535, true),
    ] {
        let mut out = vec![0; 65_535];
        let arrival = Arrival { transport, ..arrival() };
        let Outcome::Reply(length) = answer(&catalog, &message, &arrival, &mut out) else {
            panic!("no reply");
        };
        assert!(length <= limit, "{length} > {limit}");
        let reply = Message::from_vec(&out[..length]).unwrap();
        assert_eq!(reply.truncated(), !complete);
        assert_eq!(reply.answers().len() == 200, complete);
        // As much as fits is there.
        assert!(complete || length + 16 > limit - 11, "{length} of {limit}");
    }
}

#[test]
fn a_buffer_that_is_too_small_is_no_panic() {
    let catalog = catalog("", "10.0.0.1 a.b\n");
    for size in 0..40 {
        let mut out = vec![0; size];
        let outcome = answer(&catalog, &query("a.b", 1), &arrival(), &mut out);
        assert!(!matches!(outcome, Outcome::Reply(length) if length > size));
    }
}

#[test]
fn malformed_messages() {
    let catalog = catalog("", "10.0.0.1 a.b\n");
    let code = |message: &[u8]| {
        let mut out = [0; 512];
        match answer(&catalog, message, &arrival(), &mut out) {
            Outcome::Reply(length) => Some((length, out[3] & 15)),
            _ => None,
        }
    };
    let good = query("a.b", 1);
    assert_eq!(code(&good).map(|(_, code)| code), Some(0));
    for length in 0..12 {
        assert_eq!(code(&good[..length]), None, "{length} bytes are no header");
    }
    for length in 12..good.len() {
        assert_eq!(code(&good[..length]), Some((12, 1)), "cut at {length}");
    }
    let changed = |at: usize, to: u8| {
        let mut message = good.clone();
        message[at] = to;
        message
    };
    assert_eq!(code(&changed(2, 0x81)), None, "a response gets no response");
    assert_eq!(code(&changed(5, 0)), Some((12, 1)), "no question");
    assert_eq!(code(&changed(5, 2)), Some((12, 1)), "two questions");
    assert_eq!(code(&changed(11, 1)), Some((12, 1)), "a record that is not there");
    assert_eq!(code(&changed(12, 0xc0)), Some((12, 1)), "a pointer in the question");
    assert_eq!(code(&changed(12, 64)), Some((12, 1)), "a label of 64");
}

#[test]
fn names_of_other_letters_are_answered_as_they_were_asked() {
    let catalog = catalog("", "10.0.0.1 Mixed.Example.com\n");
    let reply = ask(&catalog, &query("mIXed.eXAMPLE.com", 1), &arrival()).unwrap();
    assert_eq!(reply.answers()[0].name().to_utf8(), "mIXed.eXAMPLE.com.");
    assert_eq!(answers(&catalog, "1.0.0.10.in-addr.arpa", 12), "PTR mixed.example.com.");
}

#[test]
fn addresses_of_the_own_network_first() {
    let text = "10.1.0.5 server.x\n10.2.0.5 server.x\nfd00::5 server.x\n";
    let catalog = catalog("localise-queries\n", text);
    let from = |local: &str| {
        let arrival = Arrival { local: Some(local.parse().unwrap()), ..arrival() };
        let reply = ask(&catalog, &query("server.x", 1), &arrival).unwrap();
        let mut data: Vec<String> =
            reply.answers().iter().map(|record| record.data().to_string()).collect();
        data.sort();
        data.join(" ")
    };
    assert_eq!(from("10.1.0.1/24"), "10.1.0.5");
    assert_eq!(from("10.2.0.1/24"), "10.2.0.5");
    assert_eq!(from("10.3.0.1/24"), "10.1.0.5 10.2.0.5");
    assert_eq!(answers(&catalog, "server.x", 28), "AAAA fd00::5");
}

#[test]
fn clients_get_the_addresses_in_turn() {
    let catalog = catalog("", "10.0.0.1 a.b\n10.0.0.2 a.b\n10.0.0.3 a.b\n");
    let mut first = std::collections::BTreeSet::new();
    for id in 0..6 {
        let mut message = query("a.b", 1);
        message[1] = id;
        let reply = ask(&catalog, &message, &arrival()).unwrap();
        first.insert(reply.answers()[0].data().to_string());
    }
    assert_eq!(first.len(), 3);
}

#[test]
fn rebinding_is_allowed_where_it_is_said() {
    let catalog = catalog("server=10.0.0.53\nstop-dns-rebind\nrebind-domain-ok=/ok.example/\n", "");
    let private = |name: &str| {
        let mut out = [0; 512];
        match answer(&catalog, &query(name, 1), &arrival(), &mut out) {
            Outcome::Forward(forward) => forward.private_answers,
            other => panic!("{other:?}"),
        }
    };
    assert!(private("ok.example"));
    assert!(private("a.OK.example"));
    assert!(!private("notok.example"));
    assert!(!private("example"));
}
