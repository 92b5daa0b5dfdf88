//! DNSData: names for a DNSMasq to answer.

use std::collections::HashMap;
use std::net::IpAddr;

use kube::CustomResource;
use landbridge_machinery::field::FieldPath;
use landbridge_machinery::hooks::{Hooks, Operation, Request};
use landbridge_machinery::object;
use landbridge_machinery::status::ApiResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::dnsdata_label;
use crate::admission::{self, Findings};
use crate::condition::Condition;

/// Names and their addresses.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.openstack.org",
    version = "v1beta1",
    kind = "DNSData",
    plural = "dnsdata",
    singular = "dnsdata",
    namespaced,
    status = "DNSDataStatus",
    derive = "PartialEq",
    doc = "Names with their addresses, served by every DNSMasq of the namespace that selects them.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        description = "Whether the names are handed to the name servers",
        json_path = ".status.conditions[0].status"
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        description = "What is missing",
        json_path = ".status.conditions[0].message"
    ),
    label("backup.openstack.org/restore", "true"),
    label("backup.openstack.org/category", "dataplane"),
    label("backup.openstack.org/restore-order", "20")
)]
#[serde(rename_all = "camelCase")]
pub struct DNSDataSpec {
    /// The names, by address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<DNSHost>,
    /// Which name servers serve this: those with the same value in their spec.
    #[serde(default = "dnsdata_label")]
    pub dns_data_label_selector_value: String,
}

/// One address and its names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DNSHost {
    /// The address.
    pub ip: String,
    /// Names that stand for it.
    pub hostnames: Vec<String>,
}

/// How far things got.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DNSDataStatus {
    /// Checksum of the names handed to the name servers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hash: String,
    /// How far things got; Ready comes first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Generation of the spec that this status answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// The rules of DNSData. Upstream has none, so almost everything is advice.
pub struct DNSDataHooks;

impl Hooks for DNSDataHooks {
    fn validate(&self, request: &Request<'_>, object: &Value) -> ApiResult<Vec<String>> {
        if request.operation == Operation::Delete || admission::keeps_spec(request, object) {
            return Ok(Vec::new());
        }
        let spec: DNSDataSpec = admission::spec(request, object)?;
        let mut findings = Findings::default();
        for (i, host) in spec.hosts.iter().enumerate() {
            check(host, &FieldPath::new("spec").child("hosts").index(i), &mut findings);
        }
        let owners = object::owner_references(object);
        let is_generated = owners.iter().any(|owner| owner["controller"] == true);
        repeated(&spec.hosts, is_generated, &mut findings);
        findings.answer(request)
    }
}

/// A host becomes one line of a hosts file, so a text must not begin another.
fn check(host: &DNSHost, path: &FieldPath, findings: &mut Findings) {
    let broken = "must not contain line breaks or other control characters";
    let ip_path = path.child("ip");
    if host.ip.contains(char::is_control) {
        findings.invalid(&ip_path, host.ip.as_str(), broken);
    } else if host.ip.parse::<IpAddr>().is_err() {
        let text = format!("{:?} is not an IP address, its names will not resolve", host.ip);
        findings.warn(&ip_path, text);
    }
    for (j, name) in host.hostnames.iter().enumerate() {
        let path = path.child("hostnames").index(j);
        if name.contains(char::is_control) {
            findings.invalid(&path, name.as_str(), broken);
        } else if !is_hostname(name) {
            findings.warn(&path, format!("{name:?} is not a host name"));
        }
    }
}

/// Names that are given twice: with the same address, or with several of one family. Whoever generates
/// names means the latter: one name for the pods of a service.
fn repeated(hosts: &[DNSHost], is_generated: bool, findings: &mut Findings) {
    let mut seen: HashMap<String, Vec<(IpAddr, usize)>> = HashMap::new();
    for (i, host) in hosts.iter().enumerate() {
        let Ok(ip) = host.ip.parse::<IpAddr>() else { continue };
        for (j, name) in host.hostnames.iter().enumerate() {
            let path = FieldPath::new("spec").child("hosts").index(i).child("hostnames").index(j);
            let folded = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
            let known = seen.entry(folded).or_default();
            let of_family = known.iter().find(|(other, _)| other.is_ipv4() == ip.is_ipv4());
            if let Some((_, first)) = known.iter().find(|(other, _)| *other == ip) {
                findings.warn(&path, format!("{name} has {ip} already by spec.hosts[{first}]"));
            } else if let Some((other, first)) = of_family.filter(|_| !is_generated) {
                let text = format!(
                    "{name} is {ip} here and {other} in spec.hosts[{first}]: both are answered"
                );
                findings.warn(&path, text);
            }
            known.push((ip, i));
        }
    }
}

/// Labels of letters, digits, hyphens and (as services use them) underscores; a final dot is fine.
pub fn is_hostname(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    name.len() <= 253 && name.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostnames() {
        let long = "a".repeat(64);
        let longest = ["a".repeat(63), "b".repeat(63), "c".repeat(63), "d".repeat(61)].join(".");
        for good in ["a", "edpm-compute-0.ctlplane", "_sip._tcp.x", "x.", "1.2", &longest] {
            assert!(is_hostname(good), "{good:?}");
        }
        for bad in ["", ".", "a..b", "-a", "a-", "a b", "ü", &long, &format!("{longest}x")] {
            assert!(!is_hostname(bad), "{bad:?}");
        }
    }
}
