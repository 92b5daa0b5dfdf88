//! Mistakes that people make, each with what should be found.

#![allow(clippy::ptr_arg, reason = "all mistakes have one signature; some add objects")]

use serde_json::{Value, json};

use super::{Dice, label};

/// What should be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The kind of mistake.
    pub mistake: &'static str,
    /// The code.
    pub code: &'static str,
    /// The objects that the finding names, as [`label`] calls them.
    pub objects: Vec<String>,
}

/// Codes and objects of a mistake; `None` when the plan has no place for it.
type Mistake = fn(&mut Dice, &mut Vec<Value>) -> Option<(&'static str, Vec<String>)>;

/// All kinds of mistakes, by name.
pub const KINDS: &[(&str, Mistake)] = &[
    ("netconfig range over attachment", netconfig_over_attachment),
    ("pool over attachment", pool_over_attachment),
    ("pool over netconfig range", pool_over_netconfig),
    ("ranges of one netconfig overlap", own_ranges),
    ("node address in attachment range", host_in_attachment),
    ("node address in pool", host_in_pool),
    ("fixed address in pool", fixed_in_pool),
    ("gateway in attachment range", gateway_in_attachment),
    ("one fixed address for two", fixed_twice),
    ("one node address for two", host_twice),
    ("attachments overlap", attachments_overlap),
    ("range end outside", range_end_outside),
    ("netconfig vlan", netconfig_vlan),
    ("attachment prefix", attachment_prefix),
    ("node prefix", host_prefix),
    ("netconfig mtu", netconfig_mtu),
    ("attachment mtu", attachment_mtu),
    ("pool announced elsewhere", announced_elsewhere),
    ("pool missing", pool_missing),
    ("virtual address outside pool", vip_outside),
    ("virtual address in no pool", vip_nowhere),
    ("rabbitmq on one address", port_clash),
    ("sharing key differs", sharing_key),
    ("advertised pool misspelt", advertised_pool),
    ("pool not announced", not_announced),
    ("type LoadBalancer missing", not_balanced),
    ("attachment missing", attachment_missing),
    ("attachment misspelt", attachment_misspelt),
    ("master misspelt", master_misspelt),
    ("announcing interface misspelt", announcing_misspelt),
    ("policy for all workers", policy_for_all),
    ("two policies for one node", two_policies),
    ("policy patched", policy_patched),
    ("vlan differs on one node", other_vlan),
    ("field misspelt in control plane", field_control_plane),
    ("field misspelt in netconfig", field_netconfig),
    ("field misspelt in attachment", field_attachment),
    ("field misspelt in policy", field_policy),
    ("host name misspelt", host_name),
    ("network misspelt in ipset", ipset_network),
    ("range outside of subnet", refused_range),
    ("pool not understood", unreadable_pool),
    ("object given twice", given_twice),
];

/// Makes a random mistake. `None` when the plan has no place for any.
pub fn mutate(seed: u64, objects: &mut Vec<Value>) -> Option<Expected> {
    let start = usize::try_from(seed % KINDS.len() as u64).unwrap_or_default();
    (0..KINDS.len()).find_map(|step| make((start + step) % KINDS.len(), seed, objects))
}

/// Makes the mistake with this position in [`KINDS`], if the plan has a place for it.
pub fn make(kind: usize, seed: u64, objects: &mut Vec<Value>) -> Option<Expected> {
    let (mistake, act) = KINDS.get(kind)?;
    let mut changed = objects.clone();
    let (code, named) = act(&mut Dice::new(seed ^ 0x5eed), &mut changed)?;
    *objects = changed;
    Some(Expected { mistake, code, objects: named })
}

fn any(dice: &mut Dice, objects: &[Value], fits: impl Fn(&Value) -> bool) -> Option<usize> {
    let all: Vec<usize> = (0..objects.len()).filter(|at| fits(&objects[*at])).collect();
    dice.pick(&all).copied()
}

fn of_kind(dice: &mut Dice, objects: &[Value], kind: &str) -> Option<usize> {
    any(dice, objects, |object| object["kind"] == kind)
}

fn find(objects: &[Value], kind: &str, namespace: &Value, name: &Value) -> Option<usize> {
    objects.iter().position(|object| {
        let metadata = &object["metadata"];
        object["kind"] == kind && metadata["namespace"] == *namespace && metadata["name"] == *name
    })
}

fn text(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer)?.as_str().map(str::to_owned)
}

