//! Objects as far as they matter for announcing: small values that can be compared, so that what
//! changes nothing starts nothing.

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{Node, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::ResourceExt as _;
use landbridge_api::foreign::Trouble;
use landbridge_api::foreign::metallb::{self, objects};
use landbridge_api::net::Range;
use landbridge_l2::eligible::Endpoint;
use landbridge_machinery::selector::LabelSelector;
use serde_json::{Value, json};

/// A node with this label announces nothing.
const EXCLUDED: &str = "node.kubernetes.io/exclude-from-external-load-balancers";
/// On an EndpointSlice: its Service.
const OF_SERVICE: &str = "kubernetes.io/service-name";
const SHARED: [&str; 2] = ["metallb.io/allow-shared-ip", "metallb.universe.tf/allow-shared-ip"];

/// What can be asked for beyond MetalLB, on an L2Advertisement or on a Service; `"true"` is yes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// The address stays where it is when a node comes back.
    pub sticky: bool,
    /// No node gets more than its share of the addresses that have this.
    pub spread: bool,
    /// A node that has none of the interfaces is not chosen.
    pub interfaces: bool,
    /// Announced only where an interface has an address of the same network; a node without is not
    /// chosen.
    pub subnets: bool,
}

impl Wishes {
    /// Reads annotations.
    pub fn of(annotations: &BTreeMap<String, String>) -> Self {
        let yes = |name: &str| {
            annotations.get(&format!("landbridge.dev/{name}")).is_some_and(|text| text == "true")
        };
        Self {
            sticky: yes("sticky-announcer"),
            spread: yes("spread-announcers"),
            interfaces: yes("interface-aware"),
            subnets: yes("subnet-aware"),
        }
    }

    /// What either asks for.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            sticky: self.sticky || other.sticky,
            spread: self.spread || other.spread,
            interfaces: self.interfaces || other.interfaces,
            subnets: self.subnets || other.subnets,
        }
    }
}

/// A Service with addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenService {
    /// Its uid, for events.
    pub uid: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its addresses, in order.
    pub addresses: Vec<IpAddr>,
    /// externalTrafficPolicy is Local.
    pub local: bool,
    /// It has a sharing key.
    pub shared: bool,
    /// What it asks for.
    pub wishes: Wishes,
}

impl SeenService {
    /// Reads a Service; nothing where it has no address that is ours to announce.
    pub fn of(service: &Service) -> Option<Self> {
        let spec = service.spec.as_ref()?;
        if spec.type_.as_deref() != Some("LoadBalancer") || spec.load_balancer_class.is_some() {
            return None;
        }
        let ingress = service.status.as_ref()?.load_balancer.as_ref()?.ingress.as_ref()?;
        let addresses: Vec<IpAddr> =
            ingress.iter().filter_map(|one| one.ip.as_ref()?.parse().ok()).collect();
        if addresses.is_empty() {
            return None;
        }
        let annotations = service.annotations();
        // The newer name wins, also where it says nothing.
        let key = SHARED.iter().find_map(|name| annotations.get(*name));
        Some(Self {
            uid: service.uid().unwrap_or_default(),
            labels: service.labels().clone(),
            addresses,
            local: spec.external_traffic_policy.as_deref() == Some("Local"),
            shared: key.is_some_and(|key| !key.is_empty()),
            wishes: Wishes::of(annotations),
        })
    }
}

/// The endpoints of one slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenSlice {
    /// The name of the Service, in the same namespace.
    pub service: String,
    /// Its endpoints.
    pub endpoints: Vec<Endpoint>,
}

impl SeenSlice {
    /// Reads a slice; nothing where it belongs to no Service.
    pub fn of(slice: &EndpointSlice) -> Option<Self> {
        let service = slice.labels().get(OF_SERVICE)?.clone();
        let endpoint = |endpoint: &k8s_openapi::api::discovery::v1::Endpoint| {
            let conditions = endpoint.conditions.as_ref();
            Endpoint {
                node: endpoint.node_name.clone(),
                ready: conditions.and_then(|conditions| conditions.ready),
                serving: conditions.and_then(|conditions| conditions.serving),
            }
        };
        Some(Self { service, endpoints: slice.endpoints.iter().map(endpoint).collect() })
    }
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenNode {
    /// Its uid, for owners.
    pub uid: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its first address of the machine network.
    pub address: Option<IpAddr>,
    /// Its condition Ready is True, or not there at all.
    pub ready: bool,
    /// What rules look at.
    pub rules: landbridge_l2::eligible::Node,
}

impl SeenNode {
    /// Reads a Node.
    pub fn of(node: &Node) -> Self {
        let status = node.status.clone().unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        let is = |kind: &str| {
            conditions.iter().find(|condition| condition.type_ == kind).map(|c| c.status == "True")
        };
        let addresses = status.addresses.unwrap_or_default();
        let mut internal = addresses.iter().filter(|address| address.type_ == "InternalIP");
        Self {
            uid: node.uid().unwrap_or_default(),
            labels: node.labels().clone(),
            address: internal.find_map(|address| address.address.parse().ok()),
            ready: is("Ready").unwrap_or(true),
            rules: landbridge_l2::eligible::Node {
                network_unavailable: is("NetworkUnavailable").unwrap_or(false),
                excluded: node.labels().contains_key(EXCLUDED),
            },
        }
    }
}

/// A pool of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenPool {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its addresses.
    pub ranges: Vec<Range>,
}

