//! What is refused when pools and advertisements are written: MetalLB's webhooks, in process.
//!
//! The configuration is judged as a whole, with the object as it would be. Deleting is always
//! allowed.

use std::collections::BTreeSet;
use std::sync::Arc;

use landbridge_api::foreign::metallb::GROUP;
use landbridge_machinery::gvk::GroupKind;
use landbridge_machinery::hooks::{Hooks, Operation, Request};
use landbridge_machinery::object;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::Value;

use crate::NAMESPACE;
use crate::config::{Config, Namespace};
use crate::pool::selectors;

/// The rules of a kind of MetalLB, if there are any.
pub fn hooks(group: &str, kind: &str) -> Option<Arc<dyn Hooks>> {
    match (group, kind) {
        (GROUP, "IPAddressPool") => Some(Arc::new(Pools)),
        (GROUP, "L2Advertisement") => Some(Arc::new(Advertisements)),
        _ => None,
    }
}

struct Pools;

impl Hooks for Pools {
    fn validate(&self, request: &Request<'_>, pool: &Value) -> ApiResult<Vec<String>> {
        if !is_judged(request, pool)? {
            return Ok(Vec::new());
        }
        let others = request.objects.list(&GroupKind::new(GROUP, "IPAddressPool"), Some(NAMESPACE));
        let others = others
            .iter()
            .map(AsRef::as_ref)
            .filter(|other| object::name(other) != request.name && !object::is_terminating(other));
        let all = others.chain([pool]).map(|pool| (object::name(pool), &pool["spec"]));
        let namespaces: [Namespace; 0] = [];
        match Config::read(all, &namespaces) {
            Ok(_) => Ok(Vec::new()),
            Err(why) => Err(ApiError::denied(why)),
        }
    }

    fn webhook_name(&self) -> Option<&str> {
        Some("ipaddresspoolvalidationwebhook.metallb.io")
    }
}

struct Advertisements;

impl Hooks for Advertisements {
    fn validate(&self, request: &Request<'_>, object: &Value) -> ApiResult<Vec<String>> {
        if is_judged(request, object)? {
            advertisement(&object["spec"]).map_err(ApiError::denied)?;
        }
        Ok(Vec::new())
    }

    fn webhook_name(&self) -> Option<&str> {
        Some("l2advertisementvalidationwebhook.metallb.io")
    }
}

/// Whether there is anything to judge; refuses what would not be seen where it is.
fn is_judged(request: &Request<'_>, object: &Value) -> ApiResult<bool> {
    if request.operation == Operation::Delete || object::is_terminating(object) {
        return Ok(false);
    }
    if request.operation == Operation::Create && request.namespace != Some(NAMESPACE) {
        let why = format!("resource must be created in {NAMESPACE} namespace");
        return Err(ApiError::denied(why));
    }
    Ok(request.old.is_none_or(|old| old["spec"] != object["spec"]))
}

/// Nothing may stand twice in an L2Advertisement.
pub fn advertisement(spec: &Value) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for pool in spec["ipAddressPools"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !seen.insert(pool) {
            return Err(format!("duplicate definition of ipAddressPools: {pool:?}"));
        }
    }
    for field in ["ipAddressPoolSelectors", "nodeSelectors", "serviceSelectors"] {
        selectors(spec, field)?;
    }
    Ok(())
}
