//! Ordinary writes.

use landbridge_machinery::apply::{FieldSet, keep_times};
use serde_json::{Value, json};

use super::bench::Bench;

#[test]
fn who_creates_owns_and_who_changes_takes() {
    let mut b = Bench::new();
    b.update("one", json!({"replicas": 1, "name": "a", "tags": {"x": "1"}}));
    assert_eq!(b.updated("one"), ["", ".name", ".replicas", ".tags", ".tags.x"]);
    b.update("two", json!({"replicas": 2, "name": "a", "tags": {"x": "1", "y": "2"}}));
    assert_eq!(b.updated("one"), ["", ".name", ".tags", ".tags.x"]);
    assert_eq!(b.updated("two"), [".replicas", ".tags.y"]);
    // What is removed is nobody's.
    b.update("two", json!({"replicas": 2}));
    assert_eq!(b.updated("one"), [""]);
    assert_eq!(b.updated("two"), [".replicas"]);
}

#[test]
fn updates_take_from_appliers_too() {
    let mut b = Bench::new();
    b.apply("one", json!({"replicas": 1, "list": [{"name": "a", "value": 1}]}));
    b.update("one", json!({"replicas": 2, "list": [{"name": "a", "value": 1}]}));
    // The same name, but another owner.
    assert_eq!(b.updated("one"), [".replicas"]);
    assert!(!b.applied("one").contains(&".replicas".to_owned()));
    assert_eq!(
        b.conflict("one", json!({"replicas": 1})),
        [r#""one" using example.org/v1 .spec.replicas"#]
    );
}

#[test]
fn a_write_that_changes_nothing_changes_no_byte() {
    let mut b = Bench::new();
    b.update("one", json!({"replicas": 1}));
    b.apply("two", json!({"name": "a"}));
    let before = b.object().clone();
    b.update("three", json!({"replicas": 1, "name": "a"}));
    assert_eq!(b.object(), &before);
    // Even when the client sends the entries back, in another order.
    let mut new = before.clone();
    new["metadata"]["managedFields"].as_array_mut().unwrap().reverse();
    b.put("three", new);
    assert_eq!(b.object(), &before);
}

#[test]
fn clients_may_edit_and_reset_entries() {
    let mut b = Bench::new();
    b.update("one", json!({"replicas": 1, "name": "a"}));
    let mut new = b.object().clone();
    new["metadata"]["managedFields"][0]["manager"] = json!("renamed");
    b.put("two", new);
    assert_eq!(b.managers(), ["Update renamed"]);
    for reset in [json!([]), json!([{}])] {
        let mut b = Bench::new();
        b.update("one", json!({"replicas": 1}));
        let mut new = b.object().clone();
        new["spec"]["replicas"] = json!(2);
        new["metadata"]["managedFields"] = reset;
        b.put("two", new);
        assert!(b.managers().is_empty());
        // From now on nothing is tracked, until somebody applies.
        b.update("two", json!({"replicas": 3}));
        assert!(b.object()["metadata"].get("managedFields").is_none());
        b.apply("two", json!({"replicas": 3}));
        assert_eq!(b.managers(), ["Apply two", "Update before-first-apply"]);
    }
}

#[test]
fn malformed_entries_are_as_good_as_none() {
    let good = json!({"manager": "m", "operation": "Update", "apiVersion": "v1",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:name": {}}}});
    let change = |key: &str, value: Value| {
        let mut entry = good.clone();
        entry[key] = value;
        json!([entry])
    };
    for bad in [
        json!("x"),
        json!([1]),
        json!([good, {}]),
        change("operation", json!("Dance")),
        change("apiVersion", json!("")),
        change("fieldsType", json!("FieldsV2")),
        change("fieldsV1", json!({"nonsense": {}})),
        change("fieldsV1", json!([])),
    ] {
        let mut b = Bench::new();
        b.update("one", json!({"replicas": 1}));
        let stored = b.object()["metadata"]["managedFields"].clone();
        // Sent by a client, they are ignored.
        let mut new = b.object().clone();
        new["metadata"]["managedFields"] = bad.clone();
        b.put("two", new.clone());
        assert_eq!(b.object()["metadata"]["managedFields"], stored, "{bad}");
        // Stored, they count as nothing.
        b.live = Some(new);
        b.apply("two", json!({"replicas": 1}));
        assert_eq!(b.managers(), ["Apply two", "Update before-first-apply"], "{bad}");
    }
}

#[test]
fn some_fields_are_nobodys() {
    let mut b = Bench::new();
    let mut new = super::bench::with_spec(json!({}));
    new["metadata"] = json!({
        "name": "o", "namespace": "n", "uid": "u", "resourceVersion": "1", "generation": 1,
        "creationTimestamp": "2024-01-01T00:00:00Z", "selfLink": "/", "labels": {"a": "1"},
        "finalizers": ["f"], "ownerReferences": [{"uid": "1", "name": "p"}],
    });
    new["status"] = json!({"phase": "Up"});
    b.put("", new);
    assert_eq!(
        b.updated("unknown"),
        [
            "",
            ".metadata.finalizers",
            ".metadata.labels",
            ".metadata.ownerReferences",
            r#".metadata.finalizers[="f"]"#,
            ".metadata.labels.a",
            r#".metadata.ownerReferences[uid="1"]"#
        ]
    );
}

#[test]
fn subresources_have_entries_of_their_own() {
    let mut b = Bench::new();
    b.update("one", json!({"replicas": 1}));
    (b.subresource, b.ignored) =
        (Some("status".into()), FieldSet::of_fields(&["spec", "metadata"]));
    let mut new = b.object().clone();
    new["status"] = json!({"phase": "Up"});
    // Entries cannot be edited through a subresource.
    new["metadata"]["managedFields"] = json!([]);
    b.put("one", new);
    let entries = b.object()["metadata"]["managedFields"].clone();
    assert_eq!(entries.as_array().unwrap().len(), 2);
    assert_eq!(entries[1]["subresource"], "status");
    assert_eq!(entries[1]["fieldsV1"], json!({"f:status": {".": {}, "f:phase": {}}}));
}

#[test]
fn old_updaters_become_one() {
    let mut b = Bench::new();
    let mut tags = json!({});
    for i in 0..10 {
        tags[format!("k{i}")] = json!("v");
        b.update(&format!("m{i}"), json!({"tags": tags}));
    }
    assert_eq!(b.managers().len(), 10);
    b.apply("applier", json!({"name": "a"}));
    for i in 10..13 {
        tags[format!("k{i}")] = json!("v");
        b.update(&format!("m{i}"), json!({"name": "a", "tags": tags}));
        assert_eq!(b.managers().len(), 11);
    }
    assert_eq!(b.managers()[..3], ["Apply applier", "Update ancient-changes", "Update m4"]);
    assert_eq!(
        b.updated("ancient-changes"),
        ["", ".tags", ".tags.k0", ".tags.k1", ".tags.k2", ".tags.k3"]
    );
    // The time is that of the youngest forgotten one.
    assert_eq!(b.object()["metadata"]["managedFields"][1]["time"], "2024-01-01T00:00:04Z");
    let all = b.managed().all_fields();
    assert_eq!(all.paths().len(), 16);
}

#[test]
fn forgotten_managers_keep_their_fields_whatever_the_order() {
    // The collective entry is not the oldest, and there are two versions.
    let names = ["old", "ancient-changes", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9", "m10"];
    let mut new = super::bench::with_spec(json!({"tags": {}}));
    let entries = names.iter().enumerate().map(|(i, name)| {
        new["spec"]["tags"][format!("k{i}")] = json!("v");
        let version = if i % 5 == 3 { "example.org/v2" } else { super::bench::VERSION };
        json!({"manager": name, "operation": "Update", "apiVersion": version,
            "time": format!("2023-01-01T00:00:{i:02}Z"), "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:tags": {format!("f:k{i}"): {}}}}})
    });
    let entries: Value = entries.collect();
    new["metadata"]["managedFields"] = entries;
    let mut b = Bench::new();
    b.live = Some(new);
    let mut new = b.object().clone();
    new["spec"]["replicas"] = json!(1);
    b.put("me", new);
    assert_eq!(b.managers().len(), 10);
    assert_eq!(b.managed().all_fields().len(), 12);
    assert_eq!(b.updated("old"), [".tags.k0"]);
    assert_eq!(b.updated("ancient-changes"), [".tags.k1", ".tags.k2", ".tags.k4"]);
}

#[test]
fn a_schema_that_became_atomic_is_obeyed() {
    let mut b = Bench::new();
    b.apply("one", json!({"name": "x"}));
    let mut live = b.object().clone();
    live["spec"]["selector"] = json!({"a": "1"});
    live["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:selector"] = json!({"f:a": {}});
    b.live = Some(live);
    assert_eq!(b.conflict("two", json!({"selector": {"a": "2"}})), [r#""one" .spec.selector"#]);
    b.update("ctl", json!({"selector": {"a": "2"}}));
    assert_eq!(b.updated("ctl"), [".selector"]);
    assert!(b.applied("one").is_empty());
}

#[test]
fn mere_times_are_undone() {
    let mut b = Bench::new();
    b.update("one", json!({"replicas": 1}));
    let old = b.object().clone();
    let mut new = old.clone();
    new["metadata"]["managedFields"][0]["time"] = json!("2030-01-01T00:00:00Z");
    new["metadata"]["resourceVersion"] = json!("7");
    let mut kept = new.clone();
    keep_times(&old, &mut kept);
    assert_eq!(kept["metadata"]["managedFields"], old["metadata"]["managedFields"]);
    new["spec"]["replicas"] = json!(2);
    let mut changed = new.clone();
    keep_times(&old, &mut changed);
    assert_eq!(changed, new);
}
