//! Prefixes that disagree: on one segment, on two, and where pools are announced.

use std::collections::{BTreeMap, HashMap, HashSet};

use landbridge_addr::collisions;
use landbridge_api::net::{Cidr, Family, Range};

use super::View;
use crate::codes;
use crate::finding::{Finding, Mark};
use crate::segments::{self, prefix_of};
use crate::wires::{Wire, Wires};

/// A prefix that somebody gives to a segment.
#[derive(Clone)]
struct Given {
    cidr: Cidr,
    mark: Mark,
    label: String,
}

pub(super) fn check<'v>(view: &View<'v, '_>, wires: &mut Wires<'v>, found: &mut Vec<Finding>) {
    let configured = configured(view);
    let attached = attached(view);
    disagreements(view, &configured, &attached, found);
    twice(view, &configured, &attached, found);
    announced(view, wires, found);
}

type BySegment = BTreeMap<Wire, Vec<Given>>;

fn configured(view: &View<'_, '_>) -> BySegment {
    let mut given = BySegment::new();
    for (subnet, (root, _)) in view.facts.subnets.iter().zip(&view.segments.subnets) {
        if view.segments.tenants.contains(root) {
            continue;
        }
        given.entry(*root).or_default().push(Given {
            cidr: subnet.cidr.value,
            mark: Mark::new(subnet.source, &subnet.cidr.place),
            label: format!("network {} of the NetConfig", subnet.network),
        });
    }
    given
}

fn attached(view: &View<'_, '_>) -> BySegment {
    let mut given = BySegment::new();
    for (attachment, root) in view.facts.attachments.iter().zip(&view.segments.attachments) {
        for range in &attachment.conf.ipam.ranges {
            given.entry(*root).or_default().push(Given {
                cidr: range.prefix.value,
                mark: Mark::new(attachment.source, &range.prefix.place),
                label: format!("attachment {}", attachment.name),
            });
        }
    }
    for ((source, document), roots) in view.facts.neutron.iter().zip(&view.segments.neutron) {
        for (subnet, root) in document.subnets.iter().zip(roots) {
            if view.segments.tenants.contains(root) {
                continue;
            }
            given.entry(*root).or_default().push(Given {
                cidr: subnet.cidr.value,
                mark: Mark::new(*source, &subnet.cidr.place),
                label: format!("Neutron subnet {}", subnet.name),
            });
        }
    }
    given
}

fn disagreements(
    view: &View<'_, '_>,
    configured: &BySegment,
    attached: &BySegment,
    found: &mut Vec<Finding>,
) {
    let of = |given: &BySegment, root: &Wire, family: Family| -> Vec<usize> {
        let list = given.get(root).map_or(&[][..], Vec::as_slice);
        (0..list.len()).filter(|at| list[*at].cidr.family() == family).collect()
    };
    for (root, list) in attached {
        for given in list {
            let right = of(configured, root, given.cidr.family());
            let right: Vec<&Given> = right.into_iter().map(|at| &configured[root][at]).collect();
            found.extend(disagree(given, &right));
        }
    }
    for (policy, roots) in view.facts.policies.iter().zip(&view.segments.interfaces) {
        for (interface, root) in policy.wants.interfaces.iter().zip(roots) {
            for family in [Family::V4, Family::V6] {
                let own = interface.addresses.iter().filter_map(|address| {
                    let cidr = prefix_of(address.value)?;
                    (cidr.family() == family).then_some((cidr, address))
                });
                let own: Vec<_> = own.collect();
                let mut right: Vec<&Given> = Vec::new();
                for given in [configured, attached] {
                    if right.is_empty() {
                        right
                            .extend(of(given, root, family).into_iter().map(|at| &given[root][at]));
                    }
                }
                // A node may have further networks on an interface, as long as this is among them.
                if own.iter().any(|(cidr, _)| right.iter().any(|given| given.cidr == *cidr)) {
                    continue;
                }
                let Some((cidr, address)) = own.first() else { continue };
                let given = Given {
                    cidr: *cidr,
                    mark: Mark::new(policy.source, &address.place),
                    label: format!("interface {} in policy {}", interface.name.value, policy.name),
                };
                found.extend(disagree(&given, &right));
            }
        }
    }
}

fn disagree(given: &Given, right: &[&Given]) -> Option<Finding> {
    let first = right.first()?;
    if right.iter().any(|right| right.cidr == given.cidr) {
        return None;
    }
    let message = format!(
        "{} is {}, but {} on the same segment is {}",
        given.label, given.cidr, first.label, first.cidr
    );
    let finding = Finding::new(&codes::PREFIX, message)
        .at(&given.mark, format!("{} here", given.cidr))
        .at(&first.mark, format!("{} here", first.cidr));
    Some(finding.help("use one prefix everywhere on a segment"))
}

