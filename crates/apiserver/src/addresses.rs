//! Cluster IPs and node ports of Services.
//!
//! The truth is in the Services themselves; this is an index of it, rebuilt at start. A claim is
//! taken before the Service is written and given back if the write fails, so two Services can never
//! be stored with one address.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use ipnet::IpNet;
use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::object;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::{Value, json};

use crate::chance;
use crate::registry::Resource;

const NODE_PORTS: std::ops::RangeInclusive<u16> = 30000..=32767;

#[derive(Default)]
struct Taken {
    ips: BTreeSet<IpAddr>,
    ports: BTreeSet<u16>,
}

/// The index of addresses in use.
pub struct ServiceAddresses {
    ranges: Vec<IpNet>,
    taken: Arc<Mutex<Taken>>,
}

/// Addresses taken for one write. Given back on drop unless [`Claim::keep`] is called.
pub struct Claim {
    taken: Arc<Mutex<Taken>>,
    ips: Vec<IpAddr>,
    ports: Vec<u16>,
    /// What the old state held and the new one does not; free once the write is done.
    freed: (Vec<IpAddr>, Vec<u16>),
}

impl Claim {
    /// The write is done: the addresses are in use now, those of the old state are free.
    pub fn keep(mut self) {
        self.ips.clear();
        self.ports.clear();
        let (ips, ports) = std::mem::take(&mut self.freed);
        let mut taken = lock(&self.taken);
        for ip in ips {
            taken.ips.remove(&ip);
        }
        for port in ports {
            taken.ports.remove(&port);
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        for ip in &self.ips {
            taken.ips.remove(ip);
        }
        for port in &self.ports {
            taken.ports.remove(port);
        }
    }
}

/// A panic elsewhere while holding the lock leaves a set that is still a set.
fn lock(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl ServiceAddresses {
    /// An index over these ranges: at most one per family, the first is the default family.
    pub fn new(ranges: Vec<IpNet>) -> Self {
        Self { ranges, taken: Arc::default() }
    }

    /// The first address of the default family: where the API itself is found.
    pub fn first(&self) -> Option<IpAddr> {
        nth(self.ranges.first()?, 1)
    }

    /// Notes what a stored Service holds.
    pub fn adopt(&self, service: &Value) {
        let mut taken = lock(&self.taken);
        taken.ips.extend(cluster_ips(service));
        taken.ports.extend(node_ports(service));
    }

    /// Completes a Service with its addresses. Other kinds pass untouched.
    pub fn claim(
        &self,
        resource: &Resource,
        new: &mut Value,
        old: Option<&Value>,
    ) -> ApiResult<Claim> {
        let mut claim = Claim {
            taken: Arc::clone(&self.taken),
            ips: vec![],
            ports: vec![],
            freed: (vec![], vec![]),
        };
        if !is_service(resource) {
            return Ok(claim);
        }
        let had_ips: Vec<IpAddr> = old.map(cluster_ips).unwrap_or_default();
        let had_ports: Vec<u16> = old.map(node_ports).unwrap_or_default();
        let name = object::name(new).to_owned();
        let refuse = |error: FieldError| ApiError::invalid(&resource.group_kind(), &name, &[error]);
        self.ips(new, &had_ips, &mut claim).map_err(refuse)?;
        self.ports(new, &had_ports, &mut claim).map_err(refuse)?;
        let (now_ips, now_ports) = (cluster_ips(new), node_ports(new));
        claim.freed.0 = had_ips.into_iter().filter(|ip| !now_ips.contains(ip)).collect();
        claim.freed.1 = had_ports.into_iter().filter(|port| !now_ports.contains(port)).collect();
        Ok(claim)
    }

    /// A Service is gone.
    pub fn release(&self, resource: &Resource, service: &Value) {
        if is_service(resource) {
            let mut taken = lock(&self.taken);
            for ip in cluster_ips(service) {
                taken.ips.remove(&ip);
            }
            for port in node_ports(service) {
                taken.ports.remove(&port);
            }
        }
    }

    fn ips(&self, new: &mut Value, had: &[IpAddr], claim: &mut Claim) -> Result<(), FieldError> {
        let spec = FieldPath::new("spec");
        if new["spec"]["type"] == "ExternalName" {
            for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                new["spec"].as_object_mut().map(|s| s.remove(field));
            }
            return Ok(());
        }
        let mut wanted: Vec<String> = strings(&new["spec"]["clusterIPs"]);
        if let Some(first) = new["spec"]["clusterIP"].as_str().filter(|ip| !ip.is_empty()) {
            if wanted.is_empty() {
                wanted.push(first.to_owned());
            } else if wanted[0] != first {
                return Err(FieldError::invalid(
                    &spec.child("clusterIPs"),
                    wanted,
                    "first value must match `clusterIP`",
                ));
            }
        }
        let families = self.families(new, &wanted)?;
        if wanted.first().is_some_and(|ip| ip == "None") {
            new["spec"]["clusterIP"] = "None".into();
            new["spec"]["clusterIPs"] = json!(["None"]);
            new["spec"]["ipFamilies"] = json!(families);
            return Ok(());
        }
        let mut given = Vec::new();
        for (index, family) in families.iter().enumerate() {
            let range = self.range(family).ok_or_else(|| {
                FieldError::invalid(
                    &spec.child("ipFamilies").index(index),
                    family.as_str(),
                    "not configured on this cluster",
                )
            })?;
            let ip = match wanted.get(index) {
                Some(text) => self.take(text, &wanted, range, had, claim)?,
                None => self.pick(range, claim).ok_or_else(|| {
                    FieldError::invalid(
                        &spec.child("clusterIPs").index(index),
                        "",
                        format!("failed to allocate an IP: range {range} is full"),
                    )
                })?,
            };
            given.push(ip.to_string());
        }
        new["spec"]["clusterIP"] = given.first().cloned().unwrap_or_default().into();
        new["spec"]["clusterIPs"] = json!(given);
        new["spec"]["ipFamilies"] = json!(families);
        Ok(())
    }

    /// Families in order: those asked for, those of the addresses asked for, then by policy.
    fn families(&self, service: &mut Value, wanted: &[String]) -> Result<Vec<String>, FieldError> {
        let spec = FieldPath::new("spec");
        let mut families = strings(&service["spec"]["ipFamilies"]);
        for family in &families {
            if self.range(family).is_none() {
                return Err(FieldError::invalid(
                    &spec.child("ipFamilies"),
                    family.as_str(),
                    "not configured on this cluster",
                ));
            }
        }
        if families.is_empty() {
            families = wanted
                .iter()
                .filter_map(|ip| ip.parse().ok())
                .map(|ip: IpAddr| family_of(ip).to_owned())
                .collect();
        }
        if families.is_empty() {
            families.extend(self.ranges.first().map(|range| family_of(range.addr()).to_owned()));
        }
        let policy = match service["spec"]["ipFamilyPolicy"].as_str() {
            Some(policy) => policy.to_owned(),
            None if families.len() > 1 => "RequireDualStack".to_owned(),
            None => "SingleStack".to_owned(),
        };
        let other = self
            .ranges
            .iter()
            .map(|r| family_of(r.addr()))
            .find(|f| !families.iter().any(|g| g == f));
        match (policy.as_str(), other) {
            ("SingleStack", _) => families.truncate(1),
            ("PreferDualStack" | "RequireDualStack", Some(other)) if families.len() < 2 => {
                families.push(other.to_owned());
            }
            ("RequireDualStack", None) if families.len() < 2 => {
                return Err(FieldError::invalid(
                    &spec.child("ipFamilyPolicy"),
                    policy,
                    "this cluster is not configured for dual-stack services",
                ));
            }
            ("PreferDualStack" | "RequireDualStack", _) => {}
            _ => {
                return Err(FieldError::not_supported(
                    &spec.child("ipFamilyPolicy"),
                    policy,
                    &["SingleStack", "PreferDualStack", "RequireDualStack"],
                ));
            }
        }
        service["spec"]["ipFamilyPolicy"] = policy.into();
        Ok(families)
    }

    fn range(&self, family: &str) -> Option<&IpNet> {
        self.ranges.iter().find(|range| family_of(range.addr()) == family)
    }

    /// Takes the address asked for.
    fn take(
        &self,
        text: &str,
        wanted: &[String],
        range: &IpNet,
        had: &[IpAddr],
        claim: &mut Claim,
    ) -> Result<IpAddr, FieldError> {
        let refuse = |why: String| {
            FieldError::invalid(&FieldPath::new("spec.clusterIPs"), wanted.to_vec(), why)
        };
        let ip: IpAddr = text.parse().map_err(|_| {
            refuse(format!(
                "{text:?} must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
            ))
        })?;
        if had.contains(&ip) {
            return Ok(ip);
        }
        if !range.contains(&ip) {
            return Err(refuse(format!(
                "failed to allocate IP {ip}: the provided IP ({ip}) is not in the valid range. The range of valid IPs is {range}"
            )));
        }
        if !lock(&self.taken).ips.insert(ip) {
            return Err(refuse(format!(
                "failed to allocate IP {ip}: provided IP is already allocated"
            )));
        }
        claim.ips.push(ip);
        Ok(ip)
    }

    /// Any free address: a few random tries, then the first free one from a random start.
    fn pick(&self, range: &IpNet, claim: &mut Claim) -> Option<IpAddr> {
        let mut taken = lock(&self.taken);
        let bits = u32::from(range.max_prefix_len() - range.prefix_len()).min(20);
        let size = (1_u128 << bits).saturating_sub(2); // network and, in IPv4, broadcast address
        let start = chance::below(size);
        for step in 0..size {
            let ip = nth(range, 1 + (start + step) % size)?;
            if taken.ips.insert(ip) {
                claim.ips.push(ip);
                return Some(ip);
            }
        }
        None
    }

    fn ports(&self, new: &mut Value, had: &[u16], claim: &mut Claim) -> Result<(), FieldError> {
        let kind = new["spec"]["type"].as_str().unwrap_or("ClusterIP").to_owned();
        let wants = kind == "NodePort"
            || (kind == "LoadBalancer" && new["spec"]["allocateLoadBalancerNodePorts"] != false);
        if kind == "LoadBalancer" && new["spec"]["allocateLoadBalancerNodePorts"].is_null() {
            new["spec"]["allocateLoadBalancerNodePorts"] = true.into();
        }
        let health = new["spec"]["healthCheckNodePort"].as_u64();
        let mut spare: Vec<u16> = had.to_vec();
        spare.retain(|port| Some(u64::from(*port)) != health);
        let ports = new["spec"]["ports"].as_array_mut();
        for (index, port) in ports.into_iter().flatten().enumerate() {
            let path = FieldPath::new("spec").child("ports").index(index).child("nodePort");
            let asked = port["nodePort"].as_u64().filter(|n| *n != 0);
            if kind == "ClusterIP" || kind == "ExternalName" {
                port.as_object_mut().map(|p| p.remove("nodePort"));
                continue;
            }
            match asked {
                Some(number) => {
                    let number = u16::try_from(number).ok().filter(|n| NODE_PORTS.contains(n)).ok_or_else(|| {
                        FieldError::invalid(&path, number, "provided port is not in the valid range. The range of valid ports is 30000-32767")
                    })?;
                    spare.retain(|p| *p != number);
                    // TCP and UDP of one Service may share a number.
                    if !had.contains(&number) && !claim.ports.contains(&number) {
                        if !lock(&self.taken).ports.insert(number) {
                            return Err(FieldError::invalid(
                                &path,
                                number,
                                "provided port is already allocated",
                            ));
                        }
                        claim.ports.push(number);
                    }
                }
                None if wants => {
                    let number = spare
                        .pop()
                        .map_or_else(|| self.pick_port(claim), Some)
                        .ok_or_else(|| {
                            FieldError::invalid(
                                &path,
                                0,
                                "failed to allocate a nodePort: range is full",
                            )
                        })?;
                    port["nodePort"] = number.into();
                }
                None => {}
            }
        }
        self.health_port(new, &kind, had, claim)
    }

    /// The port where load balancers ask whether a node has endpoints: with policy Local only.
    fn health_port(
        &self,
        new: &mut Value,
        kind: &str,
        had: &[u16],
        claim: &mut Claim,
    ) -> Result<(), FieldError> {
        const FIELD: &str = "healthCheckNodePort";
        let path = FieldPath::new("spec").child(FIELD);
        if kind != "LoadBalancer" || new["spec"]["externalTrafficPolicy"] != "Local" {
            new["spec"].as_object_mut().map(|spec| spec.remove(FIELD));
            return Ok(());
        }
        let number = match new["spec"][FIELD].as_u64().filter(|number| *number != 0) {
            None => self.pick_port(claim).ok_or_else(|| {
                FieldError::invalid(&path, 0, "failed to allocate a nodePort: range is full")
            })?,
            Some(asked) => {
                let number =
                    u16::try_from(asked).ok().filter(|n| NODE_PORTS.contains(n)).ok_or_else(|| {
                        FieldError::invalid(&path, asked, "provided port is not in the valid range. The range of valid ports is 30000-32767")
                    })?;
                let free = had.contains(&number) || lock(&self.taken).ports.insert(number);
                if !free {
                    return Err(FieldError::invalid(
                        &path,
                        number,
                        "provided port is already allocated",
                    ));
                }
                if !had.contains(&number) {
                    claim.ports.push(number);
                }
                number
            }
        };
        new["spec"][FIELD] = number.into();
        Ok(())
    }

    fn pick_port(&self, claim: &mut Claim) -> Option<u16> {
        let mut taken = lock(&self.taken);
        let size = NODE_PORTS.end() - NODE_PORTS.start() + 1;
        let start = u16::try_from(chance::below(u128::from(size))).unwrap_or(0);
        let free = (0..size)
            .map(|step| NODE_PORTS.start() + (start + step) % size)
            .find(|p| !taken.ports.contains(p))?;
        taken.ports.insert(free);
        claim.ports.push(free);
        Some(free)
    }
}

fn is_service(resource: &Resource) -> bool {
    resource.group.is_empty() && resource.plural == "services"
}

fn family_of(ip: IpAddr) -> &'static str {
    if ip.is_ipv4() { "IPv4" } else { "IPv6" }
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn cluster_ips(service: &Value) -> Vec<IpAddr> {
    strings(&service["spec"]["clusterIPs"]).iter().filter_map(|ip| ip.parse().ok()).collect()
}

fn node_ports(service: &Value) -> Vec<u16> {
    let ports = service["spec"]["ports"].as_array().into_iter().flatten();
    let health = service["spec"]["healthCheckNodePort"].as_u64();
    let mut list: Vec<u16> = ports
        .filter_map(|port| port["nodePort"].as_u64())
        .chain(health)
        .filter_map(|n| u16::try_from(n).ok())
        .filter(|n| *n != 0)
        .collect();
    list.dedup();
    list
}

/// The address at an offset from the start of a range.
fn nth(range: &IpNet, offset: u128) -> Option<IpAddr> {
    match range.network() {
        IpAddr::V4(base) => {
            u32::from(base).checked_add(u32::try_from(offset).ok()?).map(|n| IpAddr::V4(n.into()))
        }
        IpAddr::V6(base) => u128::from(base).checked_add(offset).map(|n| IpAddr::V6(n.into())),
    }
}
