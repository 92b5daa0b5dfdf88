//! Objects in, questions in, answers out; read by another implementation of DNS.

use hickory_proto::op::{Edns, Message, MessageType, Query, ResponseCode};
use hickory_proto::rr::{Name, RecordType};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::runtime::watcher::Event;
use landbridge_dns::Transport;
use serde_json::{Value, json};

use super::answer::{Outcome, answer};
use super::book::Book;
use super::zone::Zone;

fn service(name: &str, spec: &Value) -> Service {
    let object = json!({"metadata": {"namespace": "openstack", "name": name}, "spec": spec});
    serde_json::from_value(object).unwrap()
}

fn slice(name: &str, of: &str, spec: &Value) -> EndpointSlice {
    let mut object = spec.clone();
    object["metadata"] = json!({"namespace": "openstack", "name": name,
        "labels": {"kubernetes.io/service-name": of}});
    serde_json::from_value(object).unwrap()
}

fn put(zone: &mut Zone, name: &str, spec: &Value) {
    zone.set_service("openstack", name, Some(&service(name, spec)));
}

fn put_slice(zone: &mut Zone, name: &str, of: &str, spec: &Value) {
    zone.set_slice("openstack", name, Some(&slice(name, of, spec)));
}

/// A cluster with a Service of each kind.
fn zone() -> Zone {
    let mut zone = Zone::new("cluster.local", vec!["10.96.0.10".parse().unwrap()]);
    zone.set_namespace("openstack", true);
    zone.set_namespace("empty", true);
    put(
        &mut zone,
        "glance",
        &json!({"clusterIP": "10.96.1.1", "clusterIPs": ["10.96.1.1", "fd00:96::1"],
        "ports": [{"name": "api", "port": 9292}, {"name": "dns", "port": 53, "protocol": "UDP"}]}),
    );
    put_slice(
        &mut zone,
        "glance-x",
        "glance",
        &json!({"addressType": "IPv4", "ports": [{"name": "api", "port": 9393}],
        "endpoints": [{"addresses": ["10.244.0.9"]}]}),
    );
    put(
        &mut zone,
        "rabbit",
        &json!({"clusterIP": "None", "ports": [{"name": "amqp", "port": 5672}]}),
    );
    put_slice(
        &mut zone,
        "rabbit-4",
        "rabbit",
        &json!({"addressType": "IPv4", "ports": [{"name": "amqp", "port": 5673, "protocol": "TCP"}],
        "endpoints": [
            {"addresses": ["10.244.0.5"], "hostname": "rabbit-0", "conditions": {"ready": true}},
            {"addresses": ["10.244.1.5"], "hostname": "rabbit-1", "conditions": {"ready": false}},
            {"addresses": ["10.244.1.6"]}]}),
    );
    put_slice(
        &mut zone,
        "rabbit-6",
        "rabbit",
        &json!({"addressType": "IPv6", "ports": [{"name": "amqp", "port": 5673}],
        "endpoints": [{"addresses": ["fd00:244::5"], "hostname": "rabbit-0"}]}),
    );
    put(&mut zone, "galera", &json!({"clusterIP": "None", "publishNotReadyAddresses": true}));
    put_slice(
        &mut zone,
        "galera-4",
        "galera",
        &json!({"addressType": "IPv4", "endpoints": [
        {"addresses": ["10.244.2.1"], "hostname": "galera-0", "conditions": {"ready": false}}]}),
    );
    put(&mut zone, "lonely", &json!({"clusterIP": "None"}));
    put(&mut zone, "out", &json!({"type": "ExternalName", "externalName": "www.Example.com"}));
    put(
        &mut zone,
        "near",
        &json!({"type": "ExternalName", "externalName": "glance.openstack.svc.cluster.local"}),
    );
    put(
        &mut zone,
        "loop",
        &json!({"type": "ExternalName", "externalName": "loop.openstack.svc.cluster.local"}),
    );
    put(
        &mut zone,
        "nowhere",
        &json!({"type": "ExternalName", "externalName": "gone.openstack.svc.cluster.local"}),
    );
    zone
}

