//! Services with virtual addresses, registered by the name that their annotation gives.
//!
//! This is the far half of the split horizon: pods ask the cluster's DNS, which answers with the
//! ClusterIP; nodes on isolated networks ask a DNSMasq, which answers with the virtual address.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use landbridge_machinery::object;
use serde_json::{Value, json};

use crate::making::kinds::Kind;
use crate::making::world::World;

/// The annotation with the name.
pub const HOSTNAME: &str = "dnsmasq.network.openstack.org/hostname";

/// What is registered.
#[derive(Debug, Default, PartialEq)]
pub struct Registered {
    /// `spec.hosts` of the DNSData: by address **as text**, as upstream sorts them.
    pub hosts: Vec<Value>,
    /// What could not be registered, and why.
    pub faults: Vec<String>,
}

/// The Services of a namespace that are registered.
pub fn registered(world: &World, namespace: &str) -> Registered {
    let mut found = Registered::default();
    let mut by_address: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for service in world.list(Kind::Service, namespace) {
        let Some((name, ingress)) = wish(service) else { continue };
        let title = object::name(service);
        if name.is_empty() || name.contains(char::is_control) {
            found.faults.push(format!(
                "Service {title}: annotation {HOSTNAME} is {name:?}, which is no name"
            ));
            continue;
        }
        for entry in ingress {
            match entry["ip"].as_str() {
                Some(ip) if ip.parse::<IpAddr>().is_ok() => {
                    by_address.entry(ip).or_default().insert(name);
                }
                // A load balancer that is known by name only. Upstream registers nobody any more then.
                _ => {
                    let text = ["hostname", "ip"].iter().find_map(|field| entry[*field].as_str());
                    found.faults.push(format!(
                        "Service {title}: its load balancer gave {:?}, which is no address, so {name} is not answered for it",
                        text.unwrap_or_default()
                    ));
                }
            }
        }
    }
    let host = |(ip, names)| json!({"ip": ip, "hostnames": names});
    found.hosts = by_address.into_iter().map(host).collect();
    found
}

/// The name that a Service wants, and what it has; `None` when it is not to be registered (yet).
fn wish(service: &Value) -> Option<(&str, &[Value])> {
    let name = object::annotation(service, HOSTNAME)?;
    let ingress = service["status"]["loadBalancer"]["ingress"].as_array()?;
    let is_meant = service["spec"]["type"] == "LoadBalancer" && !ingress.is_empty();
    is_meant.then_some((name, ingress.as_slice()))
}

/// Whether two states of a Service are registered alike.
pub fn is_alike(before: Option<&Value>, after: Option<&Value>) -> bool {
    before.and_then(wish) == after.and_then(wish)
}
