//! What a server's owner writes on it: names and values.

use http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::Call;
use super::refusal::Refusal;
use super::servers::{SERVER, changeable, known};
use crate::request::Response;
use crate::state::Tx;

/// Nova's bounds.
const ITEMS: usize = 128;
const LENGTH: usize = 255;

/// `servers/{id}/metadata[/{name}]`
pub fn route(
    tx: &mut Tx<'_>,
    call: &Call<'_>,
    id: &str,
    rest: &[&str],
) -> Result<Response, Refusal> {
    let method = &call.request.method;
    let mut server =
        if *method == Method::GET { known(tx, call, id)? } else { changeable(tx, call, id)? };
    let mut held = server.get("metadata").as_object().cloned().unwrap_or_default();
    let missing = || Refusal::missing("Metadata item was not found");
    let body = match (method, rest) {
        (&Method::GET, []) => return Ok(ok(&json!({ "metadata": held }))),
        (&Method::GET, [name]) => {
            let value = held.get(*name).ok_or_else(missing)?;
            return Ok(ok(&json!({"meta": {*name: value}})));
        }
        (&Method::POST, []) => {
            held.extend(given(call, "metadata")?);
            json!({ "metadata": held })
        }
        (&Method::PUT, []) => {
            held = given(call, "metadata")?;
            json!({ "metadata": held })
        }
        (&Method::PUT, [name]) => {
            let given = given(call, "meta")?;
            if given.len() != 1 || !given.contains_key(*name) {
                return Err(Refusal::bad("Request body and URI mismatch"));
            }
            let body = json!({ "meta": given });
            held.extend(given);
            body
        }
        (&Method::DELETE, [name]) => {
            held.remove(*name).ok_or_else(missing)?;
            Value::Null
        }
        _ => return Err(Refusal::gone()),
    };
    if held.len() > ITEMS {
        return Err(Refusal::new(403, format!("Maximum number of metadata items exceeds {ITEMS}")));
    }
    server.set("metadata", held);
    server.set("updated", tx.timestamp());
    tx.put(&SERVER, server);
    Ok(if body.is_null() { Response::empty(StatusCode::NO_CONTENT) } else { ok(&body) })
}

fn ok(body: &Value) -> Response {
    Response::json(StatusCode::OK, body)
}

/// The names and values of the body.
fn given(call: &Call<'_>, name: &str) -> Result<Map<String, Value>, Refusal> {
    let mut body = call.body()?;
    check(body[name].take())
}

/// Names and values as Nova takes them.
pub fn check(given: Value) -> Result<Map<String, Value>, Refusal> {
    let short = |text: &str| text.len() <= LENGTH;
    let right = |(name, value): (&String, &Value)| {
        !name.is_empty() && short(name) && value.as_str().is_some_and(short)
    };
    match given {
        Value::Object(map) if map.iter().all(right) => Ok(map),
        other => Err(Refusal::bad(format!(
            "Invalid input for field/attribute metadata. Value: {other}. It has names and values of up to {LENGTH} \
             characters"
        ))),
    }
}
