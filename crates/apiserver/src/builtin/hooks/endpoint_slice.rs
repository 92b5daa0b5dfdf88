//! EndpointSlices: one address type each, for life.

use std::collections::BTreeSet;

use landbridge_machinery::field::{FieldError, FieldPath, Problem};
use landbridge_machinery::hooks::Request;
use landbridge_machinery::names::{NameRule, is_subdomain, qualified_name};
use serde_json::Value;

use super::value::{is_empty, items, text};
use super::{immutable, name_errors, net, one_of, port};

const TYPES: &[&str] = &["FQDN", "IPv4", "IPv6"];
const MAX_ENDPOINTS: usize = 1000;
const MAX_ADDRESSES: usize = 100;
const MAX_PORTS: usize = 20000;

/// Everything wrong with a slice.
pub fn check(request: &Request<'_>, slice: &Value) -> Vec<FieldError> {
    let kind = FieldPath::new("addressType");
    let mut errors = Vec::new();
    match text(&slice["addressType"]) {
        "" => errors.push(FieldError::required(&kind, "")),
        given => errors.extend(one_of(&kind, given, TYPES)),
    }
    errors.extend(check_endpoints(slice));
    errors.extend(check_ports(slice));
    if let Some(old) = request.old {
        errors.extend(immutable(&kind, &slice["addressType"], &old["addressType"]));
    }
    errors
}

fn too_many(path: &FieldPath, number: usize, limit: usize) -> FieldError {
    FieldError::new(Problem::TooMany, path, number, format!("must have at most {limit} items"))
}

fn check_endpoints(slice: &Value) -> Vec<FieldError> {
    let path = FieldPath::new("endpoints");
    let endpoints = items(&slice["endpoints"]);
    if endpoints.len() > MAX_ENDPOINTS {
        return vec![too_many(&path, endpoints.len(), MAX_ENDPOINTS)];
    }
    let mut errors = Vec::new();
    for (i, endpoint) in endpoints.iter().enumerate() {
        let addresses = items(&endpoint["addresses"]);
        let path = path.index(i).child("addresses");
        if addresses.is_empty() {
            errors.push(FieldError::required(&path, "must contain at least 1 address"));
        } else if addresses.len() > MAX_ADDRESSES {
            errors.push(too_many(&path, addresses.len(), MAX_ADDRESSES));
        }
        for (i, address) in addresses.iter().enumerate() {
            errors.extend(check_address(
                &path.index(i),
                text(&slice["addressType"]),
                text(address),
            ));
        }
    }
    errors
}

fn check_address(path: &FieldPath, kind: &str, address: &str) -> Vec<FieldError> {
    let ip = address.parse::<std::net::IpAddr>().ok();
    let wrong = |why: &str| vec![FieldError::invalid(path, address, why)];
    match (kind, ip) {
        ("IPv4", Some(ip)) if ip.is_ipv4() => net::special(path, ip, address),
        ("IPv6", Some(ip)) if ip.is_ipv6() => net::special(path, ip, address),
        ("IPv4", _) => wrong("must be a valid IPv4 address"),
        ("IPv6", _) => wrong("must be a valid IPv6 address"),
        ("FQDN", _) if !is_subdomain(address.strip_suffix('.').unwrap_or(address)) => {
            name_errors(path, address, NameRule::Subdomain)
        }
        _ => Vec::new(),
    }
}

fn check_ports(slice: &Value) -> Vec<FieldError> {
    let path = FieldPath::new("ports");
    let ports = items(&slice["ports"]);
    if ports.len() > MAX_PORTS {
        return vec![too_many(&path, ports.len(), MAX_PORTS)];
    }
    let mut errors = Vec::new();
    let mut names = BTreeSet::new();
    for (i, item) in ports.iter().enumerate() {
        let path = path.index(i);
        let name = text(&item["name"]);
        if !name.is_empty() {
            errors.extend(name_errors(&path.child("name"), name, NameRule::Label));
        }
        if !names.insert(name) {
            errors.push(FieldError::duplicate(&path.child("name"), name));
        }
        errors.extend(port::protocol(&path.child("protocol"), &item["protocol"]));
        if !is_empty(&item["appProtocol"]) {
            let given = text(&item["appProtocol"]);
            let wrong = qualified_name(given).into_iter();
            errors.extend(
                wrong.map(|why| FieldError::invalid(&path.child("appProtocol"), given, why)),
            );
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{admit, lines};

    const GROUP: &str = "discovery.k8s.io";

    #[test]
    fn addresses_are_of_the_type() {
        let cases = [
            ("IPv4", "10.0.0.1", ""),
            ("IPv6", "2001:db8::1", ""),
            ("FQDN", "a.example.com", ""),
            ("IPv4", "2001:db8::1", r#""2001:db8::1": must be a valid IPv4 address"#),
            ("IPv6", "10.0.0.1", r#""10.0.0.1": must be a valid IPv6 address"#),
            (
                "IPv4",
                "169.254.0.1",
                r#""169.254.0.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)"#,
            ),
        ];
        for (kind, address, why) in cases {
            let slice = json!({"metadata": {"name": "a"}, "addressType": kind,
                "endpoints": [{"addresses": [address]}], "ports": [{"port": 1}]});
            let lines = lines(&admit(GROUP, "EndpointSlice", None, slice));
            if why.is_empty() {
                assert!(lines.is_empty(), "{lines:?}");
            } else {
                assert_eq!(lines, [format!("endpoints[0].addresses[0]: Invalid value: {why}")]);
            }
        }
    }

    #[test]
    fn the_type_is_there_and_stays() {
        let none = json!({"metadata": {"name": "a"}, "endpoints": [{"addresses": []}]});
        assert_eq!(
            lines(&admit(GROUP, "EndpointSlice", None, none)),
            [
                "addressType: Required value",
                "endpoints[0].addresses: Required value: must contain at least 1 address",
            ]
        );
        let old = json!({"metadata": {"name": "a"}, "addressType": "IPv4"});
        let new = json!({"metadata": {"name": "a"}, "addressType": "IPv6"});
        assert_eq!(
            lines(&admit(GROUP, "EndpointSlice", Some(&old), new)),
            [r#"addressType: Invalid value: "IPv6": field is immutable"#]
        );
    }
}
