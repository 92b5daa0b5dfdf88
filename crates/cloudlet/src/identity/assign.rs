//! Who has which role where: rows of `(user or group, project, domain or system, role)`.

use serde_json::{Value, json};

use super::entities::{GROUP, PROJECT, ROLE, USER};
use super::members;
use super::refusal::Refusal;
use super::token::Target;
use crate::object::Object;
use crate::request::Request;
use crate::state::{Kind, State, Tx};

/// Rows `{id, actor: "user/ID", target: "project/ID", role}`.
pub static ASSIGNMENT: Kind = Kind {
    name: "assignment",
    index: |row, keys| {
        keys.add("actor", row.text("actor"));
        keys.add("target", row.text("target"));
        keys.add("role", row.text("role"));
        keys.add("grant", format!("{}|{}", row.text("actor"), row.text("target")));
    },
    blanks: &[],
};

fn target_key(target: &Target) -> Option<String> {
    match target {
        Target::Project(id) => Some(format!("project/{id}")),
        Target::Domain(id) => Some(format!("domain/{id}")),
        Target::System => Some("system/all".to_owned()),
        Target::Unscoped => None,
    }
}

/// Ids and names of a user's roles, by itself and by its groups, with those they imply.
pub fn roles(state: &State, user: &str, target: &Target) -> Vec<(String, String)> {
    let Some(target) = target_key(target) else { return Vec::new() };
    let mut actors = vec![format!("user/{user}")];
    actors.extend(members::groups_of(state, user).map(|group| format!("group/{group}")));
    let direct = actors.iter().flat_map(|actor| {
        state.find(&ASSIGNMENT, "grant", &format!("{actor}|{target}")).collect::<Vec<_>>()
    });
    let named = direct.filter_map(|row| {
        let role = state.get(&ROLE, row.text("role"))?;
        Some((role.id().to_owned(), role.text("name").to_owned()))
    });
    implied(state, named.collect::<Vec<_>>())
}

/// Roles with all that they imply, each once.
pub fn implied(
    state: &State,
    roles: impl IntoIterator<Item = (String, String)>,
) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    let mut todo: Vec<(String, String)> = roles.into_iter().collect();
    while let Some((id, name)) = todo.pop() {
        if out.iter().any(|(held, _)| *held == id) {
            continue;
        }
        let role = state.get(&ROLE, &id).unwrap_or_default();
        for next in role.texts("implies") {
            if let Some(next) = state.get(&ROLE, next) {
                todo.push((next.id().to_owned(), next.text("name").to_owned()));
            }
        }
        out.push((id, name));
    }
    out.sort_by(|a, b| a.1.cmp(&b.1));
    out
}

/// Gives a role.
pub fn grant(tx: &mut Tx<'_>, actor: &str, target: &str, role: &str) {
    let id = format!("{actor}|{target}|{role}");
    let row = json!({"id": id, "actor": actor, "target": target, "role": role});
    tx.put(&ASSIGNMENT, Object::from_value(row));
}

/// Takes away all roles of an actor, on a target, or of a role.
pub fn forget(tx: &mut Tx<'_>, index: &str, value: &str) {
    let rows: Vec<Object> = tx.find(&ASSIGNMENT, index, value).collect();
    for row in rows {
        tx.delete(&ASSIGNMENT, row.id());
    }
}

/// Whether actor, target and role are there.
fn known(state: &State, actor: &str, target: &str, role: Option<&str>) -> Result<(), Refusal> {
    let there = |what: &str| -> Result<(), Refusal> {
        let (kind, id) = what.split_once('/').unwrap_or((what, ""));
        let table = match kind {
            "user" => &USER,
            "group" => &GROUP,
            "project" => &PROJECT,
            "domain" => &super::entities::DOMAIN,
            _ => return Ok(()),
        };
        if state.exists(table, id) { Ok(()) } else { Err(Refusal::missing(kind, id)) }
    };
    if let Some(role) = role.filter(|role| !state.exists(&ROLE, role)) {
        return Err(Refusal::missing("role", role));
    }
    there(actor)?;
    there(target)
}

/// What can be done to a role on a target.
pub enum Deed {
    /// PUT
    Give,
    /// HEAD
    Look,
    /// DELETE
    Take,
}

