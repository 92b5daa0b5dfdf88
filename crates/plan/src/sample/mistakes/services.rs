//! Virtual addresses and attachments that services ask for.

use serde_json::{Value, json};

use super::super::{Dice, label};
use super::Found;
use super::tools::{
    NAD, any, elsewhere, find, misspelt, of_kind, one, pair, pointers, put, set, split, spot, text,
    two, within,
};

const KIND: &str = "OpenStackControlPlane";

fn is_pool(pointer: &str) -> bool {
    pointer.ends_with("/ipAddressPool") || pointer.ends_with("~1address-pool")
}

/// Whether an address that is asked for stands here.
fn is_address(pointer: &str, value: &Value) -> bool {
    value.is_string()
        && (pointer.ends_with("~1loadBalancerIPs")
            || split(pointer).0.ends_with("/loadBalancerIPs"))
}

/// The map with everything about a wish, from the pointer to its address.
fn wish(pointer: &str) -> &str {
    let (parent, _) = pointer.rsplit_once('/').unwrap_or_default();
    parent.strip_suffix("/loadBalancerIPs").unwrap_or(parent)
}

pub(super) fn pool_missing(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (at, pointer) = spot(dice, objects, &[KIND], |pointer, _| is_pool(pointer))?;
    let name = text(&objects[at], &pointer)?;
    let other = if dice.chance(30) { "nowhere".to_owned() } else { misspelt(dice, &name) };
    set(&mut objects[at], &pointer, other)?;
    Some(("LB301", one(objects, at)))
}

pub(super) fn vip_outside(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (at, pointer) = spot(dice, objects, &[KIND], is_address)?;
    set(&mut objects[at], &pointer, format!("192.0.2.{}", dice.between(1, 250)))?;
    Some(("LB302", one(objects, at)))
}

pub(super) fn vip_nowhere(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    of_kind(dice, objects, "IPAddressPool")?;
    let address = format!("192.0.2.{}", dice.between(1, 250));
    objects.push(json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "web"},
        "spec": {"type": "LoadBalancer", "loadBalancerIP": address, "ports": [{"port": 80}]},
    }));
    Some(("LB303", vec![label(objects.last()?)]))
}

pub(super) fn vip_in_attachment(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (at, pointer) = spot(dice, objects, &[KIND], is_address)?;
    let pair = pair(dice, objects)?;
    let address = within(dice, &pair.start, &pair.end)?;
    set(&mut objects[at], &pointer, address)?;
    Some(("LB304", two(objects, at, pair.attachment)))
}

pub(super) fn port_clash(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let rabbit = |pointer: &str, value: &Value| {
        pointer.starts_with("/spec/rabbitmq/templates/") && is_address(pointer, value)
    };
    let (at, first) = spot(dice, objects, &[KIND], rabbit)?;
    let others =
        pointers(&objects[at], &|pointer, value| pointer != first && rabbit(pointer, value));
    let second = dice.pick(&others)?;
    let address = text(&objects[at], &first)?;
    set(&mut objects[at], second, address)?;
    Some(("LB305", one(objects, at)))
}

pub(super) fn sharing_key(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, KIND)?;
    let all = pointers(&objects[at], &is_address);
    let address = |pointer: &String| objects[at].pointer(pointer).cloned();
    let shared: Vec<&String> = all
        .iter()
        .filter(|one| all.iter().filter(|other| address(one) == address(other)).count() > 1)
        .collect();
    let pointer = (*dice.pick(&shared)?).clone();
    let old = pointer.contains("/externalEndpoints/");
    let field = if old { "sharedIPKey" } else { "metallb.universe.tf/allow-shared-ip" };
    let key = format!("key-{}", dice.between(1, 99));
    put(&mut objects[at], wish(&pointer), field, key)?;
    Some(("LB306", one(objects, at)))
}

pub(super) fn advertised_pool(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "L2Advertisement")?;
    let name = text(&objects[at], "/spec/ipAddressPools/0")?;
    let other = misspelt(dice, &name);
    set(&mut objects[at], "/spec/ipAddressPools/0", other)?;
    Some(("LB308", one(objects, at)))
}

