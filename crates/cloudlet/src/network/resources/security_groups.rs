//! Security groups, and the group `default` that every project has.

use serde_json::{Value, json};

use super::ports::PORT;
use super::rbac::{self, SHARED};
use super::security_group_rules::{RULE, RULE_KIND, put_template};
use crate::caller::Caller;
use crate::config::Config;
use crate::network::attribute::{Attribute, Given};
use crate::network::check::{self, Check, Checked};
use crate::network::fault::Fault;
use crate::network::resource::{Resource, Rules, Standard};
use crate::network::standard;
use crate::network::who::Who;
use crate::object::Object;
use crate::state::{Blank, Kind, State, Tx};

/// The name of the group that every project has.
const DEFAULT: &str = "default";

pub static GROUP_KIND: Kind = Kind {
    name: "security_group",
    index: |group, keys| {
        keys.add("name", group.text("name"));
        keys.add("project_id", group.project());
        if group.text("name") == DEFAULT {
            keys.add("default_of", group.project());
        }
    },
    blanks: &[("description", Blank::Text), ("stateful", Blank::True), ("tags", Blank::List)],
};

pub static GROUP: Resource = Resource {
    kind: &GROUP_KIND,
    single: "security_group",
    plural: "security_groups",
    path: "security-groups",
    attributes: &[
        Attribute::shown("id").key(),
        Attribute::open("name", Check::With(name), Given::Text("")).key(),
        Attribute::once("tenant_id", Check::Text(255), Given::Unset).hidden(),
        Attribute::once("project_id", Check::Text(255), Given::Unset).key(),
        Attribute::open("stateful", Check::Flag, Given::Flag(true)).key(),
        Attribute::shown("shared").filter(),
        Attribute::shown("security_group_rules"),
    ],
    not_found: ("SecurityGroupNotFound", "Security group {} does not exist"),
    indexed: &["name", "project_id"],
    quota: Some("security_group"),
    // The rules that it begins with count as a change.
    standard: Standard::FULL.from(1),
    create: Who::Member,
    update: Who::Member,
    delete: Who::Member,
    rules: &Groups,
};

/// Any name but the one that is taken.
fn name(value: &Value) -> Checked {
    check::text(value, 255)?;
    if value.as_str().is_some_and(|name| name.eq_ignore_ascii_case(DEFAULT)) {
        let message = "Default security group already exists.";
        return Err(Fault::conflict("SecurityGroupDefaultAlreadyExists", message).into());
    }
    Ok(value.clone())
}

/// The id of the project's group `default`, which is made where there is none yet; `None` for what
/// belongs to no project.
pub fn default_of(tx: &mut Tx<'_>, _who: &Caller, project: &str) -> Option<String> {
    if project.is_empty() {
        return None;
    }
    let held = tx.find_ids(&GROUP_KIND, "default_of", project).next();
    if held.is_some() {
        return held;
    }
    let group = json!({
        "id": tx.chance.uuid(), "name": DEFAULT, "description": "Default security group",
        "project_id": project, "stateful": true, "tags": [],
    });
    let group = standard::insert(tx, &GROUP, Object::from_value(group));
    put_template(tx, &group, true);
    Some(group.id().to_owned())
}

/// Whether the group is the one that its project always has.
pub fn is_default(group: &Object) -> bool {
    group.text("name") == DEFAULT
}

struct Groups;

impl Rules for Groups {
    fn create(&self, tx: &mut Tx<'_>, who: &Caller, group: Object) -> Result<Object, Fault> {
        let project = group.project().to_owned();
        default_of(tx, who, &project);
        Ok(group)
    }

    fn created(&self, tx: &mut Tx<'_>, _who: &Caller, group: &Object) -> Result<(), Fault> {
        put_template(tx, group, false);
        Ok(())
    }

    fn update(
        &self,
        tx: &mut Tx<'_>,
        _who: &Caller,
        before: &Object,
        given: &Object,
        group: Object,
    ) -> Result<Object, Fault> {
        if is_default(before) && given.has("name") {
            let message = "Updating default security group not allowed.";
            return Err(Fault::conflict("SecurityGroupCannotUpdateDefault", message));
        }
        // Packets of a port are followed or not, by all of its groups.
        let turns = given.has("stateful") && before.flag("stateful") != group.flag("stateful");
        if turns && tx.find_ids(PORT.kind, "security_group", before.id()).next().is_some() {
            return Err(in_use(before.id()));
        }
        Ok(group)
    }

    fn delete(&self, tx: &mut Tx<'_>, who: &Caller, group: &Object) -> Result<(), Fault> {
        if tx.find_ids(PORT.kind, "security_group", group.id()).next().is_some() {
            return Err(in_use(group.id()));
        }
        if is_default(group) && !who.is_admin() {
            let message = "Insufficient rights for removing default security group.";
            return Err(Fault::conflict("SecurityGroupCannotRemoveDefault", message));
        }
        // Rules of others that name it as the other side go with it.
        for index in ["security_group_id", "remote_group_id"] {
            let rules: Vec<Object> = tx.find(&RULE_KIND, index, group.id()).collect();
            for rule in rules {
                tx.delete(&RULE_KIND, rule.id());
            }
        }
        rbac::revoke_all(tx, group.id());
        Ok(())
    }

    fn present(&self, state: &State, config: &Config, who: &Caller, group: &mut Object) {
        group.set("shared", rbac::grants(state, group.id(), SHARED, who.project()));
        let rules = state.find(&RULE_KIND, "security_group_id", group.id()).map(|mut rule| {
            RULE.rules.present(state, config, who, &mut rule);
            rule.set("tenant_id", rule.project().to_owned());
            rule.set("tags", json!([]));
            Value::from(rule)
        });
        let rules: Vec<Value> = rules.collect();
        group.set("security_group_rules", rules);
    }

    fn visible(&self, state: &State, who: &Caller, group: &Object) -> bool {
        who.is_admin()
            || who.is_reader_of(group.project())
            || rbac::grants(state, group.id(), SHARED, who.project())
    }

    fn listing(&self, tx: &mut Tx<'_>, who: &Caller) -> Result<(), Fault> {
        default_of(tx, who, who.project());
        Ok(())
    }
}

fn in_use(id: &str) -> Fault {
    Fault::conflict("SecurityGroupInUse", format!("Security Group {id} in use."))
}
