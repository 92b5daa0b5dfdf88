//! A state in nmstate's words.

use landbridge_linux::link::{
    Bond, BondMode, Bridge, BridgeVlan, MacvlanMode, VlanProtocol, Vxlan,
};
use landbridge_linux::route::{Family, Protocol, RouteKind};
use landbridge_linux::rule::RuleAction;
use landbridge_linux::{IfName, Route, Rule};
use serde_json::{Map, Value, json};

use crate::read::family_word;
use crate::resolver::Resolver;
use crate::state::{BridgePort, Interface, IpAddress, Kind, State, is_configured};

/// What `nmstatectl show` would say, without what belongs to others.
pub fn state(state: &State) -> Value {
    let foreign = |name: &IfName| state.interfaces.get(name).is_some_and(|link| link.foreign);
    let interfaces: Vec<Value> = state
        .interfaces
        .iter()
        .filter(|(_, link)| !link.foreign)
        .map(|(name, link)| interface(state, name, link))
        .collect();
    let shown = |route: &&Route<IfName>| !route.links().any(&foreign);
    let running: Vec<Value> = state.routes.iter().filter(shown).flat_map(route).collect();
    let config: Vec<Value> = state
        .routes
        .iter()
        .filter(shown)
        .filter(|route| is_configured(route))
        .flat_map(route)
        .collect();
    let rules: Vec<Value> =
        state.rules.iter().filter(|rule| rule.protocol != Protocol::KERNEL).map(rule).collect();
    let mut hostname = Map::new();
    hostname.insert("running".into(), state.hostname.running.clone().into());
    put(&mut hostname, "config", state.hostname.config.clone());
    json!({
        "hostname": hostname,
        "dns-resolver": { "running": resolver(&state.resolver), "config": resolver(&state.resolver) },
        "route-rules": { "config": rules },
        "routes": { "running": running, "config": config },
        "interfaces": interfaces,
    })
}

fn put(map: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        map.insert(key.to_owned(), value.into());
    }
}

fn resolver(resolver: &Resolver) -> Value {
    let mut map = Map::new();
    map.insert("server".into(), resolver.servers.clone().into());
    map.insert("search".into(), resolver.search.clone().into());
    if !resolver.options.is_empty() {
        map.insert("options".into(), resolver.options.clone().into());
    }
    map.into()
}

fn interface(state: &State, name: &IfName, link: &Interface) -> Value {
    let mut map = Map::new();
    map.insert("name".into(), name.as_str().into());
    map.insert("type".into(), link.kind.word().into());
    map.insert("state".into(), if link.up { "up" } else { "down" }.into());
    put(&mut map, "description", link.description.clone());
    put(&mut map, "mac-address", link.mac.map(|mac| mac.to_string().to_uppercase()));
    map.insert("mtu".into(), link.mtu.into());
    put(&mut map, "controller", link.controller.as_ref().map(IfName::as_str));
    map.insert("accept-all-mac-addresses".into(), link.promiscuous.into());
    let dhcp =
        |family| state.dhcp.iter().any(|request| request.link == *name && request.family == family);
    let (dhcp4, dhcp6) = (dhcp(Family::Ipv4), dhcp(Family::Ipv6));
    let enabled = dhcp4 || !link.ipv4.addresses.is_empty();
    let mut ipv4 = Map::new();
    ipv4.insert("enabled".into(), enabled.into());
    if enabled {
        ipv4.insert("dhcp".into(), dhcp4.into());
        ipv4.insert("address".into(), addresses(&link.ipv4.addresses));
    }
    ipv4.insert("forwarding".into(), link.ipv4.forwarding.into());
    map.insert("ipv4".into(), ipv4.into());
    let mut ipv6 = Map::new();
    ipv6.insert("enabled".into(), link.ipv6.enabled.into());
    if link.ipv6.enabled {
        ipv6.insert("dhcp".into(), dhcp6.into());
        ipv6.insert("autoconf".into(), (link.ipv6.accept_ra != 0).into());
        ipv6.insert("address".into(), addresses(&link.ipv6.addresses));
        ipv6.insert("forwarding".into(), link.ipv6.forwarding.into());
    }
    map.insert("ipv6".into(), ipv6.into());
    if let Some((key, section)) = section(state, name, link) {
        map.insert(key.into(), section);
    }
    map.into()
}

fn addresses(list: &[IpAddress]) -> Value {
    let one = |address: &IpAddress| json!({ "ip": address.net.addr().to_string(), "prefix-length": address.net.prefix_len() });
    list.iter().map(one).collect()
}

