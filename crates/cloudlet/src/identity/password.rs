//! Passwords, kept as PBKDF2 of them.

use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use ring::pbkdf2;

use crate::chance::Chance;

const SALT: usize = 16;
const HASH: usize = 32;
/// What is compared with when there is no such user, so that the answer takes as long.
const NOBODY: &str =
    "pbkdf2_sha512$10000$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
/// More rounds than this in a stored hash are not believed.
const MOST_ROUNDS: u32 = 10_000_000;

/// What is kept of a password.
pub fn hash(chance: &mut dyn Chance, rounds: u32, password: &str) -> String {
    let salt: [u8; SALT] = chance.bytes();
    let rounds = NonZeroU32::new(rounds).unwrap_or(NonZeroU32::MIN);
    let mut out = [0; HASH];
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA512, rounds, &salt, password.as_bytes(), &mut out);
    format!("pbkdf2_sha512${rounds}${}${}", BASE64.encode(salt), BASE64.encode(out))
}

/// Whether it is the password; takes as long for nobody's (`None`) as for somebody's.
pub fn matches(kept: Option<&str>, password: &str) -> bool {
    let parts: Vec<&str> = kept.unwrap_or(NOBODY).split('$').collect();
    let ["pbkdf2_sha512", rounds, salt, hash] = parts.as_slice() else { return false };
    let rounds = rounds.parse::<u32>().ok().filter(|rounds| *rounds <= MOST_ROUNDS);
    let Some(rounds) = rounds.and_then(NonZeroU32::new) else { return false };
    let (Ok(salt), Ok(hash)) = (BASE64.decode(salt), BASE64.decode(hash)) else { return false };
    let algorithm = pbkdf2::PBKDF2_HMAC_SHA512;
    let same = pbkdf2::verify(algorithm, rounds, &salt, password.as_bytes(), &hash).is_ok();
    same && kept.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::Seeded;

    #[test]
    fn only_the_password_matches() {
        let kept = hash(&mut Seeded(1), 10, "s3cret");
        assert!(kept.starts_with("pbkdf2_sha512$10$") && !kept.contains("s3cret"));
        assert!(matches(Some(&kept), "s3cret"));
        for wrong in ["", "S3cret", "s3cret "] {
            assert!(!matches(Some(&kept), wrong));
        }
        assert!(!matches(None, "s3cret") && !matches(None, ""));
        for broken in ["", "x", "pbkdf2_sha512$0$AA$AA", "pbkdf2_sha512$4294967295$AA$AA"] {
            assert!(!matches(Some(broken), ""), "{broken}");
        }
        assert_ne!(hash(&mut Seeded(2), 10, "s3cret"), kept);
    }
}
