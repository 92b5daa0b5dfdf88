//! Endpoints: each subset has addresses, and ports with names when there are several.

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::hooks::Request;
use landbridge_machinery::names::NameRule;
use serde_json::Value;

use super::value::{items, text};
use super::{name_errors, net, port};

/// Everything wrong with endpoints.
pub fn check(_: &Request<'_>, endpoints: &Value) -> Vec<FieldError> {
    let path = FieldPath::new("subsets");
    let subsets = items(&endpoints["subsets"]).iter().enumerate();
    subsets.flat_map(|(i, subset)| check_subset(&path.index(i), subset)).collect()
}

fn check_subset(path: &FieldPath, subset: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let lists = ["addresses", "notReadyAddresses"];
    if lists.iter().all(|list| items(&subset[*list]).is_empty()) {
        let why = "must specify `addresses` or `notReadyAddresses`";
        errors.push(FieldError::required(path, why));
    }
    for list in lists {
        for (i, address) in items(&subset[list]).iter().enumerate() {
            let path = path.child(list).index(i).child("ip");
            let given = text(&address["ip"]);
            match net::ip(&path, given) {
                Ok(ip) => errors.extend(net::special(&path, ip, given)),
                Err(error) => errors.push(error),
            }
        }
    }
    let ports = items(&subset["ports"]);
    for (i, item) in ports.iter().enumerate() {
        let path = path.child("ports").index(i);
        match text(&item["name"]) {
            "" if ports.len() > 1 => errors.push(FieldError::required(&path.child("name"), "")),
            "" => {}
            name => errors.extend(name_errors(&path.child("name"), name, NameRule::Label)),
        }
        errors.extend(port::number(&path.child("port"), item["port"].as_i64().unwrap_or(0)));
        errors.extend(port::protocol(&path.child("protocol"), &item["protocol"]));
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{admit, lines};

    #[test]
    fn subsets_are_judged() {
        let cases = [
            (json!({"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}), vec![]),
            (
                json!({}),
                vec!["subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"],
            ),
            (
                json!({"addresses": [{"ip": "nonsense"}]}),
                vec![
                    r#"subsets[0].addresses[0].ip: Invalid value: "nonsense": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"#,
                ],
            ),
            (
                json!({"notReadyAddresses": [{"ip": "127.0.0.1"}]}),
                vec![
                    r#"subsets[0].notReadyAddresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)"#,
                ],
            ),
            (
                json!({"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 1, "name": "a"}, {"port": 2}]}),
                vec!["subsets[0].ports[1].name: Required value"],
            ),
        ];
        for (subset, wanted) in cases {
            let object = json!({"metadata": {"name": "a"}, "subsets": [subset]});
            assert_eq!(lines(&admit("", "Endpoints", None, object.clone())), wanted, "{object}");
        }
    }
}
