//! What comes after the question mark: filters, fields, markers.

use std::fmt::{self, Write as _};

/// Pairs in the order they were given; a name may occur more than once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Nothing is asked for in particular.
    pub fn all() -> Self {
        Self::default()
    }

    /// Asks for a value, too.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.push((name.into(), value.into()));
        self
    }

    /// Asks for a value if there is one.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<impl Into<String>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// The first value of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// All pairs.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads what stands after the question mark of a URL.
    pub fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        Self(
            pairs
                .map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (decoded(name), decoded(value))
                })
                .collect(),
        )
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, value)) in self.0.iter().enumerate() {
            if place > 0 {
                f.write_char('&')?;
            }
            write!(f, "{}={}", encoded(name), encoded(value))?;
        }
        Ok(())
    }
}

/// Whatever could mean something in a URL, as percent and two digits.
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            other => {
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    out
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let code = bytes.get(at + 1..at + 3).and_then(|two| std::str::from_utf8(two).ok());
        match (byte, code.and_then(|two| u8::from_str_radix(two, 16).ok())) {
            (b'%', Some(value)) => {
                out.push(value);
                at += 3;
                continue;
            }
            (b'+', _) => out.push(b' '),
            _ => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_means_something_in_a_url_is_written_as_a_code() {
        let query = Query::all()
            .with("name", "lb-mgmt net&x=1")
            .with("fixed_ips", "ip_address=10.0.0.1")
            .with_some("absent", None::<String>);
        assert_eq!(query.to_string(), "name=lb-mgmt%20net%26x%3D1&fixed_ips=ip_address%3D10.0.0.1");
    }

    #[test]
    fn odd_text_is_read_as_far_as_it_goes() {
        let query = Query::parse("a=%4&b=%zz&&c&d=x+y&e=%2B&f=%");
        let pairs: Vec<_> = query.iter().collect();
        assert_eq!(
            pairs,
            [("a", "%4"), ("b", "%zz"), ("c", ""), ("d", "x y"), ("e", "+"), ("f", "%")]
        );
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(pairs in prop::collection::vec((".{1,8}", ".{0,12}"), 0..6)) {
            let query = Query(pairs);
            prop_assert_eq!(Query::parse(&query.to_string()), query);
        }
    }
}
