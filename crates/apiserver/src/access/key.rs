//! The key that signs tokens, and JSON web tokens as such (RFC 7519, ES256).

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
    UnparsedPublicKey,
};
use serde_json::{Value, json};

use crate::pki::{self, PkiError};

/// Longer texts are no tokens of ours.
const LONGEST: usize = 16 * 1024;
/// How many recognised tokens are remembered, so that their signatures are not checked again.
const REMEMBERED: usize = 1024;

/// Signs tokens and recognises those it signed.
pub struct TokenKey {
    pair: EcdsaKeyPair,
    random: SystemRandom,
    id: String,
    known: Mutex<HashMap<[u8; 32], Arc<Value>>>,
}

impl TokenKey {
    /// Reads the key in a file; makes one if there is none.
    pub fn ensure(path: &Path) -> Result<Self, PkiError> {
        let unusable = |why: String| PkiError::TokenKey { path: path.to_owned(), why };
        let pair = if let Some(pem) = pki::read_private(path)? {
            rcgen::KeyPair::from_pem(&pem).map_err(|error| unusable(error.to_string()))?
        } else {
            let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)
                .map_err(|error| unusable(error.to_string()))?;
            pki::write_private(path, pair.serialize_pem().as_bytes())?;
            pair
        };
        let der = pair.serialize_der();
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &random)
            .map_err(|error| unusable(error.to_string()))?;
        let id = BASE64URL.encode(digest(&SHA256, pair.public_key().as_ref()));
        Ok(Self { pair, random, id, known: Mutex::default() })
    }

    /// A token that says these claims; `None` when there is no randomness to sign with.
    pub fn sign(&self, claims: &Value) -> Option<String> {
        let header = json!({"alg": "ES256", "kid": self.id});
        let signed = format!("{}.{}", encoded(&header), encoded(claims));
        let signature = self.pair.sign(&self.random, signed.as_bytes()).ok()?;
        Some(format!("{signed}.{}", BASE64URL.encode(signature)))
    }

    /// The claims of a token this key signed. What they mean, and whether they still hold, is for
    /// the caller to judge.
    pub fn claims(&self, token: &str) -> Option<Arc<Value>> {
        if token.len() > LONGEST {
            return None;
        }
        let hash: [u8; 32] = digest(&SHA256, token.as_bytes()).as_ref().try_into().ok()?;
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(claims) = known().get(&hash) {
            return Some(Arc::clone(claims));
        }
        let claims = Arc::new(self.verify(token)?);
        let mut known = known();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(hash, Arc::clone(&claims));
        Some(claims)
    }

    fn verify(&self, token: &str) -> Option<Value> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let header = decoded(header)?;
        if header["alg"] != "ES256" || header["kid"] != self.id.as_str() {
            return None;
        }
        let signature = BASE64URL.decode(signature).ok()?;
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.pair.public_key().as_ref())
            .verify(signed.as_bytes(), &signature)
            .ok()?;
        decoded(claims)
    }
}

fn encoded(value: &Value) -> String {
    BASE64URL.encode(value.to_string())
}

fn decoded(part: &str) -> Option<Value> {
    serde_json::from_slice(&BASE64URL.decode(part).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_what_was_signed_is_recognised() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sa.key");
        let key = TokenKey::ensure(&path).unwrap();
        let claims = json!({"sub": "bob"});
        let token = key.sign(&claims).unwrap();
        assert_eq!(key.claims(&token).as_deref(), Some(&claims));
        assert_eq!(key.claims(&token).as_deref(), Some(&claims)); // remembered
        let again = TokenKey::ensure(&path).unwrap();
        assert_eq!(again.claims(&token).as_deref(), Some(&claims));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

        let other = TokenKey::ensure(&dir.path().join("other.key")).unwrap();
        assert_eq!(other.claims(&token), None);
        let parts: Vec<&str> = token.split('.').collect();
        let forged = encoded(&json!({"sub": "eve"}));
        let none = encoded(&json!({"alg": "none", "kid": key.id}));
        for bad in [
            String::new(),
            "a.b.c".to_owned(),
            format!("{}.{forged}.{}", parts[0], parts[2]),
            format!("{none}.{}.", parts[1]),
            format!("{}.{}.", parts[0], parts[1]),
            format!("{}.{}", parts[0], parts[1]),
            format!("{token}.x"),
            "x".repeat(LONGEST + 1),
        ] {
            assert_eq!(key.claims(&bad), None, "{bad}");
        }
    }
}
