//! Two who may use one address.

use serde_json::{Value, json};

use super::super::Dice;
use super::Found;
use super::tools::{
    NAD, POLICY, any, config, elsewhere, host_addresses, of_kind, one, pair, pool_bounds,
    pool_pair, put, reconfigure, set, spot, text, two, two_nodes, within,
};

pub(super) fn netconfig_over_attachment(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let pair = pair(dice, objects)?;
    let start = within(dice, &pair.start, &pair.end)?;
    let end = within(dice, &start, &pair.end)?;
    let ranges = format!("{}/allocationRanges", pair.subnet());
    let list = objects[pair.netconfig].pointer_mut(&ranges)?.as_array_mut()?;
    list.push(json!({"start": start, "end": end}));
    Some(("LB101", two(objects, pair.netconfig, pair.attachment)))
}

pub(super) fn pool_over_attachment(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (pool, pair) = pool_pair(dice, objects)?;
    let start = within(dice, &pair.start, &pair.end)?;
    let end = within(dice, &start, &pair.end)?;
    let list = objects[pool].pointer_mut("/spec/addresses")?.as_array_mut()?;
    list.push(format!("{start}-{end}").into());
    Some(("LB101", two(objects, pair.attachment, pool)))
}

pub(super) fn pool_over_netconfig(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (pool, pair) = pool_pair(dice, objects)?;
    let range = format!("{}/allocationRanges/0", pair.subnet());
    let start = text(&objects[pair.netconfig], &format!("{range}/start"))?;
    let end = text(&objects[pair.netconfig], &format!("{range}/end"))?;
    let end = within(dice, &start, &end)?;
    let list = objects[pool].pointer_mut("/spec/addresses")?.as_array_mut()?;
    list.push(format!("{start}-{end}").into());
    Some(("LB101", two(objects, pair.netconfig, pool)))
}

pub(super) fn own_ranges(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (at, ranges) = spot(dice, objects, &["NetConfig"], |pointer, value| {
        pointer.ends_with("/allocationRanges") && value.is_array()
    })?;
    let list = objects[at].pointer_mut(&ranges)?.as_array_mut()?;
    let (start, end) = (text(list.first()?, "/start")?, text(list.first()?, "/end")?);
    // The end may be excluded; the start never is.
    list.push(json!({"start": start, "end": within(dice, &start, &end)?}));
    Some(("LB102", one(objects, at)))
}

pub(super) fn own_pool_ranges(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "IPAddressPool")?;
    let (first, last) = pool_bounds(&objects[at])?;
    let start = within(dice, &first, &last)?;
    let list = objects[at].pointer_mut("/spec/addresses")?.as_array_mut()?;
    list.push(format!("{start}-{last}").into());
    Some(("LB102", one(objects, at)))
}

/// Gives a node an address on an interface.
fn add_host(
    dice: &mut Dice,
    objects: &mut [Value],
    interface: &str,
    address: &str,
) -> Option<usize> {
    let family = if address.contains(':') { "ipv6" } else { "ipv4" };
    let (at, pointer) = spot(dice, objects, &[POLICY], |pointer, value| {
        pointer.rsplit_once('/').is_some_and(|(parent, _)| parent.ends_with("/interfaces"))
            && value["name"] == *interface
            && value[family]["address"].is_array()
    })?;
    let found = objects[at].pointer_mut(&pointer)?;
    let list = found[family]["address"].as_array_mut()?;
    let length = list.first()?["prefix-length"].clone();
    list.push(json!({"ip": address, "prefix-length": length}));
    Some(at)
}

pub(super) fn host_in_attachment(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let pair = pair(dice, objects)?;
    let interface = text(&config(&objects[pair.attachment])?, "/master")?;
    let address = within(dice, &pair.start, &pair.end)?;
    let policy = add_host(dice, objects, &interface, &address)?;
    Some(("LB103", two(objects, policy, pair.attachment)))
}

pub(super) fn host_in_pool(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (pool, pair) = pool_pair(dice, objects)?;
    let interface = text(&config(&objects[pair.attachment])?, "/master")?;
    let (first, last) = pool_bounds(&objects[pool])?;
    let address = within(dice, &first, &last)?;
    let policy = add_host(dice, objects, &interface, &address)?;
    Some(("LB103", two(objects, policy, pool)))
}