fn question(name: &str, kind: RecordType, id: u16) -> Message {
    let mut message = Message::new();
    message.set_id(id).set_recursion_desired(true);
    message.add_query(Query::query(Name::from_ascii(name).unwrap(), kind));
    message
}

fn ask_with(zone: &Zone, message: &Message, transport: Transport) -> (Outcome, Message) {
    let mut out = vec![0; 65_535];
    let outcome = answer(zone, &message.to_vec().unwrap(), transport, &mut out);
    let (Outcome::Reply(length) | Outcome::Outside(length) | Outcome::Alias(length, _)) = outcome
    else {
        panic!("dropped")
    };
    let reply = Message::from_vec(&out[..length]).unwrap();
    assert_eq!(reply.id(), message.id());
    assert_eq!(reply.message_type(), MessageType::Response);
    assert_eq!(reply.queries(), message.queries());
    (outcome, reply)
}

/// The code, and the answers as `TYPE data`, sorted.
fn ask(zone: &Zone, name: &str, kind: RecordType) -> String {
    let (_, reply) = ask_with(zone, &question(name, kind, 0), Transport::Udp);
    let mut texts: Vec<String> = reply
        .answers()
        .iter()
        .map(|record| format!("{} {}", record.record_type(), record.data()))
        .collect();
    texts.sort();
    if texts.is_empty() {
        let soa = reply.name_servers().first().map_or("", |_| " soa");
        return format!("{}{soa}", reply.response_code());
    }
    texts.join("; ")
}

