//! Reading an untyped object, and the small formats several kinds share.
//!
//! Absent fields read as Go's zero values, since that is what upstream's printers see.

use landbridge_machinery::selector::LabelSelector;
use landbridge_machinery::table::Column;
use serde_json::Value;

/// What upstream shows where there is nothing.
pub(super) const NONE: &str = "<none>";

/// A text, or the empty one.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A text, or `otherwise` when it is empty.
pub(super) fn text_or<'a>(value: &'a Value, otherwise: &'a str) -> &'a str {
    match text(value) {
        "" => otherwise,
        text => text,
    }
}

/// A number, or 0.
pub(super) fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}

/// Elements of a list.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// How many elements a list, or entries a map, has.
pub(super) fn count(value: &Value) -> usize {
    value.as_object().map_or_else(|| list(value).len(), serde_json::Map::len)
}

/// Texts with something between them.
pub(super) fn join<T: AsRef<str>>(texts: impl IntoIterator<Item = T>, between: &str) -> String {
    texts.into_iter().map(|text| text.as_ref().to_owned()).collect::<Vec<_>>().join(between)
}

/// The status of a condition, when the object has it.
pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a str> {
    let conditions = list(&object["status"]["conditions"]);
    conditions
        .iter()
        .find(|condition| condition["type"] == kind)
        .map(|found| text(&found["status"]))
}

/// Whether the object has the condition and it is true.
pub(super) fn is_true(object: &Value, kind: &str) -> bool {
    condition(object, kind) == Some("True")
}

/// A map of labels as `a=b,c=d`.
pub(super) fn labels(value: &Value) -> String {
    match value.as_object() {
        Some(map) if !map.is_empty() => {
            join(map.iter().map(|(key, value)| format!("{key}={}", text(value))), ",")
        }
        _ => NONE.to_owned(),
    }
}

/// A selector with matchLabels and matchExpressions as one line.
pub(super) fn selector(value: &Value) -> String {
    match LabelSelector::from_object(value).map(|selector| selector.to_string()) {
        Ok(line) if line.is_empty() => NONE.to_owned(),
        Ok(line) => line,
        Err(_) => "<error>".to_owned(),
    }
}

/// The first three texts, and how many more there are.
pub(super) fn first_three(texts: &[String]) -> String {
    let shown = join(texts.iter().take(3), ",");
    match texts.len() {
        0..=3 => shown,
        all => format!("{shown} + {} more...", all - 3),
    }
}

/// The two wide columns about the containers of a pod template.
pub(super) fn container_columns() -> [Column; 2] {
    [
        Column::new("Containers", "Names of the containers in the template.").wide(),
        Column::new("Images", "Images of the containers in the template.").wide(),
    ]
}

/// The cells of [`container_columns`].
pub(super) fn container_cells(object: &Value) -> [Value; 2] {
    let containers = list(&object["spec"]["template"]["spec"]["containers"]);
    ["name", "image"].map(|field| join(containers.iter().map(|one| text(&one[field])), ",").into())
}
