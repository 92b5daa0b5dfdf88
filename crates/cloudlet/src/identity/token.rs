//! Tokens: what a caller may do and until when, sealed with a key of the cloud.
//!
//! A token carries ids only; names, roles and whether all of it is still there and enabled are looked
//! up each time it is used, so taking a role away takes effect at once. Revoked ones are remembered
//! until they would have ended anyway.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use jiff::Timestamp;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::assign;
use super::credentials::APPLICATION_CREDENTIAL;
use super::entities::{DOMAIN, PROJECT, USER};
use super::refusal::Refusal;
use crate::caller::{Caller, Named, Scope};
use crate::chance::Chance;
use crate::object::Object;
use crate::state::{Kind, State, Tx};

/// The key: `{id: "token", key: base64}`.
pub static KEY: Kind = Kind { name: "token_key", index: |_, _| {}, blanks: &[] };
/// Revoked tokens by audit id: `{id, until}`.
pub static REVOCATION: Kind = Kind { name: "revocation", index: |_, _| {}, blanks: &[] };

/// The longest text that is looked at as a token.
const LONGEST: usize = 4096;

/// What a token carries.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Claims {
    /// The user.
    #[serde(rename = "u")]
    pub user: String,
    /// The scope.
    #[serde(rename = "s")]
    pub scope: Target,
    /// How the user proved itself.
    #[serde(rename = "m")]
    pub methods: Vec<String>,
    /// Issued and ends, in seconds.
    #[serde(rename = "i")]
    pub issued: i64,
    /// When it ends.
    #[serde(rename = "e")]
    pub expires: i64,
    /// The chain of audit ids.
    #[serde(rename = "a")]
    pub audit_ids: Vec<String>,
    /// The application credential.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
}

/// What a token is for, by id.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// A project.
    Project(String),
    /// A domain.
    Domain(String),
    /// The system.
    System,
    /// Nothing yet.
    Unscoped,
}

/// Makes the key of a new cloud.
pub fn make_key(tx: &mut Tx<'_>) {
    let key: [u8; 32] = tx.chance.bytes();
    tx.put(&KEY, Object::from_value(json!({"id": "token", "key": BASE64.encode(key)})));
}

fn key(state: &State) -> Option<LessSafeKey> {
    let row = state.get(&KEY, "token")?;
    let bytes = BASE64.decode(row.text("key")).ok()?;
    Some(LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &bytes).ok()?))
}

/// The text of a token.
pub fn issue(state: &State, chance: &mut dyn Chance, claims: &Claims) -> Option<String> {
    let key = key(state)?;
    let nonce: [u8; NONCE_LEN] = chance.bytes();
    let mut sealed = serde_json::to_vec(claims).ok()?;
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut sealed)
        .ok()?;
    Some(BASE64.encode([nonce.as_slice(), &sealed].concat()))
}

fn open(state: &State, text: &str) -> Option<Claims> {
    if text.len() > LONGEST {
        return None;
    }
    let bytes = BASE64.decode(text).ok()?;
    let (nonce, sealed) = bytes.split_at_checked(NONCE_LEN)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let mut sealed = sealed.to_vec();
    let plain = key(state)?.open_in_place(nonce, Aad::empty(), &mut sealed).ok()?;
    serde_json::from_slice(plain).ok()
}

/// What is said of a token that is none, or no longer.
pub fn refused(state: &State, text: &str) -> Refusal {
    match open(state, text) {
        Some(_) => Refusal::no_token("Failed to validate token"),
        None => Refusal::no_token("Could not recognize Fernet token"),
    }
}

/// A new audit id.
pub fn audit_id(chance: &mut dyn Chance) -> String {
    BASE64.encode(chance.bytes::<16>())
}

