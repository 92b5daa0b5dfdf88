//! `/etc/resolv.conf` of a pod: dnsPolicy and dnsConfig, with Kubernetes' meaning and limits.

use std::fmt::Write as _;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{Pod, PodDNSConfig};

/// More name servers are not asked by resolvers.
const SERVERS: usize = 3;
/// As many search domains as Kubernetes allows, and so long in all.
const DOMAINS: usize = 32;
const LETTERS: usize = 2048;

/// The cluster's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterDns {
    pub server: IpAddr,
    pub domain: String,
}

/// What a resolver is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Resolver {
    servers: Vec<String>,
    search: Vec<String>,
    /// Name, and value where there is one.
    options: Vec<(String, Option<String>)>,
}

/// The text for a pod, given the node's; and what could not be done as it asks.
pub fn text(pod: &Pod, cluster: Option<&ClusterDns>, node: &str) -> (String, Vec<String>) {
    let spec = pod.spec.clone().unwrap_or_default();
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let node = Resolver::read(node);
    let mut notes = Vec::new();
    let of_node = |node: Resolver| {
        // Programs without a server ask this one; Kubernetes writes it down.
        let servers =
            if node.servers.is_empty() { vec!["127.0.0.1".to_owned()] } else { node.servers };
        Resolver { servers, ..node }
    };
    let policy = spec.dns_policy.as_deref().unwrap_or("ClusterFirst");
    let wants_cluster = match policy {
        "ClusterFirst" => !spec.host_network.unwrap_or_default(),
        other => other == "ClusterFirstWithHostNet",
    };
    let mut resolver = match (policy, cluster) {
        ("None", _) => Resolver::default(),
        (_, Some(cluster)) if wants_cluster => {
            let ClusterDns { server, domain } = cluster;
            let own =
                [format!("{namespace}.svc.{domain}"), format!("svc.{domain}"), domain.clone()];
            let mut search: Vec<String> = Vec::new();
            add(&mut search, own.into_iter().chain(node.search));
            Resolver {
                servers: vec![server.to_string()],
                search,
                options: vec![("ndots".to_owned(), Some("5".to_owned()))],
            }
        }
        (_, cluster) => {
            if wants_cluster && cluster.is_none() {
                notes.push(format!(
                    "this cluster has no name server; the pod with policy {policy:?} gets the node's resolver"
                ));
            }
            of_node(node)
        }
    };
    if let Some(config) = &spec.dns_config {
        resolver.append(config);
    }
    resolver.bound(&mut notes);
    (resolver.print(), notes)
}

/// Adds what is not there yet.
fn add(list: &mut Vec<String>, more: impl IntoIterator<Item = String>) {
    for one in more {
        if !list.contains(&one) {
            list.push(one);
        }
    }
}

impl Resolver {
    fn read(text: &str) -> Self {
        let mut own = Self::default();
        for line in text.lines() {
            let mut words = line.split(['#', ';']).next().unwrap_or_default().split_whitespace();
            let (key, rest) = (words.next(), words.map(str::to_owned));
            match key {
                Some("nameserver") => own.servers.extend(rest.take(1)),
                // The last line counts; `domain` is a list of one.
                Some("search" | "domain") => own.search = rest.collect(),
                Some("options") => {
                    own.options.extend(rest.map(|word| match word.split_once(':') {
                        Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                        None => (word, None),
                    }));
                }
                _ => {}
            }
        }
        own
    }

    fn append(&mut self, config: &PodDNSConfig) {
        add(&mut self.servers, config.nameservers.iter().flatten().cloned());
        add(&mut self.search, config.searches.iter().flatten().cloned());
        for option in config.options.iter().flatten() {
            let Some(name) = &option.name else { continue };
            let value = option.value.clone().filter(|value| !value.is_empty());
            match self.options.iter_mut().find(|(known, _)| known == name) {
                Some(known) => known.1 = value,
                None => self.options.push((name.clone(), value)),
            }
        }
    }

    /// Leaves out what resolvers do not read.
    fn bound(&mut self, notes: &mut Vec<String>) {
        if self.servers.len() > SERVERS {
            self.servers.truncate(SERVERS);
            notes.push(format!(
                "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: {}",
                self.servers.join(" ")
            ));
        }
        let fits = |search: &[String]| {
            search.len() <= DOMAINS && search.iter().map(|d| d.len() + 1).sum::<usize>() <= LETTERS
        };
        if !fits(&self.search) {
            while !fits(&self.search) {
                self.search.pop();
            }
            notes.push(format!(
                "Search Line limits were exceeded, some search paths have been omitted, the applied search line is: {}",
                self.search.join(" ")
            ));
        }
    }

