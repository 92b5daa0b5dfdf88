//! What is refused in a kind of OpenStack: what could never work, wherever it stands.
//!
//! The tree is walked, as [`super::openstack`] walks it, because the same few blocks stand in dozens
//! of places.

use std::collections::BTreeMap;
use std::net::IpAddr;

use landbridge_machinery::gvk::GroupKind;
use landbridge_machinery::hooks::{Operation, Request};
use landbridge_machinery::object;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde::Deserialize as _;
use serde_json::Value;

use super::openstack::{self, Exposure};
use super::{Place, Trouble, controlplane};
use crate::admission::{self, Findings};
use crate::network::{ServiceOverrideSpec, check_override};

/// How deep sections may be nested.
const DEEPEST: usize = 64;
/// Names of interfaces have at most so many bytes.
const LONGEST_INTERFACE: usize = 15;
/// The endpoints a service may have.
const ENDPOINTS: [&str; 2] = ["internal", "public"];

/// Judges a write.
pub(super) fn judge(request: &Request<'_>, object: &Value) -> ApiResult<Vec<String>> {
    if request.operation == Operation::Delete || admission::keeps_spec(request, object) {
        return Ok(Vec::new());
    }
    if request.kind.kind == controlplane::KIND && request.kind.group == controlplane::GROUP {
        alone(request)?;
    }
    let mut findings = Findings::default();
    walk(&object["spec"], &Place::new("spec"), &mut findings, 0);
    buses(object, &mut findings);
    findings.answer(request)
}

/// One control plane per namespace.
fn alone(request: &Request<'_>) -> ApiResult<()> {
    let kind = GroupKind::new(controlplane::GROUP, controlplane::KIND);
    let all = request.objects.list(&kind, request.namespace);
    if request.operation == Operation::Create
        && all.iter().any(|other| object::name(other) != request.name)
    {
        let why =
            "Only one OpenStackControlPlane instance per namespace is supported at this time.";
        return Err(ApiError::denied(why));
    }
    Ok(())
}

fn walk(value: &Value, place: &Place, findings: &mut Findings, depth: usize) {
    if depth > DEEPEST {
        return;
    }
    for (i, element) in value.as_array().into_iter().flatten().enumerate() {
        if element.is_object() {
            walk(element, &place.index(i), findings, depth + 1);
        }
    }
    for (key, below) in value.as_object().into_iter().flatten() {
        match key.as_str() {
            "override" if below["service"].is_object() => {
                services(&below["service"], &place.child(key).child("service"), findings);
            }
            "networkAttachments" => interfaces(below, &place.child(key), findings),
            _ if below.is_object() || below.is_array() => {
                walk(below, &place.child(key), findings, depth + 1);
            }
            _ => {}
        }
    }
}

/// The Services of `override.service`: one, or one for each endpoint.
fn services(service: &Value, place: &Place, findings: &mut Findings) {
    if is_single(service) {
        return one(service, place, findings);
    }
    for (endpoint, service) in service.as_object().into_iter().flatten() {
        if ENDPOINTS.contains(&endpoint.as_str()) {
            one(service, &place.child(endpoint), findings);
        } else {
            let path = place.path.key(endpoint);
            findings.invalid(
                &path,
                endpoint.as_str(),
                format!("invalid endpoint type: {endpoint}"),
            );
        }
    }
}

/// Whether the block is about one Service, and not about one for each endpoint.
pub fn is_single(service: &Value) -> bool {
    ["metadata", "spec", "endpointURL"].iter().any(|key| service.get(key).is_some())
}

fn one(service: &Value, place: &Place, findings: &mut Findings) {
    let place = place.child("spec");
    // What has the wrong type, the schema has refused.
    if let Ok(spec) = ServiceOverrideSpec::deserialize(&service["spec"]) {
        check_override(&spec, &place.path, findings);
    }
}

/// Interfaces are named after the attachments, as far as a name fits.
fn interfaces(names: &Value, place: &Place, findings: &mut Findings) {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for (i, name) in names.as_array().into_iter().flatten().enumerate() {
        let Some(name) = name.as_str() else { continue };
        let interface = cut(name);
        match seen.insert(interface, name) {
            Some(other) if other == name => {
                findings.warn(&place.index(i).path, format!("{name} is named twice"));
            }
            Some(other) => {
                let why = format!(
                    "the interface of {name} would be called {interface}, as that of {other}: \
                     names may differ only after {LONGEST_INTERFACE} bytes"
                );
                findings.invalid(&place.index(i).path, name, why);
            }
            None => {}
        }
    }
}

