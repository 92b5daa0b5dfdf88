//! Nobody grants what he does not have: roles and bindings are judged by what their author holds.

use landbridge_machinery::gvk::GroupResource;
use landbridge_machinery::object;
use landbridge_machinery::rbac::{Attributes, Policy, RoleKind, Rule, uncovered};
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::Value;

use super::decide;
use crate::call::Call;

const RBAC: &str = "rbac.authorization.k8s.io";

/// Refuses a role or binding that gives more than its author has.
pub fn check(call: &Call<'_>, object: &Value, old: Option<&Value>) -> ApiResult<()> {
    if call.resource.group != RBAC || old.is_some_and(|old| same_rights(old, object)) {
        return Ok(());
    }
    match call.resource.plural.as_str() {
        "roles" | "clusterroles" => role(call, object, old),
        "rolebindings" | "clusterrolebindings" => binding(call, object),
        _ => Ok(()),
    }
}

/// Only what garbage collection needs to change differs.
fn same_rights(old: &Value, new: &Value) -> bool {
    let stripped = |object: &Value| {
        let mut object = object.clone();
        for field in ["finalizers", "ownerReferences", "resourceVersion", "managedFields"] {
            object::clear_meta(&mut object, field);
        }
        object
    };
    stripped(old) == stripped(new)
}

fn role(call: &Call<'_>, object: &Value, old: Option<&Value>) -> ApiResult<()> {
    if allowed(call, "escalate", &call.resource.plural, object::name(object)) {
        return Ok(());
    }
    let aggregates = |role: &Value| {
        role["aggregationRule"]["clusterRoleSelectors"].as_array().is_some_and(|s| !s.is_empty())
    };
    confirm(call, object, &Rule::of_role(object), None)?;
    if aggregates(object) || old.is_some_and(aggregates) {
        // Such a role can gather anything, so its author must hold everything.
        let all = || vec!["*".to_owned()];
        let everything = [
            Rule { verbs: all(), groups: all(), resources: all(), ..Rule::default() },
            Rule { verbs: all(), urls: all(), ..Rule::default() },
        ];
        let why = "must have cluster-admin privileges to use an aggregationRule: ";
        confirm(call, object, &everything, Some(why))?;
    }
    Ok(())
}

fn binding(call: &Call<'_>, object: &Value) -> ApiResult<()> {
    let reference = &object["roleRef"];
    let name = reference["name"].as_str().unwrap_or_default();
    let (kind, plural) = match reference["kind"].as_str() {
        Some("ClusterRole") => (RoleKind::ClusterRole, "clusterroles"),
        _ => (RoleKind::Role, "roles"),
    };
    if allowed(call, "bind", plural, name) {
        return Ok(());
    }
    let policy = policy(call);
    let namespace = call.namespace().unwrap_or_default();
    let Some(rules) = policy.role_rules(kind, namespace, name) else {
        return Err(ApiError::not_found(&GroupResource::new(RBAC, plural), name));
    };
    confirm(call, object, rules, None)
}

fn policy(call: &Call<'_>) -> std::sync::Arc<Policy> {
    call.server.access.policy(&call.server.store.snapshot())
}

fn allowed(call: &Call<'_>, verb: &str, resource: &str, name: &str) -> bool {
    let wanted = Attributes {
        user: &call.identity.user,
        groups: &call.identity.groups,
        verb,
        group: RBAC,
        resource,
        name,
        namespace: call.namespace().unwrap_or_default(),
        ..Attributes::default()
    };
    decide(call.server, &wanted, "").allowed()
}

fn confirm(
    call: &Call<'_>,
    object: &Value,
    wanted: &[Rule],
    prefix: Option<&str>,
) -> ApiResult<()> {
    let (user, groups) = (&call.identity.user, &call.identity.groups);
    let policy = policy(call);
    let held = policy.rules_for(user, groups, call.namespace().unwrap_or_default());
    let missing = uncovered(&held, wanted);
    if missing.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = missing.iter().map(ToString::to_string).collect();
    let quoted: Vec<String> = groups.iter().map(|group| format!("{group:?}")).collect();
    let why = format!(
        "{}user {user:?} (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{}",
        prefix.unwrap_or_default(),
        quoted.join(" "),
        lines.join("\n")
    );
    Err(ApiError::forbidden(&call.resource.group_resource(), object::name(object), &why))
}
