//! Network configurations: what stands in a file or a NetworkAttachmentDefinition, and what a
//! plugin is handed of it.
//!
//! ```text
//!   text ──parse──▶ Network ──stdin_for(plugin, previous result, capabilities)──▶ text ──▶ Input
//!   (runtime or Multus)                                                        (plugin)
//! ```
//!
//! A single configuration is a list of one plugin whose network and plugin keys share an object.

mod input;

use std::collections::BTreeMap;

use serde_json::Value;
use thiserror::Error;

pub use self::input::{Attachment, Bandwidth, Input, PortMapping, RuntimeConfig};
use crate::error::{Code, Coded};
use crate::json::{self, Object};
use crate::names::{self, BadName};
use crate::result::{BadResult, CniResult};
use crate::version::{Unsupported, Version};

/// A network: one or more plugins that are run in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// The version to speak with the plugins.
    pub version: Version,
    /// The network's name.
    pub name: String,
    /// Whether it was written as a list.
    pub is_list: bool,
    /// Whether CHECK is to be left out.
    pub disable_check: bool,
    /// Whether GC is to be left out.
    pub disable_gc: bool,
    /// Whether plugins come only from here, and not also from files beside it.
    pub load_only_inlined_plugins: bool,
    /// The plugins, at least one.
    pub plugins: Vec<Plugin>,
}

/// One plugin of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plugin {
    /// Which plugin it is.
    pub kind: String,
    /// Which plugin gives it addresses; empty for none.
    pub ipam: String,
    /// What the runtime may tell it.
    pub capabilities: BTreeMap<String, bool>,
    /// All its keys.
    pub keys: Object,
}

impl Network {
    /// Reads a configuration of either form.
    pub fn parse(text: &[u8]) -> Result<Self, BadNetwork> {
        Self::from_object(&parse_object(text)?)
    }

    /// Reads `spec.config` of a NetworkAttachmentDefinition. A configuration without a name gets
    /// the definition's. `None` when there is no configuration: then one of that name is looked
    /// for in a directory.
    pub fn of_definition(name: &str, config: &str) -> Result<Option<Self>, BadNetwork> {
        if config.trim().is_empty() {
            return Ok(None);
        }
        let mut object = parse_object(config.as_bytes())?;
        if object.get("name").is_none_or(|found| found.is_null() || found == "") {
            object.insert("name".to_owned(), name.into());
        }
        Self::from_object(&object).map(Some)
    }

    fn from_object(object: &Object) -> Result<Self, BadNetwork> {
        // A `type` makes it a single configuration, whatever else there is.
        let is_list = object.get("type").is_none_or(Value::is_null);
        let single = text_of(object, "cniVersion")?;
        let several = match object.get("cniVersions").filter(|_| is_list) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(list)) => list
                .iter()
                .map(|v| v.as_str().ok_or(BadNetwork::WrongType("cniVersions")))
                .collect::<Result<_, _>>()?,
            Some(_) => return Err(BadNetwork::WrongType("cniVersions")),
        };
        let version = Version::newest_of(&single, several)?;
        let name = text_of(object, "name")?;
        names::network(&name)?;
        let plugins = if is_list {
            match object.get("plugins") {
                None | Some(Value::Null) => return Err(BadNetwork::NoPlugins),
                Some(Value::Array(list)) if list.is_empty() => return Err(BadNetwork::EmptyList),
                Some(Value::Array(list)) => list
                    .iter()
                    .map(|plugin| {
                        let keys = plugin.as_object().ok_or(BadNetwork::WrongType("plugins"))?;
                        Plugin::from_object(keys.clone())
                    })
                    .collect::<Result<_, _>>()?,
                Some(_) => return Err(BadNetwork::WrongType("plugins")),
            }
        } else {
            vec![Plugin::from_object(object.clone())?]
        };
        let flag = |key| if is_list { bool_of(object, key) } else { Ok(false) };
        Ok(Self {
            version,
            name,
            is_list,
            disable_check: flag("disableCheck")?,
            disable_gc: flag("disableGC")?,
            load_only_inlined_plugins: flag("loadOnlyInlinedPlugins")?,
            plugins,
        })
    }

    /// What a plugin of the network reads on standard input: its keys, the network's name and
    /// version, the result of the plugin before it, and what the runtime has to say about the
    /// capabilities it declares. Keys are sorted, as the reference library leaves them.
    pub fn stdin_for(
        &self,
        plugin: &Plugin,
        previous: Option<&CniResult>,
        capabilities: &Object,
    ) -> Result<String, BadNetwork> {
        let mut keys = plugin.keys.clone();
        keys.insert("name".to_owned(), self.name.as_str().into());
        keys.insert("cniVersion".to_owned(), self.version.as_str().into());
        if let Some(previous) = previous {
            keys.insert("prevResult".to_owned(), previous.to_value(self.version)?);
        }
        let told: Object = capabilities
            .iter()
            .filter(|(key, _)| plugin.capabilities.get(*key) == Some(&true))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if !told.is_empty() {
            keys.insert("runtimeConfig".to_owned(), Value::Object(told));
        }
        json::compact(&json::sorted(Value::Object(keys))).map_err(BadNetwork::Json)
    }
}

