//! Flavors: how large a server is.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::refusal::Refusal;
use super::{Call, other};
use crate::object::Object;
use crate::request::Response;
use crate::state::{Kind, State, Tx};

pub static FLAVOR: Kind = Kind {
    name: "flavor",
    index: |flavor, keys| keys.add("name", flavor.text("name")),
    blanks: &[],
};

/// The largest number that Nova takes for RAM, disk and the like.
const MOST: i64 = 2_147_483_647;

pub fn route(tx: &mut Tx<'_>, call: &Call<'_>, parts: &[&str]) -> Result<Response, Refusal> {
    match (&call.request.method, parts) {
        (&Method::GET, []) => Ok(list(tx, call, false)),
        (&Method::GET, ["detail"]) => Ok(list(tx, call, true)),
        (&Method::POST, []) => create(tx, call),
        (&Method::GET, [id]) => {
            let flavor = known(tx, call, id)?;
            Ok(ok(&json!({"flavor": shown(call, &flavor)})))
        }
        (&Method::DELETE, [id]) => {
            call.admin("os_compute_api:os-flavor-manage:delete")?;
            let flavor = known(tx, call, id)?;
            tx.delete(&FLAVOR, flavor.id());
            Ok(Response::empty(StatusCode::ACCEPTED))
        }
        (method, [id, "os-extra_specs", rest @ ..]) => specs(tx, call, method, id, rest),
        (&Method::GET, [id, "os-flavor-access"]) => {
            call.admin("os_compute_api:os-flavor-access")?;
            known(tx, call, id)?;
            Ok(ok(&json!({"flavor_access": []})))
        }
        _ => Err(Refusal::gone()),
    }
}

fn ok(body: &Value) -> Response {
    Response::json(StatusCode::OK, body)
}

/// The flavor, if it is there for the caller.
fn known(state: &State, call: &Call<'_>, id: &str) -> Result<Object, Refusal> {
    let flavor = state.get(&FLAVOR, id);
    let seen = flavor.filter(|flavor| flavor.flag("is_public") || call.who.is_admin());
    seen.ok_or_else(|| Refusal::missing(format!("Flavor {id} could not be found.")))
}

fn list(tx: &Tx<'_>, call: &Call<'_>, detail: bool) -> Response {
    let admin = call.who.is_admin();
    let wanted = call.request.query_one("is_public").map(str::to_lowercase);
    let seen = |flavor: &Object| match (admin, wanted.as_deref()) {
        (true, Some("none")) => true,
        (true, Some("false")) => !flavor.flag("is_public"),
        _ => flavor.flag("is_public"),
    };
    let mut flavors: Vec<Object> = tx.all(&FLAVOR).filter(seen).collect();
    flavors.sort_by_key(|flavor| (flavor.number("ram"), flavor.id().to_owned()));
    let flavors = other::page(call, flavors);
    let shown = |flavor: &Object| {
        if detail {
            return shown(call, flavor);
        }
        json!({"id": flavor.id(), "name": flavor.text("name"), "links": links(call, flavor.id())})
    };
    ok(&json!({"flavors": flavors.iter().map(shown).collect::<Vec<_>>()}))
}

fn links(call: &Call<'_>, id: &str) -> Value {
    json!([
        {"rel": "self", "href": call.url(&format!("flavors/{id}"))},
        {"rel": "bookmark", "href": format!("{}/flavors/{id}", call.request.base)},
    ])
}

/// What a reference to a flavor says.
pub fn reference(call: &Call<'_>, flavor: &Object) -> Value {
    if !call.micro.has(47) {
        return json!({"id": flavor.id(), "links": links(call, flavor.id())});
    }
    json!({
        "original_name": flavor.text("name"), "vcpus": flavor.get("vcpus"), "ram": flavor.get("ram"),
        "disk": flavor.get("disk"), "ephemeral": flavor.get("ephemeral"), "swap": flavor.get("swap"),
        "extra_specs": flavor.get("extra_specs"),
    })
}

fn shown(call: &Call<'_>, flavor: &Object) -> Value {
    let swap = flavor.number("swap").unwrap_or(0);
    let mut shown = json!({
        "id": flavor.id(), "name": flavor.text("name"), "ram": flavor.get("ram"),
        "vcpus": flavor.get("vcpus"), "disk": flavor.get("disk"),
        // Nova shows no swap as an empty text until 2.75.
        "swap": if swap == 0 && !call.micro.has(75) { json!("") } else { json!(swap) },
        "rxtx_factor": 1.0, "os-flavor-access:is_public": flavor.flag("is_public"),
        "OS-FLV-DISABLED:disabled": false, "OS-FLV-EXT-DATA:ephemeral": flavor.get("ephemeral"),
        "links": links(call, flavor.id()),
    });
    if call.micro.has(55) {
        shown["description"] = flavor.get("description").clone();
    }
    if call.micro.has(61) {
        shown["extra_specs"] = flavor.get("extra_specs").clone();
    }
    shown
}

