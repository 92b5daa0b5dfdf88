//! The steps for routes.

use super::Checkpoint;
use super::matching::Matching;
use super::plan::Step;
use crate::name::IfName;
use crate::route::{Protocol, Route, RouteKind};

type Saved = Route<IfName>;

pub(super) fn steps(matching: &Matching<'_>, now: &Checkpoint, wanted: &Checkpoint) -> Vec<Step> {
    let renamed = |route: &Saved| route.map_links(|link| Some(matching.called(link).clone()));
    let have: Vec<Saved> = now.routes.iter().filter_map(renamed).collect();
    // The kernel takes its own away with the address they come from.
    let mut extra: Vec<&Saved> = have
        .iter()
        .filter(|route| route.protocol != Protocol::KERNEL && !wanted.routes.contains(route))
        .collect();
    let mut missing: Vec<&Saved> =
        wanted.routes.iter().filter(|route| !have.contains(route)).collect();
    // An own address must be known as such and a gateway be reachable when a route names them.
    extra.sort_by_key(|route| !has_gateway(route));
    missing.sort_by_key(|route| (has_gateway(route), route.kind != RouteKind::Local));
    let delete = extra.into_iter().map(|route| Step::DeleteRoute(Box::new(route.clone())));
    delete.chain(missing.into_iter().map(add)).collect()
}

fn has_gateway(route: &Saved) -> bool {
    route.gateway.is_some() || route.multipath.iter().any(|hop| hop.gateway.is_some())
}

fn add(route: &Saved) -> Step {
    if route.partial {
        let why = "it has parts that this program does not model".to_owned();
        return Step::Stuck { what: format!("add route {route}"), why };
    }
    let add = Step::AddRoute(Box::new(route.clone()));
    // With its address the kernel's own come back by themselves.
    if route.protocol == Protocol::KERNEL { Step::Late(Box::new(add)) } else { add }
}
