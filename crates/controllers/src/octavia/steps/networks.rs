//! Networks, their subnets, and who may use the one that is external.

use landbridge_api::net::{Cidr, Family, Range};
use landbridge_openstack::{Call, Service};
use landbridge_plan::octavia::{Design, PHYSICAL_NETWORK};
use serde_json::{Map, Value, json};

use super::super::names::{
    self, PROVIDER_DESCRIPTION, PROVIDER_NETWORK, PROVIDER_SUBNET, PROVIDER_SUBNET_DESCRIPTION,
    TenantNames,
};
use super::super::seen::Thing;
use super::super::usual;
use super::{Kind, Wanted, Work, map};

/// A network and its subnet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Laid<'a> {
    pub network: &'a Thing,
    /// Not there yet, or not as it has to be.
    pub subnet: Option<&'a Thing>,
}

/// What a subnet should be like.
struct Prefix<'p> {
    name: &'p str,
    description: &'p str,
    cidr: Cidr,
    pool: Range,
    /// Whether hosts make their own addresses where they can.
    is_tenants: bool,
}

/// How something can be put right that Neutron cannot change.
const REMEDY: &str = "put the attachment or the Octavia back to what it was; or delete the load balancers and \
    set the annotation landbridge.dev/recreate: \"true\" on the Octavia, then the network is made anew";

