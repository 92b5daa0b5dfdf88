//! Protocols by name and number, and the ports (or ICMP types) that go with them.

use serde_json::Value;

use crate::network::check::Checked;
use crate::network::fault::Fault;
use crate::network::python;
use crate::object::Object;

/// Names in the order in which Neutron lists them, with their numbers.
const NAMES: [(&str, u8); 25] = [
    ("ah", 51),
    ("dccp", 33),
    ("egp", 8),
    ("esp", 50),
    ("gre", 47),
    ("hopopt", 0),
    ("icmp", 1),
    ("igmp", 2),
    ("ip", 0),
    ("ipip", 4),
    ("ipv6-encap", 41),
    ("ipv6-frag", 44),
    ("ipv6-icmp", 58),
    ("icmpv6", 58),
    ("ipv6-nonxt", 59),
    ("ipv6-opts", 60),
    ("ipv6-route", 43),
    ("ospf", 89),
    ("pgm", 113),
    ("rsvp", 46),
    ("sctp", 132),
    ("tcp", 6),
    ("udp", 17),
    ("udplite", 136),
    ("vrrp", 112),
];

/// Protocols that have ports.
const WITH_PORTS: [u8; 5] = [33, 132, 6, 17, 136];
/// Protocols that only IPv6 has.
const ONLY_SIX: [u8; 6] = [41, 44, 58, 59, 60, 43];
const ICMP: u8 = 1;
const ICMP6: u8 = 58;

/// A name, a number, or nothing for all.
pub fn convert(value: &Value) -> Checked {
    if value.is_null() || value.as_str() == Some("any") {
        return Ok(Value::Null);
    }
    match python::int(value) {
        Some(0..=255) => return Ok(python::str(value).into()),
        Some(_) => {}
        None => {
            let name = value.as_str().unwrap_or_default().to_lowercase();
            if name == "any" {
                return Ok(Value::Null);
            }
            if NAMES.iter().any(|(known, _)| *known == name) {
                return Ok(name.into());
            }
        }
    }
    let mut known = vec!["None".to_owned(), "'any'".to_owned()];
    known.extend(NAMES.iter().map(|(name, _)| format!("'{name}'")));
    Err(Fault::bad(
        "SecurityGroupRuleInvalidProtocol",
        format!(
            "Security group rule protocol {} not supported. Only protocol values ({}) and integer \
             representations [0 to 255] are supported.",
            python::str(value),
            known.join(", ")
        ),
    )
    .into())
}

/// The number of the rule's protocol; `None` for all.
pub fn number_of(rule: &Object) -> Option<u8> {
    let text = rule.some_text("protocol")?;
    let named = NAMES.iter().find(|(name, _)| *name == text).map(|(_, number)| *number);
    let number = named.or_else(|| text.parse().ok())?;
    Some(if number == ICMP && rule.text("ethertype") == "IPv6" { ICMP6 } else { number })
}

/// One way to say each thing: ICMP of IPv6, and all ports.
pub fn canonical(rule: &mut Object) {
    if rule.text("ethertype") == "IPv6" {
        match rule.text("protocol") {
            "icmp" | "icmpv6" => rule.set("protocol", "ipv6-icmp"),
            "1" => rule.set("protocol", "58"),
            _ => {}
        }
    }
    let range = (rule.number("port_range_min"), rule.number("port_range_max"));
    if range == (Some(1), Some(65_535)) {
        rule.set("port_range_min", Value::Null);
        rule.set("port_range_max", Value::Null);
    }
}

/// A protocol of IPv6 is not for IPv4.
pub fn family(rule: &Object) -> Result<(), Fault> {
    let six = number_of(rule).is_some_and(|number| ONLY_SIX.contains(&number));
    if !six || rule.text("ethertype") == "IPv6" {
        return Ok(());
    }
    Err(Fault::bad(
        "SecurityGroupEthertypeConflictWithProtocol",
        format!("Invalid ethertype IPv4 for protocol {}.", rule.text("protocol")),
    ))
}

/// Ports for protocols that have them, type and code for ICMP, nothing for others.
pub fn ports(rule: &Object) -> Result<(), Fault> {
    let (least, most) = (rule.number("port_range_min"), rule.number("port_range_max"));
    if least.is_none() && most.is_none() {
        return Ok(());
    }
    let Some(number) = number_of(rule) else {
        return Err(Fault::bad(
            "SecurityGroupProtocolRequiredWithPorts",
            "Must also specify protocol if port range is given.",
        ));
    };
    if WITH_PORTS.contains(&number) {
        return range(least, most);
    }
    if [ICMP, ICMP6].contains(&number) {
        return icmp(least, most);
    }
    Err(Fault::bad(
        "SecurityGroupInvalidProtocolForPort",
        format!(
            "Ports cannot be specified for protocol {number}. Ports are only supported for DCCP, \
             SCTP, TCP, UDP, UDPLITE."
        ),
    ))
}

fn range(least: Option<i64>, most: Option<i64>) -> Result<(), Fault> {
    if least == Some(0) || most == Some(0) {
        return Err(Fault::bad("SecurityGroupInvalidPortValue", "Invalid value for port 0"));
    }
    match (least, most) {
        (Some(least), Some(most)) if least <= most => Ok(()),
        _ => Err(Fault::bad(
            "SecurityGroupInvalidPortRange",
            "For TCP/UDP protocols, port_range_min must be <= port_range_max",
        )),
    }
}

fn icmp(kind: Option<i64>, code: Option<i64>) -> Result<(), Fault> {
    for (value, field, attribute) in
        [(kind, "type", "port_range_min"), (code, "code", "port_range_max")]
    {
        if let Some(value) = value.filter(|value| !(0..=255).contains(value)) {
            return Err(Fault::bad(
                "SecurityGroupInvalidIcmpValue",
                format!(
                    "Invalid value for ICMP {field} ({attribute}) {value}. It must be 0 to 255."
                ),
            ));
        }
    }
    match (kind, code) {
        (None, Some(code)) => Err(Fault::bad(
            "SecurityGroupMissingIcmpType",
            format!(
                "ICMP code (port-range-max) {code} is provided but ICMP type (port-range-min) is \
                 missing."
            ),
        )),
        _ => Ok(()),
    }
}
