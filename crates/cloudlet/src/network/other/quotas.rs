//! `/v2.0/quotas`

use http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use crate::caller::Caller;
use crate::network::RESOURCES;
use crate::network::check::{self, Wrong};
use crate::network::fault::Fault;
use crate::network::quota::{self, QUOTA};
use crate::object::Object;
use crate::request::{Request, Response};
use crate::state::Tx;

/// Answers a call to the quotas.
pub fn quotas(
    tx: &mut Tx<'_>,
    who: &Caller,
    request: &Request,
    rest: &[&str],
) -> Result<Response, Fault> {
    let ok = |body: &Value| Ok(Response::json(StatusCode::OK, body));
    let mine = |project: &str| who.project() == project;
    let may_see = |project: &str| {
        if who.is_admin() || mine(project) || who.has_role("manager") {
            Ok(())
        } else {
            Err(Fault::policy("rule:get_quota"))
        }
    };
    match (&request.method, rest) {
        (&Method::GET, []) => {
            may_see("")?;
            let all: Vec<Value> = tx
                .all(&QUOTA)
                .map(|own| {
                    let mut bounds = quota::bounds(tx, tx.config, own.id());
                    bounds.insert("project_id".to_owned(), own.id().into());
                    bounds.insert("tenant_id".to_owned(), own.id().into());
                    Value::Object(bounds)
                })
                .collect();
            ok(&json!({"quotas": all}))
        }
        (&Method::GET, [key @ ("tenant" | "project")]) => {
            ok(&json!({ *key: { format!("{key}_id"): who.project() } }))
        }
        (&Method::GET, [project]) => {
            may_see(project)?;
            ok(&json!({"quota": quota::bounds(tx, tx.config, project)}))
        }
        (&Method::GET, [project, "default"]) => {
            may_see(project)?;
            let defaults: Map<String, Value> =
                tx.config.network.quotas.iter().map(|(k, v)| (k.clone(), (*v).into())).collect();
            ok(&json!({"quota": defaults}))
        }
        (&Method::GET, [project, "details"]) => {
            may_see(project)?;
            ok(&json!({"quota": quota::details(tx, tx.config, project)}))
        }
        (&Method::PUT, [project]) => {
            if !who.is_admin() {
                return Err(Fault::policy("rule:update_quota"));
            }
            update(tx, request, project)?;
            ok(&json!({"quota": quota::bounds(tx, tx.config, project)}))
        }
        (&Method::DELETE, [project]) => {
            if !who.is_admin() {
                return Err(Fault::policy("rule:delete_quota"));
            }
            if !tx.exists(&QUOTA, project) {
                return Err(Fault::not_found(
                    "TenantQuotaNotFound",
                    format!("Quota for project {project} could not be found."),
                ));
            }
            tx.delete(&QUOTA, project);
            Ok(Response::empty(StatusCode::NO_CONTENT))
        }
        (&Method::POST, []) => Err(Fault::new(
            501,
            "HTTPNotImplemented",
            "POST requests are not supported on this resource.",
        )),
        _ => Err(Fault::gone()),
    }
}

fn update(tx: &mut Tx<'_>, request: &Request, project: &str) -> Result<(), Fault> {
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|_| Fault::request("Body contains invalid data"))?;
    let Some(given) = body.get("quota").and_then(Value::as_object) else {
        return Err(Fault::request("Unable to find 'quota' in request body"));
    };
    let mut given = given.clone();
    let force = given.remove("force") == Some(Value::Bool(true));
    given.remove("check_limit");
    let known = |name: &str| {
        tx.config.network.quotas.contains_key(name) || name == "project_id" || name == "tenant_id"
    };
    let unknown: Vec<&str> = given.keys().map(String::as_str).filter(|name| !known(name)).collect();
    if !unknown.is_empty() {
        let message = format!("Unrecognized attribute(s) '{}'", unknown.join(", "));
        return Err(Fault::request(message));
    }
    let own = tx.get(&QUOTA, project).unwrap_or_default();
    let mut bounds = own.get("bounds").as_object().cloned().unwrap_or_default();
    for (name, value) in &given {
        if name == "project_id" || name == "tenant_id" {
            continue;
        }
        let number = check::integer(value)?;
        if let Err(Wrong::Reason(reason)) = check::number(&number.into(), -1, i64::from(i32::MAX)) {
            let message = format!("Invalid input for {name}. Reason: {reason}.");
            return Err(Fault::request(message));
        }
        let resource = RESOURCES.iter().find(|resource| resource.quota == Some(name.as_str()));
        let used = resource.map_or(0, |resource| i64::from(tx.count(resource.kind, project)));
        if !force && number != -1 && used > number {
            return Err(Fault::request(format!(
                "Quota limit {number} for {name} must be greater than or equal to already used {used}"
            )));
        }
        bounds.insert(name.clone(), number.into());
    }
    tx.put(&QUOTA, Object::from_value(json!({"id": project, "bounds": bounds})));
    Ok(())
}
