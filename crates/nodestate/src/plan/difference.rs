//! The steps between two states of a node.
//!
//! Order: what leaves goes first (DHCP, rules, routes, ports, links from the top), then links come
//! from the bottom, get their options, join, get their size, go up, get addresses; then routes, rules,
//! resolver, name, DHCP. What the kernel takes away on its own is counted as gone:
//! a link with what stands on it, routes with the last IPv4 address or with a link that goes down.

use std::collections::BTreeSet;

use ipnet::IpNet;
use landbridge_linux::IfName;
use landbridge_linux::Route;
use landbridge_linux::route::Family;

use super::links;
use super::step::Step;
use crate::state::{Interface, IpAddress, Kind, State, is_configured};

/// The steps from one state to the other.
pub fn difference(now: &State, goal: &State) -> Vec<Step> {
    let change = Change::new(now, goal);
    let mut steps = Vec::new();
    steps.extend(change.stop_dhcp());
    steps.extend(change.rules_to_delete());
    steps.extend(change.routes_to_delete());
    steps.extend(links::steps(&change));
    steps.extend(change.addresses());
    steps.extend(change.routes_to_add());
    steps.extend(change.rules_to_add());
    if now.resolver != goal.resolver {
        steps.push(Step::Resolver(goal.resolver.clone()));
    }
    if now.hostname.running != goal.hostname.running {
        steps.push(Step::Hostname(goal.hostname.running.clone()));
    }
    if now.hostname.config != goal.hostname.config {
        steps.push(Step::HostnameFile(goal.hostname.config.clone()));
    }
    steps.extend(change.start_dhcp());
    steps
}

/// Two states and what follows from the way between them.
pub(super) struct Change<'a> {
    pub(super) now: &'a State,
    pub(super) goal: &'a State,
    /// Links that end: those that go, and those that are made anew.
    pub(super) ending: BTreeSet<&'a IfName>,
    /// Links that pass through being down: IPv6 addresses and routes are lost.
    pub(super) shaken: BTreeSet<&'a IfName>,
}

impl<'a> Change<'a> {
    fn new(now: &'a State, goal: &'a State) -> Self {
        let mut change = Self { now, goal, ending: BTreeSet::new(), shaken: BTreeSet::new() };
        change.find_ending();
        change.shaken = now.interfaces.keys().filter(|name| change.is_shaken(name)).collect();
        change
    }

    /// A link ends with its parent and with its other end.
    fn find_ending(&mut self) {
        for (name, link) in &self.now.interfaces {
            let stays = self
                .goal
                .interfaces
                .get(name)
                .is_some_and(|wanted| link.kind.turns_into(&wanted.kind));
            if !stays {
                self.ending.insert(name);
            }
        }
        loop {
            let more: Vec<&IfName> = self
                .now
                .interfaces
                .iter()
                .filter(|(name, link)| {
                    let with = match &link.kind {
                        Kind::Veth { peer } => Some(peer),
                        kind => kind.parent(),
                    };
                    !self.ending.contains(name)
                        && with.is_some_and(|with| self.ending.contains(with))
                })
                .map(|(name, _)| name)
                .collect();
            if more.is_empty() {
                return;
            }
            self.ending.extend(more);
        }
    }

    /// Bonds take and give back links that are down; a VRF cycles its ports.
    fn is_shaken(&self, name: &IfName) -> bool {
        let (Some(before), Some(after)) = (self.before(name), self.goal.interfaces.get(name))
        else {
            return false;
        };
        let (old, new) = (before.controller.as_ref(), after.controller.as_ref());
        let shakes = |controller: Option<&IfName>, state: &State| {
            controller
                .and_then(|name| state.interfaces.get(name))
                .is_some_and(|link| matches!(link.kind, Kind::Bond(_) | Kind::Vrf { .. }))
        };
        let moved = old != new || old.is_some_and(|old| self.ending.contains(old));
        moved && (shakes(old, self.now) || shakes(new, self.goal))
    }

