//! Routes and rules as they are to be.

use landbridge_linux::route::Family;
use landbridge_linux::{IfName, Route};

use crate::desired::Desired;
use crate::error::Fault;
use crate::state::{State, is_configured};

/// Wanted routes come beside those that are there; patterns take away; and what cannot stay with the
/// addresses as they are to be goes, as the kernel would have it.
pub(super) fn routes(
    desired: &Desired,
    now: &State,
    goal: &mut State,
    notes: &mut Vec<String>,
) -> Result<(), Fault> {
    let doomed = |route: &Route<IfName>| {
        is_configured(route) && desired.routes.iter().any(|wish| wish.absent && wish.matches(route))
    };
    goal.routes.retain(|route| !doomed(route));
    let kept: Vec<Route<IfName>> = std::mem::take(&mut goal.routes);
    for route in kept {
        let wanted = desired.routes.iter().any(|wish| !wish.absent && wish.matches(&route));
        match lost(&route, now, goal) {
            Some(why) if is_configured(&route) && !wanted => {
                notes.push(format!("route {route} goes, because {why}"));
            }
            _ => goal.routes.push(route),
        }
    }
    for wish in desired.routes.iter().filter(|wish| !wish.absent) {
        if let Some(name) = &wish.link {
            let at = format!("{}.next-hop-interface", wish.place);
            let link = goal.interfaces.get(name).filter(|link| link.up);
            let Some(link) = link else {
                let why = format!("{name} does not exist on this node, or is down");
                return Err(Fault::new(at, why));
            };
            let v6 = wish.destination.is_some_and(|net| net.addr().is_ipv6());
            if v6 && !link.ipv6.enabled {
                return Err(Fault::new(
                    at,
                    format!("IPv6 is off on {name}: set ipv6.enabled there"),
                ));
            }
        }
        if goal.routes.iter().any(|route| wish.matches(route)) {
            continue;
        }
        goal.routes.extend(wish.route());
    }
    Ok(())
}

/// Why a route cannot stay, where something about its link changes.
fn lost(route: &Route<IfName>, now: &State, goal: &State) -> Option<String> {
    for name in route.links() {
        let Some(link) = goal.interfaces.get(name).filter(|link| link.up) else {
            return Some(format!("{name} does"));
        };
        let before = now.interfaces.get(name)?;
        let family = route.family();
        let (have, wanted) = (before.addresses(family), link.addresses(family));
        if have == wanted && link.ipv6.enabled == before.ipv6.enabled {
            continue;
        }
        if family == Family::Ipv6 && !link.ipv6.enabled {
            return Some(format!("{name} has no IPv6"));
        }
        if family == Family::Ipv4 && wanted.is_empty() {
            return Some(format!("{name} has no IPv4 address"));
        }
        let reaches = |list: &[crate::state::IpAddress], ip| {
            list.iter().any(|address| address.net.contains(&ip))
        };
        // A gateway that no address leads to was reached by other means, and still is.
        if let Some(gateway) = route.gateway
            && reaches(have, gateway)
            && !reaches(wanted, gateway)
        {
            return Some(format!("no address of {name} leads to {gateway}"));
        }
        let owns = |list: &[crate::state::IpAddress], ip| {
            list.iter().any(|address| address.net.addr() == ip)
        };
        if let Some(source) = route.source
            && owns(have, source)
            && !owns(wanted, source)
        {
            return Some(format!("{name} has {source} no more"));
        }
    }
    None
}

/// Wanted rules come beside those that are there; patterns take away.
pub(super) fn rules(desired: &Desired, goal: &mut State) {
    let doomed = |rule: &landbridge_linux::Rule| {
        rule.protocol != landbridge_linux::route::Protocol::KERNEL
            && desired.rules.iter().any(|wish| wish.absent && wish.matches(rule))
    };
    goal.rules.retain(|rule| !doomed(rule));
    for wish in desired.rules.iter().filter(|wish| !wish.absent) {
        if !goal.rules.iter().any(|rule| wish.matches(rule)) {
            goal.rules.extend(wish.rule());
        }
    }
}
