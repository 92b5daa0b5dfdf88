//! Which nodes may announce the addresses of a Service (facts of MetalLB's speaker, rules 1 to 6).
//!
//! Here objects have already become what matters of them: whether a selector matches was decided by
//! whoever read it. That a node lives (rule 3) and can (its interfaces) is not asked here but where
//! it is known: [`members`](crate::members).

use std::collections::{BTreeMap, BTreeSet};

use crate::interfaces::Where;

/// An endpoint of a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// The node it runs on.
    pub node: Option<String>,
    /// Whether it takes traffic; unsaid counts as yes.
    pub ready: Option<bool>,
    /// Whether it would take traffic were it not ending.
    pub serving: Option<bool>,
}

impl Endpoint {
    fn serves(&self) -> bool {
        self.ready.unwrap_or(true) || self.serving == Some(true)
    }
}

/// A node, as the API has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Its condition NetworkUnavailable is True.
    pub network_unavailable: bool,
    /// It has the label `node.kubernetes.io/exclude-from-external-load-balancers`.
    pub excluded: bool,
}

/// An L2Advertisement that matches the pool of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advertisement {
    /// The nodes it includes.
    pub nodes: BTreeSet<String>,
    /// The interfaces it names.
    pub interfaces: Where,
    /// Whether it is for some Services only.
    pub selects_services: bool,
    /// Whether it matches this Service.
    pub matches: bool,
    /// How much it would rather have which nodes.
    pub weights: BTreeMap<String, u32>,
}

/// A Service that has addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// All of its endpoints.
    pub endpoints: Vec<Endpoint>,
    /// externalTrafficPolicy is Local.
    pub local: bool,
    /// It has a sharing key.
    pub shared: bool,
    /// The advertisements of its pool.
    pub advertisements: Vec<Advertisement>,
}

/// Why nobody announces a Service, or not a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No endpoint is ready.
    NoEndpoint,
    /// No advertisement matches.
    NoAdvertisement,
    /// It shares its address, and an advertisement selects Services: then two nodes could be chosen
    /// for one address.
    SharedAndSelected,
}

/// The nodes that may announce a Service, each with how much it is wanted.
pub fn candidates(
    service: &Service,
    nodes: &BTreeMap<String, Node>,
) -> Result<BTreeMap<String, u32>, Refusal> {
    if !service.endpoints.iter().any(Endpoint::serves) {
        return Err(Refusal::NoEndpoint);
    }
    let matching = || service.advertisements.iter().filter(|advertisement| advertisement.matches);
    if matching().next().is_none() {
        return Err(Refusal::NoAdvertisement);
    }
    if service.shared && matching().any(|advertisement| advertisement.selects_services) {
        return Err(Refusal::SharedAndSelected);
    }
    let hosts = |name: &str| {
        let mut serving = service.endpoints.iter().filter(|endpoint| endpoint.serves());
        serving.any(|endpoint| endpoint.node.as_deref() == Some(name))
    };
    let found = nodes
        .iter()
        .filter(|(_, node)| !node.network_unavailable && !node.excluded)
        .filter(|(name, _)| !service.local || hosts(name))
        .filter_map(|(name, _)| {
            let mut included =
                matching().filter(|advertisement| advertisement.nodes.contains(name));
            let first = included.next()?;
            let weight = |advertisement: &Advertisement| {
                advertisement.weights.get(name).copied().unwrap_or_default()
            };
            let sum = included.map(weight).fold(weight(first), u32::saturating_add);
            Some((name.clone(), sum))
        });
    Ok(found.collect())
}

/// On which interfaces a node announces a Service; nothing where no advertisement includes the node.
pub fn interfaces(service: &Service, node: &str) -> Option<Where> {
    let matching = service.advertisements.iter().filter(|advertisement| advertisement.matches);
    let included = matching.filter(|advertisement| advertisement.nodes.contains(node));
    included.map(|advertisement| advertisement.interfaces.clone()).reduce(Where::union)
}
