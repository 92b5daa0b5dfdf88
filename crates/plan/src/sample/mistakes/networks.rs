//! Statements about a network that disagree.

use serde_json::{Value, json};

use super::super::Dice;
use super::Found;
use super::tools::{
    POLICY, config, elsewhere, find, host_addresses, of_kind, one, pair, put, reconfigure, set,
    spot, text, two,
};

pub(super) fn netconfig_vlan(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let pair = pair(dice, objects)?;
    let vlan = dice.between(4000, 4094);
    let subnets = format!("/spec/networks/{}/subnets", pair.network);
    let subnets = objects[pair.netconfig].pointer_mut(&subnets)?.as_array_mut()?;
    for subnet in subnets {
        subnet.get("vlan")?;
        set(subnet, "/vlan", vlan)?;
    }
    Some(("LB201", two(objects, pair.netconfig, pair.attachment)))
}

pub(super) fn attachment_prefix(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let pair = pair(dice, objects)?;
    let (first, last) = (dice.between(10, 90), dice.between(100, 250));
    let base = *dice.pick(&["192.0.2", "198.51.100", "203.0.113"])?;
    reconfigure(&mut objects[pair.attachment], |config| {
        let v6 = config["ipam"]["range"].as_str()?.contains(':');
        let (range, start, end) = if v6 {
            ("fdff::/64".to_owned(), format!("fdff::{first}"), format!("fdff::{last}"))
        } else {
            (format!("{base}.0/24"), format!("{base}.{first}"), format!("{base}.{last}"))
        };
        set(config, "/ipam/range", range)?;
        set(config, "/ipam/range_start", start)?;
        set(config, "/ipam/range_end", end)
    })?;
    Some(("LB202", two(objects, pair.attachment, pair.netconfig)))
}

pub(super) fn host_prefix(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, POLICY)?;
    let pointer = dice.pick(&host_addresses(&objects[at]))?.clone();
    let outside = elsewhere(dice, &text(&objects[at], &pointer)?);
    set(&mut objects[at], &pointer, outside)?;
    Some(("LB202", one(objects, at)))
}

pub(super) fn netconfig_mtu(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let pair = pair(dice, objects)?;
    let network = format!("/spec/networks/{}", pair.network);
    put(&mut objects[pair.netconfig], &network, "mtu", dice.between(9001, 9200))?;
    Some(("LB203", one(objects, pair.netconfig)))
}

pub(super) fn attachment_mtu(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let pair = pair(dice, objects)?;
    let mtu = dice.between(9001, 9200);
    reconfigure(&mut objects[pair.attachment], |config| put(config, "", "mtu", mtu))?;
    Some(("LB203", one(objects, pair.attachment)))
}

pub(super) fn announced_elsewhere(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "L2Advertisement")?;
    let own = text(&objects[at], "/spec/interfaces/0")?;
    let others: Vec<String> = objects
        .iter()
        .filter_map(|object| {
            let config = config(object)?;
            text(&config, "/ipam/range")?;
            text(&config, "/master").filter(|master| *master != own)
        })
        .collect();
    let other = dice.pick(&others)?.clone();
    set(&mut objects[at], "/spec/interfaces/0", other)?;
    Some(("LB205", one(objects, at)))
}

/// The NetConfig of a namespace.
fn netconfig_beside(objects: &[Value], at: usize) -> Option<usize> {
    find(objects, "NetConfig", &objects[at]["metadata"]["namespace"], &"netconfig".into())
}

pub(super) fn host_elsewhere(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (at, pointer) = spot(dice, objects, &["DNSData"], |pointer, _| pointer.ends_with("/ip"))?;
    let netconfig = netconfig_beside(objects, at)?;
    let outside = elsewhere(dice, &text(&objects[at], &pointer)?);
    set(&mut objects[at], &pointer, outside)?;
    Some(("LB206", two(objects, at, netconfig)))
}

pub(super) fn status_differs(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "IPSet")?;
    let netconfig = netconfig_beside(objects, at)?;
    let networks = objects[netconfig].pointer("/spec/networks")?.as_array()?;
    let network = dice.pick(networks)?.clone();
    let subnet = network["subnets"].get(0)?;
    let mut given = json!({
        "network": network["name"], "subnet": subnet["name"], "cidr": subnet["cidr"],
        "address": subnet["allocationRanges"][0]["end"], "mtu": network["mtu"],
    });
    for field in ["vlan", "gateway"] {
        if let Some(value) = subnet.get(field) {
            given[field] = value.clone();
        }
    }
    match dice.between(0, 2) {
        0 => given["mtu"] = dice.between(1280, 1490).into(),
        1 if given["vlan"].is_u64() => given["vlan"] = dice.between(4000, 4094).into(),
        _ => {
            let gateway = text(&given, "/gateway")?;
            given["gateway"] = elsewhere(dice, &gateway).into();
        }
    }
    put(&mut objects[at], "", "status", json!({"reservations": [given]}))?;
    Some(("LB207", two(objects, at, netconfig)))
}

pub(super) fn letter_case(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let pair = pair(dice, objects)?;
    let pointer = format!("/spec/networks/{}/name", pair.network);
    let name = text(&objects[pair.netconfig], &pointer)?;
    let large: String = if dice.chance(50) {
        name.to_uppercase()
    } else {
        let mut letters = name.chars();
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
    };
    set(&mut objects[pair.netconfig], &pointer, large)?;
    Some(("LB602", two(objects, pair.netconfig, pair.attachment)))
}
