//! What the NetworkAttachmentDefinition says: which addresses pods get, and where they find amphorae.

use std::net::IpAddr;

use landbridge_addr::number::predecessor;
use landbridge_api::foreign::{At, Node, Place, Trouble};
use landbridge_api::net::{Cidr, Family, Range};
use landbridge_machinery::field::FieldPath;
use serde_json::Value;

use super::{Outcome, Side};

/// A configuration larger than this is not looked at; the API takes none either.
const LARGEST: usize = 1 << 20;

/// The attachment.
pub(super) struct Wire {
    /// The prefix.
    pub cidr: At<Cidr>,
    /// What whereabouts gives to pods.
    pub pods: Range,
    /// Where its end is written.
    pub end: At<IpAddr>,
    /// The route that leads to amphorae: the first one.
    pub route: Option<Route>,
    /// Where routes are, or would be, written.
    pub routes_place: Place,
    /// Further routes.
    pub others: Vec<At<Cidr>>,
}

/// A route that pods get.
pub(super) struct Route {
    pub to: At<Cidr>,
    pub gateway: At<IpAddr>,
}

/// Reads the definition. Whatever is missing is told.
pub(super) fn read(definition: &Value, outcome: &mut Outcome) -> Option<Wire> {
    let side = Side::Attachment;
    let place = Place::new("spec.config");
    let text = definition["spec"]["config"].as_str().unwrap_or_default();
    if text.trim().is_empty() {
        outcome.wrong(side, &place, "is missing: the management network is derived from it");
        return None;
    }
    if text.len() > LARGEST {
        outcome.wrong(side, &place, "is too large");
        return None;
    }
    let config: Value = match serde_json::from_str(text) {
        Ok(config) => config,
        Err(error) => {
            outcome.wrong(side, &place, format!("is not JSON: {error}"));
            return None;
        }
    };
    let mut trouble = Trouble::default();
    let root = Node { value: &config, place: Place { inner: Some(FieldPath::root()), ..place } };
    let plugin = match root.list("plugins", &mut trouble).into_iter().next() {
        Some(first) if config.get("type").is_none() => first,
        _ => root,
    };
    let wire = wire(&plugin, &mut trouble, outcome);
    let is_unread = !trouble.0.is_empty();
    for note in trouble.0 {
        outcome.wrong(side, &note.place, note.value);
    }
    wire.filter(|_| !is_unread)
}

fn wire(plugin: &Node<'_>, trouble: &mut Trouble, outcome: &mut Outcome) -> Option<Wire> {
    let side = Side::Attachment;
    if let Some(kind) = plugin.text("type", trouble).filter(|kind| kind.value != "bridge") {
        outcome.odd(
            side,
            &kind.place,
            format!(
                "is {:?}: only with \"bridge\" pods of one node, and the Open vSwitch that routes to amphorae, \
                 reach each other",
                kind.value
            ),
        );
    }
    let ipam_place = plugin.place.child("ipam");
    let Some(ipam) = plugin.get("ipam").filter(|ipam| ipam.value.is_object()) else {
        outcome.wrong(side, &ipam_place, "is missing: prefix and router are taken from it");
        return None;
    };
    let kind = ipam.text("type", trouble);
    if kind.as_ref().is_none_or(|kind| kind.value != "whereabouts") {
        let given = kind.map_or("missing".to_owned(), |kind| format!("{:?}", kind.value));
        outcome.wrong(
            side,
            &ipam_place.child("type"),
            format!("is {given}: only of \"whereabouts\" is known what is left of the prefix for Neutron"),
        );
        return None;
    }
    let (cidr, pods, end) = pods(&ipam, trouble, outcome)?;
    let routes = ipam.list("routes", trouble);
    let routes_place = ipam.place.child("routes");
    let mut read = routes.iter().map(|route| route_of(route, trouble, outcome));
    let first = read.next();
    let others = read.filter_map(|(to, _)| to).collect();
    let route = match first {
        None => None,
        Some((Some(to), Some(gateway))) => Some(Route { to, gateway }),
        Some(_) => return None,
    };
    Some(Wire { cidr, pods, end, route, routes_place, others })
}

