//! What the schemas of the built-in kinds cannot say: conditional defaults, and upstream's rules in
//! upstream's words.
//!
//! A kind has at most two functions, its [`Rules`]: `mutate` fills in and `check` judges. Mutations are idempotent, because updates run them again.

#![allow(clippy::unnecessary_wraps)] // all mutations have one signature, though few can fail
#![cfg_attr(test, allow(clippy::needless_pass_by_value, clippy::type_complexity))] // tables of JSON

pub(super) mod config_map;
pub(super) mod controller_revision;
pub(super) mod crd;
pub(super) mod daemon_set;
pub(super) mod deployment;
pub(super) mod endpoint_slice;
pub(super) mod endpoints;
pub(super) mod event;
pub(super) mod job;
mod label_selector;
pub(super) mod lease;
pub(super) mod namespace;
mod net;
pub(super) mod network_policy;
pub(super) mod node;
pub(super) mod pod;
mod pod_spec;
mod port;
pub(super) mod priority_class;
pub(super) mod quantity;
pub(super) mod rbac;
pub(super) mod replica_set;
pub(super) mod secret;
pub(super) mod service;
pub(super) mod stateful_set;
mod value;
pub(super) mod webhook;
mod workload;

use std::sync::Arc;

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::hooks::{Hooks, Operation, Request};
use landbridge_machinery::names::NameRule;
use landbridge_machinery::schema::Schema;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::Value;

use super::zeros;

/// The rules of one kind.
#[derive(Clone, Copy)]
pub struct Rules {
    /// Fills in what depends on other fields.
    pub mutate: fn(&Request<'_>, &mut Value) -> ApiResult<()>,
    /// Everything wrong with the object; on update, with the change as well.
    pub check: fn(&Request<'_>, &Value) -> Vec<FieldError>,
}

impl Rules {
    /// No rules.
    pub const NONE: Self = Self { mutate: |_, _| Ok(()), check: |_, _| Vec::new() };
}

/// The hooks of a built-in kind: zero values first, then its rules.
pub(super) struct KindHooks {
    /// The definition of the stored form.
    pub definition: String,
    /// The same, compiled.
    pub schema: Arc<Schema>,
    /// What the kind brings of its own.
    pub rules: Rules,
}

impl Hooks for KindHooks {
    fn mutate(&self, request: &Request<'_>, object: &mut Value) -> ApiResult<()> {
        if request.operation == Operation::Delete {
            return Ok(());
        }
        if zeros::fill(&self.definition, object) {
            self.schema.apply_defaults(object);
        }
        (self.rules.mutate)(request, object)
    }

    fn validate(&self, request: &Request<'_>, object: &Value) -> ApiResult<Vec<String>> {
        if request.operation == Operation::Delete {
            return Ok(Vec::new());
        }
        let errors = (self.rules.check)(request, object);
        if errors.is_empty() {
            return Ok(Vec::new());
        }
        Err(ApiError::invalid(&request.kind.group_kind(), request.name, &errors))
    }
}

/// The error of a field that changed though it may not.
fn immutable(path: &FieldPath, new: &Value, old: &Value) -> Option<FieldError> {
    (new != old).then(|| FieldError::invalid(path, new.clone(), "field is immutable"))
}

/// One error per explanation of a name rule.
fn name_errors(path: &FieldPath, name: &str, rule: NameRule) -> Vec<FieldError> {
    rule.check(name, false).into_iter().map(|why| FieldError::invalid(path, name, why)).collect()
}

/// The error of a text that is not one of a closed set.
fn one_of(path: &FieldPath, value: &str, supported: &[&str]) -> Option<FieldError> {
    (!supported.contains(&value)).then(|| FieldError::not_supported(path, value, supported))
}

/// The error of a number below zero; absent numbers are fine.
fn not_negative(path: &FieldPath, value: &Value) -> Option<FieldError> {
    let number = value.as_i64()?;
    (number < 0).then(|| FieldError::invalid(path, number, "must be greater than or equal to 0"))
}

#[cfg(test)]
pub(super) mod testing;
