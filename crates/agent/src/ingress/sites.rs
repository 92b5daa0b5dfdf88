//! Which Route is meant by a request, and who is behind it: a function of the objects.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Service, ServicePort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use landbridge_api::foreign::route::{Route, RouteTls};

use crate::services::Seen;

const SERVICE: &str = "kubernetes.io/service-name";

/// How TLS ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Termination {
    /// There is none.
    Plain,
    /// At the ingress; behind it nothing is encrypted.
    Edge,
    /// At the ingress, and begins anew.
    Reencrypt,
    /// At the pod.
    Passthrough,
}

/// What becomes of requests without TLS to a Route with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insecure {
    /// They are refused.
    Refuse,
    /// They are served.
    Allow,
    /// They are sent to where there is TLS.
    Redirect,
}

/// A Route that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Namespace and name.
    pub route: String,
    /// Begins with a slash, or is empty.
    pub path: String,
    /// The Service behind it.
    pub service: String,
    /// How TLS ends.
    pub termination: Termination,
    /// What becomes of requests without TLS.
    pub insecure: Insecure,
    /// Certificate with its chain, and key; PEM.
    pub certificate: Option<(String, String)>,
    /// Whom the pods' certificates are trusted from; PEM.
    pub trusted: Option<String>,
    /// Who answers.
    pub backends: BTreeSet<SocketAddr>,
}

/// All Routes that are served, by host; the longest paths first.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    by_host: HashMap<String, Vec<Arc<Site>>>,
}

impl Sites {
    /// The Route of a request.
    pub fn find(&self, host: &str, path: &str) -> Option<&Arc<Site>> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        self.by_host.get(&host)?.iter().find(|site| matches(&site.path, path))
    }

    /// The Route of a connection whose requests cannot be seen.
    pub fn of_host(&self, host: &str) -> Option<&Arc<Site>> {
        self.by_host.get(&host.to_ascii_lowercase())?.first()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Site>> {
        self.by_host.values().flatten()
    }

    /// All host names, in order.
    pub fn hosts(&self) -> Vec<&str> {
        let mut hosts: Vec<&str> = self.by_host.keys().map(String::as_str).collect();
        hosts.sort_unstable();
        hosts
    }
}

/// Addresses of Services: what comes there is not for the ingress, whatever the port.
pub fn addresses_of_services(seen: &Seen) -> BTreeSet<IpAddr> {
    let mut found = BTreeSet::new();
    for service in seen.services.values() {
        let spec = service.spec.iter();
        let given = spec.flat_map(|spec| {
            let cluster = spec.cluster_ips.iter().flatten().chain(&spec.cluster_ip);
            cluster.chain(spec.external_ips.iter().flatten())
        });
        let balancer = service.status.iter().filter_map(|status| status.load_balancer.as_ref());
        let ingress = balancer.flat_map(|balancer| balancer.ingress.iter().flatten());
        let balanced = ingress.filter_map(|ingress| ingress.ip.as_ref());
        found.extend(given.chain(balanced).filter_map(|ip| ip.parse::<IpAddr>().ok()));
    }
    found
}

/// `/a` is a beginning of `/a` and `/a/b`, and not of `/ab`.
fn matches(prefix: &str, path: &str) -> bool {
    let prefix = prefix.trim_end_matches('/');
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
        || prefix.is_empty()
}

