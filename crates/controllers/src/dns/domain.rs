//! Names and their servers as one [`Domain`].

use std::time::Duration;

use landbridge_machinery::object;
use serde_json::Value;

use super::publication::{self, Asked};
use super::{MANAGER, Settings, data, registration, server};
use crate::endpoints::domain::changes_addresses;
use crate::making::Domain;
use crate::making::kinds::{Kind, Role};
use crate::making::plan::{Context, Plan};
use crate::making::world::{Changed, HOSTS_LABEL, Spot, World};
use crate::mirror::Key;

/// See the [module](self).
#[derive(Debug)]
pub struct Names {
    settings: Settings,
}

impl Names {
    /// With these settings.
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }
}

impl Domain for Names {
    fn manager(&self) -> &'static str {
        MANAGER
    }

    fn kinds(&self) -> &[Kind] {
        &[
            Kind::DNSData,
            Kind::DNSMasq,
            Kind::Service,
            Kind::Deployment,
            Kind::ConfigMap,
            Kind::ServiceAccount,
            Kind::Role,
            Kind::RoleBinding,
            Kind::IPSet,
            Kind::Topology,
        ]
    }

    fn is_planned(&self, kind: Kind) -> bool {
        kind.role() == Role::Names
    }

    fn plan(&self, context: &Context<'_>) -> Plan {
        match context.kind {
            Kind::DNSData => data::plan(context),
            Kind::DNSMasq => server::plan(context, &self.settings),
            _ => Plan::default(),
        }
    }

    fn concerned(&self, world: &World, change: &Changed) -> Vec<Spot> {
        let Changed { spot: (kind, key), before, after } = change;
        let (before, after) = (before.as_deref(), after.as_deref());
        let servers = || {
            let all = world.list(Kind::DNSMasq, &key.namespace);
            all.map(|one| (Kind::DNSMasq, Key::new(&key.namespace, object::name(one))))
        };
        let mut concerned = Vec::new();
        let label = |map: Option<&Value>| map.is_some_and(is_labelled);
        match kind {
            Kind::ConfigMap if label(before) || label(after) => concerned.extend(servers()),
            Kind::Service if !registration::is_alike(before, after) => concerned.extend(servers()),
            Kind::IPSet if !publication::is_alike(before, after) => {
                let all = world.list(Kind::DNSMasq, &key.namespace);
                let asking = all.filter(|one| publication::asked(one) != Asked::Nothing);
                concerned.extend(
                    asking.map(|one| (Kind::DNSMasq, Key::new(&key.namespace, object::name(one)))),
                );
            }
            Kind::Topology => concerned.extend(servers()),
            _ => {}
        }
        // Somebody may have waited for the name, or have to say now who has it.
        if kind.role() != Role::Seen && before.is_none() != after.is_none() {
            concerned.extend(servers());
            concerned.push((Kind::DNSData, key.clone()));
        }
        // Whoever waits for an address says who has it, wherever that one is.
        if changes_addresses(change) {
            concerned.extend(world.spots(|kind| kind == Kind::DNSMasq));
        }
        concerned
    }

    /// A name that was changed should be answered at once.
    fn settle(&self) -> Duration {
        Duration::from_millis(2)
    }
}

fn is_labelled(map: &Value) -> bool {
    map["metadata"]["labels"].get(HOSTS_LABEL).is_some()
}
