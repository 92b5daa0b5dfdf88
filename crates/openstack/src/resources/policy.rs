//! Who may use what of others, and how much.

use serde::{Deserialize, Serialize};

use super::{or_default, request, resource};

/// Something of one project that another may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RbacPolicy {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub project_id: String,
    pub object_type: String,
    pub object_id: String,
    /// For example `access_as_external`.
    pub action: String,
    /// A project, or `*`.
    #[serde(alias = "target_project", alias = "target_project_id")]
    pub target_tenant: String,
}

request!(
    /// What is to be allowed.
    NewRbacPolicy {
        object_type: String,
        object_id: String,
        action: String,
        target_tenant: String,
        project_id: String,
    }
);

request!(
    /// For whom it is to be allowed instead.
    RbacPolicyChange {
        target_tenant: String,
    }
);

resource!(RbacPolicy (NewRbacPolicy, RbacPolicyChange) = Network "/rbac-policies" "rbac_policies" "rbac_policy",
name action, revision uncounted,
trace [
    "object_type" object_type = |it| Some(it.object_type.clone()),
    "object_id" object_id = |it| Some(it.object_id.clone()),
    "action" action = |it| Some(it.action.clone()),
    "target_tenant" target_tenant = |it| Some(it.target_tenant.clone()),
]);

/// How many of each a project may have; -1 is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    #[serde(default)]
    pub network: i64,
    #[serde(default)]
    pub subnet: i64,
    #[serde(default)]
    pub port: i64,
    #[serde(default)]
    pub router: i64,
    #[serde(default)]
    pub floatingip: i64,
    #[serde(default)]
    pub security_group: i64,
    #[serde(default)]
    pub security_group_rule: i64,
    #[serde(default)]
    pub rbac_policy: i64,
    #[serde(default = "no_limit")]
    pub subnetpool: i64,
    #[serde(default = "no_limit")]
    pub trunk: i64,
}

fn no_limit() -> i64 {
    -1
}

request!(
    /// What is to be different about a quota.
    QuotaChange {
        network: i64,
        subnet: i64,
        port: i64,
        router: i64,
        floatingip: i64,
        security_group: i64,
        security_group_rule: i64,
        rbac_policy: i64,
        subnetpool: i64,
        trunk: i64,
    }
);
