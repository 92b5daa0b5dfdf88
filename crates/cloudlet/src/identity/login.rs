//! `POST /v3/auth/tokens`: from a proof to a token.

use http::StatusCode;
use serde_json::Value;

use super::credentials::{self, APPLICATION_CREDENTIAL};
use super::entities::{DOMAIN, PROJECT, USER};
use super::password;
use super::refusal::Refusal;
use super::show;
use super::token::{self, Claims, Target};
use crate::object::Object;
use crate::request::{Request, Response};
use crate::state::{Kind, State, Tx};

/// Who proved to be whom.
struct Proof {
    user: String,
    /// What the proof says about the scope, where it leaves no choice.
    scope: Option<Target>,
    credential: Option<String>,
    /// The audit id of the token it was had with, and when that ends.
    parent: Option<(String, i64)>,
    methods: Vec<String>,
}

pub fn login(tx: &mut Tx<'_>, request: &Request) -> Result<Response, Refusal> {
    let missing = |what: &str| Refusal::expecting(what, "request body");
    if request.body.is_empty() {
        return Err(missing("auth"));
    }
    let body: Value = serde_json::from_slice(&request.body).map_err(|_| missing("valid JSON"))?;
    let auth = body.get("auth").filter(|auth| auth.is_object()).ok_or_else(|| missing("auth"))?;
    let identity =
        auth.get("identity").filter(|i| i.is_object()).ok_or_else(|| missing("identity"))?;
    let methods: Vec<&str> = identity
        .get("methods")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut proof: Option<Proof> = None;
    for method in &methods {
        let given = identity.get(*method).unwrap_or(&Value::Null);
        let next = match *method {
            "password" => by_password(tx, given)?,
            "token" => by_token(tx, given)?,
            "application_credential" => by_credential(tx, given)?,
            _ => return Err(Refusal::unknown_method()),
        };
        if proof.as_ref().is_some_and(|first| first.user != next.user) {
            return Err(Refusal::unauthorized());
        }
        proof = Some(next);
    }
    let proof = proof.ok_or_else(Refusal::unauthorized)?;
    let scope = scope(tx, auth.get("scope"), &proof)?;
    answer(tx, request, proof, scope)
}

