//! All pools, and which of them a Service may use.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;
use landbridge_addr::net::{Family, Range};
use landbridge_addr::number::number;
use serde_json::Value;

use crate::asked::Asked;
use crate::{Name, Pool};

/// A namespace, as selectors of pools see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Namespace {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
}

/// Pools that fit together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    pools: BTreeMap<Name, Member>,
    /// The pool of every range, by family and first number; no two overlap.
    ranges: BTreeMap<(Family, u128), (u128, Name)>,
    /// Pools for everybody that are used without being asked for.
    open: Vec<Name>,
    /// Pools for some, in the order in which they are tried.
    pinned: Vec<Name>,
}

/// A pool, and the namespaces it is for.
#[derive(Clone, Debug, PartialEq)]
struct Member {
    pool: Pool,
    namespaces: BTreeSet<String>,
}

impl Config {
    /// Puts pools together, given as name and `spec`. The first thing that is wrong is said in
    /// MetalLB's words; pools are looked at by name.
    pub fn read<'a>(
        pools: impl IntoIterator<Item = (&'a str, &'a Value)>,
        namespaces: &[Namespace],
    ) -> Result<Self, String> {
        let mut pools: Vec<(&str, &Value)> = pools.into_iter().collect();
        pools.sort_by_key(|(name, _)| *name);
        let mut config = Self::default();
        let mut known = Prefixes::default();
        for (name, spec) in pools {
            let pool = Pool::read(name, spec)?;
            if config.pools.contains_key(name) {
                return Err(format!("duplicate definition of pool {name:?}"));
            }
            for prefix in pool.prefixes() {
                if let Some(earlier) = known.add(prefix) {
                    return Err(format!(
                        "CIDR \"{prefix}\" in pool {name:?} overlaps with already defined CIDR \"{earlier}\""
                    ));
                }
            }
            config.add(pool, namespaces);
        }
        config.sort();
        Ok(config)
    }

    fn add(&mut self, pool: Pool, namespaces: &[Namespace]) {
        for range in &pool.ranges {
            let at = (range.family(), number(range.first()));
            self.ranges.insert(at, (number(range.last()), pool.name.clone()));
        }
        let mut chosen = BTreeSet::new();
        if let Some(allocation) = &pool.allocation {
            chosen.clone_from(&allocation.namespaces);
            let matching = namespaces.iter().filter(|namespace| {
                let label = |key: &str| namespace.labels.get(key).map(String::as_str);
                allocation.namespace_selectors.iter().any(|one| one.matches_with(label))
            });
            chosen.extend(matching.map(|namespace| namespace.name.clone()));
        }
        self.pools.insert(pool.name.clone(), Member { pool, namespaces: chosen });
    }

    fn sort(&mut self) {
        let automatic = self.pools.values().filter(|member| member.pool.auto_assign);
        let mut pinned = Vec::new();
        for member in automatic {
            match &member.pool.allocation {
                None => self.open.push(member.pool.name.clone()),
                // With neither a namespace nor a selector nobody is meant, except who asks.
                Some(allocation)
                    if member.namespaces.is_empty() && allocation.service_selectors.is_empty() => {}
                Some(allocation) => pinned.push((allocation.rank(), member.pool.name.clone())),
            }
        }
        pinned.sort();
        self.pinned = pinned.into_iter().map(|(_, name)| name).collect();
    }

    /// Whether there is no pool at all.
    pub fn is_empty(&self) -> bool {
        self.pools.is_empty()
    }

    /// The pools, by name.
    pub fn pools(&self) -> impl Iterator<Item = &Pool> {
        self.pools.values().map(|member| &member.pool)
    }

    /// One pool.
    pub fn pool(&self, name: &str) -> Option<&Pool> {
        self.pools.get(name).map(|member| &member.pool)
    }

    /// The pool whose addresses hold this one, whether it may be used or not.
    pub fn around(&self, address: IpAddr) -> Option<&Pool> {
        let (family, number) = (Family::of(address), number(address));
        let (_, (last, name)) = self.ranges.range((family, 0)..=(family, number)).next_back()?;
        (number <= *last).then(|| self.pool(name)).flatten()
    }

    /// The pool that may give out all of these addresses.
    pub fn holding(&self, addresses: &[IpAddr]) -> Option<&Pool> {
        let pool = self.around(*addresses.first()?)?;
        addresses.iter().all(|address| pool.holds(*address)).then_some(pool)
    }

    /// Whether the pool is for this Service.
    pub fn is_for(&self, pool: &str, asked: &Asked) -> bool {
        let Some(member) = self.pools.get(pool) else { return false };
        let Some(allocation) = &member.pool.allocation else { return true };
        if !member.namespaces.is_empty() && !member.namespaces.contains(&*asked.namespace) {
            return false;
        }
        let label = |key: &str| asked.labels.get(key).map(String::as_str);
        allocation.service_selectors.is_empty()
            || allocation.service_selectors.iter().any(|one| one.matches_with(label))
    }

    /// Pools to try for a Service that names none, those meant for it first: two lists, and the
    /// second one only when the first has nothing.
    pub fn to_try(&self, asked: &Asked) -> [Vec<&Name>; 2] {
        let pinned = self.pinned.iter().filter(|pool| self.is_for(pool, asked)).collect();
        [pinned, self.open.iter().collect()]
    }
}

