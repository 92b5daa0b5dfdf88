//! What a container was attached to: `<cniDir>/<containerID>`, in the form of Multus, so that either
//! can clean up after the other.

use std::io::{self, Read};
use std::net::IpAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::{fs, io::ErrorKind};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use landbridge_cni::args::Args;
use landbridge_cni::config::Network;
use landbridge_cni::json::{self, Object};
use landbridge_cni::networks::Selection;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::delegates::Delegate;
use crate::releases::write_atomically;

const FILE_MAX: u64 = 16 << 20;

/// One network as it stands in the file.
#[derive(Serialize, Deserialize)]
struct Entry {
    #[serde(rename = "Conf", default)]
    conf: Value,
    #[serde(rename = "ConfList", default)]
    conf_list: Value,
    #[serde(rename = "Name", default)]
    name: String,
    #[serde(rename = "ifnameRequest", default, skip_serializing_if = "String::is_empty")]
    interface: String,
    #[serde(rename = "macRequest", default, skip_serializing_if = "String::is_empty")]
    mac: String,
    #[serde(rename = "ipRequest", default, skip_serializing_if = "Vec::is_empty")]
    ips: Vec<String>,
    #[serde(rename = "default-route", default, skip_serializing_if = "Option::is_none")]
    default_route: Option<Vec<IpAddr>>,
    #[serde(rename = "deviceID", default, skip_serializing_if = "String::is_empty")]
    device_id: String,
    /// The configuration, base64.
    #[serde(rename = "Bytes", default)]
    bytes: String,
    /// Ours: the interface that was made, and the arguments it was made with. Multus passes by.
    #[serde(
        rename = "landbridge.dev/interface",
        default,
        skip_serializing_if = "String::is_empty"
    )]
    made: String,
    #[serde(rename = "landbridge.dev/args", default, skip_serializing_if = "String::is_empty")]
    args: String,
}

/// What the file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Cached {
    /// The networks, in order.
    pub delegates: Vec<Delegate>,
    /// What the runtime passed along; nothing in files that Multus wrote.
    pub args: Args,
}

/// Where a container's file is.
pub fn path(directory: &Path, container_id: &str) -> PathBuf {
    directory.join(container_id)
}

/// Writes the file.
pub fn write(
    directory: &Path,
    container_id: &str,
    args: &Args,
    delegates: &[Delegate],
) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let entries: Result<Vec<Entry>, serde_json::Error> =
        delegates.iter().map(|delegate| entry(delegate, args)).collect();
    let text = json::compact(&entries?)?;
    write_atomically(&path(directory, container_id), text.as_bytes(), 0o600)
}

/// Reads the file; `None` when there is none. `own_interface` is the first network's, where the file
/// does not say it.
pub fn read(
    directory: &Path,
    container_id: &str,
    own_interface: &str,
) -> io::Result<Option<Cached>> {
    let file = match fs::File::open(path(directory, container_id)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let mut text = Vec::new();
    file.take(FILE_MAX).read_to_end(&mut text)?;
    let entries: Vec<Entry> = serde_json::from_slice(&text).map_err(io::Error::other)?;
    let args = entries.first().map_or("", |entry| entry.args.as_str());
    let args = Args::parse(args).map_err(io::Error::other)?;
    let delegates = entries.into_iter().enumerate();
    let delegates = delegates.map(|(place, entry)| delegate(place, entry, own_interface));
    Ok(Some(Cached { delegates: delegates.collect::<io::Result<_>>()?, args }))
}

/// Removes the file.
pub fn remove(directory: &Path, container_id: &str) -> io::Result<()> {
    match fs::remove_file(path(directory, container_id)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// The containers that have a file.
pub fn containers(directory: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_file() && landbridge_cni::names::container(&name).is_ok() {
            found.push(name);
        }
    }
    found.sort();
    Ok(found)
}

fn entry(delegate: &Delegate, args: &Args) -> Result<Entry, serde_json::Error> {
    let network = &delegate.network;
    let version = network.version.as_str();
    let plain: Vec<&Object> = network.plugins.iter().map(|plugin| &plugin.keys).collect();
    let (conf, conf_list, config) = if network.is_list {
        let config = json!({
            "cniVersion": version, "name": network.name, "plugins": plain,
            "disableCheck": network.disable_check, "disableGC": network.disable_gc,
        });
        let kinds: Vec<Value> =
            network.plugins.iter().map(|plugin| json!({"type": plugin.kind})).collect();
        let list = json!({"cniVersion": version, "name": network.name, "plugins": kinds});
        (json!({}), list, config)
    } else {
        let mut keys = plain.first().map(|keys| (*keys).clone()).unwrap_or_default();
        keys.insert("cniVersion".to_owned(), version.into());
        keys.insert("name".to_owned(), network.name.as_str().into());
        let kind = network.plugins.first().map_or("", |plugin| plugin.kind.as_str());
        let conf = json!({"cniVersion": version, "name": network.name, "type": kind});
        (conf, json!({}), Value::Object(keys))
    };
    Ok(Entry {
        conf,
        conf_list,
        name: delegate.name.clone(),
        interface: delegate.wishes.interface.clone(),
        mac: delegate.wishes.mac.clone(),
        ips: delegate.wishes.ips.clone(),
        default_route: delegate.wishes.default_route.clone(),
        device_id: delegate.wishes.device_id.clone(),
        bytes: STANDARD.encode(serde_json::to_vec(&config)?),
        made: delegate.interface.clone(),
        args: args.to_string(),
    })
}

fn delegate(place: usize, entry: Entry, own_interface: &str) -> io::Result<Delegate> {
    let config = STANDARD.decode(&entry.bytes).map_err(io::Error::other)?;
    let network = Network::parse(&config).map_err(io::Error::other)?;
    let interface = match (place, entry.interface.as_str()) {
        _ if !entry.made.is_empty() => entry.made,
        (0, _) => own_interface.to_owned(),
        (place, "") => format!("net{place}"),
        (_, asked) => asked.to_owned(),
    };
    let (namespace, name) = entry.name.split_once('/').unwrap_or(("", &entry.name));
    let wishes = Selection {
        interface: entry.interface,
        mac: entry.mac,
        ips: entry.ips,
        default_route: entry.default_route,
        device_id: entry.device_id,
        ..Selection::new(namespace, name)
    };
    let capabilities = wishes.capabilities().map_err(io::Error::other)?;
    Ok(Delegate { network, name: entry.name, interface, wishes, capabilities })
}
