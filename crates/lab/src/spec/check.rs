//! From what is written to what is valid; every mistake is found and named by its field.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use landbridge_linux::{IfName, MacAddr};

use super::{
    Dhcp, MAX_NICS, MAX_NODES, MAX_PORTS, MAX_SWITCHES, Nic, Node, SWITCH_MTU, Shape, Switch, file,
    mac,
};

/// The largest packet of a veth, and the smallest that IPv6 takes.
const MTUS: std::ops::RangeInclusive<u32> = 1280..=65_521;
/// More addresses than anyone gives to one NIC.
const MAX_ADDRESSES: usize = 64;
const ROLE: &str = "node-role.kubernetes.io/";

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    pub field: String,
    pub reason: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.reason)
    }
}

#[derive(Default)]
struct Found(Vec<Mistake>);

impl Found {
    fn push(&mut self, field: impl fmt::Display, reason: impl fmt::Display) {
        self.0.push(Mistake { field: field.to_string(), reason: reason.to_string() });
    }

    /// The value, or a default that is never used because the mistake is counted.
    fn note<T, E: fmt::Display>(&mut self, field: &str, value: Result<T, E>) -> Option<T> {
        value.map_err(|reason| self.push(field, reason)).ok()
    }
}

pub(super) fn shape(lab: file::Lab) -> Result<Shape, Vec<Mistake>> {
    let mut found = Found::default();
    limit(&mut found, "switches", lab.switches.len(), MAX_SWITCHES);
    limit(&mut found, "nodes", lab.nodes.len(), MAX_NODES);
    if lab.nodes.is_empty() {
        found.push("nodes", "a lab has at least one node");
    }
    if !found.0.is_empty() {
        return Err(found.0);
    }
    let switches: Vec<Switch> =
        lab.switches.into_iter().enumerate().map(|(n, s)| switch(&mut found, n, s)).collect();
    once(&mut found, "switches", switches.iter().map(|switch| switch.name.as_str()));
    let nodes: Vec<Node> = lab
        .nodes
        .into_iter()
        .enumerate()
        .map(|(number, raw)| node(&mut found, number, raw, &switches))
        .collect();
    once(&mut found, "nodes", nodes.iter().map(|node| node.name.as_str()));
    doubles(&mut found, &switches, &nodes);
    for place in 0..switches.len() {
        let cables = nodes.iter().flat_map(|node| &node.nics).filter(|nic| nic.switch == place);
        limit(&mut found, &format!("switches[{place}]: cables"), cables.count(), MAX_PORTS);
    }
    if found.0.is_empty() { Ok(Shape { switches, nodes }) } else { Err(found.0) }
}

fn limit(found: &mut Found, field: &str, count: usize, most: usize) {
    if count > most {
        found.push(field, format_args!("{count} are too many: at most {most}"));
    }
}

fn once<'a>(found: &mut Found, field: &str, names: impl Iterator<Item = &'a str>) {
    let mut seen = BTreeMap::new();
    for (place, name) in names.enumerate() {
        if let Some(first) = seen.insert(name, place) {
            let reason = format_args!("{name:?} is the name of {field}[{first}] already");
            found.push(format_args!("{field}[{place}].name"), reason);
        }
    }
}

fn switch(found: &mut Found, number: usize, raw: file::Switch) -> Switch {
    let at = format!("switches[{number}]");
    found.note(&format!("{at}.name"), label_name(&raw.name));
    let addresses = addresses(found, &format!("{at}.addresses"), &raw.addresses);
    let mtu = mtu(found, &format!("{at}.mtu"), raw.mtu.unwrap_or(SWITCH_MTU));
    let dhcp = raw.dhcp.and_then(|raw| {
        let field = format!("{at}.dhcp");
        found.note(&field, dhcp(&raw, &addresses))
    });
    Switch { name: raw.name, addresses, mtu, dhcp }
}

