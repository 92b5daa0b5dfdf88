//! Key pairs: public keys by name, of a user.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::Call;
use super::flavors::missing;
use super::refusal::Refusal;
use crate::object::Object;
use crate::request::Response;
use crate::state::{Kind, State, Tx};

pub static KEYPAIR: Kind = Kind {
    name: "keypair",
    index: |pair, keys| keys.add("user_id", pair.text("user_id")),
    blanks: &[],
};

/// The longest key: an RSA key of 16 384 bits takes less than 3 000 characters.
const LONGEST: usize = 16 * 1024;

fn id(user: &str, name: &str) -> String {
    format!("{user}/{name}")
}

/// The user's key of that name.
pub fn find(state: &State, user: &str, name: &str) -> Option<Object> {
    state.get(&KEYPAIR, &id(user, name))
}

pub fn route(tx: &mut Tx<'_>, call: &Call<'_>, parts: &[&str]) -> Result<Response, Refusal> {
    let user = call.who.user.id.clone();
    let known = |tx: &Tx<'_>, name: &str| {
        let none = || Refusal::missing(format!("Keypair {name} not found for user {user}"));
        find(tx, &user, name).ok_or_else(none)
    };
    match (&call.request.method, parts) {
        (&Method::GET, []) => {
            let pairs = tx.find(&KEYPAIR, "user_id", &user);
            let shown: Vec<Value> =
                pairs.map(|pair| json!({"keypair": shown(call, &pair)})).collect();
            Ok(Response::json(StatusCode::OK, &json!({"keypairs": shown})))
        }
        (&Method::POST, []) => create(tx, call),
        (&Method::GET, [name]) => {
            let pair = known(tx, name)?;
            let mut shown = shown(call, &pair);
            shown["user_id"] = user.as_str().into();
            shown["id"] = 1.into();
            shown["deleted"] = false.into();
            shown["deleted_at"] = Value::Null;
            shown["updated_at"] = Value::Null;
            shown["created_at"] = pair.get("created_at").clone();
            Ok(Response::json(StatusCode::OK, &json!({"keypair": shown})))
        }
        (&Method::DELETE, [name]) => {
            let pair = known(tx, name)?;
            tx.delete(&KEYPAIR, pair.id());
            let done =
                if call.micro.has(2) { StatusCode::NO_CONTENT } else { StatusCode::ACCEPTED };
            Ok(Response::empty(done))
        }
        _ => Err(Refusal::gone()),
    }
}

fn shown(call: &Call<'_>, pair: &Object) -> Value {
    let mut shown = json!({
        "name": pair.text("name"), "public_key": pair.text("public_key"),
        "fingerprint": pair.text("fingerprint"),
    });
    if call.micro.has(2) {
        shown["type"] = pair.get("type").clone();
    }
    shown
}

fn create(tx: &mut Tx<'_>, call: &Call<'_>) -> Result<Response, Refusal> {
    let body = call.body()?;
    let given = body.get("keypair").ok_or_else(|| missing("keypair"))?;
    let text = |name: &str| given.get(name).and_then(Value::as_str);
    let name = text("name").ok_or_else(|| missing("name"))?;
    let plain = |c: char| c.is_ascii_alphanumeric() || " -_@.".contains(c);
    if name.trim().is_empty() || name.len() > 255 || !name.chars().all(plain) {
        return Err(Refusal::bad(
            "Keypair data is invalid: Keypair name contains unsafe characters or is not 1 to 255 \
             characters long",
        ));
    }
    let kind = text("type").unwrap_or("ssh");
    if !["ssh", "x509"].contains(&kind) {
        return Err(Refusal::bad(format!(
            "Invalid input for field/attribute type. Value: {kind}."
        )));
    }
    // As Nova since 2.92: nobody should hold a private key but who made it.
    let key = text("public_key").ok_or_else(|| missing("public_key"))?;
    let fingerprint = fingerprint(key, kind)
        .ok_or_else(|| Refusal::bad("Keypair data is invalid: failed to generate fingerprint"))?;
    let user = call.who.user.id.as_str();
    if find(tx, user, name).is_some() {
        return Err(Refusal::conflict(format!("Key pair '{name}' already exists.")));
    }
    let pair = Object::from_value(json!({
        "id": id(user, name), "name": name, "user_id": user, "public_key": key, "type": kind,
        "fingerprint": fingerprint, "created_at": tx.timestamp(),
    }));
    tx.put(&KEYPAIR, pair.clone());
    let mut shown = shown(call, &pair);
    shown["user_id"] = user.into();
    let done = if call.micro.has(2) { StatusCode::CREATED } else { StatusCode::OK };
    Ok(Response::json(done, &json!({"keypair": shown})))
}

/// The fingerprint as ssh-keygen prints it today (SHA-256, base64); `None` for what is no key. Nova shows MD5.
fn fingerprint(key: &str, kind: &str) -> Option<String> {
    if key.len() > LONGEST {
        return None;
    }
    let encoded = match kind {
        "ssh" => key.split_whitespace().nth(1)?.to_owned(),
        _ => key.lines().filter(|line| !line.starts_with("-----")).collect(),
    };
    let raw = STANDARD.decode(encoded.trim_end_matches('=').to_owned() + padding(&encoded)).ok()?;
    let digest = ring::digest::digest(&ring::digest::SHA256, &raw);
    Some(format!("SHA256:{}", STANDARD.encode(digest).trim_end_matches('=')))
}

fn padding(encoded: &str) -> &'static str {
    ["", "===", "==", "="][encoded.trim_end_matches('=').len() % 4]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_the_one_of_ssh_keygen() {
        // ssh-keygen -lf on this key prints the same.
        let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl git@github.com";
        let expected = "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU";
        assert_eq!(fingerprint(key, "ssh").as_deref(), Some(expected));
        assert_eq!(fingerprint("ssh-ed25519", "ssh"), None);
        assert_eq!(fingerprint("ssh-ed25519 !!", "ssh"), None);
        assert_eq!(fingerprint(&"a".repeat(LONGEST + 1), "ssh"), None);
    }
}
