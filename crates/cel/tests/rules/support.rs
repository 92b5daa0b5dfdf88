//! A schema with one rule on its spec, and what comes out.

use std::sync::Arc;

use landbridge_cel::{CompiledRules, Findings};
use landbridge_machinery::field::FieldPath;
use landbridge_machinery::schema::Schema;
use serde_json::{Value, json};

/// A resource whose `spec` has this schema.
pub fn resource(spec: &Value) -> Value {
    json!({"type": "object", "properties": {"spec": spec}})
}

/// An object schema with these properties and rules.
pub fn object(properties: &Value, rules: &Value) -> Value {
    json!({"type": "object", "properties": properties, "x-kubernetes-validations": rules})
}

/// Compiles the rules of a whole schema.
pub fn compile(schema: &Value) -> Result<Option<CompiledRules>, Vec<String>> {
    let path = FieldPath::new("schema");
    let texts = |errors: Vec<_>| errors.iter().map(ToString::to_string).collect::<Vec<_>>();
    let schema = Schema::structural(schema, &path).map_err(texts)?;
    CompiledRules::compile(&Arc::new(schema), &path).map_err(texts)
}

/// Runs the rules of a schema that is known to be sound.
pub fn run(schema: &Value, new: &Value, old: Option<&Value>) -> Findings {
    let rules = compile(schema).unwrap_or_else(|errors| panic!("{schema}: {errors:?}"));
    rules.map(|rules| rules.validate(new, old)).unwrap_or_default()
}

/// The errors as texts.
pub fn errors(schema: &Value, new: &Value, old: Option<&Value>) -> Vec<String> {
    run(schema, new, old).errors.iter().map(ToString::to_string).collect()
}

/// A schema with one field of every type, and one rule.
pub fn every_type(rule: &str) -> Value {
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let properties = json!({
        "i": {"type": "integer"}, "n": {"type": "number"}, "s": {"type": "string"}, "b": {"type": "boolean"},
        "either": {"x-kubernetes-int-or-string": true},
        "when": {"type": "string", "format": "date-time"}, "day": {"type": "string", "format": "date"},
        "long": {"type": "string", "format": "duration"}, "raw": {"type": "string", "format": "byte"},
        "list": texts, "numbers": {"type": "array", "items": {"type": "integer"}},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "nested": {"type": "object", "properties": {"deep": {"type": "object", "properties": {"x": {"type": "integer"}}}}},
        "parts": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}},
        "maybe": {"type": "string", "nullable": true},
        "with-dash": {"type": "string"}, "namespace": {"type": "string"}, "a__b": {"type": "string"},
        "dotted.name": {"type": "string"}, "one_two": {"type": "string"},
    });
    resource(&object(&properties, &json!([{"rule": rule}])))
}

/// What is stored under `spec` in most tests.
pub fn sample() -> Value {
    json!({"spec": {
        "i": 3, "n": 2, "s": "hällo", "b": true, "either": "50%",
        "when": "2026-01-02T03:04:05Z", "day": "2026-01-02", "long": "1h30m", "raw": "aGVsbG8=",
        "list": ["a", "b", "c"], "numbers": [3, 1, 2], "map": {"a.b/c": 1, "z": 2},
        "nested": {"deep": {"x": 7}},
        "parts": [{"name": "one", "size": 1}, {"name": "two", "size": 2}],
        "maybe": null, "with-dash": "d", "namespace": "ns", "a__b": "u", "dotted.name": "dn", "one_two": "ot",
    }})
}

/// Asserts that each rule holds for the sample and its negation does not.
pub fn hold(rules: &[&str]) {
    for rule in rules {
        assert_eq!(errors(&every_type(rule), &sample(), None), [""; 0], "{rule}");
        let not = format!("!({rule})");
        let expected = format!("spec: Invalid value: \"object\": failed rule: {not}");
        assert_eq!(errors(&every_type(&not), &sample(), None), [expected], "{not}");
    }
}
