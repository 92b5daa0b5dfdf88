//! Tokens of service accounts: what they claim, and whether that still holds.

use http::HeaderMap;
use jiff::Timestamp;
use landbridge_machinery::object;
use serde_json::{Value, json};

use super::{request, subject};
use crate::chance;
use crate::identity::Identity;
use crate::meta::{self, Snapshot, Summary};
use crate::server::Inner;

/// Who issues the tokens, and for whom they are unless they say otherwise.
pub const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// How far clocks may go wrong, in seconds; and how long a token outlives an object whose time has
/// come but that still exists.
const LEEWAY: i64 = 60;

/// What a token is asked to say.
pub struct Grant<'a> {
    /// The ServiceAccount.
    pub account: &'a Value,
    /// For whom it is.
    pub audiences: &'a [String],
    /// For how long.
    pub seconds: i64,
    /// Kind (`pod` or `secret`), name and uid of the object it ends with.
    pub bound: Option<(&'static str, &'a str, &'a str)>,
}

impl Grant<'_> {
    /// The claims, from now on.
    pub fn claims(&self, now: Timestamp) -> Value {
        let (namespace, name) = (object::namespace(self.account), object::name(self.account));
        let begin = now.as_second();
        let mut about = json!({
            "namespace": namespace,
            "serviceaccount": {"name": name, "uid": object::uid(self.account)},
        });
        if let Some((kind, name, uid)) = self.bound {
            about[kind] = json!({"name": name, "uid": uid});
        }
        json!({
            "iss": ISSUER,
            "sub": subject::account_user(namespace, name),
            "aud": self.audiences,
            "iat": begin,
            "nbf": begin,
            "exp": begin.saturating_add(self.seconds),
            "jti": chance::uid(),
            "kubernetes.io": about,
        })
    }
}

/// The identity of a request by its bearer token.
pub fn bearer(server: &Inner, headers: &HeaderMap) -> Option<Identity> {
    let token = request::bearer_token(headers)?;
    recognise(server, token, &[]).ok().map(|(identity, _)| identity)
}

/// Whose token this is, and for which of the audiences asked for it is good. Without any, it must
/// be meant for this server.
pub fn recognise(
    server: &Inner,
    token: &str,
    audiences: &[String],
) -> Result<(Identity, Vec<String>), &'static str> {
    const INVALID: &str = "invalid bearer token";
    let claims = server.access.tokens.claims(token).ok_or(INVALID)?;
    let good_for: Vec<String> = strings(&claims["aud"])
        .into_iter()
        .filter(|own| match audiences {
            [] => own == ISSUER,
            asked => asked.contains(own),
        })
        .collect();
    if claims["iss"] != ISSUER || good_for.is_empty() {
        return Err("token audiences do not match");
    }
    let now = Timestamp::now().as_second();
    let at = |claim: &str| claims[claim].as_i64();
    if at("exp").is_none_or(|end| now >= end) {
        return Err("service account token has expired");
    }
    if at("nbf").is_none_or(|begin| now + LEEWAY < begin) {
        return Err("service account token is not valid yet");
    }
    holder(&server.store.snapshot(), &claims, now)
        .map(|identity| (identity, good_for))
        .ok_or(INVALID)
}