/// `/{projects|domains|system}/{id}/{users|groups}/{id}/roles/{role}`
pub fn one(
    tx: &mut Tx<'_>,
    deed: &Deed,
    actor: &str,
    target: &str,
    role: &str,
) -> Result<(), Refusal> {
    known(tx, actor, target, Some(role))?;
    let id = format!("{actor}|{target}|{role}");
    match deed {
        Deed::Give => grant(tx, actor, target, role),
        _ if !tx.exists(&ASSIGNMENT, &id) => {
            let message = format!(
                "Could not find role assignment with role: {role}, user or group: {}, project, \
                 domain, or system: {}.",
                actor.split_once('/').map_or("", |(_, id)| id),
                target.split_once('/').map_or("", |(_, id)| id)
            );
            return Err(Refusal { status: http::StatusCode::NOT_FOUND, message });
        }
        Deed::Look => {}
        Deed::Take => tx.delete(&ASSIGNMENT, &id),
    }
    Ok(())
}

/// The roles of an actor on a target.
pub fn list(state: &State, actor: &str, target: &str) -> Result<Vec<Object>, Refusal> {
    known(state, actor, target, None)?;
    let rows = state.find(&ASSIGNMENT, "grant", &format!("{actor}|{target}"));
    Ok(rows.filter_map(|row| state.get(&ROLE, row.text("role"))).collect())
}

/// `/v3/role_assignments`
pub fn all(state: &State, request: &Request) -> Value {
    let asked = |name: &str| request.query_one(name);
    let names = request.query.iter().any(|(name, _)| name == "include_names");
    let effective = request.query.iter().any(|(name, _)| name == "effective");
    let mut out = Vec::new();
    for row in state.all(&ASSIGNMENT) {
        let (Some((actor_kind, actor)), Some((target_kind, target))) =
            (row.text("actor").split_once('/'), row.text("target").split_once('/'))
        else {
            continue;
        };
        let roles = if effective {
            let role = state.get(&ROLE, row.text("role")).unwrap_or_default();
            implied(state, [(role.id().to_owned(), role.text("name").to_owned())])
        } else {
            vec![(row.text("role").to_owned(), String::new())]
        };
        for (role, _) in roles {
            let fits = [
                ("user.id", actor_kind == "user", actor),
                ("group.id", actor_kind == "group", actor),
                ("scope.project.id", target_kind == "project", target),
                ("scope.domain.id", target_kind == "domain", target),
                ("role.id", true, role.as_str()),
            ]
            .iter()
            .all(|(name, right, value)| asked(name).is_none_or(|want| *right && want == *value));
            let system = asked("scope.system").is_none() || target_kind == "system";
            if !fits || !system {
                continue;
            }
            let scope = match target_kind {
                "system" => json!({"system": {"all": true}}),
                "domain" => json!({"domain": thing(state, "domain", target, names)}),
                _ => json!({"project": thing(state, "project", target, names)}),
            };
            out.push(json!({
                "role": thing(state, "role", &role, names),
                actor_kind: thing(state, actor_kind, actor, names),
                "scope": scope,
                "links": {"assignment": link(request, row.text("target"), row.text("actor"), &role)},
            }));
        }
    }
    out.into()
}

/// Where one assignment is found.
fn link(request: &Request, target: &str, actor: &str, role: &str) -> String {
    let plural = |key: &str| {
        key.split_once('/').map(|(kind, id)| format!("{kind}s/{id}")).unwrap_or_default()
    };
    let target = if target.starts_with("system/") { "system".to_owned() } else { plural(target) };
    format!("{}/v3/{target}/{}/roles/{role}", request.base, plural(actor))
}

/// An id, with names where they are asked for.
fn thing(state: &State, kind: &str, id: &str, names: bool) -> Value {
    if !names {
        return json!({ "id": id });
    }
    let table = match kind {
        "user" => &USER,
        "group" => &GROUP,
        "project" => &PROJECT,
        "role" => &ROLE,
        _ => &super::entities::DOMAIN,
    };
    let object = state.get(table, id).unwrap_or_default();
    let mut shown = json!({"id": id, "name": object.text("name")});
    if let (Some(domain), Some(map)) = (object.some_text("domain_id"), shown.as_object_mut()) {
        let name = state.get(&super::entities::DOMAIN, domain).unwrap_or_default();
        map.insert("domain".to_owned(), json!({"id": domain, "name": name.text("name")}));
    }
    shown
}
