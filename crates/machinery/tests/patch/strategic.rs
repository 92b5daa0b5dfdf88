//! Strategic merge patch: kubectl's habits, directive by directive, and the laws behind them.

use std::collections::BTreeMap;

use landbridge_machinery::patch::{merge_patch, strategic};
use landbridge_machinery::schema::Schema;
use landbridge_machinery::status::ApiResult;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A pod-like kind, with what Kubernetes says about its fields.
fn pod() -> Schema {
    let text = json!({"type": "string"});
    let definitions = [
        (
            "Pod",
            json!({"type": "object", "properties": {
                "metadata": {"type": "object", "properties": {
                    "name": text,
                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                    "finalizers": {"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"},
                }},
                "spec": {"$ref": "#/components/schemas/Spec"},
            }}),
        ),
        (
            "Spec",
            json!({"type": "object", "properties": {
                "containers": {"type": "array", "items": {"$ref": "#/components/schemas/Container"},
                    "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"},
                "volumes": {"type": "array", "items": {"type": "object", "properties": {"name": text, "emptyDir": {"type": "object"}, "secret": {"type": "object"}}},
                    "x-kubernetes-patch-strategy": "merge,retainKeys", "x-kubernetes-patch-merge-key": "name"},
                "strategy": {"allOf": [{"$ref": "#/components/schemas/Strategy"}], "default": {}, "x-kubernetes-patch-strategy": "retainKeys"},
                "selector": {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-patch-strategy": "replace"},
                "tolerations": {"type": "array", "items": {"type": "object"}},
                "unkeyed": {"type": "array", "items": {"type": "object"}, "x-kubernetes-patch-strategy": "merge"},
            }}),
        ),
        (
            "Strategy",
            json!({"type": "object", "properties": {"type": text, "rollingUpdate": {"type": "object"}}}),
        ),
        (
            "Container",
            json!({"type": "object", "properties": {
                "name": text, "image": text,
                "args": {"type": "array", "items": {"type": "string"}},
                "env": {"type": "array", "items": {"type": "object", "properties": {"name": text, "value": text}},
                    "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"},
                "ports": {"type": "array", "items": {"type": "object"},
                    "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "containerPort"},
            }}),
        ),
    ];
    let definitions: BTreeMap<String, Value> =
        definitions.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    Schema::from_definitions("Pod", &definitions).expect("schema")
}

fn apply(mut document: Value, patch: &Value) -> ApiResult<Value> {
    strategic(&mut document, patch, &pod()).map(|()| document)
}

fn spec(document: Value, patch: Value, expected: Value) {
    let result = apply(json!({"spec": document}), &json!({"spec": patch}));
    assert_eq!(result, Ok(json!({"spec": expected})), "{document} with {patch}");
}

#[test]
fn containers_merge_by_name() {
    spec(
        json!({"containers": [{"name": "a", "image": "a:1", "args": ["x"]}, {"name": "b", "image": "b:1"}]}),
        json!({"containers": [{"name": "b", "image": "b:2"}]}),
        json!({"containers": [{"name": "a", "image": "a:1", "args": ["x"]}, {"name": "b", "image": "b:2"}]}),
    );
    // New ones are appended, null deletes a field, plain lists are replaced.
    spec(
        json!({"containers": [{"name": "a", "image": "a:1", "args": ["x", "y"]}]}),
        json!({"containers": [{"name": "a", "image": null, "args": ["z"]}, {"name": "c", "image": "c", "args": null}]}),
        json!({"containers": [{"name": "a", "args": ["z"]}, {"name": "c", "image": "c"}]}),
    );
}

#[test]
fn keyed_lists_nest() {
    spec(
        json!({"containers": [{"name": "a", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}], "ports": [{"containerPort": 80, "protocol": "TCP"}]}]}),
        json!({"containers": [{"name": "a", "env": [{"name": "Y", "value": "3"}, {"name": "Z", "value": "4"}], "ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 443}]}]}),
        json!({"containers": [{"name": "a", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "3"}, {"name": "Z", "value": "4"}], "ports": [{"containerPort": 80, "name": "http", "protocol": "TCP"}, {"containerPort": 443}]}]}),
    );
}

#[test]
fn patch_delete_removes_an_element_or_empties_a_map() {
    spec(
        json!({"containers": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}),
        json!({"containers": [{"name": "b", "$patch": "delete"}, {"name": "x", "$patch": "delete"}]}),
        json!({"containers": [{"name": "a"}, {"name": "c"}]}),
    );
    spec(
        json!({"strategy": {"type": "x"}, "selector": {}}),
        json!({"strategy": {"$patch": "delete"}}),
        json!({"strategy": {}, "selector": {}}),
    );
}

#[test]
fn patch_replace_replaces_a_map_or_a_whole_list() {
    spec(
        json!({"strategy": {"type": "x", "rollingUpdate": {}}}),
        json!({"strategy": {"$patch": "replace", "type": "y", "rollingUpdate": null}}),
        json!({"strategy": {"type": "y"}}),
    );
    spec(
        json!({"containers": [{"name": "a"}, {"name": "b"}]}),
        json!({"containers": [{"name": "c"}, {"$patch": "replace"}]}),
        json!({"containers": [{"name": "c"}]}),
    );
    spec(
        json!({"containers": [{"name": "a"}]}),
        json!({"containers": [{"$patch": "replace"}]}),
        json!({"containers": []}),
    );
    // Also where two have one key.
    spec(
        json!({"containers": [{"name": "a"}]}),
        json!({"containers": [{"$patch": "replace"}, {"name": "b", "image": "1"}, {"name": "b", "image": "2"}]}),
        json!({"containers": [{"name": "b", "image": "1"}, {"name": "b", "image": "2"}]}),
    );
    // A field whose strategy is replace is replaced without being told.
    spec(
        json!({"selector": {"a": "1"}}),
        json!({"selector": {"b": "2"}}),
        json!({"selector": {"b": "2"}}),
    );
}

#[test]
fn patch_merge_is_what_happens_anyway() {
    spec(
        json!({"containers": [{"name": "a", "image": "1"}], "strategy": {"type": "x"}}),
        json!({"containers": [{"name": "a", "args": [], "$patch": "merge"}], "strategy": {"$patch": "merge", "rollingUpdate": {}}}),
        json!({"containers": [{"name": "a", "image": "1", "args": []}], "strategy": {"type": "x", "rollingUpdate": {}}}),
    );
}

#[test]
fn lists_of_scalars_merge_as_sets() {
    let apply = |old: Value, patch: Value| {
        apply(json!({"metadata": old}), &json!({"metadata": patch})).expect("patch")["metadata"]
            .clone()
    };
    assert_eq!(
        apply(json!({"finalizers": ["a", "b"]}), json!({"finalizers": ["c", "b"]})),
        json!({"finalizers": ["c", "a", "b"]})
    );
    assert_eq!(
        apply(
            json!({"finalizers": ["a", "b"]}),
            json!({"$deleteFromPrimitiveList/finalizers": ["a", "x"]})
        ),
        json!({"finalizers": ["b"]})
    );
    assert_eq!(
        apply(json!({"name": "x"}), json!({"$deleteFromPrimitiveList/finalizers": ["a"]})),
        json!({"name": "x"})
    );
    assert_eq!(
        apply(
            json!({"finalizers": ["a", "b", "s"]}),
            json!({"$deleteFromPrimitiveList/finalizers": ["a"], "$setElementOrder/finalizers": ["c", "b"], "finalizers": ["c"]})
        ),
        json!({"finalizers": ["c", "b", "s"]})
    );
    assert_eq!(apply(json!({"finalizers": ["a"]}), json!({"finalizers": null})), json!({}));
}

#[test]
fn retain_keys_clears_the_other_kind_of_volume() {
    spec(
        json!({"volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "emptyDir": {}}]}),
        json!({"volumes": [{"name": "v", "$retainKeys": ["name", "secret"], "secret": {"secretName": "s"}}]}),
        json!({"volumes": [{"name": "v", "secret": {"secretName": "s"}}, {"name": "w", "emptyDir": {}}]}),
    );
    spec(
        json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}),
        json!({"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}),
        json!({"strategy": {"type": "Recreate"}}),
    );
}

#[test]
fn set_element_order_orders_and_leaves_the_servers_own_in_place() {
    let names = |list: &[&str]| -> Value { list.iter().map(|n| json!({"name": n})).collect() };
    // (server, patch, order, result)
    let cases: [(&[&str], &[&str], &[&str], &[&str]); 8] = [
        (&["a", "b", "c"], &[], &["c", "a", "b"], &["c", "a", "b"]),
        (&["a", "b"], &["c"], &["c", "a", "b"], &["c", "a", "b"]),
        (&["a", "b"], &["c"], &["a", "c", "b"], &["a", "c", "b"]),
        // `s` is known to the server only.
        (&["a", "s", "b"], &[], &["a", "b"], &["a", "s", "b"]),
        (&["s", "a", "b"], &["c"], &["a", "c", "b"], &["s", "a", "c", "b"]),
        (&["a", "b", "s"], &["c"], &["c", "b", "a"], &["c", "b", "a", "s"]),
        (&["a", "s", "b"], &[], &["b", "a"], &["s", "b", "a"]),
        (&[], &["b", "a"], &["b", "a"], &["b", "a"]),
    ];
    for (server, patch, order, expected) in cases {
        let mut change = json!({"$setElementOrder/containers": names(order)});
        if !patch.is_empty() {
            change["containers"] = names(patch);
        }
        spec(json!({"containers": names(server)}), change, json!({"containers": names(expected)}));
    }
    // kubectl sends deletions along.
    spec(
        json!({"containers": names(&["a", "b", "c"])}),
        json!({"$setElementOrder/containers": names(&["c", "a"]), "containers": [{"name": "b", "$patch": "delete"}]}),
        json!({"containers": names(&["c", "a"])}),
    );
    // Nothing there, nothing patched: nothing to order.
    spec(json!({}), json!({"$setElementOrder/containers": names(&["a"])}), json!({}));
}

#[test]
fn fresh_values_hold_neither_nulls_nor_directives() {
    spec(
        json!({}),
        json!({"containers": [{"name": "a", "image": null, "$retainKeys": ["name"]}, {"name": "b", "$patch": "delete"}],
            "strategy": {"type": null, "$patch": "replace"},
            "tolerations": [{"key": "a", "$patch": "merge"}, {"x": [{"$retainKeys": ["y"], "y": null}]}]}),
        json!({"containers": [{"name": "a"}], "strategy": {}, "tolerations": [{"x": [{"y": null}]}]}),
    );
}

#[test]
fn what_cannot_be_merged_is_a_bad_request_with_its_place() {
    let cases = [
        (
            json!({"containers": [{"image": "x"}]}),
            "spec.containers[0]: map: {\"image\":\"x\"} does not contain declared merge key: name",
        ),
        (
            json!({"containers": [{"$patch": "delete"}]}),
            "does not contain declared merge key: name",
        ),
        (
            json!({"strategy": {"$patch": "explode"}}),
            "spec.strategy: unknown patch type: \"explode\" in map",
        ),
        (
            json!({"strategy": {"$retainKeys": ["x"], "type": "y"}}),
            "spec.strategy.type: invalid patch format of retainKeys",
        ),
        (
            json!({"strategy": {"$retainKeys": "x"}}),
            "spec.strategy: invalid patch format of retainKeys",
        ),
        (json!({"containers": ["x"]}), "spec.containers: list element types are not identical"),
        (json!({"containers": [["x"]]}), "spec.containers: lists of lists are not supported"),
        (json!({"unkeyed": [{"a": 1}]}), "spec.unkeyed: cannot merge lists without merge key"),
        (
            json!({"$setElementOrder/containers": [{"name": "a"}, {"name": "b"}], "containers": [{"name": "b"}, {"name": "a"}]}),
            "spec.containers: The order in patch list:\n[{\"name\":\"b\"},{\"name\":\"a\"}]\n doesn't match $setElementOrder list:",
        ),
        (
            json!({"$setElementOrder/containers": 1}),
            "spec.containers: invalid patch format of setElementOrder list",
        ),
        (
            json!({"$deleteFromPrimitiveList/containers": 1}),
            "invalid patch format of primitive list",
        ),
    ];
    for (patch, text) in cases {
        let document =
            json!({"spec": {"containers": [{"name": "a"}], "unkeyed": [{"a": 1}], "strategy": {}}});
        let error = apply(document, &json!({"spec": patch})).expect_err(&patch.to_string());
        assert_eq!((error.code, error.reason), (400, "BadRequest"));
        assert!(error.message.contains(text), "{patch}: {error}");
    }
    assert_eq!(apply(json!({}), &json!([])).expect_err("a list").code, 400);
    assert_eq!(apply(json!([]), &json!({})).expect_err("a list").code, 400);
}

#[test]
fn long_lists_do_not_take_long() {
    let list: Value = (0..50_000).map(|i| json!({"name": format!("c{i}")})).collect();
    spec(json!({"containers": list}), json!({"containers": list}), json!({"containers": list}));
}

fn container() -> impl Strategy<Value = Value> {
    let env = prop::collection::btree_map("[a-d]", "[x-z]", 0..4).prop_map(|m| {
        m.into_iter().map(|(name, value)| json!({"name": name, "value": value})).collect::<Value>()
    });
    (
        prop::option::of("[p-r]"),
        prop::option::of(env),
        prop::option::of(prop::collection::vec("[x-z]", 0..3)),
    )
        .prop_map(|(image, env, args)| {
            let mut container = json!({});
            for (key, value) in
                [("image", image.map(Value::from)), ("env", env), ("args", args.map(Value::from))]
            {
                if let Some(value) = value {
                    container[key] = value;
                }
            }
            container
        })
}

/// Containers in any order, each name once.
fn containers() -> impl Strategy<Value = Vec<Value>> {
    prop::collection::btree_map("[a-f]", container(), 0..5)
        .prop_map(|map| {
            map.into_iter()
                .map(|(name, mut container)| {
                    container["name"] = name.into();
                    container
                })
                .collect::<Vec<Value>>()
        })
        .prop_shuffle()
}

fn document() -> impl Strategy<Value = Value> {
    let finalizers = prop::collection::btree_set("[a-f]", 0..4)
        .prop_map(|set| set.into_iter().collect::<Vec<_>>())
        .prop_shuffle();
    (containers(), finalizers, prop::option::of("[x-z]")).prop_map(|(containers, finalizers, label)| {
        json!({"metadata": {"finalizers": finalizers, "labels": {"l": label}}, "spec": {"containers": containers}})
    })
}

/// A patch: a document, some of whose containers are deletions.
fn patch() -> impl Strategy<Value = Value> {
    (document(), any::<u8>()).prop_map(|(mut patch, deletions)| {
        if let Some(list) = patch["spec"]["containers"].as_array_mut() {
            for (i, container) in list.iter_mut().enumerate().filter(|(i, _)| deletions >> i & 1 == 1) {
                *container = json!({"name": container["name"], "$patch": if i == 7 { "replace" } else { "delete" }});
            }
        }
        patch
    })
}

/// Maps of scalars and maps only, with null in them.
fn plain(depth: u32) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        (0..3i64).prop_map(Value::from),
        prop::collection::vec(0..3i64, 0..3).prop_map(Value::from)
    ];
    leaf.prop_recursive(depth, 16, 4, |inner| {
        prop::collection::btree_map("[a-d]", inner, 0..4)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    })
}

fn has_directives(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.iter().any(has_directives),
        Value::Object(map) => {
            map.iter().any(|(key, value)| key.starts_with('$') || has_directives(value))
        }
        _ => false,
    }
}

fn by_name(value: &Value) -> BTreeMap<String, Value> {
    value.as_array().into_iter().flatten().map(|c| (c["name"].to_string(), c.clone())).collect()
}

proptest! {
    #[test]
    fn twice_is_once(document in document(), patch in patch()) {
        let once = apply(document, &patch).unwrap();
        prop_assert!(!has_directives(&once));
        prop_assert_eq!(apply(once.clone(), &patch).unwrap(), once);
    }

    #[test]
    fn without_a_schema_it_is_a_merge_patch(document in plain(3), patch in plain(3)) {
        prop_assume!(document.is_object() && patch.is_object());
        let mut strategic_result = document.clone();
        strategic(&mut strategic_result, &patch, &Schema::any()).unwrap();
        let mut merge_result = document;
        merge_patch(&mut merge_result, &patch);
        prop_assert_eq!(strategic_result, merge_result);
    }

    #[test]
    fn the_order_of_a_keyed_patch_does_not_change_contents(
        document in document(),
        (list, shuffled) in containers().prop_flat_map(|list| (Just(list.clone()), Just(list).prop_shuffle())),
    ) {
        let result = |list: Vec<Value>| {
            let result = apply(document.clone(), &json!({"spec": {"containers": list}})).unwrap();
            result["spec"]["containers"].clone()
        };
        let (one, other) = (result(list.clone()), result(shuffled));
        prop_assert_eq!(by_name(&one), by_name(&other));
        // What the patch names comes in the order it names it.
        let named: Vec<&Value> = list.iter().map(|c| &c["name"]).collect();
        let got: Vec<&Value> = one.as_array().unwrap().iter().map(|c| &c["name"]).filter(|n| named.contains(n)).collect();
        prop_assert_eq!(got, named);
    }
}
