//! Routers: interfaces on subnets, a gateway to an external network, routes.
//!
//! A router's interfaces and its gateway are ports that name it as their device.

mod gateway;
mod interfaces;
mod routes;

use serde_json::{Value, json};

pub use self::interfaces::in_use;
use super::ports::PORT;
use crate::caller::Caller;
use crate::config::Config;
use crate::network::attribute::{Attribute, Given};
use crate::network::check::Check;
use crate::network::fault::Fault;
use crate::network::resource::{Resource, Rules, Standard};
use crate::network::standard;
use crate::network::who::Who;
use crate::object::Object;
use crate::state::{Blank, Kind, State, Tx};

/// The owner of an interface's port.
pub const INTERFACE: &str = "network:router_interface";
/// The owner of a gateway's port.
pub const GATEWAY: &str = "network:router_gateway";

pub static ROUTER_KIND: Kind = Kind {
    name: "router",
    index: |router, keys| {
        keys.add("name", router.text("name"));
        keys.add("project_id", router.project());
    },
    blanks: &[
        ("description", Blank::Text),
        ("admin_state_up", Blank::True),
        ("status", Blank::Is("ACTIVE")),
        ("distributed", Blank::False),
        ("ha", Blank::False),
        ("flavor_id", Blank::Null),
        ("routes", Blank::List),
        ("availability_zone_hints", Blank::List),
        ("gw_port_id", Blank::Null),
        ("enable_snat", Blank::True),
        ("tags", Blank::List),
    ],
};

pub static ROUTER: Resource = Resource {
    kind: &ROUTER_KIND,
    single: "router",
    plural: "routers",
    path: "routers",
    attributes: &[
        Attribute::shown("id").key(),
        Attribute::open("name", Check::Text(255), Given::Text("")).key(),
        Attribute::open("admin_state_up", Check::Flag, Given::Flag(true)).key(),
        Attribute::shown("status").key(),
        Attribute::once("tenant_id", Check::Text(255), Given::Unset).hidden(),
        Attribute::once("project_id", Check::Text(255), Given::Unset).key(),
        Attribute::open("external_gateway_info", Check::With(gateway::check), Given::Null)
            .only(Who::Member)
            .parts(&[
                ("network_id", Who::Member),
                ("enable_snat", Who::Admin),
                ("external_fixed_ips", Who::Admin),
            ]),
        Attribute::open("ha", Check::Flag, Given::Unset)
            .only(Who::Admin)
            .seen_by(Who::Admin)
            .with("l3-ha"),
        Attribute::open("distributed", Check::Flag, Given::Unset)
            .only(Who::Admin)
            .seen_by(Who::Admin)
            .with("dvr"),
        Attribute::once("flavor_id", Check::UuidOrNull, Given::Null).filter(),
        Attribute::open("routes", Check::HostRoutes, Given::Unset).later(),
        Attribute::shown("availability_zones"),
        Attribute::once("availability_zone_hints", Check::Texts(255), Given::List),
    ],
    not_found: ("RouterNotFound", "Router {} could not be found"),
    indexed: &["name", "project_id"],
    quota: Some("router"),
    standard: Standard::FULL.from(1),
    create: Who::Member,
    update: Who::Member,
    delete: Who::Member,
    rules: &Routers,
};

struct Routers;

impl Rules for Routers {
    fn create(&self, tx: &mut Tx<'_>, who: &Caller, mut router: Object) -> Result<Object, Fault> {
        super::networks::zones(tx.config, &router)?;
        for (name, value) in [
            ("status", json!("ACTIVE")),
            ("routes", json!([])),
            ("gw_port_id", Value::Null),
            ("enable_snat", json!(true)),
        ] {
            router.set(name, value);
        }
        for name in ["distributed", "ha"] {
            if !router.has(name) {
                router.set(name, false);
            }
        }
        let info = router.remove("external_gateway_info").unwrap_or_default();
        gateway::change(tx, who, &mut router, &info)?;
        Ok(router)
    }

    fn created(&self, tx: &mut Tx<'_>, _who: &Caller, router: &Object) -> Result<(), Fault> {
        let changes = usize::from(router.some_text("gw_port_id").is_some())
            + usize::from(!router.flag("enable_snat"));
        for _ in 0..changes {
            standard::touch(tx, &ROUTER, router.id());
        }
        Ok(())
    }