/// What is particular to a kind.
fn section(state: &State, name: &IfName, link: &Interface) -> Option<(&'static str, Value)> {
    let shown = |port: &&IfName| state.interfaces.get(*port).is_some_and(|link| !link.foreign);
    let ports = || -> Vec<&IfName> { state.ports(name).filter(shown).collect() };
    let names = || -> Value { ports().into_iter().map(|port| json!(port.as_str())).collect() };
    Some(match &link.kind {
        Kind::Veth { peer } => ("veth", json!({ "peer": peer.as_str() })),
        Kind::Vlan { base, id, protocol } => {
            let protocol = match protocol {
                VlanProtocol::Customer => "802.1q",
                VlanProtocol::Service => "802.1ad",
            };
            ("vlan", json!({ "base-iface": base.as_str(), "id": id, "protocol": protocol }))
        }
        Kind::Bridge(options) => {
            let filtering = options.vlan_filtering == Some(true);
            let port = |name: &IfName| {
                let link = state.interfaces.get(name).and_then(|link| link.port.as_ref());
                bridge_port(name, link, filtering)
            };
            let ports: Vec<Value> = ports().into_iter().map(port).collect();
            ("bridge", json!({ "options": bridge(options), "port": ports }))
        }
        Kind::Bond(options) => {
            let mut map = Map::new();
            put(&mut map, "mode", options.mode.map(bond_mode));
            map.insert("options".into(), bond(options));
            map.insert("port".into(), names());
            ("link-aggregation", map.into())
        }
        Kind::Vrf { table } => ("vrf", json!({ "route-table-id": table, "port": names() })),
        Kind::Macvlan { base, mode } => {
            let mode = match mode {
                MacvlanMode::Private => "private",
                MacvlanMode::Vepa => "vepa",
                MacvlanMode::Bridge => "bridge",
                MacvlanMode::Passthru => "passthru",
                MacvlanMode::Source => "source",
            };
            ("mac-vlan", json!({ "base-iface": base.as_str(), "mode": mode }))
        }
        Kind::Vxlan { base, options } => ("vxlan", vxlan(base.as_ref(), options)),
        Kind::Loopback | Kind::Ethernet | Kind::Dummy | Kind::Other(_) => return None,
    })
}

fn bridge(options: &Bridge) -> Value {
    let seconds = |time: Option<u32>| time.map(|time| time.div_ceil(100));
    let mut stp = Map::new();
    put(&mut stp, "enabled", options.stp);
    put(&mut stp, "forward-delay", seconds(options.forward_delay_centiseconds));
    put(&mut stp, "hello-time", seconds(options.hello_time_centiseconds));
    put(&mut stp, "max-age", seconds(options.max_age_centiseconds));
    put(&mut stp, "priority", options.priority);
    let mut map = Map::new();
    put(&mut map, "group-forward-mask", options.group_forward_mask);
    put(&mut map, "mac-ageing-time", seconds(options.ageing_centiseconds));
    put(&mut map, "multicast-snooping", options.multicast_snooping);
    put(&mut map, "vlan-default-pvid", options.vlan_default_pvid);
    map.insert("stp".into(), stp.into());
    map.into()
}

fn bridge_port(name: &IfName, port: Option<&BridgePort>, filtering: bool) -> Value {
    let mut map = Map::new();
    map.insert("name".into(), name.as_str().into());
    if let Some(port) = port {
        put(&mut map, "stp-hairpin-mode", port.options.hairpin);
        put(&mut map, "stp-path-cost", port.options.cost);
        put(&mut map, "stp-priority", port.options.priority);
        if filtering {
            map.insert("vlan".into(), port_vlans(&port.vlans));
        }
    }
    map.into()
}

/// Access where there is only one VLAN, without a tag; otherwise a trunk.
fn port_vlans(vlans: &[BridgeVlan]) -> Value {
    let native = vlans.iter().find(|vlan| vlan.pvid && vlan.untagged).map(|vlan| vlan.first);
    let tagged: Vec<Value> = vlans
        .iter()
        .filter(|vlan| !vlan.untagged)
        .map(|vlan| match (vlan.first, vlan.last) {
            (first, last) if first == last => json!({ "id": first }),
            (first, last) => json!({ "id-range": { "min": first, "max": last } }),
        })
        .collect();
    match (native, tagged.is_empty()) {
        (Some(tag), true) => json!({ "mode": "access", "tag": tag }),
        // The bridge's own VLAN is what every port has; nmstate does not count it.
        (None | Some(1), false) => json!({ "mode": "trunk", "trunk-tags": tagged }),
        (Some(tag), false) => json!({
            "mode": "trunk", "enable-native": true, "tag": tag, "trunk-tags": tagged
        }),
        (None, true) => json!({}),
    }
}