impl Plugin {
    fn from_object(keys: Object) -> Result<Self, BadNetwork> {
        let kind = text_of(&keys, "type")?;
        if kind.is_empty() {
            return Err(BadNetwork::NoType);
        }
        names::plugin(&kind)?;
        let ipam = match keys.get("ipam") {
            None | Some(Value::Null) => String::new(),
            Some(Value::Object(ipam)) => text_of(ipam, "type")?,
            Some(_) => return Err(BadNetwork::WrongType("ipam")),
        };
        if !ipam.is_empty() {
            names::plugin(&ipam)?;
        }
        let capabilities = match keys.get("capabilities") {
            None | Some(Value::Null) => BTreeMap::new(),
            Some(Value::Object(found)) => found
                .iter()
                .map(|(key, value)| {
                    let value = value.as_bool().ok_or(BadNetwork::WrongType("capabilities"))?;
                    Ok((key.clone(), value))
                })
                .collect::<Result<_, BadNetwork>>()?,
            Some(_) => return Err(BadNetwork::WrongType("capabilities")),
        };
        Ok(Self { kind, ipam, capabilities, keys })
    }

    /// Merges arguments into `args.cni`, as Multus does with `cni-args` of a pod's annotation.
    pub fn add_cni_args(&mut self, args: &Object) {
        if args.is_empty() {
            return;
        }
        if let Some(cni) =
            object_in(&mut self.keys, "args").and_then(|inner| object_in(inner, "cni"))
        {
            cni.extend(args.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
    }

    /// Names the device the plugin is to use, in both spellings plugins look for.
    pub fn set_device(&mut self, device: &str) {
        for key in ["deviceID", "pciBusID"] {
            self.keys.insert(key.to_owned(), device.into());
        }
    }
}

/// The object under a key, made when there is none.
fn object_in<'a>(parent: &'a mut Object, key: &str) -> Option<&'a mut Object> {
    if !parent.get(key).is_some_and(Value::is_object) {
        parent.insert(key.to_owned(), Value::Object(Object::new()));
    }
    parent.get_mut(key).and_then(Value::as_object_mut)
}

fn parse_object(text: &[u8]) -> Result<Object, BadNetwork> {
    serde_json::from_slice(text).map_err(BadNetwork::Json)
}

/// The text under a key, empty when absent.
fn text_of(object: &Object, key: &'static str) -> Result<String, BadNetwork> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(BadNetwork::WrongType(key)),
    }
}

/// A switch, which may also be written as a text.
fn bool_of(object: &Object, key: &'static str) -> Result<bool, BadNetwork> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(value)) => Ok(*value),
        Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => Ok(true),
        Some(Value::String(text)) if text.eq_ignore_ascii_case("false") => Ok(false),
        Some(_) => Err(BadNetwork::WrongType(key)),
    }
}

/// Why a configuration is refused.
#[derive(Debug, Error)]
pub enum BadNetwork {
    /// No JSON object.
    #[error("the network configuration is no JSON object: {0}")]
    Json(#[source] serde_json::Error),
    /// A key holds something else than it should.
    #[error("the network configuration has a value of the wrong type under {0:?}")]
    WrongType(&'static str),
    /// Neither `type` nor `plugins`.
    #[error("the network configuration has neither \"type\" nor \"plugins\"")]
    NoPlugins,
    /// `plugins` is empty.
    #[error("the network configuration lists no plugins")]
    EmptyList,
    /// A plugin does not say which it is.
    #[error("a plugin of the network configuration has no \"type\"")]
    NoType,
    /// A name is refused.
    #[error(transparent)]
    Name(#[from] BadName),
    /// The version is unknown.
    #[error(transparent)]
    Version(#[from] Unsupported),
    /// The previous result cannot be read, or said in the network's version.
    #[error("the previous result does not fit: {0}")]
    Previous(#[from] BadResult),
}

impl Coded for BadNetwork {
    fn code(&self) -> Code {
        match self {
            Self::Json(_) => Code::DECODING_FAILURE,
            Self::Name(error) => error.code(),
            Self::Version(error) => error.code(),
            Self::Previous(error) => error.code(),
            _ => Code::INVALID_CONFIG,
        }
    }

    fn details(&self) -> String {
        match self {
            Self::Name(error) => error.details(),
            Self::Version(error) => error.details(),
            Self::Previous(error) => error.details(),
            _ => String::new(),
        }
    }
}