pub(super) fn not_announced(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let two_or_more =
        objects.iter().filter(|object| object["kind"] == "L2Advertisement").count() > 1;
    let at = of_kind(dice, objects, "L2Advertisement").filter(|_| two_or_more)?;
    let gone = objects.remove(at);
    let metadata = &gone["metadata"];
    let pool = find(objects, "IPAddressPool", &metadata["namespace"], &metadata["name"])?;
    Some(("LB309", one(objects, pool)))
}

pub(super) fn not_balanced(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (at, pointer) = spot(dice, objects, &[KIND], |pointer, value| {
        pointer.ends_with("/spec/type") && value == "LoadBalancer"
    })?;
    let other = *dice.pick(&["ClusterIP", "NodePort"])?;
    set(&mut objects[at], &pointer, other)?;
    Some(("LB310", one(objects, at)))
}

/// Whether the annotation with the address that is asked for stands here.
fn is_annotation(pointer: &str, value: &Value) -> bool {
    value.is_string() && pointer.ends_with("~1loadBalancerIPs")
}

pub(super) fn odd_addresses(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (at, pointer) = spot(dice, objects, &[KIND], is_annotation)?;
    let address = text(&objects[at], &pointer)?;
    let other = elsewhere(dice, &address);
    let both = if dice.chance(50) { [address, other] } else { [other, address] };
    set(&mut objects[at], &pointer, both.join(","))?;
    Some(("LB311", one(objects, at)))
}

pub(super) fn not_for(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (at, pointer) = spot(dice, objects, &[KIND], |pointer, _| is_pool(pointer))?;
    let name = text(&objects[at], &pointer)?;
    let is_it =
        |object: &Value| object["kind"] == "IPAddressPool" && object["metadata"]["name"] == *name;
    let pool = any(dice, objects, is_it)?;
    let space = format!("others-{}", dice.between(1, 99));
    put(&mut objects[pool], "/spec", "serviceAllocation", json!({"namespaces": [space]}))?;
    Some(("LB312", two(objects, at, pool)))
}

pub(super) fn backends(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (at, pointer) = spot(dice, objects, &[KIND], is_annotation)?;
    let annotations = objects[at].pointer(wish(&pointer))?.clone();
    annotations.get("metallb.universe.tf/allow-shared-ip")?;
    let namespace = objects[at]["metadata"]["namespace"].clone();
    let port = dice.between(20_000, 30_000);
    objects.push(json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "near", "namespace": namespace, "annotations": annotations},
        "spec": {
            "type": "LoadBalancer", "externalTrafficPolicy": "Local",
            "selector": {"app": "near"}, "ports": [{"port": port}],
        },
    }));
    Some(("LB313", vec![label(objects.last()?), label(&objects[at])]))
}

/// Whether the name of a wanted attachment stands here.
fn is_wanted(pointer: &str, value: &Value) -> bool {
    value.is_string()
        && (pointer.ends_with("/networkAttachment")
            || split(pointer).0.ends_with("/networkAttachments"))
}

pub(super) fn attachment_missing(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (at, pointer) = spot(dice, objects, &[KIND], is_wanted)?;
    let named = one(objects, at);
    let name = text(&objects[at], &pointer)?;
    // OVN makes those of its physical networks by itself.
    let mapped = format!("/nicMappings/{name}");
    let made =
        |object: &Value| !pointers(object, &|pointer, _| pointer.ends_with(&mapped)).is_empty();
    if objects.iter().any(made) {
        return None;
    }
    let namespace = objects[at]["metadata"]["namespace"].clone();
    let gone = find(objects, NAD, &namespace, &name.into())?;
    objects.remove(gone);
    of_kind(dice, objects, NAD)?;
    Some(("LB401", named))
}

pub(super) fn attachment_misspelt(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (at, pointer) = spot(dice, objects, &[KIND], is_wanted)?;
    let name = text(&objects[at], &pointer)?;
    let other = misspelt(dice, &name);
    set(&mut objects[at], &pointer, other)?;
    Some(("LB401", one(objects, at)))
}
