//! The desired state that makes a host as wanted, given what is there and what this agent made.
//!
//! A list in a desired state replaces what is there, so what others put on a NIC goes into it too.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::wanted::{Vlan, Wanted};

/// What this agent has made on the host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Made {
    /// The NIC of networks that have none of their own, chosen once.
    pub trunk: Option<String>,
    pub wanted: Wanted,
    /// The VLAN interfaces that were not there before.
    pub own_vlans: BTreeSet<String>,
    /// The resolver as it was before.
    pub resolver_before: Option<Value>,
}

/// What to apply, and what will then have been made.
#[derive(Clone, Debug, PartialEq)]
pub struct Composed {
    pub desired: Value,
    pub made: Made,
}

/// Composes it.
pub fn compose(wanted: &Wanted, made: &Made, current: &Value) -> Result<Composed, String> {
    let links = links(current);
    let mut interfaces = Vec::new();
    let mut own_vlans = BTreeSet::new();
    let all: BTreeSet<&String> = wanted.nics.keys().chain(made.wanted.nics.keys()).collect();
    for name in all {
        match links.get(name.as_str()) {
            Some(link) => interfaces.push(nic(name, wanted, made, link)),
            None if !wanted.nics.contains_key(name) => {} // gone, with all that was on it
            None => {
                let known: Vec<&str> = links.keys().copied().collect();
                return Err(format!(
                    "there is no NIC {name} on this host (there are {}); name the right one with --trunk or --nic",
                    known.join(", ")
                ));
            }
        }
    }
    for (name, vlan) in &wanted.vlans {
        let there = links.get(name.as_str()).copied();
        let own = made.own_vlans.contains(name);
        if let Some(link) = there.filter(|link| !own && !is_that_vlan(link, vlan)) {
            let kind = link["type"].as_str().unwrap_or("unknown");
            return Err(format!(
                "{name} is there already, is of type {kind} and not VLAN {} of {}, and was not made by this agent; rename or remove it",
                vlan.id, vlan.base
            ));
        }
        if own || there.is_none() {
            own_vlans.insert(name.clone());
        }
        interfaces.push(vlan_interface(name, vlan, made, there));
    }
    for (name, vlan) in
        made.wanted.vlans.iter().filter(|(name, _)| !wanted.vlans.contains_key(*name))
    {
        let Some(link) = links.get(name.as_str()) else { continue };
        if made.own_vlans.contains(name) {
            interfaces.push(json!({"name": name, "type": "vlan", "state": "absent"}));
        } else {
            let mut entry = json!({"name": name, "type": link["type"], "state": "up"});
            put_addresses(&mut entry, link, &vlan.addresses, &[]);
            interfaces.push(entry);
        }
    }
    let mut desired = Map::new();
    desired.insert("interfaces".to_owned(), Value::Array(interfaces));
    let routes = routes(wanted, made, current, &links);
    if !routes.is_empty() {
        desired.insert("routes".to_owned(), json!({"config": routes}));
    }
    let (resolver, resolver_before) = resolver(wanted, made, current);
    if let Some(resolver) = resolver {
        desired.insert("dns-resolver".to_owned(), json!({"config": resolver}));
    }
    let made =
        Made { trunk: made.trunk.clone(), wanted: wanted.clone(), own_vlans, resolver_before };
    Ok(Composed { desired: Value::Object(desired), made })
}

/// The NIC of networks that have none of their own: the first one without the default route.
pub fn choose_trunk(current: &Value) -> Result<String, String> {
    let links = links(current);
    let is_nic = |link: &&Value| matches!(link["type"].as_str(), Some("ethernet" | "veth"));
    let nics: Vec<&str> =
        links.iter().filter(|(_, link)| is_nic(link)).map(|(name, _)| *name).collect();
    let routes = current.pointer("/routes/running").and_then(Value::as_array);
    let defaults: BTreeSet<&str> = routes
        .into_iter()
        .flatten()
        .filter(|route| matches!(route["destination"].as_str(), Some("0.0.0.0/0" | "::/0")))
        .filter_map(|route| route["next-hop-interface"].as_str())
        .collect();
    // Without a default route the first NIC is taken for the one the host is managed by.
    let managed = |name: &str| {
        if defaults.is_empty() { nics.first() == Some(&name) } else { defaults.contains(name) }
    };
    let first = nics.iter().find(|name| !managed(name)).or(nics.first());
    first.map(|name| (*name).to_owned()).ok_or_else(|| {
        "this host has no NIC to put the networks on; name one with --trunk".to_owned()
    })
}

