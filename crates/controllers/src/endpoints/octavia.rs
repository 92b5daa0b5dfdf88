//! What only Octavia has: pods that know the way to amphorae, and a condition that the controller of the management
//! network tells.

use landbridge_api::condition::{Condition, ConditionStatus, Conditions, Severity};
use landbridge_api::foreign::Node;
use landbridge_plan::octavia::{attachment_name, design};
use serde::Deserialize as _;

use super::kinds::Kind;
use super::parts::{Part, Runs};
use super::plan::Context;
use super::service::{ERROR, REQUESTED};
use crate::octavia::assess::CONDITION;

/// Pods of the controllers find prefixes and router in their environment, as upstream's have them: what starts them
/// adds the routes.
pub(super) fn environment(context: &Context<'_>, parts: &mut [Part<'_>]) {
    if context.kind != Kind::Octavia {
        return;
    }
    let name = attachment_name(context.spec());
    let definition =
        context.world.get(Kind::NetworkAttachmentDefinition, context.namespace(), name);
    let found = design(&Node::root(context.spec()), definition.map(|nad| &**nad)).design;
    let Some(found) = found else { return };
    let mut env = vec![("NODE_NAME".to_owned(), None)];
    if let Some(tenant) = found.default_tenant() {
        env.push(("MGMT_CIDR".to_owned(), Some(tenant.cidr.to_string())));
    }
    env.extend(found.gateway.map(|ip| ("MGMT_GATEWAY".to_owned(), Some(ip.to_string()))));
    let zones = found.tenants.iter().filter(|tenant| tenant.zone.is_some());
    let mut prefixes: Vec<String> = zones.map(|tenant| tenant.cidr.to_string()).collect();
    prefixes.sort();
    for (number, prefix) in prefixes.into_iter().enumerate() {
        env.push((format!("MGMT_CIDR{number}"), Some(prefix)));
    }
    for part in parts.iter_mut().filter(|part| part.runs == Runs::DaemonSet) {
        part.env.clone_from(&env);
    }
}

/// What the controller of the management network says stays, and counts.
pub(super) fn keep(context: &Context<'_>, said: &mut Conditions) {
    if context.kind != Kind::Octavia {
        return;
    }
    let before = &context.owner["status"]["conditions"];
    let before = Vec::<Condition>::deserialize(before).unwrap_or_default();
    let Some(known) = before.into_iter().find(|known| known.type_ == CONDITION) else { return };
    match known.status {
        ConditionStatus::True => said.good(CONDITION, known.message),
        ConditionStatus::Unknown => said.unknown(CONDITION, known.message),
        ConditionStatus::False => {
            let reason = if known.severity == Severity::Info { REQUESTED } else { ERROR };
            said.bad(CONDITION, known.severity, reason, known.message);
        }
    }
}
