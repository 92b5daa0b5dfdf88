//! A text as a key of the state: what most of them are (UUIDs, Keystone's ids, MAC addresses, names) takes 24 bytes
//! and no allocation of its own. There are some nine keys for each port.

use std::fmt;

/// Longest text that is kept in place.
const SHORT: usize = 22;

/// A text that is kept small. The order is that of the texts within a variant: enough for walks that go on where
/// they ended.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Word {
    /// A UUID as the services write it.
    Uuid([u8; 16]),
    /// The same without hyphens.
    Hex([u8; 16]),
    /// A few bytes, then how many.
    Short([u8; SHORT], u8),
    /// Anything else.
    Long(Box<str>),
}

impl Word {
    /// The least of all.
    pub const FIRST: Self = Self::Uuid([0; 16]);
}

impl From<&str> for Word {
    fn from(text: &str) -> Self {
        let bytes = text.as_bytes();
        if let Some(bits) = uuid(bytes) {
            return Self::Uuid(bits);
        }
        if let Some(bits) = <&[u8; 32]>::try_from(bytes).ok().and_then(hex) {
            return Self::Hex(bits);
        }
        let mut short = [0; SHORT];
        match (short.get_mut(..bytes.len()), u8::try_from(bytes.len())) {
            (Some(place), Ok(len)) => {
                place.copy_from_slice(bytes);
                Self::Short(short, len)
            }
            _ => Self::Long(text.into()),
        }
    }
}

/// The bits of a UUID in lower case with its hyphens.
fn uuid(text: &[u8]) -> Option<[u8; 16]> {
    let text = <&[u8; 36]>::try_from(text).ok()?;
    let mut digits = [0; 32];
    let mut at = 0;
    for (number, byte) in text.iter().enumerate() {
        if [8, 13, 18, 23].contains(&number) {
            if *byte != b'-' {
                return None;
            }
        } else {
            *digits.get_mut(at)? = *byte;
            at += 1;
        }
    }
    hex(&digits)
}

/// The bits of digits in lower case.
fn hex(digits: &[u8; 32]) -> Option<[u8; 16]> {
    let mut bits = 0_u128;
    for digit in digits {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        bits = bits << 4 | u128::from(value);
    }
    Some(bits.to_be_bytes())
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uuid(bits) => {
                for (number, byte) in bits.iter().enumerate() {
                    let hyphen = if [4, 6, 8, 10].contains(&number) { "-" } else { "" };
                    write!(f, "{hyphen}{byte:02x}")?;
                }
                Ok(())
            }
            Self::Hex(bits) => write!(f, "{:032x}", u128::from_be_bytes(*bits)),
            Self::Short(bytes, len) => {
                let bytes = bytes.get(..usize::from(*len)).unwrap_or_default();
                // It was made of a text.
                f.write_str(std::str::from_utf8(bytes).unwrap_or_default())
            }
            Self::Long(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_there_are_many_of_is_small() {
        assert_eq!(size_of::<Word>(), 24);
        let long = |text: &str| matches!(Word::from(text), Word::Long(_));
        assert!(!long("01234567-89ab-cdef-0123-456789abcdef"));
        assert!(!long("0123456789abcdef0123456789abcdef"));
        assert!(!long("fa:16:3e:00:00:01") && !long("") && !long("a name of 22 character"));
        assert!(long("a name of more than that"));
    }

    fn texts() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<u128>().prop_map(|bits| format!("{bits:032x}")),
            "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "[0-9a-fA-F-]{32}",
            "[0-9a-fA-FgG-]{36}",
            "[a-c\0é]{0,3}",
            ".{0,30}",
        ]
    }

    proptest! {
        /// Nothing is lost, and no two texts are one word.
        #[test]
        fn a_word_is_its_text(one in texts(), other in texts()) {
            prop_assert_eq!(Word::from(one.as_str()).to_string(), one.clone());
            let equal = Word::from(one.as_str()) == Word::from(other.as_str());
            prop_assert_eq!(equal, one == other);
        }

        /// Ids of one service are in the order of their texts.
        #[test]
        fn uuids_keep_their_order(
            one in "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}",
            other in "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}",
        ) {
            let order = Word::from(one.as_str()).cmp(&Word::from(other.as_str()));
            prop_assert_eq!(order, one.cmp(&other));
        }
    }
}
