//! What a pod's networks look like: the annotation `k8s.v1.cni.cncf.io/network-status`.
//!
//! Operators wait for it and read addresses from it, so it is written byte for byte as Multus
//! writes it: each element with an indent of four blanks, a bare comma between elements.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::{self, Object};
use crate::result::{CniResult, Dns, Interface};

/// The annotation.
pub const ANNOTATION: &str = "k8s.v1.cni.cncf.io/network-status";
/// What it was called once.
pub const OLD_ANNOTATION: &str = "k8s.v1.cni.cncf.io/networks-status";

/// One interface of a pod. Keys are printed in this order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkStatus {
    /// `namespace/name` of the definition, or the name of the cluster's network.
    pub name: String,
    /// The interface inside the pod.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub interface: String,
    /// Its addresses, without lengths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ips: Vec<String>,
    /// Its hardware address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mac: String,
    /// Its MTU, where the plugin tells it.
    #[serde(skip_serializing_if = "json::is_zero")]
    pub mtu: u32,
    /// Whether it is the cluster's network.
    #[serde(skip_serializing_if = "json::is_false")]
    pub default: bool,
    /// For the resolver; printed even when there is nothing to tell.
    pub dns: Dns,
    /// The device behind it.
    #[serde(rename = "device-info", skip_serializing_if = "Option::is_none")]
    pub device_info: Option<Value>,
    /// The gateways of its default routes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gateway: Vec<String>,
}

/// Writes the annotation.
pub fn print(statuses: &[NetworkStatus]) -> Result<String, serde_json::Error> {
    let elements: Result<Vec<_>, _> = statuses.iter().map(json::indented).collect();
    Ok(format!("[{}]", elements?.join(",")))
}

/// Reads the annotation.
pub fn parse(text: &str) -> Result<Vec<NetworkStatus>, serde_json::Error> {
    let elements: Vec<Object> = serde_json::from_str(text)?;
    elements.iter().map(json::typed).collect()
}

/// Reads a pod's annotation under its name, or under its old one. No annotation is no networks.
pub fn of_pod(
    annotations: &BTreeMap<String, String>,
) -> Result<Vec<NetworkStatus>, serde_json::Error> {
    let found = annotations.get(ANNOTATION).or_else(|| annotations.get(OLD_ANNOTATION));
    found.map_or(Ok(Vec::new()), |text| parse(text))
}

/// The addresses of all of a pod's networks by name, as operators gather them.
pub fn addresses(statuses: &[NetworkStatus]) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for status in statuses {
        found.entry(status.name.clone()).or_default().extend(status.ips.iter().cloned());
    }
    found
}

/// What a plugin's result says about a pod.
///
/// With one interface (or none told, as in the oldest versions) everything belongs to it. With
/// more, each one inside the pod has a status; an address belongs to the interface it names, or
/// else to the last; the cluster's network is the one with a gateway, or else the first.
pub fn of_result(
    name: &str,
    is_default: bool,
    result: &CniResult,
    device_info: Option<&Value>,
) -> Vec<NetworkStatus> {
    let defaults = result.routes.iter().filter(|route| route.is_default());
    let gateway: Vec<String> = defaults.filter_map(|r| r.gw).map(|gw| gw.to_string()).collect();
    let status = |interface: Option<&Interface>| NetworkStatus {
        name: name.to_owned(),
        interface: interface.map(|i| i.name.clone()).unwrap_or_default(),
        mac: interface.map(|i| i.mac.clone()).unwrap_or_default(),
        mtu: interface.map(|i| i.mtu).unwrap_or_default(),
        dns: result.dns.clone(),
        device_info: device_info.cloned(),
        ..NetworkStatus::default()
    };
    let text = |ip: &crate::result::Ip| ip.address.addr().to_string();
    if let [] | [_] = result.interfaces.as_slice() {
        let inside = result.interfaces.iter().find(|interface| !interface.sandbox.is_empty());
        return vec![NetworkStatus {
            ips: result.ips.iter().map(text).collect(),
            default: is_default,
            gateway,
            ..status(inside)
        }];
    }
    let inside = result.interfaces.iter().enumerate().filter(|(_, i)| !i.sandbox.is_empty());
    let mut statuses: Vec<(usize, NetworkStatus)> =
        inside.map(|(place, interface)| (place, status(Some(interface)))).collect();
    let mut with_gateway = None;
    for ip in &result.ips {
        let at = match ip.interface {
            Some(wanted) => statuses.iter().position(|(place, _)| *place == wanted),
            None => statuses.len().checked_sub(1),
        };
        if let Some((_, status)) = at.and_then(|at| statuses.get_mut(at)) {
            status.ips.push(text(ip));
            with_gateway = with_gateway.or(at.filter(|_| ip.gateway.is_some()));
        }
    }
    if let Some((_, status)) = statuses.get_mut(with_gateway.unwrap_or_default()) {
        status.default = is_default;
        status.gateway = gateway;
    }
    statuses.into_iter().map(|(_, status)| status).collect()
}