fn set(object: &mut Value, pointer: &str, value: impl Into<Value>) -> Option<()> {
    *object.pointer_mut(pointer)? = value.into();
    Some(())
}

/// The configuration of an attachment, changed.
fn reconfigure(object: &mut Value, change: impl FnOnce(&mut Value) -> Option<()>) -> Option<()> {
    let mut config: Value = serde_json::from_str(&text(object, "/spec/config")?).ok()?;
    change(&mut config)?;
    set(object, "/spec/config", config.to_string())
}

fn config(object: &Value) -> Option<Value> {
    serde_json::from_str(&text(object, "/spec/config")?).ok()
}

/// A network that has a NetConfig entry and an attachment of the first family: positions of the two
/// objects and of the network.
struct Pair {
    netconfig: usize,
    network: usize,
    attachment: usize,
    start: String,
    end: String,
}

fn pair(dice: &mut Dice, objects: &[Value]) -> Option<Pair> {
    let attachment = of_kind(dice, objects, "NetworkAttachmentDefinition")?;
    let metadata = &objects[attachment]["metadata"];
    let netconfig = find(objects, "NetConfig", &metadata["namespace"], &"netconfig".into())?;
    let networks = objects[netconfig].pointer("/spec/networks")?.as_array()?;
    let network = networks.iter().position(|network| network["name"] == metadata["name"])?;
    let config = config(&objects[attachment])?;
    let bound = |name: &str| config["ipam"][name].as_str().map(str::to_owned);
    let (start, end) = (bound("range_start")?, bound("range_end")?);
    Some(Pair { netconfig, network, attachment, start, end })
}

fn two(objects: &[Value], a: usize, b: usize) -> Vec<String> {
    vec![label(&objects[a]), label(&objects[b])]
}

type Found = Option<(&'static str, Vec<String>)>;

fn netconfig_over_attachment(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let pair = pair(dice, objects)?;
    let ranges = format!("/spec/networks/{}/subnets/0/allocationRanges", pair.network);
    let list = objects[pair.netconfig].pointer_mut(&ranges)?.as_array_mut()?;
    list.push(json!({"start": pair.start, "end": pair.end}));
    Some(("LB101", two(objects, pair.netconfig, pair.attachment)))
}

/// A pool and the network it is of, through its advertisement's interface.
fn pool_pair(dice: &mut Dice, objects: &[Value]) -> Option<(usize, Pair)> {
    let advertised = of_kind(dice, objects, "L2Advertisement")?;
    let interface = text(&objects[advertised], "/spec/interfaces/0")?;
    let metadata = &objects[advertised]["metadata"];
    let pool = find(objects, "IPAddressPool", &metadata["namespace"], &metadata["name"])?;
    let attachment = objects.iter().position(|object| {
        object["kind"] == "NetworkAttachmentDefinition"
            && config(object).is_some_and(|config| config["master"] == *interface)
    })?;
    let only = vec![objects[attachment].clone()];
    let mut all = only;
    all.extend(objects.iter().filter(|object| object["kind"] == "NetConfig").cloned());
    let found = pair(dice, &all)?;
    let name = all[found.netconfig]["metadata"]["namespace"].clone();
    let netconfig = find(objects, "NetConfig", &name, &"netconfig".into())?;
    Some((pool, Pair { netconfig, attachment, ..found }))
}

fn pool_over_attachment(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (pool, pair) = pool_pair(dice, objects)?;
    let list = objects[pool].pointer_mut("/spec/addresses")?.as_array_mut()?;
    list.push(format!("{}-{}", pair.start, pair.start).into());
    Some(("LB101", two(objects, pair.attachment, pool)))
}

fn pool_over_netconfig(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (pool, pair) = pool_pair(dice, objects)?;
    let range = format!("/spec/networks/{}/subnets/0/allocationRanges/0", pair.network);
    let start = text(&objects[pair.netconfig], &format!("{range}/start"))?;
    let list = objects[pool].pointer_mut("/spec/addresses")?.as_array_mut()?;
    list.push(format!("{start}-{start}").into());
    Some(("LB101", two(objects, pair.netconfig, pool)))
}

fn own_ranges(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "NetConfig")?;
    let ranges = objects[at].pointer_mut("/spec/networks/0/subnets/0/allocationRanges")?;
    let list = ranges.as_array_mut()?;
    list.push(list.first()?.clone());
    Some(("LB102", vec![label(&objects[at])]))
}

