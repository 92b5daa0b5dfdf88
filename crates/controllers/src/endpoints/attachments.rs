//! Attachments of pods: the annotation that asks for them, and whether the pods have them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use landbridge_api::foreign::rules::cut;
use landbridge_machinery::object;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::generation::Generation;
use super::kinds::Kind;
use super::world::World;

/// The annotation of pods.
pub const NETWORKS: &str = "k8s.v1.cni.cncf.io/networks";
/// The annotation with what they have.
const STATUS: &str = "k8s.v1.cni.cncf.io/network-status";

/// One entry, in upstream's order of fields.
#[derive(Serialize)]
struct Entry<'a> {
    name: &'a str,
    namespace: &'a str,
    interface: &'a str,
    #[serde(rename = "default-route", skip_serializing_if = "Option::is_none")]
    default_route: Option<[String; 1]>,
}

/// Why the annotation cannot be made.
#[derive(Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A definition is not there.
    Missing(String),
    /// A definition cannot be read.
    Unreadable(String),
}

/// The text of the annotation.
pub fn annotation(
    world: &World,
    namespace: &str,
    names: &[String],
    generation: Generation,
) -> Result<String, Trouble> {
    let mut entries = Vec::new();
    for name in names {
        let kind = Kind::NetworkAttachmentDefinition;
        let found = world.get(kind, namespace, name).filter(|nad| !object::is_terminating(nad));
        let definition = found.ok_or_else(|| Trouble::Missing(name.clone()))?;
        let gateway = gateway(definition).map_err(Trouble::Unreadable)?;
        entries.push(Entry {
            name,
            namespace,
            interface: interface(name),
            default_route: gateway.filter(|_| generation == Generation::Today).map(|ip| [ip]),
        });
    }
    serde_json::to_string(&entries).map_err(|error| Trouble::Unreadable(error.to_string()))
}

/// The gateway of the definition's addresses. An empty configuration is one without.
fn gateway(definition: &Value) -> Result<Option<String>, String> {
    let text = definition["spec"]["config"].as_str().unwrap_or_default();
    if text.is_empty() {
        return Ok(None);
    }
    let config: Value = serde_json::from_str(text)
        .map_err(|error| format!("failed to unmarshal JSON data: {error}"))?;
    let gateway = config["ipam"]["gateway"].as_str();
    Ok(gateway.filter(|text| !text.is_empty()).map(str::to_owned))
}

/// What of network-status matters.
#[derive(Deserialize)]
struct Attached {
    name: String,
    #[serde(default)]
    ips: Vec<String>,
}

/// What the pods of a part have.
#[derive(Debug, Default, PartialEq)]
pub struct Having {
    /// All addresses, by network.
    pub addresses: BTreeMap<String, BTreeSet<String>>,
    /// How many pods have an address, by network.
    pods: BTreeMap<String, usize>,
}

impl Having {
    /// Looks at the pods with these labels.
    pub fn of(world: &World, namespace: &str, labels: &[(&str, &str)]) -> Self {
        let mut having = Self::default();
        let is_one = |pod: &&Arc<Value>| {
            let own = &pod["metadata"]["labels"];
            labels.iter().all(|(key, value)| own[*key] == *value) && !object::is_terminating(pod)
        };
        for pod in world.list(Kind::Pod, namespace).filter(is_one) {
            let text = object::annotation(pod, STATUS).unwrap_or("[]");
            let Ok(networks) = serde_json::from_str::<Vec<Attached>>(text) else { continue };
            let mut counted = BTreeSet::new();
            for network in networks {
                if !network.ips.is_empty() && counted.insert(network.name.clone()) {
                    *having.pods.entry(network.name.clone()).or_default() += 1;
                }
                having.addresses.entry(network.name).or_default().extend(network.ips);
            }
        }
        having
    }

    /// Adds what other pods have.
    pub fn join(&mut self, other: Self) {
        for (network, addresses) in other.addresses {
            self.addresses.entry(network).or_default().extend(addresses);
        }
    }

    /// Whether as many pods have an address on every network as are ready.
    pub fn suffices(&self, namespace: &str, names: &[String], ready: i64) -> bool {
        names.iter().all(|name| {
            let pods = self.pods.get(&format!("{namespace}/{name}")).copied().unwrap_or(0);
            i64::try_from(pods).is_ok_and(|pods| pods >= ready)
        })
    }
}

/// The name of the interface in the pod.
pub fn interface(name: &str) -> &str {
    cut(name)
}
