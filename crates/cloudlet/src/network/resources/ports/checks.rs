//! What the attributes of a port have to be.

use ipnet::IpNet;
use serde_json::{Map, Value, json};

use crate::caller::Caller;
use crate::network::check::{self, Check, Checked, Wrong};
use crate::network::fault::Fault;
use crate::network::python;
use crate::network::resources::ports::{PORT, is_router_interface};
use crate::object::Object;
use crate::state::Tx;

/// Most address pairs of a port (`max_allowed_address_pair`).
const PAIRS: usize = 10;

/// `allowed_address_pairs`
pub fn pairs(value: &Value) -> Checked {
    if value.is_null() {
        return Ok(json!([]));
    }
    let Some(pairs) = value.as_array() else {
        return Err(Fault::request("Allowed address pairs must be a list.").into());
    };
    if pairs.len() > PAIRS {
        return Err(Fault::bad(
            "AllowedAddressPairExhausted",
            format!("The number of allowed address pair exceeds the maximum {PAIRS}."),
        )
        .into());
    }
    let mut seen: Vec<(Value, Value)> = Vec::new();
    let mut kept = Vec::new();
    for pair in pairs {
        let Some(map) = pair.as_object() else {
            return Wrong::reason(format!("'{}' is not a dictionary", python::str(pair)));
        };
        kept.push(Value::Object(self::pair(map, &mut seen)?));
    }
    Ok(kept.into())
}

fn pair(
    map: &Map<String, Value>,
    seen: &mut Vec<(Value, Value)>,
) -> Result<Map<String, Value>, Fault> {
    let request = |wrong| match wrong {
        Wrong::Reason(reason) => Fault::request(reason),
        Wrong::Fault(fault) => fault,
    };
    let mut kept = Map::new();
    if let Some(mac) = map.get("mac_address") {
        kept.insert("mac_address".to_owned(), Check::Mac.run(mac).map_err(request)?);
    }
    let Some(ip) = map.get("ip_address") else {
        let message = "AllowedAddressPair must contain ip_address";
        return Err(Fault::bad("AllowedAddressPairsMissingIP", message));
    };
    let key = (map.get("mac_address").cloned().unwrap_or(Value::Null), ip.clone());
    if seen.contains(&key) {
        return Err(twice(&key.0, ip));
    }
    seen.push(key);
    let unknown: Vec<&str> = map
        .keys()
        .map(String::as_str)
        .filter(|name| !["mac_address", "ip_address"].contains(name))
        .collect();
    if !unknown.is_empty() {
        let message = format!("Unrecognized attribute(s) '{}'", unknown.join(", "));
        return Err(Fault::request(message));
    }
    let text = ip.as_str().unwrap_or_default();
    if text.contains('/') {
        check::subnet(ip).map_err(request)?;
        no_multicast_net(text)?;
    } else {
        let address = check::ip_address(ip).map_err(request)?;
        if address.is_multicast() {
            return Err(Fault::request(format!(
                "IP {address} is a multicast address, which is not supported."
            )));
        }
    }
    kept.insert("ip_address".to_owned(), ip.clone());
    if let Some(mac) = kept.get("mac_address").and_then(Value::as_str)
        && mac.get(1..2).is_some_and(|digit| "13579bdf".contains(digit))
    {
        return Err(Fault::request(format!(
            "MAC address {mac} is a multicast address, which is not supported."
        )));
    }
    Ok(kept)
}

fn no_multicast_net(text: &str) -> Result<(), Fault> {
    let Ok(net) = text.parse::<IpNet>() else { return Ok(()) };
    let multicast = if net.network().is_ipv4() { "224.0.0.0/4" } else { "ff00::/8" };
    let Ok(range) = multicast.parse::<IpNet>() else { return Ok(()) };
    let everything = net.prefix_len() == 0 && net.network().is_ipv4();
    if !everything && (range.contains(&net.network()) || net.contains(&range)) {
        return Err(Fault::request(format!(
            "Subnet {net} overlaps with multicast range {range}, which is not supported."
        )));
    }
    Ok(())
}

fn twice(mac: &Value, ip: &Value) -> Fault {
    Fault::bad(
        "DuplicateAddressPairInRequest",
        format!(
            "Request contains duplicate address pair: mac_address {} ip_address {}.",
            python::str(mac),
            python::str(ip)
        ),
    )
}

/// `extra_dhcp_opts`: a list of `{opt_name, opt_value, ip_version}`.
pub fn dhcp_options(value: &Value) -> Checked {
    if value.is_null() {
        return Ok(Value::Null);
    }
    let Some(options) = value.as_array() else {
        return Err(Fault::input(format!("'{}' is not a list", python::str(value))).into());
    };
    let line = |value: &Value, most: usize| {
        value.as_str().is_some_and(|text| {
            !text.trim().is_empty() && text.chars().count() <= most && text.lines().count() < 2
        })
    };
    let mut kept = Vec::new();
    for (at, option) in options.iter().enumerate() {
        if options[..at].contains(option) {
            let shown = python::str(option);
            return Err(Fault::input(format!("Duplicate items in the list: '{shown}'")).into());
        }
        let of = |name: &str| option.get(name);
        let known = ["opt_name", "opt_value", "ip_version"];
        let version = of("ip_version").map_or(Some(4), python::int);
        let blank = of("opt_name")
            .and_then(Value::as_str)
            .is_some_and(|name| ["router", "classless-static-route"].contains(&name));
        let value_fits = of("opt_value").is_some_and(|value| {
            value.is_null() || line(value, 255) || (blank && check::text(value, 255).is_ok())
        });
        let fits =
            option.as_object().is_some_and(|m| m.keys().all(|k| known.contains(&k.as_str())))
                && of("opt_name").is_some_and(|name| line(name, 64))
                && value_fits
                && version.is_some_and(|version| [4, 6].contains(&version));
        if !fits {
            let shown = python::str(option);
            return Err(Fault::input(format!("No valid key specs matched for: {shown}")).into());
        }
        kept.push(json!({
            "opt_name": of("opt_name"), "opt_value": of("opt_value"), "ip_version": version,
        }));
    }
    Ok(kept.into())
}

