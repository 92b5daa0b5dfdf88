//! Sets of fields, their JSON, and comparisons.

use landbridge_machinery::apply::{Comparison, FieldSet, Malformed, Path, PathElement};
use landbridge_machinery::schema::Schema;
use serde_json::{Value, json};

use super::bench::{schema, with_spec};

fn set(json: Value) -> FieldSet {
    FieldSet::from_json(&json).unwrap()
}

#[test]
fn fields_v1_reads_and_writes() {
    let cases = [
        (json!({}), ""),
        (json!({"f:a": {}}), ".a"),
        (json!({"f:a": {"f:b": {}}}), ".a.b"),
        (json!({"f:a": {".": {}, "f:b": {}}}), ".a\n.a.b"),
        (
            json!({"f:l": {"k:{\"name\":\"x\",\"port\":1}": {".": {}, "f:v": {}}}}),
            ".l[name=\"x\",port=1]\n.l[name=\"x\",port=1].v",
        ),
        (json!({"f:s": {"v:\"a\"": {}, "v:1": {}, "v:true": {}}}), ".s[=1]\n.s[=\"a\"]\n.s[=true]"),
        (json!({"f:l": {"i:0": {}, "i:10": {}, "i:2": {}}}), ".l[0]\n.l[2]\n.l[10]"),
        // Members of a level come before what lies deeper; fields before keys before values.
        (
            json!({"f:a": {"f:x": {}}, "f:b": {}, "v:1": {}, "k:{\"a\":1}": {}}),
            ".b\n[a=1]\n[=1]\n.a.x",
        ),
    ];
    for (json, paths) in cases {
        let set = set(json.clone());
        assert_eq!(set.to_string(), paths, "{json}");
        assert_eq!(set.to_json(), json);
        assert_eq!(set.len(), paths.lines().count());
    }
}

#[test]
fn fields_v1_reads_other_writers() {
    // Steps of unknown type are dropped, keys are sorted, null is empty, numbers are numbers.
    assert_eq!(set(json!({"x:new": {"f:a": {}}, "f:b": {}})), set(json!({"f:b": {}})));
    assert_eq!(set(json!({"k:{\"b\":1,\"a\":2}": {}})).to_string(), "[a=2,b=1]");
    assert_eq!(set(json!({"f:a": null})), set(json!({"f:a": {}})));
    assert_eq!(set(json!({"v:1.0": {}})), set(json!({"v:1": {}})));
    assert_eq!(set(json!({"f:a": {"x:y": {}}})), set(json!({"f:a": {}})));
    for bad in [
        json!([]),
        json!(1),
        json!({"f": {}}),
        json!({"": {}}),
        json!({"fx": {}}),
        json!({"é:": {}}),
        json!({"f:a": 1}),
        json!({"k:[]": {}}),
        json!({"k:{": {}}),
        json!({"v:": {}}),
        json!({"i:x": {}}),
    ] {
        assert_eq!(FieldSet::from_json(&bad), Err(Malformed), "{bad}");
    }
}

#[test]
fn sets_behave_like_sets() {
    let a = set(json!({"f:a": {".": {}, "f:b": {}}, "f:c": {"f:d": {}}, "f:e": {}}));
    let b = set(json!({"f:a": {}, "f:c": {}, "f:x": {}}));
    assert_eq!(a.union(&b).to_string(), ".a\n.c\n.e\n.x\n.a.b\n.c.d");
    assert_eq!(a.intersection(&b).to_string(), ".a");
    assert_eq!(a.difference(&b).to_string(), ".e\n.a.b\n.c.d");
    assert_eq!(a.recursive_difference(&b).to_string(), ".e");
    assert_eq!(a.leaves().to_string(), ".e\n.a.b\n.c.d");
    assert!(a.difference(&a).is_empty() && !a.is_empty());
    assert_eq!(a.paths().into_iter().collect::<FieldSet>(), a);
    assert_eq!(FieldSet::of_fields(&["a", "c.d"]).to_string(), ".a\n.c.d");

    let path = |names: &[&str]| Path(names.iter().map(|n| PathElement::field(n)).collect());
    assert!(a.has(&path(&["a"]).0) && a.has(&path(&["c", "d"]).0));
    assert!(!a.has(&path(&["c"]).0) && !a.has(&[]) && !a.has(&path(&["a", "b", "x"]).0));
}

