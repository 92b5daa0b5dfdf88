//! What the Octavia says about its management network.

use std::net::IpAddr;

use landbridge_api::foreign::{At, Node, Trouble};
use landbridge_api::net::Cidr;

use super::{Outcome, Side, attachment_name};

/// Names of networks are made of names of zones, and Neutron takes 255 letters.
const LONGEST_ZONE: usize = 200;
/// More networks than a router has room for are not meant.
const MOST_ZONES: usize = 64;

/// The parts whose pods talk to amphorae.
const CONTROLLERS: [&str; 4] =
    ["octaviaHealthManager", "octaviaHousekeeping", "octaviaWorker", "octaviaRsyslog"];

/// See the [module](self).
pub(super) struct Wishes {
    pub is_managed: bool,
    pub has_default: bool,
    pub gateway: Option<At<IpAddr>>,
    pub zones: Vec<String>,
    /// By name.
    pub zone_prefixes: Vec<(String, At<Cidr>)>,
    pub project: String,
    pub domain: String,
}

/// Reads the spec. What cannot be read is told.
pub(super) fn read(spec: &Node<'_>, outcome: &mut Outcome) -> Option<Wishes> {
    let mut trouble = Trouble::default();
    let before = outcome.faults.len();
    let text = |name: &str, usual: &str, trouble: &mut Trouble| {
        let found = spec.text(name, trouble).filter(|text| !text.value.is_empty());
        found.map_or(usual.to_owned(), |text| text.value.to_owned())
    };
    let project = text("tenantName", "service", &mut trouble);
    let domain = text("tenantDomainName", "Default", &mut trouble);
    spec.text("octaviaNetworkAttachment", &mut trouble);
    let mut wishes = Wishes {
        is_managed: true,
        has_default: true,
        gateway: None,
        zones: Vec::new(),
        zone_prefixes: Vec::new(),
        project,
        domain,
    };
    if let Some(network) = spec.get("lbMgmtNetwork") {
        if !network.value.is_object() {
            outcome.wrong(Side::Octavia, &network.place, "must be a map");
        }
        wishes.is_managed = network.flag("manageLbMgmtNetworks", &mut trouble).unwrap_or(true);
        wishes.has_default =
            network.flag("createDefaultLbMgmtNetwork", &mut trouble).unwrap_or(true);
        let gateway = network.text("lbMgmtRouterGateway", &mut trouble);
        wishes.gateway =
            gateway.filter(|text| !text.value.is_empty()).and_then(|text| trouble.address(&text));
        wishes.zones = zones(&network, &mut trouble, outcome);
        wishes.zone_prefixes = prefixes(&network, &mut trouble, outcome);
    }
    attachments(spec, &mut trouble, outcome);
    for note in trouble.0 {
        outcome.wrong(Side::Octavia, &note.place, note.value);
    }
    (outcome.faults.len() == before).then_some(wishes)
}

fn zones(network: &Node<'_>, trouble: &mut Trouble, outcome: &mut Outcome) -> Vec<String> {
    let mut zones: Vec<String> = Vec::new();
    for zone in network.texts("availabilityZones", trouble) {
        if let Some(why) = bad_zone(zone.value) {
            outcome.wrong(Side::Octavia, &zone.place, why);
        } else if zones.iter().any(|known| known == zone.value) {
            outcome.wrong(
                Side::Octavia,
                &zone.place,
                format!("{:?} stands here twice", zone.value),
            );
        } else {
            zones.push(zone.value.to_owned());
        }
    }
    zones
}

fn prefixes(
    network: &Node<'_>,
    trouble: &mut Trouble,
    outcome: &mut Outcome,
) -> Vec<(String, At<Cidr>)> {
    let Some(map) = network.get("availabilityZoneCIDRs") else { return Vec::new() };
    if !map.value.is_object() {
        outcome.wrong(Side::Octavia, &map.place, "must be a map from zones to prefixes");
    }
    if map.entries().count() > MOST_ZONES {
        outcome.wrong(Side::Octavia, &map.place, format!("has more than {MOST_ZONES} entries"));
        return Vec::new();
    }
    let mut found = Vec::new();
    for (zone, value) in map.entries() {
        if let Some(why) = bad_zone(zone) {
            outcome.wrong(Side::Octavia, &value.place, why);
            continue;
        }
        let Some(text) = value.as_text(trouble) else { continue };
        match text.value.trim().parse() {
            Ok(cidr) => found.push((zone.to_owned(), At { place: text.place, value: cidr })),
            Err(_) => outcome.wrong(
                Side::Octavia,
                &text.place,
                format!(
                    "cannot parse CIDR {} for AZ {zone}: it is not an address prefix",
                    text.value
                ),
            ),
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn bad_zone(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("a zone without a name".to_owned());
    }
    if name.len() > LONGEST_ZONE || name.chars().any(char::is_control) {
        return Some(format!(
            "{:?} cannot be the name of a zone",
            name.chars().take(40).collect::<String>()
        ));
    }
    None
}

/// Pods that are attached, but not to the network that leads to amphorae.
fn attachments(spec: &Node<'_>, trouble: &mut Trouble, outcome: &mut Outcome) {
    let name = attachment_name(spec.value);
    for part in CONTROLLERS {
        let Some(node) = spec.get(part) else { continue };
        let names = node.texts("networkAttachments", trouble);
        if !names.is_empty() && names.iter().all(|known| known.value != name) {
            outcome.odd(
                Side::Octavia,
                &node.place.child("networkAttachments"),
                format!("does not name {name}: these pods have no way to amphorae"),
            );
        }
    }
}
