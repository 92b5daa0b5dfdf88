//! JSON from outside: repeated keys are reported, numbers kept, garbage refused.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may
#![allow(clippy::needless_pass_by_value, clippy::type_complexity)] // tables read better so

use landbridge_machinery::decode;
use proptest::prelude::*;
use serde_json::{Value, json};

fn decoded(text: &str) -> decode::Decoded {
    decode::json(text.as_bytes(), 100).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn repeated_keys_are_named_and_the_last_one_wins() {
    let got = decoded(
        r#"{"spec":{"n":[{"a":1},{"a":1,"a":2,"a":3}],"x":1},"spec":{"y":{"z":0,"z":1}},"k":1}"#,
    );
    assert_eq!(got.value, json!({"spec": {"y": {"z": 1}}, "k": 1}));
    assert_eq!(got.duplicates, ["spec.n[1].a", "spec", "spec.y.z"]);
}

#[test]
fn numbers_stay_what_they_are() {
    let text = "[0,-1,9223372036854775807,-9223372036854775808,18446744073709551615,1.5,1e3,1.0]";
    let got = decoded(text).value;
    assert_eq!(
        got.to_string(),
        "[0,-1,9223372036854775807,-9223372036854775808,18446744073709551615,1.5,1000.0,1.0]"
    );
    assert!(got[4].is_u64() && got[3].is_i64() && got[7].is_f64());
}

#[test]
fn what_is_no_json_is_refused_with_its_place() {
    let cases = [
        ("{\"a\":1} x", "trailing characters at line 1 column 9"),
        ("{\"a\":\n1,}", "trailing comma at line 2 column 3"),
        ("", "EOF while parsing a value at line 1 column 0"),
        ("{\"a\":1e999}", "number out of range at line 1 column 10"),
        ("[\"\u{1}\"]", "control character"),
    ];
    for (text, expected) in cases {
        let error = decode::json(text.as_bytes(), 100).expect_err(text);
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn depth_is_limited() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(decode::json(nested(5).as_bytes(), 5).is_ok());
    let error = decode::json(nested(6).as_bytes(), 5).expect_err("too deep");
    assert!(error.contains("nested too deeply") && error.contains("line 1 column 7"), "{error}");
    // Our own limit may be generous, the parser's is not.
    assert!(decode::json(nested(100_000).as_bytes(), usize::MAX).is_err());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no infinities", |f| f.is_finite()).prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(".{0,4}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn agrees_with_serde_json(value in any_json()) {
        let text = value.to_string();
        let got = decode::json(text.as_bytes(), 100).unwrap();
        prop_assert_eq!(got.value, serde_json::from_str::<Value>(&text).unwrap());
        prop_assert!(got.duplicates.is_empty());
    }

    #[test]
    fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let got = decode::json(&bytes, 100);
        let reference: Result<Value, _> = serde_json::from_slice(&bytes);
        prop_assert_eq!(got.is_ok(), reference.is_ok());
    }
}
