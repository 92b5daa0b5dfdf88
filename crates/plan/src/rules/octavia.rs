//! The management network of Octavia, as far as it can be known before anything is applied.

use landbridge_api::foreign::{Node, Place, cni, controlplane};
use landbridge_machinery::object;
use serde_json::Value;

use super::View;
use crate::codes;
use crate::finding::{Finding, Mark};
use crate::octavia::{self, Fault, PHYSICAL_NETWORK, Side};

pub(super) fn check(view: &View<'_, '_>, found: &mut Vec<Finding>) {
    for (at, source) in view.sources.effective() {
        let root = Node::root(source.value);
        let spec = match (source.object.group(), source.object.kind.as_str()) {
            ("octavia.openstack.org", "Octavia") if !is_repeated(view, source.value, at) => {
                root.get("spec")
            }
            (group, controlplane::KIND) if group.starts_with("core.") => {
                let section = root.at(&["spec", "octavia"]);
                let section = section.filter(|section| section.value["enabled"] == true);
                // Nothing said is a template, too: upstream's defaults.
                section.and_then(|section| section.get("template"))
            }
            _ => None,
        };
        if let Some(spec) = spec.filter(|spec| spec.value.is_object()) {
            judge(view, at, &spec, found);
        }
    }
}

/// Whether the control plane it was made of is here, too: what is wrong with both is said there.
fn is_repeated(view: &View<'_, '_>, value: &Value, at: usize) -> bool {
    let namespace = view.sources.namespaces[at];
    object::owner_references(value).iter().any(|owner| {
        view.sources.effective().any(|(other, source)| {
            owner["kind"] == source.object.kind.as_str()
                && owner["name"] == source.object.name.as_str()
                && view.sources.namespaces[other] == namespace
        })
    })
}

fn judge(view: &View<'_, '_>, at: usize, spec: &Node<'_>, found: &mut Vec<Finding>) {
    let namespace = view.sources.namespaces[at];
    let name = octavia::attachment_name(spec.value);
    let definition = view.sources.effective().find(|(other, source)| {
        source.object.group() == cni::GROUP
            && source.object.kind == cni::KIND
            && source.object.name == name
            && view.sources.namespaces[*other] == namespace
    });
    if definition.is_none() {
        // Where pods name it, the rule about attachments says so; of a few files nobody knows.
        let is_wanted = view.facts.wanted.iter().any(|w| w.source == at && w.name.value == name);
        let is_known = view.options.complete || !view.facts.attachment_names.is_empty();
        if is_wanted || !is_known {
            return;
        }
    }
    let outcome = octavia::design(spec, definition.map(|(_, source)| source.value));
    let finding = |code, fault: &Fault| {
        let (source, other, what) = match (fault.side, definition) {
            (Side::Attachment, Some((there, _))) => (there, Some(at), "the Octavia"),
            (Side::Octavia, Some((there, _))) => (at, Some(there), "the attachment"),
            (_, None) => (at, None, ""),
        };
        let mut finding = Finding::new(code, format!("Octavia: {}", sentence(fault)))
            .at(&Mark::new(source, &fault.place), "here");
        if let Some(other) = other {
            let place = if other == at { spec.place.clone() } else { Place::new("spec.config") };
            finding = finding.at(&Mark::new(other, &place), what);
        }
        finding
    };
    found.extend(outcome.faults.iter().map(|f| finding(&codes::NO_MANAGEMENT_NETWORK, f)));
    found.extend(outcome.doubts.iter().map(|f| finding(&codes::ODD_MANAGEMENT_NETWORK, f)));
    if outcome.design.is_some_and(|design| design.is_managed) {
        physical_network(view, at, spec, found);
    }
}

/// The field's own name begins the sentence; the rest of its path is shown anyway.
fn sentence(fault: &Fault) -> String {
    let path = fault.place.inner.as_ref().unwrap_or(&fault.place.path);
    let last = path.as_str().rsplit('.').next().unwrap_or_default();
    format!("{last}: {}", fault.message)
}

/// OVN is there, and knows no cable to the provider network.
fn physical_network(view: &View<'_, '_>, at: usize, spec: &Node<'_>, found: &mut Vec<Finding>) {
    let namespace = view.sources.namespaces[at];
    let has_ovn = view.sources.effective().any(|(other, source)| {
        view.sources.namespaces[other] == namespace
            && (source.object.kind == "OVNController"
                || source.value["spec"]["ovn"]["template"]["ovnController"].is_object())
    });
    let mut known = view.facts.nic_mappings.iter().filter(|(space, ..)| *space == namespace);
    if has_ovn && known.all(|(_, physical, _)| *physical != PHYSICAL_NETWORK) {
        let message = format!(
            "Octavia's provider network is on the physical network {PHYSICAL_NETWORK}, and nicMappings of OVN \
             has no entry for it"
        );
        found.push(
            Finding::new(&codes::NO_PHYSICAL_NETWORK, message)
                .at(&Mark::new(at, &spec.place), "wants it"),
        );
    }
}
