//! What tests of hooks need.

use std::sync::Arc;

use landbridge_machinery::gvk::GroupKind;
use landbridge_machinery::hooks::Objects;
use serde_json::Value;

/// A cluster in which there is nothing else.
pub struct Nothing;

impl Objects for Nothing {
    fn get(&self, _: &GroupKind, _: Option<&str>, _: &str) -> Option<Arc<Value>> {
        None
    }

    fn list(&self, _: &GroupKind, _: Option<&str>) -> Vec<Arc<Value>> {
        Vec::new()
    }
}
