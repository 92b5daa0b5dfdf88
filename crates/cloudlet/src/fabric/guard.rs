//! Port security and security groups of a port, resolved to addresses.

use std::net::IpAddr;

use ipnet::IpNet;
use landbridge_fabric::{Direction, Pair, Rule, Security};
use serde_json::Value;

use super::mac;
use crate::network::resources::address_groups::ADDRESS_GROUP_KIND;
use crate::network::resources::ports::PORT;
use crate::network::resources::security_group_rules::{RULE_KIND, protocol};
use crate::object::Object;
use crate::state::State;

/// What a guarded port may send and receive.
pub fn security(state: &State, port: &Object) -> Security {
    let mut rules: Vec<Rule> = port
        .texts("security_groups")
        .flat_map(|group| state.find(&RULE_KIND, "security_group_id", group))
        .map(|rule| resolved(state, &rule))
        .collect();
    rules.sort();
    rules.dedup();
    let pairs = port.list("allowed_address_pairs").iter().filter_map(|pair| {
        let own = || mac(port);
        let given = pair.get("mac_address").and_then(Value::as_str);
        let mac = given.map_or_else(own, |text| text.parse().ok())?;
        Some(Pair { address: net(pair.get("ip_address")?.as_str()?)?, mac })
    });
    Security { pairs: pairs.collect(), rules }
}

fn resolved(state: &State, rule: &Object) -> Rule {
    let ipv6 = rule.text("ethertype") == "IPv6";
    let number = |name: &str| rule.number(name).and_then(|port| u16::try_from(port).ok());
    // ICMP of an IPv6 rule is ICMPv6, by whichever name.
    let protocol = protocol::number_of(rule).map(|it| if ipv6 && it == 1 { 58 } else { it });
    Rule {
        direction: match rule.text("direction") {
            "egress" => Direction::Egress,
            _ => Direction::Ingress,
        },
        ipv6,
        protocol,
        first: number("port_range_min"),
        last: number("port_range_max"),
        remotes: remotes(state, rule),
    }
}

/// With whom: a prefix, the members of a group, the addresses of one; nothing for anybody.
fn remotes(state: &State, rule: &Object) -> Option<Vec<IpNet>> {
    let mut found: Vec<IpNet> = if let Some(prefix) = rule.some_text("remote_ip_prefix") {
        net(prefix).into_iter().collect()
    } else if let Some(group) = rule.some_text("remote_group_id") {
        state.find(PORT.kind, "security_group", group).flat_map(|port| addresses(&port)).collect()
    } else if let Some(id) = rule.some_text("remote_address_group_id") {
        let group = state.get(&ADDRESS_GROUP_KIND, id).unwrap_or_default();
        group.texts("addresses").filter_map(net).collect()
    } else {
        return None;
    };
    found.sort_unstable();
    found.dedup();
    Some(found)
}

/// All addresses that a port may send from.
fn addresses(port: &Object) -> Vec<IpNet> {
    let all = port.list("fixed_ips").iter().chain(port.list("allowed_address_pairs"));
    all.filter_map(|entry| net(entry.get("ip_address")?.as_str()?)).collect()
}

/// A prefix, or an address as one.
fn net(text: &str) -> Option<IpNet> {
    text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}