fn answer(
    tx: &mut Tx<'_>,
    request: &Request,
    proof: Proof,
    scope: Target,
) -> Result<Response, Refusal> {
    let issued = tx.now.as_second();
    let fresh = issued.saturating_add(tx.config.token_seconds);
    let mut audit_ids = vec![token::audit_id(tx.chance)];
    let expires = match &proof.parent {
        // A token had with another one does not live longer.
        Some((parent, end)) => {
            audit_ids.push(parent.clone());
            fresh.min(*end)
        }
        None => fresh,
    };
    let claims = Claims {
        user: proof.user,
        scope,
        methods: proof.methods,
        issued,
        expires,
        audit_ids,
        credential: proof.credential,
    };
    let caller = token::resolve(tx, &claims).ok_or_else(Refusal::unauthorized)?;
    let state: State = (**tx).clone();
    let text = token::issue(&state, tx.chance, &claims).ok_or_else(Refusal::unauthorized)?;
    let catalogue = !request.query.iter().any(|(name, _)| name == "nocatalog");
    let body = show::token(tx, &caller, catalogue);
    Ok(Response::json(StatusCode::CREATED, &body)
        .with("x-subject-token", text)
        .with("vary", "X-Auth-Token"))
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

/// A thing by id, or by name in a domain that is named by id or name itself.
fn find(state: &State, kind: &'static Kind, given: &Value) -> Option<Object> {
    if let Some(id) = text(given, "id") {
        return state.get(kind, id);
    }
    let name = text(given, "name")?.to_lowercase();
    let domain = given.get("domain")?;
    let domain = match text(domain, "id") {
        Some(id) => id.to_owned(),
        None => domain_named(state, text(domain, "name")?)?.id().to_owned(),
    };
    state.find(kind, "name", &format!("{domain}/{name}")).next()
}

fn domain_named(state: &State, name: &str) -> Option<Object> {
    state.find(&DOMAIN, "name", &format!("/{}", name.to_lowercase())).next()
}

fn by_password(tx: &Tx<'_>, given: &Value) -> Result<Proof, Refusal> {
    let user = given.get("user").filter(|user| user.is_object());
    let user = user.ok_or_else(|| Refusal::expecting("user", "password"))?;
    if text(user, "id").is_none() && user.get("domain").is_none() {
        return Err(Refusal::expecting("domain", "user"));
    }
    let found = find(tx, &USER, user);
    let kept = found.as_ref().and_then(|user| user.some_text("password"));
    let right = password::matches(kept, text(user, "password").unwrap_or_default());
    match found {
        Some(user) if right && user.flag("enabled") => Ok(Proof {
            user: user.id().to_owned(),
            scope: None,
            credential: None,
            parent: None,
            methods: vec!["password".to_owned()],
        }),
        _ => Err(Refusal::unauthorized()),
    }
}

fn by_token(tx: &Tx<'_>, given: &Value) -> Result<Proof, Refusal> {
    let text = text(given, "id").unwrap_or_default();
    let held = token::check(tx, tx.now, text).ok_or_else(|| token::refused(tx, text))?;
    if held.application_credential.is_some() {
        return Err(Refusal::forbidden("a token of an application credential cannot be rescoped"));
    }
    let mut methods = held.methods;
    if !methods.iter().any(|method| method == "token") {
        methods.insert(0, "token".to_owned());
    }
    let audit = held.audit_ids.last().cloned().unwrap_or_default();
    Ok(Proof {
        user: held.user.id,
        scope: None,
        credential: None,
        parent: Some((audit, held.expires.as_second())),
        methods,
    })
}

fn by_credential(tx: &Tx<'_>, given: &Value) -> Result<Proof, Refusal> {
    let credential = if let Some(id) = text(given, "id") {
        tx.get(&APPLICATION_CREDENTIAL, id)
    } else {
        let user = given.get("user").and_then(|user| find(tx, &USER, user));
        let key = user.zip(text(given, "name")).map(|(user, name)| format!("{}/{name}", user.id()));
        key.and_then(|key| tx.find(&APPLICATION_CREDENTIAL, "name", &key).next())
    };
    let kept = credential.as_ref().and_then(|credential| credential.some_text("hash"));
    let right = password::matches(kept, text(given, "secret").unwrap_or_default());
    match credential {
        Some(credential) if right && !credentials::is_over(&credential, tx.now) => Ok(Proof {
            user: credential.text("user_id").to_owned(),
            scope: Some(Target::Project(credential.project().to_owned())),
            credential: Some(credential.id().to_owned()),
            parent: None,
            methods: vec!["application_credential".to_owned()],
        }),
        _ => Err(Refusal::unauthorized()),
    }
}

/// What the token is for: what is asked for, or the user's default project, or nothing.
fn scope(tx: &Tx<'_>, given: Option<&Value>, proof: &Proof) -> Result<Target, Refusal> {
    if let Some(scope) = &proof.scope {
        if given.is_some_and(|given| !given.is_null()) {
            return Err(Refusal::unauthorized());
        }
        return Ok(scope.clone());
    }
    let Some(given) = given.filter(|given| !given.is_null()) else {
        let user = tx.get(&USER, &proof.user).unwrap_or_default();
        let default = user.some_text("default_project_id").map(|id| Target::Project(id.to_owned()));
        let usable = |target: &Target| !super::assign::roles(tx, &proof.user, target).is_empty();
        return Ok(default.filter(usable).unwrap_or(Target::Unscoped));
    };
    if given.as_str() == Some("unscoped") || given.get("unscoped").is_some() {
        return Ok(Target::Unscoped);
    }
    if given.get("system").is_some_and(|system| system.get("all") == Some(&Value::Bool(true))) {
        return Ok(Target::System);
    }
    if let Some(project) = given.get("project") {
        let found = find(tx, &PROJECT, project).ok_or_else(Refusal::unauthorized)?;
        return Ok(Target::Project(found.id().to_owned()));
    }
    if let Some(domain) = given.get("domain") {
        let found = match text(domain, "id") {
            Some(id) => tx.get(&DOMAIN, id),
            None => text(domain, "name").and_then(|name| domain_named(tx, name)),
        };
        let found = found.ok_or_else(Refusal::unauthorized)?;
        return Ok(Target::Domain(found.id().to_owned()));
    }
    Err(Refusal::bad("Expecting to find project, domain or system in scope."))
}
