//! What has to be done in Keystone for one record: a function of what is declared and what is there.

use std::collections::BTreeMap;

use landbridge_openstack::resources::{
    Endpoint, EndpointChange, NewEndpoint, NewRegion, NewService, RegisteredService, ServiceChange,
};

use super::record::{Kind, Record};
use super::steps::{Seen, Step};

/// Interfaces that Keystone knows.
const INTERFACES: [&str; 3] = ["admin", "internal", "public"];

/// What has to be done for one record, and what is known about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Planned {
    /// In this order.
    pub steps: Vec<Step>,
    /// What only people can put right.
    pub troubles: Vec<String>,
    /// What it waits for, which comes by itself.
    pub waits: Vec<String>,
    /// The service: its id, or an empty text as long as there is none.
    pub service: Option<String>,
    /// The endpoints by interface, likewise.
    pub endpoints: BTreeMap<String, String>,
}

/// Everything that matters for a plan.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// All records of all namespaces.
    pub records: &'a [Record],
    /// What Keystone holds.
    pub seen: &'a Seen,
    /// The region of endpoints.
    pub region: &'a str,
}

/// Plans for a record.
pub fn plan(record: &Record, around: Around<'_>) -> Planned {
    match (record.kind, record.is_leaving()) {
        (Kind::Service, false) => keep_service(record, around),
        (Kind::Service, true) => remove_service(record, around),
        (Kind::Endpoint, false) => keep_endpoints(record, around),
        (Kind::Endpoint, true) => remove_endpoints(record, around),
    }
}

/// Which service of Keystone a record means.
enum Meant<'s> {
    None,
    One(&'s RegisteredService),
    Many(Vec<&'s str>),
}

fn meant<'s>(record: &Record, seen: &'s Seen) -> Meant<'s> {
    let claim = record.service_claim().unwrap_or_default();
    if let Some(claimed) = seen.services.iter().find(|service| service.id == claim) {
        return Meant::One(claimed);
    }
    let wanted = record.declared();
    let fits =
        |service: &&RegisteredService| service.name == wanted.name && service.type_ == wanted.type_;
    let mut found = seen.services.iter().filter(fits);
    match (found.next(), found.next()) {
        (None, _) => Meant::None,
        (Some(one), None) => Meant::One(one),
        _ => Meant::Many(seen.services.iter().filter(fits).map(|s| s.id.as_str()).collect()),
    }
}

/// Another record that declares the same service, and is older.
fn rival<'a>(record: &Record, records: &'a [Record]) -> Option<&'a Record> {
    let own = record.declared();
    records.iter().find(|other| {
        let theirs = other.declared();
        other.kind == Kind::Service
            && !other.is_leaving()
            && other.uid() != record.uid()
            && (theirs.name, theirs.type_) == (own.name, own.type_)
            && (record.is_leaving() || other.age() < record.age())
    })
}

fn keep_service(record: &Record, around: Around<'_>) -> Planned {
    let wanted = record.declared();
    let mut planned = Planned { service: Some(String::new()), ..Planned::default() };
    if let Some(other) = rival(record, around.records) {
        let text = format!("service {} is declared by {} already", wanted.name, other.key);
        planned.troubles.push(text);
        planned.service = None;
        return planned;
    }
    for (field, value) in [("serviceName", wanted.name), ("serviceType", wanted.type_)] {
        if value.is_empty() {
            planned.troubles.push(format!("spec.{field} is empty"));
        }
    }
    if !planned.troubles.is_empty() {
        return planned;
    }
    match meant(record, around.seen) {
        Meant::None => planned.steps.push(Step::CreateService(NewService {
            name: Some(wanted.name.to_owned()),
            type_: Some(wanted.type_.to_owned()),
            description: Some(wanted.description.to_owned()),
            enabled: Some(wanted.enabled),
        })),
        Meant::One(found) => {
            planned.service = Some(found.id.clone());
            let other = |wanted: &str, found: &str| (wanted != found).then(|| wanted.to_owned());
            let change = ServiceChange {
                name: other(wanted.name, &found.name),
                type_: other(wanted.type_, &found.type_),
                description: other(wanted.description, &found.description),
                enabled: (wanted.enabled != found.enabled).then_some(wanted.enabled),
            };
            if !change.is_empty() {
                planned.steps.push(Step::UpdateService(found.id.clone(), change));
            }
        }
        Meant::Many(ids) => planned.troubles.push(format!(
            "Keystone has {} services {} of type {} ({}): delete those that are not meant",
            ids.len(),
            wanted.name,
            wanted.type_,
            ids.join(", ")
        )),
    }
    planned
}

