//! Questions to the server in the form of objects: who am I, may he, what may I. Nothing is stored.

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::rbac::Attributes;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::{Map, Value, json};

use super::{decide, subject, token};
use crate::call::Call;
use crate::decode;
use crate::identity::Identity;

/// Answers the review in the body: the same object with its status.
pub fn answer(call: &mut Call<'_>, bytes: &[u8]) -> ApiResult<Value> {
    let mut review = decode::object(call, bytes)?;
    if review["metadata"].is_null() {
        review["metadata"] = json!({});
    }
    let spec = review["spec"].clone();
    let status = match call.resource.kind.as_str() {
        "SelfSubjectReview" => json!({"userInfo": user_info(call.identity)}),
        "TokenReview" => token_review(call, &spec)?,
        "SelfSubjectAccessReview" => {
            let who = call.identity.clone();
            access(call, &spec, &who)?
        }
        "SubjectAccessReview" => {
            let who = named(call, &spec)?;
            access(call, &spec, &who)?
        }
        "LocalSubjectAccessReview" => {
            let who = named(call, &spec)?;
            let inside = spec["resourceAttributes"]["namespace"].as_str().unwrap_or_default();
            if Some(inside) != call.namespace() {
                return Err(invalid(
                    call,
                    "spec.resourceAttributes.namespace",
                    "must match metadata.namespace",
                ));
            }
            access(call, &spec, &who)?
        }
        "SelfSubjectRulesReview" => rules(call, &spec)?,
        other => return Err(ApiError::internal(format!("{other} is not a review"))),
    };
    review["status"] = status;
    Ok(review)
}

fn user_info(identity: &Identity) -> Value {
    let mut info = json!({"username": identity.user, "groups": identity.groups});
    if !identity.uid.is_empty() {
        info["uid"] = identity.uid.as_str().into();
    }
    if !identity.extra.is_empty() {
        info["extra"] = json!(identity.extra);
    }
    info
}

fn token_review(call: &Call<'_>, spec: &Value) -> ApiResult<Value> {
    let presented = spec["token"].as_str().unwrap_or_default();
    if presented.is_empty() {
        return Err(ApiError::bad_request("token is required for TokenReview in authentication"));
    }
    let asked = token::strings(&spec["audiences"]);
    Ok(match token::recognise(call.server, presented, &asked) {
        Ok((identity, audiences)) => {
            json!({"authenticated": true, "user": user_info(&identity), "audiences": audiences})
        }
        Err(why) => json!({"authenticated": false, "user": {}, "error": why}),
    })
}

/// Whom a SubjectAccessReview is about: exactly whom it names.
fn named(call: &Call<'_>, spec: &Value) -> ApiResult<Identity> {
    let identity = Identity {
        user: spec["user"].as_str().unwrap_or_default().to_owned(),
        groups: token::strings(&spec["groups"]),
        ..Identity::default()
    };
    if identity.user.is_empty() && identity.groups.is_empty() {
        return Err(invalid(call, "spec.user", "at least one of user or group must be specified"));
    }
    Ok(identity)
}

fn access(call: &Call<'_>, spec: &Value, who: &Identity) -> ApiResult<Value> {
    let (resource, other) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    if resource.is_object() == other.is_object() {
        let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        return Err(invalid(call, "spec.resourceAttributes", why));
    }
    let base = Attributes { user: &who.user, groups: &who.groups, ..Attributes::default() };
    let decision = if resource.is_object() {
        let text = |field: &str| resource[field].as_str().unwrap_or_default();
        let wanted = Attributes {
            verb: text("verb"),
            group: text("group"),
            resource: text("resource"),
            subresource: text("subresource"),
            name: text("name"),
            namespace: text("namespace"),
            ..base
        };
        let selector = resource["fieldSelector"]["rawSelector"].as_str().unwrap_or_default();
        decide(call.server, &wanted, selector)
    } else {
        let text = |field: &str| other[field].as_str().unwrap_or_default();
        let wanted = Attributes { verb: text("verb"), path: Some(text("path")), ..base };
        decide(call.server, &wanted, "")
    };
    let mut status = json!({"allowed": decision.allowed()});
    if !decision.reason().is_empty() {
        status["reason"] = decision.reason().into();
    }
    Ok(status)
}

fn rules(call: &Call<'_>, spec: &Value) -> ApiResult<Value> {
    let namespace = spec["namespace"].as_str().unwrap_or_default();
    if namespace.is_empty() {
        return Err(ApiError::bad_request("no namespace on request"));
    }
    let who = call.identity;
    let policy = call.server.access.policy(&call.server.store.snapshot());
    let mut resource_rules: Vec<Value> = Vec::new();
    let mut other_rules: Vec<Value> = Vec::new();
    for rule in policy.rules_for(&who.user, &who.groups, namespace) {
        if !rule.resources.is_empty() {
            let mut shown = rule.clone();
            shown.urls.clear();
            resource_rules.push(shown.to_value());
        }
        if !rule.urls.is_empty() {
            other_rules.push(json!({"verbs": rule.verbs, "nonResourceURLs": rule.urls}));
        }
    }
    let mut status = Map::new();
    status.insert("resourceRules".into(), resource_rules.into());
    status.insert("nonResourceRules".into(), other_rules.into());
    // What a node may do to its own objects cannot be said as rules.
    let node = subject::node(&who.user, &who.groups).is_some();
    status.insert("incomplete".into(), node.into());
    if node {
        let why = "node authorizer does not support user rule resolution";
        status.insert("evaluationError".into(), why.into());
    }
    Ok(Value::Object(status))
}

fn invalid(call: &Call<'_>, path: &str, why: &str) -> ApiError {
    let error = FieldError::invalid(&FieldPath::new(path), Value::Null, why);
    ApiError::invalid(&call.resource.group_kind(), "", &[error])
}