    fn print(&self) -> String {
        let mut text = String::new();
        if !self.search.is_empty() {
            let _ = writeln!(text, "search {}", self.search.join(" "));
        }
        for server in &self.servers {
            let _ = writeln!(text, "nameserver {server}");
        }
        let options = self.options.iter().map(|(name, value)| match value {
            Some(value) => format!("{name}:{value}"),
            None => name.clone(),
        });
        let options: Vec<String> = options.collect();
        if !options.is_empty() {
            let _ = writeln!(text, "options {}", options.join(" "));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NODE: &str = "# by hand\nsearch lab.example svc.cluster.local\nnameserver 192.0.2.1\noptions edns0 timeout:2\n";

    fn of(spec: serde_json::Value, node: &str) -> (String, Vec<String>) {
        let mut spec = spec;
        spec["containers"] = json!([]);
        let pod = json!({"metadata": {"namespace": "openstack", "name": "p"}, "spec": spec});
        let cluster =
            ClusterDns { server: "10.96.0.10".parse().unwrap(), domain: "cluster.local".into() };
        text(&serde_json::from_value(pod).unwrap(), Some(&cluster), node)
    }

    #[test]
    fn policies() {
        let cluster = "search openstack.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n";
        let on_node = "search openstack.svc.cluster.local svc.cluster.local cluster.local lab.example\nnameserver 10.96.0.10\noptions ndots:5\n";
        let default =
            "search lab.example svc.cluster.local\nnameserver 192.0.2.1\noptions edns0 timeout:2\n";
        for (spec, node, expected) in [
            (json!({}), "", cluster),
            (json!({}), NODE, on_node),
            (json!({"dnsPolicy": "ClusterFirst", "hostNetwork": true}), NODE, default),
            (json!({"dnsPolicy": "ClusterFirstWithHostNet", "hostNetwork": true}), "", cluster),
            (json!({"dnsPolicy": "Default"}), NODE, default),
            (json!({"dnsPolicy": "Default"}), "", "nameserver 127.0.0.1\n"),
            (json!({"dnsPolicy": "None"}), NODE, ""),
            (
                json!({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["192.0.2.9"],
                    "searches": ["a.example"], "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}]}}),
                NODE,
                "search a.example\nnameserver 192.0.2.9\noptions ndots:2 edns0\n",
            ),
            (
                json!({"dnsConfig": {"nameservers": ["10.96.0.10", "192.0.2.9"], "searches": ["cluster.local", "b"],
                    "options": [{"name": "ndots", "value": "1"}]}}),
                "",
                "search openstack.svc.cluster.local svc.cluster.local cluster.local b\nnameserver 10.96.0.10\nnameserver 192.0.2.9\noptions ndots:1\n",
            ),
        ] {
            assert_eq!(of(spec.clone(), node), (expected.to_owned(), vec![]), "{spec}");
        }
    }

    #[test]
    fn limits_are_kept_and_told() {
        let servers: Vec<String> = (1..6).map(|n| format!("192.0.2.{n}")).collect();
        let domains: Vec<String> = (0..40).map(|n| format!("d{n}")).collect();
        let (text, notes) = of(
            json!({"dnsPolicy": "None", "dnsConfig": {"nameservers": servers, "searches": domains}}),
            "",
        );
        assert_eq!(text.matches("nameserver ").count(), 3);
        assert!(text.contains(" d31\n"), "{text}");
        assert_eq!(notes.len(), 2);
        let long = ["x".repeat(1500), "y".repeat(700)];
        let (text, notes) = of(
            json!({"dnsPolicy": "None", "dnsConfig": {"searches": long, "nameservers": ["192.0.2.1"]}}),
            "",
        );
        assert!(!text.contains('y'));
        assert!(notes[0].starts_with("Search Line limits"), "{notes:?}");
    }

    #[test]
    fn without_a_cluster_the_node_helps_and_that_is_told() {
        let pod = serde_json::from_value(json!({"spec": {"containers": []}})).unwrap();
        let (text, notes) = text(&pod, None, NODE);
        assert!(text.contains("nameserver 192.0.2.1\n"), "{text}");
        assert_eq!(notes.len(), 1);
    }
}
