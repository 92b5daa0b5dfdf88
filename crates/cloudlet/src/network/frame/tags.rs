//! Tags: words that clients put on objects.

use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::network::check::{self, Check, Wrong};
use crate::network::fault::Fault;
use crate::network::resource::Resource;
use crate::network::standard;
use crate::network::who::Who;
use crate::object::Object;
use crate::request::Response;
use crate::state::Tx;

/// The longest tag.
const LONGEST: usize = 255;
/// The most tags of one object.
const MOST: usize = 50;

/// `/{path}/{id}/tags`
pub fn all(
    tx: &mut Tx<'_>,
    who: &Caller,
    resource: &'static Resource,
    method: &Method,
    id: &str,
    body: &Bytes,
) -> Result<Response, Fault> {
    match *method {
        Method::GET => {
            let object = tagged(tx, who, resource, "get", id)?;
            Ok(Response::json(StatusCode::OK, &json!({"tags": object.list("tags")})))
        }
        Method::PUT | Method::POST => {
            let body: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
            let given = given(&body)?;
            let word = if *method == Method::PUT { "update" } else { "create" };
            let object = tagged(tx, who, resource, word, id)?;
            let mut tags: Vec<String> = match *method {
                Method::POST => object.texts("tags").map(str::to_owned).collect(),
                _ => Vec::new(),
            };
            tags.extend(given);
            write(tx, resource, object, tags)?;
            Ok(Response::json(StatusCode::OK, &body))
        }
        Method::DELETE => {
            let object = tagged(tx, who, resource, "delete", id)?;
            write(tx, resource, object, Vec::new())?;
            Ok(Response::empty(StatusCode::NO_CONTENT))
        }
        _ => Err(Fault::method()),
    }
}

/// `/{path}/{id}/tags/{tag}`
pub fn one(
    tx: &mut Tx<'_>,
    who: &Caller,
    resource: &'static Resource,
    method: &Method,
    id: &str,
    tag: &str,
) -> Result<Response, Fault> {
    check::text(&tag.into(), LONGEST).map_err(input)?;
    let word = match *method {
        Method::GET => "get",
        Method::PUT => "update",
        Method::DELETE => "delete",
        _ => return Err(Fault::method()),
    };
    let object = tagged(tx, who, resource, word, id)?;
    let mut tags: Vec<String> = object.texts("tags").map(str::to_owned).collect();
    let held = tags.iter().position(|held| held == tag);
    match (method, held) {
        (&Method::PUT, _) => {
            tags.push(tag.to_owned());
            write(tx, resource, object, tags)?;
            Ok(Response::empty(StatusCode::CREATED))
        }
        (_, None) => Err(Fault::not_found("TagNotFound", format!("Tag {tag} could not be found."))),
        (&Method::DELETE, Some(at)) => {
            tags.remove(at);
            write(tx, resource, object, tags)?;
            Ok(Response::empty(StatusCode::NO_CONTENT))
        }
        (_, Some(_)) => Ok(Response::empty(StatusCode::NO_CONTENT)),
    }
}

/// The object, if the caller may do this to its tags.
fn tagged(
    tx: &Tx<'_>,
    who: &Caller,
    resource: &'static Resource,
    word: &str,
    id: &str,
) -> Result<Object, Fault> {
    let none = || {
        let message = format!("Resource {} {id} could not be found.", resource.plural);
        Fault::not_found("TagResourceNotFound", message)
    };
    let object = tx.get(resource.kind, id).ok_or_else(none)?;
    let reading = word == "get";
    let may = if reading {
        resource.rules.visible(tx, who, &object)
    } else {
        Who::Member.includes(tx, who, &object)
    };
    if may {
        return Ok(object);
    }
    Err(Fault::policy(format!("rule:{word}_{}:tags", resource.single)))
}

fn given(body: &Value) -> Result<Vec<String>, Fault> {
    let Some(tags) = body.get("tags") else { return Err(Fault::input("Invalid tags body")) };
    Check::Texts(LONGEST).run(tags).map_err(input)?;
    let texts = tags.as_array().into_iter().flatten().filter_map(Value::as_str);
    Ok(texts.map(str::to_owned).collect())
}

fn input(wrong: Wrong) -> Fault {
    match wrong {
        Wrong::Reason(reason) => Fault::input(reason),
        Wrong::Fault(fault) => fault,
    }
}

fn write(
    tx: &mut Tx<'_>,
    resource: &'static Resource,
    mut object: Object,
    mut tags: Vec<String>,
) -> Result<(), Fault> {
    tags.sort_unstable();
    tags.dedup();
    if tags.len() > MOST {
        let message = format!("The number of tags exceed the per-resource limit of {MOST}");
        return Err(Fault::bad_resource(resource.plural, message));
    }
    if object.texts("tags").ne(tags.iter().map(String::as_str)) {
        object.set("tags", tags);
        standard::replace(tx, resource, object);
    }
    Ok(())
}
