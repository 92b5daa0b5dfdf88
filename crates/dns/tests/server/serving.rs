//! What ordinary clients see.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use crate::lab::{A, AAAA, Client, Lab, PTR, Upstream, ask_by_tcp, connect, query};

const HOSTS: &str =
    "192.0.2.1 one.example.com one\n192.0.2.2 two.example.com\n2001:db8::1 one.example.com\n";

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn names_of_hosts_files_are_answered_by_both_transports() {
    let lab = Lab::start(&[("hosts/data", HOSTS)], &[]);
    let mut stream = connect(lab.address);
    for (name, qtype, addresses) in [
        ("one.example.com", A, vec!["192.0.2.1"]),
        ("ONE.Example.COM", A, vec!["192.0.2.1"]),
        ("one.example.com", AAAA, vec!["2001:db8::1"]),
        ("two.example.com", A, vec!["192.0.2.2"]),
    ] {
        let by_udp = lab.ask(name, qtype);
        assert_eq!((by_udp.rcode, by_udp.addresses.clone()), (0, strings(&addresses)), "{name}");
        let by_tcp = ask_by_tcp(&mut stream, name, qtype).unwrap();
        assert_eq!(by_tcp.addresses, by_udp.addresses);
    }
    assert_eq!(lab.ask("1.2.0.192.in-addr.arpa", PTR).rcode, 0);
    // Nobody to ask: dnsmasq refuses, and so do we.
    assert_eq!(lab.ask("other.example.org", A).rcode, 5);
    assert!(lab.metric("local_replies_total") >= 9);
}

#[test]
fn a_wildcard_answers_from_the_address_that_was_asked() {
    let lab = Lab::start(&[("hosts/data", HOSTS)], &["--wildcard"]);
    for address in ["127.0.0.1", "127.0.0.99"] {
        let server = SocketAddr::new(address.parse().unwrap(), lab.address.port());
        // Connected: an answer from another address would not be seen.
        let reply = Client::new(server).ask("one.example.com", A).expect(address);
        assert_eq!(reply.addresses, ["192.0.2.1"]);
        let mut stream = connect(server);
        assert_eq!(ask_by_tcp(&mut stream, "one.example.com", A).unwrap().addresses, ["192.0.2.1"]);
    }
}

#[test]
fn only_named_addresses_are_served() {
    let words = ["--listen-address=127.0.0.5"];
    let lab = Lab::start(&[("hosts/data", HOSTS)], &words);
    let at = |address: &str| SocketAddr::new(address.parse().unwrap(), lab.address.port());
    assert_eq!(Client::new(at("127.0.0.5")).ask("one.example.com", A).unwrap().rcode, 0);
    // Bound to the wildcard, it takes the datagram and drops it.
    let other = Client::new(at("127.0.0.6"));
    other.socket.set_read_timeout(Some(std::time::Duration::from_millis(300))).unwrap();
    assert_eq!(other.ask("one.example.com", A), None);
    let mut stream = connect(at("127.0.0.6"));
    assert_eq!(ask_by_tcp(&mut stream, "one.example.com", A), None);
    assert!(lab.metric("dropped_total") >= 1);
}

#[test]
fn the_second_server_at_an_address_is_told_so() {
    let lab = Lab::start(&[], &[]);
    let words = lab.words(&[]);
    let parsed = landbridge_dns::command::parse(words.iter().map(String::as_str)).unwrap();
    let landbridge_dns::command::Command::Serve(config) = parsed else { panic!() };
    let Err(error) = landbridge_dns::server::Ready::new(config) else { panic!("it bound, too") };
    let text = error.to_string();
    assert!(text.contains(&lab.address.to_string()) && text.contains("another server"), "{text}");
}

#[test]
fn a_wrong_word_on_the_command_line_is_not_passed_over() {
    let parsed = landbridge_dns::command::parse(["--no-hosts", "--worker=2"]).unwrap();
    let landbridge_dns::command::Command::Serve(config) = parsed else { panic!() };
    let Err(error) = landbridge_dns::server::Ready::new(config) else { panic!("it would serve") };
    assert!(error.to_string().contains("--worker=2"), "{error}");
}