fn dhcp(raw: &file::Dhcp, addresses: &[IpNet]) -> Result<Dhcp, String> {
    let (first, last) = raw
        .range
        .split_once('-')
        .ok_or_else(|| format!("range {:?} is not like 172.22.0.10-172.22.0.100", raw.range))?;
    let address = |text: &str| {
        let text = text.trim();
        text.parse::<Ipv4Addr>().map_err(|_| format!("{text:?} is no IPv4 address"))
    };
    let (first, last) = (address(first)?, address(last)?);
    if first > last {
        return Err(format!("range {:?} ends before it begins", raw.range));
    }
    let router = raw.router.as_deref().map(address).transpose()?;
    let own = addresses.iter().find_map(|net| match net {
        IpNet::V4(net) if net.contains(&first) && net.contains(&last) => Some(*net),
        _ => None,
    });
    let own = own.ok_or("the switch needs an address in the network of the range")?;
    if (first..=last).contains(&own.addr()) {
        return Err(format!("the switch's own address {} is in the range", own.addr()));
    }
    Ok(Dhcp {
        server: own.addr(),
        prefix_len: own.prefix_len(),
        first,
        last,
        router,
        lease_seconds: raw.lease_seconds.unwrap_or(3600).max(60),
    })
}

fn node(found: &mut Found, number: usize, raw: file::Node, switches: &[Switch]) -> Node {
    let at = format!("nodes[{number}]");
    found.note(&format!("{at}.name"), label_name(&raw.name));
    limit(found, &format!("{at}.nics"), raw.nics.len(), MAX_NICS);
    limit(found, &format!("{at}.labels"), raw.labels.len() + raw.roles.len(), 64);
    limit(found, &format!("{at}.taints"), raw.taints.len(), 64);
    let mut labels = raw.labels;
    for (place, role) in raw.roles.iter().enumerate() {
        found.note(&format!("{at}.roles[{place}]"), label_name(role));
        labels.insert(format!("{ROLE}{role}"), String::new());
    }
    let nics: Vec<Nic> = raw
        .nics
        .into_iter()
        .take(MAX_NICS)
        .enumerate()
        .filter_map(|(place, raw_nic)| {
            nic(found, &format!("{at}.nics[{place}]"), &raw.name, raw_nic, switches)
        })
        .collect();
    once(found, &format!("{at}.nics"), nics.iter().map(|nic| nic.name.as_str()));
    Node { name: raw.name, kind: raw.kind, labels, taints: raw.taints, nics }
}

