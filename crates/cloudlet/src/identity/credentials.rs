//! Application credentials: a user lends some of its roles in one project to a program.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::entities::ROLE;
use super::entity::collection;
use super::password;
use super::refusal::Refusal;
use crate::caller::{Caller, Scope};
use crate::object::Object;
use crate::request::Request;
use crate::state::{Kind, State, Tx};

pub static APPLICATION_CREDENTIAL: Kind = Kind {
    name: "application_credential",
    index: |credential, keys| {
        keys.add("user_id", credential.text("user_id"));
        keys.add("project_id", credential.project());
        keys.add("name", format!("{}/{}", credential.text("user_id"), credential.text("name")));
    },
    blanks: &[],
};

/// Removes those of a user or a project that goes.
pub fn forget(tx: &mut Tx<'_>, index: &str, id: &str) {
    let rows: Vec<Object> = tx.find(&APPLICATION_CREDENTIAL, index, id).collect();
    for row in rows {
        tx.delete(&APPLICATION_CREDENTIAL, row.id());
    }
}

/// Whether it has ended.
pub fn is_over(credential: &Object, now: Timestamp) -> bool {
    let end = credential.some_text("expires_at").map(moment);
    end.is_some_and(|end| end.is_none_or(|end| end <= now))
}

/// A moment as clients write it: with or without a fraction, with or without a zone.
fn moment(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let zoned = text.ends_with('Z') || text.contains('+');
    if zoned { text.parse().ok() } else { format!("{text}Z").parse().ok() }
}

/// One that the user has.
pub fn own(state: &State, user: &str, id: &str) -> Result<Object, Refusal> {
    state
        .get(&APPLICATION_CREDENTIAL, id)
        .filter(|credential| credential.text("user_id") == user)
        .ok_or_else(|| Refusal::missing("Application Credential", id))
}

/// Those of a user, as they are shown.
pub fn list(state: &State, request: &Request, user: &str) -> Value {
    let name = request.query_one("name");
    let fits = |credential: &Object| name.is_none_or(|name| credential.text("name") == name);
    let all = state.find(&APPLICATION_CREDENTIAL, "user_id", user).filter(fits);
    let shown: Vec<Value> = all.map(|credential| show(state, request, credential, None)).collect();
    collection(request, "application_credentials", &shown.into())
}

/// One as it is shown; the secret is shown once, when it is made.
pub fn show(
    state: &State,
    request: &Request,
    mut credential: Object,
    secret: Option<&str>,
) -> Value {
    let link = format!("{}/v3/application_credentials/{}", request.base, credential.id());
    let role = |id: &str| {
        let role = state.get(&ROLE, id)?;
        Some(json!({
            "id": id,
            "name": role.text("name"),
            "domain_id": null,
            "description": role.get("description"),
            "options": role.get("options"),
        }))
    };
    let roles: Vec<Value> = credential.texts("role_ids").filter_map(role).collect();
    credential.set("roles", roles);
    for name in ["role_ids", "hash"] {
        credential.remove(name);
    }
    credential.set("system", Value::Null);
    credential.set("links", json!({ "self": link }));
    if let Some(secret) = secret {
        credential.set("secret", secret);
    }
    credential.into()
}

/// Makes one; a program cannot make further ones.
pub fn create(tx: &mut Tx<'_>, who: &Caller, request: &Request) -> Result<Value, Refusal> {
    let Scope::Project(project) = &who.scope else {
        return Err(Refusal::bad(
            "An application credential is for a project: scope the token to one",
        ));
    };
    let lent = who.application_credential.as_ref();
    if lent.is_some_and(|id| {
        !tx.get(&APPLICATION_CREDENTIAL, id).unwrap_or_default().flag("unrestricted")
    }) {
        return Err(Refusal::forbidden("identity:create_application_credential"));
    }
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|_| Refusal::bad("The request body is not valid JSON"))?;
    let Some(given) = body.get("application_credential").and_then(Value::as_object) else {
        return Err(Refusal::bad("Expecting to find application_credential in request body."));
    };
    let given = Object(given.clone());
    let Some(name) = given.some_text("name") else {
        return Err(Refusal::bad("'name' is a required property"));
    };
    if tx
        .find_ids(&APPLICATION_CREDENTIAL, "name", &format!("{}/{name}", who.user.id))
        .next()
        .is_some()
    {
        let details = format!("Duplicate entry found with name {name}");
        return Err(Refusal::conflict("application_credential", details));
    }
    if given.some_text("expires_at").is_some_and(|text| moment(text).is_none()) {
        return Err(Refusal::bad("Invalid input for field 'expires_at': not a time"));
    }
    let roles = roles(who, &given)?;
    let secret = match given.some_text("secret") {
        Some(secret) => secret.to_owned(),
        None => format!("{}{}", tx.chance.hex_id(), tx.chance.hex_id()),
    };
    let hash = password::hash(tx.chance, tx.config.password_rounds, &secret);
    let id = tx.chance.hex_id();
    let credential = Object::from_value(json!({
        "id": id,
        "name": name,
        "description": given.get("description"),
        "project_id": project.id,
        "user_id": who.user.id,
        "expires_at": given.get("expires_at"),
        "unrestricted": given.get("unrestricted"),
        "role_ids": roles,
        "hash": hash,
    }));
    tx.put(&APPLICATION_CREDENTIAL, credential.clone());
    Ok(json!({"application_credential": show(tx, request, credential, Some(&secret))}))
}

/// The roles that are lent: those named, or all the caller has.
fn roles(who: &Caller, given: &Object) -> Result<Vec<String>, Refusal> {
    let named = given.list("roles");
    if named.is_empty() {
        return Ok(who.roles.iter().map(|(id, _)| id.clone()).collect());
    }
    let one = |role: &Value| {
        let text = |name: &str| role.get(name).and_then(Value::as_str);
        let (id, name) = (text("id"), text("name"));
        let held = who.roles.iter().find(|(held, held_name)| {
            id == Some(held.as_str()) || name == Some(held_name.as_str())
        });
        held.map(|(id, _)| id.clone()).ok_or_else(|| {
            Refusal::bad(format!(
                "Invalid application credential: Could not find role assignment with role: {}, user \
                 or group: {}, project, domain, or system: {}.",
                id.or(name).unwrap_or_default(),
                who.user.id,
                who.project()
            ))
        })
    };
    named.iter().map(one).collect()
}