#[test]
fn recursion_only_for_those_who_may() {
    let upstream = Upstream::honest([198, 51, 100, 1]);
    let option = upstream.option();
    let lab =
        Lab::start(&[("hosts/data", HOSTS)], &[&option, "--recursion-for=192.0.2.0/24,::1/128"]);
    assert_eq!(lab.ask("one.example.com", A).rcode, 0, "what is known here is for everybody");
    assert_eq!(lab.ask("www.example.org", A).rcode, 5);
    assert_eq!(upstream.asked(), 0);
    assert_eq!(lab.metric("refused_total"), 1);

    let lab = Lab::start(&[], &[&option, "--recursion-for=127.0.0.0/8"]);
    assert_eq!(lab.ask("www.example.org", A).addresses, ["198.51.100.1"]);
}

#[test]
fn what_others_said_is_kept() {
    let upstream = Upstream::honest([198, 51, 100, 1]);
    let lab = Lab::start(&[], &[&upstream.option()]);
    for _ in 0..5 {
        assert_eq!(lab.ask("www.example.org", A).addresses, ["198.51.100.1"]);
    }
    let mut stream = connect(lab.address);
    assert_eq!(ask_by_tcp(&mut stream, "WWW.example.org", A).unwrap().addresses, ["198.51.100.1"]);
    assert_eq!(upstream.asked(), 1);
    assert_eq!(lab.metric("cached_replies_total"), 5);
    lab.server.as_ref().unwrap().reload();
    assert_eq!(lab.ask("www.example.org", A).addresses, ["198.51.100.1"]);
    assert_eq!(upstream.asked(), 2, "SIGHUP forgets");
}

#[test]
fn metrics_and_health_have_a_page() {
    let lab = Lab::start(&[("hosts/data", HOSTS)], &["--metrics=127.0.0.1:0"]);
    lab.ask("one.example.com", A);
    let pages = lab.server.as_ref().unwrap().pages().unwrap();
    let get = |path: &str| {
        let mut stream = TcpStream::connect(pages).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    assert!(get("/healthz").starts_with("HTTP/1.1 200"));
    assert!(get("/metrics").contains("\nlandbridge_dns_udp_queries_total 1\n"));
    assert!(get("/other").starts_with("HTTP/1.1 404"));
}

#[test]
fn a_server_that_is_dropped_leaves_its_port() {
    let lab = Lab::start(&[], &[]);
    let address = lab.address;
    drop(lab);
    std::net::UdpSocket::bind(address).expect("free again");
}

#[test]
fn every_worker_answers() {
    let lab = Lab::start(&[("hosts/data", HOSTS)], &[]);
    // The kernel divides by source port.
    for _ in 0..64 {
        assert_eq!(lab.ask("one", A).addresses, ["192.0.2.1"]);
    }
    let client = lab.client();
    for id in 0..200 {
        client.socket.send(&query(id, "two.example.com", A)).unwrap();
    }
    let mut seen = std::collections::BTreeSet::new();
    let mut buffer = [0; 512];
    for _ in 0..200 {
        let length = client.socket.recv(&mut buffer).unwrap();
        seen.insert(crate::lab::read_reply(&buffer[..length]).id);
    }
    assert_eq!(seen.len(), 200);
}

/// What docs/dns.md shows.
#[test]
fn the_example_works() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/dns");
    let port = crate::lab::free_port();
    let words = [
        format!("--conf-file={example}/dnsmasq.conf"),
        format!("--hostsdir={example}/hosts"),
        format!("--port={port}"),
    ];
    let parsed = landbridge_dns::command::parse(words.iter().map(String::as_str)).unwrap();
    let landbridge_dns::command::Command::Serve(config) = parsed else { panic!() };
    let (ready, warnings) = landbridge_dns::server::Ready::new(config).unwrap();
    assert_eq!(warnings, []);
    let _server = ready.start().unwrap();
    let client = Client::new(([127, 0, 0, 1], port).into());
    for (name, qtype, addresses) in [
        ("glance-internal.openstack.svc", A, &["172.17.0.80"][..]),
        ("anything.apps.example.com", A, &["192.0.2.80"]),
        ("api.example.com", A, &["192.168.122.100"]),
        ("registry.example.com", AAAA, &["2001:db8::53"]),
        ("dyn-192-0-2-200.dhcp.example.com", A, &["192.0.2.200"]),
        ("none.openstack.svc", A, &[]),
    ] {
        assert_eq!(client.ask(name, qtype).unwrap().addresses, addresses, "{name}");
    }
    assert_eq!(client.ask("none.openstack.svc", A).unwrap().rcode, 3);
}