/// The account, if it and what the token is bound to are still the same objects.
fn holder(snapshot: &Snapshot, claims: &Value, now: i64) -> Option<Identity> {
    let about = &claims["kubernetes.io"];
    let namespace = about["namespace"].as_str()?;
    let same = |plural: &str, of: &Value| {
        let key = format!("/core/{plural}/{namespace}/{}", of["name"].as_str().unwrap_or_default());
        let found = snapshot.get(&key).filter(|entry| !has_ended(&entry.meta, now));
        found.is_some_and(|entry| of["uid"] == entry.meta.uid.as_str())
    };
    let account = &about["serviceaccount"];
    let name = account["name"].as_str()?;
    let user = subject::account_user(namespace, name);
    if claims["sub"] != user.as_str() || !same("serviceaccounts", account) {
        return None;
    }
    let mut identity = Identity {
        user,
        uid: account["uid"].as_str()?.to_owned(),
        groups: subject::account_groups(namespace),
        ..Identity::default()
    };
    let mut note = |key: &str, value: String| {
        identity.extra.insert(format!("authentication.kubernetes.io/{key}"), vec![value]);
    };
    if let Some(id) = claims["jti"].as_str() {
        note("credential-id", format!("JTI={id}"));
    }
    for (kind, plural) in [("pod", "pods"), ("secret", "secrets")] {
        let of = &about[kind];
        if of.is_null() {
            continue;
        }
        if !same(plural, of) {
            return None;
        }
        if kind == "pod" {
            note("pod-name", of["name"].as_str()?.to_owned());
            note("pod-uid", of["uid"].as_str()?.to_owned());
        }
    }
    Some(identity)
}

/// The time of its deletion has come. A pod that is told to stop needs its token until then.
fn has_ended(meta: &Summary, now: i64) -> bool {
    let end = meta.deletion_timestamp.as_deref().map(str::parse::<Timestamp>);
    end.is_some_and(|end| end.map_or(true, |end| end.as_second() + LEEWAY < now))
}

/// An object of the core group, as it is stored.
pub fn stored(snapshot: &Snapshot, plural: &str, namespace: &str, name: &str) -> Option<Value> {
    snapshot.get(&format!("/core/{plural}/{namespace}/{name}")).map(|entry| meta::parse(entry))
}

/// A list of texts.
pub fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{ApiServer, Options};

    #[tokio::test]
    async fn tokens_have_their_time() {
        let dir = tempfile::tempdir().unwrap();
        let server = ApiServer::open(Options::new(dir.path())).await.unwrap();
        let inner = &server.inner;
        crate::bootstrap::furnish(inner, "default").await.unwrap();
        let account = stored(&inner.store.snapshot(), "serviceaccounts", "default", "default");
        let account = account.expect("account");
        let audiences = [ISSUER.to_owned()];
        let grant = Grant { account: &account, audiences: &audiences, seconds: 600, bound: None };
        let now = Timestamp::now();
        let at = |seconds: i64| Timestamp::from_second(now.as_second() + seconds).unwrap();
        let said = |claims: &Value| {
            let token = inner.access.tokens.sign(claims).expect("token");
            recognise(inner, &token, &[]).map(|(identity, _)| identity.user)
        };
        let user = "system:serviceaccount:default:default".to_owned();
        assert_eq!(said(&grant.claims(now)), Ok(user.clone()));
        assert_eq!(said(&grant.claims(at(-590))), Ok(user));
        assert_eq!(said(&grant.claims(at(-600))), Err("service account token has expired"));
        assert_eq!(said(&grant.claims(at(120))), Err("service account token is not valid yet"));
        for (claim, wrong) in [
            ("iss", json!("somebody")),
            ("sub", json!("system:serviceaccount:kube-system:default")),
            ("exp", Value::Null),
            ("nbf", json!("soon")),
            ("kubernetes.io", json!({})),
        ] {
            let mut claims = grant.claims(now);
            claims[claim] = wrong;
            assert!(said(&claims).is_err(), "{claim}");
        }
        server.shutdown().await;
    }

    #[test]
    fn a_pod_that_stops_keeps_its_token_until_its_time_has_come() {
        let end = |text: Option<&str>| Summary {
            deletion_timestamp: text.map(str::to_owned),
            ..Summary::default()
        };
        let now = "2030-01-01T00:10:00Z".parse::<Timestamp>().unwrap().as_second();
        for (text, wanted) in [
            (None, false),
            (Some("2030-01-01T00:10:30Z"), false),
            (Some("2030-01-01T00:09:30Z"), false),
            (Some("2030-01-01T00:08:30Z"), true),
            (Some("some day"), true),
        ] {
            assert_eq!(has_ended(&end(text), now), wanted, "{text:?}");
        }
    }
}
