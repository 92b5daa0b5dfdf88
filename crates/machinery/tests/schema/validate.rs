//! What is wrong with a value, word for word.

use serde_json::{Value, json};

use super::{compiled, resource, texts};

fn errors(spec_schema: Value, spec: Value) -> Vec<String> {
    texts(&resource(spec_schema).validate(&json!({"spec": spec}), None))
}

fn field_errors(x_schema: Value, x: Value) -> Vec<String> {
    errors(json!({"type": "object", "properties": {"x": x_schema}}), json!({"x": x}))
}

#[test]
fn every_rule_has_upstreams_words() {
    let text = |more: Value| with(json!({"type": "string"}), more);
    let int = |more: Value| with(json!({"type": "integer"}), more);
    let list = |more: Value| with(json!({"type": "array", "items": {"type": "string"}}), more);
    let map = |more: Value| {
        with(json!({"type": "object", "additionalProperties": {"type": "string"}}), more)
    };
    let cases = [
        (
            int(json!({})),
            json!("a"),
            r#"Invalid value: "string": spec.x in body must be of type integer: "string""#,
        ),
        (
            int(json!({})),
            json!(1.5),
            r#"Invalid value: "number": spec.x in body must be of type integer: "number""#,
        ),
        (
            int(json!({})),
            json!(null),
            r#"Invalid value: "null": spec.x in body must be of type integer: "null""#,
        ),
        (
            text(json!({})),
            json!(true),
            r#"Invalid value: "boolean": spec.x in body must be of type string: "boolean""#,
        ),
        (
            list(json!({})),
            json!({}),
            r#"Invalid value: "object": spec.x in body must be of type array: "object""#,
        ),
        (
            json!({"x-kubernetes-int-or-string": true}),
            json!([]),
            r#"Invalid value: "array": spec.x in body must be of type integer,string: "array""#,
        ),
        (
            text(json!({"pattern": "^a$"})),
            json!("abc"),
            r#"Invalid value: "abc": spec.x in body should match '^a$'"#,
        ),
        (
            text(json!({"pattern": r"^\d$"})),
            json!("x"),
            r#"Invalid value: "x": spec.x in body should match '^\d$'"#,
        ),
        (
            text(json!({"minLength": 1})),
            json!(""),
            r#"Invalid value: "": spec.x in body should be at least 1 chars long"#,
        ),
        (text(json!({"maxLength": 2})), json!("äöü"), "Too long: may not be more than 2 bytes"),
        (
            text(json!({"enum": ["a", "b"]})),
            json!("x"),
            r#"Unsupported value: "x": supported values: "a", "b""#,
        ),
        (
            int(json!({"enum": [1, 2]})),
            json!(3),
            r#"Unsupported value: 3: supported values: "1", "2""#,
        ),
        (
            text(json!({"nullable": true, "enum": ["a"]})),
            json!(null),
            r#"Unsupported value: null: supported values: "a""#,
        ),
        (
            text(json!({"format": "ipv4"})),
            json!("x"),
            r#"Invalid value: "x": spec.x in body must be of type ipv4: "x""#,
        ),
        (
            int(json!({"minimum": 1})),
            json!(0),
            "Invalid value: 0: spec.x in body should be greater than or equal to 1",
        ),
        (
            int(json!({"minimum": 1, "exclusiveMinimum": true})),
            json!(1),
            "Invalid value: 1: spec.x in body should be greater than 1",
        ),
        (
            int(json!({"maximum": 10})),
            json!(11),
            "Invalid value: 11: spec.x in body should be less than or equal to 10",
        ),
        (
            int(json!({"maximum": 10, "exclusiveMaximum": true})),
            json!(10),
            "Invalid value: 10: spec.x in body should be less than 10",
        ),
        (
            int(json!({"multipleOf": 2})),
            json!(3),
            "Invalid value: 3: spec.x in body should be a multiple of 2",
        ),
        (
            list(json!({"minItems": 1})),
            json!([]),
            "Invalid value: 0: spec.x in body should have at least 1 items",
        ),
        (
            list(json!({"maxItems": 2})),
            json!(["a", "b", "c"]),
            "Too many: 3: must have at most 2 items",
        ),
        (
            map(json!({"minProperties": 1})),
            json!({}),
            "Invalid value: 1: spec.x in body should have at least 1 properties",
        ),
        (
            map(json!({"maxProperties": 1})),
            json!({"a": "", "b": ""}),
            "Too many: 2: must have at most 1 items",
        ),
    ];
    for (schema, value, expected) in cases {
        assert_eq!(
            field_errors(schema.clone(), value.clone()),
            [format!("spec.x: {expected}")],
            "{schema} {value}"
        );
    }
}

