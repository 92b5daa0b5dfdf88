//! Rules about changes, and rules about what did not change.

use serde_json::{Value, json};

use crate::support::{compile, errors, object, resource, run};

fn immutable() -> Value {
    json!([{"rule": "self == oldSelf", "message": "immutable"}])
}

#[test]
fn old_values_are_found_by_key() {
    let frozen = json!({"type": "string", "x-kubernetes-validations": immutable()});
    let element = json!({"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "value": frozen}});
    let schema = resource(&object(
        &json!({
            "plain": frozen,
            "map": {"type": "object", "additionalProperties": frozen},
            "keyed": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": element},
        }),
        &json!([]),
    ));
    let old = json!({"spec": {"plain": "a", "map": {"k": "a"}, "keyed": [{"name": "x", "value": "a"}, {"name": "y", "value": "b"}]}});
    for (new, expected) in [
        (old["spec"].clone(), vec![]),
        (json!({"plain": "b"}), vec![r#"spec.plain: Invalid value: "b": immutable"#]),
        (json!({"map": {"k": "b"}}), vec![r#"spec.map[k]: Invalid value: "b": immutable"#]),
        // New keys have no old value.
        (json!({"map": {"other": "b"}, "keyed": [{"name": "z", "value": "c"}]}), vec![]),
        // Elements may move.
        (json!({"keyed": [{"name": "y", "value": "b"}, {"name": "x", "value": "a"}]}), vec![]),
        (
            json!({"keyed": [{"name": "y", "value": "c"}, {"name": "x", "value": "a"}]}),
            vec![r#"spec.keyed[0].value: Invalid value: "c": immutable"#],
        ),
        // Absent now: nothing to judge. A rule that wants the field kept stands further up.
        (json!({}), vec![]),
    ] {
        assert_eq!(errors(&schema, &json!({"spec": new}), Some(&old)), expected, "{new}");
    }
    assert_eq!(errors(&schema, &old, None), [""; 0], "created");
}

#[test]
fn transition_rules_need_an_old_value() {
    let rules = json!([{"rule": "!has(oldSelf.size) || has(self.size)", "message": "size stays"}]);
    let schema = resource(&object(&json!({"size": {"type": "integer"}}), &rules));
    let (with, without) = (json!({"spec": {"size": 1}}), json!({"spec": {}}));
    assert_eq!(errors(&schema, &without, None), [""; 0]);
    assert_eq!(errors(&schema, &without, Some(&json!({}))), [""; 0], "no spec before");
    assert_eq!(errors(&schema, &with, Some(&without)), [""; 0]);
    let refused = [r#"spec: Invalid value: "object": size stays"#];
    assert_eq!(errors(&schema, &without, Some(&with)), refused);
}

#[test]
fn optional_old_self() {
    let rule = |text: &str| {
        let rules = json!([{"rule": text, "optionalOldSelf": true, "message": "no"}]);
        resource(&json!({"type": "integer", "x-kubernetes-validations": rules}))
    };
    let grows = rule("!oldSelf.hasValue() || self > oldSelf.value()");
    let born = rule("oldSelf.orValue(0) < self && self < 10");
    let mapped = rule("oldSelf.optMap(o, self == o + 1).orValue(self == 1)");
    let at = |n: i64| json!({"spec": n});
    let no = |n: i64| vec![format!("spec: Invalid value: {n}: no")];
    assert_eq!(errors(&grows, &at(1), None), [""; 0]);
    assert_eq!(errors(&grows, &at(2), Some(&at(1))), [""; 0]);
    assert_eq!(errors(&grows, &at(1), Some(&at(2))), no(1));
    assert_eq!(errors(&born, &at(10), None), no(10));
    assert_eq!(errors(&mapped, &at(1), None), [""; 0]);
    assert_eq!(errors(&mapped, &at(3), Some(&at(2))), [""; 0]);
    assert_eq!(errors(&mapped, &at(3), Some(&at(1))), no(3));
}

#[test]
fn lists_without_keys_have_no_old_elements() {
    for list_type in ["atomic", "set"] {
        let schema = resource(&json!({
            "type": "array", "x-kubernetes-list-type": list_type,
            "items": {"type": "string", "x-kubernetes-validations": immutable()},
        }));
        let errors = compile(&schema).unwrap_err();
        let expected = "schema.properties[spec].items.x-kubernetes-validations[0].rule: Invalid value: \"self == oldSelf\": oldSelf cannot be used on the uncorrelatable portion of the schema within schema.properties[spec]";
        assert_eq!(errors, [expected], "{list_type}");
    }
    // The list as a whole has one.
    let mut schema = resource(&json!({"type": "array", "items": {"type": "string"}}));
    schema["properties"]["spec"]["x-kubernetes-validations"] = immutable();
    let (a, b) = (json!({"spec": ["a"]}), json!({"spec": ["b"]}));
    let refused = [r#"spec: Invalid value: "array": immutable"#];
    assert_eq!(errors(&schema, &b, Some(&a)), refused);
}

#[test]
fn unchanged_values_only_warn() {
    let rule = json!([{"rule": "self > 10", "message": "too small"}]);
    let number = json!({"type": "integer", "x-kubernetes-validations": rule});
    let schema = resource(&object(
        &json!({"a": number, "b": {"type": "integer"}, "list": {"type": "array", "items": number}}),
        &json!([{"rule": "!has(self.a) || self.a > 20", "message": "whole"}]),
    ));
    let old = json!({"spec": {"a": 1, "b": 1, "list": [1, 2]}});
    let found = run(&schema, &old, Some(&old));
    assert_eq!(found.errors, []);
    assert_eq!(
        found.warnings,
        [
            r#"spec: Invalid value: "object": whole"#,
            "spec.a: Invalid value: 1: too small",
            "spec.list[0]: Invalid value: 1: too small",
            "spec.list[1]: Invalid value: 2: too small",
        ]
    );
    // Another field changed: the rule over both is judged again, the one on the field is not.
    let found = run(&schema, &json!({"spec": {"a": 1, "b": 2}}), Some(&old));
    assert_eq!(found.errors.len(), 1, "{found:?}");
    assert_eq!(found.errors[0].to_string(), r#"spec: Invalid value: "object": whole"#);
    assert_eq!(found.warnings, ["spec.a: Invalid value: 1: too small"]);
    // Elements of a plain list stand or fall together.
    let found = run(&schema, &json!({"spec": {"list": [1]}}), Some(&old));
    assert_eq!(found.errors.len(), 1, "{found:?}");
    assert_eq!(found.warnings, [""; 0]);
}

#[test]
fn transition_rules_are_never_waived() {
    let rules = json!([{"rule": "self > oldSelf", "message": "must grow"}]);
    let schema = resource(&json!({"type": "integer", "x-kubernetes-validations": rules}));
    let one = json!({"spec": 1});
    assert_eq!(errors(&schema, &one, Some(&one)), ["spec: Invalid value: 1: must grow"]);
}
