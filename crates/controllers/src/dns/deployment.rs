//! What runs the name server, in both generations of the API and for both programs.
//!
//! A dnsmasq image gets what upstream makes: every hosts file is mounted by itself and never changes in a
//! running pod, so whatever changes is in CONFIG_HASH and restarts the pods. Landbridge's image runs
//! `landbridge dns`, which follows its files: they are mounted as directories, so that they change in the
//! running pod, and CONFIG_HASH holds only what the program is started with.

use landbridge_api::network::is_hostname;
use serde_json::{Value, json};

use super::digest::digest;
use super::spread;
use crate::endpoints::generation::Generation;
use crate::making::kinds::Kind;
use crate::making::plan::{Context, Wanted};

/// What a Deployment is made from.
pub struct Recipe<'a> {
    /// Name of the DNSMasq.
    pub server: &'a str,
    /// Which generation its pods are of.
    pub generation: Generation,
    /// Whether the image is Landbridge's.
    pub is_own: bool,
    /// ConfigMaps with hosts, by name.
    pub hosts: &'a [&'a str],
    /// Over all that the pods read.
    pub hash: &'a str,
    /// The labels by which Deployment and Service find their pods.
    pub selector: &'a Value,
    /// How pods are to be placed, if the user says it.
    pub topology: Option<&'a Value>,
}

/// The port that pods listen on.
pub fn port(generation: Generation) -> u16 {
    match generation {
        Generation::First => 53,
        Generation::Today => 5353,
    }
}

/// Name of Deployment, ServiceAccount and so on.
pub fn name(server: &str) -> String {
    format!("dnsmasq-{server}")
}

/// Labels of the pods.
pub fn labels(server: &str) -> Value {
    json!({"service": "dnsmasq", "component": name(server)})
}

/// The ConfigMap that is mounted for a part of the hosts.
pub fn part(server: &str, at: usize) -> String {
    format!("{}-hosts-{at}", name(server))
}

const CONFIG_DIR: &str = "/etc/dnsmasq.d/config";
const HOSTS_DIR: &str = "/etc/dnsmasq.d/hosts";

/// Parts that are as said, or not there. Lists in which the API fills nothing in, and parts of which there
/// is one or another, but not both.
macro_rules! whole {
    ($($more:literal),*) => {
        &[
            "/spec/template/spec/nodeSelector",
            "/spec/template/spec/affinity",
            "/spec/template/spec/topologySpreadConstraints",
            "/spec/template/spec/volumes",
            "/spec/template/spec/containers/0/command",
            "/spec/template/spec/containers/0/args",
            "/spec/template/spec/containers/0/env",
            "/spec/template/spec/containers/0/ports",
            "/spec/template/spec/containers/0/volumeMounts",
            "/spec/template/spec/containers/0/securityContext",
            "/spec/template/spec/containers/0/livenessProbe",
            "/spec/template/spec/containers/0/readinessProbe",
            $($more),*
        ]
    };
}
const WITH_INIT: &[&str] = whole!(
    "/spec/template/spec/initContainers/0/args",
    "/spec/template/spec/initContainers/0/env",
    "/spec/template/spec/initContainers/0/volumeMounts",
    "/spec/template/spec/initContainers/0/securityContext"
);
const WITHOUT_INIT: &[&str] = whole!("/spec/template/spec/initContainers");

/// The Deployment.
pub fn deployment(context: &Context<'_>, recipe: &Recipe<'_>) -> Wanted {
    let spec = context.spec();
    let mut pod = json!({
        "serviceAccountName": name(recipe.server),
        "terminationGracePeriodSeconds": 10,
        "volumes": volumes(recipe),
        "containers": [container(context, recipe)],
    });
    if !recipe.is_own {
        pod["initContainers"] = json!([test(context, recipe)]);
    }
    if spec["nodeSelector"].is_object() {
        pod["nodeSelector"] = spec["nodeSelector"].clone();
    }
    place(&mut pod, recipe.topology);
    let object = json!({
        "replicas": spec["replicas"].as_i64().unwrap_or(1).max(0),
        "selector": {"matchLabels": recipe.selector},
        "template": {"metadata": {"labels": labels(recipe.server)}, "spec": pod},
    });
    let mut object = context.object(Kind::Deployment, &name(recipe.server), object);
    object["metadata"]["labels"] = labels(recipe.server);
    let whole = if recipe.is_own { WITHOUT_INIT } else { WITH_INIT };
    Wanted { kind: Kind::Deployment, object, whole }
}

