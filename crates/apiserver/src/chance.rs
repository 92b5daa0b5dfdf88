//! The only place where the server draws random numbers and reads the clock.

use jiff::Timestamp;

/// Letters and digits that cannot form words, as upstream uses for generated names.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

fn bytes<const N: usize>() -> [u8; N] {
    let mut out = [0; N];
    if getrandom::fill(&mut out).is_err() {
        // Without a random source two objects could get one uid: better no server than that.
        std::process::abort();
    }
    out
}

/// A fresh uid (RFC 9562 version 4).
pub fn uid() -> String {
    let mut b: [u8; 16] = bytes();
    b[6] = (b[6] & 0x0f) | 0x40;
    b[8] = (b[8] & 0x3f) | 0x80;
    let hex = format!("{:032x}", u128::from_be_bytes(b));
    format!("{}-{}-{}-{}-{}", &hex[0..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..32])
}

/// Five characters that complete a `generateName`.
pub fn suffix() -> String {
    bytes::<5>().iter().map(|b| char::from(ALPHABET[usize::from(*b) % ALPHABET.len()])).collect()
}

/// A number below `limit` (which is not 0).
pub fn below(limit: u128) -> u128 {
    u128::from_le_bytes(bytes()) % limit.max(1)
}

/// Now, as objects carry it: whole seconds, UTC.
pub fn timestamp() -> String {
    format_timestamp(Timestamp::now())
}

/// A moment as objects carry it.
pub fn format_timestamp(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uids_and_suffixes_have_their_form() {
        let id = uid();
        assert_eq!(id.len(), 36);
        assert_eq!(id.as_bytes()[14], b'4');
        assert_ne!(id, uid());
        assert!(suffix().bytes().all(|b| ALPHABET.contains(&b)));
        assert_eq!(format_timestamp(Timestamp::UNIX_EPOCH), "1970-01-01T00:00:00Z");
    }
}
