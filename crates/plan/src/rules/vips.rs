//! Virtual addresses: the pool they come from, and who shares them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;

use landbridge_api::foreign::At;
use landbridge_api::foreign::catalogue::Port;

use super::{MOST_PLACES, View};
use crate::codes;
use crate::facts::{Exposure, Pool};
use crate::finding::{Finding, Mark};
use crate::spelling;

pub(super) fn check(view: &View<'_, '_>, found: &mut Vec<Finding>) {
    let pools: HashMap<&str, &Pool<'_>> =
        view.facts.pools.iter().map(|pool| (pool.name, pool)).collect();
    let known = !pools.is_empty() || view.options.complete;
    let config = crate::vips::config(view.facts, view.sources);
    let mut holders: BTreeMap<IpAddr, Vec<Holder<'_>>> = BTreeMap::new();
    let mut unknown: BTreeMap<(usize, &str), Vec<Asking<'_>>> = BTreeMap::new();
    let mut others: BTreeMap<(usize, String), Vec<Asking<'_>>> = BTreeMap::new();
    for exposure in &view.facts.exposures {
        if !exposure.load_balancer {
            found.push(not_balanced(exposure));
            continue;
        }
        let pool = exposure.wish.pool.as_ref();
        if known && let Some(missing) = pool.filter(|pool| !pools.contains_key(pool.value)) {
            let key = (exposure.source, missing.value);
            unknown.entry(key).or_default().push((exposure, missing));
        }
        found.extend(fits_together(view, exposure));
        if let Some((pool, wanted)) = not_for(view, exposure, config.as_ref()) {
            others.entry((exposure.source, pool)).or_default().push((exposure, wanted));
        }
        for text in &exposure.wish.addresses {
            let Ok(address) = text.value.parse() else {
                found.push(unreadable(exposure, text));
                continue;
            };
            if known && pool.is_none_or(|pool| pools.contains_key(pool.value)) {
                let named = pool.and_then(|pool| pools.get(pool.value).copied());
                found.extend(outside(exposure, text, address, named, &view.facts.pools));
            }
            holders.entry(address).or_default().push(Holder { exposure, text });
        }
    }
    for ((_, pool), asking) in unknown {
        found.push(no_pool(pool, &asking, &pools));
    }
    for ((_, pool), asking) in others {
        found.extend(left_out(view, &pool, &asking));
    }
    for (address, holders) in holders {
        shared(view, address, &holders, found);
    }
    advertised(view, &pools, found);
}

/// A service, and where it names a pool or an address of it.
type Asking<'v> = (&'v Exposure<'v>, &'v At<&'v str>);

struct Holder<'v> {
    exposure: &'v Exposure<'v>,
    text: &'v At<&'v str>,
}

impl Holder<'_> {
    fn mark(&self) -> Mark {
        Mark::new(self.exposure.source, &self.text.place)
    }

    fn name(&self) -> String {
        format!("{}/{}", self.exposure.namespace, self.exposure.service)
    }
}

fn not_balanced(exposure: &Exposure<'_>) -> Finding {
    let message = format!(
        "service {} asks for a virtual address but is not of type LoadBalancer",
        exposure.service
    );
    Finding::new(&codes::NOT_BALANCED, message)
        .at(&Mark::new(exposure.source, &exposure.wish.place), "asked for here")
        .help("set spec.type: LoadBalancer beside the annotations, or remove them")
}

/// A pool that does not exist; an object whose services all ask for it is told once.
fn no_pool(pool: &str, asking: &[Asking<'_>], pools: &HashMap<&str, &Pool<'_>>) -> Finding {
    let first = asking.first().map_or("", |(exposure, _)| exposure.service.as_str());
    let message = match asking.len() {
        1 => format!("service {first} asks for pool {pool}, which does not exist"),
        more => {
            format!(
                "service {first} and {} more ask for pool {pool}, which does not exist",
                more - 1
            )
        }
    };
    let help = match spelling::meant(pool, sorted(pools.keys().copied())) {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!("create an IPAddressPool {pool}, or name another"),
    };
    let mut finding = Finding::new(&codes::NO_POOL, message);
    for (exposure, pool) in asking.iter().take(MOST_PLACES) {
        let role = format!("named here for {}", exposure.service);
        finding = finding.at(&Mark::new(exposure.source, &pool.place), role);
    }
    finding.help(help)
}

fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names
}

