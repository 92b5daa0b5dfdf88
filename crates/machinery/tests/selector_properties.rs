//! Selectors against a naive model, and against arbitrary text.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::borrow::Cow;
use std::collections::BTreeMap;

use landbridge_machinery::field::FieldPath;
use landbridge_machinery::selector::{
    FieldSelector, LabelOperator, LabelRequirement, LabelSelector,
};
use proptest::prelude::*;

type Labels = BTreeMap<String, String>;
type Wanted = (String, LabelOperator, Vec<String>);

/// Few keys and values, so that requirements and labels meet often; some are words of the grammar.
fn key() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["in", "notin", "example.com/A_b.c"]).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", "1", "2", "10", "x", "in", "a.b-c_d"]).prop_map(str::to_owned)
}

fn number() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["1", "2", "3", "10"]).prop_map(str::to_owned)
}

fn wanted() -> impl Strategy<Value = Wanted> {
    use LabelOperator as Op;
    let exact = prop::sample::select(vec![Op::Equals, Op::NotEquals]);
    let set = prop::sample::select(vec![Op::In, Op::NotIn]);
    let presence = prop::sample::select(vec![Op::Exists, Op::DoesNotExist]);
    let order = prop::sample::select(vec![Op::GreaterThan, Op::LessThan]);
    prop_oneof![
        (key(), exact, prop::collection::vec(value(), 1)),
        (key(), set, prop::collection::vec(value(), 1..4)),
        (key(), presence, Just(Vec::new())),
        (key(), order, prop::collection::vec(number(), 1)),
    ]
}

fn selector(wanted: &[Wanted]) -> LabelSelector {
    LabelSelector::new(wanted.iter().map(|(key, operator, values)| {
        LabelRequirement::new(key, *operator, values.clone(), &FieldPath::root()).unwrap()
    }))
}

/// What the documentation of Kubernetes says, word for word.
fn model(wanted: &[Wanted], labels: &Labels) -> bool {
    wanted.iter().all(|(key, operator, values)| match (operator, labels.get(key)) {
        (LabelOperator::Equals | LabelOperator::In, Some(value)) => values.contains(value),
        (LabelOperator::NotEquals | LabelOperator::NotIn, Some(value)) => !values.contains(value),
        (LabelOperator::NotEquals | LabelOperator::NotIn | LabelOperator::DoesNotExist, None)
        | (LabelOperator::Exists, Some(_)) => true,
        (LabelOperator::GreaterThan, Some(value)) => {
            value.parse::<i64>().is_ok_and(|value| value > values[0].parse().unwrap())
        }
        (LabelOperator::LessThan, Some(value)) => {
            value.parse::<i64>().is_ok_and(|value| value < values[0].parse().unwrap())
        }
        (LabelOperator::DoesNotExist, Some(_)) | (_, None) => false,
    })
}

/// A field selector as text, with its parts.
fn field_term() -> impl Strategy<Value = (String, bool, String)> {
    ("[a-c]{1,2}(\\.[a-c]{1,2})?", any::<bool>(), "[ab,=\\\\! é]{0,4}")
}

fn escape(value: &str) -> String {
    value.replace('\\', r"\\").replace(',', r"\,").replace('=', r"\=")
}

proptest! {
    // Enough for values on the edge of a comparison to turn up.
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn label_selectors_survive_printing(wanted in prop::collection::vec(wanted(), 0..5)) {
        let selector = selector(&wanted);
        prop_assert_eq!(LabelSelector::parse(&selector.to_string()).unwrap(), selector);
    }

    #[test]
    fn label_selectors_agree_with_the_model(
        wanted in prop::collection::vec(wanted(), 0..4),
        labels in prop::collection::btree_map(key(), value(), 0..4),
    ) {
        let found = selector(&wanted).matches_with(|key| labels.get(key).map(String::as_str));
        prop_assert_eq!(found, model(&wanted, &labels));
        let map = labels.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
        prop_assert_eq!(selector(&wanted).matches(Some(&map)), found);
    }

    #[test]
    fn field_selectors_survive_printing_and_agree_with_the_model(
        terms in prop::collection::vec(field_term(), 0..4),
        fields in prop::collection::btree_map("[a-c]{1,2}(\\.[a-c]{1,2})?", "[ab]{0,2}", 0..4),
    ) {
        let text = terms
            .iter()
            .map(|(field, equals, value)| {
                format!("{field}{}{}", if *equals { "=" } else { "!=" }, escape(value))
            })
            .collect::<Vec<_>>()
            .join(",");
        let selector = FieldSelector::parse(&text).unwrap();
        prop_assert_eq!(selector.requirements().len(), terms.len());
        prop_assert_eq!(&FieldSelector::parse(&selector.to_string()).unwrap(), &selector);

        let look_up = |name: &str| fields.get(name).map(|value| Cow::Borrowed(value.as_str()));
        let model = terms.iter().all(|(field, equals, value)| {
            let is = fields.get(field).map_or("", String::as_str);
            (is == value) == *equals
        });
        prop_assert_eq!(selector.matches_with(look_up), model);
    }

    #[test]
    fn no_text_breaks_the_parsers(text in "\\PC{0,20}", near in "[ab,=!<>() in\\\\é]{0,16}") {
        for text in [text, near] {
            if let Ok(selector) = LabelSelector::parse(&text) {
                prop_assert_eq!(LabelSelector::parse(&selector.to_string()).unwrap(), selector);
            }
            if let Ok(selector) = FieldSelector::parse(&text) {
                prop_assert_eq!(FieldSelector::parse(&selector.to_string()).unwrap(), selector);
            }
        }
    }
}
