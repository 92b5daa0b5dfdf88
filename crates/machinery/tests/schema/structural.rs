//! What is no structural schema, and how we say so.

use landbridge_machinery::field::FieldPath;
use landbridge_machinery::schema::Schema;
use serde_json::{Value, json};

fn errors(schema: &Value) -> Vec<String> {
    match Schema::structural(schema, &FieldPath::new("s")) {
        Ok(_) => Vec::new(),
        Err(errors) => super::texts(&errors),
    }
}

/// Errors of a schema whose property `x` is `x`.
fn property_errors(x: Value) -> Vec<String> {
    errors(&json!({"type": "object", "properties": {"x": x}}))
}

#[test]
fn every_rule_has_upstreams_words() {
    let map_list = |items: Value, keys: Value| json!({"type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys});
    let cases = [
        (json!({}), "type: Required value: must not be empty for specified object fields"),
        (
            json!({"type": "array", "items": {}}),
            "items.type: Required value: must not be empty for specified array items",
        ),
        (json!({"type": "array"}), "items: Required value: must be specified"),
        (
            json!({"type": "object", "additionalProperties": {}}),
            "additionalProperties.type: Required value: must not be empty for specified object fields",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}),
            "additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
        (
            json!({"type": "string", "pattern": "a("}),
            "pattern: Invalid value: \"a(\": must be a valid regular expression, but isn't: error: unclosed group",
        ),
        (
            json!({"type": "string", "anyOf": [{"pattern": "("}]}),
            "anyOf[0].pattern: Invalid value: \"(\": must be a valid regular expression, but isn't: error: unclosed group",
        ),
        (json!({"$ref": "#/x", "type": "object"}), "$ref: Forbidden: $ref is not supported"),
        (
            json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
            "uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ),
        (
            json!({"type": "null"}),
            "type: Forbidden: type cannot be set to null, use nullable as an alternative",
        ),
        (
            json!({"type": "text"}),
            "type: Unsupported value: \"text\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"",
        ),
        (
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": false}),
            "x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined",
        ),
        (
            json!({"x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true}),
            "x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true",
        ),
        (
            json!({"type": "string", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}),
            "type: Invalid value: \"string\": must be object if x-kubernetes-embedded-resource is true",
        ),
        (
            json!({"type": "object", "x-kubernetes-embedded-resource": true}),
            "properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
        ),
        (
            json!({"type": "object", "x-kubernetes-list-type": "set"}),
            "type: Invalid value: \"object\": must be array if x-kubernetes-list-type is specified",
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "bag"}),
            "x-kubernetes-list-type: Unsupported value: \"bag\": supported values: \"atomic\", \"set\", \"map\"",
        ),
        (
            json!({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"}),
            "items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
        ),
        (
            json!({"type": "array", "items": {"type": "string", "nullable": true}, "x-kubernetes-list-type": "set"}),
            "items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set",
        ),
        (
            map_list(json!({"type": "object"}), json!([])),
            "x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        ),
        (
            map_list(json!({"type": "string"}), json!(["a"])),
            "items.type: Invalid value: \"string\": must be object if parent array's x-kubernetes-list-type is map",
        ),
        (
            map_list(json!({"type": "object"}), json!(["a"])),
            "x-kubernetes-list-map-keys: Invalid value: [\"a\"]: entries must all be names of item properties",
        ),
        (
            map_list(
                json!({"type": "object", "properties": {"a": {"type": "string"}}}),
                json!(["a"]),
            ),
            "items.properties[a].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
        ),
        (
            map_list(
                json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "object"}}}),
                json!(["a"]),
            ),
            "items.properties[a].type: Invalid value: \"object\": must be a scalar type if parent array's x-kubernetes-list-type is map",
        ),
        (
            json!({"type": "object", "x-kubernetes-map-type": "granulated"}),
            "x-kubernetes-map-type: Unsupported value: \"granulated\": supported values: \"atomic\", \"granular\"",
        ),
        (
            json!({"type": "string", "default": 7}),
            "default: Invalid value: \"integer\":  in body must be of type string: \"integer\"",
        ),
        (
            json!({"type": "object", "default": {"a": 1}}),
            "default: Invalid value: {\"a\":1}: must not have unknown fields",
        ),
        (
            json!({"type": "object", "default": {"a": ""}, "properties": {"a": {"type": "string", "minLength": 1}}}),
            "default.a: Invalid value: \"\": a in body should be at least 1 chars long",
        ),
        (
            json!({"type": "string", "minLength": "1"}),
            "minLength: Invalid value: \"string\": must be of type integer: \"string\"",
        ),
        (json!(7), ": Invalid value: \"integer\": must be a schema object"),
    ];
    for (x, expected) in cases {
        let dot = if expected.starts_with(':') { "" } else { "." };
        assert_eq!(property_errors(x.clone()), [format!("s.properties[x]{dot}{expected}")], "{x}");
    }
}

#[test]
fn value_validations_may_not_shape() {
    for junctor in ["allOf", "anyOf", "oneOf", "not"] {
        let cases = [
            ("type", json!("string"), "must be empty to be structural"),
            ("default", json!(1), "must be undefined to be structural"),
            (
                "additionalProperties",
                json!({"type": "string"}),
                "must be undefined to be structural",
            ),
            ("nullable", json!(true), "must be false to be structural"),
            ("description", json!("x"), "must be empty to be structural"),
            ("x-kubernetes-list-type", json!("set"), "must be undefined to be structural"),
            ("x-kubernetes-preserve-unknown-fields", json!(true), "must be false to be structural"),
            (
                "x-kubernetes-validations",
                json!([{"rule": "true"}]),
                "must be empty to be structural",
            ),
        ];
        for (key, value, why) in cases {
            let nested = json!({key: value});
            let (nested, place) = match junctor {
                "not" => (nested, "not".to_owned()),
                _ => (json!([nested]), format!("{junctor}[0]")),
            };
            let got = property_errors(json!({"type": "object", junctor: nested}));
            assert_eq!(got, [format!("s.properties[x].{place}.{key}: Forbidden: {why}")]);
        }
    }
    let deep = json!({"type": "object", "not": {"anyOf": [{"properties": {"a": {"items": {"type": "string"}}}}]}});
    assert_eq!(
        property_errors(deep),
        [
            "s.properties[x].not.anyOf[0].properties[a].items.type: Forbidden: must be empty to be structural"
        ]
    );
}

#[test]
fn fields_of_value_validations_must_be_specified_outside() {
    let schema =
        json!({"type": "object", "anyOf": [{"properties": {"a": {"minLength": 1}}, "items": {}}]});
    assert_eq!(
        errors(&schema),
        [
            "s.items: Required value: because it is defined in s.anyOf[0].items",
            "s.properties[a]: Required value: because it is defined in s.anyOf[0].properties[a]",
        ]
    );
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"properties": {"a": {"minLength": 1}}}]});
    assert!(errors(&schema).is_empty());
}

