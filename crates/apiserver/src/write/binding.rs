//! A pod gets its node: `pods/NAME/binding`, and the older `bindings`.

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::gvk::{GroupKind, GroupResource};
use landbridge_machinery::object;
use landbridge_machinery::status::{ApiError, ApiResult};
use landbridge_store::Expect;
use serde_json::Value;

use super::{ATTEMPTS, PutError, gave_up, put, set_condition};
use crate::call::Call;
use crate::{decode, meta};

/// Binds the pod the body names to the node the body names.
pub async fn bind(call: &Call<'_>, bytes: &[u8]) -> ApiResult<()> {
    let binding = decode::untyped(call, bytes)?;
    check(call, &binding)?;
    let Some(pods) = call.registry.get("", "pods") else { return Err(ApiError::no_such_path()) };
    let name = match call.target.subresource {
        Some(_) => call.name(),
        None => object::name(&binding),
    };
    let key = pods.key(call.target.namespace.as_deref(), name);
    for _ in 0..ATTEMPTS {
        let snapshot = call.server.store.snapshot();
        let Some(entry) = snapshot.get(&key) else {
            return Err(ApiError::not_found(&pods.group_resource(), name));
        };
        let old = meta::parse(entry);
        let bound = bound(&old, &binding).map_err(|why| {
            ApiError::conflict(&GroupResource::new("", "pods/binding"), name, &why)
        })?;
        if call.query.dry_run {
            return Ok(());
        }
        match put(call.server, key.clone(), Expect::Revision(entry.revision), bound).await {
            Ok(_) => return Ok(()),
            Err(PutError::Refused(error)) => return Err(error),
            Err(PutError::Lost) => {}
        }
    }
    gave_up(pods, name)
}

fn check(call: &Call<'_>, binding: &Value) -> ApiResult<()> {
    super::eviction::check_kind(binding, "Binding", &["v1"])?;
    let name = object::name(binding);
    if call.target.subresource.is_some() && !name.is_empty() && name != call.name() {
        let why = "name in URL does not match name in Binding object";
        return Err(ApiError::bad_request(why));
    }
    let mut errors = Vec::new();
    if call.target.subresource.is_none() && name.is_empty() {
        errors.push(FieldError::required(&FieldPath::new("metadata.name"), "name is required"));
    }
    let namespace = object::namespace(binding);
    if !namespace.is_empty() && Some(namespace) != call.target.namespace.as_deref() {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    let target = FieldPath::new("target");
    let kind = binding["target"]["kind"].as_str().unwrap_or_default();
    if !matches!(kind, "" | "Node") {
        errors.push(FieldError::not_supported(&target.child("kind"), kind, &["Node", "<empty>"]));
    }
    if binding["target"]["name"].as_str().unwrap_or_default().is_empty() {
        errors.push(FieldError::required(&target.child("name"), ""));
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(ApiError::invalid(&GroupKind::new("", "Binding"), name, &errors))
}

/// The pod with its node, or why it cannot have it.
fn bound(pod: &Value, binding: &Value) -> Result<Value, String> {
    let name = object::name(pod);
    let uid = object::uid(binding);
    if !uid.is_empty() && uid != object::uid(pod) {
        return Err(format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            object::uid(pod)
        ));
    }
    let version = object::resource_version(binding);
    if !version.is_empty() && version != object::resource_version(pod) {
        return Err(format!(
            "Precondition failed: ResourceVersion in precondition: {version}, ResourceVersion in object meta: {}",
            object::resource_version(pod)
        ));
    }
    if object::is_terminating(pod) {
        return Err(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    if !node.is_empty() {
        return Err(format!("pod {name} is already assigned to node {node:?}"));
    }
    if pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
        return Err(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    let mut bound = pod.clone();
    bound["spec"]["nodeName"] = binding["target"]["name"].clone();
    if let Value::Object(extra) = &binding["metadata"]["annotations"] {
        let mut annotations = pod["metadata"]["annotations"].as_object().cloned();
        annotations.get_or_insert_default().extend(extra.clone());
        object::set_meta(&mut bound, "annotations", annotations.unwrap_or_default());
    }
    set_condition(&mut bound, "PodScheduled", "", "");
    Ok(bound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(spec: &Value) -> Value {
        json!({"metadata": {"name": "p", "uid": "u", "resourceVersion": "7",
            "annotations": {"kept": "1", "changed": "1"}}, "spec": spec,
            "status": {"phase": "Pending", "conditions": [
                {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": "t0"},
                {"type": "Other", "status": "True"}]}})
    }

    #[test]
    fn a_pod_gets_its_node() {
        let binding = json!({"metadata": {"name": "p", "annotations": {"changed": "2", "new": "3"}},
            "target": {"kind": "Node", "name": "n"}});
        let bound = bound(&pod(&json!({})), &binding).expect("bound");
        assert_eq!(bound["spec"]["nodeName"], "n");
        let annotations = json!({"kept": "1", "changed": "2", "new": "3"});
        assert_eq!(bound["metadata"]["annotations"], annotations);
        let scheduled = &bound["status"]["conditions"][0];
        assert_eq!(
            (&scheduled["type"], &scheduled["status"]),
            (&json!("PodScheduled"), &json!("True"))
        );
        assert!(
            scheduled["reason"].is_null() && scheduled["lastTransitionTime"] != "t0",
            "{scheduled}"
        );
        assert_eq!(bound["status"]["conditions"][1]["type"], "Other");
    }

    #[test]
    fn some_pods_cannot_be_bound() {
        let target = json!({"name": "n"});
        let mut ending = pod(&json!({}));
        ending["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        let cases = [
            (pod(&json!({"nodeName": "m"})), json!({}), "pod p is already assigned to node \"m\""),
            (ending, json!({}), "pod p is being deleted, cannot be assigned to a host"),
            (
                pod(&json!({"schedulingGates": [{"name": "g"}]})),
                json!({}),
                "pod p has non-empty .spec.schedulingGates",
            ),
            (
                pod(&json!({})),
                json!({"uid": "v"}),
                "Precondition failed: UID in precondition: v, UID in object meta: u",
            ),
            (
                pod(&json!({})),
                json!({"resourceVersion": "6"}),
                "Precondition failed: ResourceVersion in precondition: 6, ResourceVersion in object meta: 7",
            ),
        ];
        for (pod, metadata, wanted) in cases {
            let binding = json!({"metadata": metadata, "target": target});
            assert_eq!(bound(&pod, &binding).err().as_deref(), Some(wanted));
        }
    }
}
