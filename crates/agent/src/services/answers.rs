//! Answers leave by the link the question came by.
//!
//! A node may answer for a virtual address on a VLAN where it has no address of its own, so no route
//! leads back to whoever asked. Connections to virtual addresses therefore carry the mark of the link
//! they came by, answers get it back, and a rule of policy routing sends marked packets to a table of
//! that link:
//! - of a link without an address: everything is on the link;
//! - of a link with addresses: the routes that the main table has through it, and no others. Whoever is
//!   reached otherwise is so as before.
//!
//! Nothing but answers carries a mark, so no packet goes from one VLAN to another because of this.
//!
//! The node's own programs may ask for addresses of Services, too, and a packet without a route is refused
//! before any rule sees it. Where no other route leads there, one through the loopback does: the
//! destination is translated on the way out and the packet routed anew.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;
use landbridge_lb::rules::LINK_MARK;
use landbridge_linux::route::{Family, Protocol, RouteKind, table};
use landbridge_linux::rule::{Mark, RuleAction};
use landbridge_linux::{Address, Link, LinkIndex, LinkKind, Route, Rule};

/// The mark of our own routes and rules: only those are ever removed.
pub const OURS: Protocol = Protocol(77);
/// The table of a link is this and the link's number.
const TABLES: u32 = 77_000;
/// The table of addresses that have no other route.
const LAST_RESORT: u32 = TABLES - 1;
/// Asked before the main table.
const PRIORITY: u32 = 7_700;
/// Asked after all others.
const LATE: u32 = 77_000;
/// Higher numbers do not fit the mark; a kernel gets there after so many links were made.
const LAST: u32 = 0xffff;

/// How answers find back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Links from outside, with the marks of what comes by them.
    pub marks: BTreeMap<String, u32>,
    /// Those without an IPv4 address.
    pub bare: BTreeSet<String>,
    /// All rules of ours.
    pub rules: Vec<Rule>,
    /// All routes of ours.
    pub routes: Vec<Route>,
}

/// What to do about what is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Rules to make.
    pub add_rules: Vec<Rule>,
    /// Rules to take away.
    pub remove_rules: Vec<Rule>,
    /// Routes to make.
    pub add_routes: Vec<Route>,
    /// Routes to take away.
    pub remove_routes: Vec<Route>,
}

/// Whether clients from outside may come by a link: not the loopback, no port of a bridge or bond, not
/// the node's end of a pod's link, and not the bridge of the pods.
fn is_outer(link: &Link, pods: &str) -> bool {
    link.up
        && link.kind != LinkKind::Loopback
        && link.master.is_none()
        && link.name.as_str() != pods
        && !landbridge_nodestate::is_of_a_pod(&link.name, link)
        && link.index.0 <= LAST
}

/// Plans for the links, addresses and routes of a node. `pods` is the link its pods are behind,
/// `services` are the networks and addresses of Services.
pub fn plan(
    links: &[Link],
    addresses: &[Address],
    routes: &[Route],
    pods: &str,
    services: &BTreeSet<IpNet>,
) -> Plan {
    let mut plan = Plan::default();
    if let Some(lo) = links.iter().find(|link| link.kind == LinkKind::Loopback) {
        for net in services {
            let mut route = Route::dev(net.trunc(), lo.index).in_table(LAST_RESORT);
            route.protocol = OURS;
            plan.routes.push(route);
        }
        for family in [Family::Ipv4, Family::Ipv6] {
            if services.iter().any(|net| Family::of(net) == family) {
                let mut rule = Rule::new(family, LATE, LAST_RESORT);
                rule.protocol = OURS;
                plan.rules.push(rule);
            }
        }
    }
    for link in links.iter().filter(|link| is_outer(link, pods)) {
        let mark = LINK_MARK | link.index.0;
        plan.marks.insert(link.name.to_string(), mark);
        let own = || addresses.iter().filter(|address| address.link == link.index);
        let has = |family: Family| {
            own().any(|address| Family::of(&address.net) == family && !is_link_local(&address.net))
        };
        if !has(Family::Ipv4) {
            plan.bare.insert(link.name.to_string());
        }
        for family in [Family::Ipv4, Family::Ipv6] {
            // IPv6 that is off leaves not even an address for the link itself.
            if family == Family::Ipv6 && !own().any(|a| Family::of(&a.net) == Family::Ipv6) {
                continue;
            }
            let number = TABLES + link.index.0;
            let ours: Vec<Route> = if has(family) {
                copies(link.index, family, number, routes)
            } else {
                let mut all = Route::dev(family.everywhere(), link.index).in_table(number);
                all.protocol = OURS;
                vec![all]
            };
            if ours.is_empty() {
                continue;
            }
            plan.routes.extend(ours);
            let mut rule = Rule::new(family, PRIORITY, number);
            rule.fwmark = Some(Mark { value: mark, mask: u32::MAX });
            rule.protocol = OURS;
            plan.rules.push(rule);
        }
    }
    plan
}

fn is_link_local(net: &IpNet) -> bool {
    match net.addr() {
        std::net::IpAddr::V4(_) => false,
        std::net::IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

/// The routes of the main table through a link, for its own table.
fn copies(link: LinkIndex, family: Family, number: u32, routes: &[Route]) -> Vec<Route> {
    let through = routes.iter().filter(|route| {
        route.table == table::MAIN
            && route.link == Some(link)
            && route.family() == family
            && route.kind == RouteKind::Unicast
            && route.multipath.is_empty()
            && !route.partial
            && !is_link_local(&route.destination)
    });
    through
        .map(|route| {
            let mut copy = route.clone().in_table(number);
            (copy.protocol, copy.expires) = (OURS, false);
            copy
        })
        .collect()
}

/// What has to change, given what is there.
pub fn change(plan: &Plan, rules: &[Rule], routes: &[Route]) -> Change {
    let same_rule = |a: &Rule, b: &Rule| {
        (a.family, a.priority, a.fwmark, a.action) == (b.family, b.priority, b.fwmark, b.action)
    };
    let same_route = |a: &Route, b: &Route| {
        (a.destination, a.gateway, a.link, a.table) == (b.destination, b.gateway, b.link, b.table)
            && (a.family() == Family::Ipv6 || a.metric.unwrap_or(0) == b.metric.unwrap_or(0))
    };
    let is_our_table = |number: u32| (LAST_RESORT..=TABLES + LAST).contains(&number);
    let our_rules = || {
        rules.iter().filter(|rule| {
            rule.protocol == OURS && matches!(rule.action, RuleAction::Table(n) if is_our_table(n))
        })
    };
    let our_routes = || routes.iter().filter(|route| is_our_table(route.table));
    let lacks = |all: &[Rule], one: &Rule| !all.iter().any(|other| same_rule(one, other));
    let misses = |all: &[Route], one: &Route| !all.iter().any(|other| same_route(one, other));
    Change {
        add_rules: plan
            .rules
            .iter()
            .filter(|rule| !our_rules().any(|there| same_rule(rule, there)))
            .cloned()
            .collect(),
        remove_rules: our_rules().filter(|there| lacks(&plan.rules, there)).cloned().collect(),
        add_routes: plan
            .routes
            .iter()
            .filter(|route| !our_routes().any(|there| same_route(route, there)))
            .cloned()
            .collect(),
        remove_routes: our_routes().filter(|there| misses(&plan.routes, there)).cloned().collect(),
    }
}
