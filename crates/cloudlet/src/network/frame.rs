//! What is the same for every resource: from a call to an answer, by the resource's table.
//!
//! The order is Neutron's, because it decides which of several mistakes a client hears of: body,
//! quota, the object, policy, revision, and then the resource's own rules.

mod body;
mod policy;
mod query;
mod show;
mod tags;
mod write;

use http::{Method, StatusCode};
use serde_json::{Value, json};

pub use self::policy::{Action, allowed};
pub use self::show::show;
use super::fault::Fault;
use super::resource::Resource;
use crate::caller::Caller;
use crate::request::{Request, Response};
use crate::state::Tx;

/// Answers a call to a resource; `rest` is the path after the resource's name.
pub fn answer(
    tx: &mut Tx<'_>,
    who: &Caller,
    resource: &'static Resource,
    request: &Request,
    rest: &[&str],
) -> Result<Response, Fault> {
    match (&request.method, rest) {
        (&Method::GET, []) => {
            resource.rules.listing(tx, who)?;
            query::list(tx, who, resource, request)
        }
        (&Method::POST, []) => write::create(tx, who, resource, request),
        (&Method::GET, [id]) => query::one(tx, who, resource, request, id),
        (&Method::PUT, [id]) => write::update(tx, who, resource, request, id),
        (&Method::DELETE, [id]) => write::delete(tx, who, resource, request, id),
        // Neutron looks for the object before it looks at the method.
        (&Method::PUT, []) => write::update(tx, who, resource, request, "None"),
        (&Method::DELETE, []) => Err(resource.missing("None")),
        (_, [] | [_]) => Err(Fault::method()),
        (method, [id, "tags"]) if resource.standard.tags => {
            tags::all(tx, who, resource, method, id, &request.body)
        }
        (method, [id, "tags", tag]) if resource.standard.tags => {
            tags::one(tx, who, resource, method, id, tag)
        }
        (_, [_, "tags", ..]) => Err(Fault::gone()),
        (&Method::PUT | &Method::GET, [id, action]) => {
            let body = match (request.method == Method::PUT, request.body.is_empty()) {
                (true, true) => json!({}),
                (true, false) => body::json(request)?,
                (false, _) => Value::Null,
            };
            action_on(tx, who, resource, id, action, &body)
        }
        (_, _) => Err(Fault::gone()),
    }
}

fn action_on(
    tx: &mut Tx<'_>,
    who: &Caller,
    resource: &'static Resource,
    id: &str,
    action: &str,
    body: &Value,
) -> Result<Response, Fault> {
    let object = resource.seen(tx, who, id)?;
    match resource.rules.action(tx, who, &object, action, body) {
        Some(done) => Ok(Response::json(StatusCode::OK, &done?)),
        None => Err(Fault::gone()),
    }
}

/// A body with one member.
fn wrapped(name: &str, value: Value) -> Value {
    Value::Object(serde_json::Map::from_iter([(name.to_owned(), value)]))
}