/// As a Topology says, or if possible each pod on a node of its own.
fn place(pod: &mut Value, topology: Option<&Value>) {
    let Some(topology) = topology else {
        pod["affinity"] = json!({"podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{
                "weight": 100,
                "podAffinityTerm": {
                    "labelSelector": {"matchExpressions": [
                        {"key": "service", "operator": "In", "values": ["dnsmasq"]},
                    ]},
                    "topologyKey": "kubernetes.io/hostname",
                },
            }],
        }});
        return;
    };
    for field in ["affinity", "topologySpreadConstraints"] {
        if !topology["spec"][field].is_null() {
            pod[field] = topology["spec"][field].clone();
        }
    }
}

/// What both containers have.
fn common(context: &Context<'_>, recipe: &Recipe<'_>, name: &str) -> Value {
    let hash = if recipe.is_own {
        digest(arguments(recipe).iter().map(String::as_str))
    } else {
        recipe.hash.to_owned()
    };
    let security = match (recipe.generation, recipe.is_own) {
        (Generation::First, false) => json!({"runAsUser": 0}),
        // The port needs this and nothing else.
        (Generation::First, true) => json!({"capabilities": {"add": ["NET_BIND_SERVICE"]}}),
        (Generation::Today, _) => json!({
            "runAsNonRoot": true, "allowPrivilegeEscalation": false,
            "seccompProfile": {"type": "RuntimeDefault"},
        }),
    };
    json!({
        "name": name,
        "image": context.spec()["containerImage"].as_str().unwrap_or_default(),
        "command": ["/bin/bash"],
        "securityContext": security,
        "env": [
            {"name": "CONFIG_HASH", "value": hash},
            {"name": "POD_IP", "valueFrom": {
                "fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"},
            }},
        ],
        "volumeMounts": mounts(recipe),
    })
}

fn container(context: &Context<'_>, recipe: &Recipe<'_>) -> Value {
    let port = port(recipe.generation);
    let is_asleep = context.spec()["debug"]["service"] == true;
    let mut container = common(context, recipe, "dnsmasq-dns");
    let mut probe = if is_asleep {
        json!({"exec": {"command": ["/bin/true"]}})
    } else {
        json!({"tcpSocket": {"port": port}})
    };
    probe["timeoutSeconds"] = 5.into();
    probe["successThreshold"] = 1.into();
    probe["failureThreshold"] = 3.into();
    for (field, seconds) in [("livenessProbe", 3), ("readinessProbe", 5)] {
        probe["periodSeconds"] = seconds.into();
        probe["initialDelaySeconds"] = seconds.into();
        container[field] = probe.clone();
    }
    if is_asleep {
        container["args"] = json!(["-c", "/bin/sleep infinity"]);
    } else if recipe.is_own {
        container["command"] = json!(["landbridge", "dns"]);
        container["args"] = json!(arguments(recipe));
    } else {
        container["args"] = json!(["-c", format!("dnsmasq {}", arguments(recipe).join(" "))]);
    }
    container["ports"] = json!([
        {"name": "dnsmasq", "containerPort": port, "protocol": "UDP"},
        {"name": "dnsmasq-tcp", "containerPort": port, "protocol": "TCP"},
    ]);
    container
}

/// Tries the options before a pod that works is replaced. `landbridge dns` leaves out what it cannot read, and
/// goes on.
fn test(context: &Context<'_>, recipe: &Recipe<'_>) -> Value {
    let mut container = common(context, recipe, "init");
    let command = if context.spec()["debug"]["service"] == true {
        "/bin/true".to_owned()
    } else {
        format!("dnsmasq {} --test", arguments(recipe).join(" "))
    };
    container["args"] = json!(["-c", command]);
    container
}

