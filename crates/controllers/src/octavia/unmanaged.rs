//! Networks that somebody else looks after: they are found by their names, and it is told which are missing.

use landbridge_openstack::resources::{Network, Router, SecurityGroup, Subnet};
use landbridge_openstack::{Client, Error, Query};
use landbridge_plan::octavia::{Design, Tenant};

use super::look::project_id;
use super::names::{self, MGMT_GROUP, ROUTER};
use super::steps::Decision;

/// Looks; nothing is ever to be done.
pub async fn look(client: &Client, design: &Design) -> Result<Decision, Error> {
    let mut decision = Decision::default();
    let mut missing = Vec::new();
    let project = match project_id(client, &design.project, &design.domain).await? {
        Ok(project) => project,
        Err(why) => {
            decision.troubles.push(why);
            return Ok(decision);
        }
    };
    let named = |name: &str| Query::all().with("name", name);
    let owned = |name: &str| named(name).with("project_id", project.as_str());
    let default = names::tenant(&tenant(design, None));
    match client.list::<Network>(&owned(&default.network)).await?.into_iter().next() {
        Some(network) => decision.found.network = Some(network.id),
        None => missing.push(format!("network {}", default.network)),
    }
    match client.list::<SecurityGroup>(&owned(MGMT_GROUP)).await?.into_iter().next() {
        Some(group) => decision.found.group = Some(group.id),
        None => missing.push(format!("security group {MGMT_GROUP}")),
    }
    let zones = design.zones.iter().map(|zone| names::tenant(&tenant(design, Some(zone))).subnet);
    for name in [default.subnet.clone()].into_iter().chain(zones) {
        match client.list::<Subnet>(&owned(&name)).await?.into_iter().next() {
            Some(subnet) => decision.found.prefixes.push(subnet.cidr.to_string()),
            None => missing.push(format!("subnet {name}")),
        }
    }
    let routers = client.list::<Router>(&named(ROUTER)).await?;
    let gateway = routers.iter().find_map(|router| {
        let info = router.external_gateway_info.as_ref()?;
        Some(info.external_fixed_ips.first()?.ip_address.to_string())
    });
    match gateway {
        Some(gateway) => decision.found.gateway = Some(gateway),
        None => missing.push(format!("router {ROUTER} with an external address")),
    }
    if !missing.is_empty() {
        decision.troubles.push(format!(
            "manageLbMgmtNetworks is false, so nothing is made, and Neutron does not have: {}",
            missing.join(", ")
        ));
    }
    Ok(decision)
}

/// As far as names go.
fn tenant(design: &Design, zone: Option<&str>) -> Tenant {
    Tenant { zone: zone.map(str::to_owned), cidr: design.provider, pool: design.provider_pool }
}
