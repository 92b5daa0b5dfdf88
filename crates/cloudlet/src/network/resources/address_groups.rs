//! Address groups: prefixes under one name, for rules of security groups.

use serde_json::{Value, json};

use super::rbac::{self, SHARED};
use super::security_group_rules::RULE_KIND;
use crate::caller::Caller;
use crate::config::Config;
use crate::network::attribute::{Attribute, Given};
use crate::network::check::{Check, Wrong};
use crate::network::fault::Fault;
use crate::network::python;
use crate::network::resource::{Resource, Rules, Standard};
use crate::network::standard;
use crate::network::who::Who;
use crate::object::Object;
use crate::state::{Kind, State, Tx};

pub static ADDRESS_GROUP_KIND: Kind = Kind {
    name: "address_group",
    index: |group, keys| {
        keys.add("name", group.text("name"));
        keys.add("project_id", group.project());
    },
    blanks: &[],
};

pub static ADDRESS_GROUP: Resource = Resource {
    kind: &ADDRESS_GROUP_KIND,
    single: "address_group",
    plural: "address_groups",
    path: "address-groups",
    attributes: &[
        Attribute::shown("id").key(),
        Attribute::open("name", Check::Text(255), Given::Text("")).key(),
        Attribute::once("tenant_id", Check::Text(255), Given::Unset).hidden(),
        Attribute::once("project_id", Check::Text(255), Given::Unset).key(),
        Attribute::once("addresses", Check::Cidrs, Given::List),
    ],
    not_found: ("AddressGroupNotFound", "Address group {} could not be found."),
    indexed: &["name", "project_id"],
    quota: None,
    standard: Standard::UNTAGGED,
    create: Who::Member,
    update: Who::Member,
    delete: Who::Member,
    rules: &AddressGroups,
};

struct AddressGroups;

impl Rules for AddressGroups {
    fn created(&self, tx: &mut Tx<'_>, _who: &Caller, group: &Object) -> Result<(), Fault> {
        // Every address that it begins with counts as a change.
        for _ in group.list("addresses") {
            standard::touch(tx, &ADDRESS_GROUP, group.id());
        }
        Ok(())
    }

    fn delete(&self, tx: &mut Tx<'_>, _who: &Caller, group: &Object) -> Result<(), Fault> {
        let id = group.id();
        if tx.find_ids(&RULE_KIND, "remote_address_group_id", id).next().is_some() {
            return Err(Fault::conflict(
                "AddressGroupInUse",
                format!("Address group {id} is in use on one or more security group rules."),
            ));
        }
        rbac::revoke_all(tx, id);
        Ok(())
    }

    fn visible(&self, state: &State, who: &Caller, group: &Object) -> bool {
        who.is_admin()
            || who.is_reader_of(group.project())
            || rbac::grants(state, group.id(), SHARED, who.project())
    }

    fn action(
        &self,
        tx: &mut Tx<'_>,
        who: &Caller,
        group: &Object,
        action: &str,
        body: &Value,
    ) -> Option<Result<Value, Fault>> {
        let adds = match action {
            "add_addresses" => true,
            "remove_addresses" => false,
            _ => return None,
        };
        if body.is_null() {
            return Some(Err(Fault::method()));
        }
        if !Who::Member.includes(tx, who, group) {
            return Some(Err(Fault::policy(format!("rule:{action}"))));
        }
        Some(change(tx, who, group, body.get("addresses").unwrap_or(&Value::Null), adds))
    }
}

/// Adds addresses, none of which may be there, or removes some, all of which have to be.
fn change(
    tx: &mut Tx<'_>,
    who: &Caller,
    group: &Object,
    given: &Value,
    adds: bool,
) -> Result<Value, Fault> {
    let wrong = given.as_array().and_then(|items| {
        let is_net =
            |item: &&Value| item.as_str().is_some_and(|text| text.parse::<ipnet::IpNet>().is_ok());
        items.iter().find(|item| !is_net(item))
    });
    if let Some(wrong) = wrong {
        let message = format!("invalid IPNetwork {}", python::str(wrong));
        return Err(Fault::bad("AddrFormatError", message));
    }
    let given = Check::Cidrs.run(given).map_err(|wrong| match wrong {
        Wrong::Reason(reason) => Fault::input(reason),
        Wrong::Fault(fault) => fault,
    })?;
    let given: Vec<Value> = given.as_array().cloned().unwrap_or_default();
    let held = group.list("addresses").to_vec();
    let wrong: Vec<Value> =
        given.iter().filter(|address| held.contains(address) == adds).cloned().collect();
    if !wrong.is_empty() {
        let shown = python::repr(&Value::Array(wrong));
        return Err(if adds {
            let message =
                format!("Addresses {shown} already exist in the address group {}.", group.id());
            Fault::bad("AddressesAlreadyExist", message)
        } else {
            let message =
                format!("Addresses {shown} not found in the address group {}.", group.id());
            Fault::not_found("AddressesNotFound", message)
        });
    }
    let mut group = group.clone();
    let addresses: Vec<Value> = if adds {
        held.into_iter().chain(given.iter().cloned()).collect()
    } else {
        held.into_iter().filter(|address| !given.contains(address)).collect()
    };
    group.set("addresses", addresses);
    for _ in 1..given.len() {
        let revision = group.number("revision_number").unwrap_or(0);
        group.set("revision_number", revision + 1);
    }
    let group = standard::replace(tx, &ADDRESS_GROUP, group);
    Ok(json!({"address_group": shown(tx, who, group)}))
}

fn shown(tx: &Tx<'_>, who: &Caller, group: Object) -> Value {
    let config: &Config = tx.config;
    let shared = rbac::grants(tx, group.id(), SHARED, who.project());
    let mut shown = crate::network::frame::show(tx, config, who, &ADDRESS_GROUP, group, &[]);
    // Neutron tells of it only here.
    shown["shared"] = shared.into();
    shown
}