impl SeenPool {
    /// Reads a pool. What is malformed in it holds no address.
    pub fn of(pool: &objects::IPAddressPool) -> Self {
        let read = metallb::pool(&json!({"spec": pool.spec}), &mut Trouble::default());
        Self {
            labels: pool.metadata.labels.clone().unwrap_or_default(),
            ranges: read.ranges.into_iter().map(|range| range.value).collect(),
        }
    }

    /// Whether an address is of this pool.
    pub fn contains(&self, ip: IpAddr) -> bool {
        self.ranges.iter().any(|range| range.contains(ip))
    }
}

/// An L2Advertisement.
#[derive(Clone, Debug)]
pub struct SeenAdvertisement {
    /// As it was written, to tell whether it changed.
    pub spec: Value,
    /// What it asks for.
    pub wishes: Wishes,
    /// Pools by name.
    pub pools: Vec<String>,
    /// Pools by label.
    pub pool_selectors: Vec<LabelSelector>,
    /// Nodes by label; none: all.
    pub node_selectors: Vec<LabelSelector>,
    /// Services by label; none: all.
    pub service_selectors: Vec<LabelSelector>,
    /// Names of interfaces; none: all.
    pub interfaces: Vec<String>,
    /// How much it would rather have nodes of some labels.
    pub preferred: Vec<(u32, LabelSelector)>,
}

impl PartialEq for SeenAdvertisement {
    fn eq(&self, other: &Self) -> bool {
        (&self.spec, self.wishes) == (&other.spec, other.wishes)
    }
}

impl SeenAdvertisement {
    /// Reads one. What cannot be read is an error: half of an advertisement would be another one.
    pub fn of(object: &objects::L2Advertisement) -> Result<Self, String> {
        let spec = &object.spec;
        let texts = |field: &str| -> Result<Vec<String>, String> {
            let wrong = || format!("spec.{field} is no list of texts");
            match &spec[field] {
                Value::Null => Ok(Vec::new()),
                Value::Array(list) => {
                    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(wrong);
                    list.iter().map(text).collect()
                }
                _ => Err(wrong()),
            }
        };
        let selectors = |field: &str| -> Result<Vec<LabelSelector>, String> {
            match &spec[field] {
                Value::Null => Ok(Vec::new()),
                Value::Array(list) => list
                    .iter()
                    .enumerate()
                    .map(|(place, selector)| {
                        LabelSelector::from_object(selector)
                            .map_err(|error| format!("spec.{field}[{place}]: {error}"))
                    })
                    .collect(),
                _ => Err(format!("spec.{field} is no list of selectors")),
            }
        };
        let wishes = object.spec["preferredNodeSelectors"].as_array().into_iter().flatten();
        let preferred = wishes.enumerate().map(|(place, wish)| {
            let at = format!("spec.preferredNodeSelectors[{place}]");
            let weight = wish["weight"].as_u64().filter(|weight| (1..=100).contains(weight));
            let weight = weight.ok_or_else(|| format!("{at}.weight is not within 1 and 100"))?;
            let selector = LabelSelector::from_object(&wish["preference"])
                .map_err(|error| format!("{at}.preference: {error}"))?;
            Ok::<_, String>((u32::try_from(weight).unwrap_or_default(), selector))
        });
        Ok(Self {
            wishes: Wishes::of(object.annotations()),
            pools: texts("ipAddressPools")?,
            pool_selectors: selectors("ipAddressPoolSelectors")?,
            node_selectors: selectors("nodeSelectors")?,
            service_selectors: selectors("serviceSelectors")?,
            interfaces: texts("interfaces")?,
            preferred: preferred.collect::<Result<_, _>>()?,
            spec: spec.clone(),
        })
    }

    /// Whether it is about a pool.
    pub fn is_about(&self, name: &str, pool: &SeenPool) -> bool {
        let all = self.pools.is_empty() && self.pool_selectors.is_empty();
        all || self.pools.iter().any(|one| one == name)
            || self.pool_selectors.iter().any(|selector| selects(selector, &pool.labels))
    }
}

/// Whether a selector selects these labels.
pub fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    selector.matches_with(|key| labels.get(key).map(String::as_str))
}
