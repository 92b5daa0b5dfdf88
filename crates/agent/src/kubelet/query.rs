//! What stands behind the question mark.

/// The parameters of a request, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads them. What cannot be decoded is taken as it stands.
    pub fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        Self(
            pairs
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .map(|(key, value)| (decode(key), decode(value)))
                .collect(),
        )
    }

    /// All values of a key.
    pub fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// The first value of a key.
    pub fn first(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// Whether a key is set to true.
    pub fn flag(&self, key: &str) -> bool {
        matches!(self.first(key), Some("true" | "1"))
    }

    /// A number, where one is given.
    pub fn number<T: std::str::FromStr>(&self, key: &str) -> Result<Option<T>, String> {
        let parse = |text: &str| text.parse().map_err(|_| format!("{key}={text} is no number"));
        self.first(key).map(parse).transpose()
    }
}

/// Takes escapes out of a part of an address.
pub fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let hex = |at: usize| after.get(at).and_then(|c| char::from(*c).to_digit(16));
        match (byte, hex(0), hex(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                rest = &after[2..];
            }
            (b'+', _, _) => {
                bytes.push(b' ');
                rest = after;
            }
            _ => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let query = Query::parse("command=sh&command=-c&command=echo%20a%26b+c&tty=true&x=%zz%4");
        assert_eq!(query.all("command").collect::<Vec<_>>(), ["sh", "-c", "echo a&b c"]);
        assert!(query.flag("tty") && !query.flag("stdin"));
        assert_eq!(query.first("x"), Some("%zz%4"));
        assert_eq!(Query::parse("tailLines=5").number("tailLines"), Ok(Some(5_u32)));
        assert!(Query::parse("tailLines=x").number::<u32>("tailLines").is_err());
        assert_eq!(Query::parse("").number::<u32>("tailLines"), Ok(None));
    }
}