/// Gives a node an address on the interface of an attachment.
fn add_host(objects: &mut [Value], interface: &str, address: &str) -> Option<usize> {
    let at =
        objects.iter().position(|object| object["kind"] == "NodeNetworkConfigurationPolicy")?;
    let interfaces = objects[at].pointer_mut("/spec/desiredState/interfaces")?.as_array_mut()?;
    let found = interfaces.iter_mut().find(|found| found["name"] == *interface)?;
    let (family, length) = if address.contains(':') { ("ipv6", 64) } else { ("ipv4", 20) };
    let list = found[family]["address"].as_array_mut()?;
    list.push(json!({"ip": address, "prefix-length": length}));
    Some(at)
}

fn host_in_attachment(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let pair = pair(dice, objects)?;
    let interface = text(&config(&objects[pair.attachment])?, "/master")?;
    let policy = add_host(objects, &interface, &pair.end)?;
    Some(("LB103", two(objects, policy, pair.attachment)))
}

/// The first address of a pool, and the last.
fn pool_bounds(object: &Value) -> Option<(String, String)> {
    let range = text(object, "/spec/addresses/0")?;
    let (first, last) = range.split_once('-')?;
    Some((first.to_owned(), last.to_owned()))
}

fn host_in_pool(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (pool, pair) = pool_pair(dice, objects)?;
    let interface = text(&config(&objects[pair.attachment])?, "/master")?;
    let (_, last) = pool_bounds(&objects[pool])?;
    let policy = add_host(objects, &interface, &last)?;
    Some(("LB103", two(objects, policy, pool)))
}

fn fixed_in_pool(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let (pool, pair) = pool_pair(dice, objects)?;
    let (_, last) = pool_bounds(&objects[pool])?;
    let namespace = &objects[pair.attachment]["metadata"]["namespace"];
    let ipset = find(objects, "IPSet", namespace, &"edpm-compute-0".into())?;
    set(&mut objects[ipset], &format!("/spec/networks/{}/fixedIP", pair.network), last)?;
    Some(("LB104", two(objects, ipset, pool)))
}

fn gateway_in_attachment(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let pair = pair(dice, objects)?;
    let gateway = format!("/spec/networks/{}/subnets/0/gateway", pair.network);
    set(&mut objects[pair.netconfig], &gateway, pair.start)?;
    Some(("LB105", two(objects, pair.netconfig, pair.attachment)))
}

fn fixed_twice(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let first = any(dice, objects, |object| object["metadata"]["name"] == "edpm-compute-0")?;
    let namespace = &objects[first]["metadata"]["namespace"];
    let second = find(objects, "IPSet", namespace, &"edpm-compute-1".into())?;
    let address = text(&objects[first], "/spec/networks/0/fixedIP")?;
    set(&mut objects[second], "/spec/networks/0/fixedIP", address)?;
    Some(("LB106", two(objects, first, second)))
}

/// The first static address of a policy.
fn host_address(object: &Value) -> Option<String> {
    let interfaces = object.pointer("/spec/desiredState/interfaces")?.as_array()?.len();
    (0..interfaces)
        .flat_map(|at| ["ipv4", "ipv6"].map(|family| (at, family)))
        .map(|(at, family)| format!("/spec/desiredState/interfaces/{at}/{family}/address/0/ip"))
        .find(|pointer| object.pointer(pointer).is_some())
}

fn host_twice(_: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at =
        |name: &str| find(objects, "NodeNetworkConfigurationPolicy", &Value::Null, &name.into());
    let (first, second) = (at("worker-0")?, at("worker-1")?);
    let pointer = host_address(&objects[first])?;
    let address = text(&objects[first], &pointer)?;
    set(&mut objects[second], &pointer, address)?;
    Some(("LB106", two(objects, first, second)))
}