/// What is served: Routes that were admitted.
pub fn sites<'a>(
    routes: impl Iterator<Item = &'a Route>,
    seen: &Seen,
    dead: &BTreeSet<String>,
) -> Sites {
    let mut sites = Sites::default();
    for route in routes.filter(|route| route.is_admitted()) {
        let namespace = route.metadata.namespace.clone().unwrap_or_default();
        let name = route.metadata.name.clone().unwrap_or_default();
        let service = seen.services.get(&(namespace.clone(), route.spec.to.name.clone()));
        let backends = service
            .map(|service| backends(route, &namespace, service, seen, dead))
            .unwrap_or_default();
        let tls = route.spec.tls.as_ref();
        let site = Site {
            route: format!("{namespace}/{name}"),
            path: route.spec.path.clone(),
            service: route.spec.to.name.clone(),
            termination: match tls.map(|tls| tls.termination.as_str()) {
                None => Termination::Plain,
                Some("passthrough") => Termination::Passthrough,
                Some("reencrypt") => Termination::Reencrypt,
                Some(_) => Termination::Edge,
            },
            insecure: match tls.map(|tls| tls.insecure_edge_termination_policy.as_str()) {
                Some("Redirect") => Insecure::Redirect,
                None | Some("Allow") => Insecure::Allow,
                Some(_) => Insecure::Refuse,
            },
            certificate: tls.and_then(certificate),
            trusted: tls
                .map(|tls| tls.destination_ca_certificate.clone())
                .filter(|pem| !pem.is_empty()),
            backends,
        };
        let host = route.spec.host.to_ascii_lowercase();
        sites.by_host.entry(host).or_default().push(Arc::new(site));
    }
    for of_host in sites.by_host.values_mut() {
        of_host.sort_by(|a, b| b.path.len().cmp(&a.path.len()).then_with(|| a.route.cmp(&b.route)));
    }
    sites
}

fn certificate(tls: &RouteTls) -> Option<(String, String)> {
    if tls.certificate.is_empty() || tls.key.is_empty() {
        return None;
    }
    Some((format!("{}\n{}", tls.certificate, tls.ca_certificate), tls.key.clone()))
}

fn backends(
    route: &Route,
    namespace: &str,
    service: &Service,
    seen: &Seen,
    dead: &BTreeSet<String>,
) -> BTreeSet<SocketAddr> {
    let ports = service.spec.iter().flat_map(|spec| spec.ports.iter().flatten());
    let Some(port) = ports.into_iter().find(|port| is_meant(route, port)) else {
        return BTreeSet::new();
    };
    let wanted = port.name.clone().unwrap_or_default();
    let own = seen.slices.iter().filter(|((slice_namespace, _), slice)| {
        let of = slice.metadata.labels.as_ref().and_then(|labels| labels.get(SERVICE));
        slice_namespace == namespace && of == service.metadata.name.as_ref()
    });
    let mut found = BTreeSet::new();
    for (_, slice) in own {
        let port = slice.ports.iter().flatten().find(|port| {
            port.name.clone().unwrap_or_default() == wanted
                && port.protocol.as_deref().unwrap_or("TCP") == "TCP"
        });
        let number = port.and_then(|port| port.port).and_then(|n| u16::try_from(n).ok());
        let Some(number) = number else { continue };
        for endpoint in &slice.endpoints {
            let ready = endpoint.conditions.as_ref().and_then(|c| c.ready).unwrap_or(true);
            let gone = endpoint.node_name.as_ref().is_some_and(|node| dead.contains(node));
            let ip = endpoint.addresses.first().and_then(|ip| ip.parse::<IpAddr>().ok());
            if let Some(ip) = ip.filter(|_| ready && !gone) {
                found.insert(SocketAddr::new(ip, number));
            }
        }
    }
    found
}

