//! One Service: what it looks like, where it leads, and whether it has its address.
//!
//! The first generation names a pool; today's lets the user change the Service. A public endpoint
//! without an address of its own gets a Route.

use std::net::IpAddr;

use landbridge_api::foreign::route;
use landbridge_machinery::object;
use landbridge_machinery::patch::merge_patch;
use serde_json::{Map, Value, json};

use super::generation::Generation;
use super::kinds::Kind;
use super::parts::{Endpoint, Offer, Part, Port, Wish};
use super::plan::{Context, Standing, Wanted, reference};

/// The name under which others find an address.
const HOSTNAME: &str = "dnsmasq.network.openstack.org/hostname";
const INGRESS: &str = "core.openstack.org/ingress_create";
const POOL: &str = "metallb.universe.tf/address-pool";
const ADDRESSES: &str = "metallb.universe.tf/loadBalancerIPs";
const SHARED: &str = "metallb.universe.tf/allow-shared-ip";

/// Parts of a Service that are as said, or not there.
const SERVICE_WHOLE: &[&str] = &[
    "/spec/selector",
    "/spec/loadBalancerSourceRanges",
    "/spec/sessionAffinityConfig",
    "/spec/externalTrafficPolicy",
    "/spec/externalName",
];

/// Parts of the spec of a Service that may be overridden.
const OVERRIDABLE: [&str; 9] = [
    "type",
    "sessionAffinity",
    "loadBalancerSourceRanges",
    "externalName",
    "externalTrafficPolicy",
    "sessionAffinityConfig",
    "ipFamilyPolicy",
    "loadBalancerClass",
    "internalTrafficPolicy",
];

/// How Routes and pods are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encryption {
    /// Routes take HTTPS.
    pub ingress: bool,
    /// Pods do, too.
    pub pods: bool,
}

impl Encryption {
    /// As the control plane says. Pods speak plain HTTP unless it is asked for, because nobody here
    /// makes certificates for them.
    pub fn of(plane: Option<&Value>, generation: Generation) -> Self {
        let switch =
            |name: &str| plane.and_then(|plane| plane["spec"]["tls"][name]["enabled"].as_bool());
        let today = generation == Generation::Today;
        Self {
            ingress: today && switch("ingress").unwrap_or(true),
            pods: today && switch("podLevel").unwrap_or(false),
        }
    }
}

/// How far a Service is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It is there and has what it needs.
    Done,
    /// It is being made.
    Begun,
    /// It cannot be made, or lacks its address; and why.
    Stuck(String),
}

/// What comes of an offer.
#[derive(Clone, Debug)]
pub struct Exposed {
    /// The Service, and perhaps a Route.
    pub wanted: Vec<Wanted>,
    /// The address clients use, without a path; `None` as long as it is not known.
    pub url: Option<String>,
    /// How far it is.
    pub progress: Progress,
    /// The virtual addresses it has.
    pub addresses: Vec<String>,
}

/// Plans one Service.
pub fn expose(
    context: &Context<'_>,
    part: &Part<'_>,
    offer: &Offer<'_>,
    generation: Generation,
) -> Exposed {
    let generation = match offer.wish {
        Wish::Nothing => generation,
        Wish::First(_) => Generation::First,
        Wish::Today(_) => Generation::Today,
    };
    let encryption = Encryption::of(context.plane().map(|plane| &**plane), generation);
    let service = service(context, part, offer, generation);
    let is_balanced = service["spec"]["type"] == "LoadBalancer";
    let is_routed = offer.is_routed && service["spec"]["type"] == "ClusterIP";
    let mut exposed = Exposed {
        wanted: vec![Wanted { kind: Kind::Service, object: service, whole: SERVICE_WHOLE }],
        url: None,
        progress: Progress::Done,
        addresses: Vec::new(),
    };
    exposed.progress = match context.standing(Kind::Service, &offer.service) {
        Standing::Taken(why) => {
            exposed.wanted.clear();
            Progress::Stuck(why)
        }
        Standing::Absent => match context.error(Kind::Service, &offer.service) {
            Some(why) => Progress::Stuck(why.to_owned()),
            None => Progress::Begun,
        },
        Standing::Ours(live) => {
            let ingress = live["status"]["loadBalancer"]["ingress"].as_array();
            let ips = ingress.into_iter().flatten().filter_map(|entry| entry["ip"].as_str());
            exposed.addresses = ips.map(str::to_owned).collect();
            match context.error(Kind::Service, &offer.service) {
                Some(why) => Progress::Stuck(why.to_owned()),
                None if is_balanced && exposed.addresses.is_empty() => {
                    Progress::Stuck(pending(context, &offer.service, &exposed.wanted[0].object))
                }
                None => Progress::Done,
            }
        }
    };
    if is_routed && !exposed.wanted.is_empty() {
        route_for(context, offer, encryption, &mut exposed);
    } else {
        exposed.url = Some(inner_url(context, offer, encryption));
    }
    if let Wish::Today(wish) = offer.wish
        && let Some(url) = wish["endpointURL"].as_str().filter(|url| !url.is_empty())
    {
        exposed.url = Some(url.trim_end_matches('/').to_owned());
    }
    exposed
}