    fn update(
        &self,
        tx: &mut Tx<'_>,
        who: &Caller,
        before: &Object,
        given: &Object,
        mut router: Object,
    ) -> Result<Object, Fault> {
        let active = router.flag("admin_state_up");
        if given.has("distributed")
            && given.flag("distributed") != before.flag("distributed")
            && active
        {
            return Err(Fault::bad_resource(
                "router",
                "Cannot change the 'distributed' attribute of active routers. Please set router \
                 admin_state_up to False prior to upgrade",
            ));
        }
        if given.has("external_gateway_info") {
            let info = router.remove("external_gateway_info").unwrap_or_default();
            let changes = gateway::change(tx, who, &mut router, &info)?;
            for _ in 0..changes {
                standard::touch(tx, &ROUTER, before.id());
            }
        }
        if given.has("routes") {
            routes::connected(tx, &router, given.list("routes"))?;
        }
        Ok(router)
    }

    fn delete(&self, tx: &mut Tx<'_>, who: &Caller, router: &Object) -> Result<(), Fault> {
        let attached: Vec<String> = interfaces::of(tx, router.id())
            .filter(|port| port.text("device_owner") != GATEWAY)
            .map(|port| port.id().to_owned())
            .collect();
        if !attached.is_empty() {
            return Err(Fault::conflict(
                "RouterInUse",
                format!("Router {} has ports still attached: {}", router.id(), attached.join(", ")),
            ));
        }
        let mut router = router.clone();
        gateway::change(tx, who, &mut router, &Value::Null)?;
        Ok(())
    }

    fn present(&self, state: &State, _config: &Config, _who: &Caller, router: &mut Object) {
        let info = gateway::info(state, router);
        router.set("external_gateway_info", info);
        router.set("availability_zones", json!([]));
    }

    fn counts(&self, name: &str) -> bool {
        // Changes of these are counted where they are made.
        !["gw_port_id", "enable_snat", "external_gateway_info"].contains(&name)
    }

    fn action(
        &self,
        tx: &mut Tx<'_>,
        who: &Caller,
        router: &Object,
        action: &str,
        body: &Value,
    ) -> Option<Result<Value, Fault>> {
        let changes = [
            "add_router_interface",
            "remove_router_interface",
            "add_extraroutes",
            "remove_extraroutes",
        ];
        if action == "l3-agents" && body.is_null() {
            return Some(Ok(json!({"agents": []})));
        }
        if !changes.contains(&action) {
            return None;
        }
        if body.is_null() {
            return Some(Err(Fault::method()));
        }
        if !Who::Member.includes(tx, who, router) {
            return Some(Err(refused(action)));
        }
        Some(match action {
            "add_router_interface" => interfaces::add(tx, who, router, body),
            "remove_router_interface" => interfaces::remove(tx, who, router, body),
            _ => routes::change(tx, who, router, body, action == "add_extraroutes"),
        })
    }
}

/// Neutron names in its refusal of an interface attributes that nobody gave.
fn refused(action: &str) -> Fault {
    if action.ends_with("extraroutes") {
        return Fault::policy(format!("rule:{action}"));
    }
    Fault::policy(format!(
        "(((rule:{action} and rule:{action}:ha) and rule:{action}:flavor_id) and \
         rule:{action}:distributed)"
    ))
}

/// The caller with an administrator's rights: for what a router does in its owner's name on networks
/// that are not its owner's.
pub fn elevated(who: &Caller) -> Caller {
    let mut who = who.clone();
    if !who.is_admin() {
        who.roles.push((String::new(), "admin".to_owned()));
    }
    who
}

/// Ports of routers are deleted with their interface, not by themselves.
pub fn port_may_go(tx: &Tx<'_>, _who: &Caller, port: &Object) -> Result<(), Fault> {
    let owner = port.text("device_owner");
    let of_router = [INTERFACE, GATEWAY].contains(&owner);
    if !of_router
        || port.list("fixed_ips").is_empty()
        || !tx.exists(&ROUTER_KIND, port.text("device_id"))
    {
        return Ok(());
    }
    Err(in_service(port))
}

/// The 409 of a port that a service of Neutron uses.
pub fn in_service(port: &Object) -> Fault {
    Fault::conflict(
        "ServicePortInUse",
        format!(
            "Port {} cannot be deleted directly via the port API: has device owner {}.",
            port.id(),
            port.text("device_owner")
        ),
    )
}

/// Removes a port that this service made or took, unless a trunk needs it.
pub fn remove_port(tx: &mut Tx<'_>, who: &Caller, port: &Object) -> Result<(), Fault> {
    super::trunks::port_may_go(tx, who, port)?;
    super::ports::remove(tx, &elevated(who), port)
}

/// Changes a port as an update would; for what this service does to ports.
pub fn change_port(
    tx: &mut Tx<'_>,
    who: &Caller,
    before: &Object,
    given: Value,
) -> Result<Object, Fault> {
    let given = Object::from_value(given);
    let mut port = before.clone();
    port.merge(given.clone());
    let port = PORT.rules.update(tx, who, before, &given, port)?;
    Ok(if port == *before { port } else { standard::replace(tx, &PORT, port) })
}