impl<'a> Work<'a> {
    pub(super) fn provider(&mut self, design: &Design, admin: &str) -> Option<Laid<'a>> {
        let mut new = map(json!({"admin_state_up": true, "router:external": true}));
        if !design.zones.is_empty() {
            new.insert("availability_zone_hints".to_owned(), json!(design.zones));
        }
        let wanted = Wanted {
            kind: Kind::Network,
            name: PROVIDER_NETWORK,
            project: Some(admin),
            new,
            fields: fields(PROVIDER_DESCRIPTION, true),
            fixed: map(json!({
                "provider:network_type": "flat", "provider:physical_network": PHYSICAL_NETWORK,
            })),
        };
        let prefix = Prefix {
            name: PROVIDER_SUBNET,
            description: PROVIDER_SUBNET_DESCRIPTION,
            cidr: design.provider,
            pool: design.provider_pool,
            is_tenants: false,
        };
        let laid = self.lay(&wanted, &prefix, &design.zones)?;
        let is_made = self.is_made(laid.network);
        self.narrow(laid.network, admin, is_made);
        Some(laid)
    }

    /// One entry for each network of the design.
    pub(super) fn tenants(
        &mut self,
        design: &Design,
        project: &str,
    ) -> Vec<(TenantNames, Option<Laid<'a>>)> {
        let mut found = Vec::new();
        for tenant in &design.tenants {
            let names = names::tenant(tenant);
            let zones = match &tenant.zone {
                Some(zone) => vec![zone.clone()],
                None => design.zones.clone(),
            };
            let mut new = map(json!({"admin_state_up": true}));
            if !zones.is_empty() {
                new.insert("availability_zone_hints".to_owned(), json!(zones));
            }
            let wanted = Wanted {
                kind: Kind::Network,
                name: &names.network,
                project: Some(project),
                new,
                fields: fields(&names.network_description, false),
                fixed: map(json!({})),
            };
            let prefix = Prefix {
                name: &names.subnet,
                description: &names.subnet_description,
                cidr: tenant.cidr,
                pool: tenant.pool,
                is_tenants: true,
            };
            let laid = self.lay(&wanted, &prefix, &zones);
            if let Some(laid) = laid {
                if tenant.zone.is_none() {
                    self.decision.found.network = Some(laid.network.id().to_owned());
                }
                self.decision.found.prefixes.push(tenant.cidr.to_string());
            }
            found.push((names, laid));
        }
        found
    }

    fn lay(
        &mut self,
        wanted: &Wanted<'_>,
        prefix: &Prefix<'_>,
        zones: &[String],
    ) -> Option<Laid<'a>> {
        let choice = self.tagged(wanted, self.seen.networks.iter());
        let network = choice.one?;
        self.kept.push((network, choice.is_made));
        let mut immovable = wanted.immovable(network);
        // Zones are compared as a set, and only where Neutron knows any.
        let hints = Wanted {
            fixed: map(json!({"availability_zone_hints": zones})),
            new: map(json!({})),
            fields: map(json!({})),
            ..*wanted
        };
        immovable.extend(hints.immovable(network));
        let subnet = self.subnet(network, prefix, &mut immovable);
        if immovable.is_empty() {
            return Some(Laid { network, subnet });
        }
        if self.options.may_recreate && choice.is_made {
            self.doomed.insert(network.id().to_owned());
            return None;
        }
        let what = immovable.join("; ");
        self.trouble(format!("{what}: {REMEDY}"));
        Some(Laid { network, subnet })
    }

    /// The subnet, once it is the right one.
    fn subnet(
        &mut self,
        network: &'a Thing,
        prefix: &Prefix<'_>,
        immovable: &mut Vec<String>,
    ) -> Option<&'a Thing> {
        let (cidr, pool) = (prefix.cidr, prefix.pool);
        let version = if cidr.family() == Family::V4 { 4 } else { 6 };
        let mut fixed = map(json!({"cidr": cidr.to_string(), "ip_version": version}));
        if version == 6 && prefix.is_tenants {
            fixed.insert("ipv6_address_mode".to_owned(), "slaac".into());
            fixed.insert("ipv6_ra_mode".to_owned(), "slaac".into());
        }
        let pools = json!([{"start": pool.first().to_string(), "end": pool.last().to_string()}]);
        let mut fields = usual::subnet();
        fields.extend(map(json!({
            "description": prefix.description, "gateway_ip": null, "allocation_pools": pools,
        })));
        if !prefix.is_tenants {
            fields.insert("host_routes".to_owned(), json!([]));
        }
        let wanted = Wanted {
            kind: Kind::Subnet,
            name: prefix.name,
            project: None,
            new: map(json!({
                "network_id": network.id(), "project_id": network.project(),
                "gateway_ip": null, "allocation_pools": pools,
            })),
            fields,
            fixed,
        };
        let on_it = self.seen.subnets.iter().filter(|one| one.text("network_id") == network.id());
        // Mended only if it can be: half of a change is worse than none.
        let mut trial = Work::new(self.owner, self.seen, self.options);
        let choice = trial.tagged(&wanted, on_it);
        let wrong = choice.one.map(|one| wanted.immovable(one)).unwrap_or_default();
        if wrong.is_empty() {
            for step in trial.decision.steps {
                self.step(step.title, step.call);
            }
        }
        for trouble in trial.decision.troubles {
            self.trouble(trouble);
        }
        let is_right = wrong.is_empty();
        immovable.extend(wrong);
        choice.one.filter(|_| is_right)
    }

    /// An external network is everybody's unless somebody narrows it. One that was made here is for the project of
    /// the router alone; one that was there before may be lent to others by name.
    fn narrow(&mut self, network: &Thing, admin: &str, is_made: bool) {
        let mut others: Vec<&Thing> = Vec::new();
        let mut is_narrowed = false;
        for policy in &self.seen.policies {
            let is_external = policy.text("action") == "access_as_external";
            if policy.text("object_id") != network.id() || !is_external {
                continue;
            }
            let target = target_of(policy);
            is_narrowed |= target == admin;
            if target != admin && (target == "*" || is_made) {
                others.push(policy);
            }
        }
        others.sort_by_key(|policy| policy.id());
        let title = || format!("keep other projects off network {PROVIDER_NETWORK}");
        for policy in others {
            let path = format!("/rbac-policies/{}", policy.id());
            let call = if is_narrowed {
                Call::delete(Service::Network, path)
            } else {
                is_narrowed = true;
                let body = json!({"rbac_policy": {"target_tenant": admin}});
                Call::put(Service::Network, path, body)
            };
            self.step(title(), call);
        }
        if !is_narrowed && is_made {
            let body = json!({"rbac_policy": {
                "object_type": "network", "object_id": network.id(), "action": "access_as_external",
                "target_tenant": admin,
            }});
            self.step(title(), Call::post(Service::Network, "/rbac-policies", body));
        }
    }
}

/// What is kept of a network.
fn fields(description: &str, is_external: bool) -> Map<String, Value> {
    let mut fields = usual::network();
    fields.extend(map(json!({
        "description": description, "admin_state_up": true, "router:external": is_external,
    })));
    fields
}

fn target_of(policy: &Thing) -> &str {
    let target = policy.get("target_tenant").or_else(|| policy.get("target_project"));
    target.and_then(Value::as_str).unwrap_or_default()
}
