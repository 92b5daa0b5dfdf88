//! Security groups: what is not let through is dropped.

use super::set;
use crate::plan::{Direction, Rule, Security};

const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
/// Without these IPv6 does not work at all, so Neutron never filters them.
const SENT: &str = "{ mld-listener-query, mld-listener-report, mld-listener-done, nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert, mld2-listener-report }";
const RECEIVED: &str = "{ mld-listener-query, mld-listener-report, mld-listener-done, nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert }";

/// What is sent, and what is received, in the family `inet`; what returns is let through.
pub fn rules(security: &Security) -> (Vec<String>, Vec<String>) {
    (chain(security, Direction::Egress, SENT), chain(security, Direction::Ingress, RECEIVED))
}

fn chain(security: &Security, direction: Direction, always: &str) -> Vec<String> {
    let mut rules =
        vec![format!("icmpv6 type {always} return"), "ct state invalid drop".to_owned()];
    let mut wanted: Vec<&Rule> =
        security.rules.iter().filter(|rule| rule.direction == direction).collect();
    // Two groups often say the same.
    wanted.sort();
    wanted.dedup();
    rules.extend(wanted.into_iter().filter_map(one));
    rules.push("drop".to_owned());
    rules
}

/// A rule as text; nothing where it lets nobody through.
fn one(rule: &Rule) -> Option<String> {
    let mut words = vec![match (&rule.remotes, rule.ipv6) {
        (None, false) => "meta nfproto ipv4".to_owned(),
        (None, true) => "meta nfproto ipv6".to_owned(),
        (Some(remotes), ipv6) => {
            let of_family: Vec<_> =
                remotes.iter().copied().filter(|net| net.addr().is_ipv6() == ipv6).collect();
            if of_family.is_empty() {
                return None;
            }
            let family = if ipv6 { "ip6" } else { "ip" };
            let end = match rule.direction {
                Direction::Ingress => "saddr",
                Direction::Egress => "daddr",
            };
            format!("{family} {end} {}", set(of_family))
        }
    }];
    if let Some(protocol) = rule.protocol {
        words.push(format!("meta l4proto {protocol}"));
        let icmp = match protocol {
            ICMP => Some("icmp"),
            ICMPV6 => Some("icmpv6"),
            _ => None,
        };
        match (icmp, rule.first, rule.last) {
            (Some(icmp), Some(kind), code) => {
                words.push(format!("{icmp} type {kind}"));
                words.extend(code.map(|code| format!("{icmp} code {code}")));
            }
            (None, Some(first), Some(last)) if first == last => {
                words.push(format!("th dport {first}"));
            }
            (None, Some(first), Some(last)) => words.push(format!("th dport {first}-{last}")),
            _ => {}
        }
    }
    words.push("return".to_owned());
    Some(words.join(" "))
}
