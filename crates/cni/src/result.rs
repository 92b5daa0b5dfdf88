//! What a plugin answers to ADD.
//!
//! One type, that of the newest version. Older forms are read into it and written from it exactly
//! as the reference library converts: 0.1.0 and 0.2.0 know one address of each family and no
//! interfaces; up to 0.4.0 an address says its family and an interface has only a name, a MAC and
//! a sandbox; 1.0.0 and 1.1.0 are the same. What the older form cannot say is lost.

use std::net::IpAddr;

use ipnet::IpNet;
use landbridge_addr::net::Family;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::error::{Code, Coded};
use crate::json::{self, Object};
use crate::version::{Unsupported, Version};

/// What a plugin made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CniResult {
    /// The interfaces, on both sides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<Interface>,
    /// The addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ips: Vec<Ip>,
    /// The routes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    /// For the resolver.
    #[serde(default, skip_serializing_if = "Dns::is_empty")]
    pub dns: Dns,
}

/// An interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its hardware address.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mac: String,
    /// Its MTU, 0 when not told; since 1.1.0.
    #[serde(default, skip_serializing_if = "json::is_zero")]
    pub mtu: u32,
    /// The network namespace it is in; empty on the host.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sandbox: String,
    /// The socket of a vhost-user interface; since 1.1.0.
    #[serde(rename = "socketPath", default, skip_serializing_if = "String::is_empty")]
    pub socket_path: String,
    /// The PCI device behind it; since 1.1.0.
    #[serde(rename = "pciID", default, skip_serializing_if = "String::is_empty")]
    pub pci_id: String,
}

/// An address of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ip {
    /// The address with the length of its prefix.
    pub address: IpNet,
    /// The gateway of its subnet.
    #[serde(default, deserialize_with = "address", skip_serializing_if = "Option::is_none")]
    pub gateway: Option<IpAddr>,
    /// The place of its interface in the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<usize>,
}

/// A route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// Where to.
    pub dst: IpNet,
    /// Through which gateway; the default gateway of the family when absent.
    #[serde(default, deserialize_with = "address", skip_serializing_if = "Option::is_none")]
    pub gw: Option<IpAddr>,
    /// The MTU along it.
    #[serde(default, skip_serializing_if = "json::is_zero")]
    pub mtu: u32,
    /// The segment size to advertise.
    #[serde(default, skip_serializing_if = "json::is_zero")]
    pub advmss: u32,
    /// Its priority; lower wins.
    #[serde(default, skip_serializing_if = "json::is_zero")]
    pub priority: u32,
    /// The routing table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<u32>,
    /// How far the destination is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<u8>,
}

impl Route {
    /// A route without attributes.
    pub fn new(dst: IpNet, gw: Option<IpAddr>) -> Self {
        Self { dst, gw, mtu: 0, advmss: 0, priority: 0, table: None, scope: None }
    }

    /// Whether it leads everywhere.
    pub fn is_default(&self) -> bool {
        self.dst.prefix_len() == 0
    }
}

/// What a resolver is to be told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dns {
    /// Servers, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nameservers: Vec<String>,
    /// The local domain.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub domain: String,
    /// Domains to search, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub search: Vec<String>,
    /// Options.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

impl Dns {
    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The form of 0.1.0 and 0.2.0.
#[derive(Serialize, Deserialize)]
struct Result02 {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ip4: Option<Ip02>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ip6: Option<Ip02>,
    #[serde(default, skip_serializing_if = "Dns::is_empty")]
    dns: Dns,
}

#[derive(Serialize, Deserialize)]
struct Ip02 {
    ip: IpNet,
    #[serde(default, deserialize_with = "address", skip_serializing_if = "Option::is_none")]
    gateway: Option<IpAddr>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    routes: Vec<Route>,
}

/// An address, absent when the text is empty.
fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<IpAddr>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| serde::de::Error::custom(format!("invalid IP: {text:?}")))
}

impl CniResult {
    /// Reads what a plugin printed, in the version it says it is.
    pub fn parse(text: &[u8]) -> Result<(Version, Self), BadResult> {
        Self::from_object(&serde_json::from_slice(text)?, None)
    }