fn attachments_overlap(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let pair = pair(dice, objects)?;
    let mut copy = objects[pair.attachment].clone();
    set(&mut copy, "/metadata/name", "copy")?;
    reconfigure(&mut copy, |config| set(config, "/ipam/range_end", pair.start))?;
    objects.push(copy);
    Some(("LB107", two(objects, pair.attachment, objects.len() - 1)))
}

fn range_end_outside(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "NetworkAttachmentDefinition")?;
    reconfigure(&mut objects[at], |config| {
        let v6 = config["ipam"]["range"].as_str()?.contains(':');
        let outside = if v6 { "fdff::1" } else { "192.0.2.1" };
        set(config, "/ipam/range_end", outside)
    })?;
    Some(("LB108", vec![label(&objects[at])]))
}

fn netconfig_vlan(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let pair = pair(dice, objects)?;
    let subnets = format!("/spec/networks/{}/subnets", pair.network);
    let subnets = objects[pair.netconfig].pointer_mut(&subnets)?.as_array_mut()?;
    for subnet in subnets {
        subnet.get("vlan")?;
        set(subnet, "/vlan", 4090)?;
    }
    Some(("LB201", two(objects, pair.netconfig, pair.attachment)))
}

fn attachment_prefix(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let pair = pair(dice, objects)?;
    reconfigure(&mut objects[pair.attachment], |config| {
        let v6 = config["ipam"]["range"].as_str()?.contains(':');
        let (range, start, end) = if v6 {
            ("fdff::/64", "fdff::30", "fdff::70")
        } else {
            ("192.0.2.0/24", "192.0.2.30", "192.0.2.70")
        };
        set(config, "/ipam/range", range)?;
        set(config, "/ipam/range_start", start)?;
        set(config, "/ipam/range_end", end)
    })?;
    Some(("LB202", two(objects, pair.attachment, pair.netconfig)))
}

fn host_prefix(_: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at =
        objects.iter().position(|object| object["kind"] == "NodeNetworkConfigurationPolicy")?;
    let pointer = host_address(&objects[at])?;
    let v6 = text(&objects[at], &pointer)?.contains(':');
    set(&mut objects[at], &pointer, if v6 { "fdff::9" } else { "192.0.2.9" })?;
    Some(("LB202", vec![label(&objects[at])]))
}

fn netconfig_mtu(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let pair = pair(dice, objects)?;
    set(&mut objects[pair.netconfig], &format!("/spec/networks/{}/mtu", pair.network), 9100)?;
    Some(("LB203", vec![label(&objects[pair.netconfig])]))
}

fn attachment_mtu(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "NetworkAttachmentDefinition")?;
    reconfigure(&mut objects[at], |config| {
        config["mtu"] = 9100.into();
        Some(())
    })?;
    Some(("LB203", vec![label(&objects[at])]))
}

fn announced_elsewhere(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "L2Advertisement")?;
    let own = text(&objects[at], "/spec/interfaces/0")?;
    let other = objects.iter().find_map(|object| {
        let master = text(&config(object)?, "/master")?;
        (master != own).then_some(master)
    })?;
    set(&mut objects[at], "/spec/interfaces/0", other)?;
    Some(("LB205", vec![label(&objects[at])]))
}

/// A control plane that asks for virtual addresses, and the place of RabbitMQ's wish.
fn exposed(dice: &mut Dice, objects: &[Value]) -> Option<usize> {
    any(dice, objects, |object| object.pointer("/spec/rabbitmq/templates").is_some())
}

/// Where a wish names what, in either generation.
fn wish_pointer(object: &Value, what: &str) -> Option<String> {
    let base = "/spec/rabbitmq/templates/rabbitmq";
    let old = match what {
        "pool" => "ipAddressPool",
        _ => "loadBalancerIPs/0",
    };
    let new = match what {
        "pool" => "address-pool",
        _ => "loadBalancerIPs",
    };
    let old = format!("{base}/externalEndpoint/{old}");
    let new = format!("{base}/override/service/metadata/annotations/metallb.universe.tf~1{new}");
    [old, new].into_iter().find(|pointer| object.pointer(pointer).is_some())
}

fn pool_missing(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = exposed(dice, objects)?;
    let pointer = wish_pointer(&objects[at], "pool")?;
    set(&mut objects[at], &pointer, "nowhere")?;
    Some(("LB301", vec![label(&objects[at])]))
}

