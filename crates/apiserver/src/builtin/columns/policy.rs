//! Kinds that say what may happen: roles, bindings, priorities, webhooks; and definitions.

use landbridge_machinery::object;
use landbridge_machinery::table::{Column, Columns, age};
use serde_json::Value;

use super::read::{count, join, list, number, text, text_or};

/// Kinds without a printer of their own show the moment of creation instead of an age.
pub(super) fn created_at() -> Columns {
    let created = Column::new("Created At", "When the server created the object.");
    Columns::Computed(vec![Column::name(), created.with_kind("date")], |it, _| {
        vec![object::name(it).into(), object::meta_str(it, "creationTimestamp").into()]
    })
}

pub(super) fn role_binding() -> Columns {
    let columns = vec![
        Column::name(),
        Column::new("Role", "The role that is granted."),
        Column::age(),
        Column::new("Users", "Users it is granted to.").wide(),
        Column::new("Groups", "Groups it is granted to.").wide(),
        Column::new("ServiceAccounts", "Service accounts it is granted to.").wide(),
    ];
    Columns::Computed(columns, |it, now| {
        let role = format!("{}/{}", text(&it["roleRef"]["kind"]), text(&it["roleRef"]["name"]));
        vec![
            object::name(it).into(),
            role.into(),
            age(it, now).into(),
            subjects(it, "User").into(),
            subjects(it, "Group").into(),
            subjects(it, "ServiceAccount").into(),
        ]
    })
}

fn subjects(binding: &Value, kind: &str) -> String {
    let name = |subject: &Value| match text(&subject["namespace"]) {
        namespace if kind == "ServiceAccount" && !namespace.is_empty() => {
            format!("{namespace}/{}", text(&subject["name"]))
        }
        _ => text(&subject["name"]).to_owned(),
    };
    let of_kind = list(&binding["subjects"]).iter().filter(|subject| subject["kind"] == kind);
    join(of_kind.map(name), ", ")
}

pub(super) fn priority_class() -> Columns {
    let columns = vec![
        Column::name(),
        Column::new("Value", "The priority; more is more important.").with_kind("integer"),
        Column::new("Global-Default", "Whether pods without a class get this one.")
            .with_kind("boolean"),
        Column::age(),
        Column::new("PreemptionPolicy", "Whether less important pods are made to go."),
    ];
    Columns::Computed(columns, |it, now| {
        vec![
            object::name(it).into(),
            number(&it["value"]).into(),
            (it["globalDefault"] == true).into(),
            age(it, now).into(),
            text_or(&it["preemptionPolicy"], "PreemptLowerPriority").into(),
        ]
    })
}

pub(super) fn webhook_configuration() -> Columns {
    let columns = vec![
        Column::name(),
        Column::new("Webhooks", "How many webhooks it configures.").with_kind("integer"),
        Column::age(),
    ];
    Columns::Computed(columns, |it, now| {
        vec![object::name(it).into(), count(&it["webhooks"]).into(), age(it, now).into()]
    })
}
