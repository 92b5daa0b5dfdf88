//! Segments: what a network is made of on the wire, and which of them are free.

use serde_json::{Map, Value, json};

use super::networks::NETWORK;
use crate::config::Config;
use crate::network::check::{self, Checked, Wrong};
use crate::network::fault::Fault;
use crate::network::python;
use crate::object::Object;
use crate::state::Tx;

const TYPE: &str = "provider:network_type";
const PHYSICAL: &str = "provider:physical_network";
const ID: &str = "provider:segmentation_id";

/// What VXLAN adds to a packet, with the outer IPv4 header.
const VXLAN_OVERHEAD: i64 = 50;
/// What Geneve adds, with the options that OVN uses.
const GENEVE_OVERHEAD: i64 = 58;

/// One segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// `flat`, `vlan`, `vxlan`, `geneve` or `local`.
    pub kind: String,
    /// The physical network of a flat or VLAN one.
    pub physical: Option<String>,
    /// VLAN or VNI.
    pub id: Option<i64>,
}

impl Segment {
    fn read(map: &Map<String, Value>) -> Self {
        let text = |name: &str| map.get(name).and_then(Value::as_str).filter(|t| !t.is_empty());
        Self {
            kind: text(TYPE).unwrap_or_default().to_owned(),
            physical: text(PHYSICAL).map(str::to_owned),
            id: map.get(ID).and_then(Value::as_i64),
        }
    }

    fn value(&self) -> Value {
        json!({TYPE: self.kind, PHYSICAL: self.physical, ID: self.id})
    }
}

/// By what a segment is told from others.
pub fn key(segment: &Segment) -> String {
    let id = segment.id.map(|id| id.to_string()).unwrap_or_default();
    format!("{}/{}/{id}", segment.kind, segment.physical.as_deref().unwrap_or_default())
}

/// The segments of a network.
pub fn of(network: &Object) -> Vec<Segment> {
    if network.has("segments") {
        return network
            .list("segments")
            .iter()
            .filter_map(Value::as_object)
            .map(Segment::read)
            .collect();
    }
    if network.some_text(TYPE).is_some() { vec![Segment::read(&network.0)] } else { Vec::new() }
}

/// Puts the segments into a network's attributes: one as itself, several as a list.
pub fn store(network: &mut Object, segments: &[Segment]) {
    network.remove("segments");
    match segments {
        [one] => {
            for (name, value) in Segment::value(one).as_object().into_iter().flatten() {
                network.set(name, value.clone());
            }
        }
        several => {
            for name in [TYPE, PHYSICAL, ID] {
                network.remove(name);
            }
            network.set("segments", several.iter().map(Segment::value).collect::<Vec<_>>());
        }
    }
}

/// `segments` as a client gives it.
pub fn check(value: &Value) -> Checked {
    if value.as_array().is_none_or(|items| items.is_empty() || !items.iter().all(Value::is_object))
    {
        return Wrong::reason(format!(
            "Invalid data format for segments: '{}'",
            python::str(value)
        ));
    }
    let mut kept = Vec::new();
    for item in value.as_array().into_iter().flatten().filter_map(Value::as_object) {
        let mut segment = item.clone();
        let unknown: Vec<&str> =
            item.keys().map(String::as_str).filter(|k| ![TYPE, PHYSICAL, ID].contains(k)).collect();
        if !unknown.is_empty() {
            return Wrong::reason(format!("Unexpected keys supplied: {}", unknown.join(", ")));
        }
        if let Some(id) = item.get(ID).filter(|id| !id.is_null()) {
            segment.insert(ID.to_owned(), check::integer(id)?.into());
        }
        kept.push(Value::Object(segment));
    }
    Ok(kept.into())
}