fn with(mut schema: Value, more: Value) -> Value {
    for (key, value) in more.as_object().expect("a map") {
        schema[key] = value.clone();
    }
    schema
}

#[test]
fn reasons_tell_machines_the_same() {
    let reason = |schema: Value, value: Value| {
        let schema = resource(
            json!({"type": "object", "required": ["y"], "properties": {"x": schema, "y": {"type": "string"}}}),
        );
        schema.validate(&json!({"spec": {"x": value, "y": ""}}), None)[0].problem.reason()
    };
    assert_eq!(reason(json!({"type": "string"}), json!(1)), "FieldValueTypeInvalid");
    assert_eq!(
        reason(json!({"type": "string", "format": "ipv4"}), json!("")),
        "FieldValueTypeInvalid"
    );
    assert_eq!(reason(json!({"type": "string", "maxLength": 1}), json!("ab")), "FieldValueTooLong");
    assert_eq!(
        reason(json!({"type": "array", "items": {"type": "string"}, "maxItems": 0}), json!([""])),
        "FieldValueTooMany"
    );
    assert_eq!(
        reason(json!({"type": "string", "enum": ["a"]}), json!("b")),
        "FieldValueNotSupported"
    );
}

#[test]
fn places_are_named_in_document_order() {
    let schema = json!({"type": "object", "required": ["need"], "properties": {
        "list": {"type": "array", "items": {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "need": {"type": "string"},
    }});
    assert_eq!(
        errors(schema, json!({"list": [{"a": ""}, {}, {"a": 1}], "map": {"k": 1, "l.m": ""}})),
        [
            "spec.need: Required value",
            r#"spec.list[0].a: Invalid value: "string": spec.list[0].a in body must be of type integer: "string""#,
            "spec.list[1].a: Required value",
            r#"spec.map.l.m: Invalid value: "string": spec.map.l.m in body must be of type integer: "string""#,
        ]
    );
}

#[test]
fn the_root_has_no_name() {
    let schema = compiled(&json!({"type": "object", "minProperties": 9}));
    assert_eq!(
        texts(&schema.validate(&json!([]), None)),
        [r#"<nil>: Invalid value: "array":  in body must be of type object: "array""#]
    );
    assert_eq!(
        texts(&schema.validate(&json!({}), None)),
        ["<nil>: Invalid value: 9:  in body should have at least 9 properties"]
    );
}

#[test]
fn metadata_is_checked_without_being_declared() {
    let schema = resource(json!({"type": "object"}));
    let object = json!({"apiVersion": 1, "metadata": {"labels": {"a": 1}, "creationTimestamp": null, "finalizers": ["x", "x"]}});
    assert_eq!(
        texts(&schema.validate(&object, None)),
        [
            r#"apiVersion: Invalid value: "integer": apiVersion in body must be of type string: "integer""#,
            r#"metadata.finalizers[1]: Duplicate value: "x""#,
            r#"metadata.labels.a: Invalid value: "integer": metadata.labels.a in body must be of type string: "integer""#,
        ]
    );
    // What the schema says about the name comes on top.
    let named = compiled(
        &json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}}}}),
    );
    assert_eq!(
        texts(&named.validate(&json!({"metadata": {"name": "long", "uid": "u"}}), None)),
        ["metadata.name: Too long: may not be more than 3 bytes"]
    );
}

#[test]
fn embedded_resources_say_what_they_are() {
    let schema = json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true});
    assert_eq!(
        field_errors(schema.clone(), json!({"kind": "", "metadata": {"name": 1}, "any": 1})),
        [
            "spec.x.apiVersion: Required value: must not be empty",
            "spec.x.kind: Required value: must not be empty",
            r#"spec.x.metadata.name: Invalid value: "integer": spec.x.metadata.name in body must be of type string: "integer""#,
        ]
    );
    assert!(field_errors(schema, json!({"apiVersion": "v1", "kind": "A", "any": 1})).is_empty());
}

