//! Lists and dictionaries as Neutron takes them.

use serde_json::{Map, Value};

use super::{Checked, Wrong, address, uuid};
use crate::network::fault::Fault;
use crate::network::python;

/// A list of different items that each pass.
pub fn list_of(value: &Value, check: impl Fn(&Value) -> Result<(), Wrong>) -> Result<(), Wrong> {
    let Some(items) = value.as_array() else {
        return Wrong::reason(format!("'{}' is not a list", python::str(value)));
    };
    let mut twice: Vec<&Value> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        if items[..at].contains(item) && !twice.contains(&item) {
            twice.push(item);
        }
    }
    if !twice.is_empty() {
        let shown: Vec<_> = twice.into_iter().map(python::str).collect();
        return Wrong::reason(format!("Duplicate items in the list: '{}'", shown.join(", ")));
    }
    items.iter().try_for_each(check)
}

/// A dictionary.
pub fn dictionary(value: &Value) -> Result<(), Wrong> {
    if value.is_object() {
        return Ok(());
    }
    Wrong::reason(format!("'{}' is not a dictionary", python::str(value)))
}

/// A dictionary with exactly these keys.
pub fn keys<'a>(value: &'a Value, expected: &[&str]) -> Result<&'a Map<String, Value>, Wrong> {
    let Some(map) = value.as_object() else {
        return Wrong::reason(format!(
            "Invalid input. '{}' must be a dictionary with keys: {}",
            python::str(value),
            python::repr(&expected.into())
        ));
    };
    let same = map.len() == expected.len() && expected.iter().all(|key| map.contains_key(*key));
    if !same {
        let provided: Vec<&str> = map.keys().map(String::as_str).collect();
        return Wrong::reason(format!(
            "Validation of dictionary's keys failed. Expected keys: {} Provided keys: {}",
            python::set(expected),
            python::set(&provided)
        ));
    }
    Ok(map)
}

/// A list of `{start, end}`, IPv6 compressed.
pub fn pools(value: &Value) -> Checked {
    if value.is_null() {
        return Ok(Value::Array(Vec::new()));
    }
    let format = || Fault::input("Invalid data format for allocation pools");
    let Some(items) = value.as_array().filter(|items| items.iter().all(Value::is_object)) else {
        return Err(format().into());
    };
    let mut kept = Vec::with_capacity(items.len());
    for item in items {
        let map = keys(item, &["start", "end"])?;
        let mut pool = Map::new();
        for end in ["start", "end"] {
            pool.insert(end.to_owned(), address::ip(map.get(end).unwrap_or(&Value::Null))?);
        }
        kept.push(Value::Object(pool));
    }
    Ok(kept.into())
}

/// A list of `{subnet_id, ip_address}`, either or both.
pub fn fixed_ips(value: &Value) -> Checked {
    let wrong = |value| format!("Invalid data format for fixed IP: '{}'", python::str(value));
    let Some(items) = value.as_array() else { return Wrong::reason(wrong(value)) };
    let mut seen: Vec<&Value> = Vec::new();
    for item in items {
        let Some(fixed) = item.as_object() else { return Wrong::reason(wrong(item)) };
        if let Some(ip) = fixed.get("ip_address") {
            if seen.contains(&ip) {
                return Wrong::reason(format!("Duplicate IP address '{}'", python::str(ip)));
            }
            address::ip_address(ip)?;
            seen.push(ip);
        }
        if let Some(subnet) = fixed.get("subnet_id") {
            uuid(subnet)?;
        }
    }
    Ok(value.clone())
}

/// A list of different addresses.
pub fn nameservers(value: &Value) -> Checked {
    let items: Vec<Value> = match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items.clone(),
        // Python goes through a text letter by letter.
        Value::String(text) => text.chars().map(|c| c.to_string().into()).collect(),
        Value::Object(map) => map.keys().map(|key| key.as_str().into()).collect(),
        other => {
            let shown = python::str(other);
            return Wrong::reason(format!("Invalid data format for nameserver: '{shown}'"));
        }
    };
    for (at, host) in items.iter().enumerate() {
        if let Err(wrong) = address::ip_address(host) {
            let Wrong::Reason(reason) = wrong else { return Err(wrong) };
            let shown = python::str(host);
            return Wrong::reason(format!("'{shown}' is not a valid nameserver. {reason}"));
        }
        if items[..at].contains(host) {
            return Wrong::reason(format!("Duplicate nameserver '{}'", python::str(host)));
        }
    }
    Ok(items.into())
}

/// A list of different `{destination, nexthop}`.
pub fn host_routes(value: &Value) -> Checked {
    if value.is_null() {
        return Ok(Value::Array(Vec::new()));
    }
    let Some(items) = value.as_array() else {
        let shown = python::str(value);
        return Wrong::reason(format!("Invalid data format for hostroute: '{shown}'"));
    };
    for (at, route) in items.iter().enumerate() {
        let map = keys(route, &["nexthop", "destination"])?;
        let of = |key: &str| map.get(key).unwrap_or(&Value::Null);
        address::route_cidr(of("destination"))?;
        address::ip_address(of("nexthop"))?;
        if items[..at].contains(route) {
            return Wrong::reason(format!("Duplicate hostroute '{}'", python::str(route)));
        }
    }
    Ok(value.clone())
}
