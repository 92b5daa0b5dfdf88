//! The configuration of Multus from that of the cluster's network. Pure.

use std::path::Path;

use landbridge_cni::config::Network;
use landbridge_cni::json;
use serde_json::{Map, Value, json};

/// The mark by which our own file is known.
const MARK: &str = "landbridge.dev/installed";

/// What is not in the cluster's configuration.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// How to reach the cluster.
    pub kubeconfig: &'a Path,
    /// Where the daemon listens.
    pub socket: Option<&'a Path>,
}

/// The text of the file. The cluster's network is taken over as it stands; what it can be told by
/// the runtime the runtime tells Multus.
pub fn render(primary: &[u8], entry: &Entry<'_>) -> Result<String, String> {
    let network = Network::parse(primary).map_err(|error| error.to_string())?;
    let delegate: Value = serde_json::from_slice(primary).map_err(|error| error.to_string())?;
    let mut capabilities = Map::new();
    for (name, on) in network.plugins.iter().flat_map(|plugin| &plugin.capabilities) {
        if *on {
            capabilities.insert(name.clone(), Value::Bool(true));
        }
    }
    let mut config = json!({
        "cniVersion": network.version.as_str(),
        "name": "multus-cni-network",
        "type": "multus",
        MARK: true,
        "kubeconfig": entry.kubeconfig,
        "delegates": [delegate],
    });
    if let Some(object) = config.as_object_mut() {
        if !capabilities.is_empty() {
            object.insert("capabilities".to_owned(), Value::Object(capabilities));
        }
        if let Some(socket) = entry.socket {
            object.insert("socket".to_owned(), json!(socket));
        }
    }
    json::indented(&config).map(|text| text + "\n").map_err(|error| error.to_string())
}

/// Whether we wrote the file.
pub fn is_ours(text: &[u8]) -> bool {
    key(text, MARK) == Some(Value::Bool(true))
}

/// Whether it is a configuration of Multus, which cannot be its own delegate.
pub fn is_multus(text: &[u8]) -> bool {
    let kind = key(text, "type");
    kind.is_some_and(|kind| kind == "multus" || kind == "multus-shim")
}

fn key(text: &[u8], name: &str) -> Option<Value> {
    let value: Value = serde_json::from_slice(text).ok()?;
    value.get(name).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clusters_network_becomes_the_first_delegate() {
        let primary = br#"{"cniVersion":"0.3.1","name":"cbr0","plugins":[{"type":"flannel"},
            {"type":"portmap","capabilities":{"portMappings":true,"x":false}}]}"#;
        let entry = Entry { kubeconfig: Path::new("/k"), socket: Some(Path::new("/s")) };
        let text = render(primary, &entry).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["delegates"][0]["name"], "cbr0");
        assert_eq!(value["capabilities"], json!({"portMappings": true}));
        assert_eq!((&value["type"], &value["cniVersion"]), (&json!("multus"), &json!("0.3.1")));
        assert_eq!(value["socket"], "/s");
        assert!(is_ours(text.as_bytes()) && !is_ours(primary));
        // It is what the plugin reads.
        let settings = crate::settings::Settings::parse(text.as_bytes()).unwrap();
        assert_eq!(settings.socket.as_deref(), Some(Path::new("/s")));
        assert!(render(b"{}", &entry).unwrap_err().contains("missing network name"));
    }
}
