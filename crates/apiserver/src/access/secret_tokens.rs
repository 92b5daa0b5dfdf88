//! Tokens in Secrets, for clients that want one without an end: a Secret of type
//! `kubernetes.io/service-account-token` that names an account is given its token. It is good for
//! as long as the Secret and the account exist.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::Timestamp;
use landbridge_machinery::object;
use landbridge_machinery::status::ApiResult;
use serde_json::{Value, json};

use super::token::{self, Grant, ISSUER};
use crate::meta;
use crate::registry::Resource;
use crate::server::Inner;
use crate::system;
use crate::write::modify;

const TYPE: &str = "kubernetes.io/service-account-token";
const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";
const ACCOUNTS: &str = "/core/serviceaccounts/";
/// A century: the token ends with its Secret.
const SECONDS: i64 = 100 * 365 * 24 * 3600;

/// Follows Secrets and accounts for as long as the server lives.
pub async fn run(server: Arc<Inner>) {
    let registry = server.registry();
    let Some(secrets) = registry.get("", "secrets").cloned() else { return };
    let prefix = secrets.prefix(None);
    // An account that appears concerns all Secrets of its namespace.
    let in_namespace = |namespace: &str| -> Vec<String> {
        let snapshot = server.store.snapshot();
        let prefix = secrets.prefix(Some(namespace));
        let entries = snapshot.range(&prefix, None);
        entries.map(|entry| entry.key.to_string()).collect()
    };
    system::follow(
        &server,
        |snapshot| snapshot.range(&prefix, None).map(|entry| entry.key.to_string()).collect(),
        |event| {
            if event.key.starts_with(&prefix) {
                vec![event.key.to_string()]
            } else if event.key.starts_with(ACCOUNTS) && event.prev.is_none() {
                in_namespace(&event.entry.meta.namespace)
            } else {
                Vec::new()
            }
        },
        |key| {
            let (server, secrets) = (Arc::clone(&server), Arc::clone(&secrets));
            async move { reconcile(&server, &secrets, &key).await }
        },
    )
    .await;
}

async fn reconcile(server: &Inner, secrets: &Resource, key: &str) -> ApiResult<()> {
    let snapshot = server.store.snapshot();
    let Some(entry) = snapshot.get(key).filter(|entry| !entry.meta.terminating()) else {
        return Ok(());
    };
    let secret = meta::parse(entry);
    let name = object::annotation(&secret, ACCOUNT_NAME).unwrap_or_default();
    if secret["type"] != TYPE || name.is_empty() {
        return Ok(());
    }
    let namespace = object::namespace(&secret);
    let Some(account) = token::stored(&snapshot, "serviceaccounts", namespace, name) else {
        return Ok(());
    };
    modify(server, secrets, key, |secret| fill(server, secret, &account)).await
}

/// Adds what is missing; a token of an earlier account of that name is replaced.
fn fill(server: &Inner, secret: &mut Value, account: &Value) -> bool {
    let own = object::annotation(secret, ACCOUNT_UID) == Some(object::uid(account));
    if own && secret["data"]["token"].is_string() {
        return false;
    }
    let (name, uid) = (object::name(secret).to_owned(), object::uid(secret).to_owned());
    let audiences = [ISSUER.to_owned()];
    let bound = Some(("secret", name.as_str(), uid.as_str()));
    let grant = Grant { account, audiences: &audiences, seconds: SECONDS, bound };
    let Some(signed) = server.access.tokens.sign(&grant.claims(Timestamp::now())) else {
        return false;
    };
    if !secret["data"].is_object() {
        secret["data"] = json!({});
    }
    secret["data"]["token"] = BASE64.encode(signed).into();
    secret["data"]["namespace"] = BASE64.encode(object::namespace(account)).into();
    if let Some(ca) = &server.ca_pem {
        secret["data"]["ca.crt"] = BASE64.encode(ca).into();
    }
    secret["metadata"]["annotations"][ACCOUNT_UID] = object::uid(account).into();
    true
}