#[test]
fn names_mean_what_the_specification_says() {
    use RecordType::{A, AAAA, CNAME, NS, PTR, SOA, SRV, TXT};
    let zone = zone();
    let none = format!("{} soa", ResponseCode::NXDomain);
    let empty = format!("{} soa", ResponseCode::NoError);
    let refused = ResponseCode::Refused.to_string();
    let denied = ResponseCode::NXDomain.to_string();
    for (name, kind, expected) in [
        ("glance.openstack.svc.cluster.local.", A, "A 10.96.1.1"),
        ("GLANCE.OpenStack.svc.Cluster.local.", A, "A 10.96.1.1"),
        ("glance.openstack.svc.cluster.local.", AAAA, "AAAA fd00:96::1"),
        ("glance.openstack.svc.cluster.local.", TXT, &empty),
        (
            "_api._tcp.glance.openstack.svc.cluster.local.",
            SRV,
            "SRV 0 100 9292 glance.openstack.svc.cluster.local.",
        ),
        (
            "_dns._udp.glance.openstack.svc.cluster.local.",
            SRV,
            "SRV 0 100 53 glance.openstack.svc.cluster.local.",
        ),
        ("_dns._tcp.glance.openstack.svc.cluster.local.", SRV, &none),
        ("_api._tcp.glance.openstack.svc.cluster.local.", A, &empty),
        ("_tcp.glance.openstack.svc.cluster.local.", A, &empty),
        ("_sctp.glance.openstack.svc.cluster.local.", A, &none),
        ("api._tcp.glance.openstack.svc.cluster.local.", SRV, &none),
        ("rabbit.openstack.svc.cluster.local.", A, "A 10.244.0.5; A 10.244.1.6"),
        ("rabbit.openstack.svc.cluster.local.", AAAA, "AAAA fd00:244::5"),
        ("rabbit-0.rabbit.openstack.svc.cluster.local.", A, "A 10.244.0.5"),
        ("rabbit-0.rabbit.openstack.svc.cluster.local.", AAAA, "AAAA fd00:244::5"),
        ("rabbit-1.rabbit.openstack.svc.cluster.local.", A, &none),
        ("10-244-1-6.rabbit.openstack.svc.cluster.local.", A, "A 10.244.1.6"),
        (
            "_amqp._tcp.rabbit.openstack.svc.cluster.local.",
            SRV,
            "SRV 0 33 5673 10-244-1-6.rabbit.openstack.svc.cluster.local.; SRV 0 33 5673 rabbit-0.rabbit.openstack.svc.cluster.local.; SRV 0 33 5673 rabbit-0.rabbit.openstack.svc.cluster.local.",
        ),
        ("galera-0.galera.openstack.svc.cluster.local.", A, "A 10.244.2.1"),
        ("galera.openstack.svc.cluster.local.", A, "A 10.244.2.1"),
        ("lonely.openstack.svc.cluster.local.", A, &none),
        ("out.openstack.svc.cluster.local.", A, "CNAME www.Example.com."),
        ("out.openstack.svc.cluster.local.", CNAME, "CNAME www.Example.com."),
        (
            "near.openstack.svc.cluster.local.",
            A,
            "A 10.96.1.1; CNAME glance.openstack.svc.cluster.local.",
        ),
        ("nowhere.openstack.svc.cluster.local.", A, "CNAME gone.openstack.svc.cluster.local."),
        ("x.out.openstack.svc.cluster.local.", A, &none),
        ("glance.other.svc.cluster.local.", A, &none),
        ("gone.openstack.svc.cluster.local.", A, &none),
        ("openstack.svc.cluster.local.", A, &empty),
        ("empty.svc.cluster.local.", A, &empty),
        ("other.svc.cluster.local.", A, &none),
        ("svc.cluster.local.", A, &empty),
        ("10-244-0-5.openstack.pod.cluster.local.", A, "A 10.244.0.5"),
        ("10-244-0-5.openstack.pod.cluster.local.", AAAA, &empty),
        ("fd00-244--5.openstack.pod.cluster.local.", AAAA, "AAAA fd00:244::5"),
        ("10-244-0.openstack.pod.cluster.local.", A, &none),
        ("10-244-0-5.other.pod.cluster.local.", A, &none),
        ("dns-version.cluster.local.", TXT, "TXT 1.1.0"),
        ("cluster.local.", NS, "NS ns.dns.cluster.local."),
        ("ns.dns.cluster.local.", A, "A 10.96.0.10"),
        ("1.1.96.10.in-addr.arpa.", PTR, "PTR glance.openstack.svc.cluster.local."),
        ("5.0.244.10.in-addr.arpa.", PTR, "PTR rabbit-0.rabbit.openstack.svc.cluster.local."),
        ("5.1.244.10.in-addr.arpa.", PTR, &denied),
        ("9.0.244.10.in-addr.arpa.", PTR, &denied),
        ("8.8.8.8.in-addr.arpa.", PTR, &refused),
        ("www.example.com.", A, &refused),
        ("plain.", A, &denied),
        ("xcluster.local.", A, &refused),
    ] {
        assert_eq!(ask(&zone, name, kind), expected, "{name} {kind}");
    }
    assert!(ask(&zone, "cluster.local.", SOA).starts_with("SOA ns.dns.cluster.local. hostmaster."));
    let chain = ask(&zone, "loop.openstack.svc.cluster.local.", A);
    assert!(chain.starts_with("CNAME "), "it ends: {chain}");
}

#[test]
fn what_is_outside_is_told_apart() {
    let zone = zone();
    let outcome = |name| ask_with(&zone, &question(name, RecordType::A, 1), Transport::Udp).0;
    assert!(matches!(outcome("www.example.com."), Outcome::Outside(_)));
    assert!(
        matches!(outcome("gone.openstack.svc.cluster.local."), Outcome::Reply(_)),
        "asked nowhere"
    );
    let Outcome::Alias(_, name) = outcome("out.openstack.svc.cluster.local.") else { panic!() };
    assert_eq!(name.to_string(), "www.Example.com");
    let (_, reply) =
        ask_with(&zone, &question("gone.cluster.local.", RecordType::A, 1), Transport::Udp);
    assert!(reply.authoritative() && reply.recursion_available() && reply.recursion_desired());
    let (_, reply) =
        ask_with(&zone, &question("www.example.com.", RecordType::A, 1), Transport::Udp);
    assert!(!reply.authoritative());
}

