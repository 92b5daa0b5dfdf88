//! Structural schemas, seen from outside.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may
#![allow(clippy::needless_pass_by_value, clippy::type_complexity)] // tables read better so

#[path = "schema/definitions.rs"]
mod definitions;
#[path = "schema/laws.rs"]
mod laws;
#[path = "schema/shaping.rs"]
mod shaping;
#[path = "schema/structural.rs"]
mod structural;
#[path = "schema/validate.rs"]
mod validate;

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::schema::Schema;
use serde_json::{Value, json};

/// Compiles a sound schema.
fn compiled(schema: &Value) -> Schema {
    Schema::structural(schema, &FieldPath::root()).unwrap_or_else(|errors| {
        panic!("{schema}: {:?}", texts(&errors));
    })
}

/// A whole resource whose `spec` is `spec`.
fn resource(spec: Value) -> Schema {
    compiled(&json!({"type": "object", "properties": {"spec": spec}}))
}

fn texts(errors: &[FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}
