//! IPSet in its surroundings: the NetConfig of its namespace, and what others hold.

use landbridge_machinery::gvk::GroupResource;
use landbridge_machinery::hooks::{Hooks, Operation, Request};
use landbridge_machinery::object;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{IPSetSpec, change, rules};
use crate::admission::{self, Findings};
use crate::network::GROUP;
use crate::network::netconfig::the_netconfig;

/// The rules of IPSet.
pub struct IPSetHooks;

/// What keeps an IPSet until its addresses are freed. An IPSet gets it when it is created, which
/// saves the controller a write.
pub const FINALIZER: &str = "openstack.org/ipset";
/// What it was called in the seeds' time. It is honoured, not set.
pub const OLD_FINALIZER: &str = "IPSet";

impl Hooks for IPSetHooks {
    fn mutate(&self, request: &Request<'_>, object: &mut Value) -> ApiResult<()> {
        if request.operation == Operation::Create {
            add_finalizer(object);
        }
        Ok(())
    }

    fn validate(&self, request: &Request<'_>, object: &Value) -> ApiResult<Vec<String>> {
        match request.operation {
            Operation::Delete => Ok(Vec::new()),
            Operation::Update if admission::keeps_spec(request, object) => Ok(Vec::new()),
            Operation::Create | Operation::Update => judge(request, object),
        }
    }

    fn webhook_name(&self) -> Option<&str> {
        Some("vipset-v1beta1.kb.io")
    }
}

/// Anything unexpected is left for the server to complain about.
fn add_finalizer(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let finalizers = metadata.entry("finalizers").or_insert(Value::Null);
    match finalizers {
        Value::Null => *finalizers = json!([FINALIZER]),
        Value::Array(list) if !list.iter().any(|f| *f == FINALIZER || *f == OLD_FINALIZER) => {
            list.push(FINALIZER.into());
        }
        _ => {}
    }
}

fn judge(request: &Request<'_>, object: &Value) -> ApiResult<Vec<String>> {
    let spec: IPSetSpec = admission::spec(request, object)?;
    // An old state that cannot be read holds nothing that could be protected.
    let old = request.old.and_then(|old| IPSetSpec::deserialize(&old["spec"]).ok());
    if let Some(old) = &old
        && old.immutable
        && old.networks != spec.networks
    {
        let why = r#"*: Forbidden: Invalid value: "object": Spec.Networks is immutable"#;
        let kind = GroupResource::new(GROUP, "IPSet");
        return Err(ApiError::forbidden(&kind, request.name, why));
    }
    // Whoever clears finalizers of an object that is going away is not to be stopped.
    if request.operation == Operation::Update && object::is_terminating(object) {
        return Ok(Vec::new());
    }
    let netconfig = the_netconfig(request.objects, request.namespace)?;
    let mut findings = Findings::default();
    let before = old.as_ref().map_or(&[][..], |old| &old.networks);
    rules::check(&spec, &netconfig, before, request, &mut findings);
    if let Some(old) = &old {
        change::check(old, &spec, &mut findings);
    }
    findings.answer(request)
}
