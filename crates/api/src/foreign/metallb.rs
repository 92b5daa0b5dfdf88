//! MetalLB: pools of addresses, where they are announced, and how a Service asks for one.
//!
//! Here is what the address plan reads of them; [`objects`] has the kinds as controllers see them.

pub mod objects;

use serde_json::Value;

use super::{At, Node, Place, Trouble};
use crate::net::{Cidr, Range};

/// The API group.
pub const GROUP: &str = "metallb.io";
/// Prefixes of annotations on Services, the one that wins first.
const PREFIXES: [&str; 2] = ["metallb.io/", "metallb.universe.tf/"];

/// Addresses that may be given to Services.
#[derive(Clone, Debug, Default)]
pub struct IPAddressPool {
    /// The ranges, in order.
    pub ranges: Vec<At<Range>>,
    /// Whether IPv4 addresses that end in 0 or 255 are left out.
    pub avoid_buggy_ips: bool,
}

/// Where pools are announced.
#[derive(Clone, Debug, Default)]
pub struct L2Advertisement<'a> {
    /// The pools by name.
    pub pools: Vec<At<&'a str>>,
    /// Whether pools are selected by label, too.
    pub selects_pools: bool,
    /// The interfaces; empty: all.
    pub interfaces: Vec<At<&'a str>>,
}

impl L2Advertisement<'_> {
    /// Whether every pool is meant.
    pub fn is_for_all(&self) -> bool {
        self.pools.is_empty() && !self.selects_pools
    }
}

/// What a Service, or the block an operator makes a Service from, asks of MetalLB.
#[derive(Clone, Debug, Default)]
pub struct Wish<'a> {
    /// Where it is written.
    pub place: Place,
    /// The pool.
    pub pool: Option<At<&'a str>>,
    /// The addresses.
    pub addresses: Vec<At<&'a str>>,
    /// The key under which the address may be shared.
    pub sharing_key: Option<&'a str>,
}

/// Reads an IPAddressPool.
pub fn pool(object: &Value, trouble: &mut Trouble) -> IPAddressPool {
    let Some(spec) = Node::root(object).get("spec") else { return IPAddressPool::default() };
    let texts = spec.texts("addresses", trouble);
    let ranges = texts.iter().filter_map(|text| range(text, trouble)).collect();
    IPAddressPool { ranges, avoid_buggy_ips: spec.flag("avoidBuggyIPs", trouble) == Some(true) }
}

/// `172.17.0.80-172.17.0.90` or a prefix; a single address is refused by MetalLB.
fn range(text: &At<&str>, trouble: &mut Trouble) -> Option<At<Range>> {
    let range = match text.value.split_once('-') {
        Some((first, last)) => {
            let first = first.trim().parse().ok();
            let last = last.trim().parse().ok();
            first.zip(last).and_then(|(first, last)| Range::new(first, last))
        }
        None => text.value.parse::<Cidr>().ok().map(Range::from),
    };
    if range.is_none() {
        let why = format!("{:?} is neither a prefix nor a range FIRST-LAST", text.value);
        trouble.note(&text.place, why);
    }
    range.map(|value| At { place: text.place.clone(), value })
}

/// Reads an L2Advertisement.
pub fn l2_advertisement<'a>(object: &'a Value, trouble: &mut Trouble) -> L2Advertisement<'a> {
    let Some(spec) = Node::root(object).get("spec") else { return L2Advertisement::default() };
    L2Advertisement {
        pools: spec.texts("ipAddressPools", trouble),
        selects_pools: !spec.list("ipAddressPoolSelectors", trouble).is_empty(),
        interfaces: spec.texts("interfaces", trouble),
    }
}

