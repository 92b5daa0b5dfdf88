//! Services and their endpoints as the records of the cluster's domain.
//!
//! Nothing is compiled for the whole cluster: a name says which Service it is about, and the answer is
//! made from that Service alone. A change of one Service or slice costs what that one costs, however
//! many others there are. Names mean what the Kubernetes DNS specification 1.1.0 says.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::IpAddr;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use landbridge_dns::wire::Name;

use super::reverse;

/// The specification that is followed, as `dns-version` tells it.
const VERSION: &str = "1.1.0";
/// Whose endpoints a slice holds.
const SERVICE: &str = "kubernetes.io/service-name";

/// What a name has, whatever type was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    Address(IpAddr),
    /// A port, the name of who has it, and where that is.
    Service {
        port: u16,
        target: Name,
        addresses: Vec<IpAddr>,
    },
    Alias(Name),
    Pointer(Name),
    Text(&'static str),
    /// The name is that of the domain itself.
    Apex,
}

/// What is known of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is none of the cluster's.
    Outside,
    /// It is the cluster's and does not exist.
    Nothing,
    /// It exists; where there are no records, names below it do.
    Records(Vec<Record>),
}

/// Objects by namespace and name.
pub type Keys = HashSet<(String, String)>;

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Zone {
    /// Labels of the cluster's domain.
    domain: Vec<String>,
    /// Where the cluster's name server is.
    server: Vec<IpAddr>,
    namespaces: HashSet<String>,
    /// By namespace and name.
    services: HashMap<String, HashMap<String, Known>>,
    /// The Service of each slice, by namespace and name of the slice.
    slices: HashMap<(String, String), String>,
    /// Which Services may say something about an address.
    reverse: HashMap<IpAddr, BTreeSet<(String, String)>>,
    /// Counts changes.
    serial: u32,
}

/// A Service, its slices, or both: they come in any order.
#[derive(Clone, Debug, Default)]
struct Known {
    service: Option<Plain>,
    slices: BTreeMap<String, Slice>,
    /// Where [`Zone::reverse`] leads here from.
    pointed: BTreeSet<IpAddr>,
}

/// What counts of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Plain {
    kind: Kind,
    ports: Vec<Port>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Cluster(Vec<IpAddr>),
    /// Without an address of its own; whether endpoints count that are not ready.
    Headless {
        all: bool,
    },
    /// Another name for somebody outside.
    External(Name),
}