fn unreadable(exposure: &Exposure<'_>, text: &At<&str>) -> Finding {
    let message = format!("{:?} is not an IP address", text.value);
    Finding::new(&codes::UNREADABLE, message)
        .at(&Mark::new(exposure.source, &text.place), "cannot be understood")
}

fn holds(pool: &Pool<'_>, address: IpAddr) -> bool {
    let buggy = match address {
        IpAddr::V4(v4) => matches!(v4.octets()[3], 0 | 255),
        IpAddr::V6(_) => false,
    };
    !(buggy && pool.avoid_buggy_ips) && pool.ranges.iter().any(|range| range.contains(address))
}

fn outside(
    exposure: &Exposure<'_>,
    text: &At<&str>,
    address: IpAddr,
    named: Option<&Pool<'_>>,
    pools: &[Pool<'_>],
) -> Option<Finding> {
    let mark = Mark::new(exposure.source, &text.place);
    let service = &exposure.service;
    let Some(pool) = named else {
        if pools.iter().any(|pool| holds(pool, address)) {
            return None;
        }
        let message = format!("{address}, asked for by service {service}, is in no pool");
        let finding = Finding::new(&codes::NO_POOL_HOLDS, message).at(&mark, "asked for here");
        return Some(finding.help("ask for an address of a pool, or add it to one"));
    };
    if holds(pool, address) {
        return None;
    }
    let message =
        format!("{address}, asked for by service {service}, is not in pool {}", pool.name);
    let mut finding = Finding::new(&codes::OUTSIDE_POOL, message).at(&mark, "asked for here");
    for range in pool.ranges.iter().take(3) {
        let mark = Mark::new(pool.source, &range.place);
        finding = finding.at(&mark, format!("the pool holds {}", range.value));
    }
    let other = pools.iter().find(|other| holds(other, address));
    Some(finding.help(match other {
        Some(other) => format!("{address} is in pool {}", other.name),
        None => "ask for an address of the pool, or add it".to_owned(),
    }))
}

/// Services that ask for one address. The same service may be described by several objects.
fn shared(view: &View<'_, '_>, address: IpAddr, holders: &[Holder<'_>], found: &mut Vec<Finding>) {
    let mut seen = HashSet::new();
    let mut ports: HashMap<Port, &Holder<'_>> = HashMap::new();
    let mut first: Option<&Holder<'_>> = None;
    for holder in holders {
        if !seen.insert((holder.exposure.namespace, holder.exposure.service.as_str())) {
            continue;
        }
        let mut clash: Option<(&Holder<'_>, Vec<Port>)> = None;
        for port in &holder.exposure.ports {
            let earlier = *ports.entry(*port).or_insert(holder);
            if std::ptr::eq(earlier, holder) {
                continue;
            }
            clash.get_or_insert_with(|| (earlier, Vec::new())).1.push(*port);
        }
        let Some(leader) = first else {
            first = Some(holder);
            continue;
        };
        if let Some((earlier, ports)) = clash {
            found.push(port_clash(address, earlier, holder, &ports));
            continue;
        }
        let (one, other) = (leader.exposure.wish.sharing_key, holder.exposure.wish.sharing_key);
        if one.is_none() || one != other {
            found.push(keys(address, leader, holder));
            continue;
        }
        let backend = |holder: &Holder<'_>| {
            let value = view.sources.list[holder.exposure.source].value;
            if value["kind"] == "Service" {
                crate::vips::backend(&value["spec"])
            } else {
                String::new()
            }
        };
        if backend(leader) != backend(holder) {
            found.push(backends(address, leader, holder));
        }
    }
}

fn port_clash(address: IpAddr, a: &Holder<'_>, b: &Holder<'_>, ports: &[Port]) -> Finding {
    let ports: Vec<String> =
        ports.iter().map(|port| format!("{}/{}", port.protocol, port.number)).collect();
    let message = format!(
        "services {} and {} ask for {address} and both listen on {}",
        a.name(),
        b.name(),
        ports.join(", ")
    );
    Finding::new(&codes::PORT_CLASH, message)
        .at(&b.mark(), format!("service {}", b.name()))
        .at(&a.mark(), format!("service {}", a.name()))
        .help("give one of them another address")
}

fn keys(address: IpAddr, a: &Holder<'_>, b: &Holder<'_>) -> Finding {
    let key = |holder: &Holder<'_>| match holder.exposure.wish.sharing_key {
        Some(key) => format!("sharing key {key}"),
        None => "no sharing key".to_owned(),
    };
    let message = format!(
        "services {} and {} ask for {address} with {} and {}",
        a.name(),
        b.name(),
        key(a),
        key(b)
    );
    Finding::new(&codes::SHARING_KEY, message)
        .at(&b.mark(), key(b))
        .at(&a.mark(), key(a))
        .help("use one sharing key on all services of an address, or different addresses")
}

fn backends(address: IpAddr, a: &Holder<'_>, b: &Holder<'_>) -> Finding {
    let message = format!(
        "services {} and {} share {address}, and their externalTrafficPolicy or, with Local, their selector differs",
        a.name(),
        b.name(),
    );
    Finding::new(&codes::BACKENDS, message)
        .at(&b.mark(), format!("service {}", b.name()))
        .at(&a.mark(), format!("service {}", a.name()))
        .help("use the same policy and selector on all services of an address, or different addresses")
}

/// Addresses of one service: one of each family, of one pool.
fn fits_together(view: &View<'_, '_>, exposure: &Exposure<'_>) -> Option<Finding> {
    let wanted = &exposure.wish.addresses;
    let addresses: Vec<IpAddr> = wanted.iter().filter_map(|text| text.value.parse().ok()).collect();
    if addresses.len() < 2 || addresses.len() < wanted.len() {
        return None;
    }
    let service = &exposure.service;
    let list: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    let list = list.join(" and ");
    let pools_of = |address: IpAddr| -> Vec<&str> {
        let pools = view.facts.pools.iter().filter(|pool| holds(pool, address));
        pools.map(|pool| pool.name).collect()
    };
    let message = match addresses[..] {
        [a, b] if a.is_ipv4() != b.is_ipv4() => {
            let (of_a, of_b) = (pools_of(a), pools_of(b));
            let apart = !of_a.is_empty() && !of_b.is_empty();
            if !apart || of_a.iter().any(|pool| of_b.contains(pool)) {
                return None;
            }
            format!(
                "service {service} asks for {list}, which are of two pools: {} and {}",
                of_a[0], of_b[0]
            )
        }
        [_, _] => format!("service {service} asks for {list}, which are of one family"),
        _ => format!("service {service} asks for {} addresses: {list}", addresses.len()),
    };
    let mark = Mark::new(exposure.source, &wanted.first()?.place);
    let finding = Finding::new(&codes::ODD_ADDRESSES, message).at(&mark, "asked for here");
    Some(finding.help("ask for one address, or for one of each family from one pool"))
}

/// The pool a service asks for, by name or by an address of it, when that is meant for others.
fn not_for<'v>(
    view: &View<'_, '_>,
    exposure: &'v Exposure<'v>,
    config: Option<&landbridge_vips::Config>,
) -> Option<(String, &'v At<&'v str>)> {
    let (config, wish) = (config?, &exposure.wish);
    let (pool, wanted) = if let Some(named) = &wish.pool {
        (config.pool(named.value)?, named)
    } else {
        let addresses: Result<Vec<IpAddr>, _> =
            wish.addresses.iter().map(|text| text.value.parse()).collect();
        (config.holding(&addresses.ok()?)?, wish.addresses.first()?)
    };
    let allocation = pool.allocation.as_ref()?;
    let value = view.sources.list[exposure.source].value;
    // Labels of Services that an operator makes are not known, nor those of a namespace that is not
    // written down.
    let is_known = allocation.namespace_selectors.is_empty()
        || view.options.complete
        || view.sources.list.iter().any(|source| {
            source.object.kind == "Namespace" && source.object.name == exposure.namespace
        });
    if exposure.namespace.is_empty()
        || !is_known
        || (value["kind"] != "Service" && !allocation.service_selectors.is_empty())
        || config.is_for(&pool.name, &crate::vips::asked(exposure, value))
    {
        return None;
    }
    Some((pool.name.to_string(), wanted))
}