fn remove_service(record: &Record, around: Around<'_>) -> Planned {
    let mut planned = Planned::default();
    // What was never claimed was never made, and what somebody else declares stays.
    if record.service_claim().is_none() || rival(record, around.records).is_some() {
        return planned;
    }
    let name = record.declared().name;
    let leaving = around.records.iter().find(|other| {
        other.kind == Kind::Endpoint
            && other.is_leaving()
            && other.is_held()
            && other.key.namespace == record.key.namespace
            && other.service_name() == name
    });
    if let Some(endpoint) = leaving {
        planned.waits.push(format!("KeystoneEndpoint {} to be taken out", endpoint.key));
        return planned;
    }
    if let Meant::One(found) = meant(record, around.seen) {
        planned.steps.push(Step::DeleteService(found.id.clone()));
    }
    planned
}

/// The service of a KeystoneEndpoint, in Keystone.
fn service_of<'s>(record: &Record, around: Around<'s>) -> Result<&'s str, Lacking> {
    let name = record.service_name();
    let declared = around.records.iter().find(|other| {
        other.kind == Kind::Service
            && other.key.namespace == record.key.namespace
            && other.declared().name == name
            && !other.is_leaving()
    });
    if let Some(declared) = declared {
        return match meant(declared, around.seen) {
            Meant::One(found) => Ok(&found.id),
            // What is wrong with it stands there.
            _ => Err(Lacking::Coming(format!("KeystoneService {}", declared.key))),
        };
    }
    let mut found = around.seen.services.iter().filter(|service| service.name == name);
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(&one.id),
        (None, _) => Err(Lacking::Missing(format!("Keystone has no service {name}"))),
        _ => Err(Lacking::Missing(format!(
            "Keystone has several services {name}, and there is no KeystoneService that says which \
             type is meant"
        ))),
    }
}

enum Lacking {
    Coming(String),
    Missing(String),
}

fn keep_endpoints(record: &Record, around: Around<'_>) -> Planned {
    let mut planned = Planned::default();
    let claims = record.endpoint_claims();
    let own = |text: &str| text.to_owned();
    planned.endpoints = claims.iter().map(|(name, id)| (own(name), own(id))).collect();
    let service = match service_of(record, around) {
        Ok(id) => id,
        Err(Lacking::Coming(what)) => {
            planned.waits.push(what);
            return planned;
        }
        Err(Lacking::Missing(why)) => {
            planned.troubles.push(why);
            return planned;
        }
    };
    planned.service = Some(service.to_owned());
    if !around.seen.regions.iter().any(|region| region.id == around.region) {
        let id = Some(around.region.to_owned());
        planned.steps.push(Step::CreateRegion(NewRegion { id, ..NewRegion::default() }));
    }
    let urls = record.urls();
    for (interface, url) in &urls {
        match refused(interface, url) {
            Some(why) => planned.troubles.push(why),
            None => keep_endpoint(record, around, service, (interface, url), &mut planned),
        }
    }
    // Interfaces that are not declared any more.
    for (interface, id) in claims.iter().filter(|(interface, _)| !urls.contains_key(*interface)) {
        let left = remove_endpoint(around, service, interface, id);
        if left.is_empty() {
            planned.endpoints.remove(*interface);
        }
        planned.steps.extend(left);
    }
    planned
}

/// Why Keystone would not take it, or nobody could use it.
fn refused(interface: &str, url: &str) -> Option<String> {
    if !INTERFACES.contains(&interface) {
        let known = INTERFACES.join(", ");
        return Some(format!("spec.endpoints.{interface} cannot be: Keystone knows {known}"));
    }
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    // Placeholders such as %(tenant_id)s, which Keystone fills in, stand in paths only.
    let is_url = !host.is_empty()
        && !host.starts_with(':')
        && !url.contains(|c: char| c.is_whitespace() || c.is_control());
    (!is_url).then(|| format!("spec.endpoints.{interface}: {url:?} is no URL"))
}

