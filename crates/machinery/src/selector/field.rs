//! Field selectors: `metadata.name=x,status.phase!=Running`.
//!
//! The language knows only equality. Inside a value `\\`, `\,` and `\=` stand for the second
//! character. A field that is absent has the empty string as its value, as upstream has it.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use crate::status::{ApiError, ApiResult};

/// One requirement: a field has, or has not, a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldRequirement {
    /// Dotted name, for example `spec.nodeName`.
    pub field: String,
    /// The value it is compared with.
    pub value: String,
    /// `true` for `=` and `==`, `false` for `!=`.
    pub equals: bool,
}

impl fmt::Display for FieldRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = if self.equals { "=" } else { "!=" };
        write!(f, "{}{operator}{}", self.field, escape(&self.value))
    }
}

/// A field selector: all requirements must hold. [`Default`] selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    /// Sorted, so that equal selectors compare equal and print alike.
    requirements: Vec<FieldRequirement>,
}

impl FieldSelector {
    /// Selects every object.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Reads the `fieldSelector` parameter of a request; the empty string selects everything.
    pub fn parse(text: &str) -> ApiResult<Self> {
        let mut requirements = Vec::new();
        // Upstream skips empty terms, so `a=b,` is fine.
        for term in terms(text).into_iter().filter(|term| !term.is_empty()) {
            requirements.push(parse_term(term).map_err(|why| {
                ApiError::bad_request(format!("invalid selector: '{text}'; {why}"))
            })?);
        }
        requirements.sort();
        Ok(Self { requirements })
    }

    /// All requirements, sorted.
    pub fn requirements(&self) -> &[FieldRequirement] {
        &self.requirements
    }

    /// Whether every object is selected.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether an object is selected whose fields `field` looks up.
    pub fn matches_with<'a>(&self, field: impl Fn(&str) -> Option<Cow<'a, str>>) -> bool {
        self.requirements.iter().all(|wanted| {
            let value = field(&wanted.field).unwrap_or_default();
            (value == wanted.value.as_str()) == wanted.equals
        })
    }

    /// The value an `=` demands of `field`: objects with another one cannot match.
    pub fn exact(&self, field: &str) -> Option<&str> {
        let demand = self.requirements.iter().find(|wanted| wanted.equals && wanted.field == field);
        demand.map(|wanted| wanted.value.as_str())
    }

    /// The refusal when the selector names a field the resource cannot be selected by.
    pub fn unsupported(&self, supported: impl Fn(&str) -> bool) -> Option<ApiError> {
        let unknown = self.requirements.iter().find(|wanted| !supported(&wanted.field))?;
        Some(ApiError::bad_request(format!("field label not supported: {}", unknown.field)))
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            write!(f, "{requirement}")?;
        }
        Ok(())
    }
}

/// The value of a field as selectors see it: texts as they are, booleans and numbers as text, and
/// the empty string for everything else.
pub fn field_value<'a>(object: &'a Value, dotted: &str) -> Cow<'a, str> {
    let found = dotted.trim_start_matches('.').split('.').try_fold(object, |at, key| at.get(key));
    match found {
        Some(Value::String(text)) => Cow::Borrowed(text),
        Some(value @ (Value::Bool(_) | Value::Number(_))) => Cow::Owned(value.to_string()),
        _ => Cow::Borrowed(""),
    }
}

/// Splits at commas that no backslash protects.
fn terms(text: &str) -> Vec<&str> {
    let (mut found, mut start, mut escaped) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                found.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&text[start..]);
    found
}

/// Reads one term; the error says what cannot be understood.
fn parse_term(term: &str) -> Result<FieldRequirement, String> {
    let cannot = || format!("can't understand '{term}'");
    let at = term.find('=').ok_or_else(cannot)?;
    let (before, after) = (&term[..at], &term[at + 1..]);
    let (field, raw, equals) = match before.strip_suffix('!') {
        Some(field) => (field, after, false),
        None => (before, after.strip_prefix('=').unwrap_or(after), true),
    };
    Ok(FieldRequirement { field: field.to_owned(), value: unescape(raw)?, equals })
}

fn unescape(raw: &str) -> Result<String, String> {
    let mut value = String::with_capacity(raw.len());
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => value.push(c),
                Some(c) => return Err(format!("invalid escape sequence: \\{c} in '{raw}'")),
                None => return Err(format!("invalid escape sequence: \\ at the end of '{raw}'")),
            },
            '=' | ',' => return Err(format!("unescaped character in value: {c} in '{raw}'")),
            c => value.push(c),
        }
    }
    Ok(value)
}

fn escape(value: &str) -> Cow<'_, str> {
    if !value.contains(['\\', ',', '=']) {
        return Cow::Borrowed(value);
    }
    let mut out = String::with_capacity(value.len() + 2);
    for c in value.chars() {
        if matches!(c, '\\' | ',' | '=') {
            out.push('\\');
        }
        out.push(c);
    }
    Cow::Owned(out)
}
