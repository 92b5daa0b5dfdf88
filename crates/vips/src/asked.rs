//! What a Service asks for.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use landbridge_addr::net::Family;

use crate::{Name, Port};

/// Prefixes of annotations, the one that wins first.
pub const PREFIXES: [&str; 2] = ["metallb.io/", "metallb.universe.tf/"];
/// Which pool, without the prefix.
pub const POOL: &str = "address-pool";
/// Which addresses, without the prefix.
pub const ADDRESSES: &str = "loadBalancerIPs";
/// Which sharing key, without the prefix.
pub const SHARED: &str = "allow-shared-ip";
/// Written on the Service: where its address comes from.
pub const FROM_POOL: &str = "metallb.io/ip-allocated-from-pool";

/// A Service that wants a virtual address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// `namespace/name`.
    pub name: Name,
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Which families it can be reached in, or why that is not known.
    pub families: Result<Families, NoFamily>,
    /// The pool it names.
    pub pool: Option<String>,
    /// The addresses it names, or why they cannot be read.
    pub addresses: Result<Vec<IpAddr>, String>,
    /// Under which conditions it shares an address.
    pub sharing: Sharing,
    /// Its ports.
    pub ports: Vec<Port>,
}

/// Which families a Service wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Families {
    /// This one.
    One(Family),
    /// Both, from one pool.
    Both,
    /// Both if one pool has both; else this one if a pool has it, else the other.
    Rather(Family),
}

/// Why a Service has no families.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFamily {
    /// It has no cluster IP.
    NoClusterIp,
    /// It requires two and has one.
    NotEnough,
    /// Its cluster IPs are two of one family, or more, or no addresses.
    Odd,
}

/// Two Services share an address when this is the same, with a key, and no port is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sharing {
    /// The key; empty: the address is not shared.
    pub key: String,
    /// The pods behind it, when traffic stays on the node it arrives at; else empty.
    pub backend: String,
}

impl Sharing {
    /// Whether addresses may be shared at all.
    pub fn is_shared(&self) -> bool {
        !self.key.is_empty()
    }
}

/// An annotation in the prefix that counts, and the key it was found under.
pub fn annotation<'a>(
    annotations: &'a BTreeMap<String, String>,
    name: &str,
) -> Option<(&'a str, &'a str)> {
    PREFIXES.iter().find_map(|prefix| {
        let (key, value) = annotations.get_key_value(&format!("{prefix}{name}"))?;
        Some((key.as_str(), value.as_str()))
    })
}

/// Keys in the prefix that MetalLB no longer wants, as far as they are used.
pub fn deprecated(annotations: &BTreeMap<String, String>) -> Vec<&str> {
    let named = [POOL, ADDRESSES, SHARED].into_iter();
    let used = named.filter_map(|name| annotation(annotations, name));
    used.map(|(key, _)| key).filter(|key| key.starts_with(PREFIXES[1])).collect()
}

/// The addresses that a Service names, by annotation or in `spec.loadBalancerIP`.
pub fn addresses(annotation: Option<&str>, field: Option<&str>) -> Result<Vec<IpAddr>, String> {
    let annotation = annotation.filter(|text| !text.is_empty());
    let field = field.filter(|text| !text.is_empty());
    let texts: Vec<&str> = match (annotation, field) {
        (None, None) => return Ok(Vec::new()),
        (Some(_), Some(_)) => {
            return Err(
                "service can not have both metallb.io/loadBalancerIPs and svc.Spec.LoadBalancerIP"
                    .to_owned(),
            );
        }
        (Some(list), None) => list.split(',').map(str::trim).collect(),
        (None, Some(one)) => vec![one],
    };
    let mut found: Vec<IpAddr> = Vec::new();
    for text in texts {
        let address = text.parse().map_err(|_| match annotation {
            Some(_) => format!("invalid metallb.io/loadBalancerIPs: {text:?}"),
            None => format!("invalid spec.loadBalancerIP: {text:?}"),
        })?;
        found.push(address);
    }
    match family_of(&found) {
        Some(_) => Ok(found),
        None => Err(format!(
            "{}: at most two addresses, one of each family, can be asked for",
            quoted(&found)
        )),
    }
}

/// The families of addresses: one of each at most.
pub(crate) fn family_of(addresses: &[IpAddr]) -> Option<Families> {
    match addresses {
        [one] => Some(Families::One(Family::of(*one))),
        [a, b] if Family::of(*a) != Family::of(*b) => Some(Families::Both),
        _ => None,
    }
}

