//! Random plans that fit, and random mistakes in them.

use landbridge_plan::sample::{KINDS, Scale, consistent, consistent_of, label, make, mutate};
use proptest::prelude::*;
use serde_json::Value;

use crate::support::report;

/// Whether a finding has the code and names all of the objects.
fn is_found(objects: &[Value], code: &str, named: &[String]) -> bool {
    report(objects).findings.iter().any(|finding| {
        let subjects = &finding.subjects;
        finding.code == code
            && named
                .iter()
                .all(|name| subjects.iter().any(|subject| label(&objects[subject.source]) == *name))
    })
}

fn codes(objects: &[Value]) -> Vec<String> {
    let findings = report(objects).findings;
    findings.iter().map(|finding| format!("{} {}", finding.code, finding.message)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn plans_that_fit_are_left_alone(seed in any::<u64>()) {
        prop_assert_eq!(codes(&consistent(seed)), Vec::<String>::new());
    }

    #[test]
    fn the_order_of_objects_does_not_matter(seed in any::<u64>(), turn in any::<prop::sample::Index>()) {
        let mut objects = consistent(seed);
        let at = turn.index(objects.len());
        objects.rotate_left(at);
        prop_assert_eq!(codes(&objects), Vec::<String>::new());
        objects.reverse();
        prop_assert_eq!(codes(&objects), Vec::<String>::new());
    }

    #[test]
    fn mistakes_are_found(seed in any::<u64>(), which in any::<u64>()) {
        let mut objects = consistent(seed);
        let expected = mutate(which, &mut objects);
        if let Some(expected) = expected {
            prop_assert!(
                is_found(&objects, expected.code, &expected.objects),
                "{:?} not among {:#?}", expected, codes(&objects)
            );
        }
    }

    /// Whatever is done to a value, there is an answer.
    #[test]
    fn nothing_panics(seed in any::<u64>(), cuts in prop::collection::vec((any::<prop::sample::Index>(), 0..6_usize), 1..20)) {
        let mut objects = consistent(seed);
        for (at, with) in cuts {
            let at = at.get(&objects).clone();
            let mut paths = Vec::new();
            pointers(&at, String::new(), &mut paths);
            let position = objects.iter().position(|object| *object == at).unwrap();
            let pointer = &paths[usize::try_from(seed % paths.len() as u64).unwrap()];
            let junk = [Value::Null, 7.into(), "x".into(), Value::Array(vec![]), (-1).into(), serde_json::json!({"a": [null, {}]})];
            *objects[position].pointer_mut(pointer).unwrap() = junk[with].clone();
        }
        let _ = report(&objects).plan.to_string();
    }
}

fn pointers(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                pointers(value, format!("{at}/{}", key.replace('/', "~1")), found);
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                pointers(value, format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
    found.push(at);
}

#[test]
fn every_kind_of_mistake_is_found_wherever_it_is_made() {
    for (kind, (name, _)) in KINDS.iter().enumerate() {
        let mut made = 0;
        for seed in 0..40 {
            let mut objects = consistent(seed);
            let Some(expected) = make(kind, seed, &mut objects) else { continue };
            made += 1;
            assert!(
                is_found(&objects, expected.code, &expected.objects),
                "{name}, plan {seed}: {expected:?} not among {:#?}",
                codes(&objects)
            );
        }
        assert!(made >= 5, "{name} was made only {made} times");
    }
}

#[test]
fn large_plans_fit_as_well() {
    let scale = Scale { namespaces: 5, networks: 20, nodes: 20, computes: 60 };
    assert_eq!(codes(&consistent_of(1, scale)), Vec::<String>::new());
}
