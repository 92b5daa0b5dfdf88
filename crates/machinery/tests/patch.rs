//! JSON patch and merge patch.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may
#![allow(clippy::needless_pass_by_value, clippy::type_complexity)] // tables read better so

#[path = "patch/strategic.rs"]
mod strategic;

use landbridge_machinery::patch::{MAX_OPERATIONS, json_patch, merge_patch};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn merged(mut document: Value, patch: &Value) -> Value {
    merge_patch(&mut document, patch);
    document
}

#[test]
fn merge_patch_does_what_rfc_7386_says() {
    // The examples of RFC 7386, appendix A.
    let cases = [
        (json!({"a":"b"}), json!({"a":"c"}), json!({"a":"c"})),
        (json!({"a":"b"}), json!({"b":"c"}), json!({"a":"b","b":"c"})),
        (json!({"a":"b"}), json!({"a":null}), json!({})),
        (json!({"a":"b","b":"c"}), json!({"a":null}), json!({"b":"c"})),
        (json!({"a":["b"]}), json!({"a":"c"}), json!({"a":"c"})),
        (json!({"a":"c"}), json!({"a":["b"]}), json!({"a":["b"]})),
        (json!({"a":{"b":"c"}}), json!({"a":{"b":"d","c":null}}), json!({"a":{"b":"d"}})),
        (json!({"a":[{"b":"c"}]}), json!({"a":[1]}), json!({"a":[1]})),
        (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
        (json!({"a":"b"}), json!(["c"]), json!(["c"])),
        (json!({"a":"foo"}), json!(null), json!(null)),
        (json!({"a":"foo"}), json!("bar"), json!("bar")),
        (json!({"e":null}), json!({"a":1}), json!({"e":null,"a":1})),
        (json!([1, 2]), json!({"a":"b","c":null}), json!({"a":"b"})),
        (json!({}), json!({"a":{"bb":{"ccc":null}}}), json!({"a":{"bb":{}}})),
    ];
    for (document, patch, expected) in cases {
        assert_eq!(merged(document.clone(), &patch), expected, "{document} with {patch}");
    }
}

#[test]
fn json_patch_applies_operations_in_order() {
    let document = json!({"a": [1, 2], "b": {"c": 1}});
    let patch = json!([
        {"op": "test", "path": "/b/c", "value": 1},
        {"op": "add", "path": "/a/-", "value": 3},
        {"op": "add", "path": "/a/0", "value": 0},
        {"op": "remove", "path": "/b/c"},
        {"op": "copy", "from": "/a", "path": "/b/d"},
        {"op": "move", "from": "/a/0", "path": "/e~1f"},
        {"op": "replace", "path": "/a/0", "value": null},
    ]);
    let expected = json!({"a": [null, 2, 3], "b": {"d": [0, 1, 2, 3]}, "e/f": 0});
    assert_eq!(json_patch(&document, &patch), Ok(expected));
}

#[test]
fn json_patch_tests_for_absence_with_null() {
    let document = json!({"spec": {"there": 1, "null": null}, "list": [1]});
    let test =
        |path: &str| json_patch(&document, &json!([{"op": "test", "path": path, "value": null}]));
    for absent in ["/spec/missing", "/spec/null"] {
        assert_eq!(test(absent), Ok(document.clone()), "{absent}");
    }
    // What is there is not absent, and where nothing can be, nothing can be tested.
    for present in ["/spec/there", "/nowhere/missing", "/list/7"] {
        assert_eq!(test(present).unwrap_err().code, 422, "{present}");
    }
}

#[test]
fn json_patch_refuses_with_the_right_code() {
    let document = json!({"a": 1, "l": [1]});
    let cases = [
        (json!({"op": "add"}), 400, "BadRequest", "error decoding patch: "),
        (json!([{"op": "leap", "path": "/a"}]), 400, "BadRequest", "unknown variant `leap`"),
        (json!([{"op": "add", "path": "/a"}]), 400, "BadRequest", "missing field `value`"),
        (
            json!([{"op": "test", "path": "/l", "value": [1]}, {"op": "test", "path": "/a", "value": 2}]),
            422,
            "Invalid",
            "the server rejected our request due to an error in our request: operation 1 (test \"/a\"): value did not match",
        ),
        (json!([{"op": "remove", "path": "/x"}]), 422, "Invalid", "operation 0 (remove \"/x\")"),
        (json!([{"op": "replace", "path": "/x", "value": 1}]), 422, "Invalid", "(replace \"/x\")"),
        (json!([{"op": "add", "path": "/x/y", "value": 1}]), 422, "Invalid", "(add \"/x/y\")"),
        (json!([{"op": "add", "path": "/l/7", "value": 1}]), 422, "Invalid", "(add \"/l/7\")"),
        (
            json!([{"op": "copy", "from": "/x", "path": "/y"}]),
            422,
            "Invalid",
            "\"from\" path is invalid",
        ),
    ];
    for (patch, code, reason, text) in cases {
        let error = json_patch(&document, &patch).expect_err(&patch.to_string());
        assert_eq!((error.code, error.reason), (code, reason), "{patch}: {error}");
        assert!(error.message.contains(text), "{patch}: {error}");
    }
}

#[test]
fn json_patch_counts_operations() {
    let patch = |count| Value::from(vec![json!({"op": "test", "path": "/a", "value": 1}); count]);
    assert!(json_patch(&json!({"a": 1}), &patch(MAX_OPERATIONS)).is_ok());
    let error = json_patch(&json!({"a": 1}), &patch(10_001)).expect_err("too many");
    assert_eq!((error.code, error.reason), (413, "RequestEntityTooLarge"));
    assert_eq!(error.message, "The allowed maximum operations in a JSON patch is 10000, got 10001");
}

#[test]
fn copies_cannot_blow_up_memory_or_stack() {
    // Each step doubles the document.
    let double = json!({"op": "copy", "from": "/a", "path": "/a/-"});
    let error = json_patch(&json!({"a": ["x".repeat(1000)]}), &Value::from(vec![double; 60]));
    assert_eq!(error.expect_err("too large").code, 422);
    // Each step nests it deeper.
    let deepen = json!({"op": "copy", "from": "/a", "path": "/a/a"});
    let error = json_patch(&json!({"a": {}}), &Value::from(vec![deepen; 5000]));
    assert!(error.expect_err("too deep").message.contains("nested too deeply"));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        (-5i64..5).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            object(inner),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-e]|~|/", inner, 0..4)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

/// The merge patch that turns `from` into `to`; neither may hold null.
fn difference(from: &Value, to: &Value) -> Value {
    let (Value::Object(from), Value::Object(to)) = (from, to) else { return to.clone() };
    let mut patch = Map::new();
    for key in from.keys().filter(|key| !to.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in to {
        match from.get(key) {
            Some(old) if old == value => {}
            Some(old) => drop(patch.insert(key.clone(), difference(old, value))),
            None => drop(patch.insert(key.clone(), value.clone())),
        }
    }
    Value::Object(patch)
}

proptest! {
    #[test]
    fn merge_patch_twice_is_once(document in any_json(), patch in any_json()) {
        let once = merged(document, &patch);
        prop_assert_eq!(merged(once.clone(), &patch), once);
    }

    #[test]
    fn merge_patch_of_a_difference_gives_the_target(from in object(any_json()), to in object(any_json())) {
        let patch = difference(&from, &to);
        prop_assert_eq!(merged(from, &patch), to);
    }

    #[test]
    fn json_patch_of_a_difference_gives_the_target(from in any_json(), to in any_json()) {
        let patch = serde_json::to_value(json_patch::diff(&from, &to)).unwrap();
        prop_assert_eq!(json_patch(&from, &patch), Ok(to));
    }
}