/// Services that ask for a pool that is meant for others; those of one object are told once.
fn left_out(view: &View<'_, '_>, pool: &str, asking: &[Asking<'_>]) -> Option<Finding> {
    let (first, _) = asking.first()?;
    let name = format!("{}/{}", first.namespace, first.service);
    let message = match asking.len() {
        1 => format!(
            "service {name} asks for an address of pool {pool}, whose serviceAllocation leaves it out"
        ),
        more => format!(
            "service {name} and {} more ask for addresses of pool {pool}, whose serviceAllocation leaves them out",
            more - 1
        ),
    };
    let mut finding = Finding::new(&codes::NOT_FOR_SERVICE, message);
    for (exposure, wanted) in asking.iter().take(MOST_PLACES) {
        let role = format!("asked for here, for {}", exposure.service);
        finding = finding.at(&Mark::new(exposure.source, &wanted.place), role);
    }
    let source = view.facts.pools.iter().find(|known| known.name == pool)?.source;
    let place = landbridge_api::foreign::Place::new("spec.serviceAllocation");
    Some(
        finding
            .at(&Mark::new(source, &place), "the pool is for these")
            .help("add the namespace or the label to the pool, or ask for another pool"),
    )
}

/// Pools that advertisements name, and pools that none announces.
fn advertised(view: &View<'_, '_>, pools: &HashMap<&str, &Pool<'_>>, found: &mut Vec<Finding>) {
    let mut named: HashSet<&str> = HashSet::new();
    let mut all = view.facts.bgp || view.facts.advertisements.is_empty();
    for advertisement in &view.facts.advertisements {
        all |= advertisement.l2.is_for_all() || advertisement.l2.selects_pools;
        for pool in &advertisement.l2.pools {
            named.insert(pool.value);
            if (!pools.is_empty() || view.options.complete) && !pools.contains_key(pool.value) {
                let message = format!("pool {} does not exist", pool.value);
                let meant = spelling::meant(pool.value, sorted(pools.keys().copied()));
                found.push(
                    Finding::new(&codes::NO_SUCH_POOL, message)
                        .at(&Mark::new(advertisement.source, &pool.place), "named here")
                        .help(meant.map_or_else(
                            || format!("create an IPAddressPool {}, or name another", pool.value),
                            |meant| format!("did you mean {meant}?"),
                        )),
                );
            }
        }
    }
    if all {
        return;
    }
    for pool in view.facts.pools.iter().filter(|pool| !named.contains(pool.name)) {
        let message = format!("no L2Advertisement announces pool {}", pool.name);
        let place = landbridge_api::foreign::Place::new("metadata.name");
        found.push(
            Finding::new(&codes::NOT_ANNOUNCED, message)
                .at(&Mark::new(pool.source, &place), "this pool")
                .help("add the pool to ipAddressPools of an L2Advertisement"),
        );
    }
}