/// The name of an interface for an attachment: as much of it as fits.
pub fn cut(name: &str) -> &str {
    let end = (0..=LONGEST_INTERFACE.min(name.len())).rev().find(|end| name.is_char_boundary(*end));
    &name[..end.unwrap_or(0)]
}

/// Message buses all listen on the same ports, so each needs an address of its own. Inside of one
/// object nobody can mean anything else.
fn buses(object: &Value, findings: &mut Findings) {
    let found = openstack::read(object, &mut Trouble::default());
    let mut holders: BTreeMap<IpAddr, &Exposure<'_>> = BTreeMap::new();
    let is_bus = |exposure: &&Exposure<'_>| {
        exposure.load_balancer && exposure.ports.iter().any(|port| port.number == 5671)
    };
    for exposure in found.exposures.iter().filter(is_bus) {
        for text in &exposure.wish.addresses {
            let Ok(address) = text.value.parse() else { continue };
            let Some(other) = holders.insert(address, exposure) else { continue };
            let why = format!(
                "RabbitMQ {} has this address already; instances listen on the same ports (5671, \
                 5672), so each needs an address of its own",
                other.service
            );
            findings.invalid(&text.place.path, text.value, why);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(spec: &Value) -> Vec<String> {
        let mut findings = Findings::default();
        walk(spec, &Place::new("spec"), &mut findings, 0);
        buses(&json!({"kind": "OpenStackControlPlane", "spec": spec}), &mut findings);
        let errors = findings.errors.iter().map(ToString::to_string);
        errors.chain(findings.warnings).collect()
    }

    #[test]
    fn endpoints_are_internal_or_public() {
        let service = json!({"metadata": {"annotations": {}}, "spec": {"type": "LoadBalancer"}});
        let spec = json!({
            "keystone": {"template": {"override": {"service": {"internal": service, "admin": service}}}},
            "rabbitmq": {"templates": {"rabbitmq": {"override": {"service": service}}}},
        });
        assert_eq!(
            found(&spec),
            [
                "spec.keystone.template.override.service[admin]: Invalid value: \"admin\": invalid endpoint type: admin"
            ]
        );
    }

    #[test]
    fn services_that_no_api_would_take_are_refused() {
        let spec = json!({"keystone": {"template": {"override": {"service": {"public": {
            "spec": {"type": "Balanced"}}}}}}});
        let path = "spec.keystone.template.override.service.public.spec.type";
        assert!(found(&spec)[0].starts_with(path), "{:?}", found(&spec));
    }

    #[test]
    fn buses_do_not_share() {
        let bus = |address: &str| json!({"externalEndpoint": {"ipAddressPool": "internalapi", "loadBalancerIPs": [address]}});
        let spec = |two: &str| json!({"rabbitmq": {"templates": {"a": bus("172.17.0.85"), "b": bus(two)}}});
        assert_eq!(found(&spec("172.17.0.86")), [""; 0]);
        let refused = found(&spec("172.17.0.85"));
        assert_eq!(refused.len(), 1);
        assert!(
            refused[0].starts_with("spec.rabbitmq.templates.b.externalEndpoint.loadBalancerIPs[0]: Invalid value: \"172.17.0.85\": RabbitMQ a has this address already"),
            "{refused:?}"
        );
    }

    #[test]
    fn interfaces_have_different_names() {
        let of = |names: Value| found(&json!({"neutron": {"networkAttachments": names}}));
        assert_eq!(of(json!(["internalapi", "storage"])), [""; 0]);
        assert_eq!(of(json!(["a", "a"])), ["spec.neutron.networkAttachments[1]: a is named twice"]);
        assert_eq!(of(json!(["storage-network-one", "storage-network-two"])).len(), 1);
        assert_eq!(cut("storage-network-one"), "storage-network");
        assert_eq!(cut("\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}").len(), 14);
    }
}