/// The segments of a network to be created: those asked for, or one of the project's kind.
pub fn reserve(tx: &mut Tx<'_>, network: &Object) -> Result<Vec<Segment>, Fault> {
    let given = [TYPE, PHYSICAL, ID].iter().any(|name| !network.get(name).is_null());
    let wanted: Vec<Segment> = match (given, network.list("segments")) {
        (true, [_, ..]) => {
            let message = "Segments and provider values cannot both be set.";
            return Err(Fault::bad("SegmentsSetInConjunctionWithProviders", message));
        }
        (true, []) => vec![Segment::read(&network.0)],
        (false, several) => {
            several.iter().filter_map(Value::as_object).map(Segment::read).collect()
        }
    };
    for segment in &wanted {
        valid(tx.config, segment)?;
    }
    let twice = |at: usize| {
        wanted[at].id.is_some() && wanted[..at].iter().any(|other| *other == wanted[at])
    };
    if (0..wanted.len()).any(twice) {
        let message = "Duplicate segment entry in request.";
        return Err(Fault::bad("SegmentsContainDuplicateEntry", message));
    }
    if wanted.is_empty() {
        let kinds = tx.config.network.project_types.clone();
        for kind in kinds {
            if let Some(segment) = free(tx, &kind, None, &[]) {
                return Ok(vec![segment]);
            }
        }
        return Err(none_left());
    }
    let mut reserved: Vec<Segment> = Vec::new();
    for segment in wanted {
        let segment = take(tx, segment, &reserved)?;
        reserved.push(segment);
    }
    Ok(reserved)
}

fn valid(config: &Config, segment: &Segment) -> Result<(), Fault> {
    let config = &config.network;
    let physical = segment.physical.as_deref();
    match segment.kind.as_str() {
        "" => Err(Fault::input("network_type required")),
        "flat" => {
            let Some(physical) = physical else {
                return Err(Fault::input("physical_network required for flat provider network"));
            };
            if config.flat.is_empty() {
                return Err(Fault::input("Flat provider networks are disabled"));
            }
            if !config.flat.iter().any(|known| known == "*" || known == physical) {
                return Err(Fault::input(format!(
                    "physical_network '{physical}' unknown for flat provider network"
                )));
            }
            // 0 says as little as nothing does: octavia-operator sends it.
            if segment.id.is_some_and(|id| id != 0) {
                return Err(Fault::input("segmentation_id prohibited for flat provider network"));
            }
            Ok(())
        }
        "vlan" => match (physical, segment.id) {
            (Some(physical), _) if !config.vlan.contains_key(physical) => Err(Fault::input(
                format!("physical_network '{physical}' unknown for VLAN provider network"),
            )),
            (Some(_), Some(id)) if !(1..=4094).contains(&id) => {
                Err(Fault::input("segmentation_id out of range (1 through 4094)"))
            }
            (None, Some(_)) => Err(Fault::input(
                "segmentation_id requires physical_network for VLAN provider network",
            )),
            _ => Ok(()),
        },
        kind @ ("vxlan" | "geneve") if has(config, kind) => match physical {
            Some(_) => {
                Err(Fault::input(format!("provider:physical_network specified for {kind} network")))
            }
            None => Ok(()),
        },
        "local" => match (physical, segment.id) {
            (Some(_), _) => {
                Err(Fault::input("physical_network prohibited for local provider network"))
            }
            (None, Some(id)) if id != 0 => {
                Err(Fault::input("segmentation_id prohibited for local provider network"))
            }
            _ => Ok(()),
        },
        other => Err(Fault::input(format!("network_type value '{other}' not supported"))),
    }
}

/// Whether there is a range for a kind of tunnel.
fn has(config: &crate::config::NetworkConfig, kind: &str) -> bool {
    let (first, last) = if kind == "vxlan" { config.vxlan } else { config.geneve };
    first <= last && last > 0
}

/// The segment, complete, if it is free.
fn take(tx: &mut Tx<'_>, mut segment: Segment, beside: &[Segment]) -> Result<Segment, Fault> {
    match segment.kind.as_str() {
        "local" => {
            segment.id = None;
            return Ok(segment);
        }
        "flat" => {
            segment.id = None;
            if in_use(tx, &segment) || beside.contains(&segment) {
                return Err(Fault::conflict(
                    "FlatNetworkInUse",
                    format!(
                        "Unable to create the flat network. Physical network {} is in use.",
                        segment.physical.as_deref().unwrap_or_default()
                    ),
                ));
            }
            return Ok(segment);
        }
        _ => {}
    }
    let Some(id) = segment.id else {
        let physical = segment.physical.clone();
        return free(tx, &segment.kind, physical.as_deref(), beside).ok_or_else(none_left);
    };
    if in_use(tx, &segment) || beside.contains(&segment) {
        return Err(match segment.kind.as_str() {
            "vlan" => Fault::conflict(
                "VlanIdInUse",
                format!(
                    "Unable to create the network. The VLAN {id} on physical network {} is in use.",
                    segment.physical.as_deref().unwrap_or_default()
                ),
            ),
            _ => Fault::conflict(
                "TunnelIdInUse",
                format!("Unable to create the network. The tunnel ID {id} is in use."),
            ),
        });
    }
    Ok(segment)
}