/// Who a token is, if it still is anybody.
pub fn check(state: &State, now: Timestamp, text: &str) -> Option<Caller> {
    let claims = open(state, text)?;
    if claims.expires <= now.as_second() {
        return None;
    }
    // A token goes with the one it was had with.
    if claims.audit_ids.iter().any(|id| state.exists(&REVOCATION, id)) {
        return None;
    }
    let before = state.get(&REVOCATION, &of_user(&claims.user));
    if before.and_then(|row| row.number("before")).is_some_and(|before| claims.issued <= before) {
        return None;
    }
    resolve(state, &claims)
}

/// Everything a token's ids stand for, if all of it is there and enabled.
pub fn resolve(state: &State, claims: &Claims) -> Option<Caller> {
    let user = enabled(state, &USER, &claims.user)?;
    let user = named(state, &user)?;
    let scope = match &claims.scope {
        Target::Project(id) => Scope::Project(named(state, &enabled(state, &PROJECT, id)?)?),
        Target::Domain(id) => {
            let domain = enabled(state, &DOMAIN, id)?;
            Scope::Domain(Named {
                id: id.clone(),
                name: domain.text("name").to_owned(),
                domain_id: id.clone(),
                domain_name: domain.text("name").to_owned(),
            })
        }
        Target::System => Scope::System,
        Target::Unscoped => Scope::Unscoped,
    };
    let mut roles = assign::roles(state, &claims.user, &claims.scope);
    if let Some(id) = &claims.credential {
        let credential = state.get(&APPLICATION_CREDENTIAL, id)?;
        let lent: Vec<&str> = credential.texts("role_ids").collect();
        roles =
            assign::implied(state, roles.into_iter().filter(|(id, _)| lent.contains(&id.as_str())));
    }
    if roles.is_empty() && claims.scope != Target::Unscoped {
        return None;
    }
    Some(Caller {
        user,
        scope,
        roles,
        methods: claims.methods.clone(),
        audit_ids: claims.audit_ids.clone(),
        issued: Timestamp::from_second(claims.issued).ok()?,
        expires: Timestamp::from_second(claims.expires).ok()?,
        application_credential: claims.credential.clone(),
    })
}

/// The object, if it and its domain are enabled.
fn enabled(state: &State, kind: &'static Kind, id: &str) -> Option<Object> {
    let object = state.get(kind, id).filter(|object| object.flag("enabled"))?;
    let domain = object.some_text("domain_id").unwrap_or(id).to_owned();
    let domain = state.get(&DOMAIN, &domain)?;
    domain.flag("enabled").then_some(object)
}

fn named(state: &State, object: &Object) -> Option<Named> {
    let domain = state.get(&DOMAIN, object.text("domain_id"))?;
    Some(Named {
        id: object.id().to_owned(),
        name: object.text("name").to_owned(),
        domain_id: domain.id().to_owned(),
        domain_name: domain.text("name").to_owned(),
    })
}

/// The row about all tokens of a user up to a second.
fn of_user(user: &str) -> String {
    format!("user/{user}")
}

/// Revokes all tokens that a user has had so far, those of this second included: so it is when a password changes.
pub fn revoke_all(tx: &mut Tx<'_>, user: &str) {
    forget_over(tx);
    let now = tx.now.as_second();
    let until = now.saturating_add(tx.config.token_seconds);
    let row = json!({"id": of_user(user), "before": now, "until": until});
    tx.put(&REVOCATION, Object::from_value(row));
}

/// Revokes a token, and forgets those that have ended.
pub fn revoke(tx: &mut Tx<'_>, caller: &Caller) {
    forget_over(tx);
    if let Some(id) = caller.audit_ids.first() {
        let row = json!({"id": id, "until": caller.expires.as_second()});
        tx.put(&REVOCATION, Object::from_value(row));
    }
}

/// Tokens that have ended need no revocation.
fn forget_over(tx: &mut Tx<'_>) {
    let now = tx.now.as_second();
    let over: Vec<Object> = tx
        .all(&REVOCATION)
        .filter(|row| row.number("until").is_none_or(|until| until <= now))
        .collect();
    for row in over {
        tx.delete(&REVOCATION, row.id());
    }
}