#[test]
fn fields_of_values_follow_the_schema() {
    let cases = [
        (json!({"replicas": 1, "name": "a"}), ".name\n.replicas"),
        (json!({"tags": {"a": "1"}}), ".tags.a"),
        (json!({"tags": {}, "nested": {}, "maybe": null}), ".maybe\n.nested\n.tags"),
        (json!({"nested": {"inner": {"a": "1"}}}), ".nested.inner.a"),
        (json!({"atomic": [], "selector": {"a": "1"}}), ".atomic\n.selector"),
        (json!({"set": [], "list": []}), ""),
        (json!({"set": ["x"]}), ".set[=\"x\"]"),
        (json!({"set": ["x", "x"]}), ".set[=\"x\"]"),
        (json!({"free": {"a": {"b": []}}}), ".free.a\n.free.a.b"),
        // Not what the schema says: deduced.
        (json!({"name": {"a": 1}, "set": {"b": 1}, "nested": [1]}), ".nested\n.name.a\n.set.b"),
    ];
    for (spec, expected) in cases {
        let fields = FieldSet::of(&schema(), &json!({"spec": spec}));
        assert_eq!(fields.to_string().replace(".spec", ""), expected, "{spec}");
    }
    let fields = FieldSet::of(&Schema::any(), &json!({"a": {"b": [1]}, "c": 1}));
    assert_eq!(fields.to_string(), ".a\n.c\n.a.b");
}

#[test]
fn comparisons_name_every_change() {
    // Old, new, added, modified, removed.
    let cases = [
        (json!({"replicas": 1}), json!({"replicas": 1}), "", "", ""),
        (json!({"replicas": 1}), json!({"replicas": 1.0}), "", "", ""),
        (json!({"replicas": 1}), json!({"replicas": 2}), "", ".replicas", ""),
        (json!({}), json!({"nested": {"c": "1"}}), ".nested .nested.c", "", ""),
        (json!({"nested": {"c": "1"}}), json!({}), "", "", ".nested .nested.c"),
        (json!({"nested": {"c": "1"}}), json!({"nested": {}}), "", "", ".nested.c"),
        (json!({"tags": {}}), json!({"tags": null}), "", ".tags", ""),
        (json!({"atomic": ["a"]}), json!({"atomic": ["a", "b"]}), "", ".atomic", ""),
        (json!({"selector": {"a": "1"}}), json!({"selector": {"b": "1"}}), "", ".selector", ""),
        (
            json!({"set": ["a", "b"]}),
            json!({"set": ["b", "c"]}),
            ".set[=\"c\"]",
            "",
            ".set[=\"a\"]",
        ),
        (json!({"set": ["a", "b"]}), json!({"set": ["b", "a"]}), "", "", ""),
        (json!({"set": ["a", "a"]}), json!({"set": ["a"]}), ".set[=\"a\"]", "", ".set[=\"a\"]"),
        (
            json!({"list": [{"name": "a", "value": 1}]}),
            json!({"list": [{"name": "a", "value": 2}, {"name": "b"}]}),
            ".list[name=\"b\"] .list[name=\"b\"].name",
            ".list[name=\"a\"].value",
            "",
        ),
        (json!({"free": {"x": 1}}), json!({"free": {"x": {"y": 1}}}), ".free.x.y", ".free.x", ""),
        (json!({"free": {"x": {"y": 1}}}), json!({"free": {"x": [1]}}), "", ".free.x", ".free.x.y"),
    ];
    let text = |set: &FieldSet| {
        let paths: Vec<_> = set.paths().iter().map(ToString::to_string).collect();
        paths.join(" ").replace(".spec", "")
    };
    for (old, new, added, modified, removed) in cases {
        let c = Comparison::of(&schema(), &with_spec(old.clone()), &with_spec(new.clone()));
        let got = (text(&c.added), text(&c.modified), text(&c.removed));
        assert_eq!(got, (added.into(), modified.into(), removed.into()), "{old} to {new}");
        let nothing = added.is_empty() && modified.is_empty() && removed.is_empty();
        assert_eq!(c.is_empty(), nothing);
    }
}
