//! What holds for all objects and configurations.

use landbridge_machinery::apply::{Comparison, FieldSet, PathElement};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::bench::{Bench, with_spec};

fn text() -> impl Strategy<Value = Value> {
    "[ab]".prop_map(Value::from)
}

fn names() -> impl Strategy<Value = Vec<String>> {
    prop::collection::btree_set("[a-d]", 0..4)
        .prop_map(|names| names.into_iter().collect::<Vec<_>>())
        .prop_shuffle()
}

fn names_value() -> impl Strategy<Value = Value> {
    names().prop_map(Value::from)
}

fn list() -> impl Strategy<Value = Value> {
    let inner = (prop::option::of(0..3), prop::option::of(names_value()));
    (names(), prop::collection::vec(inner, 4)).prop_map(|(names, inner)| {
        let item = |(name, (value, values)): (String, (Option<i32>, Option<Value>))| {
            let mut item = json!({"name": name});
            if let Some(value) = value {
                item["value"] = json!(value);
            }
            if let Some(values) = values {
                item["values"] = values;
            }
            item
        };
        names.into_iter().zip(inner).map(item).collect()
    })
}

fn free() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![(0..3).prop_map(Value::from), names_value(), Just(Value::Null)];
    leaf.prop_recursive(3, 12, 3, |inner| map("[xyz]", inner))
}

fn map(keys: &'static str, inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::btree_map(keys, inner, 0..3)
        .prop_map(|map| Value::Object(map.into_iter().collect::<Map<_, _>>()))
}

/// A spec that fits the schema.
fn spec() -> impl Strategy<Value = Value> {
    let field = |name: &'static str, value: BoxedStrategy<Value>| {
        prop::option::weighted(0.6, value).prop_map(move |value| value.map(|v| (name, v)))
    };
    let fields = vec![
        field("replicas", (0..3).prop_map(Value::from).boxed()).boxed(),
        field("name", text().boxed()).boxed(),
        field("list", list().boxed()).boxed(),
        field("set", names_value().boxed()).boxed(),
        field("atomic", names_value().boxed()).boxed(),
        field("selector", map("[ab]", text()).boxed()).boxed(),
        field("tags", map("[a-c]", text()).boxed()).boxed(),
        field("nested", map("inner", map("[ab]", text())).boxed()).boxed(),
        field("free", map("[xyz]", free()).boxed()).boxed(),
    ];
    fields.prop_map(|fields| {
        let map: Map<String, Value> =
            fields.into_iter().flatten().map(|(name, value)| (name.to_owned(), value)).collect();
        Value::Object(map)
    })
}

#[derive(Clone, Debug)]
struct Step {
    manager: usize,
    apply: bool,
    spec: Value,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0..3usize, any::<bool>(), spec()).prop_map(|(manager, apply, spec)| Step {
        manager,
        apply,
        spec,
    });
    prop::collection::vec(step, 1..5)
}

fn run(steps: &[Step]) -> Bench {
    let mut b = Bench::new();
    for step in steps {
        let manager = format!("m{}", step.manager);
        if step.apply {
            b.force(&manager, step.spec.clone());
        } else {
            b.update(&manager, step.spec.clone());
        }
    }
    b
}

/// Whether the merge kept all of a configuration: every field of it has the value it asked for.
fn contains(b: &Bench, config: &Value) -> bool {
    let (live, wanted) = (b.object(), with_spec(config.clone()));
    let change = Comparison::of(&b.schema, &wanted, live);
    let kept = change.removed.is_empty();
    // A map that was `null` or empty may have been filled by others.
    let changed = change.modified.intersection(&FieldSet::of(&b.schema, &wanted).leaves());
    kept && changed.paths().iter().all(|path| is_void(&wanted, &path.0))
}

fn is_void(value: &Value, path: &[PathElement]) -> bool {
    match path {
        [] => value.is_null() || value.as_object().is_some_and(Map::is_empty),
        [PathElement::Field(name), rest @ ..] => is_void(&value[name], rest),
        _ => false,
    }
}

/// Every path of a set, as long as it is one the value holds or a container in it.
fn exists(b: &Bench) -> Result<(), String> {
    let all = Comparison::of(&b.schema, &json!({}), b.object()).added;
    let all = all.union(&FieldSet::of(&b.schema, b.object()));
    for entry in b.managed().entries {
        let phantom = entry.fields.difference(&all);
        if !phantom.is_empty() {
            return Err(format!("{} owns {phantom}", entry.owner.manager));
        }
        if entry.fields.is_empty() {
            return Err(format!("{} owns nothing", entry.owner.manager));
        }
    }
    Ok(())
}

