//! Rules that do not compile.

use serde_json::{Value, json};

use crate::support::{compile, every_type, object, resource};

fn refusal(rule: &Value) -> Vec<String> {
    let properties = json!({"name": {"type": "string"}, "count": {"type": "integer"}});
    compile(&resource(&object(&properties, &json!([rule])))).map(|_| ()).unwrap_err()
}

#[test]
fn says_where_and_why() {
    let at = "schema.properties[spec].x-kubernetes-validations[0]";
    for (rule, field, why) in [
        (json!({"rule": "self.name =="}), "rule", "compilation failed: ERROR: <input>:1:13: "),
        (
            json!({"rule": "self.nmae == 'x'"}),
            "rule",
            "compilation failed: ERROR: <input>:1:5: undefined field 'nmae'\n | self.nmae == 'x'\n | ....^",
        ),
        (
            json!({"rule": "self.name.first == 'x'"}),
            "rule",
            "type 'string' does not support field selection",
        ),
        (
            json!({"rule": "other.name == 'x'"}),
            "rule",
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'other' (in container '')",
        ),
        (
            json!({"rule": "self.name.frobnicate()"}),
            "rule",
            "undeclared reference to 'frobnicate' (in container '')",
        ),
        (json!({"rule": "nope.frobnicate(self.name)"}), "rule", "undeclared reference to 'nope'"),
        (
            json!({"rule": "self.count == 'x'"}),
            "rule",
            "found no matching overload for '_==_' applied to '(int, string)'",
        ),
        (json!({"rule": "self.name > self.count"}), "rule", "'_>_' applied to '(string, int)'"),
        (json!({"rule": "self.name && true"}), "rule", "'_&&_' applied to '(string)'"),
        (json!({"rule": "self.count"}), "rule", "cel expression must evaluate to a bool"),
        (json!({"rule": "self.name + 'x'"}), "rule", "cel expression must evaluate to a bool"),
        (json!({"rule": "self.count.all(x, true)"}), "rule", "cannot be range of a comprehension"),
        (json!({"rule": "Thing{a: 1} == self"}), "rule", "undeclared reference to 'Thing'"),
        (json!({"rule": " "}), "rule", "Required value: rule is not specified"),
        (
            json!({"rule": "true", "message": " "}),
            "message",
            "message must be non-empty if specified",
        ),
        (
            json!({"rule": "true", "message": "a\nb"}),
            "message",
            "message must not contain line breaks",
        ),
        (
            json!({"rule": "true &&\ntrue"}),
            "message",
            "message must be specified if rule contains line breaks",
        ),
        (
            json!({"rule": "true", "messageExpression": "self.count"}),
            "messageExpression",
            "messageExpression must evaluate to a string",
        ),
        (
            json!({"rule": "true", "messageExpression": "self.nope"}),
            "messageExpression",
            "messageExpression compilation failed: ERROR: <input>:1:5: undefined field 'nope'",
        ),
        (
            json!({"rule": "true", "reason": "Other"}),
            "reason",
            "Unsupported value: \"Other\": supported values: \"FieldValueDuplicate\"",
        ),
        (
            json!({"rule": "true", "fieldPath": ".nope"}),
            "fieldPath",
            "fieldPath must be a valid path: does not refer to a valid field",
        ),
        (
            json!({"rule": "true", "fieldPath": "name"}),
            "fieldPath",
            "expected [ or . but got: name",
        ),
        (
            json!({"rule": "true", "optionalOldSelf": true}),
            "optionalOldSelf",
            "may not be set if oldSelf is not used in rule",
        ),
    ] {
        let found = refusal(&rule);
        assert_eq!(found.len(), 1, "{rule}: {found:?}");
        let start = format!("{at}.{field}: ");
        assert!(found[0].starts_with(&start), "{rule}: {}", found[0]);
        assert!(found[0].contains(why), "{rule}: {}", found[0]);
    }
}

/// What upstream has and we do not: refused when it is written, not when it runs.
#[test]
fn what_is_not_there_yet() {
    for rule in [
        "self.list.sortBy(x, x) == self.list",
        "self.list.all(i, v, v != '')",
        "self.list.transformList(i, v, v + '!').size() > 0",
        "self.map.transformMap(k, v, v + 1).size() > 0",
    ] {
        let errors = compile(&every_type(rule)).unwrap_err();
        assert!(errors[0].contains("undeclared reference to"), "{rule}: {errors:?}");
    }
}

#[test]
fn metadata_is_its_names_only() {
    let rule = |text: &str| json!({"type": "object", "x-kubernetes-validations": [{"rule": text}]});
    assert!(compile(&rule("self.metadata.name != self.apiVersion")).is_ok());
    let errors = compile(&rule("has(self.metadata.labels)")).unwrap_err();
    assert!(errors[0].contains("undefined field 'labels'"), "{errors:?}");
}

#[test]
fn names_must_be_escaped() {
    for rule in ["self.namespace == 'x'", "has(self.__dash__)", "self.a__b == 'x'"] {
        let errors = compile(&every_type(rule)).unwrap_err();
        assert!(errors[0].contains("compilation failed"), "{rule}: {errors:?}");
    }
}

#[test]
fn every_error_is_returned() {
    let wrong = json!([{"rule": "self.nope == 1"}, {"rule": "true"}, {"rule": "(("}]);
    let schema = json!({"type": "object", "x-kubernetes-validations": wrong, "properties": {
        "spec": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string", "x-kubernetes-validations": wrong}}},
    }});
    let errors = compile(&schema).unwrap_err();
    assert_eq!(errors.len(), 4, "{errors:#?}");
    assert!(errors[0].starts_with("schema.x-kubernetes-validations[0].rule: "), "{errors:#?}");
    let deep =
        "schema.properties[spec].additionalProperties.items.x-kubernetes-validations[2].rule: ";
    assert!(errors[3].starts_with(deep), "{errors:#?}");
}
