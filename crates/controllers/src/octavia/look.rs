//! Looks at what is in Neutron. The only reads there are; nothing is remembered between two looks.

use std::collections::{BTreeMap, BTreeSet};

use landbridge_openstack::resources::{Domain, Project};
use landbridge_openstack::{Call, Client, Error, Query, Resource, Service};
use landbridge_plan::octavia::Design;
use serde::Deserialize;
use serde_json::Value;

use super::marks::{Noted, Owner, is_role};
use super::names::{self, ADMIN_DOMAIN, ADMIN_PROJECT, GROUPS, PROVIDER_NETWORK, ROUTER};
use super::seen::{Seen, Thing};

/// What of a kind is read: everything, as it comes.
macro_rules! raw {
    ($($name:ident $path:literal $plural:literal $singular:literal;)*) => {
        $(#[derive(Clone, Debug, PartialEq, Deserialize)]
        #[serde(transparent)]
        struct $name(Value);

        impl Resource for $name {
            type New = Value;
            type Change = Value;
            const SERVICE: Service = Service::Network;
            const PATH: &'static str = $path;
            const PLURAL: &'static str = $plural;
            const SINGULAR: &'static str = $singular;

            fn id(&self) -> &str {
                self.0["id"].as_str().unwrap_or_default()
            }
            fn name(&self) -> &str {
                self.0["name"].as_str().unwrap_or_default()
            }
            fn trace(_: &Value) -> Option<Query> {
                None
            }
            fn is_trace(&self, _: &Value) -> bool {
                false
            }
        }

        impl From<$name> for Thing {
            fn from(raw: $name) -> Self {
                Self::new(raw.0)
            }
        })*
    };
}

raw! {
    Network "/networks" "networks" "network";
    Subnet "/subnets" "subnets" "subnet";
    Port "/ports" "ports" "port";
    Router "/routers" "routers" "router";
    Group "/security-groups" "security_groups" "security_group";
    Policy "/rbac-policies" "rbac_policies" "rbac_policy";
}

/// Neutron's words for ports of routers.
const ROUTER_PORTS: [&str; 3] = [
    "network:router_interface",
    "network:router_interface_distributed",
    "network:ha_router_replicated_interface",
];

/// Looks at everything the design needs, and whatever carries the owner's marks.
pub async fn look(
    client: &Client,
    owner: &Owner,
    design: &Design,
    is_careful: bool,
) -> Result<(Seen, Vec<String>), Error> {
    let mut seen = Seen::default();
    let mut missing = Vec::new();
    for (name, domain, found) in [
        (design.project.as_str(), design.domain.as_str(), &mut seen.project),
        (ADMIN_PROJECT, ADMIN_DOMAIN, &mut seen.admin),
    ] {
        match project_id(client, name, domain).await? {
            Ok(id) => *found = Some(id),
            Err(why) => missing.push(why),
        }
    }
    if !missing.is_empty() {
        return Ok((seen, missing));
    }
    let tenants: Vec<_> = design.tenants.iter().map(names::tenant).collect();
    let network_names =
        tenants.iter().map(|names| names.network.as_str()).chain([PROVIDER_NETWORK]);
    let port_names: Vec<&str> = tenants.iter().map(|names| names.port.as_str()).collect();
    let births = if is_careful { vec![one("description", owner.birth())] } else { Vec::new() };
    let with_births = |queries: &[Query]| [queries, &births].concat();
    let queries = with_births(&[any("name", network_names), one("tags", owner.tag())]);
    seen.networks = all::<Network>(client, &queries).await?;
    let names = any("name", GROUPS.iter().map(|(name, ..)| *name));
    seen.groups = all::<Group>(client, &with_births(&[names, one("tags", owner.tag())])).await?;
    let routers = with_births(&[one("name", ROUTER)]);
    below(client, &mut seen, &port_names, &routers, &births).await?;
    let is_provider =
        |network: &&Thing| network.name() == PROVIDER_NETWORK || is_role(network, PROVIDER_NETWORK);
    let providers: Vec<&str> = seen.networks.iter().filter(is_provider).map(Thing::id).collect();
    if !providers.is_empty() {
        seen.policies = all::<Policy>(client, &[any("object_id", providers)]).await?;
    }
    if let Some(project) = &seen.project {
        let call = Call::get(Service::Network, format!("/quotas/{project}"));
        let mut body = client.call(call).await?.body;
        seen.quota = Some(Thing::new(body["quota"].take()));
    }
    Ok((seen, missing))
}

