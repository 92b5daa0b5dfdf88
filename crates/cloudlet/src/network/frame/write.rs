//! Creates, updates and deletes.

use http::StatusCode;
use serde_json::Value;

use super::policy::{Action, allowed};
use super::{body, show, wrapped};
use crate::caller::Caller;
use crate::network::fault::Fault;
use crate::network::quota;
use crate::network::resource::Resource;
use crate::network::standard;
use crate::object::Object;
use crate::request::{Request, Response};
use crate::state::Tx;

pub fn create(
    tx: &mut Tx<'_>,
    who: &Caller,
    resource: &'static Resource,
    request: &Request,
) -> Result<Response, Fault> {
    let wanted = body::create(tx.config, who, resource, request)?;
    quota::room(tx, resource, &wanted.objects)?;
    for object in &wanted.objects {
        allowed(tx, tx.config, who, resource, Action::Create, object, object)?;
    }
    resource.rules.bulk(&wanted.objects)?;
    let mut made = Vec::with_capacity(wanted.objects.len());
    for object in wanted.objects {
        made.push(standard::create(tx, who, resource, object)?);
    }
    let shown = |object: Object| {
        let mut shown = show::show(tx, tx.config, who, resource, object.clone(), &[]);
        resource.rules.answered(&object, &mut shown);
        shown
    };
    let mut made: Vec<Value> = made.into_iter().map(shown).collect();
    let body = match (wanted.bulk, made.pop()) {
        (false, Some(one)) => wrapped(resource.single, one),
        (_, last) => wrapped(resource.plural, made.into_iter().chain(last).collect()),
    };
    Ok(Response::json(StatusCode::CREATED, &body))
}

pub fn update(
    tx: &mut Tx<'_>,
    who: &Caller,
    resource: &'static Resource,
    request: &Request,
    id: &str,
) -> Result<Response, Fault> {
    let given = body::update(tx.config, who, resource, request)?;
    let before = resource.seen(tx, who, id)?;
    let mut object = before.clone();
    object.merge(given.clone());
    allowed(tx, tx.config, who, resource, Action::Update, &object, &given)?;
    constraint(request, &before)?;
    let object = resource.rules.update(tx, who, &before, &given, object)?;
    let object = keep(tx, resource, &before, object);
    let mut shown = show::show(tx, tx.config, who, resource, object.clone(), &[]);
    resource.rules.updated(&object, &mut shown);
    Ok(Response::json(StatusCode::OK, &wrapped(resource.single, shown)))
}

/// Writes what changed: a new revision for a change of the object, only a new time for a change of
/// what belongs to it, nothing for no change.
fn keep(
    tx: &mut Tx<'_>,
    resource: &'static Resource,
    before: &Object,
    mut object: Object,
) -> Object {
    // The rules may have counted a change already (a network by its RBAC policies): once is enough.
    if let Some(now) = tx.get(resource.kind, before.id())
        && now.get("revision_number") != before.get("revision_number")
    {
        for name in ["revision_number", "updated_at"] {
            object.set(name, now.get(name).clone());
        }
        tx.put(resource.kind, object.clone());
        return object;
    }
    let changed = |name: &&String| object.get(name) != before.get(name);
    let names: Vec<String> = object.0.keys().filter(changed).cloned().collect();
    if names.iter().any(|name| resource.rules.counts(name)) {
        return standard::replace(tx, resource, object);
    }
    if !names.is_empty() && resource.standard.attributes {
        object.set("updated_at", tx.timestamp());
    }
    if names.iter().any(|name| resource.rules.counts_late(name)) {
        standard::replace(tx, resource, object.clone());
        return object;
    }
    tx.put(resource.kind, object.clone());
    object
}

pub fn delete(
    tx: &mut Tx<'_>,
    who: &Caller,
    resource: &'static Resource,
    request: &Request,
    id: &str,
) -> Result<Response, Fault> {
    let object = resource.seen(tx, who, id)?;
    allowed(tx, tx.config, who, resource, Action::Delete, &object, &Object::new())?;
    if !request.body.is_empty() {
        return Err(Fault::request("Request body is not supported in DELETE."));
    }
    constraint(request, &object)?;
    resource.rules.delete(tx, who, &object)?;
    tx.delete(resource.kind, id);
    Ok(Response::empty(StatusCode::NO_CONTENT))
}

/// `If-Match: revision_number=N`.
fn constraint(request: &Request, object: &Object) -> Result<(), Fault> {
    let Some(header) = request.header_text("if-match") else { return Ok(()) };
    let tags = header.split(',').map(|tag| tag.trim().trim_matches('"'));
    let mut wanted = tags.filter_map(|tag| tag.strip_prefix("revision_number="));
    let Some(number) = wanted.next() else { return Ok(()) };
    if wanted.next().is_some() {
        let message = "Multiple revision_number etags are not supported";
        return Err(Fault::bad_resource("if-match", message));
    }
    let Ok(number) = number.parse::<i64>() else {
        let message = "Revision number etag must be in the format of revision_number=<int>";
        return Err(Fault::bad_resource("if-match", message));
    };
    let current = object.number("revision_number").unwrap_or(0);
    if number != current {
        return Err(Fault::new(
            412,
            "RevisionNumberConstraintFailed",
            format!("Constrained to {number}, but current revision is {current}"),
        ));
    }
    Ok(())
}
