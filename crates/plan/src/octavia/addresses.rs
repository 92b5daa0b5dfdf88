//! Pools out of prefixes, and what may not overlap.

use std::net::IpAddr;

use landbridge_addr::number::{address, number, successor};
use landbridge_api::foreign::{At, Node};
use landbridge_api::net::{Cidr, Family, Range};

use super::attachment::{Wire, last_host, mixed};
use super::wishes::Wishes;
use super::{Design, Outcome, POOL_SIZE, Side, Tenant, attachment_name};

/// So many addresses at the beginning of an amphora network Neutron does not give out.
const RESERVED: u128 = 5;

/// Puts the two together.
pub(super) fn fit(
    wishes: &Wishes,
    wire: &Wire,
    spec: &Node<'_>,
    outcome: &mut Outcome,
) -> Option<Design> {
    host_bits(&wire.cidr, Side::Attachment, outcome);
    let provider = wire.cidr.value;
    let pools = pools(wire, outcome);
    let gateway = gateway(wishes, wire, spec, outcome);
    if let (Some((provider_pool, predictable)), Some((gateway, side))) = (pools, &gateway) {
        let taken = [
            (wire.pods, "pods get from whereabouts (range_start to range_end)"),
            (provider_pool, "Neutron gives to ports: the 26 behind range_end"),
            (predictable, "health managers and rsyslogs get: the 26 behind those of Neutron"),
        ];
        let clash = taken.iter().find(|(range, _)| range.contains(gateway.value));
        if let Some((range, whose)) = clash {
            outcome.wrong(
                *side,
                &gateway.place,
                format!("the router's address {} lies in {range}, which {whose}", gateway.value),
            );
        }
    }
    let tenants = tenants(wishes, wire, spec, outcome);
    let (provider_pool, predictable) = pools?;
    Some(Design {
        is_managed: wishes.is_managed,
        attachment: attachment_name(spec.value).to_owned(),
        project: wishes.project.clone(),
        domain: wishes.domain.clone(),
        provider,
        provider_pool,
        predictable,
        gateway: gateway.map(|(gateway, _)| gateway.value),
        zones: wishes.zones.clone(),
        tenants,
    })
}

/// Behind what pods get: what Neutron gives out, then what nodes get.
fn pools(wire: &Wire, outcome: &mut Outcome) -> Option<(Range, Range)> {
    let cidr = &wire.cidr.value;
    let last = last_host(cidr)?;
    let behind = |of: IpAddr| {
        let first = successor(of)?;
        let end = address(Family::of(first), number(first).checked_add(POOL_SIZE - 1)?)?;
        Range::new(first, end).filter(|_| cidr.contains(end) && end <= last)
    };
    let of_neutron = behind(wire.end.value);
    let of_nodes = of_neutron.and_then(|pool| behind(pool.last()));
    if let (Some(of_neutron), Some(of_nodes)) = (of_neutron, of_nodes) {
        return Some((of_neutron, of_nodes));
    }
    let left = number(last).saturating_sub(number(wire.end.value));
    outcome.wrong(
        Side::Attachment,
        &wire.end.place,
        format!(
            "behind {} {left} addresses of {cidr} are left, and {} are needed: {POOL_SIZE} for Neutron, \
             {POOL_SIZE} for health managers and rsyslogs",
            wire.end.value,
            2 * POOL_SIZE
        ),
    );
    None
}

/// The router's address, and who says it.
fn gateway(
    wishes: &Wishes,
    wire: &Wire,
    spec: &Node<'_>,
    outcome: &mut Outcome,
) -> Option<(At<IpAddr>, Side)> {
    let said = wire.route.as_ref().map(|route| &route.gateway);
    let (found, side) = match (said, &wishes.gateway) {
        (Some(said), own) => {
            if let Some(own) = own.as_ref().filter(|own| own.value != said.value) {
                outcome.odd(
                    Side::Octavia,
                    &own.place,
                    format!(
                        "{} is not used: the attachment's route says {}",
                        own.value, said.value
                    ),
                );
            }
            (said, Side::Attachment)
        }
        (None, Some(own)) => (own, Side::Octavia),
        (None, None) => {
            if wishes.is_managed {
                let place = spec.place.child("lbMgmtNetwork").child("lbMgmtRouterGateway");
                outcome.wrong(
                    Side::Octavia,
                    &place,
                    "cannot find gateway information in network attachment: give ipam.routes with dst and gw \
                     there, or this field",
                );
            }
            return None;
        }
    };
    let cidr = &wire.cidr.value;
    if Family::of(found.value) != cidr.family() {
        outcome.wrong(side, &found.place, mixed(&found.value.to_string(), cidr));
    } else if !cidr.contains(found.value) {
        outcome.wrong(
            side,
            &found.place,
            format!("the router's address {} does not lie in {cidr}", found.value),
        );
    } else if let Some(what) = cidr.special(found.value) {
        outcome.wrong(side, &found.place, format!("{} is the {what} of {cidr}", found.value));
    }
    Some((found.clone(), side))
}