#[test]
fn the_root_is_an_object_with_metadata_of_its_own() {
    let meta = |metadata: Value| json!({"type": "object", "properties": {"metadata": metadata}});
    let cases = [
        (json!({}), "s.type: Required value: must not be empty at the root"),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            "s.type: Invalid value: \"array\": must be object at the root",
        ),
        (
            json!({"type": "object", "additionalProperties": true}),
            "s.additionalProperties: Forbidden: must not be used at the root",
        ),
        (
            json!({"type": "object", "properties": {"kind": {"type": "integer"}}}),
            "s.properties[kind].type: Invalid value: \"integer\": must be string",
        ),
        (
            meta(
                json!({"type": "object", "properties": {"name": {"type": "string"}, "labels": {"type": "object"}}}),
            ),
            "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
        ),
        (
            meta(json!({"type": "object", "default": {}})),
            "s.properties[metadata].default: Forbidden: must not be set in top-level metadata",
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(errors(&schema), [expected]);
    }
    assert!(
        errors(&meta(
            json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}})
        ))
        .is_empty()
    );
}

#[test]
fn int_or_string_may_name_its_types() {
    let any_of = json!([{"type": "integer"}, {"type": "string"}]);
    assert!(
        property_errors(json!({"x-kubernetes-int-or-string": true, "anyOf": any_of})).is_empty()
    );
    assert!(property_errors(json!({"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": any_of}, {"pattern": "x"}]})).is_empty());
    assert!(
        !property_errors(json!({"x-kubernetes-int-or-string": true, "oneOf": any_of})).is_empty()
    );
}

#[test]
fn all_errors_are_returned_sorted() {
    let schema = json!({"type": "object", "properties": {"b": {}, "a": {"type": "array"}}});
    assert_eq!(
        errors(&schema),
        [
            "s.properties[a].items: Required value: must be specified",
            "s.properties[b].type: Required value: must not be empty for specified object fields",
        ]
    );
}

#[test]
fn hostile_schemas_are_refused_not_followed() {
    let mut deep = json!({"type": "string"});
    for _ in 0..1000 {
        deep = json!({"type": "object", "properties": {"x": deep}});
    }
    assert!(errors(&deep).iter().any(|e| e.contains("nested too deeply")));
    let mut deep = json!({});
    for _ in 0..1000 {
        deep = json!({"not": deep});
    }
    deep["type"] = "object".into();
    assert!(errors(&deep).iter().any(|e| e.contains("nested too deeply")));
    let big = json!({"type": "string", "pattern": "((a{100}){100}){100}"});
    assert!(property_errors(big)[0].contains("expression too large"));
}

#[test]
fn a_default_may_rely_on_defaults_further_in() {
    let schema = json!({"type": "object", "default": {}, "required": ["a"], "properties": {"a": {"type": "string", "default": "x"}}});
    assert!(property_errors(schema).is_empty());
}