/// The families of a Service by its cluster IPs, the policy, and which family comes first.
pub fn families<'a>(
    cluster_ips: impl IntoIterator<Item = &'a str>,
    policy: Option<&str>,
    first: Option<Family>,
) -> Result<Families, NoFamily> {
    let texts: Vec<&str> =
        cluster_ips.into_iter().filter(|text| !text.is_empty() && *text != "None").collect();
    if texts.is_empty() {
        return Err(NoFamily::NoClusterIp);
    }
    if policy == Some("RequireDualStack") && texts.len() < 2 {
        return Err(NoFamily::NotEnough);
    }
    let addresses: Vec<IpAddr> = texts.iter().filter_map(|text| text.parse().ok()).collect();
    if addresses.len() < texts.len() {
        return Err(NoFamily::Odd);
    }
    match family_of(&addresses).ok_or(NoFamily::Odd)? {
        Families::Both if policy == Some("PreferDualStack") => {
            Ok(Families::Rather(first.unwrap_or(Family::V4)))
        }
        families => Ok(families),
    }
}

/// `["172.17.0.80" "fd00::80"]`, as MetalLB prints addresses.
pub(crate) fn quoted(addresses: &[IpAddr]) -> String {
    let texts: Vec<String> = addresses.iter().map(|address| format!("\"{address}\"")).collect();
    format!("[{}]", texts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_prefix_wins_even_when_empty() {
        let map = |entries: &[(&str, &str)]| -> BTreeMap<String, String> {
            entries.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
        };
        let both =
            map(&[("metallb.io/address-pool", ""), ("metallb.universe.tf/address-pool", "p")]);
        assert_eq!(annotation(&both, POOL), Some(("metallb.io/address-pool", "")));
        assert!(deprecated(&both).is_empty(), "the old one does not count");
        let old = map(&[("metallb.universe.tf/allow-shared-ip", "k")]);
        assert_eq!(deprecated(&old), ["metallb.universe.tf/allow-shared-ip"]);
    }

    #[test]
    fn addresses_are_asked_for_in_one_place() {
        let ok = |annotation, field| {
            let list = addresses(annotation, field).unwrap();
            list.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        };
        assert_eq!(ok(Some("10.0.0.1, fd00::1"), None), "10.0.0.1,fd00::1");
        assert_eq!(ok(Some(""), Some("10.0.0.1")), "10.0.0.1");
        assert_eq!(ok(None, None), "");
        let bad = |annotation, field| addresses(annotation, field).unwrap_err();
        assert!(bad(Some("10.0.0.1"), Some("10.0.0.1")).contains("can not have both"));
        assert_eq!(bad(Some("10.0.0.1,x"), None), "invalid metallb.io/loadBalancerIPs: \"x\"");
        assert_eq!(bad(None, Some("x")), "invalid spec.loadBalancerIP: \"x\"");
        assert!(bad(Some("10.0.0.1,10.0.0.2"), None).contains("one of each family"));
        assert!(bad(Some("10.0.0.1,fd00::1,fd00::2"), None).contains("at most two"));
    }

    #[test]
    fn cluster_ips_tell_the_families() {
        use Families::{Both, One, Rather};
        let of = |ips: &[&str], policy, first| families(ips.iter().copied(), policy, first);
        assert_eq!(of(&["10.0.0.1"], None, None), Ok(One(Family::V4)));
        assert_eq!(of(&["fd00::1"], Some("PreferDualStack"), None), Ok(One(Family::V6)));
        let dual = ["10.0.0.1", "fd00::1"];
        assert_eq!(of(&dual, None, None), Ok(Both));
        assert_eq!(of(&dual, Some("RequireDualStack"), None), Ok(Both));
        assert_eq!(of(&dual, Some("PreferDualStack"), None), Ok(Rather(Family::V4)));
        let six = Some(Family::V6);
        assert_eq!(of(&dual, Some("PreferDualStack"), six), Ok(Rather(Family::V6)));
        assert_eq!(of(&[], None, None), Err(NoFamily::NoClusterIp));
        assert_eq!(of(&["None"], None, None), Err(NoFamily::NoClusterIp));
        assert_eq!(of(&["10.0.0.1"], Some("RequireDualStack"), None), Err(NoFamily::NotEnough));
        assert_eq!(of(&["10.0.0.1", "10.0.0.2"], None, None), Err(NoFamily::Odd));
        assert_eq!(of(&["x"], None, None), Err(NoFamily::Odd));
    }
}