/// The networks of amphorae.
fn tenants(wishes: &Wishes, wire: &Wire, spec: &Node<'_>, outcome: &mut Outcome) -> Vec<Tenant> {
    let mut found: Vec<(Option<&str>, &At<Cidr>, Side)> = Vec::new();
    if !wishes.is_managed {
        return Vec::new(); // they are in Neutron, or not
    }
    let options = spec.place.child("lbMgmtNetwork");
    if wishes.has_default {
        match &wire.route {
            Some(route) => found.push((None, &route.to, Side::Attachment)),
            None => outcome.wrong(
                Side::Attachment,
                &wire.routes_place,
                "is missing: its dst is the prefix of lb-mgmt-subnet; or set createDefaultLbMgmtNetwork to \
                 false and name networks in availabilityZoneCIDRs",
            ),
        }
    } else if wishes.zone_prefixes.is_empty() {
        outcome.odd(
            Side::Octavia,
            &options.child("createDefaultLbMgmtNetwork"),
            "there is no default network and none in availabilityZoneCIDRs: amphorae have nowhere to be",
        );
    }
    for (zone, cidr) in &wishes.zone_prefixes {
        found.push((Some(zone), cidr, Side::Octavia));
    }
    for other in &wire.others {
        let is_known = found.iter().any(|(_, cidr, _)| cidr.value == other.value);
        if !is_known {
            outcome.odd(
                Side::Attachment,
                &other.place,
                format!(
                    "only the first route leads to a management network; {} does not",
                    other.value
                ),
            );
        }
    }
    let mut tenants = Vec::new();
    for (number, (zone, cidr, side)) in found.iter().enumerate() {
        let earlier = found[..number].iter().map(|(zone, cidr, _)| (title(*zone), cidr.value));
        let before: Vec<_> = [("the attachment's range".to_owned(), wire.cidr.value)]
            .into_iter()
            .chain(earlier)
            .collect();
        if let Some(pool) = tenant_pool(cidr, *side, &wire.cidr.value, &before, outcome) {
            let zone = zone.map(str::to_owned);
            tenants.push(Tenant { zone, cidr: cidr.value, pool });
        }
    }
    tenants
}

fn title(zone: Option<&str>) -> String {
    zone.map_or("the default network".to_owned(), |zone| format!("the network of zone {zone}"))
}

/// What Neutron may give out of an amphora network.
fn tenant_pool(
    cidr: &At<Cidr>,
    side: Side,
    provider: &Cidr,
    before: &[(String, Cidr)],
    outcome: &mut Outcome,
) -> Option<Range> {
    let place = &cidr.place;
    if cidr.value.family() != provider.family() {
        outcome.wrong(side, place, mixed(&cidr.value.to_string(), provider));
        return None;
    }
    if !host_bits(cidr, side, outcome) {
        return None;
    }
    let own = Range::from(cidr.value);
    for (whose, other) in before {
        if own.intersect(&Range::from(*other)).is_some() {
            outcome.wrong(side, place, format!("{} overlaps {other}, {whose}", cidr.value));
            return None;
        }
    }
    if cidr.value.family() == Family::V6 && cidr.value.prefix().prefix_len() != 64 {
        outcome.wrong(
            side,
            place,
            format!(
                "{}: amphorae make their IPv6 addresses themselves, which needs a /64",
                cidr.value
            ),
        );
        return None;
    }
    let (first, last) = cidr.value.bounds();
    let low = address(Family::of(first), number(first).checked_add(RESERVED)?);
    let high = address(Family::of(last), number(last).checked_sub(1)?);
    let pool = low.zip(high).and_then(|(low, high)| Range::new(low, high));
    if pool.is_none() {
        outcome.wrong(
            side,
            place,
            format!("{} is too small for amphorae: the smallest prefix is a /29", cidr.value),
        );
    }
    pool
}

/// Neutron takes a prefix with bits behind it, and then has another one than was written.
fn host_bits(cidr: &At<Cidr>, side: Side, outcome: &mut Outcome) -> bool {
    if cidr.value.has_host_bits() {
        outcome.wrong(
            side,
            &cidr.place,
            format!("{} has bits behind the prefix; {} is meant", cidr.value, cidr.value.prefix()),
        );
        return false;
    }
    true
}
