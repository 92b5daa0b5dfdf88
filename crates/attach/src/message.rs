//! What the thin binary and the daemon say to each other: one call, and its answer.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use landbridge_cni::environment::{BadEnvironment, Environment};
use landbridge_cni::error::{CniError, Code, Coded};
use serde::{Deserialize, Serialize};

use crate::attacher::Request;

/// The largest call; configurations are kilobytes.
pub const BODY_MAX: usize = 8 << 20;

/// A call as it came: `POST /cni`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The plugin that was called; Multus when it is not said.
    #[serde(default = "multus")]
    pub plugin: String,
    /// The variables of the environment that begin with `CNI_`.
    pub env: BTreeMap<String, String>,
    /// Standard input, base64.
    #[serde(default)]
    pub config: String,
}

fn multus() -> String {
    "multus".to_owned()
}

impl Message {
    /// A call of a plugin. Of the environment only what the protocol has is passed on.
    pub fn new(plugin: &str, env: &BTreeMap<String, String>, stdin: &[u8]) -> Self {
        let ours = env.iter().filter(|(name, _)| name.starts_with("CNI_"));
        Self {
            plugin: plugin.to_owned(),
            env: ours.map(|(name, value)| (name.clone(), value.clone())).collect(),
            config: STANDARD.encode(stdin),
        }
    }

    /// Reads the body of a request.
    pub fn parse(body: &[u8]) -> Result<Self, CniError> {
        serde_json::from_slice(body).map_err(|error| {
            CniError::new(Code::DECODING_FAILURE, format!("the request cannot be read: {error}"))
        })
    }

    /// The call it is.
    pub fn request(&self) -> Result<Request, CniError> {
        let config = STANDARD.decode(&self.config).map_err(|error| {
            CniError::new(
                Code::DECODING_FAILURE,
                format!("the configuration is no base64: {error}"),
            )
        })?;
        let environment = Environment::read(&self.env).map_err(|error| error.report(""))?;
        let environment = environment
            .ok_or_else(|| BadEnvironment::Missing("CNI_COMMAND".to_owned()).report(""))?;
        Ok(Request { environment, config })
    }

    /// Whether it is a DEL, which must never be lost.
    pub fn is_del(&self) -> bool {
        self.env.get("CNI_COMMAND").is_some_and(|command| command == "DEL")
    }
}