/// One prefix on two segments.
fn twice(
    view: &View<'_, '_>,
    configured: &BySegment,
    attached: &BySegment,
    found: &mut Vec<Finding>,
) {
    let mut list: Vec<(Wire, Given)> = Vec::new();
    let mut seen: HashSet<(Wire, Range)> = HashSet::new();
    let mut add = |root: Wire, cidr: Cidr, given: &dyn Fn() -> Given| {
        if seen.insert((root, Range::from(cidr))) {
            list.push((root, given()));
        }
    };
    for (root, given) in configured.iter().chain(attached) {
        let root = *root;
        for given in given {
            add(root, given.cidr, &|| given.clone());
        }
    }
    for (policy, roots) in view.facts.policies.iter().zip(&view.segments.interfaces) {
        for (interface, root) in policy.wants.interfaces.iter().zip(roots) {
            for address in &interface.addresses {
                let Some(cidr) = prefix_of(address.value) else { continue };
                add(*root, cidr, &|| Given {
                    cidr,
                    mark: Mark::new(policy.source, &address.place),
                    label: format!("interface {} in policy {}", interface.name.value, policy.name),
                });
            }
        }
    }
    let labelled = list.iter().enumerate().map(|(at, (_, given))| (Range::from(given.cidr), at));
    let labelled: Vec<_> = labelled.collect();
    for (a, b, shared) in collisions(labelled).take(100_000) {
        let ((here, a), (there, b)) = (&list[a.min(b)], &list[a.max(b)]);
        if here == there {
            continue;
        }
        let message = format!(
            "{} ({}) and {} ({}) are different segments but share {shared}",
            a.label, a.cidr, b.label, b.cidr
        );
        found.push(
            Finding::new(&codes::TWICE, message)
                .at(&a.mark, format!("{} here", a.cidr))
                .at(&b.mark, format!("{} here", b.cidr))
                .help("give each segment a prefix of its own, or correct what keeps them apart"),
        );
    }
}

/// Pools and where they are announced.
fn announced<'v>(view: &View<'v, '_>, wires: &mut Wires<'v>, found: &mut Vec<Finding>) {
    let places = segments::announcements(view.facts, wires);
    let mut prefixes: HashMap<Wire, Vec<Range>> = HashMap::new();
    for (range, root) in view.segments.prefixes.iter() {
        prefixes.entry(*root).or_default().push(range);
    }
    for (at, pool) in view.facts.pools.iter().enumerate() {
        let places = places.get(&at).map_or(&[][..], Vec::as_slice);
        for range in &pool.ranges {
            let on = |root: &Wire| prefixes.get(root).map_or(&[][..], Vec::as_slice);
            let fits = |known: &Range| known.intersect(&range.value).is_some();
            let known = view.segments.prefixes.intersecting(range.value).next();
            let right = places.iter().any(|root| on(root).iter().any(fits));
            let others =
                |root: &Wire| on(root).iter().any(|known| known.family() == range.value.family());
            let mark = Mark::new(pool.source, &range.place);
            if !places.is_empty() && !right && (known.is_some() || places.iter().any(others)) {
                found.push(elsewhere(view, pool.name, &range.value, &mark));
            } else if known.is_none() && !view.segments.prefixes.is_empty() {
                let message = format!(
                    "{} of pool {} is on no network that is known here",
                    range.value, pool.name
                );
                found
                    .push(Finding::new(&codes::POOL_NOWHERE, message).at(&mark, "these addresses"));
            }
        }
    }
}

fn elsewhere(view: &View<'_, '_>, pool: &str, range: &Range, mark: &Mark) -> Finding {
    let message =
        format!("{range} of pool {pool} is announced where no network has such addresses");
    let mut finding =
        Finding::new(&codes::ANNOUNCED_ELSEWHERE, message).at(mark, "these addresses");
    for advertisement in &view.facts.advertisements {
        let l2 = &advertisement.l2;
        if !l2.pools.iter().any(|name| name.value == pool) {
            continue;
        }
        for interface in &l2.interfaces {
            let mark = Mark::new(advertisement.source, &interface.place);
            finding = finding.at(&mark, format!("announced on {}", interface.value));
        }
    }
    finding.help("announce the pool on the interface of its own network")
}