/// The labels of a part's pods.
pub fn selector(part: &Part<'_>) -> Value {
    json!({"service": part.service, "component": part.name})
}

fn service(
    context: &Context<'_>,
    part: &Part<'_>,
    offer: &Offer<'_>,
    generation: Generation,
) -> Value {
    let mut labels = selector(part);
    let mut annotations = Map::new();
    let mut spec = json!({
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster",
        "selector": selector(part),
        "ports": offer.ports.iter().map(port).collect::<Vec<_>>(),
    });
    if offer.is_headless {
        spec["clusterIP"] = "None".into();
    }
    if let Wish::First(block) = offer.wish {
        first(block, &mut spec, &mut annotations);
    }
    if let Wish::Today(wish) = offer.wish {
        for field in OVERRIDABLE {
            // An empty text is how Go says "not set".
            if let Some(value) = wish["spec"].get(field).filter(|v| !v.is_null() && *v != "") {
                spec[field] = value.clone();
            }
        }
    }
    finish(&mut spec);
    let kind = spec["type"].as_str().unwrap_or_default().to_owned();
    if let Some(endpoint) = offer.endpoint {
        match generation {
            Generation::First => labels[endpoint.name()] = "true".into(),
            Generation::Today => {
                labels["endpoint"] = endpoint.name().into();
                annotations.insert("endpoint".to_owned(), endpoint.name().into());
            }
        }
    }
    // Name servers are no endpoints, and say so.
    if generation == Generation::Today
        && (offer.endpoint.is_some() || context.kind == Kind::DNSMasq)
    {
        let is_public = offer.endpoint == Some(Endpoint::Public);
        let is_made = is_public && offer.is_routed && kind == "ClusterIP";
        annotations.insert(INGRESS.to_owned(), is_made.to_string().into());
    }
    if kind == "LoadBalancer" {
        let name = format!("{}.{}.svc", offer.service, context.namespace());
        annotations.insert(HOSTNAME.to_owned(), name.into());
    }
    if let Wish::Today(wish) = offer.wish {
        for (key, value) in wish["metadata"]["annotations"].as_object().into_iter().flatten() {
            annotations.insert(key.clone(), value.clone());
        }
        for (key, value) in wish["metadata"]["labels"].as_object().into_iter().flatten() {
            labels[key] = value.clone();
        }
    }
    let mut object = context.object(Kind::Service, &offer.service, spec);
    object["metadata"]["labels"] = labels;
    // The API drops an empty map, and it would be put there again for ever.
    if !annotations.is_empty() {
        object["metadata"]["annotations"] = Value::Object(annotations);
    }
    object
}

fn port(port: &Port) -> Value {
    json!({
        "name": port.name, "protocol": port.protocol,
        "port": port.number, "targetPort": port.target,
    })
}

/// What a block of the first generation asks for.
fn first(block: &Value, spec: &mut Value, annotations: &mut Map<String, Value>) {
    spec["type"] = "LoadBalancer".into();
    let pool = block["ipAddressPool"].as_str().unwrap_or_default();
    annotations.insert(POOL.to_owned(), pool.into());
    let texts = block["loadBalancerIPs"].as_array().into_iter().flatten();
    let addresses: Vec<&str> = texts.filter_map(Value::as_str).collect();
    if !addresses.is_empty() {
        annotations.insert(ADDRESSES.to_owned(), addresses.join(",").into());
    }
    let parsed = addresses.iter().filter_map(|text| text.parse::<IpAddr>().ok());
    let (four, six): (Vec<IpAddr>, Vec<IpAddr>) = parsed.partition(IpAddr::is_ipv4);
    if !four.is_empty() && !six.is_empty() {
        // Without this a Service has one family and could not hold both addresses.
        spec["ipFamilyPolicy"] = "PreferDualStack".into();
    }
    if block["sharedIP"].as_bool().unwrap_or(true) {
        let key = block["sharedIPKey"].as_str().filter(|key| !key.is_empty());
        annotations.insert(SHARED.to_owned(), key.unwrap_or(pool).into());
    }
}

/// Says what follows from the type, so that a change of it takes effect.
fn finish(spec: &mut Value) {
    let is_outside = matches!(spec["type"].as_str(), Some("LoadBalancer" | "NodePort"));
    if is_outside && spec["externalTrafficPolicy"].is_null() {
        spec["externalTrafficPolicy"] = "Cluster".into();
    }
    let seconds = &spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"];
    if spec["sessionAffinity"] == "ClientIP" && seconds.is_null() {
        spec["sessionAffinityConfig"] = json!({"clientIP": {"timeoutSeconds": 10800}});
    }
}

