//! Which definition a configuration came from.
//!
//! A plugin reads a configuration that does not say so. Where the definition is known its name goes
//! into the address section, as for [`crate::sticky`], and from there into the ledger, for people who
//! ask who handed an address out.

use landbridge_cni::config::{Input, Network};
use serde_json::{Value, json};

/// The key of the address section: `namespace/name`.
pub const KEY: &str = "landbridge.dev/definition";

/// Where a configuration came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// The definition as an object: what names it, and the configuration of this plugin.
    pub definition: Value,
    /// For people: `NetworkAttachmentDefinition openstack/internalapi`.
    pub source: String,
}

/// Puts the name into the address sections of a network, in the place of what was there.
pub fn mark(network: &mut Network, namespace: &str, name: &str) {
    for plugin in &mut network.plugins {
        if let Some(Value::Object(ipam)) = plugin.keys.get_mut("ipam") {
            ipam.insert(KEY.to_owned(), format!("{namespace}/{name}").into());
        }
    }
}

/// Where a plugin's configuration came from. A network that no definition stands for has only its
/// own name.
pub fn of(input: &Input) -> Origin {
    let section = input.keys.get("ipam").and_then(|ipam| ipam.get(KEY)).and_then(Value::as_str);
    let named = section.and_then(|text| text.split_once('/'));
    let source = match named {
        Some((namespace, name)) => format!("NetworkAttachmentDefinition {namespace}/{name}"),
        None => format!("network {}", input.name),
    };
    // No namespace is called so, and none is taken for granted then.
    let (namespace, name) = named.unwrap_or(("-", &input.name));
    let config = Value::Object(input.keys.clone());
    Origin { definition: definition(namespace, name, &config.to_string()), source }
}

/// A definition as it is written.
pub fn definition(namespace: &str, name: &str, config: &str) -> Value {
    json!({
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"config": config},
    })
}
