//! What a token and the catalogue look like.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::credentials::APPLICATION_CREDENTIAL;
use super::entities::{ENDPOINT, SERVICE};
use crate::caller::{Caller, Named, Scope};
use crate::state::State;

/// A moment as Keystone writes it.
pub fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.000000Z").to_string()
}

fn domain(named: &Named) -> Value {
    json!({"id": named.domain_id, "name": named.domain_name})
}

/// The body of a token.
pub fn token(state: &State, caller: &Caller, catalogue: bool) -> Value {
    let mut token = Map::new();
    let mut set = |name: &str, value: Value| {
        token.insert(name.to_owned(), value);
    };
    set("methods", json!(caller.methods));
    set(
        "user",
        json!({
            "id": caller.user.id,
            "name": caller.user.name,
            "domain": domain(&caller.user),
            "password_expires_at": null,
        }),
    );
    set("audit_ids", json!(caller.audit_ids));
    set("expires_at", moment(caller.expires).into());
    set("issued_at", moment(caller.issued).into());
    match &caller.scope {
        Scope::Project(project) => {
            let shown = json!({"id": project.id, "name": project.name, "domain": domain(project)});
            set("project", shown);
            set("is_domain", false.into());
        }
        Scope::Domain(domain) => set("domain", json!({"id": domain.id, "name": domain.name})),
        Scope::System => set("system", json!({"all": true})),
        Scope::Unscoped => {}
    }
    if caller.scope != Scope::Unscoped {
        let role = |(id, name): &(String, String)| json!({"id": id, "name": name});
        set("roles", caller.roles.iter().map(role).collect());
        if catalogue {
            set("catalog", self::catalogue(state, caller));
        }
    }
    if let Some(id) = &caller.application_credential {
        let credential = state.get(&APPLICATION_CREDENTIAL, id).unwrap_or_default();
        set(
            "application_credential",
            json!({
                "id": id,
                "name": credential.text("name"),
                "restricted": !credential.flag("unrestricted"),
            }),
        );
    }
    json!({ "token": token })
}

/// What URLs of endpoints may leave open: `http://host/v1/%(project_id)s`.
const OPEN: [&str; 3] = ["project_id", "tenant_id", "user_id"];

/// Whether a URL leaves open only what can be filled in.
pub fn is_template(url: &str) -> bool {
    let mut rest = url.to_owned();
    for name in OPEN {
        rest = rest.replace(&format!("%({name})s"), "").replace(&format!("$({name})s"), "");
    }
    !rest.contains("%(") && !rest.contains("$(")
}

/// The URL for a caller; `None` where it needs a project and there is none.
fn filled(url: &str, caller: &Caller) -> Option<String> {
    let mut url = url.to_owned();
    for name in OPEN {
        let value = if name == "user_id" { caller.user.id.as_str() } else { caller.project() };
        for open in [format!("%({name})s"), format!("$({name})s")] {
            if url.contains(&open) && value.is_empty() {
                return None;
            }
            url = url.replace(&open, value);
        }
    }
    Some(url)
}

/// All enabled services with their enabled endpoints.
pub fn catalogue(state: &State, caller: &Caller) -> Value {
    let endpoint = |endpoint: crate::Object| {
        let url = filled(endpoint.text("url"), caller)?;
        Some(json!({
            "id": endpoint.id(),
            "interface": endpoint.text("interface"),
            "region": endpoint.get("region_id"),
            "region_id": endpoint.get("region_id"),
            "url": url,
        }))
    };
    let service = |service: crate::Object| {
        let endpoints: Vec<Value> = state
            .find(&ENDPOINT, "service_id", service.id())
            .filter(|endpoint| endpoint.flag("enabled"))
            .filter_map(endpoint)
            .collect();
        json!({
            "id": service.id(),
            "type": service.text("type"),
            "name": service.text("name"),
            "endpoints": endpoints,
        })
    };
    state.all(&SERVICE).filter(|service| service.flag("enabled")).map(service).collect()
}
