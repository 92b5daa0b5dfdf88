//! The owners of a Scale.

use landbridge_machinery::apply::ManagedFields;
use serde_json::{Value, json};

const EARLY: &str = "2024-01-01T00:00:00Z";
const LATE: &str = "2024-01-02T00:00:00Z";

fn entry(who: (&str, &str, &str), version: &str, time: &str, fields: Value) -> Value {
    let (manager, operation, subresource) = who;
    let mut entry = json!({"manager": manager, "operation": operation, "apiVersion": version,
        "fieldsType": "FieldsV1", "fieldsV1": fields, "time": time});
    if !subresource.is_empty() {
        entry["subresource"] = subresource.into();
    }
    entry
}

fn count() -> Value {
    json!({"f:spec": {"f:replicas": {}}})
}

fn parse(entries: &[Value]) -> ManagedFields {
    ManagedFields::parse(&Value::Array(entries.to_vec())).unwrap()
}

/// v1 has it at `.spec.nodes`, v2 at `.nodes`, v3 not at all.
fn replicas(version: &str) -> Option<String> {
    match version {
        "g/v1" => Some(".spec.nodes".into()),
        "g/v2" => Some(".nodes".into()),
        _ => None,
    }
}

#[test]
fn owners_of_the_count_are_owners_of_the_scale() {
    let object = parse(&[
        entry(("ann", "Apply", ""), "g/v1", EARLY, json!({"f:spec": {"f:nodes": {}, "f:x": {}}})),
        entry(("bob", "Update", "scale"), "g/v2", EARLY, json!({"f:nodes": {}})),
        entry(("cyd", "Update", ""), "g/v1", EARLY, json!({"f:spec": {"f:x": {}}})),
        entry(("dan", "Update", ""), "g/v3", EARLY, json!({"f:spec": {"f:nodes": {}}})),
    ]);
    let scale = parse(&[
        entry(("ann", "Apply", ""), "autoscaling/v1", EARLY, count()),
        entry(("bob", "Update", "scale"), "autoscaling/v1", EARLY, count()),
    ]);
    assert_eq!(object.scale_view(&replicas), scale);
    // And back again nothing has changed.
    assert_eq!(object.scale_merged(&scale, &replicas, "g/v1"), object);
}

#[test]
fn the_count_changes_hands() {
    let object = parse(&[
        entry(("ann", "Apply", ""), "g/v1", EARLY, json!({"f:spec": {"f:nodes": {}, "f:x": {}}})),
        entry(("bob", "Update", "scale"), "g/v2", EARLY, json!({"f:nodes": {}})),
        entry(("dan", "Update", ""), "g/v3", EARLY, json!({"f:spec": {"f:nodes": {}}})),
    ]);
    let scale = parse(&[
        entry(("eve", "Apply", "scale"), "autoscaling/v1", LATE, count()),
        // Owns something else of the Scale only, which is nothing of the object.
        entry(
            ("ann", "Apply", ""),
            "autoscaling/v1",
            LATE,
            json!({"f:status": {"f:replicas": {}}}),
        ),
    ]);
    let expected = parse(&[
        entry(("ann", "Apply", ""), "g/v1", EARLY, json!({"f:spec": {"f:x": {}}})),
        entry(("dan", "Update", ""), "g/v3", EARLY, json!({"f:spec": {"f:nodes": {}}})),
        entry(("eve", "Apply", "scale"), "g/v2", LATE, json!({"f:nodes": {}})),
    ]);
    assert_eq!(object.scale_merged(&scale, &replicas, "g/v2"), expected);
}

#[test]
fn who_scales_again_keeps_one_entry() {
    let fields = json!({"f:spec": {"f:nodes": {}, "f:x": {}}});
    let object = parse(&[entry(("ann", "Update", ""), "g/v1", EARLY, fields.clone())]);
    let scale = parse(&[entry(("ann", "Update", ""), "autoscaling/v1", LATE, count())]);
    let expected = parse(&[entry(("ann", "Update", ""), "g/v1", LATE, fields)]);
    assert_eq!(object.scale_merged(&scale, &replicas, "g/v1"), expected);
}
