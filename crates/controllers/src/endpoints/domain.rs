//! Control planes and services as one [`Domain`].

use std::sync::Arc;
use std::time::Duration;

use landbridge_machinery::object;
use serde_json::Value;

use super::kinds::{Kind, Role};
use super::plan::{Context, Plan};
use super::world::{Changed, Spot, World};
use super::{MANAGER, control_plane, service};
use crate::making::Domain;
use crate::mirror::Key;

/// See the [module](self).
#[derive(Debug)]
pub struct Endpoints {
    kinds: Vec<Kind>,
}

/// What only names need.
const OTHERS: &[Kind] = &[
    Kind::ConfigMap,
    Kind::ServiceAccount,
    Kind::Role,
    Kind::RoleBinding,
    Kind::IPSet,
    Kind::Topology,
];

impl Default for Endpoints {
    fn default() -> Self {
        let kinds = Kind::ALL.iter().copied().filter(|kind| !OTHERS.contains(kind));
        Self { kinds: kinds.collect() }
    }
}

impl Domain for Endpoints {
    fn manager(&self) -> &'static str {
        MANAGER
    }

    fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    fn is_planned(&self, kind: Kind) -> bool {
        matches!(kind.role(), Role::Plane | Role::Service)
    }

    fn plan(&self, context: &Context<'_>) -> Plan {
        match context.kind.role() {
            Role::Plane => control_plane::plan(context),
            Role::Service => service::plan(context),
            Role::Names | Role::Made | Role::Seen => Plan::default(),
        }
    }

    fn concerned(&self, world: &World, change: &Changed) -> Vec<Spot> {
        let Changed { spot: (kind, key), before, after } = change;
        let mut concerned = match kind {
            // Services look at what their control plane says for all.
            Kind::OpenStackControlPlane => {
                let uids = [before, after].into_iter().flatten().map(|object| object::uid(object));
                let owned = uids.flat_map(|uid| world.owned_by(uid));
                owned
                    .filter(|(kind, _)| self.is_planned(*kind))
                    .map(|(kind, o)| (kind, Key::new(object::namespace(o), object::name(o))))
                    .collect()
            }
            Kind::NetworkAttachmentDefinition => self.all_of(world, &key.namespace),
            Kind::Pod => {
                let mut states = [before, after].into_iter().flatten();
                if states.any(|pod| pod["metadata"]["labels"]["service"].is_string()) {
                    self.all_of(world, &key.namespace)
                } else {
                    Vec::new()
                }
            }
            // Somebody may have waited for the name, or have to say now who has it.
            _ if matches!(kind.role(), Role::Made | Role::Names)
                && before.is_none() != after.is_none() =>
            {
                self.all_of(world, &key.namespace)
            }
            _ => Vec::new(),
        };
        // Whoever waits for an address says who has it, wherever that one is.
        if changes_addresses(change) {
            concerned.extend(world.spots(|kind| self.is_planned(kind)));
        }
        concerned
    }

    /// Pods of a workload start together.
    fn settle(&self) -> Duration {
        Duration::from_millis(20)
    }
}

impl Endpoints {
    fn all_of(&self, world: &World, namespace: &str) -> Vec<Spot> {
        let services = self.kinds.iter().filter(|kind| self.is_planned(**kind));
        let spots = services.flat_map(|kind| {
            let all = world.list(*kind, namespace);
            all.map(|object| (*kind, Key::new(namespace, object::name(object))))
        });
        spots.collect()
    }
}

/// Whether a Service got or lost virtual addresses.
pub fn changes_addresses(change: &Changed) -> bool {
    let balancer = |object: &Option<Arc<Value>>| {
        object.as_ref().map(|object| object["status"]["loadBalancer"].clone())
    };
    let has_any = |status: Option<&Value>| status.is_some_and(|s| !s["ingress"].is_null());
    let (old, new) = (balancer(&change.before), balancer(&change.after));
    change.spot.0 == Kind::Service && old != new && (has_any(old.as_ref()) || has_any(new.as_ref()))
}
