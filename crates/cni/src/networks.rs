//! The networks a pod asks for: the annotation `k8s.v1.cni.cncf.io/networks`.
//!
//! Two forms: names with commas between, `[namespace/]name[@interface]`, and a JSON list. What
//! Multus refuses is refused; a few things that Multus lets through and that fail later (a list
//! element without a name, an interface name the kernel refuses) are refused here, where the
//! message can say which network it was.

mod interfaces;
mod requested;

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

pub use self::interfaces::{DefaultRoutes, default_routes, interface_names};
pub use self::requested::{Collision, Wanted, gateway_of_definition, request};
use crate::config::{Bandwidth, PortMapping, RuntimeConfig};
use crate::error::{Code, Coded};
use crate::json::{self, Object};
use crate::names::{self, BadName};

/// The annotation that asks for networks.
pub const ANNOTATION: &str = "k8s.v1.cni.cncf.io/networks";
/// The annotation that replaces the cluster's network.
pub const DEFAULT_ANNOTATION: &str = "v1.multus-cni.io/default-network";
/// The annotation of a definition that names a device resource.
pub const RESOURCE_ANNOTATION: &str = "k8s.v1.cni.cncf.io/resourceName";

/// One network a pod asks for. Keys are printed in this order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Selection {
    /// The definition.
    pub name: String,
    /// Its namespace; the pod's when it was not given.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Addresses asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ips: Vec<String>,
    /// The hardware address asked for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mac: String,
    /// The InfiniBand identifier asked for.
    #[serde(rename = "infiniband-guid", skip_serializing_if = "String::is_empty")]
    pub infiniband_guid: String,
    /// The interface's name inside the pod.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub interface: String,
    /// Ports to map.
    #[serde(rename = "portMappings", skip_serializing_if = "Vec::is_empty")]
    pub port_mappings: Vec<PortMapping>,
    /// Limits of bandwidth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Bandwidth>,
    /// The device to use.
    #[serde(rename = "deviceID", skip_serializing_if = "String::is_empty")]
    pub device_id: String,
    /// Arguments for the plugins.
    #[serde(rename = "cni-args", skip_serializing_if = "Option::is_none")]
    pub cni_args: Option<Object>,
    /// Gateways of the pod's default routes. An empty list keeps those the plugin makes.
    #[serde(rename = "default-route", skip_serializing_if = "Option::is_none")]
    pub default_route: Option<Vec<IpAddr>>,
    /// The claim that holds the addresses.
    #[serde(rename = "ipam-claim-reference", skip_serializing_if = "String::is_empty")]
    pub ipam_claim_reference: String,
}

impl Selection {
    /// A network without wishes.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { name: name.into(), namespace: namespace.into(), ..Self::default() }
    }

    /// `namespace/name`.
    pub fn reference(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// What the plugins are told, as far as they declare that they listen.
    pub fn capabilities(&self) -> Result<Object, serde_json::Error> {
        let runtime = RuntimeConfig {
            ips: self.ips.clone(),
            mac: self.mac.clone(),
            infiniband_guid: self.infiniband_guid.clone(),
            device_id: self.device_id.clone(),
            port_mappings: self.port_mappings.clone(),
            bandwidth: self.bandwidth.clone(),
            ..RuntimeConfig::default()
        };
        match serde_json::to_value(runtime)? {
            Value::Object(object) => Ok(object),
            _ => Ok(Object::new()),
        }
    }

    fn check(&self) -> Result<(), BadAnnotation> {
        let at = |why| BadAnnotation::At { network: self.reference(), why };
        if self.name.is_empty() {
            return Err(BadAnnotation::NoName);
        }
        for text in [&self.name, &self.namespace].into_iter().filter(|text| !text.is_empty()) {
            if !text.split('.').all(is_label) {
                return Err(BadAnnotation::Mismatch(text.clone()));
            }
        }
        if !self.interface.is_empty() {
            names::interface(&self.interface).map_err(|error| at(Why::Interface(error)))?;
        }
        if !self.mac.is_empty() && !matches!(names::mac_length(&self.mac), Some(6 | 8 | 20)) {
            return Err(at(Why::Mac(self.mac.clone())));
        }
        if !self.infiniband_guid.is_empty() && names::mac_length(&self.infiniband_guid) != Some(8) {
            return Err(at(Why::Guid(self.infiniband_guid.clone())));
        }
        for ip in &self.ips {
            if ip.contains('/') && ip.parse::<IpNet>().is_err() {
                return Err(at(Why::Cidr(ip.clone())));
            }
            if !ip.contains('/') && ip.parse::<IpAddr>().is_err() {
                return Err(at(Why::Ip(ip.clone())));
            }
        }
        Ok(())
    }
}

/// Reads the annotation. Networks without a namespace are of the one given. An empty text asks
/// for none.
pub fn parse(text: &str, default_namespace: &str) -> Result<Vec<Selection>, BadAnnotation> {
    let mut networks = if text.is_empty() {
        Vec::new()
    } else if text.contains(['[', '{', '"']) {
        parse_list(text)?
    } else {
        text.split(',').map(parse_short).collect::<Result<_, _>>()?
    };
    for network in &mut networks {
        if network.namespace.is_empty() {
            default_namespace.clone_into(&mut network.namespace);
        }
        network.check()?;
    }
    Ok(networks)
}

