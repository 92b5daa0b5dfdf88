//! What makes a DNSMasq invalid, and what is probably not meant.

use std::net::IpAddr;

use landbridge_machinery::field::FieldPath;

use super::DNSMasqSpec;
use crate::admission::Findings;
use crate::network::exposure;

/// Checks the whole spec of a DNSMasq in `namespace`.
pub(super) fn check(spec: &DNSMasqSpec, namespace: &str, findings: &mut Findings) {
    let path = FieldPath::new("spec");
    if let Some(topology) = &spec.topology_ref
        && !topology.namespace.is_empty()
        && topology.namespace != namespace
    {
        let path = path.child("topologyRef").child("namespace");
        let why = "Customizing namespace field is not supported";
        findings.invalid(&path, topology.namespace.as_str(), why);
    }
    options(spec, &path, findings);
    let service = spec.override_.as_ref().and_then(|r#override| r#override.service.as_ref());
    if let Some(spec) = service.and_then(|service| service.spec.as_ref()) {
        let path = path.child("override").child("service").child("spec");
        exposure::check_override(spec, &path, findings);
    }
    external_endpoints(spec, &path, findings);
    if service.is_some() && !spec.external_endpoints.is_empty() {
        let text = "override.service is given as well and wins; give only one of them";
        findings.warn(&path.child("externalEndpoints"), text);
    }
}

/// An option becomes one line of a configuration file, so a value must not begin another.
fn options(spec: &DNSMasqSpec, path: &FieldPath, findings: &mut Findings) {
    for (i, option) in spec.options.iter().enumerate() {
        let path = path.child("options").index(i).child("values");
        for (j, value) in option.values.iter().enumerate() {
            if value.contains(char::is_control) {
                let why = "must not contain line breaks or other control characters";
                findings.invalid(&path.index(j), value.as_str(), why);
            }
        }
    }
}

fn external_endpoints(spec: &DNSMasqSpec, path: &FieldPath, findings: &mut Findings) {
    for (i, endpoint) in spec.external_endpoints.iter().enumerate() {
        let path = path.child("externalEndpoints").index(i).child("loadBalancerIPs");
        for (j, address) in endpoint.load_balancer_ips.iter().enumerate() {
            if address.parse::<IpAddr>().is_err() {
                findings.warn(&path.index(j), format!("{address:?} is not an IP address"));
            }
        }
    }
}