/// Prefixes that do not overlap, and when each was defined.
#[derive(Default)]
struct Prefixes {
    by_first: BTreeMap<(Family, u128), (u128, usize, IpNet)>,
}

impl Prefixes {
    /// Adds a prefix; or says which one it overlaps, of several the one that was defined first.
    fn add(&mut self, prefix: IpNet) -> Option<IpNet> {
        let (first, last) = (number(prefix.network()), number(prefix.broadcast()));
        let family = Family::of(prefix.network());
        let before = self.by_first.range((family, 0)..(family, first)).next_back();
        let before = before.map(|(_, found)| found).filter(|(end, _, _)| *end >= first);
        let within = self.by_first.range((family, first)..=(family, last)).map(|(_, found)| found);
        let earliest = before.into_iter().chain(within).min_by_key(|(_, order, _)| *order);
        if let Some((_, _, earlier)) = earliest {
            return Some(*earlier);
        }
        let order = self.by_first.len();
        self.by_first.insert((family, first), (last, order, prefix));
        None
    }
}

/// The ranges of a pool in one family, in order.
pub(crate) fn of_family(pool: &Pool, family: Family) -> Vec<Range> {
    pool.ranges.iter().filter(|range| range.family() == family).copied().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn addresses(list: &[&str]) -> Value {
        json!({"addresses": list})
    }

    #[test]
    fn overlaps_name_the_prefix_that_was_there_first() {
        let seed = addresses(&["172.17.0.80-172.17.0.90"]);
        let cases = [
            (
                addresses(&["172.17.0.85-172.17.0.99"]),
                r#"CIDR "172.17.0.85/32" in pool "other" overlaps with already defined CIDR "172.17.0.80/29""#,
            ),
            (
                addresses(&["172.17.0.0/24"]),
                r#"CIDR "172.17.0.0/24" in pool "other" overlaps with already defined CIDR "172.17.0.80/29""#,
            ),
            (
                addresses(&["10.0.0.0/24", "10.0.0.9-10.0.0.9"]),
                r#"CIDR "10.0.0.9/32" in pool "other" overlaps with already defined CIDR "10.0.0.0/24""#,
            ),
        ];
        for (other, why) in cases {
            let pools = [("internalapi", &seed), ("other", &other)];
            assert_eq!(Config::read(pools, &[]).unwrap_err(), why);
        }
        let twice = [("a", &seed), ("a", &seed)];
        assert_eq!(Config::read(twice, &[]).unwrap_err(), "duplicate definition of pool \"a\"");
        let six = addresses(&["::ac11:50/124", "fd00::/64"]);
        assert!(Config::read([("a", &seed), ("b", &six)], &[]).is_ok(), "families stay apart");
    }

    #[test]
    fn the_pool_of_an_address_is_found() {
        let (a, b) = (addresses(&["10.0.0.0/24", "fd00::/120"]), addresses(&["10.0.1.5-10.0.1.9"]));
        let config = Config::read([("a", &a), ("b", &b)], &[]).unwrap();
        let of =
            |text: &str| config.around(text.parse().unwrap()).map(|pool| pool.name.to_string());
        for (text, pool) in [
            ("10.0.0.0", Some("a")),
            ("10.0.0.255", Some("a")),
            ("10.0.1.4", None),
            ("10.0.1.5", Some("b")),
            ("10.0.1.10", None),
            ("fd00::ff", Some("a")),
            ("fd00::100", None),
        ] {
            assert_eq!(of(text).as_deref(), pool, "{text}");
        }
        let all = |list: &[&str]| {
            let list: Vec<IpAddr> = list.iter().map(|text| text.parse().unwrap()).collect();
            config.holding(&list).map(|pool| pool.name.to_string())
        };
        assert_eq!(all(&["10.0.0.7", "fd00::7"]).as_deref(), Some("a"));
        assert_eq!(all(&["10.0.1.7", "fd00::7"]), None, "from two pools");
    }
}
