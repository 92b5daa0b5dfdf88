//! Whatever comes in: no panic, and every reply can be read.

use hickory_proto::op::Message;
use landbridge_dns::{Arrival, Catalog, Outcome, Settings, Transport, answer, hosts};
use proptest::prelude::*;

use crate::ask::{arrival, query, with_edns};

fn catalog() -> Catalog {
    let text = include_str!("../beside/files/general.conf")
        .replace("@DEFAULT@", "53")
        .replace("@DOMAIN@", "54");
    let zone = include_str!("../beside/files/zone.conf")
        .replace("@DEFAULT@", "55")
        .replace("@DOMAIN@", "56");
    let (settings, warnings) = Settings::parse("conf", &(text + &zone));
    assert_eq!(warnings, []);
    let (entries, _) = hosts::parse("hosts", include_str!("../beside/files/general.hosts"));
    let (more, _) = hosts::parse("more", include_str!("../beside/files/zone.hosts"));
    Catalog::new(settings).with_hosts("hosts", Some(entries)).with_hosts("more", Some(more))
}

/// Asks, and reads the reply with somebody else's code.
fn reply(catalog: &Catalog, message: &[u8], arrival: &Arrival) {
    let mut out = vec![0; 65_535];
    let Outcome::Reply(length) = answer(catalog, message, arrival, &mut out) else { return };
    let reply = &out[..length];
    let limit = if arrival.transport == Transport::Udp { 1232 } else { 65_535 };
    assert!(length <= limit, "{length} bytes for {message:02x?}");
    assert_eq!(reply[..2], message[..2], "another id");
    assert_eq!(reply[2] & 0x80, 0x80, "no response");
    let read = Message::from_vec(reply);
    assert!(read.is_ok(), "{read:?}: {reply:02x?} to {message:02x?}");
    let read = read.unwrap();
    // A reply of more than the header repeats the question.
    if length > 12 {
        let end = 12 + question_length(message);
        assert_eq!(reply[12..end], message[12..end]);
    }
    let counted = read.answers().len() + read.name_servers().len();
    assert_eq!(
        counted,
        usize::from(reply[7]) + usize::from(reply[9]) + 256 * usize::from(reply[6])
    );
}

fn question_length(message: &[u8]) -> usize {
    let mut at = 12;
    while message[at] != 0 {
        at += usize::from(message[at]) + 1;
    }
    at + 5 - 12
}

fn names() -> Vec<&'static str> {
    vec![
        "host1.example.com",
        "long.example.com",
        "_sip._tcp.example.com",
        "txt.example.com",
        "naptr.example.com",
        "rr.example.com",
        "zone.test",
        "al2.zone.test",
        "x.star.zone.test",
        "ip-10-5-0-7.synth.example.com",
        "1.0.0.10.in-addr.arpa",
        "1.0.20.10.in-addr.arpa",
        "x.addr.example.com",
        "nothing.local.example.com",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300), tcp: bool, authoritative: bool) {
        let transport = if tcp { Transport::Tcp } else { Transport::Udp };
        reply(&catalog(), &bytes, &Arrival { transport, authoritative, ..arrival() });
    }

    /// Good queries with some bytes changed, cut or added: nearer to the truth than any bytes.
    #[test]
    fn nearly_queries(
        name in prop::sample::select(names()),
        qtype in prop_oneof![Just(1u16), Just(28), Just(12), Just(255), Just(33), Just(6), any::<u16>()],
        edns in prop::option::of(any::<u16>()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
        more in prop::collection::vec(any::<u8>(), 0..8),
        authoritative: bool,
    ) {
        let mut message = query(name, qtype);
        if let Some(size) = edns {
            message = with_edns(message, size);
        }
        for (at, byte) in changes {
            let at = at.index(message.len());
            message[at] = byte;
        }
        if let Some(cut) = cut {
            message.truncate(cut.index(message.len()));
        }
        message.extend(more);
        reply(&catalog(), &message, &Arrival { authoritative, ..arrival() });
    }

    #[test]
    fn any_configuration(text in "[a-z=/#*@,.:0-9\" \\\\\n-]{0,200}") {
        let (settings, warnings) = Settings::parse("conf", &text);
        for warning in warnings {
            prop_assert!(!warning.why.is_empty() && !warning.help.is_empty());
        }
        reply(&Catalog::new(settings), &query("a.b", 1), &arrival());
    }

    /// Real options with values that are nearly right.
    #[test]
    fn nearly_options(
        key in prop::sample::select(vec![
            "server", "rev-server", "srv-host", "txt-record", "ptr-record", "rebind-domain-ok", "naptr-record",
            "cname", "host-record", "caa-record", "dns-rr", "auth-zone", "synth-domain", "local", "local-ttl",
            "dhcp-ttl", "max-ttl", "address", "domain", "auth-server", "auth-soa", "mx-host",
        ]),
        fields in prop::collection::vec(
            prop_oneof![
                Just("a.b".to_owned()), Just("10.0.0.0/24".to_owned()), Just("10.0.0.1".to_owned()),
                Just("fd00::1".to_owned()), Just("/a.b/".to_owned()), Just("#".to_owned()), Just("*".to_owned()),
                Just(String::new()), Just("fd00::/56".to_owned()), Just("99999999999".to_owned()),
                Just("exclude:10.0.0.0/8".to_owned()), "[a-z0-9.:/#@*-]{0,12}", "\\PC{0,6}",
            ],
            0..7,
        ),
        name in "[a-z0-9-]{1,8}\\.a\\.b",
        qtype in prop_oneof![Just(1u16), Just(28), Just(12), Just(255), Just(33)],
    ) {
        let text = format!("{key}={}\n", fields.join(","));
        let (settings, _) = Settings::parse("conf", &text);
        let catalog = Catalog::new(settings);
        for name in [name.as_str(), "a.b", "1.0.0.10.in-addr.arpa"] {
            for authoritative in [false, true] {
                // What dns-rr says is up to who wrote it: hickory may find no sense in it.
                if key != "dns-rr" {
                    reply(&catalog, &query(name, qtype), &Arrival { authoritative, ..arrival() });
                }
            }
        }
    }

    #[test]
    fn any_hosts(text in "[a-zA-Z0-9.: \t#*!äß_\n-]{0,300}") {
        let (entries, _) = hosts::parse("hosts", &text);
        let names: Vec<String> = entries
            .iter()
            .map(|host| landbridge_dns::wire::Name::from_wire(host.name).unwrap().to_string())
            .collect();
        let catalog = Catalog::new(Settings::default()).with_hosts("hosts", Some(entries));
        for name in names.iter().filter(|name| !name.contains('\\')) {
            reply(&catalog, &query(name, 255), &arrival());
        }
    }
}
