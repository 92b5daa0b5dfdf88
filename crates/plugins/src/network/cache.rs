//! Results kept for DEL, CHECK and GC, in the reference library's files:
//! `DIR/results/NETWORK-CONTAINER-INTERFACE`.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use landbridge_cni::args::Args;
use landbridge_cni::config::Network;
use landbridge_cni::json::{self, Object};
use landbridge_cni::{CniResult, Version};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Endpoint, text_of};

const KIND: &str = "cniCacheV1";
/// What is larger was not written by anyone who should.
const FILE_MAX: u64 = 8 << 20;

/// A kept result.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Kept {
    kind: String,
    pub container_id: String,
    #[serde(default)]
    config: String,
    #[serde(rename = "ifName")]
    pub interface: String,
    #[serde(default)]
    network_name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    netns: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cni_args: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    capability_args: Object,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<Object>,
}

impl Kept {
    /// The result; one that is of no known form is none.
    pub fn result(&self, version: Version) -> Option<CniResult> {
        let (_, result) = CniResult::from_object(self.result.as_ref()?, Some(version)).ok()?;
        Some(result)
    }

    /// The network as it was when the result was made.
    pub fn network(&self) -> Option<Network> {
        Network::parse(&STANDARD.decode(&self.config).ok()?).ok()
    }

    /// The endpoint the result is of.
    pub fn endpoint(&self, path: &[String]) -> Endpoint {
        let pairs: Vec<_> = self.cni_args.iter().map(|(k, v)| format!("{k}={v}")).collect();
        Endpoint {
            container_id: self.container_id.clone(),
            netns: (!self.netns.is_empty()).then(|| self.netns.clone()),
            interface: self.interface.clone(),
            args: Args::parse(&pairs.join(";")).unwrap_or_default(),
            capabilities: self.capability_args.clone(),
            path: path.to_vec(),
        }
    }
}

/// Where a result is kept. All three names are of letters that cannot leave the directory.
pub(super) fn file(directory: &Path, network: &str, container: &str, interface: &str) -> PathBuf {
    directory.join("results").join(format!("{network}-{container}-{interface}"))
}

/// Keeps a result: whole or not at all, and for nobody else's eyes.
pub(super) fn save(
    file: &Path,
    network: &Network,
    endpoint: &Endpoint,
    result: &CniResult,
) -> io::Result<()> {
    let result = result.to_value(network.version).map_err(io::Error::other)?;
    let config = json::compact(&text_of(network))?;
    let pairs = endpoint.args.iter().map(|(k, v)| (k.to_owned(), v.to_owned()));
    let kept = Kept {
        kind: KIND.to_owned(),
        container_id: endpoint.container_id.clone(),
        config: STANDARD.encode(config),
        interface: endpoint.interface.clone(),
        network_name: network.name.clone(),
        netns: endpoint.netns.clone().unwrap_or_default(),
        cni_args: pairs.collect(),
        capability_args: endpoint.capabilities.clone(),
        result: match result {
            Value::Object(object) => Some(object),
            _ => None,
        },
    };
    let (Some(directory), Some(name)) = (file.parent(), file.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    // Beside the directory, not in it: whoever lists it sees whole files only.
    let number = getrandom::u64().map_err(io::Error::other)?;
    let passing = directory.with_file_name(format!(".{number:016x}"));
    let text = json::compact(&kept)?;
    let mut options = fs::OpenOptions::new();
    let written = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&passing)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&passing, directory.join(name)));
    if written.is_err() {
        let _ = fs::remove_file(&passing);
    }
    written
}

/// What was kept; nothing where nothing was, or where it cannot be read: DEL goes on without.
pub(super) fn load(file: &Path) -> Option<Kept> {
    let data = fs::metadata(file).ok()?;
    if !data.is_file() || data.len() > FILE_MAX {
        return None;
    }
    match serde_json::from_slice::<Kept>(&fs::read(file).ok()?) {
        Ok(kept) if kept.kind == KIND => Some(kept),
        _ => {
            tracing::warn!(file = %file.display(), "a kept result cannot be read");
            None
        }
    }
}

/// All that is kept of a network.
pub(super) fn list(directory: &Path, network: &str) -> Vec<Kept> {
    let Ok(entries) = fs::read_dir(directory.join("results")) else { return Vec::new() };
    let begins = format!("{network}-");
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|file| {
            file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&begins))
        })
        .collect();
    files.sort();
    let kept = files.iter().filter_map(|file| load(file));
    kept.filter(|kept| kept.network_name == network).collect()
}

/// Forgets a result.
pub(super) fn forget(file: &Path) {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(%error, file = %file.display(), "a kept result cannot be removed");
        }
        _ => {}
    }
}