fn create(tx: &mut Tx<'_>, call: &Call<'_>) -> Result<Response, Refusal> {
    call.admin("os_compute_api:os-flavor-manage:create")?;
    let body = call.body()?;
    let given = body.get("flavor").ok_or_else(|| missing("flavor"))?;
    let name = given.get("name").and_then(Value::as_str).map(str::trim).unwrap_or_default();
    if name.is_empty() || name.chars().count() > 255 {
        return Err(Refusal::bad(
            "Invalid input for field/attribute name. It has to be 1 to 255 characters.",
        ));
    }
    let number = |name: &str, least: i64, default: Option<i64>| {
        let value = given.get(name).filter(|value| !value.is_null());
        let parsed = match value {
            None => return default.ok_or_else(|| missing(name)),
            Some(value) => value.as_i64().or_else(|| value.as_str()?.parse().ok()),
        };
        parsed.filter(|n| (least..=MOST).contains(n)).ok_or_else(|| {
            Refusal::bad(format!(
                "Invalid input for field/attribute {name}. It has to be at least {least}."
            ))
        })
    };
    let id = match given.get("id").and_then(Value::as_str).filter(|id| *id != "auto") {
        Some(id) if !id.is_empty() && id.len() <= 255 && !id.contains('/') => id.to_owned(),
        Some(_) => return Err(Refusal::bad("Invalid input for field/attribute id.")),
        None => tx.chance.uuid(),
    };
    if tx.find_ids(&FLAVOR, "name", name).next().is_some() {
        return Err(Refusal::conflict(format!("Flavor with name {name} already exists.")));
    }
    if tx.exists(&FLAVOR, &id) {
        return Err(Refusal::conflict(format!("Flavor with ID {id} already exists.")));
    }
    let flavor = Object::from_value(json!({
        "id": id, "name": name, "ram": number("ram", 1, None)?, "vcpus": number("vcpus", 1, None)?,
        "disk": number("disk", 0, None)?, "swap": number("swap", 0, Some(0))?,
        "ephemeral": number("OS-FLV-EXT-DATA:ephemeral", 0, Some(0))?,
        "is_public": given.get("os-flavor-access:is_public").and_then(Value::as_bool).unwrap_or(true),
        "description": given.get("description").cloned().unwrap_or_default(), "extra_specs": {},
    }));
    tx.put(&FLAVOR, flavor.clone());
    Ok(ok(&json!({"flavor": shown(call, &flavor)})))
}

/// The 400 of something that has to be given.
pub fn missing(name: &str) -> Refusal {
    Refusal::bad(format!(
        "Invalid input for field/attribute {name}. '{name}' is a required property"
    ))
}

fn specs(
    tx: &mut Tx<'_>,
    call: &Call<'_>,
    method: &Method,
    id: &str,
    rest: &[&str],
) -> Result<Response, Refusal> {
    let mut flavor = known(tx, call, id)?;
    let mut held = flavor.get("extra_specs").as_object().cloned().unwrap_or_default();
    let none =
        |name: &str| Refusal::missing(format!("Flavor {id} has no extra specs with key {name}."));
    match (method, rest) {
        (&Method::GET, []) => Ok(ok(&json!({"extra_specs": held}))),
        (&Method::GET, [name]) => {
            let value = held.get(*name).ok_or_else(|| none(name))?;
            Ok(ok(&json!({ *name: value })))
        }
        (&Method::POST, []) => {
            call.admin("os_compute_api:os-flavor-extra-specs:create")?;
            let body = call.body()?;
            let given = body.get("extra_specs").and_then(Value::as_object).cloned();
            held.extend(given.ok_or_else(|| missing("extra_specs"))?);
            let answer = ok(&json!({"extra_specs": held}));
            flavor.set("extra_specs", held);
            tx.put(&FLAVOR, flavor);
            Ok(answer)
        }
        (&Method::DELETE, [name]) => {
            call.admin("os_compute_api:os-flavor-extra-specs:delete")?;
            held.remove(*name).ok_or_else(|| none(name))?;
            flavor.set("extra_specs", held);
            tx.put(&FLAVOR, flavor);
            Ok(Response::empty(StatusCode::OK))
        }
        _ => Err(Refusal::gone()),
    }
}
