//! Neutron v2.0: one frame for all resources, and per resource a table of attributes and some rules.
//!
//! A new resource is a file under [`resources`] with a [`Kind`], a [`Resource`] with its [`Attribute`]s
//! and, where there is more to say, its [`Rules`]; and one line in [`RESOURCES`] and [`KINDS`]. The
//! [`frame`] does bodies, defaults, validation, policy, visibility, filters, sorting, pages, bulk
//! creates, `If-Match`, tags, revisions, times and quotas.

pub mod attribute;
pub mod check;
pub mod fault;
pub mod frame;
pub mod hooks;
mod other;
pub mod python;
pub mod quota;
pub mod resource;
pub mod resources;
pub mod standard;
pub mod who;

use http::Method;

pub use self::attribute::{Attribute, Given, Select};
pub use self::check::{Check, Wrong};
pub use self::fault::Fault;
pub use self::resource::{Plain, Resource, Rules, Standard};
use self::resources::{
    address_groups, floating_ips, networks, ports, rbac, routers, security_group_rules,
    security_groups, subnetpools, subnets, trunks,
};
pub use self::who::Who;
use crate::caller::Caller;
use crate::request::{Request, Response};
use crate::state::{Kind, Tx};

/// The tables.
pub static KINDS: &[&Kind] = &[
    &networks::NETWORK_KIND,
    &subnets::SUBNET_KIND,
    &ports::PORT_KIND,
    &rbac::RBAC_KIND,
    &subnetpools::SUBNETPOOL_KIND,
    &subnetpools::ADDRESS_SCOPE_KIND,
    &routers::ROUTER_KIND,
    &floating_ips::FLOATING_IP_KIND,
    &security_groups::GROUP_KIND,
    &security_group_rules::RULE_KIND,
    &address_groups::ADDRESS_GROUP_KIND,
    &trunks::TRUNK_KIND,
    &quota::QUOTA,
];

/// What is served under `/v2.0` by the frame.
pub static RESOURCES: &[&Resource] = &[
    &networks::NETWORK,
    &subnets::SUBNET,
    &ports::PORT,
    &rbac::RBAC,
    &subnetpools::SUBNETPOOL,
    &subnetpools::ADDRESS_SCOPE,
    &routers::ROUTER,
    &floating_ips::FLOATING_IP,
    &security_groups::GROUP,
    &security_group_rules::RULE,
    &address_groups::ADDRESS_GROUP,
    &trunks::TRUNK,
];

/// Answers a call.
pub fn handle(tx: &mut Tx<'_>, request: &Request) -> Response {
    let parts = request.parts();
    if parts.is_empty() {
        return other::versions(request);
    }
    let who = match crate::identity::authenticate(tx, tx.config, tx.now, request) {
        Ok(caller) => caller,
        Err(response) => return response,
    };
    route(tx, &who, request, &parts).unwrap_or_else(|fault| fault.response())
}

fn route(
    tx: &mut Tx<'_>,
    who: &Caller,
    request: &Request,
    parts: &[&str],
) -> Result<Response, Fault> {
    let ["v2.0", parts @ ..] = parts else { return Ok(other::no_version()) };
    let [name, rest @ ..] = parts else { return other::index(request) };
    // Old clients say which form they want at the end of the path.
    let bare = |part: &str| part.strip_suffix(".json").unwrap_or(part).to_owned();
    let name = bare(name);
    let mut rest: Vec<String> = rest.iter().map(|part| (*part).to_owned()).collect();
    if let Some(last) = rest.last_mut() {
        *last = bare(last);
    }
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    if let Some(resource) = RESOURCES.iter().find(|resource| resource.path == name) {
        return frame::answer(tx, who, resource, request, &rest);
    }
    match (name.as_str(), &request.method) {
        ("quotas", _) => other::quotas(tx, who, request, &rest),
        ("extensions", &Method::GET) => other::extensions(tx.config, &rest),
        ("network-ip-availabilities", &Method::GET) => other::availability(tx, who, request, &rest),
        ("agents", &Method::GET) => other::agents(&rest),
        ("default-security-group-rules", &Method::GET) if rest.is_empty() => {
            let rules = security_group_rules::template();
            let body = serde_json::json!({"default_security_group_rules": rules});
            Ok(Response::json(http::StatusCode::OK, &body))
        }
        ("availability_zones", &Method::GET) => other::zones(tx.config, request, &rest),
        ("service-providers" | "flavors", &Method::GET) => other::none(&name, &rest),
        ("extensions" | "agents" | "availability_zones", _) => Err(Fault::method()),
        _ => Err(Fault::gone()),
    }
}