/// What the program is started with, in upstream's order.
fn arguments(recipe: &Recipe<'_>) -> Vec<String> {
    let port = format!("--port {}", port(recipe.generation));
    let port_word = format!("--port={}", self::port(recipe.generation));
    let listed: Vec<&str> = match (recipe.is_own, recipe.generation) {
        (true, _) => vec![
            "--interface=*",
            "--conf-dir=/etc/dnsmasq.d/config",
            "--hostsdir=/etc/dnsmasq.d/hosts",
            "--keep-in-foreground",
            "--bind-interfaces",
            "--listen-address=$(POD_IP)",
            &port_word,
            "--log-facility=-",
            "--no-hosts",
            "--domain-needed",
            "--no-resolv",
            "--bogus-priv",
        ],
        (false, Generation::Today) => vec![
            "--interface=*",
            "--conf-dir=/etc/dnsmasq.d",
            "--hostsdir=/etc/dnsmasq.d/hosts",
            "--keep-in-foreground",
            "--pid-file=",
            "--log-debug",
            "--bind-interfaces",
            "--listen-address=$(POD_IP)",
            &port,
            "--log-facility=-",
            "--no-hosts",
            "--domain-needed",
            "--no-resolv",
            "--bogus-priv",
            "--log-queries",
        ],
        (false, Generation::First) => vec![
            "--interface=*",
            "--conf-dir=/etc/dnsmasq.d",
            "--hostsdir=/etc/dnsmasq.d/hosts",
            "--keep-in-foreground",
            "--no-daemon",
            "--log-debug",
            "--bind-interfaces",
            "--listen-address=$(POD_IP)",
            &port,
            "--log-facility=-",
            "--no-hosts",
            "--domain-needed",
            "--no-resolv",
            "--bogus-priv",
            "--log-queries",
        ],
    };
    listed.into_iter().map(str::to_owned).collect()
}

fn volumes(recipe: &Recipe<'_>) -> Value {
    let mode = match recipe.generation {
        Generation::First => 0o640,
        Generation::Today => 0o644,
    };
    let config = recipe.server.to_ascii_lowercase();
    if recipe.is_own {
        let parts: Vec<Value> = (0..spread::COUNT)
            .map(|at| json!({"configMap": {"name": part(recipe.server, at), "optional": true}}))
            .collect();
        let item = json!({"key": recipe.server, "path": "config.cfg"});
        return json!([
            {"name": "config", "configMap": {"name": config, "defaultMode": mode, "items": [item]}},
            {"name": "hosts", "projected": {"defaultMode": mode, "sources": parts}},
        ]);
    }
    let volume = |name: &str, map: &str| json!({"name": name, "configMap": {"name": map, "defaultMode": mode}});
    let hosts = recipe.hosts.iter().map(|map| volume(&volume_name(map), map));
    [volume("config", &config)].into_iter().chain(hosts).collect()
}

fn mounts(recipe: &Recipe<'_>) -> Value {
    if recipe.is_own {
        return json!([
            {"name": "config", "mountPath": CONFIG_DIR, "readOnly": true},
            {"name": "hosts", "mountPath": HOSTS_DIR, "readOnly": true},
        ]);
    }
    let mount = |name: &str, path: String, key: &str| json!({"name": name, "mountPath": path, "subPath": key, "readOnly": true});
    let config = mount("config", "/etc/dnsmasq.d/config.cfg".to_owned(), recipe.server);
    let hosts =
        recipe.hosts.iter().map(|map| mount(&volume_name(map), format!("{HOSTS_DIR}/{map}"), map));
    [config].into_iter().chain(hosts).collect()
}

/// As upstream a volume is called like its ConfigMap. Where that is no name for a volume, upstream's name
/// server would not start any more.
fn volume_name(map: &str) -> String {
    let is_label = map.len() <= 63 && !map.contains('.') && is_hostname(map);
    if is_label && map != "config" {
        map.to_owned()
    } else {
        format!("hosts-{}", &digest([map])[..16])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_are_called_like_their_configmaps_where_that_is_a_name() {
        assert_eq!(volume_name("allhosts"), "allhosts");
        for map in ["config", "with.dot", &"x".repeat(64)] {
            let name = volume_name(map);
            assert!(name.starts_with("hosts-") && name.len() == 22, "{name}");
        }
        assert_ne!(volume_name("a.b"), volume_name("a.c"));
    }
}
