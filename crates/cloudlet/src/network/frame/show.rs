//! From an object to what the caller sees of it.

use serde_json::{Map, Value};

use crate::caller::Caller;
use crate::config::Config;
use crate::network::resource::Resource;
use crate::object::Object;
use crate::state::State;

/// The object as the caller sees it; with `fields`, only these attributes of it.
pub fn show(
    state: &State,
    config: &Config,
    who: &Caller,
    resource: &'static Resource,
    mut object: Object,
    fields: &[&str],
) -> Value {
    resource.rules.present(state, config, who, &mut object);
    strip(state, config, who, resource, object, fields)
}

/// The attributes of an object, computed ones included, that the caller sees.
fn strip(
    state: &State,
    config: &Config,
    who: &Caller,
    resource: &'static Resource,
    mut object: Object,
    fields: &[&str],
) -> Value {
    if object.has("project_id") {
        object.set("tenant_id", object.get("project_id").clone());
    }
    let asked = |name: &str| fields.is_empty() || fields.contains(&name);
    let mut out = Map::new();
    for attribute in resource.table(config) {
        if attribute.visible
            && asked(attribute.name)
            && attribute.see.includes(state, who, &object)
            && let Some(value) = object.0.get(attribute.name)
        {
            out.insert(attribute.name.to_owned(), value.clone());
        }
    }
    if asked("tenant_id") && resource.attribute("project_id").is_some_and(|a| a.visible) {
        out.insert("tenant_id".to_owned(), object.get("tenant_id").clone());
    }
    Value::Object(out)
}
