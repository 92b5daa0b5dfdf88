//! Quotas: how much of everything a project may have.

use serde_json::{Map, Value, json};

use super::RESOURCES;
use super::fault::Fault;
use super::python;
use super::resource::Resource;
use crate::config::Config;
use crate::object::Object;
use crate::state::{Kind, State, Tx};

/// The bounds of a project that has some of its own: `{id: project, bounds: {port: 5}}`.
pub static QUOTA: Kind = Kind { name: "quota", index: |_, _| {}, blanks: &[] };

/// The bound of one resource for one project; below 0 is none.
pub fn bound(state: &State, config: &Config, project: &str, name: &str) -> i64 {
    let own = state.get(&QUOTA, project);
    let own = own.as_ref().and_then(|quota| quota.get("bounds").get(name)?.as_i64());
    own.or_else(|| config.network.quotas.get(name).copied()).unwrap_or(-1)
}

/// Whether the projects have room for what is to be created.
pub fn room(tx: &Tx<'_>, resource: &'static Resource, objects: &[Object]) -> Result<(), Fault> {
    let Some(name) = resource.quota else { return Ok(()) };
    for object in objects {
        let project = object.project();
        let more = objects.iter().filter(|other| other.project() == project).count();
        more_of(tx, resource, name, project, i64::try_from(more).unwrap_or(i64::MAX))?;
    }
    Ok(())
}

/// Whether the project has room for so many more; for rules that make objects of other resources.
pub fn more_of(
    tx: &Tx<'_>,
    resource: &'static Resource,
    name: &str,
    project: &str,
    more: i64,
) -> Result<(), Fault> {
    let bound = bound(tx, tx.config, project, name);
    let used = i64::from(tx.count(resource.kind, project));
    if bound >= 0 && used.saturating_add(more) > bound {
        let overs = python::repr(&json!([name]));
        let message = format!("Quota exceeded for resources: {overs}.");
        return Err(Fault::conflict("OverQuota", message));
    }
    Ok(())
}

/// The names of all quotas.
pub fn names(config: &Config) -> impl Iterator<Item = &str> {
    config.network.quotas.keys().map(String::as_str)
}

/// All bounds of a project.
pub fn bounds(state: &State, config: &Config, project: &str) -> Map<String, Value> {
    names(config)
        .map(|name| (name.to_owned(), bound(state, config, project, name).into()))
        .collect()
}

/// Bounds, use and reservations of a project.
pub fn details(state: &State, config: &Config, project: &str) -> Map<String, Value> {
    let of = |name: &str| {
        let resource = RESOURCES.iter().find(|resource| resource.quota == Some(name));
        let used = resource.map_or(0, |resource| state.count(resource.kind, project));
        json!({"limit": bound(state, config, project, name), "used": used, "reserved": 0})
    };
    names(config).map(|name| (name.to_owned(), of(name))).collect()
}
