//! Which pool, and which families.

use std::net::IpAddr;

use landbridge_addr::net::Family;

use crate::allocator::Allocator;
use crate::asked::{Asked, Families, family_of, quoted};
use crate::{Given, Name};

/// New addresses for a Service that uses none.
pub(crate) fn choose(
    allocator: &Allocator,
    asked: &Asked,
    families: Families,
    addresses: &[IpAddr],
) -> Result<Given, String> {
    if !addresses.is_empty() {
        return requested(allocator, asked, families, addresses);
    }
    if let Some(pool) = &asked.pool {
        let Some(pool) = allocator.config().pool(pool) else {
            return Err(format!("unknown pool {pool:?}"));
        };
        if !allocator.config().is_for(&pool.name, asked) {
            return Err(format!("pool {} not compatible for ip assignment", pool.name));
        }
        return first_of(allocator, asked, families, &[&pool.name])
            .ok_or_else(|| format!("no available IPs in pool {}", pool.name));
    }
    let lists = allocator.config().to_try(asked);
    let mut found = lists.iter().filter_map(|pools| first_of(allocator, asked, families, pools));
    found.next().ok_or_else(|| "no available IPs".to_owned())
}

/// Just these addresses.
fn requested(
    allocator: &Allocator,
    asked: &Asked,
    families: Families,
    addresses: &[IpAddr],
) -> Result<Given, String> {
    let fits = match (family_of(addresses), families) {
        (Some(Families::Both), Families::Both | Families::Rather(_)) => true,
        (Some(wanted), families) => wanted == families,
        (None, _) => false,
    };
    if !fits {
        let list = quoted(addresses);
        return Err(format!(
            "requested loadBalancer IP(s) {list} does not match the ipFamily of the service"
        ));
    }
    let pool = allocator.check(asked, addresses)?;
    if let Some(wanted) = asked.pool.as_ref().filter(|wanted| ***wanted != *pool.name) {
        let list = quoted(addresses);
        return Err(format!(
            "requested loadBalancer IP(s) {list} is not compatible with requested address pool {wanted}"
        ));
    }
    for address in addresses {
        if let Some(holder) = allocator.holder(*address) {
            return Err(format!(
                "{address} is held by {holder} on the same network: ask for another address, or free it there"
            ));
        }
    }
    Ok(Given { addresses: sorted(addresses.to_vec()), pool: pool.name.clone() })
}

/// Addresses from the first pool that has them; both families come from one pool.
fn first_of(
    allocator: &Allocator,
    asked: &Asked,
    families: Families,
    pools: &[&Name],
) -> Option<Given> {
    let from = |pool: &Name, families: &[Family]| {
        let found = families.iter().map(|family| allocator.next(pool, *family, asked));
        let addresses = found.collect::<Option<Vec<IpAddr>>>()?;
        Some(Given { addresses, pool: pool.clone() })
    };
    let first = |families: &[Family]| pools.iter().find_map(|pool| from(pool, families));
    let both = [Family::V4, Family::V6];
    match families {
        Families::One(family) => first(&[family]),
        Families::Both => first(&both),
        Families::Rather(family) => {
            let other = if family == Family::V4 { Family::V6 } else { Family::V4 };
            first(&both).or_else(|| first(&[family])).or_else(|| first(&[other]))
        }
    }
}

/// IPv4 first.
pub(crate) fn sorted(mut addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    addresses.sort_unstable();
    addresses
}
