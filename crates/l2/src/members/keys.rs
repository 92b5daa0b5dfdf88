//! The keys that members share.
//!
//! A key lives in three steps, so that nobody is ever deaf: first it is only accepted (`next`), then
//! everybody signs with it (`current`), then it is still accepted for a while (`previous`).

use ring::hmac;

/// How long a key is, at least.
pub const KEY_BYTES: usize = 32;
/// The bytes of a signature that are sent.
pub const TAG: usize = 32;

/// The keys of one moment.
#[derive(Clone, Default)]
pub struct Keys {
    current: Option<hmac::Key>,
    accepted: Vec<hmac::Key>,
}

/// A key that is too short to keep a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key of members has {0} bytes, and needs at least {KEY_BYTES}")]
pub struct TooShort(pub usize);

impl Keys {
    /// The key to sign with, and others that are accepted besides.
    pub fn new(current: &[u8], others: &[&[u8]]) -> Result<Self, TooShort> {
        let key = |bytes: &[u8]| {
            if bytes.len() < KEY_BYTES {
                return Err(TooShort(bytes.len()));
            }
            Ok(hmac::Key::new(hmac::HMAC_SHA256, bytes))
        };
        let accepted = std::iter::once(&current).chain(others).map(|bytes| key(bytes));
        Ok(Self { current: Some(key(current)?), accepted: accepted.collect::<Result<_, _>>()? })
    }

    /// Whether anything can be said or heard.
    pub fn is_empty(&self) -> bool {
        self.current.is_none()
    }

    /// The signature of a message; nothing while there is no key.
    pub(super) fn sign(&self, message: &[u8]) -> Option<hmac::Tag> {
        self.current.as_ref().map(|key| hmac::sign(key, message))
    }

    pub(super) fn verify(&self, message: &[u8], tag: &[u8]) -> bool {
        self.accepted.iter().any(|key| hmac::verify(key, message, tag).is_ok())
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The keys themselves have no business in a log.
        f.debug_struct("Keys").field("accepted", &self.accepted.len()).finish_non_exhaustive()
    }
}
