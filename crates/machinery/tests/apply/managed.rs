//! `metadata.managedFields` as text.

use landbridge_machinery::apply::{ManagedFields, Operation, Owner};
use serde_json::{Value, json};

fn entry(manager: &str, operation: &str, version: &str, time: Option<&str>) -> Value {
    let mut entry = json!({"manager": manager, "operation": operation, "apiVersion": version,
        "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}});
    if let Some(time) = time {
        entry["time"] = json!(time);
    }
    entry
}

#[test]
fn entries_are_written_in_upstreams_order() {
    let early = Some("2024-01-01T00:00:00Z");
    let late = Some("2024-01-02T00:00:00+02:00");
    let sorted = [
        entry("z", "Apply", "v1", late),
        entry("b", "Update", "v1", None),
        entry("c", "Update", "v1", early),
        entry("c", "Update", "v2", early),
        entry("d", "Update", "v1", early),
        entry("a", "Update", "v1", late),
    ];
    let mut shuffled = sorted.to_vec();
    shuffled.reverse();
    shuffled.swap(1, 3);
    let parsed = ManagedFields::parse(&Value::Array(shuffled)).unwrap();
    assert_eq!(parsed.to_json(), Value::Array(sorted.to_vec()));
}

#[test]
fn one_entry_per_owner() {
    let list = json!([
        entry("a", "Apply", "v1", None),
        entry("a", "Apply", "v2", None), // the same applier
        entry("a", "Update", "v1", None),
        entry("a", "Update", "v2", None), // another updater
    ]);
    let parsed = ManagedFields::parse(&list).unwrap();
    assert_eq!(parsed.entries.len(), 3);
    let applier = Owner::new("a", Operation::Apply, "whatever", None);
    assert_eq!(parsed.get(&applier).unwrap().api_version, "v2");
    assert_eq!(parsed.get(&Owner::new("a", Operation::Update, "v3", None)), None);
    assert_eq!(parsed.get(&Owner::new("a", Operation::Apply, "v1", Some("status"))), None);
}

#[test]
fn a_time_nobody_understands_is_dropped() {
    let parsed = ManagedFields::parse(&json!([entry("a", "Update", "v1", Some("noon"))])).unwrap();
    assert_eq!(parsed.entries[0].time, None);
    let mut object = json!({"metadata": {"managedFields": [1]}});
    assert_eq!(ManagedFields::of(&object), ManagedFields::default());
    ManagedFields::default().write(&mut object);
    assert_eq!(object, json!({"metadata": {}}));
}
