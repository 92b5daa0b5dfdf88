//! Finding places in a plan, and changing what stands there.

use std::net::IpAddr;

use serde_json::Value;

use super::super::{Dice, label};

pub(super) const NAD: &str = "NetworkAttachmentDefinition";
pub(super) const POLICY: &str = "NodeNetworkConfigurationPolicy";

/// Position of some object that fits.
pub(super) fn any(
    dice: &mut Dice,
    objects: &[Value],
    fits: impl Fn(&Value) -> bool,
) -> Option<usize> {
    let all: Vec<usize> = (0..objects.len()).filter(|at| fits(&objects[*at])).collect();
    dice.pick(&all).copied()
}

pub(super) fn of_kind(dice: &mut Dice, objects: &[Value], kind: &str) -> Option<usize> {
    any(dice, objects, |object| object["kind"] == kind)
}

pub(super) fn find(
    objects: &[Value],
    kind: &str,
    namespace: &Value,
    name: &Value,
) -> Option<usize> {
    objects.iter().position(|object| {
        let metadata = &object["metadata"];
        object["kind"] == kind && metadata["namespace"] == *namespace && metadata["name"] == *name
    })
}

pub(super) fn text(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer)?.as_str().map(str::to_owned)
}

pub(super) fn set(object: &mut Value, pointer: &str, value: impl Into<Value>) -> Option<()> {
    *object.pointer_mut(pointer)? = value.into();
    Some(())
}

/// Sets a field of the map at a pointer, whether it is there or not.
pub(super) fn put(
    object: &mut Value,
    pointer: &str,
    field: &str,
    value: impl Into<Value>,
) -> Option<()> {
    object.pointer_mut(pointer)?.as_object_mut()?.insert(field.to_owned(), value.into());
    Some(())
}

/// Renames a field.
pub(super) fn rename(object: &mut Value, pointer: &str, from: &str, to: &str) -> Option<()> {
    let map = object.pointer_mut(pointer)?.as_object_mut()?;
    let value = map.remove(from)?;
    map.insert(to.to_owned(), value);
    Some(())
}

/// Parent and last step of a pointer.
pub(super) fn split(pointer: &str) -> (&str, String) {
    let (parent, last) = pointer.rsplit_once('/').unwrap_or(("", pointer));
    (parent, last.replace("~1", "/").replace("~0", "~"))
}