    /// A link as it is, unless it ends.
    pub(super) fn before(&self, name: &IfName) -> Option<&'a Interface> {
        self.now.interfaces.get(name).filter(|_| !self.ending.contains(name))
    }

    fn stop_dhcp(&self) -> Vec<Step> {
        let stops = |request: &&crate::dhcp::Request| {
            self.ending.contains(&request.link) || !self.goal.dhcp.contains(request)
        };
        let stop = |request: &crate::dhcp::Request| Step::StopDhcp {
            link: request.link.clone(),
            family: request.family,
        };
        self.now.dhcp.iter().filter(stops).map(stop).collect()
    }

    fn start_dhcp(&self) -> Vec<Step> {
        let starts = |request: &&crate::dhcp::Request| {
            self.ending.contains(&request.link) || !self.now.dhcp.contains(request)
        };
        self.goal.dhcp.iter().filter(starts).cloned().map(Step::StartDhcp).collect()
    }

    fn rules_to_delete(&self) -> Vec<Step> {
        let goes = |rule: &&landbridge_linux::Rule| !self.goal.rules.contains(rule);
        let delete = |rule: &landbridge_linux::Rule| Step::DeleteRule(Box::new(rule.clone()));
        self.now.rules.iter().filter(goes).map(delete).collect()
    }

    fn rules_to_add(&self) -> Vec<Step> {
        let comes =
            |rule: &&landbridge_linux::Rule| !self.now.rules.contains(rule) && !rule.partial;
        let add = |rule: &landbridge_linux::Rule| Step::AddRule(Box::new(rule.clone()));
        self.goal.rules.iter().filter(comes).map(add).collect()
    }

    fn routes_to_delete(&self) -> Vec<Step> {
        let goes = |route: &&Route<IfName>| {
            is_configured(route)
                && !self.goal.routes.contains(route)
                && !(route.links().count() > 0
                    && route.links().all(|link| self.ending.contains(link)))
        };
        let delete = |route: &Route<IfName>| Step::DeleteRoute(Box::new(route.clone()));
        self.now.routes.iter().filter(goes).map(delete).collect()
    }

    /// Routes without a gateway first: they are what makes gateways reachable.
    fn routes_to_add(&self) -> Vec<Step> {
        let comes = |route: &&Route<IfName>| {
            is_configured(route)
                && !route.partial
                && (!self.now.routes.contains(route) || self.loses(route))
        };
        let mut routes: Vec<&Route<IfName>> = self.goal.routes.iter().filter(comes).collect();
        routes.sort_by_key(|route| {
            route.gateway.is_some() || route.multipath.iter().any(|hop| hop.gateway.is_some())
        });
        routes.into_iter().map(|route| Step::AddRoute(Box::new(route.clone()))).collect()
    }

    /// Whether the kernel takes a route away on the way.
    fn loses(&self, route: &Route<IfName>) -> bool {
        route.links().any(|link| {
            self.ending.contains(link)
                || self.shaken.contains(link)
                || route.family() == Family::Ipv4 && self.is_bare(link)
        }) || route.source.is_some_and(|source| {
            route.links().any(|link| {
                let again = |step: &Step| matches!(step, Step::DeleteAddress { net, .. } if net.addr() == source);
                self.addresses_of(link).iter().any(again)
            })
        })
    }

    /// Whether a link is for a moment without any IPv4 address, having had one.
    fn is_bare(&self, link: &IfName) -> bool {
        let Some(before) = self.before(link) else { return false };
        let had = before.ipv4.addresses.len();
        let steps = self.addresses_of(link);
        let deleted = steps
            .iter()
            .filter(|step| matches!(step, Step::DeleteAddress { net, .. } if net.addr().is_ipv4()))
            .count();
        had > 0 && deleted == had
    }

    fn addresses(&self) -> Vec<Step> {
        let mut steps: Vec<Step> =
            self.goal.interfaces.keys().flat_map(|link| self.addresses_of(link)).collect();
        steps.sort_by_key(|step| matches!(step, Step::AddAddress { .. }));
        steps
    }

    fn addresses_of(&self, link: &IfName) -> Vec<Step> {
        let Some(wanted) = self.goal.interfaces.get(link) else { return Vec::new() };
        let before = self.before(link);
        let have4 = before.map_or(&[][..], |before| &before.ipv4.addresses);
        // With IPv6 off, and while a link is down, there are none.
        let keeps = before.is_some_and(|before| before.ipv6.enabled) && !self.shaken.contains(link);
        let have6 = before.filter(|_| keeps).map_or(&[][..], |before| &before.ipv6.addresses);
        let mut steps = Vec::new();
        let again = orphans(have4, &wanted.ipv4.addresses);
        let named = |list: &[IpAddress], net: IpNet| list.iter().any(|address| address.net == net);
        for address in have4 {
            if again.contains(&address.net) || !named(&wanted.ipv4.addresses, address.net) {
                steps.push(Step::DeleteAddress { link: link.clone(), net: address.net });
            }
        }
        for address in have6.iter().filter(|_| wanted.ipv6.enabled) {
            if !address.automatic && !named(&wanted.ipv6.addresses, address.net) {
                steps.push(Step::DeleteAddress { link: link.clone(), net: address.net });
            }
        }
        let lasting = |list: &[IpAddress], net: IpNet| {
            list.iter().any(|address| address.net == net && !address.automatic)
        };
        let comes = |have: &[IpAddress], address: &&IpAddress| {
            !address.automatic && (!lasting(have, address.net) || again.contains(&address.net))
        };
        let wanted4 = wanted.ipv4.addresses.iter().filter(|address| comes(have4, address));
        let wanted6 = wanted.ipv6.addresses.iter().filter(|address| comes(have6, address));
        steps.extend(
            wanted4
                .chain(wanted6)
                .map(|address| Step::AddAddress { link: link.clone(), net: address.net }),
        );
        steps
    }
}

/// IPv4 addresses that stay but would go with the first one of their network: they have to be
/// added again.
fn orphans(have: &[IpAddress], wanted: &[IpAddress]) -> Vec<IpNet> {
    let stays = |address: &&IpAddress| wanted.iter().any(|other| other.net == address.net);
    have.iter()
        .filter(stays)
        .filter(|address| {
            address.secondary
                && have.iter().any(|first| {
                    !first.secondary && first.net.trunc() == address.net.trunc() && !stays(&first)
                })
        })
        .map(|address| address.net)
        .collect()
}
