//! `pods/NAME/eviction`: a deletion that others may have a say in. Nothing here has: there are no
//! disruption budgets, so an eviction is a deletion that leaves a trace in the pod's conditions.

use landbridge_machinery::object;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::Value;

use super::{delete, modify, set_condition};
use crate::call::Call;
use crate::{decode, meta};

/// Evicts the pod of the path.
pub async fn evict(call: &mut Call<'_>, bytes: &[u8]) -> ApiResult<()> {
    let eviction = decode::untyped(call, bytes)?;
    check_kind(&eviction, "Eviction", &["policy/v1", "policy/v1beta1"])?;
    let name = object::name(&eviction);
    if !name.is_empty() && name != call.name() {
        let why = "name in URL does not match name in Eviction object";
        return Err(ApiError::bad_request(why));
    }
    let (mut options, dry_run) = delete::Options::from_value(call, &eviction["deleteOptions"])?;
    let key = call.key();
    let snapshot = call.server.store.snapshot();
    let Some(entry) = snapshot.get(&key) else { return Err(call.not_found()) };
    let pod = meta::parse(entry);
    delete::preconditions(call, &options, entry, &pod)?;
    // From here on it is this pod, whatever its revision becomes.
    let uid = object::uid(&pod).to_owned();
    options.resource_version = None;
    if !dry_run {
        modify(call.server, &call.resource, &key, |pod| {
            if object::uid(pod) != uid || object::is_terminating(pod) {
                return false;
            }
            let message = "Eviction API: evicting";
            set_condition(pod, "DisruptionTarget", "EvictionByEvictionAPI", message);
            true
        })
        .await?;
    }
    options.uid = Some(uid);
    delete::delete(call, &options, dry_run).await.map(|_| ())
}

/// A body that speaks of another kind than its endpoint is a mistake; one that says nothing is not.
pub(super) fn check_kind(body: &Value, kind: &str, versions: &[&str]) -> ApiResult<()> {
    let said = |field: &str| body[field].as_str().unwrap_or_default();
    if !["", kind].contains(&said("kind")) {
        return Err(ApiError::bad_request(format!(
            "the kind in the data ({}) does not match the expected kind ({kind})",
            said("kind")
        )));
    }
    if !said("apiVersion").is_empty() && !versions.contains(&said("apiVersion")) {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({}) does not match the expected API version ({})",
            said("apiVersion"),
            versions.join(" or ")
        )));
    }
    Ok(())
}
