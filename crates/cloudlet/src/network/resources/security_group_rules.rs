//! Rules of security groups: what may come in and go out.

pub(crate) mod protocol;

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::{Value, json};

use super::address_groups::ADDRESS_GROUP;
use super::rbac::{self, SHARED};
use super::security_groups::{GROUP, GROUP_KIND, is_default};
use crate::caller::Caller;
use crate::config::Config;
use crate::network::attribute::{Attribute, Given};
use crate::network::check::{Check, Checked};
use crate::network::fault::Fault;
use crate::network::python;
use crate::network::resource::{Resource, Rules, Standard};
use crate::network::standard;
use crate::network::who::Who;
use crate::object::Object;
use crate::state::{Blank, Kind, State, Tx};

pub static RULE_KIND: Kind = Kind {
    name: "security_group_rule",
    index: |rule, keys| {
        keys.add("security_group_id", rule.text("security_group_id"));
        keys.add("remote_group_id", rule.text("remote_group_id"));
        keys.add("remote_address_group_id", rule.text("remote_address_group_id"));
        keys.add("project_id", rule.project());
    },
    blanks: &[
        ("description", Blank::Text),
        ("port_range_min", Blank::Null),
        ("port_range_max", Blank::Null),
        ("protocol", Blank::Null),
        ("remote_group_id", Blank::Null),
        ("remote_address_group_id", Blank::Null),
        ("remote_ip_prefix", Blank::Null),
    ],
};

/// A member of the project whose group it is.
const GROUP_OWNER: Who = Who::Rule(|state, who, rule| {
    let group = state.get(&GROUP_KIND, rule.text("security_group_id"));
    who.is_admin() || group.is_some_and(|group| who.is_member_of(group.project()))
});

pub static RULE: Resource = Resource {
    kind: &RULE_KIND,
    single: "security_group_rule",
    plural: "security_group_rules",
    path: "security-group-rules",
    attributes: &[
        Attribute::shown("id").key(),
        Attribute::once("security_group_id", Check::Text(36), Given::Required).key(),
        Attribute::once("remote_group_id", Check::Any, Given::Null).key(),
        Attribute::once("direction", Check::OneOf(&["ingress", "egress"]), Given::Required).key(),
        Attribute::once("protocol", Check::With(protocol::convert), Given::Null).key(),
        Attribute::once("port_range_min", Check::With(port), Given::Null).key(),
        Attribute::once("port_range_max", Check::With(port), Given::Null).key(),
        Attribute::once("ethertype", Check::With(ethertype), Given::Text("IPv4")).key(),
        Attribute::once("remote_ip_prefix", Check::With(prefix), Given::Null).key(),
        Attribute::once("tenant_id", Check::Text(255), Given::Unset).hidden(),
        Attribute::once("project_id", Check::Text(255), Given::Unset).key(),
        Attribute::once("remote_address_group_id", Check::Any, Given::Null).key(),
        Attribute::shown("normalized_cidr").key(),
        Attribute::shown("belongs_to_default_sg").filter(),
    ],
    not_found: ("SecurityGroupRuleNotFound", "Security group rule {} does not exist"),
    indexed: &["security_group_id", "remote_group_id", "project_id"],
    quota: Some("security_group_rule"),
    standard: Standard::UNTAGGED,
    create: GROUP_OWNER,
    update: GROUP_OWNER,
    delete: GROUP_OWNER,
    rules: &GroupRules,
};

fn port(value: &Value) -> Checked {
    if value.is_null() {
        return Ok(Value::Null);
    }
    match python::int(value).filter(|port| (0..=65_535).contains(port)) {
        Some(port) => Ok(port.into()),
        None => Err(Fault::bad(
            "SecurityGroupInvalidPortValue",
            format!("Invalid value for port {}", python::str(value)),
        )
        .into()),
    }
}

