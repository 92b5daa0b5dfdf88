//! Writes the rules of roles that are sums of others into them, for people and tools that read
//! them. What is allowed does not wait for this: the policy adds them up by itself.

use std::sync::Arc;

use landbridge_machinery::object;
use landbridge_machinery::rbac::{RoleKind, Rule};
use landbridge_machinery::status::ApiResult;
use serde_json::Value;

use crate::meta;
use crate::registry::Resource;
use crate::server::Inner;
use crate::system;
use crate::write::modify;

/// Follows the ClusterRoles for as long as the server lives.
pub async fn run(server: Arc<Inner>) {
    let registry = server.registry();
    let Some(roles) = registry.get("rbac.authorization.k8s.io", "clusterroles").cloned() else {
        return;
    };
    let prefix = roles.prefix(None);
    system::follow(
        &server,
        |_| vec![()],
        |event| if event.key.starts_with(&prefix) { vec![()] } else { Vec::new() },
        |()| {
            let (server, roles) = (Arc::clone(&server), Arc::clone(&roles));
            async move { reconcile(&server, &roles).await }
        },
    )
    .await;
}

async fn reconcile(server: &Inner, roles: &Resource) -> ApiResult<()> {
    let snapshot = server.store.snapshot();
    let policy = server.access.policy(&snapshot);
    for entry in snapshot.range(&roles.prefix(None), None) {
        let role = meta::parse(entry);
        if role["aggregationRule"].is_null() {
            continue;
        }
        let rules = policy.role_rules(RoleKind::ClusterRole, "", object::name(&role));
        let rules: Value = rules.unwrap_or_default().iter().map(Rule::to_value).collect();
        modify(server, roles, &entry.key, |role| {
            let changed = role["rules"] != rules && !role["aggregationRule"].is_null();
            if changed {
                role["rules"] = rules.clone();
            }
            changed
        })
        .await?;
    }
    Ok(())
}