#[test]
fn ports_come_with_addresses() {
    let zone = zone();
    let name = "_amqp._tcp.rabbit.openstack.svc.cluster.local.";
    let (_, reply) = ask_with(&zone, &question(name, RecordType::SRV, 0), Transport::Udp);
    let mut more: Vec<String> =
        reply.additionals().iter().map(|r| format!("{} {}", r.name(), r.data())).collect();
    more.sort();
    assert_eq!(
        more,
        [
            "10-244-1-6.rabbit.openstack.svc.cluster.local. 10.244.1.6",
            "rabbit-0.rabbit.openstack.svc.cluster.local. 10.244.0.5",
            "rabbit-0.rabbit.openstack.svc.cluster.local. fd00:244::5",
        ]
    );
}

#[test]
fn objects_come_change_and_go_in_any_order() {
    let mut zone = zone();
    let name = "late.openstack.svc.cluster.local.";
    put_slice(
        &mut zone,
        "s",
        "late",
        &json!({"addressType": "IPv4", "endpoints": [{"addresses": ["10.244.7.7"], "hostname": "h"}]}),
    );
    assert!(ask(&zone, name, RecordType::A).contains("soa"), "a slice alone is no Service");
    put(&mut zone, "late", &json!({"clusterIP": "None"}));
    assert_eq!(ask(&zone, name, RecordType::A), "A 10.244.7.7");
    let reverse = "7.7.244.10.in-addr.arpa.";
    assert_eq!(ask(&zone, reverse, RecordType::PTR), format!("PTR h.{name}"));
    // The slice becomes another Service's.
    put_slice(
        &mut zone,
        "s",
        "rabbit",
        &json!({"addressType": "IPv4", "endpoints": [{"addresses": ["10.244.7.7"], "hostname": "h"}]}),
    );
    assert!(ask(&zone, name, RecordType::A).contains("soa"));
    assert_eq!(ask(&zone, reverse, RecordType::PTR), "PTR h.rabbit.openstack.svc.cluster.local.");
    zone.set_slice("openstack", "s", None);
    assert!(!ask(&zone, reverse, RecordType::PTR).starts_with("PTR"));
    put(&mut zone, "late", &json!({"clusterIP": "10.96.9.9"}));
    assert_eq!(ask(&zone, name, RecordType::A), "A 10.96.9.9");
    zone.set_service("openstack", "late", None);
    assert!(!ask(&zone, "9.9.96.10.in-addr.arpa.", RecordType::PTR).starts_with("PTR"));
    let (services, slices) = zone.known();
    for (_, name) in services {
        zone.set_service("openstack", &name, None);
    }
    for (_, name) in slices {
        zone.set_slice("openstack", &name, None);
    }
    zone.set_namespace("openstack", false);
    assert!(ask(&zone, "openstack.svc.cluster.local.", RecordType::A).contains("soa"));
    assert_eq!(zone.known(), Default::default(), "nothing is left behind");
}

#[test]
fn long_answers_are_cut_for_datagrams_only() {
    let mut zone = zone();
    let endpoints: Vec<Value> = (0..200)
        .map(|n| json!({"addresses": [format!("10.245.0.{n}")], "hostname": format!("h{n}")}))
        .collect();
    put(&mut zone, "many", &json!({"clusterIP": "None"}));
    put_slice(&mut zone, "m", "many", &json!({"addressType": "IPv4", "endpoints": endpoints}));
    let mut message = question("many.openstack.svc.cluster.local.", RecordType::A, 7);
    let (_, short) = ask_with(&zone, &message, Transport::Udp);
    assert!(short.truncated() && short.answers().len() < 40);
    let (_, all) = ask_with(&zone, &message, Transport::Tcp);
    assert!(!all.truncated());
    assert_eq!(all.answers().len(), 200);
    assert_eq!(all.answers()[0].data().to_string(), "10.245.0.7", "begins elsewhere each time");
    let mut edns = Edns::new();
    edns.set_max_payload(4096).set_version(0);
    message.set_edns(edns);
    let (_, longer) = ask_with(&zone, &message, Transport::Udp);
    assert!(longer.truncated() && longer.answers().len() > short.answers().len());
    assert!(longer.extensions().is_some());
}

