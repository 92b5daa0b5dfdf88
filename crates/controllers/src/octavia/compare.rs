//! Whether a field is as it should be.

use std::net::IpAddr;

use landbridge_api::net::Cidr;
use serde_json::{Map, Value};

use super::seen::Thing;

/// The fields that are not as they should be. What this Neutron does not show is not looked at.
pub fn differences(thing: &Thing, wanted: &Map<String, Value>) -> Map<String, Value> {
    wanted
        .iter()
        .filter(|(field, value)| thing.get(field).is_some_and(|have| !is_same(value, have)))
        .map(|(field, value)| (field.clone(), value.clone()))
        .collect()
}

/// Whether what is there is what is wanted: maps may have more fields, lists have an order that nobody
/// chose, and addresses are written in several ways.
pub fn is_same(wanted: &Value, have: &Value) -> bool {
    match (wanted, have) {
        (Value::Object(wanted), Value::Object(have)) if wanted.is_empty() => have.is_empty(),
        (Value::Object(wanted), Value::Object(have)) => wanted
            .iter()
            .all(|(field, value)| is_same(value, have.get(field).unwrap_or(&Value::Null))),
        (Value::Array(wanted), Value::Array(have)) => {
            let mut left: Vec<&Value> = have.iter().collect();
            wanted.len() == have.len()
                && wanted.iter().all(|value| {
                    let found = left.iter().position(|other| is_same(value, other));
                    found.map(|at| left.swap_remove(at)).is_some()
                })
        }
        (Value::String(wanted), Value::String(have)) => wanted == have || is_same_net(wanted, have),
        (Value::Null, Value::String(text)) | (Value::String(text), Value::Null) => text.is_empty(),
        (wanted, have) => wanted == have,
    }
}

fn is_same_net(a: &str, b: &str) -> bool {
    if let (Ok(a), Ok(b)) = (a.parse::<IpAddr>(), b.parse::<IpAddr>()) {
        return a == b;
    }
    matches!((a.parse::<Cidr>(), b.parse::<Cidr>()), (Ok(a), Ok(b)) if a == b)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_the_same() {
        let rows = [
            (json!("a"), json!("a"), true),
            (json!("a"), json!("b"), false),
            (json!(""), json!(null), true),
            (json!(null), json!("x"), false),
            (json!(true), json!(false), false),
            (json!("fd00::1"), json!("fd00:0::1"), true),
            (json!("172.23.0.0/24"), json!("172.23.0.0/25"), false),
            (json!(["a", "b"]), json!(["b", "a"]), true),
            (json!(["a", "a"]), json!(["b", "a"]), false),
            (json!(["a"]), json!(["a", "b"]), false),
            (json!({"ip": "10.0.0.1"}), json!({"ip": "10.0.0.1", "subnet": "s"}), true),
            (json!({"ip": "10.0.0.1"}), json!({"subnet": "s"}), false),
            (json!({"ip": "10.0.0.1"}), json!(null), false),
            (json!([]), json!([{"x": 1}]), false),
            (json!({}), json!({}), true),
            (json!({}), json!({"x": 1}), false),
            (json!([{"o": "mtu", "v": null}]), json!([{"o": "mtu", "v": "1"}]), false),
        ];
        for (wanted, have, expected) in rows {
            assert_eq!(is_same(&wanted, &have), expected, "{wanted} {have}");
        }
    }

    #[test]
    fn what_is_not_shown_is_not_looked_at() {
        let thing = Thing::new(json!({"name": "x", "shared": true}));
        let wanted = json!({"name": "y", "shared": true, "stateful": true});
        let changes = differences(&thing, wanted.as_object().unwrap());
        assert_eq!(Value::Object(changes), json!({"name": "y"}));
    }
}
