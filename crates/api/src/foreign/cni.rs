//! NetworkAttachmentDefinition: how a pod gets a further interface, and which addresses
//! whereabouts gives to it.

use std::net::IpAddr;

use landbridge_addr::number::{predecessor, successor};
use serde_json::Value;

use super::{At, Node, Place, Trouble};
use crate::net::{Cidr, Range};

/// The API group.
pub const GROUP: &str = "k8s.cni.cncf.io";
/// The kind.
pub const KIND: &str = "NetworkAttachmentDefinition";
/// Where the configuration stands.
const CONFIG: &str = "spec.config";

/// The configuration of an attachment: its first plugin, which makes the interface. Chained
/// plugins only tune it.
#[derive(Clone, Debug, Default)]
pub struct NetConf {
    /// `macvlan`, `bridge`, `host-device`, …
    pub plugin: String,
    /// Interface of the node the pod's interface sits on (macvlan, ipvlan, vlan).
    pub master: Option<At<String>>,
    /// Bridge of the node the pod is plugged into.
    pub bridge: Option<At<String>>,
    /// Interface of the node that is moved into the pod.
    pub device: Option<At<String>>,
    /// VLAN of the port on the bridge, or of the interface on its master.
    pub vlan: Option<At<i64>>,
    /// Largest packet.
    pub mtu: Option<At<i64>>,
    /// Who gives the addresses.
    pub ipam: Ipam,
}

/// Address management of an attachment.
#[derive(Clone, Debug, Default)]
pub struct Ipam {
    /// `whereabouts`, `static`, `host-local`, …; empty when the attachment has no addresses.
    pub kind: String,
    /// What whereabouts gives addresses from; each range gives one per pod.
    pub ranges: Vec<IpamRange>,
    /// Routers that pods are told about: the gateway, and next hops of routes.
    pub routers: Vec<At<IpAddr>>,
    /// Addresses that are given without bookkeeping.
    pub addresses: Vec<At<IpAddr>>,
}

/// One range of whereabouts.
#[derive(Clone, Debug)]
pub struct IpamRange {
    /// Where it is written.
    pub place: Place,
    /// The prefix pods see.
    pub prefix: At<Cidr>,
    /// What is handed out of it, before exclusion.
    pub range: Range,
    /// What is never handed out.
    pub exclude: Vec<Range>,
    /// Bounds that whereabouts silently does not follow, because they are outside of what is
    /// usable or in the wrong order.
    pub ignored: Vec<At<IpAddr>>,
}

impl NetConf {
    /// The interface of the node that leads to the wire, when the attachment names one.
    pub fn interface(&self) -> Option<&At<String>> {
        self.master.as_ref().or(self.bridge.as_ref()).or(self.device.as_ref())
    }
}

/// Reads the object. `None` when it holds no configuration, which is allowed: the node's own files
/// are used then.
pub fn read(object: &Value, trouble: &mut Trouble) -> Option<NetConf> {
    let text = Node::root(object).get("spec")?.text("config", trouble)?;
    if text.value.trim().is_empty() {
        return None;
    }
    let config: Value = match serde_json::from_str(text.value) {
        Ok(config) => config,
        Err(error) => {
            trouble.note(&text.place, format!("is not JSON: {error}"));
            return None;
        }
    };
    Some(net_conf(&config, trouble))
}

fn net_conf(config: &Value, trouble: &mut Trouble) -> NetConf {
    let mut inner = Trouble::default();
    let place =
        Place { inner: Some(landbridge_machinery::field::FieldPath::root()), ..Place::new(CONFIG) };
    let root = Node { value: config, place };
    let plugin = match root.list("plugins", &mut inner).into_iter().next() {
        Some(first) if config.get("type").is_none() => first,
        _ => root,
    };
    let owned = |text: At<&str>| text.map(str::to_owned);
    let conf = NetConf {
        plugin: plugin.text("type", &mut inner).map(|t| t.value.to_owned()).unwrap_or_default(),
        master: plugin.text("master", &mut inner).map(owned),
        bridge: plugin.text("bridge", &mut inner).map(owned),
        device: plugin.text("device", &mut inner).map(owned),
        vlan: plugin.number("vlan", &mut inner).or_else(|| plugin.number("vlanId", &mut inner)),
        mtu: plugin.number("mtu", &mut inner).filter(|mtu| mtu.value > 0),
        ipam: plugin.get("ipam").map(|node| ipam(&node, &mut inner)).unwrap_or_default(),
    };
    if conf.plugin.is_empty() {
        inner.note(&plugin.place.child("type"), "the plugin is missing");
    }
    trouble.0.append(&mut inner.0);
    conf
}