#[test]
fn no_bytes_are_too_bad() {
    use proptest::prelude::*;
    let zone = zone();
    let good =
        question("rabbit.openstack.svc.cluster.local.", RecordType::ANY, 3).to_vec().unwrap();
    proptest!(|(bytes in proptest::collection::vec(any::<u8>(), 0..80), at in 0..40usize, with in any::<u8>())| {
        let mut out = vec![0; 65_535];
        answer(&zone, &bytes, Transport::Udp, &mut out);
        let mut changed = good.clone();
        let index = at % changed.len();
        changed[index] = with;
        if let Outcome::Reply(length) | Outcome::Outside(length) =
            answer(&zone, &changed, Transport::Udp, &mut out)
        {
            prop_assert!(Message::from_vec(&out[..length]).is_ok());
        }
    });
    let mut out = vec![0; 512];
    let mut response = good.clone();
    response[2] |= 0x80;
    assert_eq!(answer(&zone, &response, Transport::Udp, &mut out), Outcome::Drop);
    assert_eq!(answer(&zone, &good[..8], Transport::Udp, &mut out), Outcome::Drop);
    let mut transfer = question("cluster.local.", RecordType::AXFR, 1);
    transfer.set_recursion_desired(false);
    let (_, reply) = ask_with(&zone, &transfer, Transport::Tcp);
    assert_eq!(reply.response_code(), ResponseCode::Refused);
}

#[test]
fn one_change_costs_what_it_is_about() {
    let mut zone = zone();
    for n in 0..10_000 {
        let (high, low) = (n / 250, n % 250);
        put(&mut zone, &format!("s{n}"), &json!({"clusterIP": format!("10.97.{high}.{low}")}));
    }
    let begin = std::time::Instant::now();
    for n in 0..1000 {
        put(&mut zone, "s77", &json!({"clusterIP": format!("10.98.0.{}", n % 250)}));
    }
    // A thousand changes that each looked at all Services would take seconds.
    assert!(begin.elapsed() < std::time::Duration::from_millis(500), "{:?}", begin.elapsed());
    assert_eq!(ask(&zone, "s77.openstack.svc.cluster.local.", RecordType::A), "A 10.98.0.249");
}

#[test]
fn a_list_that_comes_again_takes_away_only_at_its_end() {
    let book = Book::new(Zone::new("cluster.local", vec![]));
    let one = |ip: &str| service("one", &json!({"clusterIP": ip}));
    let two = service("two", &json!({"clusterIP": "10.96.0.2"}));
    let see = |name: &str| {
        let name = format!("{name}.openstack.svc.cluster.local.");
        book.read(|zone| ask(zone, &name, RecordType::A))
    };
    book.hear_service(&Event::Init);
    book.hear_service(&Event::InitApply(one("10.96.0.1")));
    book.hear_service(&Event::InitApply(two));
    book.hear_service(&Event::InitDone);
    book.hear_service(&Event::Apply(one("10.96.0.3")));
    assert_eq!(see("one"), "A 10.96.0.3");
    book.hear_service(&Event::Init);
    assert_eq!(see("two"), "A 10.96.0.2", "the API is away, or lists again");
    book.hear_service(&Event::InitApply(one("10.96.0.4")));
    assert_eq!(see("two"), "A 10.96.0.2");
    book.hear_service(&Event::InitDone);
    assert_eq!(see("one"), "A 10.96.0.4");
    assert!(see("two").contains("soa"));
}
