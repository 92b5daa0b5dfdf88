//! Names of links.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A name the kernel accepts for a link: 1 to 15 bytes, no `/`, no `:`, no blank, not `.` or `..`.
///
/// The same rules make it safe as one component of a path below `/proc/sys`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Cow<'_, str>", into = "String")]
pub struct IfName(Box<str>);

/// Why a text is no name of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAName {
    #[error("a link's name cannot be empty")]
    Empty,
    #[error("a link's name has at most 15 bytes")]
    TooLong,
    #[error("a link cannot be named . or ..")]
    Dots,
    #[error("a link's name has no slash, colon, blank or control character")]
    Character,
}

impl IfName {
    /// Checks a name by the kernel's rules.
    pub fn new(name: &str) -> Result<Self, NotAName> {
        match name {
            "" => Err(NotAName::Empty),
            "." | ".." => Err(NotAName::Dots),
            _ if name.len() > 15 => Err(NotAName::TooLong),
            _ if name.chars().any(forbidden) => Err(NotAName::Character),
            _ => Ok(Self(name.into())),
        }
    }

    /// A name that the kernel itself has given to us.
    pub(crate) fn from_kernel(name: &str) -> Self {
        Self(name.into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn forbidden(c: char) -> bool {
    matches!(c, '/' | ':') || c.is_whitespace() || c.is_control()
}

impl fmt::Display for IfName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for IfName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::str::FromStr for IfName {
    type Err = NotAName;

    fn from_str(name: &str) -> Result<Self, NotAName> {
        Self::new(name)
    }
}

impl TryFrom<Cow<'_, str>> for IfName {
    type Error = NotAName;

    fn try_from(name: Cow<'_, str>) -> Result<Self, NotAName> {
        Self::new(&name)
    }
}

impl From<IfName> for String {
    fn from(name: IfName) -> Self {
        name.0.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_kernel() {
        for good in ["lo", "eth0", "enp6s0.20", "a", "fifteen-bytes-x", "br-ex", "é", "..."] {
            assert_eq!(IfName::new(good).unwrap().as_str(), good);
        }
        for (bad, why) in [
            ("", NotAName::Empty),
            (".", NotAName::Dots),
            ("..", NotAName::Dots),
            ("sixteen-bytes-xx", NotAName::TooLong),
            ("a/b", NotAName::Character),
            ("a:1", NotAName::Character),
            ("a b", NotAName::Character),
            ("a\0", NotAName::Character),
        ] {
            assert_eq!(IfName::new(bad), Err(why), "{bad:?}");
        }
    }

    #[test]
    fn a_name_is_checked_when_it_is_read() {
        assert_eq!(serde_json::to_string(&IfName::new("eth0").unwrap()).unwrap(), r#""eth0""#);
        assert!(serde_json::from_str::<IfName>(r#""../../x""#).is_err());
    }
}