fn links(current: &Value) -> BTreeMap<&str, &Value> {
    let all = current["interfaces"].as_array().into_iter().flatten();
    all.filter_map(|link| Some((link["name"].as_str()?, link))).collect()
}

fn is_that_vlan(link: &Value, vlan: &Vlan) -> bool {
    link["type"] == "vlan"
        && link["vlan"]["base-iface"] == vlan.base.as_str()
        && link["vlan"]["id"] == vlan.id
}

fn nic(name: &str, wanted: &Wanted, made: &Made, link: &Value) -> Value {
    let mut entry = json!({"name": name, "type": link["type"], "state": "up"});
    let before = made.wanted.nics.get(name).map_or(&[][..], |nic| &nic.addresses);
    let Some(nic) = wanted.nics.get(name) else {
        put_addresses(&mut entry, link, before, &[]);
        return entry;
    };
    if let Some(mtu) = nic.mtu {
        // A NIC that only carries VLANs may be larger for somebody else's sake.
        let now = link["mtu"].as_i64().unwrap_or(0);
        let mtu = if nic.addresses.is_empty() { mtu.max(now) } else { mtu };
        if mtu != now {
            entry["mtu"] = mtu.into();
        }
    }
    put_addresses(&mut entry, link, before, &nic.addresses);
    entry
}

fn vlan_interface(name: &str, vlan: &Vlan, made: &Made, there: Option<&Value>) -> Value {
    let mut entry = json!({
        "name": name, "type": "vlan", "state": "up",
        "vlan": {"base-iface": vlan.base, "id": vlan.id},
    });
    if let Some(mtu) = vlan.mtu {
        entry["mtu"] = mtu.into();
    }
    if made.own_vlans.contains(name) || there.is_none() {
        for (family, six) in [("ipv4", false), ("ipv6", true)] {
            let own = of_family(&vlan.addresses, six);
            entry[family] = if own.is_empty() {
                json!({"enabled": false})
            } else {
                json!({"enabled": true, "dhcp": false, "address": own})
            };
        }
    } else {
        let before = made.wanted.vlans.get(name).map_or(&[][..], |vlan| &vlan.addresses);
        put_addresses(&mut entry, there.unwrap_or(&Value::Null), before, &vlan.addresses);
    }
    entry
}

/// Puts ours beside what others have on an interface, and leaves alone a family we have no part in.
fn put_addresses(entry: &mut Value, link: &Value, before: &[IpNet], now: &[IpNet]) {
    for (family, six) in [("ipv4", false), ("ipv6", true)] {
        let (own, ours_before) = (of_family(now, six), of_family(before, six));
        if own.is_empty() && ours_before.is_empty() {
            continue;
        }
        let current = link[family]["address"].as_array().into_iter().flatten();
        let mut addresses: Vec<Value> = current
            .filter(|address| !is_of_the_kernel(address))
            .map(|address| json!({"ip": address["ip"], "prefix-length": address["prefix-length"]}))
            .filter(|address| !ours_before.contains(address) && !own.contains(address))
            .collect();
        addresses.extend(own);
        let dynamic = link[family]["dhcp"] == true;
        entry[family] = if addresses.is_empty() && !dynamic {
            json!({"enabled": six, "address": []})
        } else {
            json!({"enabled": true, "address": addresses})
        };
    }
}

fn of_family(addresses: &[IpNet], six: bool) -> Vec<Value> {
    let of = addresses.iter().filter(|net| net.addr().is_ipv6() == six);
    of.map(|net| json!({"ip": net.addr(), "prefix-length": net.prefix_len()})).collect()
}

/// Link-local, or given for a time by DHCP or a router.
fn is_of_the_kernel(address: &Value) -> bool {
    let ip = address["ip"].as_str().and_then(|ip| ip.parse::<IpAddr>().ok());
    let local = matches!(ip, Some(IpAddr::V6(six)) if six.is_unicast_link_local());
    local || address.get("valid-life-time").is_some()
}