fn ethertype(value: &Value) -> Checked {
    let known = ["IPv4", "IPv6"];
    let text = value.as_str().unwrap_or_default();
    if let Some(found) = known.iter().find(|known| known.eq_ignore_ascii_case(text)) {
        return Ok((*found).into());
    }
    Err(Fault::bad(
        "SecurityGroupRuleInvalidEtherType",
        format!(
            "Security group rule for ethertype '{}' not supported. Allowed values are \
             ['IPv4', 'IPv6'].",
            python::str(value)
        ),
    )
    .into())
}

/// A prefix, with its host bits as they came; an address is a prefix of its own.
fn prefix(value: &Value) -> Checked {
    let text = value.as_str().unwrap_or_default();
    if value.is_null() || value.as_str() == Some("") {
        return Ok(Value::Null);
    }
    let net = text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    match net {
        Some(net) => Ok(net.to_string().into()),
        None => Err(Fault::bad(
            "InvalidCIDR",
            format!("Invalid CIDR {} given as IP prefix.", python::str(value)),
        )
        .into()),
    }
}

/// The rules with which a group begins: everything may go out; among the members of the default
/// group everything may come in.
pub fn put_template(tx: &mut Tx<'_>, group: &Object, default: bool) {
    for (direction, among) in [("egress", false), ("ingress", true)] {
        for ethertype in ["IPv4", "IPv6"] {
            if among && !default {
                continue;
            }
            let rule = json!({
                "id": tx.chance.uuid(), "project_id": group.project(), "description": null,
                "security_group_id": group.id(), "direction": direction, "ethertype": ethertype,
                "remote_group_id": among.then(|| group.id()), "protocol": null,
                "port_range_min": null, "port_range_max": null, "remote_ip_prefix": null,
                "remote_address_group_id": null,
            });
            standard::insert(tx, &RULE, Object::from_value(rule));
        }
    }
}

/// The template as `GET default-security-group-rules` shows it.
pub fn template() -> Vec<Value> {
    let mut shown = Vec::new();
    for (number, (direction, ethertype)) in
        [("egress", "IPv4"), ("egress", "IPv6"), ("ingress", "IPv4"), ("ingress", "IPv6")]
            .into_iter()
            .enumerate()
    {
        let among = direction == "ingress";
        shown.push(json!({
            "id": format!("00000000-0000-4000-8000-00000000000{number}"), "description": null,
            "direction": direction, "ethertype": ethertype, "protocol": null,
            "port_range_min": null, "port_range_max": null, "remote_ip_prefix": null,
            "remote_address_group_id": null, "remote_group_id": among.then_some("PARENT"),
            "used_in_default_sg": true, "used_in_non_default_sg": !among,
        }));
    }
    shown
}

struct GroupRules;

impl Rules for GroupRules {
    fn parent(&self, state: &State, _who: &Caller, rule: &Object) -> Result<(), Fault> {
        GROUP.known(state, rule.text("security_group_id")).map(|_| ())
    }

    fn bulk(&self, objects: &[Object]) -> Result<(), Fault> {
        let group = |rule: &Object| rule.text("security_group_id").to_owned();
        if objects.windows(2).any(|pair| group(&pair[0]) != group(&pair[1])) {
            return Err(Fault::bad(
                "SecurityGroupNotSingleGroupRules",
                "Only allowed to update rules for one security profile at a time",
            ));
        }
        let keys: Vec<String> = objects.iter().map(key).collect();
        let twice = keys.iter().enumerate().any(|(at, key)| keys[..at].contains(key));
        if twice {
            let message = "Duplicate Security Group Rule in POST.";
            return Err(Fault::conflict("DuplicateSecurityGroupRuleInPost", message));
        }
        Ok(())
    }

