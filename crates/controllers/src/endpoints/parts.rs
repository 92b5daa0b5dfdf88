//! What a service consists of: its workloads, the Services in front of them, and how it is known to
//! Keystone.
//!
//! A part is read from the spec of a service's kind. The catalogue of all kinds is in [`catalogue`].

pub mod catalogue;

use serde_json::Value;

/// What runs the pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// Pods without identity.
    Deployment,
    /// Pods with a name, and if asked for an address, that stays.
    StatefulSet,
    /// A pod on every node.
    DaemonSet,
}

/// One workload and what stands in front of it.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// Name of the workload.
    pub name: String,
    /// The service it belongs to, for the label of its pods.
    pub service: String,
    /// How it runs.
    pub runs: Runs,
    /// How many pods; without meaning for a DaemonSet.
    pub replicas: i64,
    /// Attachments of the pods, in order.
    pub attachments: Vec<String>,
    /// Nodes the pods may run on.
    pub node_selector: &'a Value,
    /// The image, when one is named.
    pub image: &'a Value,
    /// What the pods listen on.
    pub ports: Vec<Port>,
    /// The Services in front of them.
    pub offers: Vec<Offer<'a>>,
    /// Whether the pods keep their addresses.
    pub is_sticky: bool,
    /// Further containers of a pod.
    pub beside: &'static [&'static str],
    /// What the containers find in their environment; `None` stands for the node's name.
    pub env: Vec<(String, Option<String>)>,
}

/// A port of a pod or a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// `TCP` or `UDP`.
    pub protocol: &'static str,
    /// The number.
    pub number: u16,
    /// What it leads to in the pod.
    pub target: u16,
}

/// Which clients an endpoint is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Endpoint {
    /// Those on the inner networks.
    Internal,
    /// Everybody.
    Public,
}

impl Endpoint {
    /// As it stands in names, labels and Keystone.
    pub fn name(self) -> &'static str {
        match self {
            Self::Internal => "internal",
            Self::Public => "public",
        }
    }
}

/// A Service.
#[derive(Clone, Debug)]
pub struct Offer<'a> {
    /// Name of the Service.
    pub service: String,
    /// Which clients it is for; `None` when it is not an endpoint of OpenStack.
    pub endpoint: Option<Endpoint>,
    /// Its ports.
    pub ports: Vec<Port>,
    /// How it is to be exposed.
    pub wish: Wish<'a>,
    /// How Keystone knows it.
    pub registered: &'static [Registered],
    /// Whether a Route is made when it has no address of its own.
    pub is_routed: bool,
    /// Whether it only gives names to pods.
    pub is_headless: bool,
}

/// How a Service is to be exposed.
#[derive(Clone, Copy, Debug)]
pub enum Wish<'a> {
    /// Inside of the cluster only.
    Nothing,
    /// By a block of the first generation.
    First(&'a Value),
    /// By what the user wants different in the Service.
    Today(&'a Value),
}

/// What is registered in Keystone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registered {
    /// Name of the service.
    pub name: &'static str,
    /// Its type.
    pub kind: &'static str,
    /// For people.
    pub description: &'static str,
    /// What follows the address in URLs.
    pub path: &'static str,
}

/// Nothing was said.
static NOTHING: Value = Value::Null;

impl<'a> Part<'a> {
    /// A part configured by `spec`.
    fn new(name: impl Into<String>, service: &str, runs: Runs, spec: &'a Value) -> Self {
        let names = spec["networkAttachments"].as_array().into_iter().flatten();
        let names = names.filter_map(Value::as_str).map(str::to_owned);
        Self {
            name: name.into(),
            service: service.to_owned(),
            runs,
            replicas: spec["replicas"].as_i64().unwrap_or(1).max(0),
            attachments: names.collect(),
            node_selector: &spec["nodeSelector"],
            image: &spec["containerImage"],
            ports: Vec::new(),
            offers: Vec::new(),
            is_sticky: false,
            beside: &[],
            env: Vec::new(),
        }
    }

    /// With one more port.
    fn listens(mut self, name: &str, protocol: &'static str, number: u16) -> Self {
        self.ports.push(Port { name: name.to_owned(), protocol, number, target: number });
        self
    }

    /// With a Service for each endpoint, as an API has them.
    fn api(
        mut self,
        service: &str,
        number: u16,
        registered: &'static [Registered],
        spec: &'a Value,
    ) -> Self {
        for endpoint in [Endpoint::Internal, Endpoint::Public] {
            self = self.endpoint(service, endpoint, number, registered, spec);
        }
        self
    }

    /// With a Service for one endpoint.
    fn endpoint(
        mut self,
        service: &str,
        endpoint: Endpoint,
        number: u16,
        registered: &'static [Registered],
        spec: &'a Value,
    ) -> Self {
        if !self.ports.iter().any(|port| port.number == number) {
            self = self.listens("api", "TCP", number);
        }
        let service = format!("{service}-{}", endpoint.name());
        self.offers.push(Offer {
            ports: vec![Port { name: service.clone(), protocol: "TCP", number, target: number }],
            service,
            endpoint: Some(endpoint),
            wish: Wish::of(spec, Some(endpoint)),
            registered,
            is_routed: endpoint == Endpoint::Public,
            is_headless: false,
        });
        self
    }

    /// With a Service for all of its ports that is no endpoint of OpenStack.
    fn inside(mut self, service: &str, wish: Wish<'a>, is_headless: bool) -> Self {
        self.offers.push(Offer {
            service: service.to_owned(),
            endpoint: None,
            ports: self.ports.clone(),
            wish,
            registered: &[],
            is_routed: false,
            is_headless,
        });
        self
    }
}

impl<'a> Wish<'a> {
    /// What a spec wants for one of its Services. Today's way wins over that of the first
    /// generation.
    fn of(spec: &'a Value, endpoint: Option<Endpoint>) -> Self {
        let service = &spec["override"]["service"];
        if landbridge_api::foreign::rules::is_single(service) {
            return Self::Today(service);
        }
        if let Some(endpoint) = endpoint
            && service[endpoint.name()].is_object()
        {
            return Self::Today(&service[endpoint.name()]);
        }
        let blocks = spec["externalEndpoints"].as_array();
        let named =
            |block: &&Value| endpoint.is_none_or(|endpoint| block["endpoint"] == endpoint.name());
        if let Some(block) = blocks.into_iter().flatten().find(named) {
            return Self::First(block);
        }
        let block = &spec["externalEndpoint"];
        if block.is_object() { Self::First(block) } else { Self::Nothing }
    }
}