fn vip_outside(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = exposed(dice, objects)?;
    let pointer = wish_pointer(&objects[at], "address")?;
    set(&mut objects[at], &pointer, "192.0.2.80")?;
    Some(("LB302", vec![label(&objects[at])]))
}

fn vip_nowhere(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    of_kind(dice, objects, "IPAddressPool")?;
    objects.push(json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "web"},
        "spec": {"type": "LoadBalancer", "loadBalancerIP": "192.0.2.80", "ports": [{"port": 80}]},
    }));
    Some(("LB303", vec![label(objects.last()?)]))
}

fn port_clash(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = exposed(dice, objects)?;
    let first = wish_pointer(&objects[at], "address")?;
    let address = text(&objects[at], &first)?;
    let second = first.replace("templates/rabbitmq/", "templates/rabbitmq-cell1/");
    set(&mut objects[at], &second, address)?;
    Some(("LB305", vec![label(&objects[at])]))
}

fn sharing_key(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = exposed(dice, objects)?;
    let template = objects[at].pointer_mut("/spec/placement/template")?;
    let old = template.pointer_mut("/externalEndpoints/0");
    if let Some(block) = old {
        block["sharedIPKey"] = "other".into();
    } else {
        let annotations =
            template.pointer_mut("/override/service/internal/metadata/annotations")?;
        annotations["metallb.universe.tf/allow-shared-ip"] = "other".into();
    }
    Some(("LB306", vec![label(&objects[at])]))
}

fn misspelt(word: &str) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    let middle = letters.len() / 2;
    letters.remove(middle);
    letters.into_iter().collect()
}

fn advertised_pool(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "L2Advertisement")?;
    let name = text(&objects[at], "/spec/ipAddressPools/0")?;
    set(&mut objects[at], "/spec/ipAddressPools/0", misspelt(&name))?;
    Some(("LB308", vec![label(&objects[at])]))
}

fn not_announced(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let two_or_more =
        objects.iter().filter(|object| object["kind"] == "L2Advertisement").count() > 1;
    let at = of_kind(dice, objects, "L2Advertisement").filter(|_| two_or_more)?;
    let gone = objects.remove(at);
    let metadata = &gone["metadata"];
    let pool = find(objects, "IPAddressPool", &metadata["namespace"], &metadata["name"])?;
    Some(("LB309", vec![label(&objects[pool])]))
}

fn not_balanced(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = exposed(dice, objects)?;
    let kind = "/spec/keystone/template/override/service/internal/spec/type";
    set(&mut objects[at], kind, "ClusterIP")?;
    Some(("LB310", vec![label(&objects[at])]))
}

fn attachment_missing(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "OpenStackControlPlane")?;
    let named = label(&objects[at]);
    let name: Value =
        text(&objects[at], "/spec/ovn/template/ovnController/networkAttachment")?.into();
    let namespace = objects[at]["metadata"]["namespace"].clone();
    let gone = find(objects, "NetworkAttachmentDefinition", &namespace, &name)?;
    objects.remove(gone);
    objects.iter().find(|object| object["kind"] == "NetworkAttachmentDefinition")?;
    Some(("LB401", vec![named]))
}

fn attachment_misspelt(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "OpenStackControlPlane")?;
    let pointer = "/spec/cinder/template/networkAttachments/0";
    let name = text(&objects[at], pointer)?;
    set(&mut objects[at], pointer, misspelt(&name))?;
    Some(("LB401", vec![label(&objects[at])]))
}

fn master_misspelt(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "NetworkAttachmentDefinition")?;
    reconfigure(&mut objects[at], |config| {
        let master = text(config, "/master")?;
        set(config, "/master", format!("{master}9"))
    })?;
    Some(("LB402", vec![label(&objects[at])]))
}

fn announcing_misspelt(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "L2Advertisement")?;
    let name = text(&objects[at], "/spec/interfaces/0")?;
    set(&mut objects[at], "/spec/interfaces/0", format!("{name}9"))?;
    Some(("LB403", vec![label(&objects[at])]))
}

fn policy_for_all(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "NodeNetworkConfigurationPolicy")?;
    host_address(&objects[at])?;
    set(&mut objects[at], "/spec/nodeSelector", json!({"node-role.kubernetes.io/worker": ""}))?;
    Some(("LB501", vec![label(&objects[at])]))
}