    fn create(&self, tx: &mut Tx<'_>, who: &Caller, mut rule: Object) -> Result<Object, Fault> {
        protocol::canonical(&mut rule);
        protocol::ports(&rule)?;
        families(&rule)?;
        protocol::family(&rule)?;
        one_remote(&rule)?;
        let usable = |tx: &Tx<'_>, resource: &'static Resource, id: &str| {
            let object = resource.known(tx, id)?;
            let may = who.is_admin()
                || object.project() == rule.project()
                || rbac::grants(tx, id, SHARED, rule.project());
            if may { Ok(object) } else { Err(resource.missing(id)) }
        };
        for (attribute, resource) in
            [("remote_group_id", &GROUP), ("remote_address_group_id", &ADDRESS_GROUP)]
        {
            if !rule.get(attribute).is_null() {
                usable(tx, resource, &python::str(rule.get(attribute)))?;
            }
        }
        let group = usable(tx, &GROUP, rule.text("security_group_id"))?;
        let wanted = key(&rule);
        let mut others = tx.find(&RULE_KIND, "security_group_id", group.id());
        if let Some(same) = others.find(|other| key(other) == wanted) {
            return Err(Fault::conflict(
                "SecurityGroupRuleExists",
                format!("Security group rule already exists. Rule id is {}.", same.id()),
            ));
        }
        drop(others);
        standard::touch(tx, &GROUP, group.id());
        Ok(rule)
    }

    fn delete(&self, tx: &mut Tx<'_>, _who: &Caller, rule: &Object) -> Result<(), Fault> {
        standard::touch(tx, &GROUP, rule.text("security_group_id"));
        Ok(())
    }

    fn present(&self, state: &State, _config: &Config, _who: &Caller, rule: &mut Object) {
        let net = rule.text("remote_ip_prefix").parse::<IpNet>().ok();
        rule.set("normalized_cidr", net.map(|net| net.trunc().to_string()));
        let group = state.get(&GROUP_KIND, rule.text("security_group_id"));
        rule.set("belongs_to_default_sg", group.is_some_and(|group| is_default(&group)));
    }

    fn visible(&self, state: &State, who: &Caller, rule: &Object) -> bool {
        let group = || state.get(&GROUP_KIND, rule.text("security_group_id"));
        who.is_admin()
            || who.is_reader_of(rule.project())
            || group().is_some_and(|group| {
                who.is_reader_of(group.project())
                    || rbac::grants(state, group.id(), SHARED, who.project())
            })
    }

    fn hidden(&self, _missing: Fault) -> Fault {
        Fault::gone()
    }
}

/// Equal for rules that let the same through.
fn key(rule: &Object) -> String {
    let everything = ["0.0.0.0/0", "::/0"].contains(&rule.text("remote_ip_prefix"));
    let prefix = if everything { "" } else { rule.text("remote_ip_prefix") };
    let parts = [
        rule.text("direction").to_owned(),
        rule.text("ethertype").to_owned(),
        python::str(rule.get("port_range_min")),
        python::str(rule.get("port_range_max")),
        protocol::number_of(rule).map_or_else(|| "+".to_owned(), |number| number.to_string()),
        python::str(rule.get("remote_group_id")),
        python::str(rule.get("remote_address_group_id")),
        prefix.to_owned(),
    ];
    parts.join("_")
}

/// The prefix is of the family that the rule is for.
fn families(rule: &Object) -> Result<(), Fault> {
    let Ok(net) = rule.text("remote_ip_prefix").parse::<IpNet>() else { return Ok(()) };
    let six = matches!(net, IpNet::V6(_));
    if six == (rule.text("ethertype") == "IPv6") {
        return Ok(());
    }
    Err(Fault::bad(
        "SecurityGroupRuleParameterConflict",
        format!("Conflicting value ethertype {} for CIDR {net}", rule.text("ethertype")),
    ))
}

fn one_remote(rule: &Object) -> Result<(), Fault> {
    let names = ["remote_ip_prefix", "remote_group_id", "remote_address_group_id"];
    if names.iter().filter(|name| !rule.get(name).is_null()).count() < 2 {
        return Ok(());
    }
    Err(Fault::bad(
        "SecurityGroupMultipleRemoteEntites",
        "Only one of remote_ip_prefix or remote_group_id or remote_address_group_id may be provided.",
    ))
}
