//! The state a policy wants of one node: captures filled in, defaults added.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::capture::{Captured, capture, fill_in};

/// A desired state may have so many bytes. Objects of an API server are not much larger.
const LARGEST: usize = 512 * 1024;

/// What a policy wants of this node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rendered {
    pub desired: Value,
    pub captured: Captured,
}

/// Works it out. An error is final: trying again would give the same one.
pub fn render(
    desired: &Value,
    questions: &BTreeMap<String, String>,
    known: &Captured,
    current: &Value,
) -> Result<Rendered, String> {
    match desired {
        Value::Object(_) => {}
        Value::Null => return Err("spec.desiredState is missing".to_owned()),
        _ => return Err("spec.desiredState has to be an object".to_owned()),
    }
    if desired.to_string().len() > LARGEST {
        return Err(format!("spec.desiredState is larger than {} KiB", LARGEST / 1024));
    }
    let captured = capture(questions, current, known)?;
    let mut desired = fill_in(desired, &captured)?;
    drop_nulls(&mut desired);
    add_trunks(&mut desired);
    Ok(Rendered { desired, captured })
}

/// Ports of a bridge carry all VLANs unless the policy says otherwise, as upstream has it.
fn add_trunks(desired: &mut Value) {
    let interfaces = desired.get_mut("interfaces").and_then(Value::as_array_mut);
    for interface in interfaces.into_iter().flatten() {
        let up = interface.get("state").is_none_or(|state| state == "up");
        if interface["type"] != "linux-bridge" || !up {
            continue;
        }
        let ports = interface.pointer_mut("/bridge/port").and_then(Value::as_array_mut);
        for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
            port.entry("vlan").or_insert_with(
                || json!({"mode": "trunk", "trunk-tags": [{"id-range": {"min": 2, "max": 4094}}]}),
            );
        }
    }
}

/// What is null is not said.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(desired: &Value) -> Result<Rendered, String> {
        render(desired, &BTreeMap::new(), &Captured::new(), &Value::Null)
    }

    #[test]
    fn ports_of_bridges_become_trunks() {
        let desired = json!({"interfaces": [
            {"name": "octbr", "type": "linux-bridge", "state": "up", "mtu": null,
             "bridge": {"options": {"stp": {"enabled": false}}, "port": [
                {"name": "enp6s0.24"}, {"name": "b", "vlan": {}}, {"name": "c", "vlan": {"mode": "access", "tag": 3}}]}},
            {"name": "br2", "type": "linux-bridge", "bridge": {"port": [{"name": "x"}]}},
            {"name": "br3", "type": "linux-bridge", "state": "absent", "bridge": {"port": [{"name": "x"}]}},
            {"name": "br4", "type": "linux-bridge"},
            {"name": "br5", "type": "ovs-bridge", "bridge": {"port": [{"name": "x"}]}},
        ]});
        let rendered = plain(&desired).unwrap().desired;
        let trunk = json!({"mode": "trunk", "trunk-tags": [{"id-range": {"min": 2, "max": 4094}}]});
        assert_eq!(rendered["interfaces"][0].get("mtu"), None);
        assert_eq!(rendered["interfaces"][0]["bridge"]["port"][0]["vlan"], trunk);
        assert_eq!(rendered["interfaces"][0]["bridge"]["port"][1]["vlan"], json!({}));
        assert_eq!(rendered["interfaces"][0]["bridge"]["port"][2]["vlan"]["tag"], 3);
        assert_eq!(rendered["interfaces"][1]["bridge"]["port"][0]["vlan"], trunk);
        for other in 2..5 {
            assert_eq!(rendered["interfaces"][other], desired["interfaces"][other]);
        }
    }

    #[test]
    fn what_is_no_state_is_refused() {
        assert!(plain(&Value::Null).unwrap_err().contains("missing"));
        assert!(plain(&json!("interfaces: []")).unwrap_err().contains("an object"));
        assert!(plain(&json!({"a": "x".repeat(LARGEST)})).unwrap_err().contains("512 KiB"));
        let questions = BTreeMap::from([("a".to_owned(), "interfaces".to_owned())]);
        let asked = render(&json!({}), &questions, &Captured::new(), &json!({}));
        assert_eq!(asked.unwrap_err(), "capture a: nothing was found at interfaces");
    }
}
