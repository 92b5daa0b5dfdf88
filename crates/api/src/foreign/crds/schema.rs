//! Schemas in few words.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSON, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use serde_json::Value;

type Schema = JSONSchemaProps;

fn of(kind: &str, description: &str) -> Schema {
    let described = Some(description.to_owned()).filter(|text| !text.is_empty());
    Schema { type_: Some(kind.to_owned()), description: described, ..Schema::default() }
}

pub fn text(description: &str) -> Schema {
    of("string", description)
}

pub fn integer(description: &str) -> Schema {
    of("integer", description)
}

pub fn flag(description: &str) -> Schema {
    of("boolean", description)
}

pub fn time(description: &str) -> Schema {
    Schema { format: Some("date-time".to_owned()), ..text(description) }
}

/// A number, or a text such as a percentage.
pub fn int_or_string(description: &str) -> Schema {
    let described = Some(description.to_owned());
    Schema { description: described, x_kubernetes_int_or_string: Some(true), ..Schema::default() }
}

pub fn list(description: &str, items: Schema) -> Schema {
    let items = Some(JSONSchemaPropsOrArray::Schema(Box::new(items)));
    Schema { items, ..of("array", description) }
}

pub fn texts(description: &str) -> Schema {
    list(description, text(""))
}

pub fn map(description: &str, values: Schema) -> Schema {
    let values = Some(JSONSchemaPropsOrBool::Schema(Box::new(values)));
    Schema { additional_properties: values, ..of("object", description) }
}

pub fn object<const N: usize>(description: &str, fields: [(&str, Schema); N]) -> Schema {
    let properties: BTreeMap<_, _> =
        fields.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    let properties = Some(properties).filter(|properties| !properties.is_empty());
    Schema { properties, ..of("object", description) }
}

/// What may hold anything, besides the fields it has.
pub fn open(schema: Schema) -> Schema {
    Schema { x_kubernetes_preserve_unknown_fields: Some(true), ..schema }
}

/// Anything.
pub fn free(description: &str) -> Schema {
    open(of("object", description))
}

pub fn required(names: &[&str], schema: Schema) -> Schema {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    Schema { required: Some(names), ..schema }
}

/// A text that is not empty.
pub fn not_empty(schema: Schema) -> Schema {
    Schema { min_length: Some(1), ..schema }
}

/// One of these texts.
pub fn one_of(values: &[&str], schema: Schema) -> Schema {
    let values = values.iter().map(|value| JSON((*value).into())).collect();
    Schema { enum_: Some(values), ..schema }
}

/// A text of that form.
pub fn matching(pattern: &str, schema: Schema) -> Schema {
    Schema { pattern: Some(pattern.to_owned()), ..schema }
}

/// A number no smaller than this.
pub fn at_least(least: u16, schema: Schema) -> Schema {
    Schema { minimum: Some(f64::from(least)), ..schema }
}

/// A number no smaller and no greater than these.
pub fn between(least: u16, most: u16, schema: Schema) -> Schema {
    Schema { maximum: Some(f64::from(most)), ..at_least(least, schema) }
}

/// A schema made from a type, as the kind itself has it: an explicit null is as good as nothing.
pub fn all_of_kind(schema: &mut Schema) {
    crate::crd::even_out(schema);
}

pub fn default(value: impl Into<Value>, schema: Schema) -> Schema {
    Schema { default: Some(JSON(value.into())), ..schema }
}

/// A Kubernetes label selector.
pub fn selector() -> Schema {
    let expression = object(
        "One condition.",
        [
            ("key", text("The label.")),
            ("operator", text("In, NotIn, Exists or DoesNotExist.")),
            ("values", texts("The values, for In and NotIn.")),
        ],
    );
    object(
        "Labels an object must have; all conditions hold.",
        [
            ("matchLabels", map("Labels and their values.", text(""))),
            (
                "matchExpressions",
                list("Conditions on labels.", required(&["key", "operator"], expression)),
            ),
        ],
    )
}

pub fn selectors(description: &str) -> Schema {
    list(description, selector())
}
