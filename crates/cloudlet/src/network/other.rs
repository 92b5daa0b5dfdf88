//! What is served beside the resources of the frame.

mod aliases;
mod quotas;

use http::StatusCode;
use landbridge_addr::net::Range;
use serde_json::{Value, json};

pub use self::quotas::quotas;
use super::RESOURCES;
use super::fault::Fault;
use super::resources::networks::NETWORK;
use super::resources::subnets::{self, SUBNET};
use crate::caller::Caller;
use crate::config::Config;
use crate::object::Object;
use crate::request::{Request, Response};
use crate::state::{State, Tx};

#[allow(clippy::unnecessary_wraps)] // every answer has one type, though this does not fail
fn ok(body: &Value) -> Result<Response, Fault> {
    Ok(Response::json(StatusCode::OK, body))
}

/// `GET /`, which nobody needs a token for.
pub fn versions(request: &Request) -> Response {
    let links = json!([{"rel": "self", "href": format!("{}/v2.0/", request.base)}]);
    let body = json!({"versions": [{"id": "v2.0", "status": "CURRENT", "links": links}]});
    Response::json(StatusCode::OK, &body)
}

/// `GET /v2.0/`
#[allow(clippy::unnecessary_wraps)] // as above
pub fn index(request: &Request) -> Result<Response, Fault> {
    let one = |resource: &&super::Resource| {
        json!({
            "name": resource.single,
            "collection": resource.plural,
            "links": [{"rel": "self", "href": format!("{}/v2.0/{}", request.base, resource.path)}],
        })
    };
    // As ever: only those that were there before there were extensions.
    let core = ["network", "port", "subnetpool", "subnet"];
    let core = RESOURCES.iter().filter(|resource| core.contains(&resource.single));
    ok(&json!({"resources": core.map(one).collect::<Vec<_>>()}))
}

/// `GET /v2.0/extensions[/{alias}]`
pub fn extensions(config: &Config, rest: &[&str]) -> Result<Response, Fault> {
    let on = |alias: &str| {
        let optional = crate::config::OPTIONAL.contains(&alias);
        !optional || config.network.extensions.contains(alias)
    };
    let shown = |(alias, name, updated): &(&str, &str, &str)| {
        json!({
            "alias": alias, "name": name, "description": name, "updated": updated, "links": [],
        })
    };
    let all = aliases::EXTENSIONS.iter().filter(|(alias, _, _)| on(alias));
    match rest {
        [] => ok(&json!({"extensions": all.map(shown).collect::<Vec<_>>()})),
        [wanted] => {
            let mut all = all;
            let found = all.find(|(alias, _, _)| alias == wanted);
            let Some(found) = found else { return Ok(no_extension(wanted)) };
            ok(&json!({"extension": shown(found)}))
        }
        _ => Err(Fault::gone()),
    }
}

/// Extensions are looked for by another part of Neutron, which has words of its own.
fn no_extension(alias: &str) -> Response {
    let message = format!(
        "The resource could not be found.<br /><br />\nExtension with alias {alias} does not exist\n\n"
    );
    let body = json!({"code": "404 Not Found", "title": "Not Found", "message": message});
    Response::json(StatusCode::NOT_FOUND, &body)
}

/// Another version than the one there is.
pub fn no_version() -> Response {
    let body = json!({"code": 404, "title": "Not Found", "description": null});
    Response::json(StatusCode::NOT_FOUND, &body)
}

/// `GET /v2.0/agents`: what Neutron's agents do elsewhere, the lab's data plane does here.
pub fn agents(rest: &[&str]) -> Result<Response, Fault> {
    match rest {
        [] => ok(&json!({"agents": []})),
        [id, ..] => {
            Err(Fault::not_found("AgentNotFound", format!("Agent {id} could not be found.")))
        }
    }
}

/// A list with nothing in it.
pub fn none(name: &str, rest: &[&str]) -> Result<Response, Fault> {
    if rest.is_empty() { ok(&json!({ name.replace('-', "_"): [] })) } else { Err(Fault::gone()) }
}

/// `GET /v2.0/availability_zones`
pub fn zones(config: &Config, request: &Request, rest: &[&str]) -> Result<Response, Fault> {
    if !rest.is_empty() {
        return Err(Fault::gone());
    }
    let wanted = |zone: &Value| {
        ["name", "resource", "state"].iter().all(|filter| {
            let mut given = request.query_all(filter).peekable();
            given.peek().is_none() || given.any(|value| zone.get(filter) == Some(&value.into()))
        })
    };
    let zones: Vec<Value> = config
        .network
        .zones
        .iter()
        .filter(|name| *name != "*")
        .flat_map(|name| {
            ["network", "router"]
                .map(|kind| json!({"name": name, "resource": kind, "state": "available"}))
        })
        .filter(wanted)
        .collect();
    ok(&json!({"availability_zones": zones}))
}

