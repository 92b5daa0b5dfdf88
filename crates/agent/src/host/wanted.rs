//! What an IPSet says, as interfaces, addresses, routes and resolver.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use landbridge_api::network::{IPSet, IPSetReservation};
use serde::{Deserialize, Serialize};

use super::HostSettings;

/// Linux takes interface names of up to 15 bytes.
const LONGEST_NAME: usize = 15;

/// What a host shall have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wanted {
    /// The NICs everything stands on, with the addresses of untagged networks.
    pub nics: BTreeMap<String, Nic>,
    /// The VLAN interfaces by name.
    pub vlans: BTreeMap<String, Vlan>,
    pub routes: Vec<Via>,
    pub servers: Vec<IpAddr>,
    pub search: Vec<String>,
}

/// A NIC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Nic {
    /// The largest packet of any network on it.
    pub mtu: Option<i64>,
    pub addresses: Vec<IpNet>,
}

/// A VLAN interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Vlan {
    pub base: String,
    pub id: i64,
    pub mtu: Option<i64>,
    pub addresses: Vec<IpNet>,
}

/// A route.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Via {
    pub destination: IpNet,
    pub gateway: IpAddr,
    pub link: String,
}

/// Reads an IPSet. `trunk`: the NIC of networks that have none of their own.
pub fn wanted(ipset: &IPSet, settings: &HostSettings, trunk: &str) -> Result<Wanted, String> {
    let mut wanted = Wanted { servers: settings.nameservers.clone(), ..Wanted::default() };
    let nics: BTreeMap<String, &String> =
        settings.nics.iter().map(|(network, nic)| (network.to_lowercase(), nic)).collect();
    for entry in ipset.status.iter().flat_map(|status| &status.reservations) {
        let network = entry.network.to_lowercase();
        let nic = nics.get(&network).map_or(trunk, |nic| nic.as_str());
        let default_route = ipset.spec.networks.iter().any(|asked| {
            asked.name.eq_ignore_ascii_case(&entry.network) && asked.wants_default_route()
        });
        wanted
            .add(entry, nic, default_route)
            .map_err(|why| format!("network {}: {why}", entry.network))?;
    }
    if wanted.servers.is_empty() {
        wanted.search.clear();
    }
    Ok(wanted)
}

impl Wanted {
    fn add(
        &mut self,
        entry: &IPSetReservation,
        nic: &str,
        default_route: bool,
    ) -> Result<(), String> {
        let address = address(entry)?;
        let base = self.nics.entry(nic.to_owned()).or_default();
        base.mtu = base.mtu.max(entry.mtu);
        let link = match entry.vlan {
            None => {
                base.addresses.push(address);
                nic.to_owned()
            }
            Some(id) if !(1..=4094).contains(&id) => return Err(format!("VLAN {id} is none")),
            Some(id) => {
                let name = vlan_name(nic, id);
                let vlan = self.vlans.entry(name.clone()).or_insert_with(|| Vlan {
                    base: nic.to_owned(),
                    id,
                    mtu: None,
                    addresses: Vec::new(),
                });
                if vlan.base != nic || vlan.id != id {
                    return Err(format!("{name} is already VLAN {} of {}", vlan.id, vlan.base));
                }
                // Dual stack: two networks on one VLAN.
                vlan.mtu = vlan.mtu.max(entry.mtu);
                vlan.addresses.push(address);
                name
            }
        };
        let mut routes = Vec::new();
        for route in &entry.routes {
            let destination = route.destination.parse::<IpNet>();
            let destination =
                destination.map_err(|_| format!("route: {:?} is no prefix", route.destination))?;
            let gateway = gateway(&route.nexthop)?;
            routes.push((destination.trunc(), gateway));
        }
        if let Some(text) = entry.gateway.as_ref().filter(|_| default_route) {
            let gateway = gateway(text)?;
            let everywhere = everywhere(gateway);
            if !routes.iter().any(|(destination, _)| *destination == everywhere) {
                routes.push((everywhere, gateway));
            }
        }
        for (destination, gateway) in routes {
            self.routes.push(Via { destination, gateway, link: link.clone() });
        }
        if let Some(domain) = entry.dns_domain.as_ref().filter(|d| !self.search.contains(d)) {
            self.search.push(domain.clone());
        }
        Ok(())
    }
}

fn address(entry: &IPSetReservation) -> Result<IpNet, String> {
    let ip: IpAddr =
        entry.address.parse().map_err(|_| format!("{:?} is no address", entry.address))?;
    let cidr = entry.cidr.as_deref().ok_or("its prefix is missing in the IPSet's status")?;
    let cidr: IpNet = cidr.parse().map_err(|_| format!("{cidr:?} is no prefix"))?;
    if !cidr.contains(&ip) {
        return Err(format!("{ip} does not lie in {cidr}"));
    }
    IpNet::new(ip, cidr.prefix_len()).map_err(|error| error.to_string())
}

fn gateway(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| format!("gateway: {text:?} is no address"))
}

fn everywhere(like: IpAddr) -> IpNet {
    let any = match like {
        IpAddr::V4(_) => IpAddr::from([0, 0, 0, 0]),
        IpAddr::V6(_) => IpAddr::from([0u16; 8]),
    };
    IpNet::new_assert(any, 0)
}