fn routes(
    wanted: &Wanted,
    made: &Made,
    current: &Value,
    links: &BTreeMap<&str, &Value>,
) -> Vec<Value> {
    let there = current.pointer("/routes/config").and_then(Value::as_array);
    let mut routes = Vec::new();
    for old in made.wanted.routes.iter().filter(|old| !wanted.routes.contains(old)) {
        let is_that = |route: &&Value| {
            route["destination"] == old.destination.to_string()
                && route["next-hop-interface"] == old.link.as_str()
        };
        // What is gone needs no removing, and a link that is gone cannot be named.
        let exists = there.is_some_and(|all| all.iter().any(|route| is_that(&route)));
        if exists && links.contains_key(old.link.as_str()) {
            routes.push(json!({
                "state": "absent", "destination": old.destination,
                "next-hop-address": old.gateway, "next-hop-interface": old.link,
            }));
        }
    }
    for route in &wanted.routes {
        routes.push(json!({
            "destination": route.destination, "next-hop-address": route.gateway,
            "next-hop-interface": route.link,
        }));
    }
    routes
}

/// The resolver to set, and how it was before this agent first set it.
fn resolver(wanted: &Wanted, made: &Made, current: &Value) -> (Option<Value>, Option<Value>) {
    let found = current.pointer("/dns-resolver/config").cloned().unwrap_or_else(|| json!({}));
    if wanted.servers.is_empty() {
        // Back to how it was, or to nothing.
        let back = made.resolver_before.clone().map(|before| {
            let list = |key: &str| before.get(key).cloned().unwrap_or_else(|| json!([]));
            json!({"server": list("server"), "search": list("search")})
        });
        return (back, None);
    }
    let resolver = json!({"server": wanted.servers, "search": wanted.search});
    (Some(resolver), Some(made.resolver_before.clone().unwrap_or(found)))
}

#[cfg(test)]
mod tests {
    use super::super::wanted::tests::{seed, settings};
    use super::super::wanted::wanted;
    use super::*;

    fn host() -> Value {
        json!({
            "interfaces": [
                {"name": "lo", "type": "loopback"},
                {"name": "enp1s0", "type": "ethernet", "mtu": 1500, "ipv4": {"enabled": true, "address": [{"ip": "192.0.2.5", "prefix-length": 24}]}},
                {"name": "enp6s0", "type": "ethernet", "mtu": 1500,
                 "ipv4": {"enabled": true, "address": [{"ip": "198.51.100.7", "prefix-length": 24}]},
                 "ipv6": {"enabled": true, "address": [{"ip": "fe80::1", "prefix-length": 64}]}},
                {"name": "enp7s0", "type": "ethernet", "mtu": 9000},
            ],
            "routes": {"running": [{"destination": "0.0.0.0/0", "next-hop-interface": "enp1s0"}], "config": []},
            "dns-resolver": {"config": {"server": ["192.0.2.53"]}},
        })
    }