/// `security_groups`: different ids; `null` is none.
pub fn groups(value: &Value) -> Checked {
    if value.is_null() { Ok(json!([])) } else { Check::Uuids.run(value) }
}

/// A router's port is not made by other projects.
pub fn device(tx: &Tx<'_>, who: &Caller, port: &Object) -> Result<(), Fault> {
    let device = port.text("device_id");
    if who.is_admin() || device.is_empty() || !is_router_interface(port.text("device_owner")) {
        return Ok(());
    }
    let routers = crate::network::RESOURCES.iter().find(|resource| resource.single == "router");
    let router = routers.and_then(|routers| tx.get(routers.kind, device));
    if router.is_some_and(|router| router.project() != port.project()) {
        return Err(Fault::conflict(
            "DeviceIDNotOwnedByTenant",
            format!(
                "The following device_id {device} is not owned by your project or matches another \
                 project router."
            ),
        ));
    }
    Ok(())
}

/// No other port of the network has the MAC address.
pub fn mac_free(tx: &Tx<'_>, network: &str, mac: &str) -> Result<(), Fault> {
    let mut others = tx.find(PORT.kind, "mac_address", mac);
    if others.any(|other| other.text("network_id") == network) {
        return Err(Fault::conflict(
            "MacAddressInUse",
            format!(
                "Unable to complete operation for network {network}. The mac address {mac} is in \
                 use."
            ),
        ));
    }
    Ok(())
}

/// A MAC address changes only while the port is not plugged in, and not on Neutron's own ports.
pub fn mac_change(tx: &Tx<'_>, before: &Object, port: &Object) -> Result<(), Fault> {
    let (old, new) = (before.text("mac_address"), port.text("mac_address"));
    let owner = port.text("device_owner");
    let bound = before.text("binding:vif_type");
    if !["unbound", "binding_failed", ""].contains(&bound) {
        return Err(Fault::conflict(
            "PortBound",
            format!(
                "Unable to complete operation on port {}, port is already bound, port type: \
                 {bound}, old_mac {old}, new_mac {new}.",
                before.id()
            ),
        ));
    }
    if owner.starts_with("network:") {
        return Err(Fault::conflict(
            "UnsupportedPortDeviceOwner",
            format!(
                "Operation mac address update is not supported for device_owner {owner} on port {}.",
                before.id()
            ),
        ));
    }
    mac_free(tx, before.text("network_id"), new)
}

/// Attributes of a new port that nobody named.
pub fn complete(port: &mut Object) {
    for name in ["extra_dhcp_opts", "allowed_address_pairs"] {
        if port.get(name).is_null() {
            port.set(name, json!([]));
        }
    }
    if port.get("binding:host_id").is_null() {
        port.set("binding:host_id", "");
    }
    if port.get("binding:profile").is_null() {
        port.set("binding:profile", json!({}));
    }
    let mac = port.text("mac_address").to_owned();
    pairs_with_mac(port, &mac);
}

/// Attributes of an updated port that stand for something else than they say.
pub fn merge(before: &Object, given: &Object, port: &mut Object) {
    if given.has("extra_dhcp_opts") {
        let options = dhcp_merged(before, given);
        port.set("extra_dhcp_opts", options);
    }
    for (name, empty) in [("binding:host_id", json!("")), ("binding:profile", json!({}))] {
        if port.get(name).is_null() {
            port.set(name, empty);
        }
    }
    let mac = port.text("mac_address").to_owned();
    pairs_with_mac(port, &mac);
}

/// An option that is given without a value goes, others are added or replaced.
fn dhcp_merged(before: &Object, given: &Object) -> Value {
    let same = |a: &Value, b: &Value| {
        a.get("opt_name") == b.get("opt_name") && a.get("ip_version") == b.get("ip_version")
    };
    let news = given.list("extra_dhcp_opts");
    let kept =
        before.list("extra_dhcp_opts").iter().filter(|old| !news.iter().any(|n| same(n, old)));
    let added = news.iter().filter(|new| new.get("opt_value").is_some_and(|v| !v.is_null()));
    kept.chain(added).cloned().collect()
}

/// A pair without a MAC address means the port's own.
fn pairs_with_mac(port: &mut Object, mac: &str) {
    let filled = port.list("allowed_address_pairs").iter().map(|pair| {
        let mut pair = pair.as_object().cloned().unwrap_or_default();
        pair.entry("mac_address").or_insert_with(|| mac.into());
        Value::Object(pair)
    });
    let filled: Vec<Value> = filled.collect();
    port.set("allowed_address_pairs", filled);
}
