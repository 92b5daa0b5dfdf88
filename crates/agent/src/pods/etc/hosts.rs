//! `/etc/hosts` of a pod: itself, and its hostAliases.

use std::fmt::Write as _;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::Pod;

/// Names every machine has.
const COMMON: &str = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n\
    fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n";

/// The text for a pod. In the node's network it is the node's own file, with the aliases.
pub fn text(pod: &Pod, hostname: &str, domain: &str, ips: &[IpAddr], node: &str) -> String {
    let spec = pod.spec.clone().unwrap_or_default();
    let mut text;
    if spec.host_network.unwrap_or_default() {
        text = format!("# Kubernetes-managed hosts file (host network).\n{node}");
    } else {
        text = format!("# Kubernetes-managed hosts file.\n{COMMON}");
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let subdomain = spec.subdomain.as_deref().filter(|sub| !sub.is_empty());
        let full = subdomain.map(|sub| format!("{hostname}.{sub}.{namespace}.svc.{domain}\t"));
        for ip in ips {
            let _ = writeln!(text, "{ip}\t{}{hostname}", full.as_deref().unwrap_or_default());
        }
    }
    let mut aliases = spec.host_aliases.iter().flatten().peekable();
    if aliases.peek().is_some() {
        text += "\n# Entries added by HostAliases.\n";
    }
    for alias in aliases {
        let names = alias.hostnames.iter().flatten().map(String::as_str).collect::<Vec<_>>();
        let _ = writeln!(text, "{}\t{}", alias.ip, names.join("\t"));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(spec: serde_json::Value) -> String {
        let mut spec = spec;
        spec["containers"] = json!([]);
        let pod =
            json!({"metadata": {"namespace": "openstack", "name": "rabbitmq-0"}, "spec": spec});
        let pod = serde_json::from_value(pod).unwrap();
        let ips = ["10.244.0.5".parse().unwrap(), "fd00:244::5".parse().unwrap()];
        text(&pod, "rabbitmq-0", "cluster.local", &ips, "192.0.2.1 worker-0\n")
    }

    #[test]
    fn a_pod_knows_itself() {
        let text = of(json!({}));
        assert!(
            text.starts_with("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n"),
            "{text}"
        );
        assert!(text.ends_with("\n10.244.0.5\trabbitmq-0\nfd00:244::5\trabbitmq-0\n"), "{text}");
        let text = of(json!({"subdomain": "nodes"}));
        let line = "\n10.244.0.5\trabbitmq-0.nodes.openstack.svc.cluster.local\trabbitmq-0\n";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn aliases_are_added_also_to_the_nodes_own() {
        let aliases =
            json!([{"ip": "192.0.2.7", "hostnames": ["a", "b.example"]}, {"ip": "192.0.2.8"}]);
        let end = "\n# Entries added by HostAliases.\n192.0.2.7\ta\tb.example\n192.0.2.8\t\n";
        assert!(of(json!({"hostAliases": aliases})).ends_with(end));
        let text = of(json!({"hostAliases": aliases, "hostNetwork": true}));
        let begin = "# Kubernetes-managed hosts file (host network).\n192.0.2.1 worker-0\n";
        assert!(text.starts_with(begin) && text.ends_with(end), "{text}");
        assert!(!text.contains("rabbitmq-0"), "{text}");
    }
}
