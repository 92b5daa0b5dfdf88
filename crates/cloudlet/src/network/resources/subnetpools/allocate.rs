//! Which prefix a new subnet gets of a pool.

use ipnet::IpNet;
use landbridge_addr::RangeSet;
use landbridge_addr::net::{Cidr, Range};

use super::{SUBNETPOOL, nets};
use crate::caller::Caller;
use crate::network::fault::Fault;
use crate::network::resources::subnets::{self, SUBNET};
use crate::object::Object;
use crate::state::Tx;

/// The pool a new subnet asks for, if it does.
pub fn chosen(tx: &Tx<'_>, who: &Caller, subnet: &Object) -> Result<Option<Object>, Fault> {
    let bad = |message: String| Fault::bad_resource("subnets", message);
    let (default, id) = (subnet.flag("use_default_subnetpool"), subnet.some_text("subnetpool_id"));
    let pool = match (default, id) {
        (true, Some(_)) => {
            return Err(bad(
                "subnetpool_id and use_default_subnetpool cannot both be specified".to_owned()
            ));
        }
        (false, Some("prefix_delegation")) => {
            return Err(bad("prefix delegation is not offered".to_owned()));
        }
        (false, Some(id)) => Some(SUBNETPOOL.seen(tx, who, id)?),
        (true, None) => {
            let version = subnet.number("ip_version").unwrap_or(4);
            let default = |pool: &Object| {
                pool.flag("is_default") && pool.number("ip_version") == Some(version)
            };
            let pool = tx.all(SUBNETPOOL.kind).find(default);
            let none = || bad(format!("No default subnetpool found for IPv{version}"));
            Some(pool.ok_or_else(none)?)
        }
        (false, None) => None,
    };
    if pool.is_none() && !subnet.has("cidr") {
        return Err(bad("a subnetpool must be specified in the absence of a cidr".to_owned()));
    }
    Ok(pool)
}

/// The prefix of a new subnet: its own, which has to be free in the pool, or the next free one.
pub fn prefix(
    tx: &Tx<'_>,
    subnet: &mut Object,
    network: &Object,
    pool: Option<&Object>,
) -> Result<IpNet, Fault> {
    affinity(tx, subnet, network, pool)?;
    let own = subnets::net(subnet);
    let Some(pool) = pool else {
        return own.ok_or_else(|| Fault::input("None is not in a CIDR format"));
    };
    let version = pool.number("ip_version");
    if version != subnet.number("ip_version") {
        let message = "Cannot create IPv{} subnet with IPv{} subnet pool";
        let message = message
            .replacen("{}", &subnet.number("ip_version").unwrap_or(4).to_string(), 1)
            .replacen("{}", &version.unwrap_or(4).to_string(), 1);
        return Err(Fault::input(message));
    }
    let length = own.map(|net| i64::from(net.prefix_len()));
    let length = length.or_else(|| subnet.number("prefixlen"));
    let length = length.or_else(|| pool.number("default_prefixlen")).unwrap_or(64);
    bounds(pool, length)?;
    let free = free(tx, pool);
    let net = match own {
        Some(net) if covers(&free, net) => net,
        Some(_) => {
            return Err(failed(
                "Cannot allocate requested subnet from the available set of prefixes",
            ));
        }
        None => lowest(&free, length, version == Some(4)).ok_or_else(|| {
            failed(&format!("Insufficient prefix space to allocate subnet size /{length}"))
        })?,
    };
    quota(tx, subnet, pool, net)?;
    subnet.set("cidr", net.to_string());
    subnet.set("subnetpool_id", pool.id());
    Ok(net)
}

/// All subnets of one family on a network are of one pool, or of none.
fn affinity(
    tx: &Tx<'_>,
    subnet: &Object,
    network: &Object,
    pool: Option<&Object>,
) -> Result<(), Fault> {
    let id = pool.map(Object::id).unwrap_or_default();
    let differs = |other: &Object| {
        other.number("ip_version") == subnet.number("ip_version")
            && other.text("subnetpool_id") != id
    };
    let mut others = tx.find(SUBNET.kind, "network_id", network.id());
    if others.any(|other| differs(&other)) {
        return Err(Fault::bad(
            "NetworkSubnetPoolAffinityError",
            "Subnets hosted on the same network must be allocated from the same subnet pool.",
        ));
    }
    Ok(())
}

fn failed(reason: &str) -> Fault {
    Fault::new(500, "SubnetAllocationError", format!("Failed to allocate subnet: {reason}."))
}

fn bounds(pool: &Object, length: i64) -> Result<(), Fault> {
    let (least, most) = (pool.number("min_prefixlen"), pool.number("max_prefixlen"));
    if let Some(least) = least.filter(|least| length < *least) {
        return Err(Fault::bad(
            "MinPrefixSubnetAllocationError",
            format!(
                "Unable to allocate subnet with prefix length {length}, minimum allowed prefix is \
                 {least}."
            ),
        ));
    }
    if let Some(most) = most.filter(|most| length > *most) {
        return Err(Fault::bad(
            "MaxPrefixSubnetAllocationError",
            format!(
                "Unable to allocate subnet with prefix length {length}, maximum allowed prefix is \
                 {most}."
            ),
        ));
    }
    Ok(())
}

fn range(net: IpNet) -> Option<Range> {
    net.to_string().parse::<Cidr>().ok().map(Range::from)
}

/// What of the pool no subnet has.
fn free(tx: &Tx<'_>, pool: &Object) -> RangeSet {
    let mut free: RangeSet = nets(pool).into_iter().filter_map(range).collect();
    for subnet in tx.find(SUBNET.kind, "subnetpool_id", pool.id()) {
        if let Some(range) = subnets::net(&subnet).and_then(range) {
            free.remove(range);
        }
    }
    free
}

fn covers(free: &RangeSet, net: IpNet) -> bool {
    let within =
        |range: Range| free.covering(range.first()).is_some_and(|c| c.contains(range.last()));
    range(net).is_some_and(within)
}

/// The lowest free prefix of that length, of the smallest free piece that has one, as Neutron does.
fn lowest(free: &RangeSet, length: i64, four: bool) -> Option<IpNet> {
    let length = u8::try_from(length).ok()?;
    let mut pieces: Vec<IpNet> = free.ranges().flat_map(|range| range.prefixes()).collect();
    pieces.retain(|net| net.prefix_len() <= length && net.addr().is_ipv4() == four);
    pieces.sort_by_key(|net| (std::cmp::Reverse(net.prefix_len()), *net));
    let piece = pieces.first()?;
    IpNet::new(piece.network(), length).ok()
}

/// What one project may have of a pool, counted in addresses (IPv4) or /64s (IPv6).
fn quota(tx: &Tx<'_>, subnet: &Object, pool: &Object, net: IpNet) -> Result<(), Fault> {
    let Some(most) = pool.number("default_quota") else { return Ok(()) };
    let size = |net: IpNet| match net {
        IpNet::V4(net) => 1_u128 << (32 - net.prefix_len()),
        IpNet::V6(net) => 1_u128 << (64_u8.saturating_sub(net.prefix_len())).min(64),
    };
    let own = |other: &Object| other.project() == subnet.project();
    let used: u128 = tx
        .find(SUBNET.kind, "subnetpool_id", pool.id())
        .filter(own)
        .filter_map(|other| subnets::net(&other))
        .map(size)
        .sum();
    if used.saturating_add(size(net)) > u128::try_from(most).unwrap_or(0) {
        return Err(Fault::conflict(
            "SubnetPoolQuotaExceeded",
            "Per-project subnet pool prefix quota exceeded.",
        ));
    }
    Ok(())
}