fn bond_mode(mode: BondMode) -> &'static str {
    match mode {
        BondMode::BalanceRr => "balance-rr",
        BondMode::ActiveBackup => "active-backup",
        BondMode::BalanceXor => "balance-xor",
        BondMode::Broadcast => "broadcast",
        BondMode::Lacp => "802.3ad",
        BondMode::BalanceTlb => "balance-tlb",
        BondMode::BalanceAlb => "balance-alb",
    }
}

fn bond(options: &Bond) -> Value {
    // The words of these are the same here and in nmstate.
    let word =
        |value: Result<Value, serde_json::Error>| value.ok().filter(|value| !value.is_null());
    let mut map = Map::new();
    put(&mut map, "miimon", options.miimon_ms);
    put(&mut map, "updelay", options.up_delay_ms);
    put(&mut map, "downdelay", options.down_delay_ms);
    put(&mut map, "min_links", options.min_links);
    put(&mut map, "xmit_hash_policy", word(serde_json::to_value(options.hash_policy)));
    put(&mut map, "lacp_rate", word(serde_json::to_value(options.lacp_rate)));
    map.into()
}

fn vxlan(base: Option<&IfName>, options: &Vxlan) -> Value {
    let mut map = Map::new();
    put(&mut map, "base-iface", base.map(IfName::as_str));
    map.insert("id".into(), options.id.into());
    put(&mut map, "destination-port", options.port);
    put(&mut map, "local", options.local.map(|ip| ip.to_string()));
    put(&mut map, "remote", options.remote.map(|ip| ip.to_string()));
    put(&mut map, "learning", options.learning);
    map.into()
}

/// A route of several ways is several routes, as in nmstate.
fn route(route: &Route<IfName>) -> Vec<Value> {
    let single = (route.link.as_ref(), route.gateway, None);
    let hops = route.multipath.iter().map(|hop| (Some(&hop.link), hop.gateway, Some(hop.weight)));
    let ways: Vec<_> = if route.multipath.is_empty() { vec![single] } else { hops.collect() };
    ways.into_iter()
        .map(|(link, gateway, weight)| {
            let mut map = Map::new();
            map.insert("destination".into(), route.destination.to_string().into());
            put(&mut map, "next-hop-interface", link.map(IfName::as_str));
            put(&mut map, "next-hop-address", gateway.map(|ip| ip.to_string()));
            map.insert("metric".into(), route.metric.unwrap_or(0).into());
            map.insert("table-id".into(), route.table.into());
            put(&mut map, "weight", weight);
            put(&mut map, "source", route.source.map(|ip| ip.to_string()));
            put(&mut map, "mtu", route.mtu);
            let kind = match route.kind {
                RouteKind::Blackhole => Some("blackhole"),
                RouteKind::Unreachable => Some("unreachable"),
                RouteKind::Prohibit => Some("prohibit"),
                _ => None,
            };
            put(&mut map, "route-type", kind);
            map.into()
        })
        .collect()
}

fn rule(rule: &Rule) -> Value {
    let mut map = Map::new();
    map.insert("family".into(), family_word(rule.family).into());
    put(&mut map, "ip-from", rule.from.map(|net| net.to_string()));
    put(&mut map, "ip-to", rule.to.map(|net| net.to_string()));
    map.insert("priority".into(), rule.priority.into());
    match rule.action {
        RuleAction::Table(table) => put(&mut map, "route-table", Some(table)),
        RuleAction::Blackhole => put(&mut map, "action", Some("blackhole")),
        RuleAction::Unreachable => put(&mut map, "action", Some("unreachable")),
        RuleAction::Prohibit => put(&mut map, "action", Some("prohibit")),
        _ => {}
    }
    put(&mut map, "fwmark", rule.fwmark.map(|mark| mark.value));
    put(&mut map, "fwmask", rule.fwmark.map(|mark| mark.mask));
    put(&mut map, "iif", rule.iif.as_ref().map(IfName::as_str));
    put(&mut map, "suppress-prefix-length", rule.suppress_prefix_length);
    map.into()
}
