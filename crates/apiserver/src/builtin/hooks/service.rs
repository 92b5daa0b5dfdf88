//! Services. Addresses and node ports are given out elsewhere; here is what they must look like.

use std::collections::BTreeSet;

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::hooks::Request;
use landbridge_machinery::names::NameRule;
use landbridge_machinery::status::ApiResult;
use serde_json::{Map, Value, json};

use super::value::{is_empty, items, items_mut, map_at, set, set_default, text};
use super::{name_errors, net, one_of, port};

const TYPES: &[&str] = &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const CLIENT_IP_SECONDS: u32 = 10800;

/// Fills in what depends on the type, and keeps what an update leaves out.
pub fn mutate(request: &Request<'_>, service: &mut Value) -> ApiResult<()> {
    for port in items_mut(service, &["spec", "ports"]) {
        if matches!(port["targetPort"].as_i64(), Some(0)) || is_empty(&port["targetPort"]) {
            let number = port["port"].clone();
            set(port, "targetPort", number);
        }
    }
    if let Some(old) = request.old {
        keep_allocated(&old["spec"], service);
    }
    let Some(spec) = map_at(service, &["spec"]) else { return Ok(()) };
    keep_addresses_alike(spec);
    affinity(spec);
    let kind = spec.get("type").map(text).unwrap_or_default().to_owned();
    if is_external(&Value::Object(spec.clone())) {
        set_default(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind != "ExternalName" {
        set_default(spec, "internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        set_default(spec, "allocateLoadBalancerNodePorts", true);
        for ingress in items_mut(service, &["status", "loadBalancer", "ingress"]) {
            if !is_empty(&ingress["ip"]) && is_empty(&ingress["ipMode"]) {
                set(ingress, "ipMode", "VIP");
            }
        }
    }
    Ok(())
}

/// A client that sends back less than it read does not give up its address or its node ports.
fn keep_allocated(old: &Value, service: &mut Value) {
    let takes_address = |spec: &Value| text(&spec["type"]) != "ExternalName";
    let takes_ports = |spec: &Value| matches!(text(&spec["type"]), "NodePort" | "LoadBalancer");
    let new = service["spec"].clone();
    if takes_ports(old) && takes_ports(&new) {
        for port in items_mut(service, &["spec", "ports"]) {
            let same = |o: &&Value| o["port"] == port["port"] && o["protocol"] == port["protocol"];
            let before = items(&old["ports"]).iter().find(same).map(|o| o["nodePort"].clone());
            if let Some(before) = before.filter(|p| p.is_number() && port["nodePort"].is_null()) {
                set(port, "nodePort", before);
            }
        }
    }
    let Some(spec) = map_at(service, &["spec"]) else { return };
    if takes_address(old)
        && takes_address(&new)
        && is_empty(&new["clusterIP"])
        && is_empty(&new["clusterIPs"])
    {
        for field in ["clusterIP", "clusterIPs"] {
            if !is_empty(&old[field]) {
                spec.insert(field.into(), old[field].clone());
            }
        }
    }
    // Whoever changes the one field means the other as well.
    let changed = new["clusterIP"] != old["clusterIP"] && new["clusterIPs"] == old["clusterIPs"];
    if changed
        && !is_empty(&new["clusterIP"])
        && let Some(first) = spec.get_mut("clusterIPs").and_then(|list| list.get_mut(0))
    {
        *first = new["clusterIP"].clone();
    }
    if text(&new["type"]) == "LoadBalancer"
        && is_empty(&new["healthCheckNodePort"])
        && let Some(port) = old.get("healthCheckNodePort")
    {
        spec.insert("healthCheckNodePort".into(), port.clone());
    }
}

/// `clusterIP` is the first of `clusterIPs`; clients may give either.
fn keep_addresses_alike(spec: &mut Map<String, Value>) {
    let first = spec.get("clusterIPs").map(|ips| ips[0].clone()).unwrap_or_default();
    let single = spec.get("clusterIP").cloned().unwrap_or_default();
    if is_empty(&first) && !is_empty(&single) {
        spec.insert("clusterIPs".into(), json!([single]));
    } else if is_empty(&single) && !is_empty(&first) {
        spec.insert("clusterIP".into(), first);
    }
}

fn affinity(spec: &mut Map<String, Value>) {
    match spec.get("sessionAffinity").map(text) {
        Some("None") => {
            spec.remove("sessionAffinityConfig");
        }
        Some("ClientIP") => {
            let config = spec.entry("sessionAffinityConfig").or_insert(Value::Null);
            if config["clientIP"]["timeoutSeconds"].is_null() {
                *config = json!({"clientIP": {"timeoutSeconds": CLIENT_IP_SECONDS}});
            }
        }
        _ => {}
    }
}

fn is_external(spec: &Value) -> bool {
    match text(&spec["type"]) {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => !is_empty(&spec["externalIPs"]),
        _ => false,
    }
}

fn is_headless(spec: &Value) -> bool {
    text(&spec["clusterIP"]) == "None" || text(&spec["clusterIPs"][0]) == "None"
}

/// Everything wrong with a service.
pub fn check(request: &Request<'_>, service: &Value) -> Vec<FieldError> {
    let spec = &service["spec"];
    let path = FieldPath::new("spec");
    let mut errors = check_ports(spec, &path);
    errors.extend(one_of(
        &path.child("sessionAffinity"),
        text(&spec["sessionAffinity"]),
        &["ClientIP", "None"],
    ));
    errors.extend(one_of(&path.child("type"), text(&spec["type"]), TYPES));
    errors.extend(check_type(spec, &path));
    errors.extend(check_addresses(spec, &path));
    errors.extend(check_traffic(spec, &path));
    if let Some(old) = request.old {
        errors.extend(check_change(&old["spec"], spec, &path));
    }
    errors
}

fn check_ports(spec: &Value, path: &FieldPath) -> Vec<FieldError> {
    let ports = items(&spec["ports"]);
    let path = path.child("ports");
    if ports.is_empty() {
        let needed = !is_headless(spec) && text(&spec["type"]) != "ExternalName";
        return if needed { vec![FieldError::required(&path, "")] } else { Vec::new() };
    }
    let mut errors = Vec::new();
    let (mut names, mut numbers) = (BTreeSet::new(), BTreeSet::new());
    for (i, item) in ports.iter().enumerate() {
        let path = path.index(i);
        let name = text(&item["name"]);
        if name.is_empty() {
            if ports.len() > 1 {
                errors.push(FieldError::required(&path.child("name"), ""));
            }
        } else {
            errors.extend(name_errors(&path.child("name"), name, NameRule::Label));
            if !names.insert(name) {
                errors.push(FieldError::duplicate(&path.child("name"), name));
            }
        }
        errors.extend(port::number(&path.child("port"), item["port"].as_i64().unwrap_or(0)));
        errors.extend(port::protocol(&path.child("protocol"), &item["protocol"]));
        errors.extend(port::number_or_name(&path.child("targetPort"), &item["targetPort"]));
        if text(&spec["type"]) == "ClusterIP" && item["nodePort"].as_i64().unwrap_or(0) != 0 {
            let why = "may not be used when `type` is 'ClusterIP'";
            errors.push(FieldError::forbidden(&path.child("nodePort"), why));
        }
        if !numbers.insert((text(&item["protocol"]), item["port"].as_i64())) {
            let same = json!({"protocol": item["protocol"], "port": item["port"]});
            errors.push(FieldError::duplicate(&path, same));
        }
    }
    errors
}

fn check_type(spec: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let kind = text(&spec["type"]);
    match kind {
        "LoadBalancer" | "NodePort" if is_headless(spec) => {
            let why = format!("may not be set to 'None' for {kind} services");
            errors.push(FieldError::invalid(&path.child("clusterIPs").index(0), "None", why));
        }
        "ExternalName" => {
            for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                if !is_empty(&spec[field]) {
                    let why = "may not be set for ExternalName services";
                    errors.push(FieldError::forbidden(&path.child(field), why));
                }
            }
            let name = text(&spec["externalName"]);
            let path = path.child("externalName");
            match name.strip_suffix('.').unwrap_or(name) {
                "" => errors.push(FieldError::required(&path, "")),
                name => errors.extend(name_errors(&path, name, NameRule::Subdomain)),
            }
        }
        _ => {}
    }
    if kind != "LoadBalancer" {
        for field in ["loadBalancerSourceRanges", "loadBalancerClass"] {
            if !is_empty(&spec[field]) {
                let why = "may only be used when `type` is 'LoadBalancer'";
                errors.push(FieldError::forbidden(&path.child(field), why));
            }
        }
    }
    errors
}

fn check_addresses(spec: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let ips = items(&spec["clusterIPs"]);
    for (i, ip) in ips.iter().enumerate().filter(|(_, ip)| text(ip) != "None") {
        errors.extend(net::ip(&path.child("clusterIPs").index(i), text(ip)).err());
    }
    if !ips.is_empty() && ips[0] != spec["clusterIP"] {
        let why = "first value must match `clusterIP`";
        errors.push(FieldError::invalid(
            &path.child("clusterIPs"),
            spec["clusterIPs"].clone(),
            why,
        ));
    }
    for (i, ip) in items(&spec["externalIPs"]).iter().enumerate() {
        let path = path.child("externalIPs").index(i);
        match net::ip(&path, text(ip)) {
            Ok(address) => errors.extend(net::special(&path, address, text(ip))),
            Err(error) => errors.push(error),
        }
    }
    for (i, range) in items(&spec["loadBalancerSourceRanges"]).iter().enumerate() {
        let path = path.child("loadBalancerSourceRanges").index(i);
        errors.extend(net::cidr(&path, text(range).trim()).err());
    }
    errors
}

fn check_traffic(spec: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let given = |field: &str| !is_empty(&spec[field]);
    let policy = path.child("externalTrafficPolicy");
    if given("externalTrafficPolicy") && !is_external(spec) {
        let why = "may only be set for externally-accessible services";
        errors.push(FieldError::invalid(&policy, spec["externalTrafficPolicy"].clone(), why));
    }
    for field in ["externalTrafficPolicy", "internalTrafficPolicy"] {
        if given(field) {
            errors.extend(one_of(&path.child(field), text(&spec[field]), &["Cluster", "Local"]));
        }
    }
    let seconds = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"].as_i64();
    if let Some(seconds) = seconds.filter(|s| !(1..=86400).contains(s)) {
        let path = path.child("sessionAffinityConfig.clientIP.timeoutSeconds");
        errors.push(FieldError::invalid(
            &path,
            seconds,
            "must be greater than 0 and less than 86400",
        ));
    }
    errors
}

fn check_change(old: &Value, new: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let external = |spec: &Value| text(&spec["type"]) == "ExternalName";
    if external(old) || external(new) || (is_headless(old) && is_headless(new)) {
        return errors;
    }
    let (before, after) = (items(&old["clusterIPs"]), items(&new["clusterIPs"]));
    let path = path.child("clusterIPs");
    let changed = |i: usize| {
        FieldError::invalid(&path.index(i), new["clusterIPs"].clone(), "may not change once set")
    };
    if !before.is_empty() && after.is_empty() {
        let why = "primary clusterIP can not be unset";
        errors.push(FieldError::invalid(&path.index(0), json!([]), why));
    }
    let differing = before.iter().zip(after).enumerate().filter(|(_, (a, b))| a != b);
    errors.extend(differing.map(|(i, _)| changed(i)));
    errors
}

#[cfg(test)]
mod tests {
    use super::super::testing::{admit, created, lines};
    use super::*;

    fn service(spec: Value) -> Value {
        json!({"metadata": {"name": "a", "namespace": "n"}, "spec": spec})
    }

    #[test]
    fn defaults_follow_the_type() {
        let cluster_ip = created("", "Service", service(json!({"ports": [{"port": 80}]})));
        assert_eq!(
            cluster_ip["spec"],
            json!({"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
                "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}]})
        );
        let balanced = created(
            "",
            "Service",
            service(json!({"type": "LoadBalancer", "sessionAffinity": "ClientIP",
                "ports": [{"port": 80, "targetPort": "http"}]})),
        );
        let spec = &balanced["spec"];
        assert_eq!(spec["externalTrafficPolicy"], "Cluster");
        assert_eq!(spec["allocateLoadBalancerNodePorts"], true);
        assert_eq!(spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"], 10800);
        assert_eq!(spec["ports"][0]["targetPort"], "http");
        let named = created(
            "",
            "Service",
            service(json!({"type": "ExternalName", "externalName": "x.org"})),
        );
        assert!(named["spec"].get("internalTrafficPolicy").is_none());
    }

    #[test]
    fn wrong_services_are_explained() {
        let cases = [
            (json!({}), vec!["spec.ports: Required value"]),
            (json!({"clusterIP": "None"}), vec![]),
            (
                json!({"ports": [{"port": 80}, {"port": 81}]}),
                vec!["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"],
            ),
            (
                json!({"ports": [{"port": 0, "targetPort": 1}]}),
                vec![
                    "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
                ],
            ),
            (
                json!({"ports": [{"port": 1, "protocol": "ICMP"}]}),
                vec![
                    r#"spec.ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP""#,
                ],
            ),
            (
                json!({"ports": [{"name": "a", "port": 1}, {"name": "a", "port": 2}]}),
                vec![r#"spec.ports[1].name: Duplicate value: "a""#],
            ),
            (
                json!({"ports": [{"name": "a", "port": 1}, {"name": "b", "port": 1}]}),
                vec![r#"spec.ports[1]: Duplicate value: {"port":1,"protocol":"TCP"}"#],
            ),
            (
                json!({"type": "Magic", "ports": [{"port": 1}]}),
                vec![
                    r#"spec.type: Unsupported value: "Magic": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort""#,
                ],
            ),
            (json!({"type": "ExternalName"}), vec!["spec.externalName: Required value"]),
            (
                json!({"ports": [{"port": 1}], "loadBalancerSourceRanges": ["10.0.0.0/8"]}),
                vec![
                    "spec.loadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
                ],
            ),
            (
                json!({"ports": [{"port": 1}], "clusterIP": "10.0.0"}),
                vec![
                    r#"spec.clusterIPs[0]: Invalid value: "10.0.0": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"#,
                ],
            ),
            (
                json!({"ports": [{"port": 1, "nodePort": 30000}]}),
                vec![
                    "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
                ],
            ),
            (
                json!({"type": "NodePort", "clusterIP": "None", "ports": [{"port": 1}]}),
                vec![
                    r#"spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for NodePort services"#,
                ],
            ),
        ];
        for (spec, wanted) in cases {
            assert_eq!(lines(&admit("", "Service", None, service(spec.clone()))), wanted, "{spec}");
        }
    }

    #[test]
    fn addresses_stay() {
        let old = created(
            "",
            "Service",
            service(json!({"type": "NodePort", "clusterIP": "10.0.0.5",
                "ports": [{"port": 80, "nodePort": 30001}]})),
        );
        let moved = service(json!({"clusterIP": "10.0.0.6", "ports": [{"port": 80}]}));
        assert_eq!(
            lines(&admit("", "Service", Some(&old), moved)),
            [r#"spec.clusterIPs[0]: Invalid value: ["10.0.0.6"]: may not change once set"#]
        );
        let silent = service(json!({"type": "NodePort", "ports": [{"port": 80}]}));
        let kept = admit("", "Service", Some(&old), silent).expect("admitted");
        assert_eq!(kept["spec"]["clusterIP"], "10.0.0.5");
        assert_eq!(kept["spec"]["ports"][0]["nodePort"], 30001);
    }
}
