//! Reservation and status in upstream's form.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::IpAddr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use landbridge_api::condition::{Conditions, Severity};
use landbridge_api::network::{
    GROUP, Generation, IPSET_FINALIZER, IPSetNetwork, IPSetRef, IPSetReservation, IPSetStatus,
    Reservation, ReservationSpec, ReservedAddress, Route, VERSION,
};

use super::networks::Found;
use super::seen::{Record, Request, is_ours};

/// Label of a Reservation for each of its networks.
const NETWORK_LABEL: &str = "ipam.network.openstack.org/";
/// What Kubernetes takes as the name or value of a label; longer names go without one.
const LONGEST_LABEL: usize = 63;
/// The service network whose entry comes first.
const CONTROL_PLANE: &str = "ctlplane";

const INPUT: &str = "InputReady";
const RESERVATION: &str = "ReservationReady";

/// One address that was asked for and is held.
#[derive(Clone, Debug)]
pub struct Given<'a> {
    /// What was asked.
    pub wanted: &'a IPSetNetwork,
    /// Where it lives.
    pub found: Found<'a>,
    /// The address.
    pub address: IpAddr,
}

/// What keeps a request from being complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// There is no NetConfig.
    NoNetConfig,
    /// Addresses are missing; one text for each of them.
    Missing(Vec<String>),
}

/// The status of an IPSet.
pub fn status(
    request: &Request,
    given: &[Given<'_>],
    trouble: Option<&Trouble>,
    now: &Time,
) -> IPSetStatus {
    let mut conditions = Conditions::default();
    match trouble {
        Some(Trouble::NoNetConfig) => {
            let message = format!("NetConfig missing in namespace {}", request.key.namespace);
            conditions.bad(INPUT, Severity::Error, "Error", message);
            conditions.unknown(RESERVATION, "Reservation create not started");
        }
        Some(Trouble::Missing(causes)) => {
            conditions.good(INPUT, "Input data complete");
            let message = shortfall(given.len(), request.networks.len(), causes);
            conditions.bad(RESERVATION, Severity::Error, "Error", message);
        }
        None => {
            conditions.good(INPUT, "Input data complete");
            conditions.good(RESERVATION, "Reservation successful");
        }
    }
    let mut entries: Vec<(bool, IPSetReservation)> =
        given.iter().map(|given| (is_control_plane(given), entry(given))).collect();
    let seed = |given: &Given<'_>| given.found.network.generation() == Generation::Seed;
    if given.iter().all(seed) {
        entries.sort_by(|(_, a), (_, b)| a.network.cmp(&b.network));
    } else {
        entries.sort_by_key(|(first, _)| !first);
    }
    IPSetStatus {
        reservations: entries.into_iter().map(|(_, entry)| entry).collect(),
        conditions: conditions.finish(&request.status.conditions, now),
        observed_generation: Some(request.generation),
    }
}

/// Upstream's sentence, and after it what upstream does not say: why.
fn shortfall(given: usize, wanted: usize, causes: &[String]) -> String {
    let mut text = format!("Reservation reservations ({given}) do not match requested ({wanted})");
    for (i, cause) in causes.iter().enumerate() {
        let _ = write!(text, "{} {cause}", if i == 0 { ":" } else { ";" });
    }
    text
}

fn is_control_plane(given: &Given<'_>) -> bool {
    let network = given.found.network;
    network.service_network.as_deref().unwrap_or(&network.name).eq_ignore_ascii_case(CONTROL_PLANE)
}

fn entry(given: &Given<'_>) -> IPSetReservation {
    let Given { wanted, found: Found { network, subnet, .. }, address } = given;
    let today = network.generation() == Generation::Today;
    let mut routes = subnet.routes.clone();
    if let Some(gateway) = subnet.gateway.as_ref().filter(|_| today && wanted.wants_default_route())
    {
        let destination = if address.is_ipv4() { "0.0.0.0/0" } else { "::/0" };
        routes.push(Route { destination: destination.to_owned(), nexthop: gateway.clone() });
    }
    let domain = subnet.dns_domain.as_ref().or(network.dns_domain.as_ref());
    IPSetReservation {
        network: network.name.clone(),
        subnet: subnet.name.clone(),
        address: address.to_string(),
        dns_domain: domain.cloned(),
        mtu: Some(network.mtu),
        cidr: Some(subnet.cidr.clone()),
        vlan: subnet.vlan,
        gateway: subnet.gateway.clone(),
        routes,
        service_network: network.service_network.clone().filter(|_| today),
    }
}

/// The Reservation an IPSet should have: what it has, and what is given beyond that.
pub fn reservation(request: &Request, record: Option<&Record>, given: &[Given<'_>]) -> Reservation {
    let mut addresses: BTreeMap<String, ReservedAddress> =
        record.map(|record| record.addresses.clone()).unwrap_or_default();
    let mut labels = BTreeMap::new();
    for Given { found: Found { network, subnet, .. }, address, .. } in given {
        if network.name.len().max(subnet.name.len()) <= LONGEST_LABEL {
            labels.insert(format!("{NETWORK_LABEL}{}", network.name), subnet.name.clone());
        }
        if record.and_then(|record| record.entry(&network.name)).is_none() {
            let entry = ReservedAddress {
                network: network.name.clone(),
                subnet: subnet.name.clone(),
                address: address.to_string(),
            };
            addresses.insert(network.name.clone(), entry);
        }
    }
    // What is there already wins, as upstream.
    labels.extend(record.map(|record| record.labels.clone()).unwrap_or_default());
    let mut finalizers = record.map(|record| record.finalizers.clone()).unwrap_or_default();
    if !finalizers.iter().any(|finalizer| is_ours(finalizer)) {
        finalizers.push(IPSET_FINALIZER.to_owned());
    }
    let (name, uid) = (request.key.name.to_string(), request.uid.to_string());
    let reference = IPSetRef {
        namespace: Some(request.key.namespace.to_string()),
        name: Some(name.clone()),
        uid: Some(uid.clone()),
        ..IPSetRef::default()
    };
    let mut wanted =
        Reservation::new(&name, ReservationSpec { ip_set_ref: reference, reservation: addresses });
    wanted.metadata.namespace = Some(request.key.namespace.to_string());
    wanted.metadata.labels = Some(labels);
    wanted.metadata.finalizers = Some(finalizers);
    wanted.metadata.owner_references = Some(vec![OwnerReference {
        api_version: format!("{GROUP}/{VERSION}"),
        kind: "IPSet".to_owned(),
        name,
        uid,
        controller: Some(true),
        block_owner_deletion: Some(true),
    }]);
    wanted
}

/// Whether the record says all of this already.
pub fn is_recorded(wanted: &Reservation, record: &Record) -> bool {
    let uid = wanted.spec.ip_set_ref.uid.as_deref().unwrap_or_default();
    *record.owner == *uid
        && record.named.as_deref() == Some(uid)
        && record.addresses == wanted.spec.reservation
        && wanted.metadata.labels.as_ref() == Some(&record.labels)
        && wanted.metadata.finalizers.as_ref() == Some(&record.finalizers)
}
