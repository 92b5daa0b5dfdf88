//! RBAC policies: which projects may use an object that is not theirs.

use serde_json::{Value, json};

use super::networks::NETWORK;
use super::ports::PORT;
use crate::caller::Caller;
use crate::config::Config;
use crate::network::attribute::{Attribute, Given};
use crate::network::check::{self, Check, Checked};
use crate::network::fault::Fault;
use crate::network::python;
use crate::network::resource::{Resource, Rules, Standard};
use crate::network::standard;
use crate::network::who::Who;
use crate::object::Object;
use crate::state::{Kind, State, Tx};

/// The object can be used as if it were one's own.
pub const SHARED: &str = "access_as_shared";
/// The network can be a router's gateway and floating IPs can be had from it.
pub const EXTERNAL: &str = "access_as_external";

/// What can be shared, the name of its table, and how.
const TYPES: [(&str, &[&str]); 5] = [
    ("address_group", &[SHARED]),
    ("address_scope", &[SHARED]),
    ("network", &[SHARED, EXTERNAL]),
    ("security_group", &[SHARED]),
    ("subnetpool", &[SHARED]),
];

pub static RBAC_KIND: Kind = Kind {
    name: "rbac_policy",
    index: |policy, keys| {
        keys.add("object_id", policy.text("object_id"));
        keys.add("project_id", policy.project());
        keys.add(
            "entry",
            format!(
                "{}/{}/{}",
                policy.text("object_id"),
                policy.text("action"),
                policy.text("target_tenant")
            ),
        );
    },
    blanks: &[],
};

pub static RBAC: Resource = Resource {
    kind: &RBAC_KIND,
    single: "rbac_policy",
    plural: "rbac_policies",
    path: "rbac-policies",
    attributes: &[
        Attribute::shown("id").filter(),
        Attribute::once("object_type", Check::With(object_type), Given::Null)
            .filter()
            .only(Who::Member),
        Attribute::once("object_id", Check::Uuid, Given::Required).filter().only(Who::Member),
        Attribute::open("target_tenant", Check::With(target), Given::Required).filter().only(
            Who::Rule(|_, who, policy| who.is_admin() || policy.text("target_tenant") != "*"),
        ),
        Attribute::once("tenant_id", Check::Text(255), Given::Unset).hidden(),
        Attribute::once("project_id", Check::Text(255), Given::Unset).filter(),
        Attribute::once("action", Check::Text(255), Given::Required).filter().only(Who::Member),
    ],
    not_found: ("RbacPolicyNotFound", "RBAC policy of type unknown with ID {} not found"),
    indexed: &["object_id", "project_id"],
    quota: Some("rbac_policy"),
    standard: Standard::NONE,
    create: Who::Member,
    update: Who::Member,
    delete: Who::Member,
    rules: &Policies,
};

fn object_type(value: &Value) -> Checked {
    let known = value.as_str().is_some_and(|text| TYPES.iter().any(|(name, _)| *name == text));
    if known {
        return Ok(value.clone());
    }
    Err(Fault::input(format!("'{}' is not a valid RBAC object type", python::str(value))).into())
}

fn target(value: &Value) -> Checked {
    if value.as_str().is_some_and(|text| text == "*" || check::is_uuid(text)) {
        return Ok(value.clone());
    }
    let shown = python::str(value);
    Err(Fault::input(format!("'{shown}' is not a valid target project ID; expected a UUID or '*'"))
        .into())
}

struct Policies;

impl Rules for Policies {
    fn create(&self, tx: &mut Tx<'_>, who: &Caller, policy: Object) -> Result<Object, Fault> {
        let (kind, action) = (policy.text("object_type"), policy.text("action"));
        let id = policy.text("object_id");
        let resource = crate::network::RESOURCES.iter().find(|resource| resource.single == kind);
        let object = resource.and_then(|resource| tx.get(resource.kind, id));
        let Some((_, object)) = resource.zip(object) else {
            let missing = resource.map_or_else(Fault::gone, |resource| resource.missing(id));
            return Err(Fault::input(missing.message.trim_end_matches('.')));
        };
        if !who.is_admin() && object.project() != who.project() {
            let message = "Only admins can manipulate policies on objects they do not own";
            return Err(Fault::input(message));
        }
        let actions = TYPES.iter().find(|(name, _)| *name == kind).map_or(&[][..], |(_, a)| a);
        if !actions.contains(&action) {
            let shown = python::tuple(actions);
            return Err(Fault::bad(
                "InvalidActionForType",
                format!(
                    "Invalid action '{action}' for object type '{kind}'. Valid actions: {shown}"
                ),
            ));
        }
        if entry(tx, id, action, policy.text("target_tenant")).is_some() {
            let message = "An RBAC policy already exists with those values.";
            return Err(Fault::conflict("DuplicateRbacPolicy", message));
        }
        if kind == "network" && action == EXTERNAL && !object.flag("router:external") {
            let mut network = object;
            network.set("router:external", true);
            standard::replace(tx, &NETWORK, network);
        }
        Ok(policy)
    }

    fn update(
        &self,
        tx: &mut Tx<'_>,
        _who: &Caller,
        before: &Object,
        _given: &Object,
        policy: Object,
    ) -> Result<Object, Fault> {
        if before.text("target_tenant") != policy.text("target_tenant") {
            unused(tx, before, Some(policy.text("target_tenant")))?;
            if before.text("object_type") == "network" {
                standard::touch(tx, &NETWORK, before.text("object_id"));
            }
        }
        Ok(policy)
    }