    /// Reads an object. Without a version of its own it is of the version given, or else of the
    /// oldest.
    pub fn from_object(
        object: &Object,
        version: Option<Version>,
    ) -> Result<(Version, Self), BadResult> {
        let version = match (object.get("cniVersion"), version) {
            (None | Some(Value::Null), known) => known.unwrap_or_default(),
            (Some(Value::String(text)), Some(known)) if text.is_empty() => known,
            (Some(Value::String(text)), _) => Version::of_config(text)?,
            (Some(other), _) => {
                return Err(BadResult::Version(Unsupported { config: other.to_string() }));
            }
        };
        if version.has_chaining() {
            return Ok((version, json::typed(object)?));
        }
        let old: Result02 = json::typed(object)?;
        let mut result = Self { dns: old.dns, ..Self::default() };
        for ip in [old.ip4, old.ip6].into_iter().flatten() {
            result.ips.push(Ip { address: ip.ip, gateway: ip.gateway, interface: None });
            result.routes.extend(ip.routes);
        }
        Ok((version, result))
    }

    /// The object in a version, keys sorted.
    pub fn to_value(&self, version: Version) -> Result<Value, BadResult> {
        let mut value = if version.has_chaining() {
            serde_json::to_value(self)?
        } else {
            serde_json::to_value(self.to_02()?)?
        };
        if let Value::Object(object) = &mut value {
            object.insert("cniVersion".to_owned(), version.as_str().into());
        }
        if version.has_chaining() && version < Version::V1_0_0 {
            self.fit_to_04(&mut value);
        }
        Ok(json::sorted(value))
    }

    /// The text for standard output in a version.
    pub fn print(&self, version: Version) -> Result<String, BadResult> {
        Ok(json::indented(&self.to_value(version)?)?)
    }

    /// The gateway a route without one takes: the first of its family.
    pub fn gateway(&self, family: Family) -> Option<IpAddr> {
        let gateways = self.ips.iter().filter_map(|ip| ip.gateway);
        gateways.into_iter().find(|gateway| Family::of(*gateway) == family)
    }

    /// The first address of each family, each with the routes of its family.
    fn to_02(&self) -> Result<Result02, BadResult> {
        let of_family = |v4: bool| {
            let ip = self.ips.iter().find(|ip| ip.address.addr().is_ipv4() == v4)?;
            let routes = self.routes.iter().filter(|route| route.dst.addr().is_ipv4() == v4);
            Some(Ip02 {
                ip: ip.address,
                gateway: ip.gateway,
                routes: routes.map(|route| Route::new(route.dst, route.gw)).collect(),
            })
        };
        let (ip4, ip6) = (of_family(true), of_family(false));
        if ip4.is_none() && ip6.is_none() {
            return Err(BadResult::NoAddress);
        }
        Ok(Result02 { ip4, ip6, dns: self.dns.clone() })
    }

    /// Adds the family to each address and takes away what interfaces did not know then.
    fn fit_to_04(&self, value: &mut Value) {
        let objects = |value: Option<&mut Value>, change: &mut dyn FnMut(usize, &mut Object)| {
            let list = value.and_then(Value::as_array_mut).into_iter().flatten();
            for (place, object) in list.filter_map(Value::as_object_mut).enumerate() {
                change(place, object);
            }
        };
        objects(value.get_mut("interfaces"), &mut |_, interface| {
            for key in ["mtu", "socketPath", "pciID"] {
                interface.remove(key);
            }
        });
        objects(value.get_mut("ips"), &mut |place, ip| {
            let v4 = self.ips.get(place).is_some_and(|ip| ip.address.addr().is_ipv4());
            ip.insert("version".to_owned(), if v4 { "4" } else { "6" }.into());
        });
    }
}

/// Why a result cannot be read, or written in a version.
#[derive(Debug, Error)]
pub enum BadResult {
    /// No JSON, or not of the form its version has.
    #[error("the result cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// Its version is unknown.
    #[error(transparent)]
    Version(#[from] Unsupported),
    /// 0.1.0 and 0.2.0 cannot say a result without an address.
    #[error("cannot convert: no valid IP addresses")]
    NoAddress,
}

impl Coded for BadResult {
    fn code(&self) -> Code {
        match self {
            Self::Json(_) => Code::DECODING_FAILURE,
            Self::Version(_) | Self::NoAddress => Code::INCOMPATIBLE_VERSION,
        }
    }

    fn details(&self) -> String {
        if let Self::Version(error) = self { error.details() } else { String::new() }
    }
}