fn vlan_name(nic: &str, id: i64) -> String {
    let name = format!("{nic}.{id}");
    if name.len() <= LONGEST_NAME { name } else { format!("vlan{id}") }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    /// The compute node of the seed, with a name server.
    pub fn seed() -> IPSet {
        serde_json::from_value(json!({
            "apiVersion": "network.openstack.org/v1beta1", "kind": "IPSet",
            "metadata": {"name": "edpm-compute-0", "namespace": "openstack"},
            "spec": {"networks": [
                {"defaultRoute": true, "name": "ctlplane", "subnetName": "subnet1"},
                {"fixedIP": "172.17.0.150", "name": "InternalApi", "subnetName": "subnet1"},
                {"name": "Tenant", "subnetName": "subnet1"}, {"name": "External", "subnetName": "subnet1"}]},
            "status": {"reservations": [
                {"network": "CtlPlane", "subnet": "subnet1", "address": "192.168.122.100",
                 "cidr": "192.168.122.0/24", "gateway": "192.168.122.1", "mtu": 1500, "dnsDomain": "ctlplane.example.com"},
                {"network": "External", "subnet": "subnet1", "address": "10.0.0.10", "cidr": "10.0.0.0/24",
                 "gateway": "10.0.0.1", "mtu": 1500, "routes": [{"destination": "10.0.1.0/24", "nexthop": "10.0.0.100"}]},
                {"network": "InternalApi", "subnet": "subnet1", "address": "172.17.0.150", "cidr": "172.17.0.0/24",
                 "mtu": 1500, "vlan": 20, "dnsDomain": "internalapi.example.com"},
                {"network": "Tenant", "subnet": "subnet1", "address": "172.20.0.10", "cidr": "172.20.0.0/24",
                 "mtu": 9000, "vlan": 50, "dnsDomain": "ctlplane.example.com"}]},
        }))
        .unwrap()
    }

    pub fn settings() -> HostSettings {
        HostSettings {
            name: "edpm-compute-0".into(),
            namespace: "openstack".into(),
            nameservers: vec!["192.168.122.80".parse().unwrap()],
            ..HostSettings::default()
        }
    }

    #[test]
    fn the_compute_node_of_the_seed() {
        let settings = HostSettings {
            nics: BTreeMap::from([("EXTERNAL".to_owned(), "enp7s0".to_owned())]),
            ..settings()
        };
        let wanted = wanted(&seed(), &settings, "enp6s0").unwrap();
        assert_eq!(
            serde_json::to_value(&wanted).unwrap(),
            json!({
                "nics": {
                    "enp6s0": {"mtu": 9000, "addresses": ["192.168.122.100/24"]},
                    "enp7s0": {"mtu": 1500, "addresses": ["10.0.0.10/24"]},
                },
                "vlans": {
                    "enp6s0.20": {"base": "enp6s0", "id": 20, "mtu": 1500, "addresses": ["172.17.0.150/24"]},
                    "enp6s0.50": {"base": "enp6s0", "id": 50, "mtu": 9000, "addresses": ["172.20.0.10/24"]},
                },
                "routes": [
                    {"destination": "0.0.0.0/0", "gateway": "192.168.122.1", "link": "enp6s0"},
                    {"destination": "10.0.1.0/24", "gateway": "10.0.0.100", "link": "enp7s0"},
                ],
                "servers": ["192.168.122.80"],
                "search": ["ctlplane.example.com", "internalapi.example.com"],
            })
        );
    }

    #[test]
    fn details() {
        let mut ipset = seed();
        let entries = &mut ipset.status.as_mut().unwrap().reservations;
        // Today's generation has the default route among the routes already.
        entries[0].routes = serde_json::from_value(
            json!([{"destination": "0.0.0.0/0", "nexthop": "192.168.122.2"}]),
        )
        .unwrap();
        let mut six = entries[2].clone();
        (six.network, six.address) = ("InternalApi6".into(), "fd00::5".into());
        (six.cidr, six.mtu) = (Some("fd00::/64".into()), Some(8000));
        entries.push(six);
        let none = HostSettings { nameservers: vec![], ..settings() };
        let wanted = wanted(&ipset, &none, "a-long-nic-name").unwrap();
        let defaults: Vec<_> =
            wanted.routes.iter().filter(|r| r.destination.prefix_len() == 0).collect();
        assert_eq!(defaults.len(), 1);
        assert_eq!(defaults[0].gateway.to_string(), "192.168.122.2");
        assert_eq!(wanted.vlans["vlan20"].addresses.len(), 2);
        assert_eq!(wanted.vlans["vlan20"].mtu, Some(8000));
        assert!(wanted.search.is_empty(), "without servers there is no resolver");
    }

    #[test]
    fn mistakes_are_explained() {
        type Change = fn(&mut IPSetReservation);
        let cases: [(Change, &str); 6] = [
            (|e| e.address = "x".into(), "network CtlPlane: \"x\" is no address"),
            (|e| e.cidr = None, "network CtlPlane: its prefix is missing"),
            (|e| e.cidr = Some("10.9.0.0/24".into()), "does not lie in 10.9.0.0/24"),
            (|e| e.vlan = Some(5000), "VLAN 5000 is none"),
            (|e| e.gateway = Some("gw".into()), "gateway: \"gw\" is no address"),
            (
                |e| {
                    let route = json!([{"destination": "x", "nexthop": "10.0.0.1"}]);
                    e.routes = serde_json::from_value(route).unwrap();
                },
                "route: \"x\" is no prefix",
            ),
        ];
        for (change, text) in cases {
            let mut ipset = seed();
            change(&mut ipset.status.as_mut().unwrap().reservations[0]);
            let error = wanted(&ipset, &settings(), "enp6s0").unwrap_err();
            assert!(error.contains(text), "{text}: {error}");
        }
    }
}
