//! What holds for all schemas: they are generated together with a value that fits them.

use landbridge_machinery::field::FieldPath;
use landbridge_machinery::schema::Schema;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A structural schema and a value that fits it.
#[derive(Clone, Debug)]
struct Case {
    schema: Value,
    value: Value,
}

fn case(schema: Value, value: impl Into<Value>) -> Case {
    Case { schema, value: value.into() }
}

fn leaf() -> impl Strategy<Value = Case> {
    prop_oneof![
        "[a-zé]{0,6}".prop_map(|text| {
            let length = text.chars().count();
            case(json!({"type": "string", "minLength": length, "maxLength": length, "pattern": "^[a-z\u{e9}]*$"}), text)
        }),
        ("[a-c]", prop::collection::vec("[d-f]", 0..3)).prop_map(|(text, mut others)| {
            others.push(text.clone());
            case(json!({"type": "string", "enum": others}), text)
        }),
        any::<[u8; 4]>().prop_map(|o| case(json!({"type": "string", "format": "ipv4"}), std::net::Ipv4Addr::from(o).to_string())),
        (any::<i32>(), 0..9i64, 0..9i64).prop_map(|(n, below, above)| {
            let n = i64::from(n);
            case(json!({"type": "integer", "format": "int64", "minimum": n - below, "maximum": n + above}), n)
        }),
        any::<i16>().prop_map(|n| case(json!({"type": "number", "multipleOf": 0.5}), f64::from(n) / 2.0)),
        any::<bool>().prop_map(|b| case(json!({"type": "boolean"}), b)),
        any::<u16>().prop_map(|n| case(json!({"x-kubernetes-int-or-string": true}), n)),
        Just(case(json!({"type": "string", "nullable": true}), Value::Null)),
        Just(case(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}), json!({"any": [1]}))),
        prop::collection::btree_set("[a-c]{1,2}", 0..4).prop_map(|set| {
            let count = set.len();
            let list: Value = set.into_iter().map(Value::from).collect();
            case(json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set", "minItems": count, "maxItems": count}), list)
        }),
    ]
}

#[derive(Clone, Debug)]
enum Presence {
    Required,
    Present,
    Absent,
    Defaulted,
    DefaultedPresent,
}

fn presence() -> impl Strategy<Value = Presence> {
    prop_oneof![
        Just(Presence::Required),
        Just(Presence::Present),
        Just(Presence::Absent),
        Just(Presence::Defaulted),
        Just(Presence::DefaultedPresent),
    ]
}

fn object(inner: impl Strategy<Value = Case>) -> impl Strategy<Value = Case> {
    prop::collection::btree_map("[a-e]", (inner, presence()), 0..4).prop_map(|fields| {
        let (mut properties, mut required, mut value) = (Map::new(), Vec::new(), Map::new());
        for (name, (mut field, presence)) in fields {
            if matches!(presence, Presence::Defaulted | Presence::DefaultedPresent)
                && !field.value.is_null()
            {
                field.schema["default"] = field.value.clone();
            }
            if matches!(presence, Presence::Required) {
                required.push(name.clone());
            }
            if !matches!(presence, Presence::Absent | Presence::Defaulted) {
                value.insert(name.clone(), field.value);
            }
            properties.insert(name, field.schema);
        }
        let (count, known) = (value.len(), properties.len());
        let schema = json!({"type": "object", "properties": properties, "required": required,
            "minProperties": count, "maxProperties": known});
        case(schema, value)
    })
}

fn any_case() -> impl Strategy<Value = Case> {
    leaf().prop_recursive(4, 40, 4, |inner| {
        let inner = inner.boxed();
        prop_oneof![
            object(inner.clone()),
            (inner.clone(), 0..3usize).prop_map(|(item, count)| {
                case(json!({"type": "array", "items": item.schema, "maxItems": count}), vec![item.value; count])
            }),
            (inner.clone(), prop::collection::btree_set("[k-p]", 0..3)).prop_map(|(item, keys)| {
                let list: Value = keys.iter().map(|key| json!({"k": key, "v": item.value})).collect();
                let schema = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                    "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": item.schema}}});
                case(schema, list)
            }),
            (inner.clone(), prop::collection::btree_set("[x-z]{1,2}", 0..3)).prop_map(|(item, keys)| {
                let map: Map<String, Value> = keys.into_iter().map(|key| (key, item.value.clone())).collect();
                case(json!({"type": "object", "additionalProperties": item.schema}), map)
            }),
            // Judging a value twice changes nothing when it fits.
            object(inner).prop_map(|mut c| {
                let required = c.schema["required"].clone();
                c.schema["allOf"] = json!([{"required": required}]);
                c.schema["anyOf"] = json!([{"required": ["nowhere"]}, {}]);
                c.schema["oneOf"] = json!([{"required": ["nowhere"]}, {"required": required}]);
                c.schema["not"] = json!({"required": ["nowhere"]});
                c
            }),
        ]
    })
}

fn root() -> impl Strategy<Value = Case> {
    any_case().prop_map(|spec| {
        case(
            json!({"type": "object", "properties": {"spec": spec.schema}}),
            json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "n", "labels": {"l": "v"}}, "spec": spec.value}),
        )
    })
}

