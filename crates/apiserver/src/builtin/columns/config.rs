//! Kinds that hold little more than data.

use landbridge_machinery::object;
use landbridge_machinery::table::{Column, Columns, age};

use super::read::{count, text};

pub(super) fn namespace() -> Columns {
    let columns = vec![
        Column::name(),
        Column::new("Status", "Where the namespace is in its life."),
        Column::age(),
    ];
    Columns::Computed(columns, |it, now| {
        vec![object::name(it).into(), text(&it["status"]["phase"]).into(), age(it, now).into()]
    })
}

pub(super) fn config_map() -> Columns {
    let columns =
        vec![Column::name(), Column::new("Data", "How many entries there are."), Column::age()];
    Columns::Computed(columns, |it, now| {
        let entries = count(&it["data"]) + count(&it["binaryData"]);
        vec![object::name(it).into(), entries.into(), age(it, now).into()]
    })
}

pub(super) fn secret() -> Columns {
    let columns = vec![
        Column::name(),
        Column::new("Type", "What the secret is for."),
        Column::new("Data", "How many entries there are."),
        Column::age(),
    ];
    Columns::Computed(columns, |it, now| {
        let entries = count(&it["data"]);
        vec![object::name(it).into(), text(&it["type"]).into(), entries.into(), age(it, now).into()]
    })
}

pub(super) fn service_account() -> Columns {
    let columns = vec![
        Column::name(),
        Column::new("Secrets", "How many secrets pods of this account may use."),
        Column::age(),
    ];
    Columns::Computed(columns, |it, now| {
        vec![object::name(it).into(), count(&it["secrets"]).into(), age(it, now).into()]
    })
}

pub(super) fn lease() -> Columns {
    let columns =
        vec![Column::name(), Column::new("Holder", "Who holds the lease now."), Column::age()];
    Columns::Computed(columns, |it, now| {
        let holder = text(&it["spec"]["holderIdentity"]);
        vec![object::name(it).into(), holder.into(), age(it, now).into()]
    })
}