fn two_policies(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "NodeNetworkConfigurationPolicy")?;
    let mut copy = objects[at].clone();
    set(&mut copy, "/metadata/name", "another")?;
    set(&mut copy, "/spec/desiredState/interfaces/0/mtu", 1400)?;
    copy.pointer_mut("/spec/desiredState/interfaces")?.as_array_mut()?.truncate(1);
    objects.push(copy);
    Some(("LB502", two(objects, at, objects.len() - 1)))
}

fn policy_patched(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "NodeNetworkConfigurationPolicy")?;
    let mut copy = objects[at].clone();
    let interfaces = copy.pointer_mut("/spec/desiredState/interfaces")?.as_array_mut()?;
    if interfaces.len() < 2 {
        return None;
    }
    interfaces.truncate(1);
    objects.push(copy);
    Some(("LB503", vec![label(&objects[at])]))
}

fn other_vlan(_: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at =
        |name: &str| find(objects, "NodeNetworkConfigurationPolicy", &Value::Null, &name.into());
    let (first, second) = (at("worker-0")?, at("worker-1")?);
    let interfaces =
        objects[second].pointer_mut("/spec/desiredState/interfaces")?.as_array_mut()?;
    let vlan = interfaces.iter_mut().find(|interface| interface.get("vlan").is_some())?;
    set(vlan, "/vlan/id", 4091)?;
    Some(("LB504", two(objects, second, first)))
}

/// Renames a field.
fn rename(object: &mut Value, pointer: &str, from: &str, to: &str) -> Option<()> {
    let map = object.pointer_mut(pointer)?.as_object_mut()?;
    let value = map.remove(from)?;
    map.insert(to.to_owned(), value);
    Some(())
}

fn field_control_plane(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "OpenStackControlPlane")?;
    rename(&mut objects[at], "/spec/manila/template", "networkAttachments", "networkAttachents")?;
    Some(("LB601", vec![label(&objects[at])]))
}

fn field_netconfig(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "NetConfig")?;
    rename(&mut objects[at], "/spec/networks/0/subnets/0", "gateway", "gatway")?;
    Some(("LB601", vec![label(&objects[at])]))
}

fn field_attachment(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "NetworkAttachmentDefinition")?;
    reconfigure(&mut objects[at], |config| rename(config, "/ipam", "range_start", "range_strat"))?;
    Some(("LB601", vec![label(&objects[at])]))
}

fn field_policy(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "NodeNetworkConfigurationPolicy")?;
    rename(&mut objects[at], "/spec", "nodeSelector", "nodeSelektor")?;
    Some(("LB601", vec![label(&objects[at])]))
}

fn host_name(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "DNSData")?;
    let pointer = "/spec/hosts/0/hostnames/0";
    let name = text(&objects[at], pointer)?;
    let (host, rest) = name.split_once('.')?;
    let (network, domain) = rest.split_once('.')?;
    set(&mut objects[at], pointer, format!("{host}.{}.{domain}", misspelt(network)))?;
    Some(("LB603", vec![label(&objects[at])]))
}

fn ipset_network(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "IPSet")?;
    let name = text(&objects[at], "/spec/networks/0/name")?;
    set(&mut objects[at], "/spec/networks/0/name", misspelt(&name))?;
    Some(("LB604", vec![label(&objects[at])]))
}

fn refused_range(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "NetConfig")?;
    let pointer = "/spec/networks/0/subnets/0/allocationRanges/0/end";
    let v6 = text(&objects[at], pointer)?.contains(':');
    set(&mut objects[at], pointer, if v6 { "fdff::1" } else { "192.0.2.1" })?;
    Some(("LB001", vec![label(&objects[at])]))
}

fn unreadable_pool(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "IPAddressPool")?;
    let list = objects[at].pointer_mut("/spec/addresses")?.as_array_mut()?;
    list.push("172.17.0.80".into());
    Some(("LB003", vec![label(&objects[at])]))
}

fn given_twice(dice: &mut Dice, objects: &mut Vec<Value>) -> Found {
    let at = of_kind(dice, objects, "NetConfig")?;
    let mut copy = objects[at].clone();
    set(&mut copy, "/spec/networks/0/mtu", 1400)?;
    objects.push(copy);
    Some(("LB605", vec![label(&objects[at])]))
}