fn nic(
    found: &mut Found,
    at: &str,
    node: &str,
    raw: file::Nic,
    switches: &[Switch],
) -> Option<Nic> {
    let name = found.note(&format!("{at}.name"), IfName::new(&raw.name));
    if raw.name == "lo" {
        found.push(format_args!("{at}.name"), "every node has its lo already");
    }
    let place = switches.iter().position(|switch| switch.name == raw.switch);
    if place.is_none() {
        let names: Vec<&str> = switches.iter().map(|switch| switch.name.as_str()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let reason = format_args!("{:?} is no switch of this lab (there are: {names})", raw.switch);
        found.push(format_args!("{at}.switch"), reason);
    }
    let most = place.and_then(|place| switches.get(place)).map_or(SWITCH_MTU, |it| it.mtu);
    let mtu = mtu(found, &format!("{at}.mtu"), raw.mtu.unwrap_or(1500.min(most)));
    if mtu > most {
        let reason = format_args!("{mtu} is more than the switch passes on, {most}");
        found.push(format_args!("{at}.mtu"), reason);
    }
    let mac = match raw.mac {
        None => Some(mac::derived(node, &raw.name)),
        Some(text) => found.note(&format!("{at}.mac"), unicast(&text)),
    };
    let addresses = addresses(found, &format!("{at}.addresses"), &raw.addresses);
    let gateways = gateways(found, &format!("{at}.gateways"), &raw.gateways, &addresses);
    Some(Nic { name: name?, switch: place?, mtu, mac: mac?, addresses, gateways })
}

fn unicast(text: &str) -> Result<MacAddr, String> {
    let mac: MacAddr = text.parse().map_err(|error| format!("{text:?}: {error}"))?;
    let group = mac.0.first().is_some_and(|octet| octet & 1 == 1);
    if group || mac.0 == [0; 6] {
        return Err(format!("{text:?} is no address of a single NIC"));
    }
    Ok(mac)
}

fn mtu(found: &mut Found, field: &str, mtu: u32) -> u32 {
    if !MTUS.contains(&mtu) {
        let reason = format_args!("{mtu} is not between {} and {}", MTUS.start(), MTUS.end());
        found.push(field, reason);
    }
    mtu
}

fn addresses(found: &mut Found, field: &str, texts: &[String]) -> Vec<IpNet> {
    limit(found, field, texts.len(), MAX_ADDRESSES);
    let parse = |text: &String| {
        text.parse::<IpNet>().ok().filter(|net| {
            let ip = net.addr();
            !(ip.is_unspecified() || ip.is_multicast() || ip.is_loopback())
        })
    };
    let mut nets = Vec::new();
    for (place, text) in texts.iter().take(MAX_ADDRESSES).enumerate() {
        match parse(text) {
            Some(net) => nets.push(net),
            None => found.push(
                format_args!("{field}[{place}]"),
                format_args!("{text:?} is no address with its prefix, like 192.168.111.20/24"),
            ),
        }
    }
    nets
}

fn gateways(found: &mut Found, field: &str, texts: &[String], nets: &[IpNet]) -> Vec<IpAddr> {
    limit(found, field, texts.len(), 2);
    let mut gateways: Vec<IpAddr> = Vec::new();
    for (place, text) in texts.iter().take(2).enumerate() {
        let field = format!("{field}[{place}]");
        let Ok(ip) = text.parse::<IpAddr>() else {
            found.push(field, format_args!("{text:?} is no address"));
            continue;
        };
        if !nets.iter().any(|net| net.contains(&ip) && net.addr() != ip) {
            found.push(&field, format_args!("{ip} is in no network of this NIC's addresses"));
        }
        if gateways.iter().any(|other| other.is_ipv4() == ip.is_ipv4()) {
            found.push(&field, "only one gateway of a family is the default one");
        }
        gateways.push(ip);
    }
    gateways
}

/// No address on one switch, and no MAC anywhere, belongs to two.
fn doubles(found: &mut Found, switches: &[Switch], nodes: &[Node]) {
    let mut macs: BTreeMap<MacAddr, String> = BTreeMap::new();
    let mut ips: BTreeMap<(usize, IpAddr), String> = BTreeMap::new();
    for (place, switch) in switches.iter().enumerate() {
        for (number, net) in switch.addresses.iter().enumerate() {
            let field = format!("switches[{place}].addresses[{number}]");
            if let Some(first) = ips.insert((place, net.addr()), field.clone()) {
                found.push(field, format_args!("{} is {first} already", net.addr()));
            }
        }
    }
    for (place, node) in nodes.iter().enumerate() {
        for nic in &node.nics {
            let at = format!("nodes[{place}].nics {}", nic.name);
            if let Some(first) = macs.insert(nic.mac, at.clone()) {
                found.push(format_args!("{at}.mac"), format_args!("{} is {first}'s", nic.mac));
            }
            for net in &nic.addresses {
                let field = format!("{at}.addresses");
                if let Some(first) = ips.insert((nic.switch, net.addr()), field.clone()) {
                    found.push(field, format_args!("{} is {first} already", net.addr()));
                }
            }
        }
    }
}

/// A name as DNS has them: it becomes a host name, a directory and an object's name.
fn label_name(name: &str) -> Result<(), String> {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let edge = |c: Option<char>| c.is_some_and(|c| inner(c) && c != '-');
    let good = name.len() <= 63
        && name.chars().all(inner)
        && edge(name.chars().next())
        && edge(name.chars().last());
    if good {
        return Ok(());
    }
    Err(format!("{name:?} is no name: 1 to 63 small letters, digits and hyphens inside"))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::super::file::{FileError, parse};

    const GOOD: &str = "
switches:
- {name: machine, addresses: [192.168.111.1/24], dhcp: {range: 192.168.111.100-192.168.111.120}}
nodes:
- name: worker-0
  kind: kubernetes
  roles: [worker]
  taints: [{key: a, effect: NoSchedule}]
  nics: [{name: enp1s0, switch: machine, addresses: [192.168.111.20/24], gateways: [192.168.111.1]}]
";

    fn complaint(text: &str) -> String {
        match parse(text, "lab.yaml") {
            Ok(shape) => panic!("taken: {shape:?}"),
            Err(FileError::Mistakes { mistakes, .. }) => {
                mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
            }
            Err(other) => other.to_string(),
        }
    }

    #[test]
    fn a_good_one_is_taken() {
        let shape = parse(GOOD, "lab.yaml").unwrap();
        let (_, node) = shape.node("worker-0").unwrap();
        assert_eq!(node.labels["node-role.kubernetes.io/worker"], "");
        let (_, nic) = node.nic("enp1s0").unwrap();
        assert_eq!((nic.mtu, nic.switch), (1500, 0));
        let dhcp = shape.switches[0].dhcp.unwrap();
        assert_eq!((dhcp.server.to_string().as_str(), dhcp.prefix_len), ("192.168.111.1", 24));
        assert_eq!(shape.hosts().count(), 1);
    }

    #[test]
    fn every_mistake_names_its_field() {
        for (from, to, told) in [
            ("name: worker-0", "name: Worker_0", "nodes[0].name: \"Worker_0\" is no name"),
            ("name: worker-0", "name: ../x", "nodes[0].name"),
            ("name: enp1s0", "name: sixteen-bytes-xx", "nodes[0].nics[0].name: a link's name"),
            ("name: enp1s0", "name: lo", "every node has its lo already"),
            (
                "switch: machine",
                "switch: mach",
                "\"mach\" is no switch of this lab (there are: machine)",
            ),
            (
                "switch: machine",
                "switch: machine, mtu: 9217",
                "nodes[0].nics[0].mtu: 9217 is more than",
            ),
            ("switch: machine", "switch: machine, mtu: 100", "100 is not between 1280"),
            (
                "switch: machine",
                "switch: machine, mac: '01:00:00:00:00:01'",
                "nodes[0].nics[0].mac",
            ),
            ("switch: machine", "switch: machine, mac: 'x'", "six hexadecimal octets"),
            ("switch: machine", "switch: machine, mtuu: 1", "unknown field"),
            (
                "192.168.111.20/24",
                "192.168.111.300/24",
                "nodes[0].nics[0].addresses[0]: \"192.168.111.300/24\" is no address",
            ),
            (
                "192.168.111.20/24",
                "192.168.111.1/24",
                "192.168.111.1 is switches[0].addresses[0] already",
            ),
            (
                "gateways: [192.168.111.1]",
                "gateways: [10.0.0.1]",
                "nodes[0].nics[0].gateways[0]: 10.0.0.1 is in no network",
            ),
            (
                "gateways: [192.168.111.1]",
                "gateways: [192.168.111.1, 192.168.111.2]",
                "only one gateway of a family",
            ),
            ("range: 192.168.111.100-", "range: 192.168.111.200-", "ends before it begins"),
            (
                "range: 192.168.111.100-",
                "range: 192.168.111.0-",
                "own address 192.168.111.1 is in the range",
            ),
            (
                "range: 192.168.111.100-192.168.111.120",
                "range: 10.0.0.1-10.0.0.9",
                "needs an address in the network",
            ),
            ("kind: kubernetes", "kind: cow", "cow"),
            ("effect: NoSchedule", "effect: Never", "Never"),
            ("roles: [worker]", "roles: ['a b']", "nodes[0].roles[0]"),
        ] {
            let text = GOOD.replace(from, to);
            assert_ne!(text, GOOD, "{from}");
            let complaint = complaint(&text);
            assert!(complaint.contains(told), "{to}: {complaint}");
        }
        assert!(complaint("nodes: []").contains("at least one node"));
    }

    #[test]
    fn doubles_and_limits() {
        let twice = format!("{GOOD}- {{name: worker-0, kind: host}}\n");
        assert!(
            complaint(&twice)
                .contains("nodes[1].name: \"worker-0\" is the name of nodes[0] already")
        );
        let mut many = "nodes:\n".to_owned();
        for number in 0..65 {
            let _ = writeln!(many, "- {{name: n{number}, kind: host}}");
        }
        assert!(complaint(&many).contains("nodes: 65 are too many: at most 64"));
        let nics: Vec<String> = (0..17).map(|n| format!("{{name: e{n}, switch: s}}")).collect();
        let nics = format!(
            "switches: [{{name: s}}]\nnodes: [{{name: a, kind: host, nics: [{}]}}]",
            nics.join(",")
        );
        assert!(complaint(&nics).contains("nodes[0].nics: 17 are too many"));
        let mac = "switches: [{name: s}]\nnodes: [{name: a, kind: host, nics: [\
                   {name: e0, switch: s, mac: '02:00:00:00:00:01'}, {name: e1, switch: s, mac: '02:00:00:00:00:01'}]}]";
        assert!(complaint(mac).contains("02:00:00:00:00:01 is nodes[0].nics e0's"));
    }
}
