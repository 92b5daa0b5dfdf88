//! Fields that do not exist: near misses in foreign kinds. Our own kinds are judged by their
//! schema, together with admission.

use landbridge_api::foreign::{Node, Place, cni, metallb, nmstate, openstack};
use landbridge_api::network;
use landbridge_machinery::field::FieldPath;
use serde_json::Value;

use super::View;
use super::shapes::{self, Shape};
use crate::codes;
use crate::finding::{Finding, Mark};
use crate::spelling;

/// How deep objects are looked into.
const DEEPEST: usize = 64;

pub(super) fn check(view: &View<'_, '_>, found: &mut Vec<Finding>) {
    for (at, source) in view.sources.effective() {
        let mut judge = Judge { source: at, found };
        let spec = Node::root(source.value).get("spec");
        let group = source.object.group();
        if let Some(spec) = &spec {
            match (group, source.object.kind.as_str()) {
                (cni::GROUP, cni::KIND) => judge.attachment(spec),
                (nmstate::GROUP, nmstate::KIND) => judge.shape(spec, &shapes::POLICY),
                (metallb::GROUP, "IPAddressPool") => judge.shape(spec, &shapes::POOL),
                (metallb::GROUP, "L2Advertisement") => judge.shape(spec, &shapes::ADVERTISEMENT),
                (group, _) if openstack::is_group(group) => {
                    judge.openstack(spec, group == network::GROUP, 0);
                }
                _ => {}
            }
        }
        if group.is_empty() && source.object.kind == "Service" {
            let annotations = Node::root(source.value).at(&["metadata", "annotations"]);
            if let Some(annotations) = annotations {
                judge.annotations(&annotations);
            }
        }
    }
}

/// Misspelt fields in a piece of an object, of which nothing else is known.
pub(crate) fn misspelt(piece: &Value) -> Vec<Finding> {
    let mut found = Vec::new();
    Judge { source: 0, found: &mut found }.openstack(&Node::root(piece), false, 0);
    found
}

struct Judge<'f> {
    source: usize,
    found: &'f mut Vec<Finding>,
}

impl Judge<'_> {
    fn miss(&mut self, place: &Place, key: &str, meant: &str) {
        self.found.push(unknown(&Mark::new(self.source, place), key, Some(meant)));
    }

    fn shape(&mut self, node: &Node<'_>, shape: &Shape) {
        match shape {
            Shape::Any => {}
            Shape::List(of) => node.elements().for_each(|element| self.shape(&element, of)),
            Shape::Map(fields) => {
                // Most fields are right and lead nowhere: places are made only for the rest.
                for (key, value) in node.value.as_object().into_iter().flatten() {
                    let below = || Node { value, place: node.place.child(key) };
                    match fields.iter().find(|(name, _)| name == key) {
                        Some((_, Shape::Any)) => {}
                        Some((_, shape)) => self.shape(&below(), shape),
                        None => {
                            let names = fields.iter().map(|(name, _)| *name);
                            if let Some(meant) = spelling::meant(key, names) {
                                self.miss(&below().place, key, meant);
                            }
                        }
                    }
                }
            }
        }
    }

    fn attachment(&mut self, spec: &Node<'_>) {
        self.shape(spec, &shapes::ATTACHMENT);
        let Some(config) = spec.get("config") else { return };
        let text = config.value.as_str().unwrap_or_default();
        let Ok(value) = serde_json::from_str::<Value>(text) else { return };
        let place = Place { inner: Some(FieldPath::root()), ..config.place };
        self.shape(&Node { value: &value, place }, &shapes::CNI);
    }

    /// Our own kinds have a schema, except for what stands in annotations.
    fn openstack(&mut self, node: &Node<'_>, own: bool, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        for (key, value) in node.value.as_object().into_iter().flatten() {
            let below = || Node { value, place: node.place.child(key) };
            if key == "annotations" {
                self.annotations(&below());
                continue;
            }
            if shapes::FREE.contains(&key.as_str()) {
                continue;
            }
            let known = shapes::OPENSTACK.contains(&key.as_str());
            if !own
                && !known
                && let Some(meant) = spelling::meant(key, shapes::OPENSTACK.iter().copied())
            {
                self.miss(&below().place, key, meant);
                continue;
            }
            match key.as_str() {
                "externalEndpoints" if !own => {
                    below().elements().for_each(|block| self.endpoint(&block));
                }
                "externalEndpoint" if !own => self.endpoint(&below()),
                _ if value.is_object() => self.openstack(&below(), own, depth + 1),
                _ if value.is_array() => {
                    for element in below().elements() {
                        self.openstack(&element, own, depth + 1);
                    }
                }
                _ => {}
            }
        }
    }

    fn endpoint(&mut self, block: &Node<'_>) {
        for (key, below) in block.entries() {
            if let Some(meant) = spelling::meant(key, shapes::ENDPOINT.iter().copied()) {
                self.miss(&below.place, key, meant);
            }
        }
    }

    fn annotations(&mut self, annotations: &Node<'_>) {
        for (key, below) in annotations.entries() {
            let Some((prefix, name)) = key.split_once('/') else { continue };
            let prefixes = ["metallb.io", "metallb.universe.tf"];
            let meant = if prefixes.contains(&prefix) {
                spelling::meant(name, shapes::ANNOTATIONS.iter().copied())
                    .map(|name| format!("{prefix}/{name}"))
            } else if shapes::ANNOTATIONS.contains(&name) {
                spelling::meant(prefix, prefixes).map(|prefix| format!("{prefix}/{name}"))
            } else {
                None
            };
            if let Some(meant) = meant {
                self.miss(&below.place, key, &meant);
            }
        }
    }
}

/// A field that does not exist, and perhaps the one that was meant.
pub(super) fn unknown(mark: &Mark, key: &str, meant: Option<&str>) -> Finding {
    let finding = Finding::new(&codes::UNKNOWN_FIELD, format!("there is no field {key} here"));
    let finding = finding.at(mark, "has no effect");
    finding.help(meant.map_or_else(
        || "remove it, or correct its name".to_owned(),
        |meant| format!("did you mean {meant}?"),
    ))
}