fn in_use(tx: &Tx<'_>, segment: &Segment) -> bool {
    tx.find_ids(NETWORK.kind, "segment", &key(segment)).next().is_some()
}

fn none_left() -> Fault {
    Fault::new(
        503,
        "NoNetworkAvailable",
        "Unable to create the network. No project network is available for allocation.",
    )
}

/// A free segment of the ranges for projects: from a random one on, so that one that was just given
/// back is not given out again at once.
fn free(
    tx: &mut Tx<'_>,
    kind: &str,
    physical: Option<&str>,
    beside: &[Segment],
) -> Option<Segment> {
    let config = &tx.config.network;
    let ranges: Vec<(Option<String>, u32, u32)> = match kind {
        "vlan" => config
            .vlan
            .iter()
            .filter(|(name, _)| physical.is_none_or(|wanted| wanted == *name))
            .filter_map(|(name, range)| {
                range.map(|(first, last)| (Some(name.clone()), first.into(), last.into()))
            })
            .collect(),
        "vxlan" => vec![(None, config.vxlan.0, config.vxlan.1)],
        "geneve" => vec![(None, config.geneve.0, config.geneve.1)],
        "local" => {
            return Some(Segment { kind: kind.to_owned(), physical: None, id: None });
        }
        _ => Vec::new(),
    };
    for (physical, first, last) in ranges {
        let size = u64::from(last.checked_sub(first)?) + 1;
        let start = tx.chance.below(size);
        for step in 0..size {
            let id = i64::from(first) + i64::try_from((start + step) % size).ok()?;
            let segment =
                Segment { kind: kind.to_owned(), physical: physical.clone(), id: Some(id) };
            if !in_use(tx, &segment) && !beside.contains(&segment) {
                return Some(segment);
            }
        }
    }
    None
}

/// The largest MTU that all segments carry.
pub fn mtu(config: &Config, segments: &[Segment]) -> i64 {
    let (physical, tunnel) =
        (i64::from(config.network.physical_mtu), i64::from(config.network.tunnel_mtu));
    let of = |segment: &Segment| match segment.kind.as_str() {
        "vxlan" => tunnel - VXLAN_OVERHEAD,
        "geneve" => tunnel - GENEVE_OVERHEAD,
        _ => physical,
    };
    segments.iter().map(of).min().unwrap_or(physical)
}

/// An update of provider attributes: only the number of a VLAN can change.
pub fn update(
    tx: &mut Tx<'_>,
    before: &Object,
    given: &Object,
    network: &mut Object,
) -> Result<(), Fault> {
    let other = |name: &&str| !given.get(name).is_null() && given.get(name) != before.get(name);
    if [TYPE, PHYSICAL].iter().any(other) {
        return Err(Fault::input(format!(
            "Plugin does not support updating the following provider network attributes: {TYPE}, \
             {PHYSICAL}"
        )));
    }
    let Some(id) = given.number(ID).filter(|id| *id != 0) else { return Ok(()) };
    let held = of(before);
    let [segment] = held.as_slice() else {
        return Err(Fault::input(
            "Provider network attributes can be updated only in provider networks with a single \
             segment.",
        ));
    };
    if segment.kind != "vlan" {
        return Err(Fault::input("Only VLAN type networks can be updated."));
    }
    let wanted = Segment { id: Some(id), ..segment.clone() };
    valid(tx.config, &wanted)?;
    let wanted = take(tx, wanted, &[])?;
    store(network, &[wanted]);
    Ok(())
}
