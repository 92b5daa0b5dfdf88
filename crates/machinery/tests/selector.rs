//! Label and field selectors, by example.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::borrow::Cow;

use landbridge_machinery::field::FieldPath;
use landbridge_machinery::selector::{FieldSelector, LabelSelector, field_value};
use serde_json::{Value, json};

fn label(text: &str) -> LabelSelector {
    LabelSelector::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn field(text: &str) -> FieldSelector {
    FieldSelector::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

#[test]
fn label_selectors_print_canonically() {
    let cases = [
        ("", ""),
        ("  \t", ""),
        ("a=b", "a=b"),
        ("a == b", "a=b"),
        ("a!=b", "a!=b"),
        ("a=", "a="),
        ("a=,b", "a=,b"),
        ("b,a", "a,b"),
        ("! a", "!a"),
        ("a in (y, x,y)", "a in (x,y)"),
        ("a notin(x)", "a notin (x)"),
        ("a in ()", "a in ()"),
        ("a in (x,)", "a in (,x)"),
        ("a>1 , b <2", "a>1,b<2"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("notin", "notin"),
        ("app.kubernetes.io/name=web", "app.kubernetes.io/name=web"),
    ];
    for (text, canonical) in cases {
        let selector = label(text);
        assert_eq!(selector.to_string(), canonical, "{text:?}");
        assert_eq!(label(canonical), selector, "{text:?}");
    }
}

#[test]
fn label_selectors_match() {
    let labels = json!({"app": "web", "tier": "", "size": "5"});
    let cases = [
        ("", true),
        ("app=web", true),
        ("app=db", false),
        ("app!=db", true),
        ("app!=web", false),
        ("gone!=x", true),
        ("gone=", false),
        ("tier=", true),
        ("tier in ()", true),
        ("app in (db,web)", true),
        ("gone in (db,web)", false),
        ("app notin (db,web)", false),
        ("gone notin (db)", true),
        ("app", true),
        ("!app", false),
        ("!gone", true),
        ("gone", false),
        ("size>4", true),
        ("size>5", false),
        ("size<6", true),
        ("app>4", false),
        ("gone<4", false),
        ("app=web,size>4,!gone", true),
        ("app=web,gone", false),
    ];
    for (text, expected) in cases {
        assert_eq!(label(text).matches(labels.as_object()), expected, "{text:?}");
    }
    assert!(label("!a").matches(None));
    assert!(!label("a").matches(None));
    assert!(label("").is_empty());
    assert!(!label("a").is_empty());
}

#[test]
fn bad_label_selectors_say_what_and_where() {
    let cases = [
        ("a=b=c", "found '=', expected: ',' or 'end of string' (at character 4)"),
        ("a,", "found '', expected: !, identifier (at character 3)"),
        (",a", "found ',', expected: !, identifier (at character 1)"),
        ("a b", "found 'b', expected: in, notin, =, ==, !=, >, < (at character 3)"),
        ("a in x", "found 'x', expected: '(' (at character 6)"),
        ("a in (x", "found '', expected: ',' or ')' (at character 8)"),
        ("a in (x y)", "found 'y', expected: ',' or ')' (at character 9)"),
        ("!a=b", "found '=', expected: ',' or 'end of string' (at character 3)"),
        ("!!a", "found '!', expected: identifier (at character 2)"),
        ("a=(", "found '(', expected: identifier (at character 3)"),
        ("é=)", "<nil>: Invalid value: \"é\": name part must consist"),
        ("x=1,a/b/c", "<nil>: Invalid value: \"a/b/c\": a qualified name must"),
        ("a=-x", "values[0][a]: Invalid value: \"-x\": a valid label must"),
        ("a>x", "values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value"),
    ];
    for (text, message) in cases {
        let error = LabelSelector::parse(text).expect_err(text);
        assert_eq!((error.code, error.reason), (400, "BadRequest"), "{text:?}");
        let expected = format!("unable to parse requirement: {message}");
        assert!(error.message.starts_with(&expected), "{text:?}: {}", error.message);
    }
}

#[test]
fn selectors_in_objects() {
    let selector = json!({
        "matchLabels": {"app": "web"},
        "matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["b", "a"]},
            {"key": "env", "operator": "NotIn", "values": ["test"]},
            {"key": "owner", "operator": "Exists"},
            {"key": "legacy", "operator": "DoesNotExist", "values": []},
        ],
    });
    let text = "app=web,env notin (test),!legacy,owner,tier in (a,b)";
    assert_eq!(LabelSelector::from_object(&selector).unwrap().to_string(), text);

    let everything = LabelSelector::from_object(&json!({})).unwrap();
    assert!(everything.is_empty() && everything.matches(None));
    let nothing = LabelSelector::from_object(&Value::Null).unwrap();
    assert!(!nothing.is_empty() && !nothing.matches(None));
}

#[test]
fn bad_selectors_in_objects_name_the_field() {
    let expression = |value: Value| json!({"matchExpressions": [value]});
    let cases = [
        (json!("app=web"), "spec.selector: Invalid value: \"app=web\": must be an object"),
        (json!({"matchLabels": {"a": 1}}), "spec.selector.matchLabels[a]: Invalid value: 1: must"),
        (json!({"matchLabels": {"-a": "1"}}), "spec.selector.matchLabels: Invalid value: \"-a\""),
        (json!({"matchLabels": {"a": "-"}}), "spec.selector.matchLabels[a]: Invalid value: \"-\""),
        (json!({"matchExpressions": 1}), "spec.selector.matchExpressions: Invalid value: 1"),
        (
            expression(json!({"operator": "In", "values": ["x"]})),
            "spec.selector.matchExpressions[0].key: Required value",
        ),
        (
            expression(json!({"key": "a", "operator": "in", "values": ["x"]})),
            "spec.selector.matchExpressions[0].operator: Invalid value: \"in\": not a valid",
        ),
        (
            expression(json!({"key": "a", "operator": "In"})),
            "spec.selector.matchExpressions[0].values: Required value: must be specified",
        ),
        (
            expression(json!({"key": "a", "operator": "Exists", "values": ["x"]})),
            "spec.selector.matchExpressions[0].values: Forbidden: may not be specified",
        ),
        (
            expression(json!({"key": "a", "operator": "In", "values": ["ok", "a b"]})),
            "spec.selector.matchExpressions[0].values[1][a]: Invalid value: \"a b\"",
        ),
    ];
    for (selector, message) in cases {
        let path = FieldPath::new("spec.selector");
        let error = LabelSelector::from_object_at(&selector, &path).unwrap_err().to_string();
        assert!(error.starts_with(message), "{selector}: {error}");
    }
}

#[test]
fn field_selectors_parse_and_print() {
    let cases = [
        ("", ""),
        ("a=b", "a=b"),
        ("a==b,", "a=b"),
        ("b=1,a!=2", "a!=2,b=1"),
        ("a=", "a="),
        (r"a=x\,y\=z\\", r"a=x\,y\=z\\"),
        ("a= b", "a= b"),
    ];
    for (text, canonical) in cases {
        assert_eq!(field(text).to_string(), canonical, "{text:?}");
    }
    let selector = field(r"metadata.name=x\,y,status.phase!=Running");
    assert_eq!(selector.exact("metadata.name"), Some("x,y"));
    assert_eq!(selector.exact("status.phase"), None);
    assert_eq!(selector.requirements().len(), 2);
}

#[test]
fn bad_field_selectors_are_refused() {
    let cases = [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        ("x=1,b", "invalid selector: 'x=1,b'; can't understand 'b'"),
        ("a=b=c", "invalid selector: 'a=b=c'; unescaped character in value: = in 'b=c'"),
        (r"a=\x", r"invalid selector: 'a=\x'; invalid escape sequence: \x in '\x'"),
        (r"a=\", r"invalid selector: 'a=\'; invalid escape sequence: \ at the end of '\'"),
    ];
    for (text, message) in cases {
        let error = FieldSelector::parse(text).expect_err(text);
        assert_eq!((error.code, error.message.as_str()), (400, message));
    }
}

#[test]
fn field_selectors_match_objects() {
    let object = json!({
        "metadata": {"name": "web-0"},
        "spec": {"unschedulable": true, "replicas": 3, "list": []},
        "status": {"phase": "Running"},
    });
    let cases = [
        ("", true),
        ("metadata.name=web-0", true),
        ("metadata.name=web-1", false),
        ("metadata.name!=web-1,status.phase==Running", true),
        ("status.phase!=Running", false),
        ("spec.unschedulable=true,spec.replicas=3", true),
        ("spec.nodeName=", true),
        ("spec.nodeName!=", false),
        ("spec.list=,metadata.name.x=", true),
    ];
    for (text, expected) in cases {
        let matches = field(text).matches_with(|name| Some(field_value(&object, name)));
        assert_eq!(matches, expected, "{text:?}");
    }
    assert!(field("a=").matches_with(|_| None));
    assert!(!field("a=b").matches_with(|_| Some(Cow::Borrowed("c"))));
}

#[test]
fn unknown_fields_are_refused() {
    let supported = |name: &str| name == "metadata.name";
    assert_eq!(field("metadata.name=x").unsupported(supported), None);
    let error = field("metadata.name=x,spec.foo=y").unsupported(supported).unwrap();
    assert_eq!((error.code, error.message.as_str()), (400, "field label not supported: spec.foo"));
}