/// Pointers to everything below a value that fits, by its pointer and value.
pub(super) fn pointers(value: &Value, fits: &dyn Fn(&str, &Value) -> bool) -> Vec<String> {
    fn walk(value: &Value, at: &str, fits: &dyn Fn(&str, &Value) -> bool, found: &mut Vec<String>) {
        let mut step = |name: String, below: &Value| {
            let pointer = format!("{at}/{name}");
            if fits(&pointer, below) {
                found.push(pointer.clone());
            }
            walk(below, &pointer, fits, found);
        };
        match value {
            Value::Object(map) => map
                .iter()
                .for_each(|(key, below)| step(key.replace('~', "~0").replace('/', "~1"), below)),
            Value::Array(list) => {
                list.iter().enumerate().for_each(|(at, below)| step(at.to_string(), below));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(value, "", fits, &mut found);
    found
}

/// Some place in objects of a kind (or of all) that fits: position and pointer.
pub(super) fn spot(
    dice: &mut Dice,
    objects: &[Value],
    kinds: &[&str],
    fits: impl Fn(&str, &Value) -> bool,
) -> Option<(usize, String)> {
    let all: Vec<(usize, String)> = objects
        .iter()
        .enumerate()
        .filter(|(_, object)| kinds.iter().any(|kind| object["kind"] == **kind))
        .flat_map(|(at, object)| {
            pointers(object, &fits).into_iter().map(move |pointer| (at, pointer))
        })
        .collect();
    dice.pick(&all).cloned()
}

/// The configuration of an attachment, changed.
pub(super) fn reconfigure(
    object: &mut Value,
    change: impl FnOnce(&mut Value) -> Option<()>,
) -> Option<()> {
    let mut config = config(object)?;
    change(&mut config)?;
    set(object, "/spec/config", config.to_string())
}

pub(super) fn config(object: &Value) -> Option<Value> {
    serde_json::from_str(&text(object, "/spec/config")?).ok()
}

/// Some address of a range.
pub(super) fn within(dice: &mut Dice, first: &str, last: &str) -> Option<String> {
    let number = |address: IpAddr| match address {
        IpAddr::V4(v4) => u128::from(u32::from(v4)),
        IpAddr::V6(v6) => u128::from(v6),
    };
    let (first, last): (IpAddr, IpAddr) = (first.parse().ok()?, last.parse().ok()?);
    let room = u64::try_from(number(last).checked_sub(number(first))?).ok()?;
    let chosen = number(first) + u128::from(dice.between(0, room));
    let chosen: IpAddr = match first {
        IpAddr::V4(_) => IpAddr::V4(u32::try_from(chosen).ok()?.into()),
        IpAddr::V6(_) => IpAddr::V6(chosen.into()),
    };
    Some(chosen.to_string())
}

/// Some address that no plan uses, of the family of another.
pub(super) fn elsewhere(dice: &mut Dice, like: &str) -> String {
    let number = dice.between(1, 250);
    if like.contains(':') { format!("fdff::{number:x}") } else { format!("192.0.2.{number}") }
}

/// A word with one letter missing, doubled or swapped with its neighbour, not at its ends.
pub(super) fn misspelt(dice: &mut Dice, word: &str) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    if letters.len() < 4 {
        return format!("{word}x");
    }
    let last = letters.len() - 2;
    let at = usize::try_from(dice.between(1, last as u64)).unwrap_or(1);
    match dice.between(0, 2) {
        0 => letters.insert(at, letters[at]),
        1 if at < last && letters[at] != letters[at + 1] => letters.swap(at, at + 1),
        _ => {
            letters.remove(at);
        }
    }
    letters.into_iter().collect()
}

/// A network that has a NetConfig entry and an attachment of the first family: positions of the two
/// objects and of the network, and the attachment's range.
pub(super) struct Pair {
    pub netconfig: usize,
    pub network: usize,
    pub attachment: usize,
    pub start: String,
    pub end: String,
}

impl Pair {
    /// The first subnet of the network.
    pub fn subnet(&self) -> String {
        format!("/spec/networks/{}/subnets/0", self.network)
    }
}

/// What an attachment is paired with, if it is.
fn paired(objects: &[Value], attachment: usize) -> Option<Pair> {
    let metadata = &objects[attachment]["metadata"];
    let netconfig = find(objects, "NetConfig", &metadata["namespace"], &"netconfig".into())?;
    let networks = objects[netconfig].pointer("/spec/networks")?.as_array()?;
    let network = networks.iter().position(|network| network["name"] == metadata["name"])?;
    let config = config(&objects[attachment])?;
    let bound = |name: &str| config["ipam"][name].as_str().map(str::to_owned);
    let (start, end) = (bound("range_start")?, bound("range_end")?);
    Some(Pair { netconfig, network, attachment, start, end })
}

pub(super) fn pair(dice: &mut Dice, objects: &[Value]) -> Option<Pair> {
    let at = any(dice, objects, |object| {
        let at = objects.iter().position(|other| std::ptr::eq(other, object));
        object["kind"] == NAD && at.is_some_and(|at| paired(objects, at).is_some())
    })?;
    paired(objects, at)
}

/// A pool, and the network it is of, through its advertisement's interface.
pub(super) fn pool_pair(dice: &mut Dice, objects: &[Value]) -> Option<(usize, Pair)> {
    let advertised = of_kind(dice, objects, "L2Advertisement")?;
    let interface = text(&objects[advertised], "/spec/interfaces/0")?;
    let metadata = &objects[advertised]["metadata"];
    let pool = find(objects, "IPAddressPool", &metadata["namespace"], &metadata["name"])?;
    let attachment = objects.iter().position(|object| {
        object["kind"] == NAD && config(object).is_some_and(|config| config["master"] == *interface)
    })?;
    Some((pool, paired(objects, attachment)?))
}

/// The first address of a pool, and the last.
pub(super) fn pool_bounds(object: &Value) -> Option<(String, String)> {
    let range = text(object, "/spec/addresses/0")?;
    let (first, last) = range.split_once('-')?;
    Some((first.to_owned(), last.to_owned()))
}

/// Two node policies for different nodes.
pub(super) fn two_nodes(dice: &mut Dice, objects: &[Value]) -> Option<(usize, usize)> {
    let host = |object: &Value| text(object, "/spec/nodeSelector/kubernetes.io~1hostname");
    let first = any(dice, objects, |object| object["kind"] == POLICY && host(object).is_some())?;
    let own = host(&objects[first]);
    let second = any(dice, objects, |object| {
        object["kind"] == POLICY && host(object).is_some() && host(object) != own
    })?;
    Some((first, second))
}

/// Pointers to the static addresses of a policy.
pub(super) fn host_addresses(object: &Value) -> Vec<String> {
    pointers(object, &|pointer, value| {
        pointer.contains("/address/") && pointer.ends_with("/ip") && value.is_string()
    })
}

pub(super) fn two(objects: &[Value], a: usize, b: usize) -> Vec<String> {
    vec![label(&objects[a]), label(&objects[b])]
}

pub(super) fn one(objects: &[Value], at: usize) -> Vec<String> {
    vec![label(&objects[at])]
}