/// A port with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Port {
    name: String,
    /// In lower case.
    protocol: String,
    number: u16,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Slice {
    endpoints: Vec<Endpoint>,
    ports: Vec<Port>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Endpoint {
    name: String,
    addresses: Vec<IpAddr>,
    ready: bool,
}

impl Zone {
    /// An empty cluster with a domain. `server`: where its name server is.
    pub fn new(domain: &str, server: Vec<IpAddr>) -> Self {
        let labels = domain.trim_matches('.').split('.');
        Self {
            domain: labels.map(str::to_ascii_lowercase).collect(),
            server,
            namespaces: HashSet::new(),
            services: HashMap::new(),
            slices: HashMap::new(),
            reverse: HashMap::new(),
            serial: 1,
        }
    }

    /// Grows with each change.
    pub fn serial(&self) -> u32 {
        self.serial
    }

    /// The cluster's domain.
    pub fn domain(&self) -> String {
        self.domain.join(".")
    }

    /// The names of all Services and all slices, by namespace, for who compares them with a list.
    pub fn known(&self) -> (Keys, Keys) {
        let of = |(namespace, all): (&String, &HashMap<String, Known>)| {
            let there = all.iter().filter(|(_, known)| known.service.is_some());
            there.map(|(name, _)| (namespace.clone(), name.clone())).collect::<Vec<_>>()
        };
        let services = self.services.iter().flat_map(of).collect();
        (services, self.slices.keys().cloned().collect())
    }

    /// All namespaces that exist.
    pub fn namespaces(&self) -> &HashSet<String> {
        &self.namespaces
    }

    /// A namespace is there, or gone.
    pub fn set_namespace(&mut self, name: &str, there: bool) {
        if there {
            self.namespaces.insert(name.to_owned());
        } else {
            self.namespaces.remove(name);
        }
    }

    /// Takes in a Service as it is now.
    pub fn set_service(&mut self, namespace: &str, name: &str, service: Option<&Service>) {
        let plain = service.and_then(Plain::of);
        self.change(namespace, name, |known| known.service = plain);
    }

    /// Takes in a slice as it is now.
    pub fn set_slice(&mut self, namespace: &str, name: &str, slice: Option<&EndpointSlice>) {
        let key = (namespace.to_owned(), name.to_owned());
        let labels = slice.and_then(|slice| slice.metadata.labels.as_ref());
        let service = labels.and_then(|labels| labels.get(SERVICE)).cloned();
        let before = match &service {
            Some(service) => self.slices.insert(key, service.clone()),
            None => self.slices.remove(&key),
        };
        if let Some(before) = before.filter(|before| service.as_ref() != Some(before)) {
            self.change(namespace, &before, |known| drop(known.slices.remove(name)));
        }
        if let (Some(service), Some(slice)) = (service, slice) {
            let slice = Slice::of(slice);
            self.change(namespace, &service, |known| {
                known.slices.insert(name.to_owned(), slice);
            });
        }
    }

    /// Changes one Service, and what leads to it from addresses.
    fn change(&mut self, namespace: &str, name: &str, work: impl FnOnce(&mut Known)) {
        self.serial = self.serial.wrapping_add(1);
        let all = self.services.entry(namespace.to_owned()).or_default();
        let known = all.entry(name.to_owned()).or_default();
        work(known);
        let now = known.addresses();
        let before = std::mem::replace(&mut known.pointed, now.clone());
        if known.service.is_none() && known.slices.is_empty() {
            all.remove(name);
        }
        if all.is_empty() {
            self.services.remove(namespace);
        }
        let key = (namespace.to_owned(), name.to_owned());
        for ip in before.difference(&now) {
            if let Some(keys) = self.reverse.get_mut(ip) {
                keys.remove(&key);
                if keys.is_empty() {
                    self.reverse.remove(ip);
                }
            }
        }
        for ip in now.difference(&before) {
            self.reverse.entry(*ip).or_default().insert(key.clone());
        }
    }

    /// What there is of a name, given as labels in lower case.
    pub fn find(&self, labels: &[&str]) -> Found {
        if let Some(ip) = reverse::address(labels) {
            return self.find_address(ip);
        }
        let Some(inner) = labels.len().checked_sub(self.domain.len()) else {
            return Found::Outside;
        };
        let (own, domain) = labels.split_at(inner);
        if domain != self.domain {
            return Found::Outside;
        }
        self.find_own(own).map_or(Found::Nothing, Found::Records)
    }

    /// Names of an address. Addresses the cluster says nothing of are somebody else's.
    fn find_address(&self, ip: IpAddr) -> Found {
        let Some(keys) = self.reverse.get(&ip) else { return Found::Outside };
        let mut names = Vec::new();
        for (namespace, name) in keys {
            let Some(known) = self.service(namespace, name) else { continue };
            let texts = match known.service.as_ref().map(|plain| &plain.kind) {
                Some(Kind::Cluster(_)) => vec![format!("{name}.{namespace}")],
                Some(Kind::Headless { .. }) => {
                    let of_ip = known.endpoints().filter(|(end, _)| end.addresses.contains(&ip));
                    of_ip.map(|(end, _)| format!("{}.{name}.{namespace}", end.name)).collect()
                }
                Some(Kind::External(_)) | None => Vec::new(),
            };
            names.extend(texts.iter().filter_map(|text| self.name(text)));
        }
        names.dedup();
        if names.is_empty() {
            return Found::Outside;
        }
        Found::Records(names.into_iter().map(Record::Pointer).collect())
    }

    /// Labels without those of the domain; nothing for a name that does not exist.
    fn find_own(&self, labels: &[&str]) -> Option<Vec<Record>> {
        let exists = |it: bool| it.then(Vec::new);
        match labels {
            [] => Some(vec![Record::Apex]),
            ["dns-version"] => Some(vec![Record::Text(VERSION)]),
            ["dns" | "svc" | "pod"] => exists(true),
            ["ns", "dns"] => Some(self.server.iter().copied().map(Record::Address).collect()),
            [namespace, "svc"] => {
                exists(self.has(namespace) || self.services.contains_key(*namespace))
            }
            [namespace, "pod"] => exists(self.has(namespace)),
            [ip, namespace, "pod"] if self.has(namespace) => {
                Some(vec![Record::Address(dashed(ip)?)])
            }
            [name, namespace, "svc"] => self.service(namespace, name)?.own(),
            [protocol, name, namespace, "svc"] if protocol.starts_with('_') => {
                let known = self.service(namespace, name)?;
                exists(known.ports().any(|port| port.protocol == protocol[1..]))
            }
            [host, name, namespace, "svc"] => self.service(namespace, name)?.endpoint(host),
            [port, protocol, name, namespace, "svc"] => {
                let (port, protocol) = (port.strip_prefix('_')?, protocol.strip_prefix('_')?);
                self.ports(namespace, name, port, protocol)
            }
            _ => None,
        }
    }

    fn has(&self, namespace: &str) -> bool {
        self.namespaces.contains(namespace)
    }

    fn service(&self, namespace: &str, name: &str) -> Option<&Known> {
        self.services.get(namespace)?.get(name)
    }

    /// A name below `svc`, in full.
    fn name(&self, text: &str) -> Option<Name> {
        Name::from_text(&format!("{text}.svc.{}", self.domain())).ok()
    }

    /// Who has a named port.
    fn ports(
        &self,
        namespace: &str,
        name: &str,
        port: &str,
        protocol: &str,
    ) -> Option<Vec<Record>> {
        let known = self.service(namespace, name)?;
        let plain = known.service.as_ref()?;
        let is_it = |known: &&Port| known.name == port && known.protocol == protocol;
        let records: Vec<Record> = match &plain.kind {
            Kind::Cluster(addresses) => {
                let number = plain.ports.iter().find(is_it)?.number;
                let target = self.name(&format!("{name}.{namespace}"))?;
                vec![Record::Service { port: number, target, addresses: addresses.clone() }]
            }
            Kind::Headless { .. } => {
                let of = |(endpoint, ports): (&Endpoint, &[Port])| {
                    let number = ports.iter().find(is_it)?.number;
                    let target = self.name(&format!("{}.{name}.{namespace}", endpoint.name))?;
                    let addresses = endpoint.addresses.clone();
                    Some(Record::Service { port: number, target, addresses })
                };
                known.endpoints().filter_map(of).collect()
            }
            Kind::External(_) => Vec::new(),
        };
        (!records.is_empty()).then_some(records)
    }
}

impl Known {
    /// Endpoints that are shown, each with the ports of its slice.
    fn endpoints(&self) -> impl Iterator<Item = (&Endpoint, &[Port])> {
        let kind = self.service.as_ref().map(|plain| &plain.kind);
        let all = kind == Some(&Kind::Headless { all: true });
        self.slices.values().flat_map(move |slice| {
            let shown = slice.endpoints.iter().filter(move |endpoint| endpoint.ready || all);
            shown.map(|endpoint| (endpoint, slice.ports.as_slice()))
        })
    }

    /// Ports with names: those of the Service, and what its endpoints have.
    fn ports(&self) -> impl Iterator<Item = &Port> {
        let own = self.service.iter().flat_map(|plain| &plain.ports);
        own.chain(self.endpoints().flat_map(|(_, ports)| ports))
    }

    /// Records of the Service's own name.
    fn own(&self) -> Option<Vec<Record>> {
        match &self.service.as_ref()?.kind {
            Kind::Cluster(addresses) => {
                Some(addresses.iter().copied().map(Record::Address).collect())
            }
            Kind::Headless { .. } => {
                let ips: BTreeSet<IpAddr> =
                    self.endpoints().flat_map(|(end, _)| &end.addresses).copied().collect();
                (!ips.is_empty()).then(|| ips.into_iter().map(Record::Address).collect())
            }
            Kind::External(name) => Some(vec![Record::Alias(name.clone())]),
        }
    }

    /// Records of one endpoint.
    fn endpoint(&self, host: &str) -> Option<Vec<Record>> {
        if matches!(self.service.as_ref()?.kind, Kind::External(_)) {
            return None;
        }
        let of_host = self.endpoints().filter(|(endpoint, _)| endpoint.name == host);
        let ips: BTreeSet<IpAddr> =
            of_host.flat_map(|(endpoint, _)| &endpoint.addresses).copied().collect();
        (!ips.is_empty()).then(|| ips.into_iter().map(Record::Address).collect())
    }

    /// The addresses whose names are here.
    fn addresses(&self) -> BTreeSet<IpAddr> {
        match self.service.as_ref().map(|plain| &plain.kind) {
            Some(Kind::Cluster(addresses)) => addresses.iter().copied().collect(),
            Some(Kind::Headless { .. }) => {
                self.endpoints().flat_map(|(end, _)| &end.addresses).copied().collect()
            }
            Some(Kind::External(_)) | None => BTreeSet::new(),
        }
    }
}

impl Plain {
    /// Nothing of a Service that has no name to show: no address yet, or an impossible one.
    fn of(service: &Service) -> Option<Self> {
        let spec = service.spec.as_ref()?;
        let kind = if spec.type_.as_deref() == Some("ExternalName") {
            let name = spec.external_name.as_deref().unwrap_or_default();
            Kind::External(Name::from_text(name).ok()?)
        } else if spec.cluster_ip.as_deref() == Some("None") {
            Kind::Headless { all: spec.publish_not_ready_addresses.unwrap_or_default() }
        } else {
            let all =
                spec.cluster_ips.as_deref().or(spec.cluster_ip.as_ref().map(std::slice::from_ref));
            let ips: Vec<IpAddr> =
                all.into_iter().flatten().filter_map(|ip| ip.parse().ok()).collect();
            if ips.is_empty() {
                return None;
            }
            Kind::Cluster(ips)
        };
        let ports = spec.ports.iter().flatten().filter_map(|port| {
            Port::of(port.name.as_deref(), port.protocol.as_deref(), Some(port.port))
        });
        Some(Self { kind, ports: ports.collect() })
    }
}

impl Port {
    /// A port without a name has no record.
    fn of(name: Option<&str>, protocol: Option<&str>, number: Option<i32>) -> Option<Self> {
        Some(Self {
            name: name.filter(|name| !name.is_empty())?.to_owned(),
            protocol: protocol.unwrap_or("TCP").to_ascii_lowercase(),
            number: number.and_then(|number| u16::try_from(number).ok())?,
        })
    }
}

impl Slice {
    fn of(slice: &EndpointSlice) -> Self {
        let ports =
            slice.ports.iter().flatten().filter_map(|port| {
                Port::of(port.name.as_deref(), port.protocol.as_deref(), port.port)
            });
        let endpoints = slice.endpoints.iter().filter_map(|endpoint| {
            let addresses: Vec<IpAddr> =
                endpoint.addresses.iter().filter_map(|ip| ip.parse().ok()).collect();
            // One without a host name is called by its address, as CoreDNS does.
            let first = addresses.first()?;
            let hostname = endpoint.hostname.clone().filter(|name| !name.is_empty());
            let name = hostname.unwrap_or_else(|| first.to_string().replace(['.', ':'], "-"));
            let conditions = endpoint.conditions.as_ref();
            // What is not said is as upstream reads it: ready.
            let ready = conditions.and_then(|conditions| conditions.ready).unwrap_or(true);
            Some(Endpoint { name, addresses, ready })
        });
        Self { endpoints: endpoints.collect(), ports: ports.collect() }
    }
}

/// The address of a pod's name: `10-244-0-5`, `fd00--5`.
fn dashed(label: &str) -> Option<IpAddr> {
    let four = label.replace('-', ".").parse().ok().map(IpAddr::V4);
    four.or_else(|| label.replace('-', ":").parse().ok().map(IpAddr::V6))
}