fn ipam(node: &Node<'_>, trouble: &mut Trouble) -> Ipam {
    let kind = node.text("type", trouble).map(|text| text.value.to_owned()).unwrap_or_default();
    let mut found = Ipam { kind, ..Ipam::default() };
    if found.kind == "whereabouts" {
        if node.get("range").is_some() {
            found.ranges.extend(range(node, trouble));
        }
        for entry in node.list("ipRanges", trouble) {
            found.ranges.extend(range(&entry, trouble));
        }
    }
    let gateway = node.text("gateway", trouble).filter(|text| !text.value.is_empty());
    let mut routers: Vec<_> = gateway.into_iter().collect();
    for route in node.list("routes", trouble) {
        routers.extend(route.text("gw", trouble).filter(|text| !text.value.is_empty()));
    }
    found.routers = routers.iter().filter_map(|text| trouble.address(text)).collect();
    for entry in node.list("addresses", trouble) {
        let Some(text) = entry.text("address", trouble) else { continue };
        let bare = text.clone().map(|text| text.split('/').next().unwrap_or_default());
        found.addresses.extend(trouble.address(&bare));
    }
    found
}

/// What whereabouts hands out: see "Usable range" in its documentation. Bounds outside of what is
/// usable are silently ignored by it, so they are here, too, but they are remembered.
fn range(node: &Node<'_>, trouble: &mut Trouble) -> Option<IpamRange> {
    let text = node.text("range", trouble)?;
    // `start-end/len` is the other form.
    let (dashed, prefix) = match text.value.split_once('-') {
        Some((start, rest)) => (Some(text.clone().map(|_| start)), text.clone().map(|_| rest)),
        None => (None, text.clone()),
    };
    let prefix = trouble.prefix(&prefix)?;
    let dashed_end = dashed.as_ref().and_then(|_| {
        let end = text.value.split_once('-')?.1.split('/').next()?;
        Some(text.clone().map(|_| end))
    });
    let (first, last) = prefix.value.bounds();
    let usable = match (successor(first), predecessor(last)) {
        (Some(first), Some(last)) => Range::new(first, last),
        _ => None,
    };
    let Some(usable) = usable else {
        trouble.note(&text.place, format!("{} has no usable addresses", text.value));
        return None;
    };
    let mut bound = |name: &str, other: Option<At<&str>>| {
        let text = node.text(name, trouble).filter(|text| !text.value.is_empty()).or(other)?;
        trouble.address(&text)
    };
    let start = bound("range_start", dashed);
    let end = bound("range_end", dashed_end);
    let mut ignored = Vec::new();
    let mut follow = |bound: Option<At<IpAddr>>, within: Range, otherwise: IpAddr| match bound {
        Some(bound) if within.contains(bound.value) => bound.value,
        // The network address itself is what whereabouts assumes when nothing is said.
        Some(bound) if bound.value == first || bound.value == last => otherwise,
        Some(bound) => {
            ignored.push(bound);
            otherwise
        }
        None => otherwise,
    };
    let low = follow(start, usable, usable.first());
    let high = follow(end, Range::new(low, usable.last())?, usable.last());
    let exclude = node.texts("exclude", trouble);
    let exclude = exclude.iter().filter_map(|text| excluded(text, trouble)).collect();
    let place = node.place.clone();
    Some(IpamRange { place, prefix, range: Range::new(low, high)?, exclude, ignored })
}

