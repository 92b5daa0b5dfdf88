//! The JSONPath dialect, by example and against arbitrary text.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use landbridge_machinery::table::JsonPath;
use proptest::prelude::*;
use serde_json::{Value, json};

fn find(path: &str, value: &Value) -> Value {
    let parsed = JsonPath::parse(path).unwrap_or_else(|error| panic!("{error}"));
    parsed.find(value).into_iter().cloned().collect()
}

fn sample() -> Value {
    json!({
        "metadata": {
            "name": "web",
            "annotations": {"example.com/owner": "me", "a.b": "dotted"},
        },
        "spec": {
            "list": [10, 20, 30, 40],
            "ports": [
                {"name": "http", "port": 80},
                {"name": "https", "port": 443, "tls": true},
            ],
        },
        "status": {"conditions": [
            {"type": "Ready", "status": "False"},
            {"type": "Programmed", "status": "True"},
            {"odd": 1},
        ]},
    })
}

#[test]
fn paths_find() {
    let cases = [
        (".metadata.name", json!(["web"])),
        ("{.metadata.name}", json!(["web"])),
        ("$.metadata.name", json!(["web"])),
        ("{ $.metadata.name }", json!(["web"])),
        ("metadata.name", json!(["web"])),
        (".metadata['name']", json!(["web"])),
        (".metadata[\"name\"]", json!(["web"])),
        (".metadata.annotations.example\\.com/owner", json!(["me"])),
        (".metadata.annotations['example.com/owner']", json!(["me"])),
        (".metadata.annotations['example\\.com/owner']", json!(["me"])),
        (".metadata.annotations[\"a.b\"]", json!(["dotted"])),
        (".gone.name", json!([])),
        (".metadata.name.deeper", json!([])),
        (".spec.list[0]", json!([10])),
        (".spec.list[-1]", json!([40])),
        (".spec.list[4]", json!([])),
        (".spec.list[-5]", json!([])),
        (".spec.list[*]", json!([10, 20, 30, 40])),
        (".spec.list[1:3]", json!([20, 30])),
        (".spec.list[:2]", json!([10, 20])),
        (".spec.list[2:]", json!([30, 40])),
        (".spec.list[-2:]", json!([30, 40])),
        (".spec.list[:]", json!([10, 20, 30, 40])),
        (".spec.list[3:1]", json!([])),
        (".spec.list[2:99]", json!([30, 40])),
        (".spec.list[0, -1]", json!([10, 40])),
        (".spec.ports[0]['name','port']", json!(["http", 80])),
        (".spec.ports[*].name", json!(["http", "https"])),
        (".spec.ports[0].*", json!(["http", 80])),
        (".metadata.name[0]", json!([])),
        (".status.conditions[?(@.type==\"Ready\")].status", json!(["False"])),
        (".status.conditions[?(@.type == 'Ready')].status", json!(["False"])),
        (".status.conditions[?(@.type!=\"Ready\")].status", json!(["True"])),
        (".status.conditions[?(@.odd)].odd", json!([1])),
        (".status.conditions[?(@.type==\"Gone\")].status", json!([])),
        (".spec.ports[?(@.port>80)].name", json!(["https"])),
        (".spec.ports[?(@.port>=80)].name", json!(["http", "https"])),
        (".spec.ports[?(@.port<443)].name", json!(["http"])),
        (".spec.ports[?(@.port<=80.5)].name", json!(["http"])),
        (".spec.ports[?(@.tls==true)].port", json!([443])),
        (".spec.ports[?(@.port==\"80\")].name", json!([])),
        (".spec.ports[?(@.name<\"httpz\")].port", json!([80, 443])),
        (".spec.list[?(@>15)]", json!([20, 30, 40])),
        (".spec.ports[?(@['name']=='a)]')].port", json!([])),
        ("..name", json!(["web", "http", "https"])),
        (".spec..port", json!([80, 443])),
        ("..['port']", json!([80, 443])),
    ];
    let value = sample();
    for (path, expected) in cases {
        assert_eq!(find(path, &value), expected, "{path}");
    }
    for root in ["", "{}", ".", "$", "@"] {
        assert_eq!(find(root, &value), json!([sample()]), "{root:?}");
    }
}

#[test]
fn nested_filters_find() {
    let value = json!([{"n": 1, "in": [{"x": 1}]}, {"n": 2, "in": [{"x": 2}]}]);
    assert_eq!(find("[?(@.in[?(@.x==2)])].n", &value), json!([2]));
    assert_eq!(find("[?(@.n==@.in[0].x)].n", &value), json!([1, 2]));
}

#[test]
fn bad_paths_say_what_and_where() {
    let cases = [
        ("{.a", "unclosed action in"),
        (".a[", "invalid array index at offset 3 of"),
        (".a[]", "invalid array index at offset 3"),
        (".a[0", "expected ',' or ']' at offset 4"),
        (".a[x]", "invalid array index at offset 3"),
        (".a[--1]", "array index --1 is not a number"),
        (".a['b]", "unterminated quoted string at offset 3"),
        (".a[?(@.b==)]", "expected a path or a value at offset 10"),
        (".a[?(@.b==x)]", "unrecognized identifier x"),
        (".a[?(@.b]", "unterminated filter at offset 8"),
        (".a[?(@.b)", "expected ']' after a filter"),
        (".a.", "missing field name at offset 3"),
        (".a....b", "repeated recursive descent"),
        ("{.a}{.b}", "unexpected character '}' at offset 3"),
        ("{range .a}", "a template (range) is no path"),
        (".a}", "unexpected character '}' at offset 2"),
    ];
    for (path, message) in cases {
        match JsonPath::parse(path) {
            Ok(parsed) => panic!("{path}: {parsed:?}"),
            Err(error) => assert!(error.starts_with(message), "{path}: {error}"),
        }
    }
    assert!(JsonPath::parse(&"[?(@".repeat(10_000)).is_err());
}

proptest! {
    #[test]
    fn no_text_breaks_the_parser(
        text in "\\PC{0,20}",
        near in "[ab.*$@{}\\[\\]?()<=!,:'\"0-9\\\\é -]{0,20}",
    ) {
        let value = sample();
        for text in [text, near] {
            if let Ok(path) = JsonPath::parse(&text) {
                path.find(&value);
                prop_assert_eq!(path.to_string(), text);
            }
        }
    }

    #[test]
    fn indices_and_slices_agree_with_a_naive_model(
        list in prop::collection::vec(0..9_u8, 0..6),
        start in prop::option::of(-8..8_i64),
        end in prop::option::of(-8..8_i64),
    ) {
        let length = i64::try_from(list.len()).unwrap();
        let value = json!(list);
        let real = |bound: i64| if bound < 0 { bound + length } else { bound };
        let from = start.map_or(0, real);
        let to = end.map_or(length, real);
        let expected: Vec<u8> =
            (0..length).zip(&list).filter(|(at, _)| from <= *at && *at < to).map(|(_, v)| *v).collect();
        let text = |bound: Option<i64>| bound.map(|b| b.to_string()).unwrap_or_default();
        prop_assert_eq!(find(&format!("[{}:{}]", text(start), text(end)), &value), json!(expected));
        if let Some(index) = start {
            let expected: Vec<u8> =
                (0..length).zip(&list).filter(|(at, _)| *at == from).map(|(_, v)| *v).collect();
            prop_assert_eq!(find(&format!("[{index}]"), &value), json!(expected));
        }
    }
}
