//! From a body to objects whose attributes are all known, allowed, complete and well-formed.

use serde_json::Value;

use crate::caller::Caller;
use crate::config::Config;
use crate::network::attribute::Given;
use crate::network::check::Wrong;
use crate::network::fault::Fault;
use crate::network::resource::Resource;
use crate::object::Object;
use crate::request::Request;

/// More objects than this in one create are refused: a body is bounded, what it makes should be too.
const BULK: usize = 1000;

/// The body as a JSON object.
pub fn json(request: &Request) -> Result<Value, Fault> {
    serde_json::from_slice::<Value>(&request.body)
        .ok()
        .filter(Value::is_object)
        .ok_or_else(|| Fault::request("Body contains invalid data"))
}

/// What a create asks for.
pub struct Wanted {
    /// The objects, with defaults in place.
    pub objects: Vec<Object>,
    /// Whether they came as a list.
    pub bulk: bool,
}

/// The objects of a create.
pub fn create(
    config: &Config,
    who: &Caller,
    resource: &'static Resource,
    request: &Request,
) -> Result<Wanted, Fault> {
    let missing =
        || Fault::request(format!("Unable to find '{}' in request body", resource.single));
    if request.body.is_empty() {
        return Err(missing());
    }
    let body = json(request)?;
    let plural = format!("{}s", resource.single);
    if let Some(items) = body.get(resource.plural).or_else(|| body.get(&plural)) {
        let empty = match items {
            Value::Null | Value::Bool(false) => true,
            Value::Object(map) => map.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::String(text) => text.is_empty(),
            _ => false,
        };
        if empty {
            return Err(Fault::request("Resources required"));
        }
        let items = items.as_array().ok_or_else(|| Fault::request("Body contains invalid data"))?;
        if items.len() > BULK {
            return Err(Fault::request(format!(
                "{} objects in one request are more than {BULK}",
                items.len()
            )));
        }
        let whole = |item: &Value| {
            let inner = item.get(resource.single).unwrap_or(item);
            complete(config, who, resource, &inner.clone())
        };
        let objects = items.iter().map(whole).collect::<Result<_, _>>()?;
        return Ok(Wanted { objects, bulk: true });
    }
    let item = body.get(resource.single).filter(|item| !item.is_null()).ok_or_else(missing)?;
    Ok(Wanted { objects: vec![complete(config, who, resource, item)?], bulk: false })
}

/// The attributes of an update.
pub fn update(
    config: &Config,
    who: &Caller,
    resource: &'static Resource,
    request: &Request,
) -> Result<Object, Fault> {
    let missing =
        || Fault::request(format!("Unable to find '{}' in request body", resource.single));
    if request.body.is_empty() {
        return Err(missing());
    }
    let body = json(request)?;
    if body.get(resource.plural).is_some() && body.get(resource.single).is_none() {
        return Err(Fault::request("Bulk operation not supported"));
    }
    let item = body.get(resource.single).filter(|item| !item.is_null()).ok_or_else(missing)?;
    let mut given = attributes(config, who, resource, item)?;
    for attribute in resource.table(config) {
        if given.has(attribute.name) && !attribute.put {
            return Err(Fault::request(format!(
                "Cannot update read-only attribute {}",
                attribute.name
            )));
        }
    }
    checked(config, resource, &mut given)?;
    given.remove("tenant_id");
    Ok(given)
}

/// The object of a create: its attributes, and defaults for those not named.
fn complete(
    config: &Config,
    who: &Caller,
    resource: &'static Resource,
    item: &Value,
) -> Result<Object, Fault> {
    let mut object = attributes(config, who, resource, item)?;
    let owned = resource.attribute("project_id").is_some();
    if owned && !object.has("project_id") {
        if who.project().is_empty() {
            return Err(Fault::request(
                "Running without keystone AuthN requires that project_id is specified",
            ));
        }
        object.set("project_id", who.project());
    }
    for attribute in resource.table(config) {
        let name = attribute.name;
        if attribute.post {
            if object.has(name) {
                continue;
            }
            if attribute.given == Given::Required {
                return Err(Fault::request(format!(
                    "Failed to parse request. Required attribute '{name}' not specified"
                )));
            }
            if let Some(value) = attribute.given.value() {
                object.set(name, value);
            }
        } else if object.has(name) {
            return Err(Fault::request(format!("Attribute '{name}' not allowed in POST")));
        }
    }
    checked(config, resource, &mut object)?;
    object.remove("tenant_id");
    Ok(object)
}

/// The members of the body, all of them attributes, the owner said once.
fn attributes(
    config: &Config,
    who: &Caller,
    resource: &'static Resource,
    item: &Value,
) -> Result<Object, Fault> {
    let Some(map) = item.as_object() else {
        let message = format!("Object '{}' contains invalid data", resource.single);
        return Err(Fault::request(message));
    };
    let mut object = Object(map.clone());
    match (object.has("tenant_id"), object.has("project_id")) {
        (true, false) => object.set("project_id", object.get("tenant_id").clone()),
        (false, true) => object.set("tenant_id", object.get("project_id").clone()),
        (true, true) if object.get("project_id") != object.get("tenant_id") => {
            return Err(Fault::request("'project_id' and 'tenant_id' do not match"));
        }
        _ => {}
    }
    let foreign = object.has("project_id")
        && object.get("project_id").as_str() != Some(who.project())
        && !who.is_admin()
        && !who.has_role("service");
    if foreign {
        return Err(Fault::request(
            "Specifying 'project_id' other than the authenticated project in request is not \
             allowed for the current user.",
        ));
    }
    let known = |name: &str| resource.table(config).any(|attribute| attribute.name == name);
    let unknown: Vec<&str> =
        object.0.keys().map(String::as_str).filter(|name| !known(name)).collect();
    if !unknown.is_empty() {
        let message = format!("Unrecognized attribute(s) '{}'", unknown.join(", "));
        return Err(Fault::request(message));
    }
    Ok(object)
}

/// Every value as the table wants it. A default is checked too: converters make `[]` of `null`.
fn checked(config: &Config, resource: &'static Resource, object: &mut Object) -> Result<(), Fault> {
    for attribute in resource.table(config) {
        let Some(value) = object.0.get(attribute.name) else { continue };
        let kept = attribute.check.run(value).map_err(|wrong| match wrong {
            Wrong::Fault(fault) => fault,
            Wrong::Reason(reason) => {
                Fault::request(format!("Invalid input for {}. Reason: {reason}.", attribute.name))
            }
        })?;
        object.set(attribute.name, kept);
    }
    Ok(())
}
