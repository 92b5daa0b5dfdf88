//! The table as sockets of this process, where there is no program `nft`.
//!
//! Addresses of Services become local by routes, so that their packets end in this node's sockets and
//! those without a socket are refused by the kernel. They are no addresses of a link: with `arp_ignore`
//! the kernel answers no neighbour for them, and whoever announces virtual addresses stays the only one.
//!
//! What the kernel does better: clients' addresses are kept with policy `Local` there, and are not here.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anyhow::Context as _;
use ipnet::IpNet;
use landbridge_lb::relay::{Behind, Frontend, Relay};
use landbridge_lb::{Choice, Port, Table};
use landbridge_linux::route::{RouteKind, table};
use landbridge_linux::sysctl::{Conf, Sysctl};
use landbridge_linux::{Handle, IfName, Link, Route, Scope, Sysctls};
use tokio::sync::watch;

use super::answers::OURS;

/// See the [module](self).
pub struct Through {
    relay: Relay,
    addresses: watch::Receiver<Vec<IpAddr>>,
    told: BTreeSet<String>,
}

impl Through {
    /// Nothing is forwarded yet. `addresses` are the node's own: there are the node ports.
    pub fn new(addresses: watch::Receiver<Vec<IpAddr>>) -> Self {
        Self { relay: Relay::default(), addresses, told: BTreeSet::new() }
    }

    /// Makes the sockets what the table says.
    pub async fn apply(&mut self, table: &Table, dead: BTreeSet<IpAddr>) -> anyhow::Result<()> {
        let ips: BTreeSet<IpAddr> =
            table.ports().iter().flat_map(Port::frontends).map(|to| to.ip()).collect();
        let made = tokio::task::spawn_blocking(move || make_local(&ips)).await;
        let links = made.context("making addresses local ended badly")??;
        let own = self.addresses.borrow_and_update().clone();
        let failures = self.relay.apply(&frontends(table, &own, &links));
        self.relay.cut(dead);
        let mut told = BTreeSet::new();
        for (frontend, error) in failures {
            let words = format!("{}/{}: {error}", frontend.address, frontend.protocol);
            if !self.told.contains(&words) {
                tracing::warn!("no clients are taken at {words}");
            }
            told.insert(words);
        }
        self.told = told;
        Ok(())
    }

    /// Takes the routes away.
    pub async fn end(self) {
        drop(self.relay);
        let ended = tokio::task::spawn_blocking(|| make_local(&BTreeSet::new())).await;
        if !matches!(ended, Ok(Ok(_))) {
            tracing::warn!("routes of addresses of Services are left behind");
        }
    }
}

/// Where clients come in, and what is behind. With `links`, outer addresses have a socket for each of
/// them, whose answers leave there.
pub fn frontends(
    table: &Table,
    own: &[IpAddr],
    links: &BTreeSet<String>,
) -> BTreeMap<Frontend, Behind> {
    let mut wanted = BTreeMap::new();
    for port in table.ports() {
        let behind = |choice: Choice<'_>, sources: &[IpNet]| Behind {
            backends: match choice {
                Choice::Of(backends) => backends.clone(),
                Choice::Refuse | Choice::Drop => BTreeSet::new(),
            },
            affinity: port.affinity.map(|seconds| Duration::from_secs(u64::from(seconds))),
            sources: sources.to_vec(),
        };
        let mut put = |ip: IpAddr, number: u16, link: Option<&String>, behind: Behind| {
            let address = SocketAddr::new(ip, number);
            let frontend = Frontend { protocol: port.protocol, address, link: link.cloned() };
            wanted.entry(frontend).or_insert(behind);
        };
        if let Some(ip) = port.cluster_ip {
            put(ip, port.port, None, behind(port.choice(port.inside), &[]));
        }
        let outside = port.choice(port.outside);
        for ip in port.outer_addresses() {
            let sources = if port.balanced.contains(&ip) { &port.sources[..] } else { &[] };
            // Beside a socket for all links the kernel would not always prefer the one for a link.
            if links.is_empty() || ip.is_ipv6() {
                put(ip, port.port, None, behind(outside, sources));
            } else {
                for link in links {
                    put(ip, port.port, Some(link), behind(outside, sources));
                }
            }
        }
        if let Some(number) = port.node_port {
            for ip in own.iter().filter(|ip| ip.is_ipv4() == port.ipv4) {
                put(*ip, number, None, behind(outside, &[]));
            }
        }
    }
    wanted
}

/// Makes these addresses local, and no others of ours; returns the links that need sockets of their own:
/// all by which clients may come, where one of them has no IPv4 address; else none.
fn make_local(ips: &BTreeSet<IpAddr>) -> anyhow::Result<BTreeSet<String>> {
    let net = Handle::open()?;
    let (links, addresses) = (net.links()?, net.addresses()?);
    let lo = net.index(&IfName::new("lo")?)?;
    let own: BTreeSet<IpAddr> = addresses.iter().map(|address| address.net.addr()).collect();
    let there: BTreeMap<IpNet, Route> = net
        .routes_of(table::LOCAL)?
        .into_iter()
        .filter(|route| route.protocol == OURS)
        .map(|route| (route.destination, route))
        .collect();
    // An address that is the node's own is local already.
    let wanted: BTreeSet<IpNet> =
        ips.iter().filter(|ip| !own.contains(ip)).map(|ip| IpNet::from(*ip)).collect();
    if !wanted.is_empty() {
        let sysctls = Sysctls::of(net.namespace());
        sysctls.ensure(&Sysctl::arp_ignore(Conf::All), 1)?;
        sysctls.ensure(&Sysctl::rp_filter(Conf::All), 0)?;
    }
    for (destination, route) in &there {
        if !wanted.contains(destination) {
            net.delete_route(route)?;
        }
    }
    for destination in wanted.iter().filter(|net| !there.contains_key(*net)) {
        let mut route = Route::dev(*destination, lo).in_table(table::LOCAL);
        route.kind = RouteKind::Local;
        route.protocol = OURS;
        if destination.addr().is_ipv4() {
            route.scope = Scope::Host;
        }
        net.ensure_route(&route).with_context(|| format!("cannot make {destination} local"))?;
    }
    let has_address =
        |link: &Link| addresses.iter().any(|a| a.link == link.index && a.net.addr().is_ipv4());
    let doors: Vec<&Link> = links
        .iter()
        .filter(|link| link.up && link.master.is_none())
        .filter(|link| !landbridge_nodestate::is_of_a_pod(&link.name, link))
        .collect();
    if doors.iter().all(|link| has_address(link)) {
        return Ok(BTreeSet::new());
    }
    Ok(doors.into_iter().map(|link| link.name.to_string()).collect())
}
