//! Routes of a namespace: listed, added, replaced and deleted.

use netlink_packet_core::{NLM_F_APPEND, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::route::RouteMessage;

use super::{Family, Route, wire};
use crate::error::{Action, Attempt, Object, Result};
use crate::handle::{Ensured, Handle};

impl Handle {
    /// All routes of both families and all tables.
    pub fn routes(&self) -> Result<Vec<Route>> {
        let mut routes = Vec::new();
        for family in [Family::Ipv4, Family::Ipv6] {
            let mut message = RouteMessage::default();
            message.header.address_family = family.wire();
            let answers = self.dump(&RouteNetlinkMessage::GetRoute(message), Object::Route)?;
            routes.extend(answers.iter().filter_map(|answer| match answer {
                RouteNetlinkMessage::NewRoute(message) => wire::decode(message),
                _ => None,
            }));
        }
        Ok(routes)
    }

    /// The routes of one table.
    pub fn routes_of(&self, table: u32) -> Result<Vec<Route>> {
        let mut routes = self.routes()?;
        routes.retain(|route| route.table == table);
        Ok(routes)
    }

    /// Adds a route.
    pub fn add_route(&self, route: &Route) -> Result<()> {
        self.put_route(route, NLM_F_CREATE | NLM_F_EXCL, Action::Create)
    }

    /// Adds a route, in the place of one to the same destination with the same metric.
    pub fn replace_route(&self, route: &Route) -> Result<()> {
        self.put_route(route, NLM_F_CREATE | NLM_F_REPLACE, Action::Change)
    }

    /// Adds a route beside those to the same destination with the same metric. Through gateways
    /// that makes one IPv6 route with several ways; IPv4 keeps the routes apart and uses the first.
    pub fn append_route(&self, route: &Route) -> Result<()> {
        self.put_route(route, NLM_F_CREATE | NLM_F_APPEND, Action::Create)
    }

    /// Has a route as wanted, in the place of one to the same destination with the same metric.
    /// Only IPv6 routes to what is on a link stand side by side, one for each link.
    pub fn ensure_route(&self, route: &Route) -> Result<Ensured> {
        match self.add_route(route) {
            Err(error) if error.is_present() => {
                let there = self.routes_of(route.table)?;
                if there.iter().any(|found| satisfies(found, route)) {
                    return Ok(Ensured::Unchanged);
                }
                let beside = route.family() == Family::Ipv6
                    && is_on_link(route)
                    && !there.iter().any(|found| is_rival(found, route));
                if beside {
                    return self.append_route(route).map(|()| Ensured::Created);
                }
                self.replace_route(route).map(|()| Ensured::Changed)
            }
            outcome => outcome.map(|()| Ensured::Created),
        }
    }

    fn put_route(&self, route: &Route, flags: u16, action: Action) -> Result<()> {
        let message = RouteNetlinkMessage::NewRoute(wire::encode(route));
        self.execute(message, flags, || self.attempt_route(action, route))
    }

    /// Deletes a route, and says whether it was there.
    pub fn delete_route(&self, route: &Route) -> Result<bool> {
        let message = RouteNetlinkMessage::DelRoute(wire::encode(route));
        match self.execute(message, 0, || self.attempt_route(Action::Delete, route)) {
            Err(error) if error.is_absent() => Ok(false),
            outcome => outcome.map(|()| true),
        }
    }

    fn attempt_route(&self, action: Action, route: &Route) -> Attempt {
        match route.map_links(|link| Some(self.called(*link))) {
            Some(named) => Attempt::new(action, Object::Route, named),
            None => Attempt::new(action, Object::Route, route),
        }
    }
}

fn is_on_link(route: &Route) -> bool {
    route.gateway.is_none() && route.link.is_some() && route.multipath.is_empty()
}

/// Whether the kernel would put one in the place of the other, both being IPv6 and on a link.
fn is_rival(found: &Route, wanted: &Route) -> bool {
    found.destination == wanted.destination
        && found.metric == wanted.metric.or(Some(1024))
        && is_on_link(found)
        && found.link == wanted.link
}

/// Whether a route that is there is what was wished for; the kernel fills in what a wish leaves open.
fn satisfies(found: &Route, wanted: &Route) -> bool {
    let default = match wanted.family() {
        Family::Ipv4 => None,
        Family::Ipv6 => Some(1024),
    };
    found.destination == wanted.destination
        && found.kind == wanted.kind
        && found.gateway == wanted.gateway
        && (wanted.link.is_none() || found.link == wanted.link)
        && found.multipath == wanted.multipath
        && found.metric == wanted.metric.or(default)
        && (wanted.source.is_none() || found.source == wanted.source)
        && found.protocol == wanted.protocol
        && found.mtu == wanted.mtu
}