/// Reads the annotation that replaces the cluster's network: exactly one network.
pub fn parse_default(text: &str, namespace: &str) -> Result<Option<Selection>, BadAnnotation> {
    let mut networks = parse(text, namespace)?;
    match networks.len() {
        0 if text.is_empty() => Ok(None),
        1 => Ok(networks.pop()),
        count => Err(BadAnnotation::NotOne(count)),
    }
}

/// The annotation for these networks: a JSON list without blanks.
pub fn print(networks: &[Selection]) -> Result<String, serde_json::Error> {
    json::compact(&networks)
}

fn parse_list(text: &str) -> Result<Vec<Selection>, BadAnnotation> {
    let elements: Vec<Object> = serde_json::from_str(text).map_err(BadAnnotation::Json)?;
    let one = |mut element: Object| {
        // Only the element's own keys: what is inside cni-args is not ours to change.
        element.retain(|_, value| !value.is_null());
        if let Some(old) = element.remove("interfaceRequest") {
            let slot = element.entry("interface").or_insert_with(|| "".into());
            if slot == "" {
                *slot = old;
            }
        }
        serde_json::from_value(Value::Object(element)).map_err(BadAnnotation::Json)
    };
    elements.into_iter().map(one).collect()
}

/// `[namespace/]name[@interface]`
fn parse_short(item: &str) -> Result<Selection, BadAnnotation> {
    let slashes: Vec<&str> = item.trim().split('/').collect();
    let (namespace, rest) = match slashes.as_slice() {
        [rest] => ("", *rest),
        [namespace, rest] => (namespace.trim(), *rest),
        _ => return Err(BadAnnotation::Slash(item.trim().to_owned())),
    };
    let ats: Vec<&str> = rest.split('@').map(str::trim).collect();
    let (name, interface) = match ats.as_slice() {
        [name] => (*name, ""),
        [name, interface] => (*name, *interface),
        _ => return Err(BadAnnotation::AtSign(item.trim().to_owned())),
    };
    for part in [namespace, name].into_iter().filter(|part| !part.is_empty()) {
        if !is_label(part) {
            return Err(BadAnnotation::Mismatch(part.to_owned()));
        }
    }
    Ok(Selection { interface: interface.to_owned(), ..Selection::new(namespace, name) })
}

/// `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
fn is_label(text: &str) -> bool {
    let outer = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.iter().all(|byte| outer(byte) || *byte == b'-')
        && bytes.first().is_some_and(outer)
        && bytes.last().is_some_and(outer)
}

/// Why the annotation is refused.
#[derive(Debug, Error)]
pub enum BadAnnotation {
    /// It looks like JSON and is no list of objects of the right form.
    #[error("failed to parse pod Network Attachment Selection Annotation JSON format: {0}")]
    Json(#[source] serde_json::Error),
    /// More than one `/`.
    #[error("Invalid network object (failed at '/'): {0:?}")]
    Slash(String),
    /// More than one `@`.
    #[error("Invalid network object (failed at '@'): {0:?}")]
    AtSign(String),
    /// A name that no object can have.
    #[error(
        "Failed to parse: one or more items did not match comma-delimited format (must consist of \
         lower case alphanumeric characters). Must start and end with an alphanumeric character), \
         mismatch @ '{0}'"
    )]
    Mismatch(String),
    /// An element without a name.
    #[error("a network of the annotation has no name")]
    NoName,
    /// The default network is not one network.
    #[error("the default network must be exactly one network, found {0}")]
    NotOne(usize),
    /// A wish that cannot be granted.
    #[error("network {network}: {why}")]
    At {
        /// Which network.
        network: String,
        /// What is wrong.
        why: Why,
    },
    /// Two networks with one interface name.
    #[error("interface {interface} is asked for twice: by {first} and by {second}")]
    InterfaceTwice {
        /// The name.
        interface: String,
        /// Who has it.
        first: String,
        /// Who wants it too.
        second: String,
    },
    /// Two default routes of one family.
    #[error("multus does not support ECMP for default-route")]
    Ecmp,
}

/// What is wrong with one network of the annotation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Why {
    /// The interface's name.
    #[error("Failed to parse interface name: {0}")]
    Interface(BadName),
    /// The hardware address.
    #[error("failed to mac: address {0}: invalid MAC address")]
    Mac(String),
    /// The InfiniBand identifier.
    #[error("failed to validate infiniband GUID: address {0}: must be 8 bytes")]
    Guid(String),
    /// An address with a length.
    #[error("failed to parse CIDR {0:?}")]
    Cidr(String),
    /// An address.
    #[error("failed to parse IP address {0:?}")]
    Ip(String),
}

impl Coded for BadAnnotation {
    fn code(&self) -> Code {
        match self {
            Self::Json(_) => Code::DECODING_FAILURE,
            _ => Code::INVALID_CONFIG,
        }
    }
}