/// Lets some IPSet ask for an address on the network of an attachment.
fn ask(
    dice: &mut Dice,
    objects: &mut [Value],
    attachment: usize,
    address: String,
) -> Option<usize> {
    let metadata = objects[attachment]["metadata"].clone();
    let namespace = &metadata["namespace"];
    let ipset = any(dice, objects, |object| {
        object["kind"] == "IPSet" && object["metadata"]["namespace"] == *namespace
    })?;
    let wanted = objects[ipset].pointer("/spec/networks")?.as_array()?;
    let at = wanted.iter().position(|wanted| wanted["name"] == metadata["name"])?;
    put(&mut objects[ipset], &format!("/spec/networks/{at}"), "fixedIP", address)?;
    Some(ipset)
}

pub(super) fn fixed_in_pool(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (pool, pair) = pool_pair(dice, objects)?;
    let (first, last) = pool_bounds(&objects[pool])?;
    let address = within(dice, &first, &last)?;
    let ipset = ask(dice, objects, pair.attachment, address)?;
    Some(("LB104", two(objects, ipset, pool)))
}

pub(super) fn fixed_in_attachment(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let pair = pair(dice, objects)?;
    let address = within(dice, &pair.start, &pair.end)?;
    let ipset = ask(dice, objects, pair.attachment, address)?;
    Some(("LB104", two(objects, ipset, pair.attachment)))
}

pub(super) fn gateway_in_attachment(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let pair = pair(dice, objects)?;
    let address = within(dice, &pair.start, &pair.end)?;
    put(&mut objects[pair.netconfig], &pair.subnet(), "gateway", address)?;
    Some(("LB105", two(objects, pair.netconfig, pair.attachment)))
}

pub(super) fn fixed_twice(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (first, pointer) =
        spot(dice, objects, &["IPSet"], |pointer, _| pointer.ends_with("/fixedIP"))?;
    let address = text(&objects[first], &pointer)?;
    let network = text(&objects[first], &pointer.replace("/fixedIP", "/name"))?;
    let metadata = objects[first]["metadata"].clone();
    let second = any(dice, objects, |object| {
        object["kind"] == "IPSet"
            && object["metadata"]["namespace"] == metadata["namespace"]
            && object["metadata"]["name"] != metadata["name"]
    })?;
    let wanted = objects[second].pointer("/spec/networks")?.as_array()?;
    let at = wanted.iter().position(|wanted| wanted["name"] == *network)?;
    put(&mut objects[second], &format!("/spec/networks/{at}"), "fixedIP", address)?;
    Some(("LB106", two(objects, first, second)))
}

pub(super) fn host_twice(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (first, second) = two_nodes(dice, objects)?;
    let pointer = dice.pick(&host_addresses(&objects[first]))?.clone();
    let address = text(&objects[first], &pointer)?;
    set(&mut objects[second], &pointer, address)?;
    Some(("LB106", two(objects, first, second)))
}

pub(super) fn attachments_overlap(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let pair = pair(dice, objects)?;
    let mut copy = objects[pair.attachment].clone();
    set(&mut copy, "/metadata/name", "copy")?;
    let end = within(dice, &pair.start, &pair.end)?;
    // With the same end it would be the same range, which may be shared.
    let end = if end == pair.end { pair.start } else { end };
    reconfigure(&mut copy, |config| set(config, "/ipam/range_end", end))?;
    objects.push(copy);
    Some(("LB107", two(objects, pair.attachment, objects.len() - 1)))
}

pub(super) fn bound_outside(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = any(dice, objects, |object| {
        object["kind"] == NAD
            && config(object).is_some_and(|config| config["ipam"]["range_end"].is_string())
    })?;
    let bound = if dice.chance(50) { "/ipam/range_end" } else { "/ipam/range_start" };
    let range = text(&config(&objects[at])?, "/ipam/range")?;
    let outside = elsewhere(dice, &range);
    reconfigure(&mut objects[at], |config| set(config, bound, outside))?;
    Some(("LB108", one(objects, at)))
}
