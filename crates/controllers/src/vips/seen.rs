//! What the engine needs to know of each kind, and no more.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Namespace as KubeNamespace, Service as KubeService, ServiceSpec};
use landbridge_addr::net::Family;
use landbridge_api::foreign::metallb::objects::IPAddressPool;
use landbridge_vips::asked::{self, ADDRESSES, FROM_POOL, POOL, SHARED};
use landbridge_vips::figures::PoolStatus;
use landbridge_vips::{Asked, Port, Sharing};
use serde_json::Value;

use super::Settings;
use super::claims::name_of;
use crate::ipam::seen::{key_of, revision_of};
use crate::mirror::{Key, Observed};

/// What a Service is to this controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// It has a class that is somebody else's: hands off.
    Foreign,
    /// It wants no virtual address.
    Plain,
    /// It wants one.
    Balanced(Arc<Asked>),
}

/// A Service.
#[derive(Clone, Debug)]
pub struct Service {
    /// Where it stands.
    pub key: Key,
    /// Its identity.
    pub uid: Arc<str>,
    /// Its resourceVersion.
    pub revision: u64,
    /// When it was created, in seconds.
    pub created: i64,
    /// What it wants.
    pub role: Role,
    /// The addresses in its status.
    pub ingress: Vec<IpAddr>,
    /// Whether there is anything in its status, addresses or names.
    pub has_ingress: bool,
    /// The pool its annotation names.
    pub from_pool: Option<String>,
    /// Annotations in the old prefix.
    pub deprecated: Vec<String>,
}

impl Observed for Service {
    fn key(&self) -> &Key {
        &self.key
    }
    fn revision(&self) -> u64 {
        self.revision
    }
}

impl Service {
    /// Reads a Service.
    pub fn read(object: &KubeService, settings: &Settings) -> Self {
        let key = key_of(object);
        let none = BTreeMap::new();
        let annotations = object.metadata.annotations.as_ref().unwrap_or(&none);
        let spec = object.spec.clone().unwrap_or_default();
        let status = object.status.as_ref().and_then(|status| status.load_balancer.as_ref());
        let entries = status.and_then(|status| status.ingress.as_deref()).unwrap_or_default();
        let mut ingress: Vec<IpAddr> = entries
            .iter()
            .filter_map(|entry| entry.ip.as_deref().and_then(|text| text.parse().ok()))
            .collect();
        ingress.sort_unstable();
        ingress.dedup();
        let role = role(object, &key, &spec, annotations, settings);
        let deprecated = match role {
            Role::Balanced(_) => {
                asked::deprecated(annotations).into_iter().map(str::to_owned).collect()
            }
            _ => Vec::new(),
        };
        Self {
            uid: object.metadata.uid.as_deref().unwrap_or_default().into(),
            revision: revision_of(object),
            created: object
                .metadata
                .creation_timestamp
                .as_ref()
                .map_or(0, |time| time.0.as_second()),
            role,
            ingress,
            has_ingress: !entries.is_empty(),
            from_pool: annotations.get(FROM_POOL).cloned(),
            deprecated,
            key,
        }
    }
}

fn role(
    object: &KubeService,
    key: &Key,
    spec: &ServiceSpec,
    annotations: &BTreeMap<String, String>,
    settings: &Settings,
) -> Role {
    if spec.type_.as_deref() != Some("LoadBalancer") {
        return Role::Plain;
    }
    if spec.load_balancer_class.as_deref() != settings.class.as_deref() {
        return Role::Foreign;
    }
    let find = |name: &str| asked::annotation(annotations, name).map(|(_, value)| value);
    let local = spec.external_traffic_policy.as_deref() == Some("Local");
    let backend = match &spec.selector {
        Some(selector) if local => {
            let parts: Vec<String> = selector.iter().map(|(k, v)| format!("{k}={v}")).collect();
            parts.join(",")
        }
        _ => String::new(),
    };
    let listed = spec.cluster_ips.iter().flatten().map(String::as_str);
    let single = spec.cluster_ip.as_deref().filter(|_| spec.cluster_ips.is_none());
    let first = spec.ip_families.as_ref().and_then(|list| list.first());
    let first = first.map(|f| if f == "IPv6" { Family::V6 } else { Family::V4 });
    Role::Balanced(Arc::new(Asked {
        name: name_of(key),
        namespace: key.namespace.clone(),
        labels: object.metadata.labels.clone().unwrap_or_default(),
        families: asked::families(listed.chain(single), spec.ip_family_policy.as_deref(), first),
        pool: find(POOL).filter(|name| !name.is_empty()).map(str::to_owned),
        addresses: asked::addresses(find(ADDRESSES), spec.load_balancer_ip.as_deref()),
        sharing: Sharing { key: find(SHARED).unwrap_or_default().to_owned(), backend },
        ports: ports(spec),
    }))
}

fn ports(spec: &ServiceSpec) -> Vec<Port> {
    let all = spec.ports.iter().flatten().filter_map(|port| {
        let protocol = match port.protocol.as_deref() {
            Some("UDP") => "UDP",
            Some("SCTP") => "SCTP",
            _ => "TCP",
        };
        Some(Port { protocol, number: u16::try_from(port.port).ok()? })
    });
    let mut ports: Vec<Port> = all.collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// An IPAddressPool.
#[derive(Clone, Debug)]
pub struct Pool {
    /// Where it stands.
    pub key: Key,
    /// Its resourceVersion.
    pub revision: u64,
    /// What it says.
    pub spec: Arc<Value>,
    /// What its status says.
    pub status: Option<PoolStatus>,
}

impl Observed for Pool {
    fn key(&self) -> &Key {
        &self.key
    }
    fn revision(&self) -> u64 {
        self.revision
    }
}

impl From<IPAddressPool> for Pool {
    fn from(object: IPAddressPool) -> Self {
        let number = |field: &str| object.status[field].as_i64();
        let status = || {
            Some(PoolStatus {
                assigned_v4: number("assignedIPv4")?,
                assigned_v6: number("assignedIPv6")?,
                available_v4: number("availableIPv4")?,
                available_v6: number("availableIPv6")?,
            })
        };
        let (key, revision, status) = (key_of(&object), revision_of(&object), status());
        Self { key, revision, spec: Arc::new(object.spec), status }
    }
}

/// A namespace.
#[derive(Clone, Debug)]
pub struct Namespace {
    /// Its name.
    pub key: Key,
    /// Its resourceVersion.
    pub revision: u64,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
}

impl Observed for Namespace {
    fn key(&self) -> &Key {
        &self.key
    }
    fn revision(&self) -> u64 {
        self.revision
    }
}

impl From<KubeNamespace> for Namespace {
    fn from(object: KubeNamespace) -> Self {
        Self {
            key: key_of(&object),
            revision: revision_of(&object),
            labels: object.metadata.labels.unwrap_or_default(),
        }
    }
}
