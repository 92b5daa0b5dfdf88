//! Values, operators and macros.

use serde_json::{Value, json};

use crate::support::{errors, every_type, hold, object, resource, run, sample};

#[test]
fn values_have_the_types_of_the_schema() {
    hold(&[
        "self.i == 3 && self.i / 2 == 1",
        "self.n == 2.0 && self.n / 4.0 == 0.5",
        "self.n > 1 && self.n < 3",
        "self.either == '50%'",
        "self.when == timestamp('2026-01-02T03:04:05Z')",
        "self.when > self.day",
        "self.when.getFullYear() == 2026",
        "self.long == duration('90m')",
        "self.long < duration('2h')",
        "self.raw == b'hello' && size(self.raw) == 5",
        "type(self.either) == string && type(self.i) == int && type(self.n) == double",
        "type(self.either) == int ? self.either > 0 : self.either.endsWith('%')",
        "self.list.all(string, string != 'z')",
        "self.maybe == null",
        "has(self.s)",
        "!has(self.nested.deep) || self.nested.deep.x == 7",
        "!!self.b && - -self.i == 3 && self.i - -1 == 4",
        "self.map['a.b/c'] == 1",
        "'z' in self.map && !('y' in self.map)",
        "self.parts[1].name == 'two'",
    ]);
}

#[test]
fn fields_with_odd_names_are_escaped() {
    hold(&[
        "self.with__dash__dash == 'd'",
        "self.__namespace__ == 'ns'",
        "self.a__underscores__b == 'u'",
        "self.dotted__dot__name == 'dn'",
        "self.one_two == 'ot'",
    ]);
}

#[test]
fn macros() {
    hold(&[
        "self.list.all(x, x != 'z')",
        "self.list.exists(x, x == 'b')",
        "self.list.exists_one(x, x == 'b')",
        "self.list.map(x, x + '!') == ['a!', 'b!', 'c!']",
        "self.numbers.map(x, x > 1, x * 2) == [6, 4]",
        "self.numbers.filter(x, x > 1) == [3, 2]",
        "self.map.all(k, self.map[k] > 0)",
        "self.parts.all(p, self.parts.exists_one(q, q.name == p.name))",
        "cel.bind(n, size(self.list), n * n == 9)",
        "self.parts.map(p, p.size).sum() == 3",
    ]);
}

#[test]
fn optional_values() {
    hold(&[
        "self.?s.orValue('none') == 'hällo'",
        "self.?nested.?deep.?x.orValue(0) == 7",
        "self.?nested.deep.x.hasValue()",
        "self.map[?'nope'].orValue(5) == 5",
        "self.list[?9].hasValue() == false",
        "self.?s.optMap(t, size(t)).orValue(0) == 5",
        "self.?nested.optFlatMap(t, t.?deep).hasValue()",
    ]);
    let rule = "self.?s.orValue('none') == 'none' && !self.?nested.deep.x.hasValue()";
    assert_eq!(errors(&every_type(rule), &json!({"spec": {}}), None), [""; 0]);
}

#[test]
fn rules_stand_anywhere() {
    let rule = |text: &str| json!([{"rule": text}]);
    let schema = json!({
        "type": "object",
        "x-kubernetes-validations": [
            {"rule": "self.metadata.name.size() < 6"},
            {"rule": "self.kind == 'Thing'"},
        ],
        "properties": {"spec": {"type": "object", "properties": {
            "size": {"type": "integer", "x-kubernetes-validations": rule("self % 2 == 0")},
            "names": {"type": "array", "items": {"type": "string", "x-kubernetes-validations": rule("self.startsWith('x')")}},
            "by": {"type": "object", "additionalProperties": {"type": "integer", "x-kubernetes-validations": rule("self > 0")}},
            "maybe": {"type": "string", "nullable": true, "x-kubernetes-validations": rule("self != ''")},
        }}},
    });
    let good = json!({"kind": "Thing", "metadata": {"name": "short"},
        "spec": {"size": 2, "names": ["x1"], "by": {"k": 1}, "maybe": null}});
    assert_eq!(errors(&schema, &good, None), [""; 0]);
    let bad = json!({"kind": "Thing", "metadata": {"name": "much-longer"},
        "spec": {"size": 3, "names": ["x1", "y"], "by": {"k": 0}, "maybe": ""}});
    assert_eq!(
        errors(&schema, &bad, None),
        [
            r#"<nil>: Invalid value: "object": failed rule: self.metadata.name.size() < 6"#,
            "spec.by[k]: Invalid value: 0: failed rule: self > 0",
            r#"spec.maybe: Invalid value: "": failed rule: self != ''"#,
            r#"spec.names[1]: Invalid value: "y": failed rule: self.startsWith('x')"#,
            "spec.size: Invalid value: 3: failed rule: self % 2 == 0",
        ]
    );
}

#[test]
fn evaluation_errors_name_the_rule() {
    let expected = |why: &str| vec![format!("spec: Invalid value: \"object\": {why}")];
    let empty = json!({"spec": {}});
    for (rule, value, why) in [
        ("self.s == 'x'", &empty, "no such key: s evaluating rule: self.s == 'x'"),
        ("size(self.s) > 1", &empty, "no such key: s evaluating rule: size(self.s) > 1"),
        (
            "self.list[7] == 'x'",
            &sample(),
            "index out of bounds: 7 evaluating rule: self.list[7] == 'x'",
        ),
        (
            "1 / (self.i - 3) == 1",
            &sample(),
            "division by zero evaluating rule: 1 / (self.i - 3) == 1",
        ),
        (
            "self.either > 5",
            &sample(),
            "'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self.either > 5",
        ),
    ] {
        assert_eq!(errors(&every_type(rule), value, None), expected(why), "{rule}");
    }
    // A rule that guards itself has no such trouble.
    assert_eq!(errors(&every_type("!has(self.s) || self.s == 'x'"), &empty, None), [""; 0]);
}

#[test]
fn errors_do_not_hide_answers() {
    let empty = json!({"spec": {}});
    for rule in ["self.i == 1 || true", "true || self.i == 1", "!(self.i == 1 && false)"] {
        assert_eq!(errors(&every_type(rule), &empty, None), [""; 0], "{rule}");
    }
}

#[test]
fn a_schema_without_rules_has_none() {
    let schema = resource(&object(&json!({}), &json!([])));
    assert_eq!(run(&schema, &json!({"spec": Value::Null}), None).errors, []);
}