/// Whether a port of the Service is the Route's: by its name, by the number on the pods, or any.
fn is_meant(route: &Route, port: &ServicePort) -> bool {
    if port.protocol.as_deref().is_some_and(|protocol| protocol != "TCP") {
        return false;
    }
    match route.spec.port.as_ref().map(|port| &port.target_port) {
        None => true,
        Some(IntOrString::String(name)) => {
            port.name.as_ref() == Some(name)
                || port.target_port == Some(IntOrString::String(name.clone()))
        }
        Some(IntOrString::Int(number)) => {
            port.target_port == Some(IntOrString::Int(*number))
                || (port.target_port.is_none() && port.port == *number)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn seen() -> Seen {
        let service = json!({"metadata": {"namespace": "n", "name": "web"}, "spec": {"ports": [
            {"name": "admin", "port": 81, "targetPort": 8081},
            {"name": "http", "port": 80, "targetPort": 8080}]}});
        let endpoint = |ip: &str, node: &str, ready: bool| json!({"addresses": [ip], "nodeName": node, "conditions": {"ready": ready}});
        let slice = json!({"addressType": "IPv4",
            "metadata": {"namespace": "n", "name": "s", "labels": {SERVICE: "web"}},
            "ports": [{"name": "admin", "port": 8081}, {"name": "http", "port": 8080}],
            "endpoints": [endpoint("10.0.0.1", "a", true), endpoint("10.0.0.2", "b", true),
                endpoint("10.0.0.3", "a", false)]});
        let key = |name: &str| ("n".to_owned(), name.to_owned());
        let mut seen = Seen::default();
        seen.services.insert(key("web"), Arc::new(serde_json::from_value(service).unwrap()));
        seen.slices.insert(key("s"), Arc::new(serde_json::from_value(slice).unwrap()));
        seen
    }

    #[test]
    fn all_addresses_of_services_are_known() {
        let mut seen = seen();
        let service = json!({"metadata": {"namespace": "n", "name": "all"}, "spec": {
                "clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7", "fd00::7"],
                "externalIPs": ["172.17.0.88"]},
            "status": {"loadBalancer": {"ingress": [{"ip": "172.17.0.80"}, {"hostname": "x"}]}}});
        let headless = json!({"metadata": {"name": "none"}, "spec": {"clusterIP": "None"}});
        for (name, service) in [("all", service), ("none", headless)] {
            let service = Arc::new(serde_json::from_value(service).unwrap());
            seen.services.insert(("n".to_owned(), name.to_owned()), service);
        }
        let found: Vec<String> =
            addresses_of_services(&seen).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["10.96.0.7", "172.17.0.80", "172.17.0.88", "fd00::7"]);
    }

    fn route(name: &str, spec: &Value) -> Route {
        let mut spec = spec.clone();
        spec["to"] = json!({"kind": "Service", "name": "web"});
        let admitted = json!([{"type": "Admitted", "status": "True"}]);
        serde_json::from_value(json!({"metadata": {"namespace": "n", "name": name}, "spec": spec,
            "status": {"ingress": [{"conditions": admitted}]}}))
        .unwrap()
    }

    #[test]
    fn the_longest_path_wins_and_ends_at_a_slash() {
        let routes = [
            route("all", &json!({"host": "a.test"})),
            route("part", &json!({"host": "A.test", "path": "/v2"})),
            route("deep", &json!({"host": "a.test", "path": "/v2/images/"})),
        ];
        let sites = sites(routes.iter(), &seen(), &BTreeSet::new());
        for (path, name) in [
            ("/", "n/all"),
            ("/v2", "n/part"),
            ("/v2?x=1", "n/part"),
            ("/v2x", "n/all"),
            ("/v2/images", "n/deep"),
            ("/v2/images/7", "n/deep"),
            ("*", "n/all"),
        ] {
            assert_eq!(sites.find("a.TEST", path).unwrap().route, name, "{path}");
        }
        assert!(sites.find("b.test", "/").is_none());
    }

    #[test]
    fn ports_are_found_by_name_number_or_order() {
        for (port, number) in [
            (json!({}), 8081),
            (json!({"port": {"targetPort": "http"}}), 8080),
            (json!({"port": {"targetPort": 8080}}), 8080),
        ] {
            let mut spec = port.clone();
            spec["host"] = json!("a.test");
            let routes = [route("r", &spec)];
            let sites = sites(routes.iter(), &seen(), &BTreeSet::new());
            let found: Vec<u16> =
                sites.of_host("a.test").unwrap().backends.iter().map(SocketAddr::port).collect();
            assert_eq!(found, [number, number], "{port}");
        }
        let wrong = [route("r", &json!({"host": "a.test", "port": {"targetPort": 80}}))];
        assert!(
            sites(wrong.iter(), &seen(), &BTreeSet::new())
                .of_host("a.test")
                .unwrap()
                .backends
                .is_empty()
        );
    }

    #[test]
    fn only_the_living_and_the_admitted_are_served() {
        let mut refused = route("no", &json!({"host": "b.test"}));
        refused.status.ingress.clear();
        let routes = [route("r", &json!({"host": "a.test"})), refused];
        let sites = sites(routes.iter(), &seen(), &BTreeSet::from(["b".to_owned()]));
        let site = sites.of_host("a.test").unwrap();
        assert_eq!(site.backends, BTreeSet::from(["10.0.0.1:8081".parse().unwrap()]));
        assert!(sites.of_host("b.test").is_none());
    }
}
