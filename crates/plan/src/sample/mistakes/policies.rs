//! Node policies, and interfaces that are named elsewhere.

use serde_json::{Value, json};

use super::super::Dice;
use super::Found;
use super::tools::{
    NAD, POLICY, any, config, host_addresses, of_kind, one, reconfigure, set, text, two, two_nodes,
};

const INTERFACES: &str = "/spec/desiredState/interfaces";

pub(super) fn master_misspelt(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = any(dice, objects, |object| {
        object["kind"] == NAD && config(object).is_some_and(|config| config["master"].is_string())
    })?;
    let more = dice.between(0, 9);
    reconfigure(&mut objects[at], |config| {
        let master = text(config, "/master")?;
        set(config, "/master", format!("{master}9{more}"))
    })?;
    Some(("LB402", one(objects, at)))
}

pub(super) fn announcing_misspelt(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "L2Advertisement")?;
    let name = text(&objects[at], "/spec/interfaces/0")?;
    let other = format!("{name}9{}", dice.between(0, 9));
    set(&mut objects[at], "/spec/interfaces/0", other)?;
    Some(("LB403", one(objects, at)))
}

pub(super) fn policy_for_all(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = any(dice, objects, |object| {
        object["kind"] == POLICY && !host_addresses(object).is_empty()
    })?;
    let selectors = [
        json!({"node-role.kubernetes.io/worker": ""}),
        json!({"node-role.kubernetes.io/master": ""}),
        json!({"rack": "7"}),
        json!({}),
    ];
    let selector = dice.pick(&selectors)?.clone();
    set(&mut objects[at], "/spec/nodeSelector", selector)?;
    Some(("LB501", one(objects, at)))
}

pub(super) fn two_policies(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, POLICY)?;
    let mut copy = objects[at].clone();
    set(&mut copy, "/metadata/name", "another")?;
    let interfaces = copy.pointer_mut(INTERFACES)?.as_array_mut()?;
    interfaces.retain(|interface| interface["mtu"].is_u64());
    let mut chosen = dice.pick(interfaces)?.clone();
    set(&mut chosen, "/mtu", dice.between(1290, 1490))?;
    *interfaces = vec![chosen];
    objects.push(copy);
    Some(("LB502", two(objects, at, objects.len() - 1)))
}

pub(super) fn policy_patched(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, POLICY)?;
    let mut copy = objects[at].clone();
    let interfaces = copy.pointer_mut(INTERFACES)?.as_array_mut()?;
    let last = interfaces.len().checked_sub(1).filter(|last| *last > 0)?;
    interfaces.truncate(usize::try_from(dice.between(1, last as u64)).ok()?);
    objects.push(copy);
    Some(("LB503", one(objects, at)))
}

pub(super) fn other_vlan(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    // It is compared with the first policy that has the interface, whichever that is.
    let (_, second) = two_nodes(dice, objects)?;
    let interfaces = objects[second].pointer(INTERFACES)?.as_array()?;
    let tagged: Vec<usize> =
        (0..interfaces.len()).filter(|at| interfaces[*at].get("vlan").is_some()).collect();
    let at = dice.pick(&tagged)?;
    set(&mut objects[second], &format!("{INTERFACES}/{at}/vlan/id"), dice.between(4000, 4094))?;
    Some(("LB504", one(objects, second)))
}
