//! Asking a catalogue, and reading its reply with hickory.

use std::net::{IpAddr, Ipv4Addr};

use hickory_proto::op::Message;
use landbridge_dns::{Arrival, Catalog, Outcome, Settings, Transport, answer, hosts};

/// A query with one question.
pub fn query(name: &str, qtype: u16) -> Vec<u8> {
    let mut message = vec![0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.').filter(|label| !label.is_empty()) {
        message.push(u8::try_from(label.len()).unwrap());
        message.extend(label.as_bytes());
    }
    message.push(0);
    message.extend(qtype.to_be_bytes());
    message.extend([0, 1]);
    message
}

/// The same with OPT.
pub fn with_edns(mut message: Vec<u8>, size: u16) -> Vec<u8> {
    message[11] = 1;
    message.extend([0, 0, 41]);
    message.extend(size.to_be_bytes());
    message.extend([0, 0, 0, 0, 0, 0]);
    message
}

pub fn arrival() -> Arrival {
    Arrival::new(Transport::Udp, IpAddr::V4(Ipv4Addr::LOCALHOST))
}

/// A catalogue of settings and one hosts file; nothing in them is wrong.
pub fn catalog(settings: &str, entries: &str) -> Catalog {
    let (settings, warnings) = Settings::parse("conf", settings);
    assert_eq!(warnings, []);
    let (entries, warnings) = hosts::parse("hosts", entries);
    assert_eq!(warnings, []);
    Catalog::new(settings).with_hosts("hosts", Some(entries))
}

pub fn ask(catalog: &Catalog, message: &[u8], arrival: &Arrival) -> Option<Message> {
    let mut out = vec![0; 65_535];
    match answer(catalog, message, arrival, &mut out) {
        Outcome::Reply(length) => Some(Message::from_vec(&out[..length]).unwrap()),
        _ => None,
    }
}

/// The data of the answers, sorted, after the code if that is not 0; or that it is forwarded.
pub fn answers(catalog: &Catalog, name: &str, qtype: u16) -> String {
    let Some(reply) = ask(catalog, &query(name, qtype), &arrival()) else {
        return "forward".to_owned();
    };
    let mut answers: Vec<String> = reply
        .answers()
        .iter()
        .map(|record| format!("{} {}", record.record_type(), record.data()))
        .collect();
    answers.sort();
    match u16::from(reply.response_code()) {
        0 => answers.join(", "),
        3 => "NXDOMAIN".to_owned(),
        5 => "REFUSED".to_owned(),
        code => format!("code {code}"),
    }
}
