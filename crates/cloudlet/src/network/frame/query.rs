//! Lists and single objects: filters, sorting, pages, fields.

mod page;
mod select;

use std::cmp::Ordering;
use std::fmt::Write as _;

use http::StatusCode;
use serde_json::Value;

use self::page::Page;
use self::select::Filters;
use super::{show, wrapped};
use crate::caller::Caller;
use crate::network::fault::Fault;
use crate::network::python;
use crate::network::resource::Resource;
use crate::request::{Request, Response};
use crate::state::Tx;

pub fn one(
    tx: &Tx<'_>,
    who: &Caller,
    resource: &'static Resource,
    request: &Request,
    id: &str,
) -> Result<Response, Fault> {
    let object = resource.seen(tx, who, id)?;
    let fields = fields(request);
    let shown = show::show(tx, tx.config, who, resource, object, &fields);
    Ok(Response::json(StatusCode::OK, &wrapped(resource.single, shown)))
}

pub fn list(
    tx: &Tx<'_>,
    who: &Caller,
    resource: &'static Resource,
    request: &Request,
) -> Result<Response, Fault> {
    let fields = fields(request);
    let filters = Filters::read(tx.config, resource, request)?;
    let sorts = sorts(tx, resource, request)?;
    let page = Page::read(tx.config, request)?;

    if let Some(marker) = page.marker() {
        resource.seen(tx, who, marker)?;
    }
    // Of those that pass only what they are sorted by is kept: a list of all ports must not take the
    // room of all ports.
    let mut found: Vec<Found> = Vec::new();
    for id in filters.candidates(tx, resource) {
        let Some(mut object) = tx.get(resource.kind, &id) else { continue };
        if !filters.may_hold(&object) || !resource.rules.visible(tx, who, &object) {
            continue;
        }
        resource.rules.present(tx, tx.config, who, &mut object);
        if filters.hold(tx, resource, &object) {
            let keys = sorts.iter().map(|(key, _)| object.get(key).clone()).collect();
            found.push(Found { id, keys });
        }
    }
    found.sort_by(|a, b| by(&sorts, a, b).then_with(|| a.id.cmp(&b.id)));
    let shown: Vec<String> = page.cut(found.into_iter().map(|found| found.id).collect());
    let mut body = format!("{{\"{}\": [", resource.plural);
    for (at, id) in shown.iter().enumerate() {
        let Some(object) = tx.get(resource.kind, id) else { continue };
        let shown = show::show(tx, tx.config, who, resource, object, &fields);
        body.push_str(if at == 0 { "" } else { ", " });
        body.push_str(&shown.to_string());
    }
    body.push(']');
    if let Some(links) = page.links(request, &shown) {
        let _ = write!(body, ", \"{}_links\": {links}", resource.plural); // text takes everything
    }
    body.push('}');
    Ok(Response { status: StatusCode::OK, headers: Vec::new(), body: body.into() })
}

/// An object that passes the filters: its id, and what it is sorted by.
struct Found {
    id: String,
    keys: Vec<Value>,
}

fn fields(request: &Request) -> Vec<&str> {
    request.query_all("fields").filter(|name| !name.is_empty()).collect()
}

/// Attribute and whether ascending, in the order of importance.
type Sorts = Vec<(String, bool)>;

fn sorts(tx: &Tx<'_>, resource: &'static Resource, request: &Request) -> Result<Sorts, Fault> {
    let given = |name| request.query_all(name).filter(|value| !value.is_empty());
    let keys: Vec<&str> = given("sort_key").collect();
    let dirs: Vec<&str> = given("sort_dir").collect();
    if keys.len() != dirs.len() {
        return Err(Fault::request("The number of sort_keys and sort_dirs must be same"));
    }
    let sortable = |name: &str| {
        let name = if name == "tenant_id" { "project_id" } else { name };
        resource.table(tx.config).any(|attribute| attribute.sort && attribute.name == name)
    };
    let unknown: Vec<&str> = keys.iter().copied().filter(|key| !sortable(key)).collect();
    if !unknown.is_empty() {
        let shown = python::repr(&unknown.into());
        return Err(Fault::request(format!("{shown} is invalid attribute for sort_keys")));
    }
    let wrong: Vec<&str> = dirs.iter().copied().filter(|d| !["asc", "desc"].contains(d)).collect();
    if !wrong.is_empty() {
        return Err(Fault::request(format!(
            "{} is invalid value for sort_dirs, valid value is 'asc' and 'desc'",
            python::repr(&wrong.into())
        )));
    }
    let named = keys.iter().zip(dirs).map(|(key, dir)| {
        let key = if *key == "tenant_id" { "project_id" } else { key };
        (key.to_owned(), dir == "asc")
    });
    Ok(named.collect())
}

fn by(sorts: &Sorts, a: &Found, b: &Found) -> Ordering {
    for ((_, ascending), (a, b)) in sorts.iter().zip(a.keys.iter().zip(&b.keys)) {
        let order = compare(a, b);
        if order != Ordering::Equal {
            return if *ascending { order } else { order.reverse() };
        }
    }
    Ordering::Equal
}

/// `null` first, numbers by size, texts by letters.
fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Number(a), Value::Number(b)) => a.as_i64().cmp(&b.as_i64()),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        _ => python::str(a).cmp(&python::str(b)),
    }
}
