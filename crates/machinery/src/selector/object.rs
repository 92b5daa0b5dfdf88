//! Selectors inside objects: `matchLabels` and `matchExpressions` of `metav1.LabelSelector`.

use serde_json::Value;

use super::label::{LabelOperator, LabelRequirement, LabelSelector, check_key, check_value};
use crate::field::{FieldError, FieldPath, Problem};

impl LabelSelector {
    /// Reads a selector that stands in an object. As upstream has it, `null` (no selector) selects
    /// nothing and `{}` selects everything. Paths in errors start at the selector.
    pub fn from_object(selector: &Value) -> Result<Self, FieldError> {
        Self::from_object_at(selector, &FieldPath::root())
    }

    /// As [`LabelSelector::from_object`], for a selector that stands at `path`.
    pub fn from_object_at(selector: &Value, path: &FieldPath) -> Result<Self, FieldError> {
        if selector.is_null() {
            return Ok(Self::nothing());
        }
        if !selector.is_object() {
            return Err(wrong_type(path, selector, "an object"));
        }
        let mut requirements = match_labels(&selector["matchLabels"], &path.child("matchLabels"))?;
        let expressions = path.child("matchExpressions");
        match &selector["matchExpressions"] {
            Value::Null => {}
            Value::Array(list) => {
                for (index, expression) in list.iter().enumerate() {
                    requirements.push(match_expression(expression, &expressions.index(index))?);
                }
            }
            other => return Err(wrong_type(&expressions, other, "a list")),
        }
        Ok(Self::new(requirements))
    }
}

fn match_labels(labels: &Value, path: &FieldPath) -> Result<Vec<LabelRequirement>, FieldError> {
    let labels = match labels {
        Value::Null => return Ok(Vec::new()),
        Value::Object(labels) => labels,
        other => return Err(wrong_type(path, other, "an object")),
    };
    let requirement = |(key, value): (&String, &Value)| {
        let path_of_key = path.key(key);
        let text = value.as_str().ok_or_else(|| wrong_type(&path_of_key, value, "a string"))?;
        check_key(key, path)?;
        check_value(text, &path_of_key)?;
        LabelRequirement::new(key, LabelOperator::Equals, [text.to_owned()], path)
    };
    labels.iter().map(requirement).collect()
}

fn match_expression(value: &Value, path: &FieldPath) -> Result<LabelRequirement, FieldError> {
    if !value.is_object() {
        return Err(wrong_type(path, value, "an object"));
    }
    let key = text(&value["key"], &path.child("key"))?;
    let operator = text(&value["operator"], &path.child("operator"))?;
    let values_path = path.child("values");
    let values = match &value["values"] {
        Value::Null => Vec::new(),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .map(|(index, value)| text(value, &values_path.index(index)).map(str::to_owned))
            .collect::<Result<Vec<_>, _>>()?,
        other => return Err(wrong_type(&values_path, other, "a list")),
    };
    let operator = match operator {
        "In" => LabelOperator::In,
        "NotIn" => LabelOperator::NotIn,
        "Exists" => LabelOperator::Exists,
        "DoesNotExist" => LabelOperator::DoesNotExist,
        other => {
            let why = "not a valid selector operator";
            return Err(FieldError::invalid(&path.child("operator"), other, why));
        }
    };
    let wants_values = matches!(operator, LabelOperator::In | LabelOperator::NotIn);
    if wants_values && values.is_empty() {
        let why = "must be specified when `operator` is 'In' or 'NotIn'";
        return Err(FieldError::required(&values_path, why));
    }
    if !wants_values && !values.is_empty() {
        let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
        return Err(FieldError::forbidden(&values_path, why));
    }
    LabelRequirement::new(key, operator, values, path)
}

fn text<'a>(value: &'a Value, path: &FieldPath) -> Result<&'a str, FieldError> {
    match value {
        Value::Null => Err(FieldError::required(path, "")),
        Value::String(text) => Ok(text),
        other => Err(wrong_type(path, other, "a string")),
    }
}

fn wrong_type(path: &FieldPath, value: &Value, wanted: &str) -> FieldError {
    FieldError::new(Problem::TypeInvalid, path, value.clone(), format!("must be {wanted}"))
}