fn keep_endpoint(
    record: &Record,
    around: Around<'_>,
    service: &str,
    (interface, url): (&str, &str),
    planned: &mut Planned,
) {
    let is_rival = |other: &&Record| {
        other.kind == Kind::Endpoint
            && !other.is_leaving()
            && other.uid() != record.uid()
            && other.age() < record.age()
            && other.urls().contains_key(interface)
            && service_of(other, around).is_ok_and(|theirs| theirs == service)
    };
    if let Some(other) = around.records.iter().find(is_rival) {
        let text = format!("the {interface} endpoint is declared by {} already", other.key);
        planned.troubles.push(text);
        planned.endpoints.remove(interface);
        return;
    }
    let claim = record.endpoint_claims().get(interface).copied().unwrap_or_default().to_owned();
    let there: Vec<&Endpoint> = endpoints(around, service, interface).collect();
    let claimed = around.seen.endpoints.iter().find(|endpoint| endpoint.id == claim);
    let chosen = claimed
        // Of several that nobody has claimed the right one is right.
        .or_else(|| there.iter().copied().find(|endpoint| endpoint.url == url))
        .or_else(|| there.first().copied().filter(|_| there.len() == 1));
    let id = chosen.map(|endpoint| endpoint.id.clone()).unwrap_or_default();
    planned.endpoints.insert(interface.to_owned(), id);
    match chosen {
        None if there.is_empty() => planned.steps.push(Step::CreateEndpoint(NewEndpoint {
            service_id: Some(service.to_owned()),
            interface: Some(interface.to_owned()),
            url: Some(url.to_owned()),
            region_id: Some(around.region.to_owned()),
            enabled: Some(true),
        })),
        None => planned.troubles.push(others(interface, around.region, &there)),
        Some(found) => {
            let change = EndpointChange {
                service_id: (found.service_id != service).then(|| service.to_owned()),
                interface: (found.interface != interface).then(|| interface.to_owned()),
                url: (found.url != url).then(|| url.to_owned()),
                region_id: (found.region_id.as_deref() != Some(around.region))
                    .then(|| around.region.to_owned()),
                enabled: (!found.enabled).then_some(true),
            };
            if !change.is_empty() {
                planned.steps.push(Step::UpdateEndpoint(found.id.clone(), change));
            }
            let rest: Vec<&Endpoint> =
                there.into_iter().filter(|endpoint| endpoint.id != found.id).collect();
            // The same once more is of no use to anybody; something else is somebody's.
            let (same, other): (Vec<_>, Vec<_>) =
                rest.into_iter().partition(|endpoint| endpoint.url == url);
            let again = same.into_iter().map(|endpoint| Step::DeleteEndpoint(endpoint.id.clone()));
            planned.steps.extend(again);
            if !other.is_empty() {
                planned.troubles.push(others(interface, around.region, &other));
            }
        }
    }
}

fn others(interface: &str, region: &str, found: &[&Endpoint]) -> String {
    let list: Vec<String> =
        found.iter().map(|endpoint| format!("{} at {}", endpoint.id, endpoint.url)).collect();
    format!(
        "Keystone has other {interface} endpoints of the service in region {region} ({}): delete \
         those that are not meant, clients take any of them",
        list.join(", ")
    )
}

fn endpoints<'a>(
    around: Around<'a>,
    service: &str,
    interface: &str,
) -> impl Iterator<Item = &'a Endpoint> {
    around.seen.endpoints.iter().filter(move |endpoint| {
        endpoint.service_id == service
            && endpoint.interface == interface
            && endpoint.region_id.as_deref() == Some(around.region)
    })
}

/// What is left of a claimed endpoint.
fn remove_endpoint(around: Around<'_>, service: &str, interface: &str, id: &str) -> Vec<Step> {
    let by_id = around.seen.endpoints.iter().filter(|endpoint| endpoint.id == id);
    let mut left: Vec<String> = by_id.map(|endpoint| endpoint.id.clone()).collect();
    if id.is_empty() {
        left = endpoints(around, service, interface).map(|endpoint| endpoint.id.clone()).collect();
    }
    left.into_iter().map(Step::DeleteEndpoint).collect()
}

fn remove_endpoints(record: &Record, around: Around<'_>) -> Planned {
    // Without a service only ids count: nothing else is known to be ours.
    let service = match record.service_claim() {
        Some(id) if !id.is_empty() => id,
        _ => service_of(record, around).unwrap_or_default(),
    };
    let declared_elsewhere = |interface: &str| {
        around.records.iter().any(|other| {
            other.kind == Kind::Endpoint
                && !other.is_leaving()
                && other.urls().contains_key(interface)
                && service_of(other, around).is_ok_and(|theirs| theirs == service)
        })
    };
    let claims = record.endpoint_claims();
    let own = claims.iter().filter(|(interface, _)| !declared_elsewhere(interface));
    let steps = own.flat_map(|(interface, id)| remove_endpoint(around, service, interface, id));
    Planned { steps: steps.collect(), ..Planned::default() }
}