#[test]
fn sets_and_keyed_lists_have_no_duplicates() {
    let set =
        json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"});
    assert_eq!(
        field_errors(set, json!(["a", "a", "b", "a"])),
        [r#"spec.x[1]: Duplicate value: "a""#, r#"spec.x[3]: Duplicate value: "a""#]
    );
    let keyed = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
        "items": {"type": "object", "required": ["port"], "properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}}}});
    assert_eq!(
        field_errors(
            keyed,
            json!([{"port": 1}, {"port": 1, "protocol": "UDP"}, {"port": 1, "protocol": "TCP"}])
        ),
        [r#"spec.x[2]: Duplicate value: {"port":1,"protocol":"TCP"}"#]
    );
    let atomic =
        json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"});
    assert!(field_errors(atomic, json!(["a", "a"])).is_empty());
}

#[test]
fn choices_report_against_the_object() {
    let choice = |key: &str, list: Value| json!({"type": "object", key: list, "properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
    let need = json!([{"required": ["a"]}, {"required": ["b"]}]);
    let cases = [
        (
            choice("anyOf", need.clone()),
            json!({}),
            vec![
                r#"<nil>: Invalid value: "": "spec.x" must validate at least one schema (anyOf)"#,
                "spec.x.a: Required value",
            ],
        ),
        (choice("anyOf", need.clone()), json!({"a": "", "b": ""}), vec![]),
        (
            choice("oneOf", need.clone()),
            json!({}),
            vec![
                r#"<nil>: Invalid value: "": "spec.x" must validate one and only one schema (oneOf). Found none valid"#,
                "spec.x.a: Required value",
            ],
        ),
        (choice("oneOf", need.clone()), json!({"a": ""}), vec![]),
        (
            choice("oneOf", need.clone()),
            json!({"a": "", "b": ""}),
            vec![
                r#"<nil>: Invalid value: "": "spec.x" must validate one and only one schema (oneOf). Found 2 valid alternatives"#,
            ],
        ),
        (
            choice("allOf", need.clone()),
            json!({"a": ""}),
            vec![
                "spec.x.b: Required value",
                r#"<nil>: Invalid value: "": "spec.x" must validate all the schemas (allOf)"#,
            ],
        ),
        (
            choice("not", need[0].clone()),
            json!({"a": ""}),
            vec![r#"<nil>: Invalid value: "": "spec.x" must not validate the schema (not)"#],
        ),
        (choice("not", need[0].clone()), json!({}), vec![]),
    ];
    for (schema, value, expected) in cases {
        assert_eq!(field_errors(schema.clone(), value.clone()), expected, "{schema} {value}");
    }
}

#[test]
fn formats_judge_as_upstream_does() {
    let cases: [(&str, &[&str], &[&str]); 14] = [
        ("ipv4", &["1.2.3.4", "::ffff:1.2.3.4"], &["", "1.2.3", "256.1.1.1", "1.2.3.04", "::1"]),
        ("ipv6", &["::1", "fe80::1", "::ffff:1.2.3.4"], &["1.2.3.4", "fe80::1%eth0", ":::"]),
        (
            "cidr",
            &["10.0.0.0/8", "10.1.2.3/8", "::/0", "2001:db8::/128"],
            &["10.0.0.0", "10.0.0.0/33", "::/129", "10.0.0.0/+8", "x/8"],
        ),
        (
            "date",
            &["2024-02-29"],
            &["2023-02-29", "2024-2-29", "2024-13-01", "24-01-01", "2024-01-01T"],
        ),
        (
            "date-time",
            &["2024-02-29T23:59:59Z", "2024-01-01t00:00:00.123+02:00", "2024-01-01T00:00:00z"],
            &[
                "2024-01-01",
                "2024-01-01T24:00:00Z",
                "2024-01-01T00:00:00",
                "2024-01-01 00:00:00Z",
                "2024-01-01T00:00:00.Z",
            ],
        ),
        ("byte", &["YQ==", "YWJj"], &["", "Y", "YQ=", "Y Q="]),
        (
            "uuid",
            &["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"],
            &["", "123e4567-e89b-12d3-a456-42661417400", "g23e4567-e89b-12d3-a456-426614174000"],
        ),
        ("email", &["a@b.c", "A B <a.b@c>"], &["", "a", "@b", "a@", "a b@c", "a@b@c..d"]),
        (
            "hostname",
            &["a", "a-b.example.com", "888.com", "my-host"],
            &["", "-a.com", "a-.com", "a..b", "a_b.com", "a.b"],
        ),
        (
            "uri",
            &["http://a/b", "/x", "mailto:a@b", "urn:x:y"],
            &["", "x/y", "a b", "http://a b/", "http://a/%zz", "1x://y"],
        ),
        (
            "duration",
            &["1h30m", "-1.5s", "0", "3 days", "2 weeks 1 hour", "10ms"],
            &["", "1", "h", "1 parsec", "1h x"],
        ),
        (
            "mac",
            &["00:11:22:33:44:55", "00-11-22-33-44-55", "0011.2233.4455"],
            &["", "00:11:22:33:44", "00:11:22:33:44:5g"],
        ),
        ("password", &["", "x"], &[]),
        ("made-up", &["", "x"], &[]),
    ];
    for (format, good, bad) in cases {
        let schema = resource(
            json!({"type": "object", "properties": {"x": {"type": "string", "format": format}}}),
        );
        for text in good {
            assert_eq!(
                texts(&schema.validate(&json!({"spec": {"x": text}}), None)),
                [""; 0],
                "{format} {text}"
            );
        }
        for text in bad {
            let expected = format!(
                "spec.x: Invalid value: {text:?}: spec.x in body must be of type {format}: {text:?}"
            );
            assert_eq!(
                texts(&schema.validate(&json!({"spec": {"x": text}}), None)),
                [expected],
                "{format} {text}"
            );
        }
    }
}

#[test]
fn numbers_keep_all_their_digits() {
    let int = |more: Value| with(json!({"type": "integer"}), more);
    let fits = |schema: Value, value: Value| field_errors(schema, value).is_empty();
    assert!(fits(int(json!({})), json!(1.0)) && fits(int(json!({})), json!(u64::MAX)));
    assert!(fits(int(json!({"minimum": i64::MAX})), json!(i64::MAX)));
    assert!(!fits(int(json!({"minimum": i64::MAX})), json!(i64::MAX - 1)));
    assert!(fits(json!({"type": "number", "multipleOf": 0.1}), json!(0.3)));
    assert!(!fits(json!({"type": "number", "multipleOf": 0.1}), json!(0.35)));
    assert!(fits(json!({"type": "number", "maximum": 1.5}), json!(1)));
    assert!(fits(json!({"type": "number", "enum": [1]}), json!(1.0)));
    assert_eq!(
        field_errors(int(json!({"format": "int32"})), json!(2_147_483_648_i64)),
        [
            r#"<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.x"#
        ]
    );
    assert!(fits(int(json!({"format": "int32"})), json!(-2_147_483_648_i64)));
    assert!(!fits(int(json!({"format": "int64"})), json!(u64::MAX)));
}

#[test]
fn int_or_string_takes_both() {
    let schema = json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": "^[0-9]+%?$"});
    for (value, count) in
        [(json!(1), 0), (json!("1%"), 0), (json!("x"), 1), (json!(1.5), 1), (json!(true), 1)]
    {
        assert_eq!(field_errors(schema.clone(), value.clone()).len(), count, "{value}");
    }
}

#[test]
fn what_has_not_changed_is_not_complained_about() {
    let schema = resource(json!({"type": "object", "properties": {
        "a": {"type": "string", "maxLength": 1},
        "b": {"type": "string", "maxLength": 1},
        "plain": {"type": "array", "items": {"type": "string", "maxLength": 1}},
        "keyed": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"],
            "items": {"type": "object", "required": ["n"], "properties": {"n": {"type": "string"}, "v": {"type": "string", "maxLength": 1}}}},
    }}));
    let paths = |old: Value, new: Value| {
        let errors = schema.validate(&json!({"spec": new}), Some(&json!({"spec": old})));
        errors.iter().map(|e| e.path.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(paths(json!({"a": "aa", "b": "bb"}), json!({"a": "aa", "b": "bc"})), ["spec.b"]);
    // Elements of a keyed list are recognised wherever they stand …
    assert_eq!(
        paths(
            json!({"keyed": [{"n": "1", "v": "xx"}, {"n": "2", "v": "yy"}]}),
            json!({"keyed": [{"n": "0"}, {"n": "2", "v": "yz"}, {"n": "1", "v": "xx"}]})
        ),
        ["spec.keyed[1].v"]
    );
    // … those of others only when the whole list is as it was.
    assert_eq!(
        paths(json!({"plain": ["aa"], "a": ""}), json!({"plain": ["aa"], "a": "x"})),
        [""; 0]
    );
    assert_eq!(paths(json!({"plain": ["aa"]}), json!({"plain": ["aa", "b"]})), ["spec.plain[0]"]);
}

#[test]
fn bottomless_values_are_refused_not_followed() {
    let mut schema = json!({"type": "object", "properties": {}});
    for _ in 0..90 {
        schema = json!({"type": "object", "properties": {"x": schema}});
    }
    compiled(&schema);
    let definitions =
        [("N".to_owned(), json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/N"}}}))];
    let schema = landbridge_machinery::schema::Schema::from_definitions("N", &definitions.into())
        .expect("schema");
    let mut value = json!({});
    for _ in 0..1000 {
        value = json!({"x": value});
    }
    let errors = schema.type_errors(&value);
    assert_eq!(errors.len(), 1);
    assert!(errors[0].detail.contains("nested deeper than 200"), "{}", errors[0]);
    schema.prune(&mut value);
    schema.apply_defaults(&mut value);
    schema.prune_nulls(&mut value);
}
