//! NetworkPolicies.

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::hooks::Request;
use landbridge_machinery::status::ApiResult;
use serde_json::{Value, json};

use super::value::{is_empty, items, map_at, text};
use super::{label_selector, net, one_of, port};

/// A policy is about incoming traffic, and about outgoing traffic when it has rules for it.
pub fn mutate(_: &Request<'_>, policy: &mut Value) -> ApiResult<()> {
    if !is_empty(&policy["spec"]["policyTypes"]) {
        return Ok(());
    }
    let outgoing = !is_empty(&policy["spec"]["egress"]);
    let types = if outgoing { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
    if let Some(spec) = map_at(policy, &["spec"]) {
        spec.insert("policyTypes".into(), types);
    }
    Ok(())
}

/// Everything wrong with a policy.
pub fn check(_: &Request<'_>, policy: &Value) -> Vec<FieldError> {
    let spec = &policy["spec"];
    let path = FieldPath::new("spec");
    let mut errors = label_selector::check(&path.child("podSelector"), &spec["podSelector"]);
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        for (i, rule) in items(&spec[rules]).iter().enumerate() {
            let path = path.child(rules).index(i);
            for (i, item) in items(&rule["ports"]).iter().enumerate() {
                errors.extend(check_port(&path.child("ports").index(i), item));
            }
            for (i, peer) in items(&rule[peers]).iter().enumerate() {
                errors.extend(check_peer(&path.child(peers).index(i), peer));
            }
        }
    }
    let types = items(&spec["policyTypes"]);
    let path = path.child("policyTypes");
    if types.len() > 2 {
        let why = "may not specify more than two policyTypes";
        errors.push(FieldError::invalid(&path, spec["policyTypes"].clone(), why));
        return errors;
    }
    for (i, kind) in types.iter().enumerate() {
        errors.extend(one_of(&path.index(i), text(kind), &["Egress", "Ingress"]));
    }
    errors
}

fn check_port(path: &FieldPath, item: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    errors.extend(port::protocol(&path.child("protocol"), &item["protocol"]));
    if !item["port"].is_null() {
        errors.extend(port::number_or_name(&path.child("port"), &item["port"]));
    }
    let Some(end) = item["endPort"].as_i64() else { return errors };
    let path = path.child("endPort");
    match item["port"].as_i64() {
        Some(first) if end < first => {
            errors.push(FieldError::invalid(&path, end, "must be greater than or equal to `port`"));
        }
        Some(_) => errors.extend(port::number(&path, end)),
        None if item["port"].is_string() => {
            let why = "may not be specified when `port` is non-numeric";
            errors.push(FieldError::invalid(&path, end, why));
        }
        None => {
            let why = "may not be specified when `port` is not specified";
            errors.push(FieldError::invalid(&path, end, why));
        }
    }
    errors
}

fn check_peer(path: &FieldPath, peer: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut peers = 0;
    for selector in ["podSelector", "namespaceSelector"] {
        if peer[selector].is_object() {
            peers += 1;
            errors.extend(label_selector::check(&path.child(selector), &peer[selector]));
        }
    }
    let block = &peer["ipBlock"];
    if block.is_object() {
        errors.extend(check_block(&path.child("ipBlock"), block));
        if peers > 0 {
            let why = "may not specify both ipBlock and another peer";
            errors.push(FieldError::forbidden(path, why));
        }
    } else if peers == 0 {
        errors.push(FieldError::required(path, "must specify a peer"));
    }
    errors
}

fn check_block(path: &FieldPath, block: &Value) -> Vec<FieldError> {
    let cidr = text(&block["cidr"]);
    if cidr.is_empty() {
        return vec![FieldError::required(&path.child("cidr"), "")];
    }
    let network = match net::cidr(&path.child("cidr"), cidr) {
        Ok(network) => network,
        Err(error) => return vec![error],
    };
    let mut errors = Vec::new();
    for (i, except) in items(&block["except"]).iter().enumerate() {
        let path = path.child("except").index(i);
        match net::cidr(&path, text(except)) {
            Ok(inner) if network.contains(&inner) && network != inner => {}
            Ok(_) => {
                let why = format!("must be a strict subset of `cidr` \"{cidr}\"");
                errors.push(FieldError::invalid(&path, except.clone(), why));
            }
            Err(error) => errors.push(error),
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::super::testing::{admit, created, lines};
    use super::*;

    const GROUP: &str = "networking.k8s.io";

    fn policy(spec: Value) -> Value {
        json!({"metadata": {"name": "a"}, "spec": spec})
    }

    #[test]
    fn types_follow_the_rules() {
        let types = |spec: Value| {
            created(GROUP, "NetworkPolicy", policy(spec))["spec"]["policyTypes"].clone()
        };
        assert_eq!(types(json!({})), json!(["Ingress"]));
        assert_eq!(types(json!({"egress": []})), json!(["Ingress"]));
        assert_eq!(types(json!({"egress": [{}]})), json!(["Ingress", "Egress"]));
        assert_eq!(types(json!({"policyTypes": ["Egress"]})), json!(["Egress"]));
        let bare = created(GROUP, "NetworkPolicy", policy(json!({})));
        assert_eq!(bare["spec"]["podSelector"], json!({}));
    }

    #[test]
    fn rules_are_judged() {
        let cases = [
            (
                json!({"ingress": [{"from": [{}]}]}),
                "spec.ingress[0].from[0]: Required value: must specify a peer",
            ),
            (
                json!({"ingress": [{"from": [{"podSelector": {}, "ipBlock": {"cidr": "10.0.0.0/8"}}]}]}),
                "spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer",
            ),
            (
                json!({"egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/8"]}}]}]}),
                r#"spec.egress[0].to[0].ipBlock.except[0]: Invalid value: "11.0.0.0/8": must be a strict subset of `cidr` "10.0.0.0/8""#,
            ),
            (
                json!({"ingress": [{"ports": [{"port": 80, "endPort": 79}]}]}),
                "spec.ingress[0].ports[0].endPort: Invalid value: 79: must be greater than or equal to `port`",
            ),
            (
                json!({"policyTypes": ["Sideways"]}),
                r#"spec.policyTypes[0]: Unsupported value: "Sideways": supported values: "Egress", "Ingress""#,
            ),
        ];
        for (spec, wanted) in cases {
            assert_eq!(lines(&admit(GROUP, "NetworkPolicy", None, policy(spec))), [wanted]);
        }
        let good = json!({"ingress": [{"ports": [{"port": 80, "endPort": 90}, {"port": "http"}],
            "from": [{"podSelector": {}, "namespaceSelector": {}}]}]});
        assert!(admit(GROUP, "NetworkPolicy", None, policy(good)).is_ok());
    }
}