fn compiled(case: &Case) -> Schema {
    Schema::structural(&case.schema, &FieldPath::root())
        .unwrap_or_else(|errors| panic!("{}: {:?}", case.schema, super::texts(&errors)))
}

/// A value with a type, and how to get there.
#[derive(Debug)]
struct Place {
    path: FieldPath,
    pointer: String,
    schema: Value,
}

fn places(schema: &Value, value: &Value, path: &FieldPath, pointer: &str, out: &mut Vec<Place>) {
    out.push(Place { path: path.clone(), pointer: pointer.to_owned(), schema: schema.clone() });
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let below =
                    schema["properties"].get(key).or_else(|| schema.get("additionalProperties"));
                if let Some(below) = below {
                    places(below, value, &path.child(key), &format!("{pointer}/{key}"), out);
                }
            }
        }
        Value::Array(list) => {
            for (i, value) in list.iter().enumerate() {
                places(&schema["items"], value, &path.index(i), &format!("{pointer}/{i}"), out);
            }
        }
        _ => {}
    }
}

fn places_of(case: &Case) -> Vec<Place> {
    let mut out = Vec::new();
    places(&case.schema, &case.value, &FieldPath::root(), "", &mut out);
    out
}

/// Something that is of no use where this schema stands.
fn wrong_for(schema: &Value) -> Value {
    if schema["type"] == "object" { json!(true) } else { json!({}) }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i8>().prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-e]|spec|metadata|k|v", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_fits_is_not_complained_about(case in root()) {
        let schema = compiled(&case);
        prop_assert_eq!(super::texts(&schema.validate(&case.value, None)), [""; 0]);
        prop_assert_eq!(schema.unknown_fields(&case.value), [""; 0]);
        prop_assert!(schema.type_errors(&case.value).is_empty());
    }

    #[test]
    fn a_wrong_type_is_found_where_it_stands(case in root(), pick in any::<prop::sample::Index>()) {
        // Choices may complain in their own words on top, so leave them out of this law.
        prop_assume!(!case.schema.to_string().contains("allOf"));
        let schema = compiled(&case);
        let places = places_of(&case);
        let place = &places[pick.index(places.len())];
        let mut value = case.value.clone();
        *value.pointer_mut(&place.pointer).unwrap() = wrong_for(&place.schema);
        let paths = |errors: Vec<landbridge_machinery::field::FieldError>| errors.into_iter().map(|e| e.path).collect::<Vec<_>>();
        prop_assert_eq!(paths(schema.validate(&value, None)), vec![place.path.clone()], "{}", value);
        prop_assert_eq!(paths(schema.type_errors(&value)), vec![place.path.clone()]);
        // Had it been wrong before, nobody would mind.
        prop_assert!(schema.validate(&value, Some(&value)).is_empty());
    }

    #[test]
    fn pruning_removes_just_what_was_added(case in root(), picks in any::<u64>()) {
        let schema = compiled(&case);
        let mut value = case.value.clone();
        let mut added = Vec::new();
        let closed = |p: &Place| p.schema.get("properties").is_some();
        for (i, place) in places_of(&case).iter().filter(|p| closed(p)).enumerate() {
            if picks >> (i % 64) & 1 == 1 {
                value.pointer_mut(&place.pointer).unwrap()["zzz"] = json!({"some": "thing"});
                added.push(place.path.child("zzz").as_str().to_owned());
            }
        }
        let mut unknown = schema.unknown_fields(&value);
        prop_assert_eq!(schema.prune(&mut value), unknown.clone());
        prop_assert_eq!(&value, &case.value);
        unknown.sort();
        added.sort();
        prop_assert_eq!(unknown, added);
    }

    #[test]
    fn pruning_anything_twice_is_once(case in root(), mut value in any_json()) {
        let schema = compiled(&case);
        schema.prune(&mut value);
        prop_assert_eq!(schema.unknown_fields(&value), [""; 0]);
        let once = value.clone();
        schema.prune(&mut value);
        prop_assert_eq!(value, once);
    }

    #[test]
    fn defaults_fit_and_are_applied_once(case in root()) {
        let schema = compiled(&case);
        let mut once = case.value.clone();
        schema.apply_defaults(&mut once);
        prop_assert_eq!(super::texts(&schema.validate(&once, None)), [""; 0]);
        let mut twice = once.clone();
        schema.apply_defaults(&mut twice);
        prop_assert_eq!(&twice, &once);
        prop_assert!(schema.has_defaults() || once == case.value);
        schema.prune_nulls(&mut twice);
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn nothing_new_is_never_wrong(case in root(), value in any_json()) {
        prop_assert!(compiled(&case).validate(&value, Some(&value)).is_empty());
    }

    #[test]
    fn no_value_makes_us_panic(case in root(), mut value in any_json(), old in any_json()) {
        let schema = compiled(&case);
        schema.validate(&value, Some(&old));
        schema.apply_defaults(&mut value);
        schema.prune_nulls(&mut value);
    }
}
