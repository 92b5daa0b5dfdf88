//! Routes of a router beyond its interfaces.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::{ROUTER, interfaces};
use crate::caller::Caller;
use crate::network::fault::Fault;
use crate::network::python;
use crate::network::resources::subnets::{self, SUBNET};
use crate::network::standard;
use crate::object::Object;
use crate::state::Tx;

/// The next hop of a route.
pub fn hop(route: &Value) -> &str {
    route.get("nexthop").and_then(Value::as_str).unwrap_or_default()
}

/// Every next hop is on a subnet of the router, and is not the router itself.
pub fn connected(tx: &Tx<'_>, router: &Object, routes: &[Value]) -> Result<(), Fault> {
    let (mut nets, mut own) = (Vec::new(), Vec::new());
    for port in interfaces::of(tx, router.id()) {
        for fixed in port.list("fixed_ips") {
            let text = |name: &str| fixed.get(name).and_then(Value::as_str).unwrap_or_default();
            own.extend(text("ip_address").parse::<IpAddr>());
            nets.extend(tx.get(SUBNET.kind, text("subnet_id")).and_then(|s| subnets::net(&s)));
        }
    }
    for route in routes {
        let hop: Option<IpAddr> = hop(route).parse().ok();
        if !hop.is_some_and(|hop| nets.iter().any(|net| net.contains(&hop))) {
            return Err(invalid(routes, "the nexthop is not connected with router"));
        }
        if hop.is_some_and(|hop| own.contains(&hop)) {
            return Err(invalid(routes, "the nexthop is used by router"));
        }
    }
    Ok(())
}

/// `add_extraroutes` and `remove_extraroutes`: what is there already, or is gone, is no mistake.
pub fn change(
    tx: &mut Tx<'_>,
    who: &Caller,
    router: &Object,
    body: &Value,
    adds: bool,
) -> Result<Value, Fault> {
    let given = body.get("router").and_then(|router| router.get("routes"));
    let Some(given) = given.and_then(Value::as_array) else {
        return Err(Fault::request("Body contains invalid data"));
    };
    let held = router.list("routes").to_vec();
    let routes: Vec<Value> = if adds {
        let new = given.iter().filter(|route| !held.contains(route)).cloned();
        held.iter().cloned().chain(new).collect()
    } else {
        held.iter().filter(|route| !given.contains(route)).cloned().collect()
    };
    connected(tx, router, &routes)?;
    for route in &routes {
        let destination = route.get("destination").and_then(Value::as_str).unwrap_or_default();
        if destination.parse::<ipnet::IpNet>().is_err() {
            return Err(Fault::bad("AddrFormatError", format!("invalid IPNetwork {destination}")));
        }
    }
    let mut after = router.clone();
    after.set("routes", routes);
    if after != *router {
        after = standard::replace(tx, &ROUTER, after);
    }
    let shown = crate::network::frame::show(tx, tx.config, who, &ROUTER, after, &[]);
    Ok(json!({"router": shown}))
}

fn invalid(routes: &[Value], reason: &str) -> Fault {
    let shown = python::repr(&Value::Array(routes.to_vec()));
    Fault::bad("InvalidRoutes", format!("Invalid format for routes: {shown}, {reason}"))
}
