//! The keys of one cloud, whatever they are called and wherever they stand.

use serde_json::{Map, Value};

use super::Mistake;

/// Other names of keys, as openstacksdk takes them.
const ALIASES: [(&str, &[&str]); 6] = [
    ("project_id", &["tenant_id"]),
    ("project_name", &["tenant_name"]),
    ("token", &["auth_token"]),
    ("interface", &["endpoint_type"]),
    ("username", &["user_name"]),
    ("api_timeout", &["timeout"]),
];

/// What is said about one cloud.
#[derive(Clone, PartialEq)]
pub struct Entry {
    /// Where it stands.
    pub file: String,
    /// What it is called.
    pub cloud: String,
    /// What is said.
    pub fields: Map<String, Value>,
}

// Written by hand: what is derived would print passwords.
impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry")
            .field("file", &self.file)
            .field("cloud", &self.cloud)
            .finish_non_exhaustive()
    }
}

impl Entry {
    /// A text; in `auth` or beside it. Numbers are taken as written.
    pub fn text(&self, key: &str) -> Result<Option<String>, Mistake> {
        match self.value(key) {
            None | Some((_, Value::Null)) => Ok(None),
            Some((_, Value::String(text))) if text.trim().is_empty() => Ok(None),
            Some((_, Value::String(text))) => Ok(Some(text.clone())),
            Some((_, Value::Number(number))) => Ok(Some(number.to_string())),
            Some((at, Value::Bool(_))) => {
                Err(self.wrong(at, "it must be a text; put it in quotes"))
            }
            Some((at, _)) => Err(self.wrong(at, "it must be a text")),
        }
    }

    /// Yes or no.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, Mistake> {
        match self.value(key) {
            None | Some((_, Value::Null)) => Ok(None),
            Some((_, Value::Bool(flag))) => Ok(Some(*flag)),
            Some((at, Value::String(text))) => match text.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "1" => Ok(Some(true)),
                "false" | "no" | "off" | "0" => Ok(Some(false)),
                "" => Ok(None),
                _ => Err(self.wrong(at, "it must be true or false")),
            },
            Some((at, _)) => Err(self.wrong(at, "it must be true or false")),
        }
    }

    /// A text that must be there.
    pub fn required(&self, key: &str, why: &str) -> Result<String, Mistake> {
        self.text(key)?.ok_or_else(|| Mistake::Missing {
            file: self.file.clone(),
            cloud: self.cloud.clone(),
            key: key.to_owned(),
            why: why.to_owned(),
        })
    }

    /// A value that cannot be.
    pub fn wrong(&self, key: impl Into<String>, why: impl Into<String>) -> Mistake {
        Mistake::Wrong {
            file: self.file.clone(),
            cloud: self.cloud.clone(),
            key: key.into(),
            why: why.into(),
        }
    }

    /// A value and where it stands.
    pub fn value(&self, key: &str) -> Option<(String, &Value)> {
        let others =
            ALIASES.iter().find(|(known, _)| *known == key).map_or(&[][..], |(_, all)| all);
        let names = std::iter::once(key).chain(others.iter().copied());
        let auth = self.fields.get("auth").and_then(Value::as_object);
        names.into_iter().find_map(|name| {
            let inside =
                auth.and_then(|auth| auth.get(name)).map(|value| (format!("auth.{name}"), value));
            inside.or_else(|| Some((name.to_owned(), self.fields.get(name)?)))
        })
    }
}
