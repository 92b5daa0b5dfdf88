//! What a kind may bring of its own: defaults, rules across objects, conversion, columns.
//!
//! A hook is a plain function of a [`Request`] and a view of the other objects. The embedded
//! server calls it in process; an admission or conversion webhook on a real cluster calls the same
//! hook with a view backed by its caches. On a cluster webhooks race, so rules across objects are
//! advice there and controllers repeat them before they act.

use std::sync::Arc;

use serde_json::Value;

use crate::gvk::{GroupKind, GroupVersionKind};
use crate::status::{ApiError, ApiResult};
use crate::table::Columns;

/// Read access to all other objects, at one moment.
pub trait Objects: Send + Sync {
    /// One object in its stored version, or nothing.
    fn get(&self, kind: &GroupKind, namespace: Option<&str>, name: &str) -> Option<Arc<Value>>;
    /// All objects of a kind in one namespace, or in all.
    fn list(&self, kind: &GroupKind, namespace: Option<&str>) -> Vec<Arc<Value>>;
}

/// What is about to happen to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// It is new.
    Create,
    /// It replaces an older state.
    Update,
    /// It goes away.
    Delete,
}

/// One write, as admission sees it.
pub struct Request<'a> {
    /// What is about to happen.
    pub operation: Operation,
    /// The kind in the version the hook sees (the stored version).
    pub kind: &'a GroupVersionKind,
    /// Namespace; `None` for cluster-scoped kinds.
    pub namespace: Option<&'a str>,
    /// Name; may be empty on create with generateName.
    pub name: &'a str,
    /// The state before; `None` on create.
    pub old: Option<&'a Value>,
    /// Who asks.
    pub user: &'a str,
    /// Nothing will be kept.
    pub dry_run: bool,
    /// All other objects.
    pub objects: &'a dyn Objects,
}

/// What a kind brings of its own. Every method has a neutral default.
pub trait Hooks: Send + Sync {
    /// Warns about the object as the client wrote it. Runs before [`Hooks::mutate`], for what that
    /// will put right.
    fn remark(&self, _request: &Request<'_>, _object: &Value) -> Vec<String> {
        Vec::new()
    }

    /// Fills in defaults that a schema cannot express. Runs before validation.
    fn mutate(&self, _request: &Request<'_>, _object: &mut Value) -> ApiResult<()> {
        Ok(())
    }

    /// Judges the object (on delete: the object about to go). Returns warnings for the user.
    fn validate(&self, _request: &Request<'_>, _object: &Value) -> ApiResult<Vec<String>> {
        Ok(Vec::new())
    }

    /// Turns an object of this kind into another version; `apiVersion` is rewritten by the caller.
    fn convert(&self, _object: &mut Value, _from: &str, _to: &str) -> Result<(), String> {
        Ok(())
    }

    /// Columns of `kubectl get`, when the kind does not declare them itself.
    fn columns(&self, _version: &str) -> Option<Columns> {
        None
    }

    /// Name under which these rules run as a validating webhook. When given, refusals read
    /// `admission webhook "NAME" denied the request: …`, as they would on a real cluster.
    fn webhook_name(&self) -> Option<&str> {
        None
    }
}

/// No rules at all.
pub struct NoHooks;
impl Hooks for NoHooks {}

/// Wraps a refusal as the API server wraps what a webhook says.
pub fn denied_by(webhook: &str, mut error: ApiError) -> ApiError {
    error.message = format!("admission webhook {webhook:?} denied the request: {}", error.message);
    error
}