/// Looks at what carries the owner's marks, whatever it was made for.
pub async fn look_for_marks(client: &Client, owner: &Owner) -> Result<Seen, Error> {
    let mut seen = Seen::default();
    let queries = [one("tags", owner.tag()), one("description", owner.birth())];
    seen.networks = all::<Network>(client, &queries).await?;
    seen.groups = all::<Group>(client, &queries).await?;
    let births = [one("description", owner.birth())];
    below(client, &mut seen, &[], &[births[0].clone(), one("name", ROUTER)], &births).await?;
    if !seen.networks.is_empty() {
        // Ports that were there before may have our groups.
        let plugged = any("device_owner", ROUTER_PORTS);
        let query = seen.networks.iter().fold(plugged, |query, n| query.with("network_id", n.id()));
        let more = all::<Port>(client, &[query]).await?;
        seen.ports.extend(more);
    }
    seen.ports.sort_by(|a, b| a.id().cmp(b.id()));
    seen.ports.dedup_by(|a, b| a.id() == b.id());
    Ok(seen)
}

/// Looks at who is on a network. Some are enough: whoever is there is in the way.
pub async fn users(client: &Client, network: &str) -> Result<Vec<Thing>, Error> {
    let query = one("network_id", network).with("limit", "100");
    let mut body = client.call(Call::get(Service::Network, "/ports").with(query)).await?.body;
    let Value::Array(ports) = body["ports"].take() else { return Ok(Vec::new()) };
    Ok(ports.into_iter().map(Thing::new).collect())
}

/// What is on the networks, or noted on them.
async fn below(
    client: &Client,
    seen: &mut Seen,
    port_names: &[&str],
    routers: &[Query],
    ports: &[Query],
) -> Result<(), Error> {
    let networks: Vec<&str> = seen.networks.iter().map(Thing::id).collect();
    let notes = |what: Noted| -> BTreeSet<&str> {
        seen.networks.iter().flat_map(|network| what.ids(network.tags())).collect()
    };
    if !networks.is_empty() {
        seen.subnets =
            all::<Subnet>(client, &[any("network_id", networks.iter().copied())]).await?;
    }
    let mut queries = ports.to_vec();
    if !networks.is_empty() && !port_names.is_empty() {
        let named = any("name", port_names.iter().copied());
        queries.push(networks.iter().fold(named, |query, id| query.with("network_id", *id)));
    }
    let noted = notes(Noted::Port);
    if !noted.is_empty() {
        queries.push(any("id", noted));
    }
    let ports = all::<Port>(client, &queries).await?;
    let mut queries = routers.to_vec();
    let noted = notes(Noted::Router);
    if !noted.is_empty() {
        queries.push(any("id", noted));
    }
    seen.routers = all::<Router>(client, &queries).await?;
    seen.ports = ports;
    Ok(())
}

/// The id of a project, or why there is none.
pub(super) async fn project_id(
    client: &Client,
    name: &str,
    domain: &str,
) -> Result<Result<String, String>, Error> {
    let domains: Vec<Domain> = client.list(&Query::all().with("name", domain)).await?;
    let Some(place) = domains.iter().find(|one| one.name == domain) else {
        return Ok(Err(format!("Keystone has no domain {domain}")));
    };
    let query = Query::all().with("name", name).with("domain_id", place.id.as_str());
    let found: Vec<Project> = client.list(&query).await?;
    Ok(match found.into_iter().find(|one| one.name == name) {
        Some(found) => Ok(found.id),
        None => Err(format!("Keystone has no project {name} in domain {domain}")),
    })
}

/// Everything that fits one of the queries, each once.
async fn all<R: Resource + Into<Thing>>(
    client: &Client,
    queries: &[Query],
) -> Result<Vec<Thing>, Error> {
    let mut found: BTreeMap<String, Thing> = BTreeMap::new();
    for query in queries {
        for one in client.list::<R>(query).await? {
            found.insert(one.id().to_owned(), one.into());
        }
    }
    Ok(found.into_values().collect())
}

/// Neutron takes a filter that is given several times as one or the other.
fn any<'v>(field: &str, values: impl IntoIterator<Item = &'v str>) -> Query {
    values.into_iter().fold(Query::all(), |query, value| query.with(field, value))
}

fn one(field: &str, value: &str) -> Query {
    Query::all().with(field, value)
}
