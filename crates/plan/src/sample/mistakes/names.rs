//! Misspelt fields and names, values that cannot be, and objects that are there twice.

use serde_json::{Value, json};

use super::super::Dice;
use super::Found;
use super::tools::{
    NAD, POLICY, any, config, elsewhere, misspelt, of_kind, one, pointers, put, reconfigure,
    rename, set, split, spot, text,
};

/// Misspells a field at a pointer.
fn miss(dice: &mut Dice, object: &mut Value, pointer: &str) -> Option<()> {
    let (parent, field) = split(pointer);
    let other = misspelt(dice, &field);
    rename(object, parent, &field, &other)
}

/// Misspells one of some fields of one of some kinds.
fn miss_one_of(dice: &mut Dice, objects: &mut [Value], kinds: &[&str], fields: &[&str]) -> Found {
    let (at, pointer) = spot(dice, objects, kinds, |pointer, _| {
        let (parent, field) = split(pointer);
        parent.starts_with("/spec") && fields.contains(&field.as_str())
    })?;
    miss(dice, &mut objects[at], &pointer)?;
    Some(("LB601", one(objects, at)))
}

pub(super) fn field_control_plane(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let fields =
        ["networkAttachments", "networkAttachment", "externalEndpoints", "externalEndpoint"];
    miss_one_of(dice, objects, &["OpenStackControlPlane"], &fields)
}

pub(super) fn field_own(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let fields = [
        "gateway",
        "cidr",
        "vlan",
        "allocationRanges",
        "dnsDomain",
        "start",
        "subnets",
        "subnetName",
        "fixedIP",
        "defaultRoute",
        "hostnames",
    ];
    miss_one_of(dice, objects, &["NetConfig", "IPSet", "DNSData"], &fields)
}

pub(super) fn field_policy(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let fields = ["nodeSelector", "base-iface", "address", "prefix-length", "state", "interfaces"];
    let (at, pointer) =
        spot(dice, objects, &[POLICY], |pointer, _| fields.contains(&split(pointer).1.as_str()))?;
    miss(dice, &mut objects[at], &pointer)?;
    Some(("LB601", one(objects, at)))
}

pub(super) fn field_pool(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let fields = ["addresses", "autoAssign", "ipAddressPools", "interfaces"];
    miss_one_of(dice, objects, &["IPAddressPool", "L2Advertisement"], &fields)
}

pub(super) fn field_attachment(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, NAD)?;
    let fields = ["master", "range", "range_start", "range_end", "cniVersion"];
    let all =
        pointers(&config(&objects[at])?, &|pointer, _| fields.contains(&split(pointer).1.as_str()));
    let pointer = dice.pick(&all)?.clone();
    reconfigure(&mut objects[at], |config| miss(dice, config, &pointer))?;
    Some(("LB601", one(objects, at)))
}

pub(super) fn annotation(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (at, pointer) = spot(dice, objects, &["OpenStackControlPlane"], |pointer, _| {
        split(pointer).1.starts_with("metallb.universe.tf/")
    })?;
    let (parent, key) = split(&pointer);
    let (prefix, name) = key.split_once('/')?;
    let other = format!("{prefix}/{}", misspelt(dice, name));
    rename(&mut objects[at], parent, &key, &other)?;
    Some(("LB601", one(objects, at)))
}

pub(super) fn host_name(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (at, pointer) =
        spot(dice, objects, &["DNSData"], |pointer, _| pointer.contains("/hostnames/"))?;
    let name = text(&objects[at], &pointer)?;
    let (host, rest) = name.split_once('.')?;
    let (network, domain) = rest.split_once('.')?;
    let other = misspelt(dice, network);
    set(&mut objects[at], &pointer, format!("{host}.{other}.{domain}"))?;
    Some(("LB603", one(objects, at)))
}

pub(super) fn ipset_network(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (at, pointer) = spot(dice, objects, &["IPSet"], |pointer, _| {
        pointer.starts_with("/spec/networks/")
            && (pointer.ends_with("/name") || pointer.ends_with("/subnetName"))
    })?;
    let name = text(&objects[at], &pointer)?;
    let other = misspelt(dice, &name);
    set(&mut objects[at], &pointer, other)?;
    Some(("LB604", one(objects, at)))
}

pub(super) fn refused_range(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (at, pointer) = spot(dice, objects, &["NetConfig"], |pointer, _| {
        pointer.contains("/allocationRanges/")
            && (pointer.ends_with("/start") || pointer.ends_with("/end"))
    })?;
    let outside = elsewhere(dice, &text(&objects[at], &pointer)?);
    set(&mut objects[at], &pointer, outside)?;
    Some(("LB001", one(objects, at)))
}

pub(super) fn unreadable_pool(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "IPAddressPool")?;
    let bad = *dice.pick(&["172.17.0.80", "172.17.0.300/32", "172.17.0.90-172.17.0.80", "all"])?;
    let list = objects[at].pointer_mut("/spec/addresses")?.as_array_mut()?;
    list.push(bad.into());
    Some(("LB003", one(objects, at)))
}

pub(super) fn unreadable_attachment(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = any(dice, objects, |object| object["kind"] == NAD && config(object).is_some())?;
    let whole = text(&objects[at], "/spec/config")?;
    let brace = whole.rfind('}')?;
    let config = match dice.between(0, 2) {
        0 => whole.get(..brace)?.to_owned(),
        1 => format!("{whole},"),
        _ => whole.replacen(':', "", 1),
    };
    set(&mut objects[at], "/spec/config", config)?;
    Some(("LB003", one(objects, at)))
}

pub(super) fn given_twice(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let kinds = ["NetConfig", "IPSet", "DNSData", "IPAddressPool", "L2Advertisement", NAD];
    let at = any(dice, objects, |object| kinds.iter().any(|kind| object["kind"] == **kind))?;
    let mut copy = objects[at].clone();
    put(&mut copy, "/metadata", "labels", json!({"copy": "yes"}))?;
    objects.push(copy);
    Some(("LB605", one(objects, at)))
}
