//! Hostile rules and odd values: nothing panics, nothing hangs.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{compile, errors, every_type, resource, run, sample};

/// Generous: the machine may be busy, and tests are not optimised.
const SOON: Duration = Duration::from_mins(1);

#[test]
fn loops_end() {
    let many: Vec<String> = (0..3000).map(|n| format!("item-{n}")).collect();
    let value = json!({"spec": {"list": many, "s": "x".repeat(200_000), "numbers": [1, 2]}});
    for rule in [
        "self.list.all(a, self.list.all(b, self.list.all(c, a != b + c)))",
        "self.list.map(a, self.list.map(b, a + b)).size() > 0",
        "self.list.map(a, self.s).size() > 0",
        "self.list.all(a, self.list.all(b, self.list != [a]))",
        "self.list.all(a, self.s.replace('x', self.s) != a)",
    ] {
        let start = Instant::now();
        let found = errors(&every_type(rule), &value, None);
        assert_eq!(found.len(), 1, "{rule}: {found:?}");
        let refused = found[0].contains("cost budget") || found[0].contains("the result is longer");
        assert!(refused, "{rule}: {found:?}");
        assert!(start.elapsed() < SOON, "{rule}: {:?}", start.elapsed());
    }
}

#[test]
fn ordinary_work_is_affordable() {
    let many: Vec<String> = (0..800).map(|n| format!("item-{n}")).collect();
    let value = json!({"spec": {"list": many}});
    let rule = "self.list.all(a, self.list.exists_one(b, a == b))";
    assert_eq!(errors(&every_type(rule), &value, None), [""; 0]);
    let rule = "self.list.map(a, a + '!').filter(a, a.startsWith('item')).size() == 800";
    assert_eq!(errors(&every_type(rule), &value, None), [""; 0]);
}

#[test]
fn texts_cannot_grow_without_end() {
    let double = (0..40)
        .fold("self.s".to_owned(), |inner, n| format!("cel.bind(v{n}, {inner}, v{n} + v{n})"));
    let rule = format!("size({double}) > 0");
    refuses_growth(&rule);
    let double = (0..30).fold("[self.s]".to_owned(), |inner, _| format!("{inner}.map(x, x + x)"));
    refuses_growth(&format!("{double}.size() > 0"));
}

/// Either the rule is too deep to be accepted, or what it makes becomes too long.
fn refuses_growth(rule: &str) {
    let schema = every_type(rule);
    let found = compile(&schema).err().unwrap_or_else(|| errors(&schema, &sample(), None));
    let refused = found[0].contains("recursion limit") || found[0].contains("the result is longer");
    assert!(refused, "{found:?}");
}

#[test]
fn deep_rules_are_refused() {
    for rule in [
        format!("{}true{}", "(".repeat(2000), ")".repeat(2000)),
        format!("{}true", "!".repeat(9000)),
        format!("{}true{}", "!!(".repeat(40), ")".repeat(40)),
        format!("1{} > 0", " + 1".repeat(2400)),
        format!("{}1{} == 1", "[".repeat(3000), "]".repeat(3000)),
        format!("self{} == 1", ".a".repeat(4000)),
        format!("true{}", " ? true : true".repeat(600)),
        "x".repeat(20_000),
    ] {
        match compile(&every_type(&rule)) {
            Err(errors) => assert!(errors[0].contains("compilation failed"), "{errors:?}"),
            // Parentheses and double negations leave nothing behind.
            Ok(_) => assert_eq!(errors(&every_type(&rule), &sample(), None), [""; 0]),
        }
    }
    // As deep as goes without a stack of its own, on one smaller than a server's.
    let rule = format!("1{} > 0", " + 1".repeat(6));
    let small = std::thread::Builder::new().stack_size(1 << 20);
    let work = move || errors(&every_type(&rule), &sample(), None);
    assert_eq!(small.spawn(work).unwrap().join().unwrap(), [""; 0]);
    // As deep as may be.
    let rule = format!("1{} > 0", " + 1".repeat(90));
    assert_eq!(errors(&every_type(&rule), &sample(), None), [""; 0]);
    let rule = format!("true{}", " && true".repeat(500));
    assert_eq!(errors(&every_type(&rule), &sample(), None), [""; 0]);
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        Just(json!("1h")),
        Just(json!("2026-01-02T03:04:05Z")),
    ];
    let names = "(i|n|s|b|list|map|parts|nested|deep|x|name|with-dash|[a-z]{1,3})";
    leaf.prop_recursive(4, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(names, inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

const RULES: [&str; 12] = [
    "self.i / self.numbers[0] > 0",
    "self.list.all(x, x.matches(self.s))",
    "self.parts.exists(p, p.size > size(p.name))",
    "self.map.all(k, self.map[k] % 2 == 0)",
    "self.?nested.deep.x.orValue(1) == 1",
    "self.when + self.long > timestamp('2026-01-01T00:00:00Z')",
    "quantity(self.s).isLessThan(quantity('1Gi')) || isIP(self.s)",
    "self.s.substring(self.i, 3).split('') != self.list",
    "self.numbers.sum() + self.numbers.max() - self.i * self.i < 0",
    "'%d %s %f %x'.format([self.i, self.list, self.n, self.either]) != self.s",
    "self == oldSelf || self.i > oldSelf.i",
    "self.list[self.i] == string(self.raw) || int(self.s) == self.i",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever comes in, also what the schema would have refused.
    #[test]
    fn values_never_panic(new in values(), old in values(), rule in prop::sample::select(&RULES[..])) {
        let (new, old) = (json!({"spec": new}), json!({"spec": old}));
        let found = run(&every_type(rule), &new, Some(&old));
        for error in found.errors {
            prop_assert!(!error.detail.contains("internal error"), "{rule} {new}: {error}");
        }
    }

    /// Whatever is written as a rule.
    #[test]
    fn rules_never_panic(rule in "[a-z0-9(){}\\[\\].,?:'\" +*/!=<>&|-]{0,40}|\\PC{0,20}") {
        let schema = resource(&json!({"type": "string", "x-kubernetes-validations": [{"rule": rule, "message": "m"}]}));
        if let Ok(Some(rules)) = compile(&schema) {
            rules.validate(&json!({"spec": "x"}), None);
        } else {
            let errors = compile(&schema).map(|_| ()).err().unwrap_or_default();
            prop_assert!(!errors.iter().any(|e| e.contains("the compiler gave up")), "{errors:?}");
        }
    }
}