fn inner_url(context: &Context<'_>, offer: &Offer<'_>, encryption: Encryption) -> String {
    let host = format!("{}.{}.svc", offer.service, context.namespace());
    let number = offer.ports.first().map_or(0, |port| port.number);
    match (encryption.pods, number) {
        (false, 80) => format!("http://{host}"),
        (true, 443) => format!("https://{host}"),
        (false, number) => format!("http://{host}:{number}"),
        (true, number) => format!("https://{host}:{number}"),
    }
}

/// Adds the Route, and what is known through it.
fn route_for(
    context: &Context<'_>,
    offer: &Offer<'_>,
    encryption: Encryption,
    exposed: &mut Exposed,
) {
    let name = &offer.service;
    let port = offer.ports.first().map_or(name, |port| &port.name);
    let mut spec = json!({
        "to": {"kind": "Service", "name": name, "weight": 100},
        "port": {"targetPort": port},
    });
    if encryption.ingress {
        let termination = if encryption.pods { "reencrypt" } else { "edge" };
        spec["tls"] =
            json!({"termination": termination, "insecureEdgeTerminationPolicy": "Redirect"});
    }
    let mut object = context.object(Kind::Route, name, spec);
    object["metadata"]["labels"] = exposed.wanted[0].object["metadata"]["labels"].clone();
    if let Some(plane) = context.plane() {
        // It goes with the service, and with the control plane.
        let plane_reference = reference(Kind::OpenStackControlPlane, plane, true);
        object["metadata"]["ownerReferences"] = json!([plane_reference, context.reference(false)]);
        if let Some(wishes) = super::control_plane::route_override(context, plane, name) {
            for field in ["labels", "annotations"] {
                let map = &wishes["metadata"][field];
                if map.as_object().is_some_and(|map| !map.is_empty()) {
                    merge_patch(&mut object, &json!({"metadata": {field: map}}));
                }
            }
            if wishes["spec"].is_object() {
                merge_patch(&mut object["spec"], &wishes["spec"]);
            }
        }
    }
    let is_secure = object["spec"]["tls"].is_object();
    exposed.wanted.push(Wanted { kind: Kind::Route, object, whole: &["/spec/tls"] });
    let stuck = |exposed: &mut Exposed, why: String| {
        if exposed.progress != Progress::Begun {
            exposed.progress = Progress::Stuck(why);
        }
    };
    match context.standing(Kind::Route, name) {
        Standing::Taken(why) => {
            exposed.wanted.pop();
            stuck(exposed, why);
        }
        Standing::Absent => match context.error(Kind::Route, name) {
            Some(why) => stuck(exposed, format!("route {name}: {why}")),
            None => exposed.progress = Progress::Begun,
        },
        Standing::Ours(live) => {
            let scheme = if is_secure { "https" } else { "http" };
            exposed.url = route::host(live).map(|host| format!("{scheme}://{host}"));
            if let Some(why) = route::refusal(live) {
                stuck(exposed, format!("route {name} admission failed: {why}"));
            } else if exposed.url.is_none() && exposed.progress == Progress::Done {
                exposed.progress = Progress::Begun;
            }
        }
    }
}

/// Why a Service has no address yet, as far as it can be seen from here.
fn pending(context: &Context<'_>, name: &str, service: &Value) -> String {
    let text = format!("resource is not ready: {name} LoadBalancer IP still pending");
    match rival(context, name, service) {
        Some(why) => format!("{text}: {why}"),
        None => text,
    }
}

/// Who has the address that is asked for, and a port that is needed.
fn rival(context: &Context<'_>, name: &str, service: &Value) -> Option<String> {
    let wanted = ["metallb.io/loadBalancerIPs", ADDRESSES]
        .iter()
        .find_map(|key| object::annotation(service, key))?;
    let wanted: Vec<IpAddr> = wanted.split(',').filter_map(|ip| ip.trim().parse().ok()).collect();
    let ports = ports_of(service);
    context.world.all(Kind::Service).find_map(|other| {
        if (object::namespace(other), object::name(other)) == (context.namespace(), name) {
            return None;
        }
        let ingress = other["status"]["loadBalancer"]["ingress"].as_array()?;
        let address = ingress
            .iter()
            .filter_map(|entry| entry["ip"].as_str()?.parse::<IpAddr>().ok())
            .find(|ip| wanted.contains(ip))?;
        let shared: Vec<String> = ports_of(other)
            .into_iter()
            .filter(|port| ports.contains(port))
            .map(|(protocol, number)| format!("{protocol}/{number}"))
            .collect();
        let other = format!("{}/{}", object::namespace(other), object::name(other));
        (!shared.is_empty()).then(|| {
            format!("{address} is held by {other}, which listens on {} as well", shared.join(", "))
        })
    })
}

fn ports_of(service: &Value) -> Vec<(String, u64)> {
    let ports = service["spec"]["ports"].as_array().into_iter().flatten();
    let pair = |port: &Value| {
        Some((port["protocol"].as_str().unwrap_or("TCP").to_owned(), port["port"].as_u64()?))
    };
    ports.filter_map(pair).collect()
}
