//! How a kind says how it is doing: the condition of the OpenStack operators.
//!
//! It differs from Kubernetes' own condition by `severity`, and by having no
//! `observedGeneration`. In a list `Ready` stands first and the others follow by type, because the
//! columns of `kubectl get` show the first entry.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One aspect of an object's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Which aspect this is about, in CamelCase. `Ready` sums up all the others.
    #[serde(rename = "type")]
    pub type_: String,
    /// Whether the aspect is as it should be.
    pub status: ConditionStatus,
    /// How bad it is when the status is False; empty otherwise.
    #[serde(default, skip_serializing_if = "Severity::is_none")]
    pub severity: Severity,
    /// When status, severity, reason or message last changed.
    #[schemars(schema_with = "crate::crd::timestamp")]
    pub last_transition_time: Time,
    /// Why, as one word for programs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why, in words for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    // Variants carry no doc comments: they would turn the schema's enum into a `oneOf`.
    True,
    False,
    Unknown,
}

/// What a False condition asks of the reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Severity {
    // Nothing goes on until somebody acts.
    Error,
    // It is tried again by itself.
    Warning,
    // Work in progress.
    Info,
    // The condition is not False.
    #[default]
    #[serde(rename = "")]
    None,
}

impl Severity {
    /// Whether there is nothing to say.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}
