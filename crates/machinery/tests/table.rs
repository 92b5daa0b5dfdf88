//! Ages and the rows of custom resources.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use jiff::Timestamp;
use landbridge_machinery::table::{Column, Columns, JsonPath, age, human_duration, since};
use serde_json::{Value, json};

const MINUTE: i64 = 60;
const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

fn now() -> Timestamp {
    "2026-01-02T00:00:00.5Z".parse().unwrap()
}

#[test]
fn durations_read_like_upstream() {
    let cases = [
        (-2, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (121, "2m1s"),
        (10 * MINUTE - 1, "9m59s"),
        (10 * MINUTE, "10m"),
        (10 * MINUTE + 59, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 5 * MINUTE + 59, "3h5m"),
        (8 * HOUR - 1, "7h59m"),
        (8 * HOUR + 30 * MINUTE, "8h"),
        (48 * HOUR - 1, "47h"),
        (48 * HOUR, "2d"),
        (2 * DAY + 3 * HOUR, "2d3h"),
        (8 * DAY - 1, "7d23h"),
        (8 * DAY + 5 * HOUR, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + 10 * DAY, "2y10d"),
        (8 * YEAR - 1, "7y364d"),
        (8 * YEAR + 300 * DAY, "8y"),
        (i64::MAX, "292471208677y"),
        (i64::MIN, "<invalid>"),
    ];
    for (seconds, text) in cases {
        assert_eq!(human_duration(seconds), text, "{seconds}");
    }
}

#[test]
fn ages_come_from_timestamps() {
    assert_eq!(since("", now()), "<unknown>");
    assert_eq!(since("yesterday", now()), "<invalid>");
    assert_eq!(since("2026-01-01T23:59:00Z", now()), "60s");
    assert_eq!(since("2026-01-02T00:59:00+01:00", now()), "60s");
    assert_eq!(since("2026-01-01T23:59:00.123456Z", now()), "60s");
    assert_eq!(since("2026-01-02T00:00:02Z", now()), "0s");
    assert_eq!(since("2026-01-02T00:00:03Z", now()), "<invalid>");
    assert_eq!(age(&json!({}), now()), "<unknown>");
    let object = json!({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}});
    assert_eq!(age(&object, now()), "24h");
}

fn declared(columns: &[(&str, &str, &str)]) -> Columns {
    let column = |(name, kind, path): &(&str, &str, &str)| {
        (Column::new(name, "").with_kind(kind), JsonPath::parse(path).unwrap())
    };
    Columns::Declared(columns.iter().map(column).collect())
}

#[test]
fn without_declared_columns_there_are_name_and_age() {
    let columns = declared(&[]);
    let definitions = columns.definitions();
    assert_eq!(definitions.len(), 2);
    assert_eq!(definitions[0]["name"], "Name");
    assert_eq!(definitions[0]["type"], "string");
    assert_eq!(definitions[0]["format"], "name");
    assert_eq!(definitions[0]["priority"], 0);
    assert_eq!(definitions[1]["name"], "Age");
    assert_eq!(definitions[1]["type"], "date");
    let object = json!({
        "metadata": {"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z"},
    });
    assert_eq!(columns.cells(&object, now()), [json!("x"), json!("24h")]);
}

#[test]
fn declared_columns_follow_the_name() {
    let mut wide = Column::new("State", "What it does.").wide();
    wide.format = "word".into();
    let columns = Columns::Declared(vec![
        (wide, JsonPath::parse(".status.state").unwrap()),
        (Column::new("VLAN", "").with_kind("integer"), JsonPath::parse(".spec.vlan").unwrap()),
    ]);
    let expected = [
        json!({
            "name": "State", "type": "string", "format": "word",
            "description": "What it does.", "priority": 1,
        }),
        json!({
            "name": "VLAN", "type": "integer", "format": "", "priority": 0,
            "description": "Custom resource definition column (in JSONPath format): .spec.vlan",
        }),
    ];
    assert_eq!(columns.definitions()[1..], expected);
    let object = json!({"metadata": {"name": "x"}, "spec": {"vlan": 7}});
    assert_eq!(columns.cells(&object, now()), [json!("x"), Value::Null, json!(7)]);
}

#[test]
fn cells_follow_the_type_of_the_column() {
    let object = json!({"v": {
        "text": "abc", "int": 3, "float": 3.9, "yes": true, "null": null,
        "list": ["a", 1], "map": {"k": "v"}, "holes": [null, "b", null], "nulls": [null, null],
        "when": "2026-01-01T00:00:00Z", "empty": "",
    }});
    let cases = [
        ("string", ".v.text", json!("abc")),
        ("string", ".v.int", json!("3")),
        ("string", ".v.yes", json!("true")),
        ("string", ".v.list", json!("[\"a\",1]")),
        ("string", ".v.map", json!("{\"k\":\"v\"}")),
        ("string", ".v.list[*]", json!("a,1")),
        ("string", ".v.list[:1]", json!("a")),
        ("string", ".v.holes[*]", json!("b")),
        ("string", ".v.nulls[*]", Value::Null),
        ("string", ".v.gone", Value::Null),
        ("string", ".v.null", Value::Null),
        ("string", ".v.when", json!("2026-01-01T00:00:00Z")),
        ("integer", ".v.int", json!(3)),
        ("integer", ".v.float", json!(3)),
        ("integer", ".v.text", Value::Null),
        ("integer", ".v['int','float']", json!(3)),
        ("integer", ".v.gone", Value::Null),
        ("number", ".v.float", json!(3.9)),
        ("number", ".v.int", json!(3)),
        ("number", ".v.yes", Value::Null),
        ("boolean", ".v.yes", json!(true)),
        ("boolean", ".v.text", Value::Null),
        ("date", ".v.when", json!("24h")),
        ("date", ".v.text", json!("<invalid>")),
        ("date", ".v.empty", json!("<unknown>")),
        ("date", ".v.int", Value::Null),
        ("date", ".v.gone", Value::Null),
    ];
    for (kind, path, expected) in cases {
        let cells = declared(&[("X", kind, path)]).cells(&object, now());
        assert_eq!(cells[1], expected, "{kind} {path}");
    }
}

#[test]
fn computed_columns_are_taken_as_they_are() {
    let columns = Columns::Computed(vec![Column::name(), Column::age()], |object, now| {
        vec![object["metadata"]["name"].clone(), age(object, now).into()]
    });
    assert_eq!(columns.definitions().len(), 2);
    assert_eq!(columns.definitions()[1]["type"], "string");
    let object = json!({"metadata": {"name": "x"}});
    assert_eq!(columns.cells(&object, now()), [json!("x"), json!("<unknown>")]);
}