fn excluded(text: &At<&str>, trouble: &mut Trouble) -> Option<Range> {
    if text.value.contains('/') {
        return trouble.prefix(text).map(|cidr| Range::from(cidr.value));
    }
    trouble.address(text).and_then(|address| Range::new(address.value, address.value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn conf(config: &Value) -> (NetConf, Vec<String>) {
        let object = json!({"spec": {"config": config.to_string()}});
        let mut trouble = Trouble::default();
        let conf = read(&object, &mut trouble).unwrap_or_default();
        let notes = trouble.0.iter().map(|note| {
            let inner = note.place.inner.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("{} {inner}: {}", note.place.path, note.value)
        });
        (conf, notes.collect())
    }

    fn handed_out(ipam: &Value) -> (String, usize, Vec<String>) {
        let (conf, notes) = conf(&json!({"type": "macvlan", "master": "e.20", "ipam": ipam}));
        let range = &conf.ipam.ranges[0];
        (format!("{}-{}", range.range.first(), range.range.last()), range.ignored.len(), notes)
    }

    #[test]
    fn ranges_are_what_whereabouts_makes_of_them() {
        let w = |more: Value| {
            let mut ipam = json!({"type": "whereabouts", "range": "172.17.0.0/24"});
            ipam.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            ipam
        };
        let cases = [
            (w(json!({})), "172.17.0.1-172.17.0.254", 0),
            (
                w(json!({"range_start": "172.17.0.30", "range_end": "172.17.0.70"})),
                "172.17.0.30-172.17.0.70",
                0,
            ),
            (
                w(json!({"range_start": "172.17.0.30", "range_end": "172.17.1.70"})),
                "172.17.0.30-172.17.0.254",
                1,
            ),
            (
                w(json!({"range_start": "172.17.0.70", "range_end": "172.17.0.30"})),
                "172.17.0.70-172.17.0.254",
                1,
            ),
            (w(json!({"range_start": "172.17.0.0"})), "172.17.0.1-172.17.0.254", 0),
            (w(json!({"range": "172.17.0.5-172.17.0.25/24"})), "172.17.0.5-172.17.0.25", 0),
            (
                w(
                    json!({"range": "fd00:bbbb::/64", "range_start": "fd00:bbbb::30", "range_end": "fd00:bbbb::70"}),
                ),
                "fd00:bbbb::30-fd00:bbbb::70",
                0,
            ),
        ];
        for (ipam, range, ignored) in cases {
            assert_eq!(handed_out(&ipam), (range.to_owned(), ignored, Vec::new()), "{ipam}");
        }
    }

    #[test]
    fn both_forms_of_a_configuration_are_read_with_their_places() {
        let single = json!({
            "type": "bridge", "bridge": "octbr", "vlan": 7, "mtu": 9000,
            "ipam": {"type": "whereabouts", "range": "172.23.0.0/24", "gateway": "172.23.0.1",
                     "exclude": ["172.23.0.0/28", "172.23.0.99"],
                     "ipRanges": [{"range": "fd00::/64"}],
                     "routes": [{"dst": "172.24.0.0/16", "gw": "172.23.0.150"}]},
        });
        let (conf, notes) = conf(&single);
        assert_eq!(notes, Vec::<String>::new());
        assert_eq!(conf.interface().unwrap().value, "octbr");
        assert_eq!(conf.ipam.ranges.len(), 2);
        assert_eq!(conf.ipam.ranges[0].exclude.len(), 2);
        let router = &conf.ipam.routers[1];
        assert_eq!(router.place.path.as_str(), "spec.config");
        assert_eq!(router.place.inner.as_ref().unwrap().as_str(), "ipam.routes[0].gw");
        let list = json!({"name": "x", "plugins": [{"type": "macvlan", "master": "e1"}, {"type": "tuning"}]});
        let (conf, _) = self::conf(&list);
        assert_eq!(conf.master.unwrap().place.inner.unwrap().as_str(), "plugins[0].master");
    }

    #[test]
    fn what_cannot_be_read_is_noted() {
        let mut trouble = Trouble::default();
        assert!(read(&json!({"spec": {"config": "{"}}), &mut trouble).is_none());
        assert!(trouble.0[0].value.starts_with("is not JSON"));
        assert!(read(&json!({"spec": {}}), &mut trouble).is_none());
        assert_eq!(trouble.0.len(), 1);
        let (_, notes) = conf(
            &json!({"type": "macvlan", "master": 3, "ipam": {"type": "whereabouts", "range": "10.0.0.0/31"}}),
        );
        assert_eq!(
            notes,
            [
                "spec.config master: must be a text, not a number",
                "spec.config ipam.range: 10.0.0.0/31 has no usable addresses"
            ]
        );
    }
}
