//! NetConfig in its surroundings: one per namespace, not changed or deleted under IPSets.

use landbridge_machinery::hooks::{Hooks, Objects, Operation, Request};
use landbridge_machinery::object;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde::Deserialize;
use serde_json::Value;

use super::{NetConfigSpec, advice, change, rules};
use crate::admission::{self, Findings};
use crate::ledger::segment::WIRES;
use crate::network::group_kind;

/// The rules of NetConfig.
pub struct NetConfigHooks;

impl Hooks for NetConfigHooks {
    fn mutate(&self, request: &Request<'_>, object: &mut Value) -> ApiResult<()> {
        if request.operation != Operation::Delete {
            default_service_networks(object);
        }
        Ok(())
    }

    fn validate(&self, request: &Request<'_>, object: &Value) -> ApiResult<Vec<String>> {
        match request.operation {
            Operation::Delete => deletable(request).map(|()| Vec::new()),
            Operation::Update if admission::keeps_spec(request, object) => Ok(Vec::new()),
            Operation::Create | Operation::Update => judge(request, object),
        }
    }

    fn webhook_name(&self) -> Option<&str> {
        Some("vnetconfig-v1beta1.kb.io")
    }
}

fn judge(request: &Request<'_>, object: &Value) -> ApiResult<Vec<String>> {
    alone(request)?;
    let spec: NetConfigSpec = admission::spec(request, object)?;
    let mut findings = Findings::default();
    rules::check(&spec, &mut findings);
    if let Some(old) = request.old
        && ipset_count(request) > 0
        // An old state that cannot be read holds nothing that could be protected.
        && let Ok(old) = NetConfigSpec::deserialize(&old["spec"])
    {
        change::check(&old, &spec, &mut findings);
    }
    if findings.errors.is_empty() {
        advice::check(&spec, &mut findings);
    }
    findings.answer(request)
}

/// Refuses a second NetConfig. One of the same name is left to the server, which says that it
/// already exists.
fn alone(request: &Request<'_>) -> ApiResult<()> {
    let namespace = admission::namespace(request);
    let all = request.objects.list(&group_kind("NetConfig"), request.namespace);
    let Some(other) = all.iter().find(|other| object::name(other) != request.name) else {
        return Ok(());
    };
    Err(ApiError::denied(match request.operation {
        Operation::Create => format!(
            "there is already NetConfig {} in namespace {namespace}, there can only be one",
            object::name(other)
        ),
        _ => several(namespace),
    }))
}

fn deletable(request: &Request<'_>) -> ApiResult<()> {
    match ipset_count(request) {
        0 => Ok(()),
        count => Err(ApiError::bad_request(format!(
            "unable to delete NetConfig while there are still {count} IPSets in the namespace"
        ))),
    }
}

fn ipset_count(request: &Request<'_>) -> usize {
    request.objects.list(&group_kind("IPSet"), request.namespace).len()
}

fn several(namespace: &str) -> String {
    format!("more then one NetConfig found in namespace {namespace}, there must be only one")
}

/// The one NetConfig of a namespace.
pub(crate) struct TheNetConfig {
    pub spec: NetConfigSpec,
    /// What sets its wires apart from those of others.
    pub wires: Option<String>,
}

/// The NetConfig of a namespace, for the rules of other kinds.
pub(crate) fn the_netconfig(
    objects: &dyn Objects,
    namespace: Option<&str>,
) -> ApiResult<TheNetConfig> {
    let place = namespace.unwrap_or_default();
    let all = objects.list(&group_kind("NetConfig"), namespace);
    match all.as_slice() {
        [] => Err(ApiError::denied(format!(
            "no NetConfig found in namespace {place}, please create one"
        ))),
        [one] => {
            let spec = NetConfigSpec::deserialize(&one["spec"]).map_err(|error| {
                let name = object::name(one);
                ApiError::denied(format!("NetConfig {name} cannot be understood: {error}"))
            })?;
            let wires = one["metadata"]["annotations"][WIRES].as_str().map(str::to_owned);
            Ok(TheNetConfig { spec, wires })
        }
        _ => Err(ApiError::denied(several(place))),
    }
}

/// Fills `serviceNetwork` of every network that has a name. Runs before the schema is checked, so
/// anything unexpected is left for the schema to complain about.
fn default_service_networks(object: &mut Value) {
    let networks = object.pointer_mut("/spec/networks").and_then(Value::as_array_mut);
    for network in networks.into_iter().flatten() {
        let Some(network) = network.as_object_mut() else { continue };
        let Some(name) = network.get("name").and_then(Value::as_str) else { continue };
        let name = name.to_lowercase();
        // Upstream cannot tell an empty text from an absent one, and fills both.
        let given = network.get("serviceNetwork");
        if given.is_none_or(|given| given.is_null() || given.as_str() == Some("")) {
            network.insert("serviceNetwork".to_owned(), name.into());
        }
    }
}
