//! One thing wrong with one field, in the words Kubernetes users know and grep for.

use std::fmt;

use serde_json::{Value, json};

/// Where a field is: `spec.networks[1].name`. Cheap to extend, so validators pass it by value.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(String);

impl FieldPath {
    /// The object itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// A path given whole, for example `spec.networks`.
    pub fn new(path: &str) -> Self {
        Self(path.to_owned())
    }

    /// A named child.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        if self.0.is_empty() { Self(name.to_owned()) } else { Self(format!("{}.{name}", self.0)) }
    }

    /// An element of a list.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// An entry of a map with arbitrary keys, or an element of a keyed list.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    /// The path as text; empty for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "<nil>" } else { &self.0 })
    }
}

/// What is wrong, as upstream classifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The value is malformed or breaks a rule.
    Invalid,
    /// The value has the wrong JSON type.
    TypeInvalid,
    /// The field must be given.
    Required,
    /// The value is not one of a closed set.
    NotSupported,
    /// The value stands there twice.
    Duplicate,
    /// The field may not be given (or changed) here.
    Forbidden,
    /// A text is too long.
    TooLong,
    /// A list or map has too many elements.
    TooMany,
    /// Something the value refers to does not exist.
    NotFound,
}

impl Problem {
    /// `reason` of the cause in a Status.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Invalid => "FieldValueInvalid",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Required => "FieldValueRequired",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::NotFound => "FieldValueNotFound",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::Required => "Required value",
            Self::NotSupported => "Unsupported value",
            Self::Duplicate => "Duplicate value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::NotFound => "Not found",
        }
    }
}

/// One field error. `Display` gives upstream's line: `spec.x: Invalid value: "v": why`.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// What is wrong.
    pub problem: Problem,
    /// Where.
    pub path: FieldPath,
    /// The offending value; `Null` where the problem has none.
    pub value: Value,
    /// Why, and what would be right; may be empty.
    pub detail: String,
}

impl FieldError {
    /// Any problem with a value.
    pub fn new(
        problem: Problem,
        path: &FieldPath,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self { problem, path: path.clone(), value: value.into(), detail: detail.into() }
    }

    /// The value breaks a rule.
    pub fn invalid(path: &FieldPath, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(Problem::Invalid, path, value, detail)
    }

    /// The field is missing.
    pub fn required(path: &FieldPath, detail: impl Into<String>) -> Self {
        Self::new(Problem::Required, path, Value::Null, detail)
    }

    /// The field may not be given or changed.
    pub fn forbidden(path: &FieldPath, detail: impl Into<String>) -> Self {
        Self::new(Problem::Forbidden, path, Value::Null, detail)
    }

    /// The value stands there already.
    pub fn duplicate(path: &FieldPath, value: impl Into<Value>) -> Self {
        Self::new(Problem::Duplicate, path, value, "")
    }

    /// The value is not one of `supported`.
    pub fn not_supported(path: &FieldPath, value: impl Into<Value>, supported: &[&str]) -> Self {
        let list = supported.iter().map(|s| format!("{s:?}")).collect::<Vec<_>>().join(", ");
        Self::new(Problem::NotSupported, path, value, format!("supported values: {list}"))
    }

    /// The message without the path, as it stands in a Status cause.
    pub fn message(&self) -> String {
        let mut out = self.problem.words().to_owned();
        let valueless =
            matches!(self.problem, Problem::Required | Problem::Forbidden | Problem::TooLong);
        if !valueless {
            out.push_str(": ");
            out.push_str(&self.value.to_string());
        }
        if !self.detail.is_empty() {
            out.push_str(": ");
            out.push_str(&self.detail);
        }
        out
    }

    /// The entry of `details.causes` in a Status.
    pub fn cause(&self) -> Value {
        json!({
            "reason": self.problem.reason(),
            "message": self.message(),
            "field": self.path.to_string(),
        })
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message())
    }
}

/// Several errors as upstream joins them: alone, or in brackets.
pub fn join(errors: &[FieldError]) -> String {
    // Upstream drops repeated texts but keeps the order.
    let mut texts: Vec<String> = Vec::with_capacity(errors.len());
    for text in errors.iter().map(ToString::to_string) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    if texts.len() == 1 { texts.remove(0) } else { format!("[{}]", texts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_like_upstream() {
        let path = FieldPath::new("spec").child("networks").index(1).child("name");
        let cases = [
            (
                FieldError::invalid(&path, "a b", "no blanks"),
                r#"spec.networks[1].name: Invalid value: "a b": no blanks"#,
            ),
            (FieldError::invalid(&path, 3, ""), "spec.networks[1].name: Invalid value: 3"),
            (FieldError::required(&path, ""), "spec.networks[1].name: Required value"),
            (FieldError::duplicate(&path, "x"), r#"spec.networks[1].name: Duplicate value: "x""#),
            (
                FieldError::not_supported(&path, "x", &["a", "b"]),
                r#"spec.networks[1].name: Unsupported value: "x": supported values: "a", "b""#,
            ),
            (FieldError::forbidden(&FieldPath::root(), "no"), "<nil>: Forbidden: no"),
        ];
        for (error, text) in cases {
            assert_eq!(error.to_string(), text);
        }
    }

    #[test]
    fn several_errors_stand_in_brackets_without_repeats() {
        let a = FieldError::required(&FieldPath::new("a"), "");
        let b = FieldError::required(&FieldPath::new("b"), "");
        assert_eq!(join(std::slice::from_ref(&a)), "a: Required value");
        assert_eq!(join(&[a.clone(), b, a]), "[a: Required value, b: Required value]");
    }
}