type Pods = (At<Cidr>, Range, At<IpAddr>);

/// The prefix and what pods get of it.
fn pods(ipam: &Node<'_>, trouble: &mut Trouble, outcome: &mut Outcome) -> Option<Pods> {
    let side = Side::Attachment;
    let listed = ipam.list("ipRanges", trouble);
    let node = if ipam.get("range").is_some() { Some(ipam) } else { listed.first() };
    let Some(node) = node else {
        outcome.wrong(
            side,
            &ipam.place.child("range"),
            "is missing: it is the prefix of the provider subnet",
        );
        return None;
    };
    let count = listed.len() + usize::from(ipam.get("range").is_some());
    if count > 1 {
        outcome.odd(
            side,
            &ipam.place.child("ipRanges"),
            "further ranges are for pods only: the management network has the first one",
        );
    }
    let text = node.text("range", trouble)?;
    // `start-end/length` is the other form.
    let (dashed, prefix) = match text.value.split_once('-') {
        Some((start, rest)) => {
            let end = rest.split('/').next().unwrap_or_default();
            let part = |part| At { place: text.place.clone(), value: part };
            (Some((part(start), part(end))), part(rest))
        }
        None => (None, text.clone()),
    };
    let mut cidr = trouble.prefix(&prefix)?;
    if dashed.is_some() {
        // The address in front of the length is the end, not the network.
        cidr.value = cidr.value.prefix().to_string().parse().unwrap_or(cidr.value);
    }
    let given = |text: &At<&str>| !text.value.is_empty();
    let start = node.text("range_start", trouble).filter(given);
    let end = node.text("range_end", trouble).filter(given);
    let (from, to) = dashed.unzip();
    let Some(end) = end.or(to) else {
        outcome.wrong(
            side,
            &node.place.child("range_end"),
            "is missing: what lies behind it is for Neutron and for nodes, so pods must end somewhere",
        );
        return None;
    };
    let end = trouble.address(&end)?;
    let start = match start.or(from) {
        Some(start) => trouble.address(&start)?,
        None => At { place: cidr.place.clone(), value: cidr.value.bounds().0 },
    };
    for bound in [&start, &end] {
        if Family::of(bound.value) != cidr.value.family() {
            outcome.wrong(side, &bound.place, mixed(&bound.value.to_string(), &cidr.value));
            return None;
        }
        if !cidr.value.contains(bound.value) {
            outcome.wrong(
                side,
                &bound.place,
                format!("{} does not lie in {}", bound.value, cidr.value),
            );
            return None;
        }
    }
    if start.value > end.value {
        outcome.wrong(
            side,
            &start.place,
            format!("{} comes after range_end {}", start.value, end.value),
        );
        return None;
    }
    let pods = Range::new(start.value, end.value)?;
    Some((cidr, pods, end))
}

type Parts = (Option<At<Cidr>>, Option<At<IpAddr>>);

fn route_of(node: &Node<'_>, trouble: &mut Trouble, outcome: &mut Outcome) -> Parts {
    let to = node.text("dst", trouble);
    if to.is_none() && node.get("dst").is_none() {
        outcome.wrong(Side::Attachment, &node.place.child("dst"), "is missing");
    }
    let gateway = node.text("gw", trouble).filter(|text| !text.value.is_empty());
    if gateway.is_none() && node.get("gw").is_none_or(|gw| gw.value == "") {
        outcome.wrong(
            Side::Attachment,
            &node.place.child("gw"),
            "is missing: it is the address of the router between pods and amphorae",
        );
    }
    (to.and_then(|text| trouble.prefix(&text)), gateway.and_then(|text| trouble.address(&text)))
}

/// Two families where one is needed.
pub(super) fn mixed(what: &str, cidr: &Cidr) -> String {
    format!("{what} and {cidr} are of different address families")
}

/// The last address that a host may have.
pub(super) fn last_host(cidr: &Cidr) -> Option<IpAddr> {
    let (_, last) = cidr.bounds();
    if cidr.special(last).is_some() { predecessor(last) } else { Some(last) }
}
