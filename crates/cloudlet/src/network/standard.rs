//! What most resources have: ids, times, revisions. Rules that make or change objects of other
//! resources do it through these, so that no object is without.

use super::attribute::Given;
use super::fault::Fault;
use super::resource::Resource;
use crate::caller::Caller;
use crate::object::Object;
use crate::state::Tx;

/// Creates an object as a call would, but for policy and quota: with defaults, rules and all. This
/// is how a router makes its ports.
pub fn create(
    tx: &mut Tx<'_>,
    who: &Caller,
    resource: &'static Resource,
    mut object: Object,
) -> Result<Object, Fault> {
    for attribute in resource.attributes {
        if attribute.post
            && attribute.given != Given::Required
            && !object.has(attribute.name)
            && let Some(value) = attribute.given.value()
        {
            object.set(attribute.name, value);
        }
    }
    if !object.has("id") {
        let id = tx.chance.uuid();
        object.set("id", id);
    }
    if !object.has("project_id") {
        object.set("project_id", who.project());
    }
    let object = resource.rules.create(tx, who, object)?;
    let object = insert(tx, resource, object);
    resource.rules.created(tx, who, &object)?;
    Ok(tx.get(resource.kind, object.id()).unwrap_or(object))
}

/// Writes a new object, with times and revision.
pub fn insert(tx: &mut Tx<'_>, resource: &'static Resource, mut object: Object) -> Object {
    object.remove("tenant_id"); // shown beside project_id, never kept
    if resource.standard.attributes {
        let now = tx.timestamp();
        object.set("created_at", now.clone());
        object.set("updated_at", now);
        object.set("revision_number", resource.standard.revision);
    }
    tx.put(resource.kind, object.clone());
    object
}

/// Writes a changed object, with a new time and revision.
pub fn replace(tx: &mut Tx<'_>, resource: &'static Resource, mut object: Object) -> Object {
    object.remove("tenant_id");
    if resource.standard.attributes {
        object.set("updated_at", tx.timestamp());
        object.set("revision_number", object.number("revision_number").unwrap_or(0) + 1);
    }
    tx.put(resource.kind, object.clone());
    object
}

/// Says that an object changed because one of its parts did (a network by a subnet).
pub fn touch(tx: &mut Tx<'_>, resource: &'static Resource, id: &str) {
    if let Some(object) = tx.get(resource.kind, id) {
        replace(tx, resource, object);
    }
}
