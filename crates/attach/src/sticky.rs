//! Addresses that stay: who holds them while a pod is away.
//!
//! A definition with the annotation `landbridge.dev/sticky: "true"` gives the pods of a StatefulSet
//! and of a DaemonSet addresses that outlive them; so does every definition to pods that carry the
//! annotation themselves. A replica keeps its name, so its own name holds
//! the address; a DaemonSet's pods do not, so the set and the node hold it together. Pods of other
//! owners are not recognised when they come back, so they get addresses as usual.
//!
//! The decision is made where the pod is known, and travels to the address plugin as a key of its
//! section. The cache keeps that section, so DEL knows it without asking anybody.

use landbridge_cni::config::Network;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::objects::{Definition, Owner, Pod, PodSet, SetKind};

/// The annotation of a definition, or of the pods.
pub const ANNOTATION: &str = "landbridge.dev/sticky";
/// The key of the address section.
pub const KEY: &str = "landbridge.dev/holder";

/// Who holds the address instead of the pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StickyHolder {
    /// What is recorded in the place of `namespace/pod`.
    pub podref: String,
    /// As long as this lives the address stays.
    pub owner: Owner,
}

/// Whether a definition asks for addresses that stay.
pub fn is_sticky(definition: &Definition) -> bool {
    definition.annotations.get(ANNOTATION).is_some_and(|value| value == "true")
}

/// Whether a pod asks for addresses that stay, wherever it is attached.
pub fn asks(pod: &Pod) -> bool {
    pod.annotations.get(ANNOTATION).is_some_and(|value| value == "true")
}

/// Who holds a pod's address on a definition that asks for it to stay; `None` for pods that are
/// not recognised when they come back. `others` are the pods of the same node: while a surging
/// update runs two pods of one DaemonSet there, the second must not get the first one's address.
pub fn holder(pod: &Pod, others: &[Pod]) -> Option<StickyHolder> {
    let owner = pod.controller.clone()?;
    let podref = match owner.kind.as_str() {
        "StatefulSet" => pod.reference(),
        "DaemonSet" if !pod.node.is_empty() => {
            let rival = |other: &&Pod| {
                other.uid != pod.uid
                    && other.node == pod.node
                    && !other.is_finished
                    && other.controller.as_ref().is_some_and(|c| c.uid == owner.uid)
            };
            if others.iter().any(|other| rival(&other)) {
                return None;
            }
            format!("{}/{}.{}", pod.namespace, owner.name, pod.node)
        }
        _ => return None,
    };
    Some(StickyHolder { podref, owner })
}

/// Puts the decision into the address sections of a network, and takes out what was there.
pub fn mark(network: &mut Network, holder: Option<&StickyHolder>) {
    for plugin in &mut network.plugins {
        let Some(Value::Object(ipam)) = plugin.keys.get_mut("ipam") else { continue };
        ipam.remove(KEY);
        if let Some(value) = holder.and_then(|holder| serde_json::to_value(holder).ok()) {
            ipam.insert(KEY.to_owned(), value);
        }
    }
}

/// Reads the decision out of an address section.
pub fn of_section(section: &landbridge_cni::json::Object) -> Option<StickyHolder> {
    serde_json::from_value(section.get(KEY)?.clone()).ok()
}

/// Whether what is recorded for a holder is kept although no pod of that name is there.
/// `is_sticky_pool` says whether a sticky definition draws from the pool: the record itself cannot
/// say whether a replica's address was to stay.
pub fn is_kept(podref: &str, is_sticky_pool: bool, sets: &[PodSet], nodes: &[String]) -> bool {
    let Some((namespace, name)) = podref.split_once('/') else { return false };
    let of_set = |set: &&PodSet| set.namespace == namespace;
    sets.iter().filter(of_set).any(|set| match set.kind {
        SetKind::Stateful => {
            let ordinal = name.strip_prefix(&set.name).and_then(|rest| rest.strip_prefix('-'));
            let ordinal = ordinal.filter(|text| is_number(text)).and_then(|text| text.parse().ok());
            let (first, count) = set.ordinals;
            let stays = is_sticky_pool || set.is_sticky;
            stays && ordinal.is_some_and(|n: u64| n >= first && n - first < count)
        }
        SetKind::Daemon => {
            let node = name.strip_prefix(&set.name).and_then(|rest| rest.strip_prefix('.'));
            node.is_some_and(|node| nodes.iter().any(|known| known == node))
        }
    })
}

/// As a StatefulSet writes it: no sign, no leading zero.
fn is_number(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(kind: &str, name: &str, uid: &str) -> Pod {
        let owner = Owner {
            api_version: "apps/v1".into(),
            kind: kind.into(),
            name: "ovn".into(),
            uid: "set".into(),
        };
        Pod {
            namespace: "openstack".into(),
            name: name.into(),
            uid: uid.into(),
            node: "worker-0".into(),
            controller: (!kind.is_empty()).then_some(owner),
            ..Pod::default()
        }
    }

    #[test]
    fn replicas_hold_by_name_and_daemons_by_node() {
        let of = |kind, name| holder(&pod(kind, name, "u"), &[]).map(|h| h.podref);
        assert_eq!(of("StatefulSet", "ovn-0").as_deref(), Some("openstack/ovn-0"));
        assert_eq!(of("DaemonSet", "ovn-x7f2p").as_deref(), Some("openstack/ovn.worker-0"));
        assert_eq!(of("ReplicaSet", "ovn-5d-x"), None);
        assert_eq!(of("", "ovn"), None);
    }

    #[test]
    fn a_surging_daemon_gets_an_address_of_its_own() {
        let old = pod("DaemonSet", "ovn-old", "1");
        let new = pod("DaemonSet", "ovn-new", "2");
        assert_eq!(holder(&new, std::slice::from_ref(&old)), None);
        let finished = Pod { is_finished: true, ..old };
        assert!(holder(&new, &[finished, new.clone()]).is_some());
    }

    #[test]
    fn kept_while_the_owner_is_there() {
        let set = |kind, name: &str, ordinals| PodSet {
            kind,
            namespace: "n".into(),
            name: name.into(),
            uid: "u".into(),
            ordinals,
            is_sticky: name == "sb",
        };
        let sets = [
            set(SetKind::Stateful, "db", (1, 2)),
            set(SetKind::Daemon, "ovn", (0, 0)),
            set(SetKind::Stateful, "sb", (0, 1)),
        ];
        let nodes = ["worker-0".to_owned(), "w.example".to_owned()];
        let cases = [
            ("n/db-1", true, true),
            ("n/db-2", true, true),
            ("n/db-0", true, false),
            ("n/db-3", true, false),
            ("n/db-01", true, false),
            ("n/db-1", false, false),
            ("n/db", true, false),
            ("other/db-1", true, false),
            ("n/ovn.worker-0", false, true),
            ("n/ovn.w.example", false, true),
            ("n/ovn.worker-1", true, false),
            ("n/ovnx.worker-0", true, false),
            ("broken", true, false),
            // The pods themselves have asked for it.
            ("n/sb-0", false, true),
            ("n/sb-1", false, false),
        ];
        for (podref, sticky, expected) in cases {
            assert_eq!(is_kept(podref, sticky, &sets, &nodes), expected, "{podref} {sticky}");
        }
    }
}
