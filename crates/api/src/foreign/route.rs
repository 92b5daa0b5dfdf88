//! Route: a name by which a Service is reached from outside, as OpenShift has it.
//!
//! OpenShift's API fills in the host when it is left out, from name, namespace and the domain of the
//! cluster's ingress. The embedded API does the same, so controllers need not know the domain.

use landbridge_machinery::hooks::{Hooks, Operation, Request};
use landbridge_machinery::object;
use landbridge_machinery::status::ApiResult;
use serde_json::Value;

/// The API group.
pub const GROUP: &str = "route.openshift.io";
/// The kind.
pub const KIND: &str = "Route";

/// The host a Route answers to; `None` as long as nobody has given it one.
pub fn host(route: &Value) -> Option<&str> {
    let given = route["spec"]["host"].as_str().filter(|host| !host.is_empty());
    given.or_else(|| route["status"]["ingress"][0]["host"].as_str().filter(|host| !host.is_empty()))
}

/// Why the ingress does not take the Route, if it says so.
pub fn refusal(route: &Value) -> Option<String> {
    let ingress = route["status"]["ingress"].as_array()?;
    let conditions = ingress.iter().filter_map(|one| one["conditions"].as_array()).flatten();
    let refused = conditions
        .filter(|condition| condition["type"] == "Admitted" && condition["status"] == "False");
    refused
        .map(|condition| {
            let part = |field: &str| condition[field].as_str().unwrap_or_default();
            let (reason, message) = (part("reason"), part("message"));
            if message.is_empty() { reason.to_owned() } else { format!("{reason}: {message}") }
        })
        .next()
}

/// Fills in the host.
pub struct RouteHooks {
    domain: String,
}

impl RouteHooks {
    /// For an ingress of that domain.
    pub fn new(domain: impl Into<String>) -> Self {
        Self { domain: domain.into() }
    }
}

impl Hooks for RouteHooks {
    fn mutate(&self, request: &Request<'_>, route: &mut Value) -> ApiResult<()> {
        if request.operation == Operation::Delete || !route["spec"].is_object() {
            return Ok(());
        }
        if route["spec"]["host"].as_str().is_none_or(str::is_empty) {
            let name = Some(object::name(route)).filter(|name| !name.is_empty());
            let name = name.unwrap_or(request.name);
            let namespace = request.namespace.unwrap_or_default();
            if name.is_empty() {
                return Ok(()); // the server has not made the name up yet
            }
            route["spec"]["host"] = format!("{name}-{namespace}.{}", self.domain).into();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_host_is_the_one_that_is_asked_for_or_else_given() {
        assert_eq!(host(&json!({"spec": {"host": "a"}})), Some("a"));
        let given = json!({"spec": {}, "status": {"ingress": [{"host": "b"}]}});
        assert_eq!(host(&given), Some("b"));
        assert_eq!(host(&json!({"spec": {"host": ""}})), None);
    }

    #[test]
    fn only_a_refusal_is_one() {
        let with = |status: &str| {
            json!({"status": {"ingress": [{"conditions": [
                {"type": "Admitted", "status": status, "reason": "HostAlreadyClaimed", "message": "by x"}]}]}})
        };
        assert_eq!(refusal(&with("False")).as_deref(), Some("HostAlreadyClaimed: by x"));
        assert_eq!(refusal(&with("True")), None);
        assert_eq!(refusal(&json!({})), None);
    }
}
