//! The name servers of a host: the virtual addresses of the DNSMasq objects of its namespace.
//!
//! So the horizon splits: pods ask the cluster and get cluster addresses, hosts ask here and get virtual
//! ones.

use std::collections::BTreeMap;
use std::net::IpAddr;

use kube::ResourceExt as _;
use kube::runtime::watcher::Event;
use landbridge_api::network::DNSMasq;

/// What is known of them.
#[derive(Debug, Default)]
pub struct Servers {
    /// By name of the DNSMasq.
    known: BTreeMap<String, Vec<IpAddr>>,
    /// A list that comes in.
    listed: Option<BTreeMap<String, Vec<IpAddr>>>,
}

impl Servers {
    /// Takes in what the watch tells; whether that changes anything.
    pub fn hear(&mut self, event: &Event<DNSMasq>) -> bool {
        let before = self.all();
        match event {
            Event::Init => self.listed = Some(BTreeMap::new()),
            Event::InitApply(object) => {
                let addresses = self.addresses(object);
                self.listed.get_or_insert_default().insert(object.name_any(), addresses);
            }
            Event::InitDone => self.known = self.listed.take().unwrap_or_default(),
            Event::Apply(object) => {
                let addresses = self.addresses(object);
                self.known.insert(object.name_any(), addresses);
            }
            Event::Delete(object) => drop(self.known.remove(&object.name_any())),
        }
        before != self.all()
    }

    /// All of them, in the order of the objects' names.
    pub fn all(&self) -> Vec<IpAddr> {
        let mut all = Vec::new();
        for ip in self.known.values().flatten() {
            if !all.contains(ip) {
                all.push(*ip);
            }
        }
        all
    }

    /// One whose status says nothing, as while its Service is made anew, keeps what it had.
    fn addresses(&self, object: &DNSMasq) -> Vec<IpAddr> {
        let told = object.status.iter().flat_map(|status| &status.dns_addresses);
        let told: Vec<IpAddr> = told.filter_map(|ip| ip.parse().ok()).collect();
        if told.is_empty() {
            self.known.get(&object.name_any()).cloned().unwrap_or_default()
        } else {
            told
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(name: &str, ips: &[&str]) -> DNSMasq {
        serde_json::from_value(json!({
            "apiVersion": "network.openstack.org/v1beta1", "kind": "DNSMasq",
            "metadata": {"name": name, "namespace": "openstack"}, "spec": {},
            "status": {"dnsAddresses": ips},
        }))
        .unwrap()
    }

    #[test]
    fn addresses_follow_the_objects() {
        let mut servers = Servers::default();
        let all = |servers: &Servers| {
            servers.all().iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        assert!(!servers.hear(&Event::Init));
        assert!(
            !servers.hear(&Event::InitApply(object("b", &["192.168.122.81", "192.168.122.80"])))
        );
        assert!(!servers.hear(&Event::InitApply(object("a", &["192.168.122.80", "none"]))));
        assert!(servers.hear(&Event::InitDone));
        assert_eq!(all(&servers), "192.168.122.80 192.168.122.81");
        assert!(!servers.hear(&Event::Apply(object("a", &[]))), "it is being made anew");
        assert!(servers.hear(&Event::Apply(object("a", &["192.168.122.82"]))));
        assert_eq!(all(&servers), "192.168.122.82 192.168.122.81 192.168.122.80");
        // A list that comes in again takes nothing away before it is complete.
        assert!(!servers.hear(&Event::Init));
        assert!(!servers.hear(&Event::InitApply(object("a", &[]))));
        assert!(servers.hear(&Event::InitDone));
        assert_eq!(all(&servers), "192.168.122.82");
        assert!(servers.hear(&Event::Delete(object("a", &[]))));
        assert_eq!(all(&servers), "");
    }
}
