//! Label selectors: a conjunction of requirements on labels.

use std::fmt;

use serde_json::{Map, Value};

use super::parser;
use crate::field::{FieldError, FieldPath, Problem};
use crate::names;
use crate::status::ApiResult;

/// What a requirement asks of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LabelOperator {
    /// `a=b`: present with this value.
    Equals,
    /// `a!=b`: absent, or with another value.
    NotEquals,
    /// `a in (b,c)`: present with one of the values.
    In,
    /// `a notin (b,c)`: absent, or with none of the values.
    NotIn,
    /// `a`: present.
    Exists,
    /// `!a`: absent.
    DoesNotExist,
    /// `a>1`: present, an integer, and greater.
    GreaterThan,
    /// `a<1`: present, an integer, and less.
    LessThan,
}

/// One requirement on one label. Only [`LabelRequirement::new`] makes them, so they are valid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelRequirement {
    key: String,
    operator: LabelOperator,
    /// Sorted and without repeats, so that equal requirements compare equal and print alike.
    values: Vec<String>,
}

impl LabelRequirement {
    /// A requirement; `path` says where it stands when it is refused.
    pub fn new(
        key: &str,
        operator: LabelOperator,
        values: impl IntoIterator<Item = String>,
        path: &FieldPath,
    ) -> Result<Self, FieldError> {
        let mut values: Vec<String> = values.into_iter().collect();
        check_key(key, &path.child("key"))?;
        check_count(operator, &values, &path.child("values"))?;
        for (index, value) in values.iter().enumerate() {
            let path = path.child("values").index(index);
            if is_comparison(operator) && value.parse::<i64>().is_err() {
                let why = "for 'Gt', 'Lt' operators, the value must be an integer";
                return Err(FieldError::invalid(&path, value.as_str(), why));
            }
            check_value(value, &path.key(key))?;
        }
        values.sort();
        values.dedup();
        Ok(Self { key: key.to_owned(), operator, values })
    }

    /// The key of the label.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What is asked of it.
    pub fn operator(&self) -> LabelOperator {
        self.operator
    }

    /// The values it is compared with, sorted.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Whether a label with this value (`None`: no such label) satisfies the requirement.
    pub fn accepts(&self, value: Option<&str>) -> bool {
        let listed = || value.is_some_and(|value| self.values.iter().any(|v| v == value));
        match self.operator {
            LabelOperator::Equals | LabelOperator::In => listed(),
            LabelOperator::NotEquals | LabelOperator::NotIn => !listed(),
            LabelOperator::Exists => value.is_some(),
            LabelOperator::DoesNotExist => value.is_none(),
            LabelOperator::GreaterThan => self.numbers(value).is_some_and(|(is, than)| is > than),
            LabelOperator::LessThan => self.numbers(value).is_some_and(|(is, than)| is < than),
        }
    }

    /// The label and the bound as numbers, when both are.
    fn numbers(&self, value: Option<&str>) -> Option<(i64, i64)> {
        Some((value?.parse().ok()?, self.values.first()?.parse().ok()?))
    }
}

impl fmt::Display for LabelRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, values) = (&self.key, self.values.join(","));
        match self.operator {
            LabelOperator::Equals => write!(f, "{key}={values}"),
            LabelOperator::NotEquals => write!(f, "{key}!={values}"),
            LabelOperator::In => write!(f, "{key} in ({values})"),
            LabelOperator::NotIn => write!(f, "{key} notin ({values})"),
            LabelOperator::Exists => write!(f, "{key}"),
            LabelOperator::DoesNotExist => write!(f, "!{key}"),
            LabelOperator::GreaterThan => write!(f, "{key}>{values}"),
            LabelOperator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}

/// A label selector: all requirements must hold. [`Default`] selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    /// Sorted, so that equal selectors compare equal and print alike.
    requirements: Vec<LabelRequirement>,
    /// Selects nothing, whatever the requirements: what an absent selector in an object means.
    nothing: bool,
}

impl LabelSelector {
    /// Selects every object.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Selects no object. It has no textual form: it prints as the empty string.
    pub fn nothing() -> Self {
        Self { requirements: Vec::new(), nothing: true }
    }

    /// Selects what satisfies all requirements.
    pub fn new(requirements: impl IntoIterator<Item = LabelRequirement>) -> Self {
        let mut requirements: Vec<_> = requirements.into_iter().collect();
        requirements.sort();
        Self { requirements, nothing: false }
    }

    /// Reads the `labelSelector` parameter of a request; the empty string selects everything.
    pub fn parse(text: &str) -> ApiResult<Self> {
        parser::parse(text).map(Self::new)
    }

    /// All requirements, sorted.
    pub fn requirements(&self) -> &[LabelRequirement] {
        &self.requirements
    }

    /// Whether every object is selected.
    pub fn is_empty(&self) -> bool {
        !self.nothing && self.requirements.is_empty()
    }

    /// Whether an object with these labels is selected.
    pub fn matches(&self, labels: Option<&Map<String, Value>>) -> bool {
        self.matches_with(|key| labels?.get(key)?.as_str())
    }

    /// Whether an object is selected whose labels `label` looks up.
    pub fn matches_with<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        !self.nothing && self.requirements.iter().all(|wanted| wanted.accepts(label(&wanted.key)))
    }
}

impl fmt::Display for LabelSelector {
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

fn is_comparison(operator: LabelOperator) -> bool {
    matches!(operator, LabelOperator::GreaterThan | LabelOperator::LessThan)
}

/// Refuses what is no label key.
pub(super) fn check_key(key: &str, path: &FieldPath) -> Result<(), FieldError> {
    match names::qualified_name(key) {
        wrong if wrong.is_empty() => Ok(()),
        wrong => Err(FieldError::invalid(path, key, wrong.join("; "))),
    }
}

/// Refuses what is no label value.
pub(super) fn check_value(value: &str, path: &FieldPath) -> Result<(), FieldError> {
    match names::label_value(value) {
        wrong if wrong.is_empty() => Ok(()),
        wrong => Err(FieldError::invalid(path, value, wrong.join("; "))),
    }
}

/// Refuses too few or too many values for the operator, in upstream's words.
fn check_count(
    operator: LabelOperator,
    values: &[String],
    path: &FieldPath,
) -> Result<(), FieldError> {
    use LabelOperator as Op;
    let (good, why) = match operator {
        Op::In | Op::NotIn => {
            (!values.is_empty(), "for 'in', 'notin' operators, values set can't be empty")
        }
        Op::Equals | Op::NotEquals => {
            (values.len() == 1, "exact-match compatibility requires one single value")
        }
        Op::Exists | Op::DoesNotExist => {
            (values.is_empty(), "values set must be empty for exists and does not exist")
        }
        Op::GreaterThan | Op::LessThan => {
            (values.len() == 1, "for 'Gt', 'Lt' operators, exactly one value is required")
        }
    };
    if good {
        return Ok(());
    }
    Err(FieldError::new(Problem::Invalid, path, values.to_vec(), why))
}