fn element() -> impl Strategy<Value = PathElement> {
    let scalar = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        ".{0,3}".prop_map(Value::from),
    ];
    prop_oneof![
        ".{0,3}".prop_map(PathElement::Field),
        prop::collection::btree_map("[a-c]", scalar.clone(), 1..3)
            .prop_map(|map| PathElement::key(map.into_iter().collect())),
        scalar.prop_map(PathElement::Value),
        any::<i64>().prop_map(PathElement::Index),
    ]
}

fn field_set() -> impl Strategy<Value = FieldSet> {
    let path = prop::collection::vec(element(), 1..4);
    prop::collection::vec(path, 0..6).prop_map(|paths| {
        let mut set = FieldSet::new();
        for path in &paths {
            set.insert(path);
        }
        set
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn fields_v1_comes_back(set in field_set()) {
        prop_assert_eq!(FieldSet::from_json(&set.to_json()), Ok(set));
    }

    #[test]
    fn sets_obey_set_algebra(a in field_set(), b in field_set()) {
        let both = a.intersection(&b);
        prop_assert_eq!(a.difference(&b).union(&both), a.clone());
        prop_assert_eq!(a.difference(&a.difference(&b)), both);
        prop_assert_eq!(a.union(&b), b.union(&a));
        let paths = a.paths().into_iter().filter(|path| !b.has(&path.0)).collect();
        prop_assert_eq!(a.difference(&b), paths);
    }

    #[test]
    fn any_json_is_read_without_harm(json in free(), steps in steps()) {
        let mut b = run(&steps);
        let mut live = b.object().clone();
        live["metadata"]["managedFields"] = json!([{"manager": "x", "operation": "Apply",
            "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": json}]);
        b.live = Some(live);
        b.force("m0", json!({"name": "a"}));
        b.update("m1", json!({"name": "b"}));
    }

    #[test]
    fn a_forced_apply_never_conflicts_and_keeps_what_it_asked_for(
        steps in steps(), config in spec(),
    ) {
        let mut b = run(&steps);
        b.force("m0", config.clone());
        prop_assert!(contains(&b, &config), "{} in {}", config, b.object());
    }

    #[test]
    fn apply_is_idempotent(steps in steps(), config in spec()) {
        let mut b = run(&steps);
        b.force("m0", config.clone());
        let once = b.object().clone();
        b.apply("m0", config);
        prop_assert_eq!(b.object(), &once);
    }

    #[test]
    fn nobody_owns_what_is_not_there(steps in steps()) {
        let b = run(&steps);
        prop_assert!(exists(&b).is_ok(), "{:?}: {}", exists(&b), b.object());
    }

    #[test]
    fn an_apply_without_force_harms_nobody(steps in steps(), config in spec()) {
        let mut b = run(&steps);
        let before = b.object().clone();
        let owners = b.managed();
        if b.try_apply("m9", &with_spec(config), false).is_ok() {
            // A newcomer removes nothing and changes nothing anybody owns.
            let change = Comparison::of(&b.schema, &before, b.object());
            let mut removed = change.removed;
            removed = removed.difference(&FieldSet::of_fields(&["metadata.managedFields"]));
            prop_assert!(removed.is_empty(), "{}", removed);
            let lost = owners.all_fields().intersection(&change.modified);
            prop_assert!(lost.is_empty(), "{}", lost);
        } else {
            prop_assert_eq!(b.object(), &before);
        }
    }

    #[test]
    fn who_drops_everything_leaves_no_trace(specs in prop::collection::vec(spec(), 1..3)) {
        let mut b = Bench::new();
        b.apply("other", json!({"name": "a"}));
        for spec in specs {
            b.force("m0", spec);
        }
        b.force("other", json!({"name": "a"}));
        b.apply("m0", json!({}));
        // But for empty lists, which nobody owns (upstream neither).
        let mut spec = b.spec().clone();
        spec.as_object_mut().unwrap().retain(|name, value| {
            !(matches!(name.as_str(), "set" | "list") && *value == json!([]))
        });
        prop_assert_eq!(spec, json!({"name": "a"}));
    }

    #[test]
    fn an_update_that_changes_nothing_changes_nothing(steps in steps()) {
        let mut b = run(&steps);
        let before = b.object().clone();
        b.update("m9", before["spec"].clone());
        prop_assert_eq!(b.object(), &before);
    }
}
