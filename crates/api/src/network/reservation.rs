//! Reservation: the record of which addresses an IPSet holds.

use std::collections::BTreeMap;

use kube::CustomResource;
use landbridge_machinery::field::FieldPath;
use landbridge_machinery::hooks::{Hooks, Operation, Request};
use landbridge_machinery::status::ApiResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::netconfig::the_netconfig;
use super::{NAME_PATTERN, held};
use crate::admission::{self, Findings};

/// Who holds which addresses.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.openstack.org",
    version = "v1beta1",
    kind = "Reservation",
    plural = "reservations",
    namespaced,
    status = "ReservationStatus",
    derive = "PartialEq",
    doc = "The record of the addresses that the IPSet of the same name holds. It is written by the address controller; read it, but do not write it by hand.",
    printcolumn(
        name = "Reservation",
        type_ = "string",
        description = "The addresses, by network",
        json_path = ".spec.reservation"
    ),
    label("backup.openstack.org/restore", "true"),
    label("backup.openstack.org/category", "dataplane"),
    label("backup.openstack.org/restore-order", "30")
)]
#[serde(rename_all = "camelCase")]
pub struct ReservationSpec {
    /// The IPSet that holds the addresses. May be empty: name and owner of the Reservation say the
    /// same.
    pub ip_set_ref: IPSetRef,
    /// The addresses, by name of the network.
    pub reservation: BTreeMap<String, ReservedAddress>,
}

/// Reference to an IPSet, in the form of a core ObjectReference.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct IPSetRef {
    /// API group and version of the IPSet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// Part of the IPSet that is meant, when not all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_path: Option<String>,
    /// `IPSet`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Name of the IPSet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Namespace of the IPSet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// State of the IPSet that is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// Identity of the IPSet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// One held address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReservedAddress {
    /// Network of the NetConfig.
    #[schemars(regex(pattern = NAME_PATTERN))]
    pub network: String,
    /// Subnet of that network.
    #[schemars(regex(pattern = NAME_PATTERN))]
    pub subnet: String,
    /// The address.
    pub address: String,
}

/// Nothing is reported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReservationStatus {}

/// The rules of Reservation. Upstream has none.
pub struct ReservationHooks;

impl Hooks for ReservationHooks {
    fn validate(&self, request: &Request<'_>, object: &Value) -> ApiResult<Vec<String>> {
        let nothing_new = admission::keeps_spec(request, object);
        if request.operation == Operation::Delete || nothing_new || is_controlled(object) {
            return Ok(Vec::new());
        }
        let spec: ReservationSpec = admission::spec(request, object)?;
        let mut findings = Findings::default();
        check(&spec, request, &mut findings);
        findings.answer(request)
    }

    fn webhook_name(&self) -> Option<&str> {
        Some("vreservation-v1beta1.kb.io")
    }
}

/// Whether the controller wrote it, which has asked the ledger itself.
fn is_controlled(object: &Value) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners
        .into_iter()
        .flatten()
        .any(|owner| owner["controller"] == true && owner["kind"] == "IPSet")
}

/// An address that is none is an error; one that somebody else holds is only pointed out, because
/// a backup is restored object by object.
fn check(spec: &ReservationSpec, request: &Request<'_>, findings: &mut Findings) {
    let path = FieldPath::new("spec").child("reservation");
    let netconfig = the_netconfig(request.objects, request.namespace).ok();
    for (key, entry) in &spec.reservation {
        let path = path.key(key);
        if !key.eq_ignore_ascii_case(&entry.network) {
            let text = format!("{} stands under the name of network {key}", entry.network);
            findings.warn(&path.child("network"), text);
        }
        let path = path.child("address");
        let Ok(address) = entry.address.parse() else {
            findings.invalid(&path, entry.address.as_str(), "not an IP address");
            continue;
        };
        let other = netconfig.as_ref().and_then(|netconfig| {
            let found = netconfig.spec.find(&entry.network, &entry.subnet).ok()?;
            held::by_another(request, netconfig, found, address)
        });
        if let Some(other) = other {
            findings.warn(&path, format!("{address} already reserved for {other}"));
        }
    }
}
