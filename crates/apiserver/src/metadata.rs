//! Rules for `metadata` that hold for every kind, in upstream's words.

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::names::{self, NameRule};
use landbridge_machinery::object;
use serde_json::Value;

/// All annotations of one object together.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// Everything wrong with the metadata of a new or changed object.
pub fn check(object: &Value, rule: NameRule) -> Vec<FieldError> {
    let path = FieldPath::new("metadata");
    let mut errors = Vec::new();
    let name = object::name(object);
    if name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), "name or generateName is required"));
    } else {
        for wrong in rule.check(name, false) {
            errors.push(FieldError::invalid(&path.child("name"), name, wrong));
        }
    }
    let generate = object::meta_str(object, "generateName");
    if !generate.is_empty() {
        for wrong in rule.check(generate, true) {
            errors.push(FieldError::invalid(&path.child("generateName"), generate, wrong));
        }
    }
    labels(object, &path.child("labels"), &mut errors);
    annotations(object, &path.child("annotations"), &mut errors);
    owners(object, &path.child("ownerReferences"), &mut errors);
    for finalizer in object::finalizers(object) {
        for wrong in names::qualified_name(finalizer) {
            errors.push(FieldError::invalid(&path.child("finalizers"), finalizer, wrong));
        }
    }
    errors
}

fn labels(object: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    for (key, value) in object::labels(object).into_iter().flatten() {
        for wrong in names::qualified_name(key) {
            errors.push(FieldError::invalid(path, key.as_str(), wrong));
        }
        let value = value.as_str().unwrap_or_default();
        for wrong in names::label_value(value) {
            errors.push(FieldError::invalid(path, value, wrong));
        }
    }
}

fn annotations(object: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let mut size = 0;
    for (key, value) in object["metadata"]["annotations"].as_object().into_iter().flatten() {
        // Upper case is allowed in the prefix of annotations only.
        for wrong in names::qualified_name(&key.to_ascii_lowercase()) {
            errors.push(FieldError::invalid(path, key.as_str(), wrong));
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > ANNOTATIONS_LIMIT {
        errors.push(FieldError::new(
            landbridge_machinery::field::Problem::TooLong,
            path,
            Value::Null,
            format!("may not be more than {ANNOTATIONS_LIMIT} bytes"),
        ));
    }
}

fn owners(object: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let mut controllers = Vec::new();
    for owner in object::owner_references(object) {
        for (field, detail) in [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ] {
            if owner[field].as_str().unwrap_or_default().is_empty() {
                errors.push(FieldError::invalid(&path.child(field), "", detail));
            }
        }
        if owner["controller"] == true {
            let text = |field: &str| owner[field].as_str().unwrap_or_default().to_owned();
            controllers.push(format!("{}/{}", text("kind"), text("name")));
        }
    }
    if let [first, second, ..] = controllers.as_slice() {
        errors.push(FieldError::invalid(
            path,
            Value::Array(object::owner_references(object).to_vec()),
            format!(
                "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {second}"
            ),
        ));
    }
}

/// What may not change, and what only the server writes.
pub fn check_update(object: &Value, old: &Value) -> Vec<FieldError> {
    let path = FieldPath::new("metadata").child("finalizers");
    let mut errors = Vec::new();
    if object::is_terminating(old) {
        let before = object::finalizers(old);
        let added: Vec<&str> =
            object::finalizers(object).into_iter().filter(|f| !before.contains(f)).collect();
        if !added.is_empty() {
            errors.push(FieldError::forbidden(
                &path,
                format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers {added:?}"
                ),
            ));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn metadata_is_judged() {
        let good = json!({"metadata": {"name": "a", "labels": {"x.io/a": "b"}, "annotations": {"Foo.io/x": "anything \n"}}});
        assert_eq!(check(&good, NameRule::Subdomain), vec![]);
        let bad = json!({"metadata": {"name": "A", "labels": {"a b": "c d"}, "finalizers": ["no way"],
            "ownerReferences": [{"kind": "K"}]}});
        let fields: Vec<String> =
            check(&bad, NameRule::Subdomain).iter().map(|e| e.path.to_string()).collect();
        assert_eq!(
            fields,
            [
                "metadata.name",
                "metadata.labels",
                "metadata.labels",
                "metadata.ownerReferences.apiVersion",
                "metadata.ownerReferences.name",
                "metadata.ownerReferences.uid",
                "metadata.finalizers"
            ]
        );
    }

    #[test]
    fn no_new_finalizers_once_deletion_began() {
        let old = json!({"metadata": {"deletionTimestamp": "x", "finalizers": ["a.io/a"]}});
        let new = json!({"metadata": {"finalizers": ["a.io/a", "a.io/b"]}});
        assert!(check_update(&new, &old)[0].to_string().contains("a.io/b"));
        assert!(check_update(&old, &old).is_empty());
    }
}
