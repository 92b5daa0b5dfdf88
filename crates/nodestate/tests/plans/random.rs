//! Random wishes, one after the other: each plan reaches its goal and is done then, and the way back
//! leads back.

use landbridge_nodestate::plan::difference;
use proptest::prelude::*;
use serde_json::Value;

use crate::model::{assert_alike, reached, run};
use crate::wishes::wish;
use crate::{ALL, FEW, plan, worker};

fn walk(wishes: &[Value], can: landbridge_nodestate::plan::Abilities) -> usize {
    let mut now = worker();
    let mut taken = 0;
    for desired in wishes {
        // What is refused is refused as a whole, before anything is done.
        let Ok(found) = plan(desired, &now, can) else { continue };
        let after = reached(desired, &now, can);
        let again = plan(desired, &after, can).unwrap();
        assert!(again.steps.is_empty(), "{desired}\nafter\n{found}\nstill\n{again}");
        let back = difference(&after, &now);
        let text: Vec<String> = back.iter().map(ToString::to_string).collect();
        assert_alike(
            &run(&back, &after, can),
            &now,
            &format!("{found}\nback\n{}", text.join("\n")),
        );
        now = after;
        taken += usize::from(!found.is_empty());
    }
    taken
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_plan_reaches_its_goal(wishes in proptest::collection::vec(wish(), 1..8), few: bool) {
        walk(&wishes, if few { FEW } else { ALL });
    }

    /// Nothing a person or a program writes makes the reader panic.
    #[test]
    fn rubbish_is_refused(text in "\\PC*", number: i64) {
        for value in [
            Value::String(text.clone()),
            serde_json::json!({ "interfaces": [{ "name": text, "type": text, "mtu": number }] }),
            serde_json::json!({ "interfaces": [{ "name": "x", "type": "vlan", "vlan": { "id": number, "base-iface": text } }] }),
            serde_json::json!({ "routes": { "config": [{ "destination": text, "metric": number, "table-id": number }] } }),
            serde_json::json!({ &text: text }),
        ] {
            let _ = plan(&value, &worker(), ALL);
        }
    }
}

/// The generator is worth something: most walks do something, and every kind of step occurs.
#[test]
fn the_walks_are_no_idle_ones() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut kinds = std::collections::BTreeSet::new();
    let mut taken = 0;
    for _ in 0..400 {
        let wishes = proptest::collection::vec(wish(), 6).new_tree(&mut runner).unwrap().current();
        taken += walk(&wishes, ALL);
        let mut now = worker();
        for desired in &wishes {
            let Ok(found) = plan(desired, &now, ALL) else { continue };
            for step in &found.steps {
                let text = format!("{step:?}");
                kinds.insert(text.split([' ', '(']).next().unwrap().to_owned());
            }
            now = reached(desired, &now, ALL);
        }
    }
    assert!(taken > 800, "{taken} of 2400 wishes did anything");
    let expected = [
        "AddAddress",
        "AddRoute",
        "AddRule",
        "Attach",
        "CreateLink",
        "DeleteAddress",
        "DeleteLink",
        "DeleteRoute",
        "DeleteRule",
        "Describe",
        "Detach",
        "Down",
        "Mac",
        "Mtu",
        "Options",
        "PortOptions",
        "PortVlans",
        "Promiscuous",
        "Resolver",
        "Set",
        "StartDhcp",
        "StopDhcp",
        "Up",
    ];
    let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
    assert_eq!(kinds, expected);
}
