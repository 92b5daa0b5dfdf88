//! What a plugin reads on its standard input.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{BadNetwork, parse_object, text_of};
use crate::json::{self, Object};
use crate::names;
use crate::result::{CniResult, Dns};
use crate::version::Version;

/// The configuration of one call of one plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The version to answer in.
    pub version: Version,
    /// The network's name.
    pub name: String,
    /// Which plugin is called. An address plugin sees the type of the plugin that calls it.
    pub kind: String,
    /// What the plugins before it made.
    pub previous: Option<CniResult>,
    /// What the runtime has to say.
    pub runtime: RuntimeConfig,
    /// `args.cni`.
    pub cni_args: Object,
    /// `cni.dev/valid-attachments`, for GC: what is to be kept.
    pub valid_attachments: Option<Vec<Attachment>>,
    /// All keys.
    pub keys: Object,
}

/// An attachment that GC must keep.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Attachment {
    /// The container.
    #[serde(rename = "containerID")]
    pub container_id: String,
    /// Its interface.
    pub ifname: String,
}

/// `runtimeConfig`: what the runtime has to say about capabilities.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RuntimeConfig {
    /// Addresses asked for, most with a prefix length.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ips: Vec<String>,
    /// The hardware address asked for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mac: String,
    /// The InfiniBand identifier asked for.
    #[serde(rename = "infinibandGUID", skip_serializing_if = "String::is_empty")]
    pub infiniband_guid: String,
    /// The device to use.
    #[serde(rename = "deviceID", skip_serializing_if = "String::is_empty")]
    pub device_id: String,
    /// The file to describe the device in.
    #[serde(rename = "CNIDeviceInfoFile", skip_serializing_if = "String::is_empty")]
    pub device_info_file: String,
    /// Ports to map.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub port_mappings: Vec<PortMapping>,
    /// Limits of bandwidth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Bandwidth>,
    /// For the resolver.
    #[serde(skip_serializing_if = "Dns::is_empty")]
    pub dns: Dns,
}

/// A port of the host that leads to one of the container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PortMapping {
    /// The port on the host.
    pub host_port: i64,
    /// The port of the container.
    pub container_port: i64,
    /// `tcp`, `udp` or `sctp`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub protocol: String,
    /// The host's address to listen on.
    #[serde(rename = "hostIP", skip_serializing_if = "String::is_empty")]
    pub host_ip: String,
}

/// Limits of bandwidth, in bits and bits per second.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Bandwidth {
    /// Into the container.
    pub ingress_rate: i64,
    /// Into the container, at once.
    pub ingress_burst: i64,
    /// Out of the container.
    pub egress_rate: i64,
    /// Out of the container, at once.
    pub egress_burst: i64,
}

impl Input {
    /// Reads and checks what is the same for all plugins.
    pub fn parse(text: &[u8]) -> Result<Self, BadNetwork> {
        let keys = parse_object(text)?;
        let version = Version::of_config(&text_of(&keys, "cniVersion")?)?;
        let name = text_of(&keys, "name")?;
        names::network(&name)?;
        let previous = match keys.get("prevResult") {
            None | Some(Value::Null) => None,
            Some(Value::Object(result)) => Some(CniResult::from_object(result, Some(version))?.1),
            Some(_) => return Err(BadNetwork::WrongType("prevResult")),
        };
        Ok(Self {
            version,
            name,
            kind: text_of(&keys, "type")?,
            previous,
            runtime: part(&keys, "runtimeConfig")?.unwrap_or_default(),
            cni_args: match part::<Object>(&keys, "args")? {
                Some(args) => part(&args, "cni")?.unwrap_or_default(),
                None => Object::new(),
            },
            valid_attachments: part(&keys, "cni.dev/valid-attachments")?,
            keys,
        })
    }

    /// The address section; empty when there is none.
    pub fn ipam(&self) -> Result<Object, BadNetwork> {
        Ok(part(&self.keys, "ipam")?.unwrap_or_default())
    }

    /// Which plugin gives addresses; empty for none.
    pub fn ipam_kind(&self) -> Result<String, BadNetwork> {
        text_of(&self.ipam()?, "type")
    }
}

/// A typed part; `null` is absent.
fn part<T: serde::de::DeserializeOwned>(
    object: &Object,
    key: &'static str,
) -> Result<Option<T>, BadNetwork> {
    let mut alone = Object::new();
    match object.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(value) => alone.insert(key.to_owned(), value.clone()),
    };
    let mut read: std::collections::BTreeMap<String, T> =
        json::typed(&alone).map_err(|_| BadNetwork::WrongType(key))?;
    Ok(read.remove(key))
}
