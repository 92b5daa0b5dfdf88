//! From what a Service has to what it should have.

use std::net::IpAddr;

use landbridge_addr::net::Family;

use crate::Name;
use crate::allocator::Allocator;
use crate::asked::{Asked, Families, NoFamily, family_of};
use crate::choose::{choose, sorted};

/// Addresses of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// One of each family at most, IPv4 first.
    pub addresses: Vec<IpAddr>,
    /// The pool they are of.
    pub pool: Name,
}

/// Something people are told, as an Event on the Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Whether it is bad news.
    pub warning: bool,
    /// One word for programs.
    pub reason: &'static str,
    /// A sentence for people.
    pub note: String,
}

/// What a Service should have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The addresses; `None`: none.
    pub given: Option<Given>,
    /// What people are told.
    pub said: Vec<Said>,
    /// Whether it wants more than it has, so that it is looked at again when something is freed.
    pub waits: bool,
}

fn warning(reason: &'static str, note: impl Into<String>) -> Said {
    Said { warning: true, reason, note: note.into() }
}

fn normal(reason: &'static str, note: impl Into<String>) -> Said {
    Said { warning: false, reason, note: note.into() }
}

/// Decides for one Service that has the addresses `current`. What the allocator knows of the Service
/// itself does not count: it is given up or kept as a whole. The allocator is left as it was.
///
/// Addresses that it has and may keep stay; nobody is moved for the good of others.
pub fn converge(allocator: &mut Allocator, asked: &Asked, current: &[IpAddr]) -> Outcome {
    let mut out = Outcome::default();
    if allocator.config().is_empty() {
        return out;
    }
    let families = match asked.families {
        Ok(families) => families,
        Err(NoFamily::NoClusterIp) => return out,
        Err(NoFamily::NotEnough) => {
            let note =
                "not enough clusterips: the Service requires dual stack and has one cluster IP";
            out.said.push(warning("not enough clusterips", note));
            return out;
        }
        Err(NoFamily::Odd) => {
            let note = "cannot tell the families of the Service from its cluster IPs";
            out.said.push(warning("noclusterIPsIPFamily", note));
            return out;
        }
    };
    let requested = asked.addresses.as_ref();
    let mut kept = keep(allocator, asked, families, current, &mut out.said);
    match requested {
        Err(why) => {
            out.said.push(warning("LoadBalancerFailed", why.clone()));
            // What it has and may have stays, until its wish can be read.
            out.given = kept;
            return out;
        }
        Ok(wanted) => {
            let same =
                |given: &Given| wanted.is_empty() || sorted(wanted.clone()) == given.addresses;
            kept = kept.filter(same);
        }
    }
    if let Some(given) = kept {
        out.given = Some(add_family(allocator, asked, families, given, &mut out));
        return out;
    }
    let own: Vec<IpAddr> = allocator.of(&asked.name);
    let restore: Vec<_> = own
        .iter()
        .filter_map(|address| {
            let found = allocator.usage(*address)?;
            Some((*address, found.sharing.clone(), found.users.get(&asked.name)?.clone()))
        })
        .collect();
    for address in &own {
        allocator.vacate(*address, &asked.name);
    }
    let wanted = requested.map_or(&[][..], Vec::as_slice);
    match choose(allocator, asked, families, wanted) {
        Ok(given) => {
            out.said.push(normal("IPAllocated", assigned(&given)));
            out.given = Some(given);
        }
        Err(why) => {
            let note = format!("Failed to allocate IP for {:?}: {why}", asked.name);
            out.said.push(warning("AllocationFailed", note));
            out.waits = true;
        }
    }
    for (address, sharing, ports) in restore {
        allocator.occupy(address, &asked.name, &sharing, &ports);
    }
    out
}

/// `Assigned IP ["172.17.0.80"]`
fn assigned(given: &Given) -> String {
    format!("Assigned IP {}", crate::asked::quoted(&given.addresses))
}

/// What it has, if it may keep that.
fn keep(
    allocator: &Allocator,
    asked: &Asked,
    families: Families,
    current: &[IpAddr],
    said: &mut Vec<Said>,
) -> Option<Given> {
    if current.is_empty() {
        return None;
    }
    let Some(has) = family_of(current) else {
        let note = "cannot tell the families of the addresses the Service has";
        said.push(warning("nolbIPsIPFamily", note));
        return None;
    };
    let fits = match (has, families) {
        // One of two may have been all there was when it was given.
        (_, Families::Rather(_)) => true,
        (has, families) => has == families,
    };
    if !fits {
        return None;
    }
    let pool = match allocator.check(asked, current) {
        Ok(pool) => pool.name.clone(),
        Err(why) => {
            said.push(normal("ClearAssignment", format!("current IP can't be kept: {why}")));
            return None;
        }
    };
    if asked.pool.as_ref().is_some_and(|wanted| **wanted != *pool) {
        return None;
    }
    Some(Given { addresses: sorted(current.to_vec()), pool })
}

/// The other family, from the same pool, for who would rather have both.
fn add_family(
    allocator: &Allocator,
    asked: &Asked,
    families: Families,
    mut given: Given,
    out: &mut Outcome,
) -> Given {
    let wants_both = matches!(families, Families::Rather(_));
    let asks_for_these = asked.addresses.as_ref().is_ok_and(|wanted| !wanted.is_empty());
    let [one] = given.addresses[..] else { return given };
    if !wants_both || asks_for_these {
        return given;
    }
    let other = if one.is_ipv4() { Family::V6 } else { Family::V4 };
    // One that is its own already, though not in its status yet, comes before any other.
    let own = allocator.of(&asked.name).into_iter().find(|address| {
        let pool = allocator.check(asked, &[*address]);
        Family::of(*address) == other
            && allocator.holder(*address).is_none()
            && pool.is_ok_and(|pool| pool.name == given.pool)
    });
    if let Some(address) = own.or_else(|| allocator.next(&given.pool, other, asked)) {
        given.addresses.push(address);
        given.addresses.sort_unstable();
        out.said.push(normal("IPAllocated", assigned(&given)));
    } else {
        let note = format!(
            "Failed to allocate an additional IP for {:?}: no available IPs in pool {}",
            asked.name, given.pool
        );
        out.said.push(warning("AdditionalAssignFailed", note));
        out.waits = true;
    }
    given
}
