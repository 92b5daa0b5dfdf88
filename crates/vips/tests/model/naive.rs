//! MetalLB's rules as they read: walk the pool, look at every Service. Slow and plain on purpose.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use landbridge_addr::net::{Family, Range};
use landbridge_addr::number::successor;
use landbridge_vips::{Asked, Families};

/// A pool, every address of it written out.
#[derive(Clone, Debug)]
pub struct NaivePool {
    pub name: String,
    pub ranges: Vec<Range>,
    pub auto: bool,
    pub avoid: bool,
    /// Priority, namespaces, and the label a Service must have (any of these values of `app`).
    pub only: Option<(i64, BTreeSet<String>, Vec<String>)>,
}

#[derive(Default)]
pub struct Naive {
    pub pools: Vec<NaivePool>,
    pub services: BTreeMap<String, (Asked, Vec<IpAddr>)>,
    pub held: BTreeSet<IpAddr>,
}

fn every(range: Range) -> impl Iterator<Item = IpAddr> {
    let mut next = Some(range.first());
    std::iter::from_fn(move || {
        let now = next.filter(|now| range.contains(*now))?;
        next = successor(now);
        Some(now)
    })
}

impl NaivePool {
    fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.ranges.iter().flat_map(|range| every(*range)).filter(|address| self.may(*address))
    }

    fn may(&self, address: IpAddr) -> bool {
        let buggy = match address {
            IpAddr::V4(v4) => [0, 255].contains(&v4.octets()[3]),
            IpAddr::V6(_) => false,
        };
        !(self.avoid && buggy)
    }

    fn has(&self, address: IpAddr) -> bool {
        self.addresses().any(|own| own == address)
    }

    fn is_for(&self, asked: &Asked) -> bool {
        let Some((_, namespaces, apps)) = &self.only else { return true };
        let app = asked.labels.get("app");
        (namespaces.is_empty() || namespaces.contains(&*asked.namespace))
            && (apps.is_empty() || apps.iter().any(|wanted| app == Some(wanted)))
    }

    fn is_pinned_for(&self, asked: &Asked) -> bool {
        let Some((_, namespaces, apps)) = &self.only else { return false };
        let listed = namespaces.contains(&*asked.namespace) || !apps.is_empty();
        self.auto && listed && self.is_for(asked)
    }
}

impl Naive {
    /// Whether the Service may use the address beside those who do.
    fn may_share(&self, asked: &Asked, address: IpAddr) -> bool {
        self.services.iter().filter(|(name, _)| ***name != *asked.name).all(|(_, (other, has))| {
            !has.contains(&address)
                || (!asked.sharing.key.is_empty()
                    && asked.sharing == other.sharing
                    && !asked.ports.iter().any(|port| other.ports.contains(port)))
        })
    }

    fn first(&self, pool: &NaivePool, family: Family, asked: &Asked) -> Option<IpAddr> {
        pool.addresses()
            .filter(|address| Family::of(*address) == family)
            .find(|address| !self.held.contains(address) && self.may_share(asked, *address))
    }

    fn from(&self, pools: &[&NaivePool], families: Families, asked: &Asked) -> Option<Vec<IpAddr>> {
        let both = |pool: &&NaivePool| {
            let v4 = self.first(pool, Family::V4, asked)?;
            Some(vec![v4, self.first(pool, Family::V6, asked)?])
        };
        let one = |family| {
            let mut found = pools.iter().filter_map(|pool| self.first(pool, family, asked));
            found.next().map(|address| vec![address])
        };
        match families {
            Families::One(family) => one(family),
            Families::Both => pools.iter().find_map(both),
            Families::Rather(family) => {
                let other = if family == Family::V4 { Family::V6 } else { Family::V4 };
                pools.iter().find_map(both).or_else(|| one(family)).or_else(|| one(other))
            }
        }
    }

    fn pool_of(&self, addresses: &[IpAddr]) -> Option<&NaivePool> {
        self.pools.iter().find(|pool| addresses.iter().all(|address| pool.has(*address)))
    }

    fn may_have(&self, asked: &Asked, addresses: &[IpAddr]) -> bool {
        self.pool_of(addresses).is_some_and(|pool| pool.is_for(asked))
            && addresses.iter().all(|address| self.may_share(asked, *address))
    }

    /// The addresses a Service should have.
    pub fn converge(&self, asked: &Asked, current: &[IpAddr]) -> Vec<IpAddr> {
        let Ok(families) = asked.families else { return Vec::new() };
        if self.pools.is_empty() {
            return Vec::new();
        }
        let dual = current.len() == 2;
        let fits = match families {
            Families::One(family) => !dual && current.iter().all(|own| Family::of(*own) == family),
            Families::Both => dual,
            Families::Rather(_) => true,
        };
        let mut kept = !current.is_empty() && fits && self.may_have(asked, current);
        if let (Some(wanted), true) = (&asked.pool, kept) {
            kept = self.pool_of(current).is_some_and(|pool| pool.name == *wanted);
        }
        let wanted = match &asked.addresses {
            Ok(wanted) => wanted.clone(),
            Err(_) if kept => return current.to_vec(),
            Err(_) => return Vec::new(),
        };
        let set = |list: &[IpAddr]| list.iter().copied().collect::<BTreeSet<_>>();
        if kept && !wanted.is_empty() && set(&wanted) != set(current) {
            kept = false;
        }
        if kept {
            let mut result = current.to_vec();
            if matches!(families, Families::Rather(_)) && result.len() == 1 && wanted.is_empty() {
                let other = if result[0].is_ipv4() { Family::V6 } else { Family::V4 };
                let pool = self.pool_of(current).unwrap();
                result.extend(self.first(pool, other, asked));
                result.sort();
            }
            return result;
        }
        if !wanted.is_empty() {
            let both = wanted.len() == 2;
            let fits = match families {
                Families::One(family) => !both && Family::of(wanted[0]) == family,
                Families::Both | Families::Rather(_) => both,
            };
            let named =
                |pool: &NaivePool| asked.pool.as_ref().is_none_or(|name| *name == pool.name);
            let good = fits
                && self.may_have(asked, &wanted)
                && self.pool_of(&wanted).is_some_and(named)
                && !wanted.iter().any(|address| self.held.contains(address));
            return if good { set(&wanted).into_iter().collect() } else { Vec::new() };
        }
        if let Some(name) = &asked.pool {
            let pool = self.pools.iter().find(|pool| pool.name == *name && pool.is_for(asked));
            let found = pool.and_then(|pool| self.from(&[pool], families, asked));
            return found.unwrap_or_default();
        }
        let mut pinned: Vec<&NaivePool> =
            self.pools.iter().filter(|pool| pool.is_pinned_for(asked)).collect();
        pinned.sort_by_key(|pool| {
            let priority = pool.only.as_ref().map_or(0, |(priority, _, _)| *priority);
            (priority == 0, priority, pool.name.clone())
        });
        let mut open: Vec<&NaivePool> =
            self.pools.iter().filter(|pool| pool.auto && pool.only.is_none()).collect();
        open.sort_by_key(|pool| pool.name.clone());
        let found = self.from(&pinned, families, asked);
        found.or_else(|| self.from(&open, families, asked)).unwrap_or_default()
    }
}