    fn entry<'a>(composed: &'a Composed, name: &str) -> &'a Value {
        let all = composed.desired["interfaces"].as_array().unwrap();
        all.iter().find(|entry| entry["name"] == name).unwrap()
    }

    #[test]
    fn first_and_then_less_and_then_nothing() {
        let full = wanted(&seed(), &settings(), "enp6s0").unwrap();
        let first = compose(&full, &Made::default(), &host()).unwrap();
        assert_eq!(
            *entry(&first, "enp6s0"),
            json!({"name": "enp6s0", "type": "ethernet", "state": "up", "mtu": 9000, "ipv4": {"enabled": true, "address": [
                {"ip": "198.51.100.7", "prefix-length": 24},
                {"ip": "192.168.122.100", "prefix-length": 24}, {"ip": "10.0.0.10", "prefix-length": 24}]}}),
            "what others put there stays, and IPv6 is not touched"
        );
        assert_eq!(
            *entry(&first, "enp6s0.50"),
            json!({"name": "enp6s0.50", "type": "vlan", "state": "up", "mtu": 9000,
                "vlan": {"base-iface": "enp6s0", "id": 50}, "ipv6": {"enabled": false},
                "ipv4": {"enabled": true, "dhcp": false, "address": [{"ip": "172.20.0.10", "prefix-length": 24}]}})
        );
        assert_eq!(
            first.desired["dns-resolver"]["config"],
            json!({"server": ["192.168.122.80"], "search": ["ctlplane.example.com", "internalapi.example.com"]})
        );
        assert_eq!(
            first.desired["routes"]["config"][0],
            json!({"destination": "0.0.0.0/0", "next-hop-address": "192.168.122.1", "next-hop-interface": "enp6s0"})
        );

        // As the host then looks.
        let mut now = host();
        now["interfaces"][2]["ipv4"] = entry(&first, "enp6s0")["ipv4"].clone();
        for name in ["enp6s0.20", "enp6s0.50"] {
            let made = entry(&first, name).clone();
            now["interfaces"].as_array_mut().unwrap().push(made);
        }
        now["routes"]["config"] = first.desired["routes"]["config"].clone();
        now["dns-resolver"]["config"] = first.desired["dns-resolver"]["config"].clone();

        let mut ipset = seed();
        ipset.status.as_mut().unwrap().reservations.retain(|entry| entry.network == "InternalApi");
        let less = wanted(&ipset, &settings(), "enp6s0").unwrap();
        let second = compose(&less, &first.made, &now).unwrap();
        assert_eq!(entry(&second, "enp6s0.50")["state"], "absent");
        assert_eq!(
            entry(&second, "enp6s0")["ipv4"]["address"],
            json!([{"ip": "198.51.100.7", "prefix-length": 24}])
        );
        let absent: Vec<_> = second.desired["routes"]["config"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| (r["state"].as_str(), r["destination"].as_str()))
            .collect();
        assert_eq!(
            absent,
            [(Some("absent"), Some("0.0.0.0/0")), (Some("absent"), Some("10.0.1.0/24"))]
        );
        assert_eq!(second.made.own_vlans, BTreeSet::from(["enp6s0.20".to_owned()]));

        let gone = compose(&Wanted::default(), &first.made, &now).unwrap();
        assert_eq!(entry(&gone, "enp6s0.20")["state"], "absent");
        assert_eq!(
            gone.desired["dns-resolver"]["config"],
            json!({"server": ["192.0.2.53"], "search": []})
        );
        let nothing = compose(&Wanted::default(), &gone.made, &host()).unwrap();
        assert_eq!(nothing.desired, json!({"interfaces": []}), "nothing made, nothing touched");
    }

    #[test]
    fn a_vlan_somebody_else_made_is_used_and_never_removed() {
        let mut now = host();
        let foreign = json!({"name": "enp6s0.20", "type": "vlan", "vlan": {"base-iface": "enp6s0", "id": 20},
            "ipv4": {"enabled": true, "address": [{"ip": "172.17.0.9", "prefix-length": 24}]}});
        now["interfaces"].as_array_mut().unwrap().push(foreign);
        let full = wanted(&seed(), &settings(), "enp6s0").unwrap();
        let first = compose(&full, &Made::default(), &now).unwrap();
        assert_eq!(entry(&first, "enp6s0.20")["ipv4"]["address"].as_array().unwrap().len(), 2);
        let gone = compose(&Wanted::default(), &first.made, &now).unwrap();
        assert_eq!(entry(&gone, "enp6s0.20")["state"], "up");
        assert_eq!(
            entry(&gone, "enp6s0.20")["ipv4"]["address"],
            json!([{"ip": "172.17.0.9", "prefix-length": 24}])
        );
        now["interfaces"][4]["vlan"]["id"] = 21.into();
        let error = compose(&full, &Made::default(), &now).unwrap_err();
        assert!(error.contains("is there already") && error.contains("not VLAN 20"), "{error}");
    }

    #[test]
    fn the_trunk_is_the_first_nic_that_does_not_manage_the_host() {
        assert_eq!(choose_trunk(&host()).unwrap(), "enp6s0");
        let mut alone = host();
        alone["routes"]["running"] = json!([]);
        assert_eq!(choose_trunk(&alone).unwrap(), "enp6s0");
        alone["interfaces"] = json!([{"name": "eth0", "type": "ethernet"}]);
        assert_eq!(choose_trunk(&alone).unwrap(), "eth0");
        alone["interfaces"] = json!([{"name": "lo", "type": "loopback"}]);
        assert!(choose_trunk(&alone).unwrap_err().contains("--trunk"));
        let full = wanted(&seed(), &settings(), "eth9").unwrap();
        let error = compose(&full, &Made::default(), &host()).unwrap_err();
        assert!(error.contains("no NIC eth9") && error.contains("enp6s0"), "{error}");
    }
}