/// `GET /v2.0/network-ip-availabilities[/{network}]`
pub fn availability(
    tx: &Tx<'_>,
    who: &Caller,
    request: &Request,
    rest: &[&str],
) -> Result<Response, Fault> {
    let allowed = who.is_admin() || who.has_role("service");
    match rest {
        [] => {
            let version = request.query_one("ip_version").and_then(|text| text.parse().ok());
            let fits = |network: &Object| {
                [
                    ("network_id", "id"),
                    ("network_name", "name"),
                    ("project_id", "project_id"),
                    ("tenant_id", "project_id"),
                ]
                .iter()
                .all(|(filter, attribute)| {
                    let mut given = request.query_all(filter).peekable();
                    given.peek().is_none() || given.any(|v| v == network.text(attribute))
                })
            };
            let networks = tx.all(NETWORK.kind).filter(|network| allowed && fits(network));
            let shown: Vec<Value> = networks.map(|network| usage(tx, &network, version)).collect();
            ok(&json!({"network_ip_availabilities": shown}))
        }
        [id] => {
            let network = NETWORK.known(tx, id)?;
            if !allowed {
                return Err(Fault::gone());
            }
            ok(&json!({"network_ip_availability": usage(tx, &network, None)}))
        }
        _ => Err(Fault::gone()),
    }
}

/// How many addresses a network has, and how many of them ports hold.
fn usage(state: &State, network: &Object, version: Option<i64>) -> Value {
    let mut subnets: Vec<Value> = Vec::new();
    let mut all = Count::default();
    for subnet in state.find(SUBNET.kind, "network_id", network.id()) {
        if version.is_some() && subnet.number("ip_version") != version {
            continue;
        }
        let count = Count::of(state, &subnet);
        all = all.and(&count);
        subnets.push(json!({
            "subnet_id": subnet.id(),
            "subnet_name": subnet.text("name"),
            "cidr": subnet.text("cidr"),
            "ip_version": subnet.get("ip_version"),
            "total_ips": number(count.in_pools),
            "used_ips": count.used,
            "ip_availability_details": count.details(),
        }));
    }
    json!({
        "network_id": network.id(),
        "network_name": network.text("name"),
        "project_id": network.project(),
        "tenant_id": network.project(),
        "total_ips": number(all.in_pools),
        "used_ips": all.used,
        "subnet_ip_availability": subnets,
        "ip_availability_details": all.details(),
    })
}

/// Addresses of a subnet, in its pools and outside of them.
#[derive(Default)]
struct Count {
    in_pools: u128,
    in_subnet: u128,
    used: usize,
    used_in_pools: usize,
}

impl Count {
    fn of(state: &State, subnet: &Object) -> Self {
        let pools = subnets::pools(subnet);
        let held: Vec<_> = subnets::held(state, subnet.id()).collect();
        let range = subnets::net(subnet).map(subnets::bounds);
        let range = range.and_then(|(first, last)| Range::new(first, last));
        Self {
            in_pools: pools.iter().map(Range::len).sum(),
            in_subnet: range.map_or(0, |range| range.len()),
            used: held.len(),
            used_in_pools: held.iter().filter(|ip| pools.iter().any(|p| p.contains(**ip))).count(),
        }
    }

    fn and(&self, other: &Self) -> Self {
        Self {
            in_pools: self.in_pools.saturating_add(other.in_pools),
            in_subnet: self.in_subnet.saturating_add(other.in_subnet),
            used: self.used + other.used,
            used_in_pools: self.used_in_pools + other.used_in_pools,
        }
    }

    fn details(&self) -> Value {
        json!({
            "total_ips_in_allocation_pool": number(self.in_pools),
            "total_ips_in_subnet": number(self.in_subnet),
            "used_ips_in_allocation_pool": self.used_in_pools,
            "used_ips_in_subnet": self.used,
        })
    }
}

/// A count as JSON has it: exact as far as 64 bits go.
fn number(count: u128) -> Value {
    #[allow(clippy::cast_precision_loss)] // nobody counts that many addresses
    u64::try_from(count).map_or_else(|_| json!(count as f64), Value::from)
}
