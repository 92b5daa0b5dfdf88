//! `POST …/serviceaccounts/NAME/token`: a token for an account.

use jiff::Timestamp;
use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::gvk::{GroupKind, GroupResource};
use landbridge_machinery::object;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::{Value, json};

use super::token::{self, Grant, ISSUER};
use super::{node, subject};
use crate::call::Call;
use crate::meta::Snapshot;
use crate::{chance, decode};

const SHORTEST: i64 = 600;
const LONGEST: i64 = 1 << 32;
const USUAL: i64 = 3600;

/// Answers a TokenRequest; `None` when the request is about something else.
pub fn answer(call: &Call<'_>, bytes: &[u8]) -> Option<ApiResult<Value>> {
    let about_tokens = call.resource.group.is_empty()
        && call.resource.plural == "serviceaccounts"
        && call.target.subresource.as_deref() == Some("token");
    about_tokens.then(|| grant(call, bytes))
}

fn grant(call: &Call<'_>, bytes: &[u8]) -> ApiResult<Value> {
    let body = decode::untyped(call, bytes)?;
    let spec = &body["spec"];
    let seconds = spec["expirationSeconds"].as_i64().unwrap_or(USUAL);
    let mut audiences = token::strings(&spec["audiences"]);
    audiences.retain(|audience| !audience.is_empty());
    if audiences.is_empty() {
        audiences.push(ISSUER.to_owned());
    }
    check_duration(call, seconds)?;
    let namespace = call.namespace().unwrap_or_default();
    let snapshot = call.server.store.snapshot();
    let account = token::stored(&snapshot, "serviceaccounts", namespace, call.name())
        .ok_or_else(|| call.not_found())?;
    let bound = bound(call, &snapshot, &account, &spec["boundObjectRef"])?;
    let words = bound.as_ref().map(|(kind, name, uid)| (*kind, name.as_str(), uid.as_str()));
    let now = Timestamp::now();
    let grant = Grant { account: &account, audiences: &audiences, seconds, bound: words };
    let claims = grant.claims(now);
    let expires = claims["exp"].as_i64().and_then(|end| Timestamp::from_second(end).ok());
    let signed = if call.query.dry_run {
        Some(String::new())
    } else {
        call.server.access.tokens.sign(&claims)
    };
    let mut asked = json!({"audiences": audiences, "expirationSeconds": seconds});
    asked["boundObjectRef"] = spec["boundObjectRef"].clone();
    Ok(json!({
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": call.name(), "namespace": namespace, "creationTimestamp": chance::timestamp(),
        },
        "spec": asked,
        "status": {
            "token": signed.ok_or_else(|| ApiError::internal("cannot sign a token"))?,
            "expirationTimestamp": expires.map(chance::format_timestamp),
        },
    }))
}

fn check_duration(call: &Call<'_>, seconds: i64) -> ApiResult<()> {
    let why = match seconds {
        SHORTEST..=LONGEST => return Ok(()),
        ..SHORTEST => "may not specify a duration less than 10 minutes",
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    let error = FieldError::invalid(&FieldPath::new("spec.expirationSeconds"), seconds, why);
    let kind = GroupKind::new("authentication.k8s.io", "TokenRequest");
    Err(ApiError::invalid(&kind, call.name(), &[error]))
}

/// Kind in claims, name and uid of the object the token shall end with.
type Bound = (&'static str, String, String);

fn bound(
    call: &Call<'_>,
    snapshot: &Snapshot,
    account: &Value,
    reference: &Value,
) -> ApiResult<Option<Bound>> {
    let asker = subject::node(&call.identity.user, &call.identity.groups);
    let refuse =
        |why: String| Err(ApiError::forbidden(&call.resource.group_resource(), call.name(), &why));
    if reference.is_null() {
        return match asker {
            Some(node) => refuse(format!("node {node:?} requested a token not bound to a pod")),
            None => Ok(None),
        };
    }
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let (claim, plural) = match (text("apiVersion"), text("kind")) {
        ("v1", "Pod") => ("pod", "pods"),
        ("v1", "Secret") => ("secret", "secrets"),
        (version, kind) => {
            return Err(ApiError::bad_request(format!(
                "cannot bind token for serviceaccount to object of type {version}, Kind={kind}"
            )));
        }
    };
    let (namespace, name) = (object::namespace(account), text("name"));
    let about = GroupResource::new("", plural);
    let target = token::stored(snapshot, plural, namespace, name)
        .ok_or_else(|| ApiError::not_found(&about, name))?;
    let uid = object::uid(&target);
    if !text("uid").is_empty() && text("uid") != uid {
        let why = format!(
            "the UID in the bound object reference ({}) does not match the UID in record. The object might have been deleted and then recreated",
            text("uid")
        );
        return Err(ApiError::conflict(&about, name, &why));
    }
    if claim == "pod" {
        let runs_as = target["spec"]["serviceAccountName"].as_str().unwrap_or("default");
        if runs_as != call.name() {
            return Err(ApiError::bad_request(format!(
                "cannot bind token for serviceaccount {:?} to pod running with different serviceaccount name.",
                call.name()
            )));
        }
    }
    if let Some(asker) = asker
        && !(claim == "pod" && node::is_bound(snapshot, namespace, name, asker))
    {
        return refuse(format!(
            "node {asker:?} requested a token bound to a pod scheduled on a different node"
        ));
    }
    Ok(Some((claim, name.to_owned(), uid.to_owned())))
}