/// What the annotations of a Service, below `metadata`, ask for.
pub fn wish<'a>(metadata: &Node<'a>, trouble: &mut Trouble) -> Wish<'a> {
    let place = metadata.place.clone();
    let Some(annotations) = metadata.get("annotations") else {
        return Wish { place, ..Wish::default() };
    };
    let mut find = |name: &str| {
        let mut given =
            PREFIXES.iter().filter_map(|prefix| annotations.get(&format!("{prefix}{name}")));
        given.next().and_then(|node| node.as_text(trouble)).filter(|text| !text.value.is_empty())
    };
    let pool = find("address-pool");
    let sharing_key = find("allow-shared-ip").map(|text| text.value);
    let addresses = find("loadBalancerIPs").map(split).unwrap_or_default();
    Wish { place, pool, addresses, sharing_key }
}

fn split(list: At<&str>) -> Vec<At<&str>> {
    let At { place, value } = list;
    value.split(',').map(|value| At { place: place.clone(), value: value.trim() }).collect()
}

/// What a block of the first generation (`externalEndpoints[]`, `externalEndpoint`) asks for: the
/// address is shared unless said otherwise, under the name of the pool unless a key is given.
pub fn external_endpoint<'a>(block: &Node<'a>, trouble: &mut Trouble) -> Wish<'a> {
    let pool = block.text("ipAddressPool", trouble);
    let shared = block.flag("sharedIP", trouble).unwrap_or(true);
    let key = block.text("sharedIPKey", trouble).map(|key| key.value).filter(|key| !key.is_empty());
    let sharing_key = key.or(pool.as_ref().map(|pool| pool.value)).filter(|_| shared);
    let addresses = block.texts("loadBalancerIPs", trouble);
    Wish { place: block.place.clone(), pool, addresses, sharing_key }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pools_take_prefixes_and_ranges() {
        let object = json!({"spec": {"avoidBuggyIPs": true, "addresses": [
            "172.17.0.80-172.17.0.90", "fd00::/124", "10.0.0.9 - 10.0.0.12", "10.0.0.1", "10.0.0.9-10.0.0.1", 7]}});
        let mut trouble = Trouble::default();
        let pool = pool(&object, &mut trouble);
        assert!(pool.avoid_buggy_ips);
        let ranges: Vec<_> =
            pool.ranges.iter().map(|range| format!("{}-{}", range.first(), range.last())).collect();
        assert_eq!(ranges, ["172.17.0.80-172.17.0.90", "fd00::-fd00::f", "10.0.0.9-10.0.0.12"]);
        let places: Vec<_> = trouble.0.iter().map(|note| note.place.path.as_str()).collect();
        assert_eq!(places, ["spec.addresses[5]", "spec.addresses[3]", "spec.addresses[4]"]);
    }

    #[test]
    fn both_generations_of_asking_say_the_same() {
        let mut trouble = Trouble::default();
        let today = json!({"annotations": {
            "metallb.universe.tf/address-pool": "internalapi",
            "metallb.universe.tf/allow-shared-ip": "internalapi",
            "metallb.universe.tf/loadBalancerIPs": "172.17.0.80, fd00::80"}});
        let seed =
            json!({"ipAddressPool": "internalapi", "loadBalancerIPs": ["172.17.0.80", "fd00::80"]});
        for wish in [
            wish(&Node::root(&today), &mut trouble),
            external_endpoint(&Node::root(&seed), &mut trouble),
        ] {
            assert_eq!(wish.pool.unwrap().value, "internalapi");
            assert_eq!(wish.sharing_key, Some("internalapi"));
            let addresses: Vec<_> = wish.addresses.iter().map(|a| a.value).collect();
            assert_eq!(addresses, ["172.17.0.80", "fd00::80"]);
        }
        let alone = json!({"ipAddressPool": "p", "sharedIP": false, "sharedIPKey": "k"});
        assert_eq!(external_endpoint(&Node::root(&alone), &mut trouble).sharing_key, None);
        let both = json!({"annotations": {"metallb.io/address-pool": "new", "metallb.universe.tf/address-pool": "old"}});
        assert_eq!(wish(&Node::root(&both), &mut trouble).pool.unwrap().value, "new");
        assert!(trouble.0.is_empty());
    }
}