    fn created(&self, tx: &mut Tx<'_>, _who: &Caller, policy: &Object) -> Result<(), Fault> {
        if policy.text("object_type") == "network" {
            standard::touch(tx, &NETWORK, policy.text("object_id"));
        }
        Ok(())
    }

    fn delete(&self, tx: &mut Tx<'_>, _who: &Caller, policy: &Object) -> Result<(), Fault> {
        unused(tx, policy, None)?;
        if policy.text("object_type") != "network" {
            return Ok(());
        }
        let id = policy.text("object_id");
        let external =
            |other: &Object| other.id() != policy.id() && other.text("action") == EXTERNAL;
        let Some(mut network) = tx.get(NETWORK.kind, id) else { return Ok(()) };
        // With the last policy of that kind the network is external no more.
        if policy.text("action") == EXTERNAL
            && !tx.find(RBAC.kind, "object_id", id).any(|other| external(&other))
        {
            network.set("router:external", false);
            standard::replace(tx, &NETWORK, network);
        }
        standard::touch(tx, &NETWORK, id);
        Ok(())
    }

    fn unseen(&self, policy: &Object) -> Option<Fault> {
        let (id, kind) = (policy.id(), policy.text("object_type"));
        let message = format!("RBAC policy of type {kind} with ID {id} not found");
        Some(Fault::not_found("RbacPolicyNotFound", message))
    }

    fn present(&self, _state: &State, _config: &Config, _who: &Caller, policy: &mut Object) {
        policy.set("target_project", policy.get("target_tenant").clone());
    }
}

/// Whether nobody depends on the policy any more once it is gone, or is for another target.
fn unused(tx: &Tx<'_>, policy: &Object, instead: Option<&str>) -> Result<(), Fault> {
    if policy.text("object_type") != "network" {
        return Ok(());
    }
    let (id, action, target) =
        (policy.text("object_id"), policy.text("action"), policy.text("target_tenant"));
    let Some(network) = tx.get(NETWORK.kind, id) else { return Ok(()) };
    // Whoever else may: by another policy of the same kind, or as the owner.
    let others: Vec<Object> = tx
        .find(RBAC.kind, "object_id", id)
        .filter(|other| other.id() != policy.id() && other.text("action") == action)
        .collect();
    let may = |project: &str| {
        project == network.project()
            || instead.is_some_and(|target| target == "*" || target == project)
            || others.iter().any(|o| ["*", project].contains(&o.text("target_tenant")))
    };
    let concerned = |project: &str| target == "*" || target == project;
    let in_use = tx.find(PORT.kind, "network_id", id).find(|port| {
        let of_router = port.text("device_owner") == "network:router_gateway";
        let project = if of_router { owner_of_device(tx, port) } else { port.project().to_owned() };
        !project.is_empty()
            && of_router == (action == EXTERNAL)
            && concerned(&project)
            && !may(&project)
    });
    if in_use.is_none() {
        return Ok(());
    }
    let details = if action == EXTERNAL {
        "There are routers attached to this network that depend on this policy for access."
            .to_owned()
    } else {
        shared_by_many(id).message
    };
    Err(Fault::conflict(
        "RbacPolicyInUse",
        format!(
            "RBAC policy on object {id} cannot be removed because other objects depend on it.\n\
             Details: {details}"
        ),
    ))
}

/// The project of the router that a gateway port belongs to.
fn owner_of_device(tx: &Tx<'_>, port: &Object) -> String {
    let routers = crate::network::RESOURCES.iter().find(|resource| resource.single == "router");
    let router = routers.and_then(|routers| tx.get(routers.kind, port.text("device_id")));
    router.map(|router| router.project().to_owned()).unwrap_or_default()
}

/// The policy with exactly these values.
pub fn entry(state: &State, object: &str, action: &str, target: &str) -> Option<Object> {
    state.find(RBAC.kind, "entry", &format!("{object}/{action}/{target}")).next()
}

/// Whether the project, or everybody, has this access to the object.
pub fn grants(state: &State, object: &str, action: &str, project: &str) -> bool {
    let to = |target: &str| {
        let key = format!("{object}/{action}/{target}");
        state.find_ids(RBAC.kind, "entry", &key).next().is_some()
    };
    to("*") || (!project.is_empty() && to(project))
}

/// Gives a target access to an object, in the name of the object's owner.
pub fn grant(tx: &mut Tx<'_>, object: &Object, action: &str, target: &str) {
    if entry(tx, object.id(), action, target).is_some() {
        return;
    }
    let policy = json!({
        "id": tx.chance.uuid(),
        "project_id": object.project(),
        "object_type": "network",
        "object_id": object.id(),
        "action": action,
        "target_tenant": target,
    });
    tx.put(RBAC.kind, Object::from_value(policy));
}

/// Ends this access to an object for everybody.
pub fn revoke(tx: &mut Tx<'_>, object: &str, action: &str) {
    let entries: Vec<Object> = tx.find(RBAC.kind, "object_id", object).collect();
    for entry in entries.iter().filter(|entry| entry.text("action") == action) {
        tx.delete(RBAC.kind, entry.id());
    }
}

/// Ends all access: the object goes.
pub fn revoke_all(tx: &mut Tx<'_>, object: &str) {
    let entries: Vec<Object> = tx.find(RBAC.kind, "object_id", object).collect();
    for entry in entries {
        tx.delete(RBAC.kind, entry.id());
    }
}

/// The 409 of a network that several projects use.
pub fn shared_by_many(network: &str) -> Fault {
    Fault::conflict(
        "InvalidSharedSetting",
        format!(
            "Unable to reconfigure sharing settings for network {network}. Multiple projects are \
             using it."
        ),
    )
}
