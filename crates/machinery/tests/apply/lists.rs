//! Keyed lists and sets.

use landbridge_machinery::apply::FieldSet;
use landbridge_machinery::schema::Schema;
use serde_json::{Value, json};

use super::bench::Bench;

#[test]
fn elements_of_keyed_lists_have_owners_of_their_own() {
    let mut b = Bench::new();
    b.apply("one", json!({"list": [{"name": "a", "value": 1}, {"name": "b"}]}));
    assert_eq!(
        b.applied("one"),
        [
            r#".list[name="a"]"#,
            r#".list[name="b"]"#,
            r#".list[name="a"].name"#,
            r#".list[name="a"].value"#,
            r#".list[name="b"].name"#
        ]
    );
    b.apply("two", json!({"list": [{"name": "a"}, {"name": "c", "value": 3}]}));
    assert_eq!(
        b.conflict("two", json!({"list": [{"name": "a", "value": 2}]})),
        [r#""one" .spec.list[name="a"].value"#]
    );
    // What both had stays for the other one; what was dropped alone goes.
    b.apply("one", json!({"list": [{"name": "b"}]}));
    assert_eq!(b.spec()["list"], json!([{"name": "a"}, {"name": "b"}, {"name": "c", "value": 3}]));
    b.apply("two", json!({}));
    assert_eq!(b.spec()["list"], json!([{"name": "b"}]));
    b.apply("one", json!({"name": "x"}));
    assert_eq!(b.spec(), &json!({"name": "x"}));
}

#[test]
fn appliers_come_and_go() {
    // Steps, and the list at the end.
    enum Step {
        Apply(&'static str, Value),
        Update(&'static str, Value),
    }
    use Step::{Apply, Update};
    let element = |name: &str, values: &[&str]| json!({"name": name, "values": values});
    let bare = |name: &str| json!({"name": name});
    let cases = [
        (
            "remove one",
            vec![
                Apply("one", json!([bare("a"), bare("b")])),
                Apply("two", json!([bare("c")])),
                Apply("one", json!([bare("a")])),
            ],
            json!([bare("a"), bare("c")]),
        ),
        (
            "remove one, keep the shared one",
            vec![
                Apply("one", json!([bare("a"), bare("b"), bare("c")])),
                Apply("two", json!([bare("c"), bare("d")])),
                Apply("one", json!([bare("a")])),
            ],
            json!([bare("a"), bare("c"), bare("d")]),
        ),
        (
            "inner elements of two",
            vec![
                Apply("one", json!([bare("a"), element("b", &["c"])])),
                Apply("two", json!([element("b", &["d"])])),
                Apply("one", json!([bare("a")])),
            ],
            json!([bare("a"), element("b", &["d"])]),
        ),
        (
            "an inner element of an updater stays where its list stays",
            vec![
                Apply("one", json!([bare("a"), element("b", &["c"])])),
                Apply("two", json!([element("b", &["d"])])),
                Update("ctl", json!([bare("a"), element("b", &["c", "d", "e"])])),
                Apply("one", json!([bare("a")])),
            ],
            json!([bare("a"), element("b", &["d", "e"])]),
        ),
        (
            "an element goes with what an updater put into it",
            vec![
                Apply("one", json!([bare("a"), element("b", &["c"])])),
                Apply("two", json!([element("a", &["b"])])),
                Update("ctl", json!([element("a", &["b"]), element("b", &["c", "d"])])),
                Apply("one", json!([bare("a")])),
            ],
            json!([element("a", &["b"])]),
        ),
        (
            "an element of an updater stays",
            vec![
                Update("ctl", json!([bare("x")])),
                Apply("one", json!([bare("a"), bare("x")])),
                Apply("one", json!([bare("a")])),
            ],
            json!([bare("a"), bare("x")]),
        ),
    ];
    for (name, steps, expected) in cases {
        let mut b = Bench::new();
        for step in steps {
            match step {
                Apply(manager, list) => b.apply(manager, json!({"list": list})),
                Update(manager, list) => b.update(manager, json!({"list": list})),
            };
        }
        let mut list = b.spec()["list"].as_array().unwrap().clone();
        list.sort_by_key(|item| item["name"].to_string());
        assert_eq!(Value::Array(list), expected, "{name}");
    }
}

#[test]
fn sets_merge_by_value() {
    let mut b = Bench::new();
    b.apply("one", json!({"set": ["a", "b"]}));
    assert_eq!(b.applied("one"), [r#".set[="a"]"#, r#".set[="b"]"#]);
    b.apply("two", json!({"set": ["b", "c"]}));
    assert_eq!(b.spec()["set"], json!(["a", "b", "c"]));
    b.apply("one", json!({"set": ["a"]}));
    assert_eq!(b.spec()["set"], json!(["a", "b", "c"]));
    b.apply("two", json!({"set": ["c"]}));
    assert_eq!(b.spec()["set"], json!(["a", "c"]));
}

#[test]
fn the_order_follows_the_configuration() {
    // What is there, what is applied, what comes out.
    let cases = [
        ("ab", "ab", "ab"),
        ("", "ba", "ba"),
        ("ab", "", "ab"),
        ("ab", "c", "abc"),
        ("abc", "ab", "abc"),
        ("ab", "abc", "abc"),
        ("b", "abc", "abc"),
        ("abc", "cba", "cba"),
        ("abcd", "dc", "abdc"),
        ("abcd", "da", "bcda"),
        ("axb", "ba", "xba"),
        ("xayb", "ab", "xayb"),
        ("xayb", "bca", "xybca"),
    ];
    let list = |text: &str| -> Value { text.chars().map(|c| json!({"name": c})).collect() };
    for (live, config, expected) in cases {
        let mut b = Bench::new();
        b.update("ctl", json!({"list": list(live)}));
        b.apply("one", json!({"list": list(config)}));
        assert_eq!(b.spec()["list"], list(expected), "{live} with {config}");
    }
}

#[test]
fn keys_have_defaults() {
    let mut b = Bench::new();
    b.apply("one", json!({"ports": [{"port": 53}]}));
    let udp = json!({"port": 53, "protocol": "UDP"});
    b.apply("two", json!({"ports": [{"port": 53, "protocol": "TCP", "name": "dns"}, udp]}));
    assert_eq!(b.spec()["ports"], json!([{"port": 53, "protocol": "TCP", "name": "dns"}, udp]));
    assert_eq!(
        b.applied("one"),
        [r#".ports[port=53,protocol="TCP"]"#, r#".ports[port=53,protocol="TCP"].port"#]
    );
}

#[test]
fn repeated_live_elements_are_one_whole() {
    let mut b = Bench::new();
    b.update("ctl", json!({"set": ["a", "a", "b"], "list": [{"name": "x", "value": 1}, {"name": "x", "value": 2}]}));
    b.apply("one", json!({"set": ["c"]}));
    assert_eq!(b.spec()["set"], json!(["a", "a", "b", "c"]));
    assert_eq!(b.spec()["list"].as_array().unwrap().len(), 2);
    assert_eq!(
        b.conflict("one", json!({"list": [{"name": "x", "value": 1}]})),
        [r#""ctl" using example.org/v1 .spec.list[name="x"]"#]
    );
    b.force("one", json!({"list": [{"name": "x", "value": 1}]}));
    assert_eq!(b.spec()["list"], json!([{"name": "x", "value": 1}]));
}

#[test]
fn built_in_kinds_say_it_in_the_words_of_the_strategic_patch() {
    let list = |item: Value| json!({"type": "array", "items": item, "x-kubernetes-patch-strategy": "merge"});
    let mut keyed = list(json!({"$ref": "#/definitions/Item"}));
    keyed["x-kubernetes-patch-merge-key"] = json!("name");
    let definitions = [
        (
            "Root",
            json!({"type": "object", "properties": {
                "keyed": keyed,
                "set": list(json!({"type": "string"})),
                "plain": {"type": "array", "items": {"type": "string"}},
            }}),
        ),
        (
            "Item",
            json!({"type": "object", "properties": {
                "name": {"type": "string"}, "value": {"type": "integer"},
            }}),
        ),
    ];
    let definitions =
        definitions.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    let schema = Schema::from_definitions("Root", &definitions).unwrap();
    let object = json!({"keyed": [{"name": "a", "value": 1}], "set": ["x"], "plain": ["y"]});
    assert_eq!(
        FieldSet::of(&schema, &object).to_json(),
        json!({
            "f:keyed": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:value": {}}},
            "f:plain": {},
            "f:set": {"v:\"x\"": {}},
        })
    );
}
