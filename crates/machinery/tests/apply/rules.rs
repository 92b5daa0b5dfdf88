//! Conflicts, force, co-ownership and removal on plain fields.

use landbridge_machinery::apply::FieldSet;
use serde_json::{Value, json};

use super::bench::{Bench, VERSION, with_spec};

#[test]
fn creates_what_is_not_there() {
    let mut b = Bench::new();
    b.apply("one", json!({"replicas": 1, "tags": {"x": "1"}}));
    assert_eq!(b.spec(), &json!({"replicas": 1, "tags": {"x": "1"}}));
    assert_eq!(
        b.object()["metadata"]["managedFields"],
        json!([{
            "apiVersion": VERSION, "fieldsType": "FieldsV1", "manager": "one",
            "operation": "Apply", "time": "2024-01-01T00:00:01Z",
            "fieldsV1": {"f:spec": {"f:replicas": {}, "f:tags": {"f:x": {}}}},
        }])
    );
}

#[test]
fn the_same_value_makes_two_owners_and_another_value_a_conflict() {
    let mut b = Bench::new();
    b.apply("one", json!({"replicas": 1, "name": "a"}));
    b.apply("two", json!({"replicas": 1}));
    assert_eq!(b.applied("one"), [".name", ".replicas"]);
    assert_eq!(b.applied("two"), [".replicas"]);
    assert_eq!(b.conflict("two", json!({"replicas": 2})), [r#""one" .spec.replicas"#]);
    // The two own it together, so neither can change it alone.
    assert_eq!(b.conflict("one", json!({"replicas": 2})), [r#""two" .spec.replicas"#]);
}

#[test]
fn force_takes_the_field() {
    let mut b = Bench::new();
    b.apply("one", json!({"replicas": 1, "name": "a"}));
    b.force("two", json!({"replicas": 2}));
    assert_eq!(b.spec(), &json!({"replicas": 2, "name": "a"}));
    assert_eq!(b.applied("one"), [".name"]);
    assert_eq!(b.applied("two"), [".replicas"]);
    // Who loses everything is not mentioned any more.
    b.force("two", json!({"replicas": 2, "name": "b"}));
    assert_eq!(b.managers(), ["Apply two"]);
}

#[test]
fn conflicts_are_worded_as_upstream_words_them() {
    let mut b = Bench::new();
    b.apply("one", json!({"replicas": 1}));
    b.update("ctl", json!({"replicas": 1, "name": "a", "list": [{"name": "x", "value": 1}]}));
    let message = |b: &mut Bench, spec: Value| {
        b.try_apply("two", &with_spec(spec), false).unwrap_err().message
    };
    assert_eq!(
        message(&mut b, json!({"replicas": 2})),
        r#"Apply failed with 1 conflict: conflict with "one": .spec.replicas"#
    );
    assert_eq!(
        message(&mut b, json!({"name": "b"})),
        r#"Apply failed with 1 conflict: conflict with "ctl" using example.org/v1: .spec.name"#
    );
    assert_eq!(
        message(&mut b, json!({"replicas": 2, "name": "b", "list": [{"name": "x", "value": 2}]})),
        "Apply failed with 3 conflicts: conflicts with \"ctl\" using example.org/v1:\n\
         - .spec.name\n- .spec.list[name=\"x\"].value\nconflicts with \"one\":\n- .spec.replicas"
    );
    // Through a subresource.
    (b.subresource, b.ignored) =
        (Some("status".into()), FieldSet::of_fields(&["spec", "metadata"]));
    let mut new = b.object().clone();
    new["status"] = json!({"phase": "Up"});
    b.put("agent", new);
    let config = json!({"apiVersion": VERSION, "kind": "Thing", "status": {"phase": "Down"}});
    let error = b.try_apply("two", &config, false).unwrap_err();
    assert_eq!(
        error.to_json(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "code": 409, "reason": "Conflict",
            "message": "Apply failed with 1 conflict: conflict with \"agent\" with subresource \
                        \"status\" using example.org/v1: .status.phase",
            "details": {"causes": [{
                "reason": "FieldManagerConflict", "field": ".status.phase",
                "message": "conflict with \"agent\" with subresource \"status\" using example.org/v1",
            }]},
        })
    );
}

#[test]
fn what_an_applier_drops_goes_unless_somebody_else_owns_it() {
    // First apply of "one", what "two" does, second apply of "one", what is left.
    let update = |b: &mut Bench, spec| drop(b.update("ctl", spec).managers());
    let apply = |b: &mut Bench, spec| drop(b.apply("two", spec).managers());
    let nothing = |_: &mut Bench, _| {};
    let cases: &[(&str, Value, &dyn Fn(&mut Bench, Value), Value, Value, Value)] = &[
        (
            "sole owner",
            json!({"name": "a", "replicas": 1}),
            &nothing,
            json!({}),
            json!({"name": "a"}),
            json!({"name": "a"}),
        ),
        (
            "shared with an applier",
            json!({"name": "a", "replicas": 1}),
            &apply,
            json!({"replicas": 1}),
            json!({"name": "a"}),
            json!({"name": "a", "replicas": 1}),
        ),
        (
            "taken by an updater",
            json!({"name": "a", "replicas": 1}),
            &update,
            json!({"name": "a", "replicas": 2}),
            json!({"name": "a"}),
            json!({"name": "a", "replicas": 2}),
        ),
        (
            "a whole struct",
            json!({"name": "a", "nested": {"inner": {"a": "1"}}}),
            &nothing,
            json!({}),
            json!({"name": "a"}),
            json!({"name": "a"}),
        ),
        (
            "a struct in part",
            json!({"nested": {"inner": {"a": "1", "b": "2"}, "c": "3"}}),
            &nothing,
            json!({}),
            json!({"nested": {"c": "3"}}),
            json!({"nested": {"c": "3"}}),
        ),
        (
            "a struct with a field of another",
            json!({"nested": {"inner": {"a": "1"}}}),
            &apply,
            json!({"nested": {"inner": {"b": "2"}}}),
            json!({"name": "x"}),
            json!({"name": "x", "nested": {"inner": {"b": "2"}}}),
        ),
        (
            "one key of a map",
            json!({"tags": {"a": "1", "b": "2"}}),
            &nothing,
            json!({}),
            json!({"tags": {"a": "1"}}),
            json!({"tags": {"a": "1"}}),
        ),
        (
            "keys of a map that others added to",
            json!({"tags": {"a": "1"}}),
            &update,
            json!({"tags": {"a": "1", "c": "3"}}),
            json!({"name": "x"}),
            json!({"name": "x", "tags": {"c": "3"}}),
        ),
        (
            "an atomic list",
            json!({"name": "a", "atomic": ["x"]}),
            &nothing,
            json!({}),
            json!({"name": "a"}),
            json!({"name": "a"}),
        ),
        (
            "an atomic map",
            json!({"name": "a", "selector": {"a": "1"}}),
            &nothing,
            json!({}),
            json!({"name": "a"}),
            json!({"name": "a"}),
        ),
        (
            "a map emptied on purpose",
            json!({"free": {"m": {"x": 1}}}),
            &nothing,
            json!({}),
            json!({"free": {"m": {}}}),
            json!({"free": {"m": {}}}),
        ),
        (
            "untyped fields",
            json!({"free": {"m": {"x": 1, "y": 2}, "l": [1]}}),
            &nothing,
            json!({}),
            json!({"free": {"m": {"x": 1}}}),
            json!({"free": {"m": {"x": 1}}}),
        ),
    ];
    for (name, first, between, spec, second, expected) in cases {
        let mut b = Bench::new();
        b.apply("one", first.clone());
        between(&mut b, spec.clone());
        b.apply("one", second.clone());
        assert_eq!(b.spec(), expected, "{name}");
    }
}

#[test]
fn atomic_values_change_as_one() {
    let mut b = Bench::new();
    b.apply("one", json!({"atomic": ["a"], "selector": {"a": "1"}}));
    assert_eq!(b.applied("one"), [".atomic", ".selector"]);
    assert_eq!(
        b.conflict("two", json!({"atomic": ["b"], "selector": {"b": "1"}})),
        [r#""one" .spec.atomic"#, r#""one" .spec.selector"#]
    );
    b.force("two", json!({"atomic": ["b"], "selector": {"b": "1"}}));
    assert_eq!(b.spec(), &json!({"atomic": ["b"], "selector": {"b": "1"}}));
    assert_eq!(b.managers(), ["Apply two"]);
}

#[test]
fn untyped_maps_are_granular_and_untyped_lists_atomic() {
    let mut b = Bench::new();
    b.apply("one", json!({"free": {"m": {"x": 1}, "l": [{"name": "a"}]}}));
    assert_eq!(b.applied("one"), [".free.l", ".free.m", ".free.m.x"]);
    b.apply("two", json!({"free": {"m": {"y": 2}}}));
    assert_eq!(b.spec()["free"]["m"], json!({"x": 1, "y": 2}));
    assert_eq!(b.conflict("two", json!({"free": {"l": []}})), [r#""one" .spec.free.l"#]);
    // A map in the place of a scalar, and back.
    assert_eq!(
        b.conflict("two", json!({"free": {"m": {"x": {"z": 1}}}})),
        [r#""one" .spec.free.m.x"#]
    );
    b.force("two", json!({"free": {"m": {"x": {"z": 1}}}}));
    assert_eq!(b.spec()["free"]["m"], json!({"x": {"z": 1}}));
    b.force("one", json!({"free": {"m": 7}}));
    assert_eq!(b.spec()["free"], json!({"m": 7}));
    assert_eq!(b.managers(), ["Apply one"]);
}

#[test]
fn applying_the_same_again_changes_no_byte() {
    let mut b = Bench::new();
    let spec = json!({"replicas": 1, "list": [{"name": "a", "values": ["x"]}], "tags": {"k": "v"},
        "free": {"m": {}}, "atomic": [], "maybe": null, "nested": {}});
    b.update("ctl", json!({"name": "n", "set": ["z"]}));
    b.apply("one", spec.clone());
    let before = b.object().clone();
    b.apply("one", spec);
    assert_eq!(b.object(), &before);
}

#[test]
fn the_time_moves_when_the_manager_changes_something() {
    let time = |b: &Bench, manager: &str| {
        let managed = b.managed();
        managed.entries.into_iter().find(|e| e.owner.manager == manager).unwrap().time.unwrap()
    };
    let mut b = Bench::new();
    b.apply("one", json!({"replicas": 1}));
    b.apply("two", json!({"name": "a"}));
    assert_eq!(time(&b, "one"), "2024-01-01T00:00:01Z");
    b.apply("one", json!({"replicas": 2})); // a value
    assert_eq!(time(&b, "one"), "2024-01-01T00:00:03Z");
    b.apply("one", json!({"replicas": 2, "name": "a"})); // what it owns
    assert_eq!(time(&b, "one"), "2024-01-01T00:00:04Z");
    assert_eq!(time(&b, "two"), "2024-01-01T00:00:02Z");
}

#[test]
fn refuses_what_cannot_be_applied() {
    let mut b = Bench::new();
    let cases = [
        (json!([]), 400, "an applied configuration must be a JSON object"),
        (
            json!({"apiVersion": "example.org/v2", "kind": "Thing"}),
            400,
            "Incorrect version specified in apply patch. Specified patch version: example.org/v2, expected: example.org/v1",
        ),
        (
            json!({"apiVersion": VERSION, "metadata": {"managedFields": []}}),
            400,
            "metadata.managedFields must be nil",
        ),
        (
            with_spec(json!({"nmae": 1})),
            500,
            "failed to create typed patch object (/o; example.org/v1, Kind=Thing): .spec.nmae: field not declared in schema",
        ),
        (
            with_spec(json!({"list": [{"name": "a"}, {"name": "a"}]})),
            500,
            "failed to create typed patch object (/o; example.org/v1, Kind=Thing): .spec.list: duplicate entries for key [name=\"a\"]",
        ),
        (
            with_spec(json!({"set": [1, {}], "list": [{}]})),
            500,
            "failed to create typed patch object (/o; example.org/v1, Kind=Thing): errors:\n  .spec.list: element 0: associative list with keys has an element that omits key field \"name\" (and doesn't have default value)\n  .spec.set: element 1: associative list without keys has an element that's a map type",
        ),
        (
            with_spec(json!({"list": [{"name": "a", "x": 1}]})),
            500,
            "failed to create typed patch object (/o; example.org/v1, Kind=Thing): .spec.list[name=\"a\"].x: field not declared in schema",
        ),
    ];
    for (config, code, message) in cases {
        let error = b.try_apply("one", &config, true).unwrap_err();
        assert_eq!((error.code, error.message.as_str()), (code, message), "{config}");
    }
    assert_eq!(b.live, None);
}

#[test]
fn nulls_say_nothing_where_the_schema_takes_none() {
    let mut b = Bench::new();
    b.apply("one", json!({"replicas": 1, "maybe": "x"}));
    let mut config = with_spec(json!({"replicas": null, "maybe": null}));
    config["metadata"]["creationTimestamp"] = Value::Null;
    b.try_apply("one", &config, false).unwrap();
    assert_eq!(b.spec(), &json!({"maybe": null}));
    assert_eq!(b.applied("one"), [".maybe"]);
}

#[test]
fn an_endpoint_owns_and_writes_only_its_own_part() {
    let mut b = Bench::new();
    let mut config = with_spec(json!({"replicas": 1}));
    config["status"] = json!({"phase": "Up"});
    b.try_apply("one", &config, false).unwrap();
    assert!(b.object().get("status").is_none());
    assert_eq!(b.applied("one"), [".replicas"]);

    (b.subresource, b.ignored) =
        (Some("status".into()), FieldSet::of_fields(&["spec", "metadata"]));
    config["spec"]["replicas"] = json!(9);
    b.try_apply("one", &config, false).unwrap();
    assert_eq!(b.object()["status"], json!({"phase": "Up"}));
    assert_eq!(b.spec(), &json!({"replicas": 1}));
    let entries = b.managed().entries;
    assert_eq!(entries.len(), 2);
    let status = entries.iter().find(|e| e.owner.subresource == "status").unwrap();
    assert_eq!(status.fields.to_string(), ".status.phase");

    // A status nobody may write here is in nobody's way.
    (b.subresource, b.ignored) = (None, FieldSet::of_fields(&["status"]));
    config = with_spec(json!({"replicas": 1}));
    config["status"] = json!({"phase": "Down"});
    b.try_apply("two", &config, false).unwrap();
    assert_eq!(b.object()["status"], json!({"phase": "Up"}));
}

#[test]
fn an_applier_is_the_same_in_every_version() {
    let mut b = Bench::new();
    b.apply("one", json!({"replicas": 1, "name": "a"}));
    b.update("ctl", json!({"replicas": 1, "name": "a", "set": ["x"]}));
    b.version = "example.org/v2".to_owned();
    let mut config = with_spec(json!({"replicas": 1}));
    config["apiVersion"] = json!("example.org/v2");
    b.try_apply("one", &config, false).unwrap();
    assert_eq!(b.spec(), &json!({"replicas": 1, "set": ["x"]}));
    let versions: Vec<String> = b.managed().entries.into_iter().map(|e| e.api_version).collect();
    assert_eq!(versions, ["example.org/v2", "example.org/v1"]);
    // Updaters have one entry per version; fields of other versions conflict by path.
    let mut new = b.object().clone();
    new["spec"]["set"] = json!(["x", "y"]);
    b.put("ctl", new);
    assert_eq!(b.managed().entries.len(), 3);
    config["spec"]["ports"] = json!([{"port": 1}]);
    b.try_apply("two", &config, false).unwrap();
}

#[test]
fn entries_by_hand_are_honoured() {
    let entry = |manager: &str, fields: Value| {
        json!({"manager": manager, "operation": "Apply", "apiVersion": VERSION,
            "fieldsType": "FieldsV1", "fieldsV1": fields})
    };
    // Two own a key, nobody owns the map around it; one of them also owns a status from the days
    // when there was no endpoint for it.
    let shared = json!({"f:free": {"f:m": {"f:x": {}}}});
    let mut live = with_spec(json!({"free": {"m": {"x": 1}}}));
    live["status"] = json!({"phase": "Up"});
    live["metadata"]["managedFields"] = json!([
        entry("one", json!({"f:spec": shared, "f:status": {"f:phase": {}}})),
        entry("two", json!({"f:spec": shared})),
    ]);
    let mut b = Bench::new();
    b.live = Some(live);
    b.apply("one", json!({"name": "a"}));
    assert_eq!(b.spec(), &json!({"name": "a", "free": {"m": {"x": 1}}}));
    assert_eq!(b.object()["status"], json!({"phase": "Up"}));
    assert_eq!(b.applied("one"), [".name"]);
    assert_eq!(b.applied("two"), [".free.m.x"]);
}

#[test]
fn empty_lists_come_and_go_but_have_no_owner() {
    let mut b = Bench::new();
    b.apply("one", json!({"list": [{"name": "a"}], "set": ["x"]}));
    b.apply("one", json!({"list": [], "set": []}));
    assert_eq!(b.spec(), &json!({"list": [], "set": []}));
    assert!(b.managers().is_empty());
}
