//! DNS: queries from anybody, and files that users write by hand.
#![no_main]

use std::net::{IpAddr, Ipv4Addr};
use std::sync::OnceLock;

use landbridge_dns::{Arrival, Catalog, Outcome, Settings, Transport, answer, hosts};
use libfuzzer_sys::fuzz_target;

fn catalog() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(|| {
        let general = include_str!("../../crates/dns/tests/beside/files/general.conf");
        let zone = include_str!("../../crates/dns/tests/beside/files/zone.conf");
        let text = [general, zone].concat().replace("@DEFAULT@", "53").replace("@DOMAIN@", "54");
        let entries = include_str!("../../crates/dns/tests/beside/files/general.hosts");
        Catalog::new(Settings::parse("conf", &text).0)
            .with_hosts("hosts", Some(hosts::parse("hosts", entries).0))
    })
}

fn ask(catalog: &Catalog, message: &[u8], authoritative: bool) {
    let mut out = [0; 4096];
    let source = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let arrival = Arrival { authoritative, ..Arrival::new(Transport::Udp, source) };
    if let Outcome::Reply(length) = answer(catalog, message, &arrival, &mut out) {
        assert!((12..=1232).contains(&length), "{length}");
        assert_eq!(out[..2], message[..2]);
        assert!(out[2] & 0x80 != 0);
    }
}

fuzz_target!(|bytes: &[u8]| {
    ask(catalog(), bytes, false);
    ask(catalog(), bytes, true);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let (settings, _) = Settings::parse("conf", text);
        let (entries, _) = hosts::parse("hosts", text);
        let own = Catalog::new(settings).with_hosts("hosts", Some(entries));
        ask(&own, b"\0\x07\x01\0\0\x01\0\0\0\0\0\0\x01a\x01b\0\0\xff\0\x01", false);
    }
});
