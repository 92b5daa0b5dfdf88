//! What a Pod asks of its node, as far as a node without images can do it.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{self as core, Pod};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::{Deserialize, Serialize};

use super::probe::{Check, Timing};
use crate::responder::{Port, Protocol};

/// Which pod: two pods of one name are told apart by their uid.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PodIdentity {
    pub namespace: String,
    pub name: String,
    pub uid: String,
}

impl PodIdentity {
    /// Of an object as the API gives it.
    pub fn of(pod: &Pod) -> Self {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        Self {
            namespace: text(&pod.metadata.namespace),
            name: text(&pod.metadata.name),
            uid: text(&pod.metadata.uid),
        }
    }
}

impl std::fmt::Display for PodIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// When containers are started again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RestartPolicy {
    #[default]
    Always,
    OnFailure,
    Never,
}

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Desired {
    pub identity: PodIdentity,
    pub host_network: bool,
    pub hostname: String,
    pub restart_policy: RestartPolicy,
    pub containers: Vec<Container>,
    /// Since when it is to end, and how long it may take.
    pub deletion: Option<Deletion>,
    /// It has run to its end, or somebody has declared it to: nothing is started for it.
    pub finished: bool,
    /// How often its containers have been started again, as its status says.
    pub restarts: u32,
}

/// That a pod is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// When the time for an orderly end is over.
    pub deadline: Timestamp,
}

/// A container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Container {
    pub name: String,
    pub image: String,
    pub ports: Vec<Port>,
    pub startup: Option<Probe>,
    pub liveness: Option<Probe>,
    pub readiness: Option<Probe>,
}

/// A probe of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    pub timing: Timing,
    pub check: Check,
}

impl Desired {
    /// Reads a Pod. A pod that is wrong in some part is served as far as it can be read.
    pub fn of(pod: &Pod) -> Self {
        let spec = pod.spec.clone().unwrap_or_default();
        let status = pod.status.clone().unwrap_or_default();
        let identity = PodIdentity::of(pod);
        let deletion = pod.metadata.deletion_timestamp.as_ref();
        let statuses = status.container_statuses.unwrap_or_default();
        Self {
            hostname: hostname(&identity, &spec),
            host_network: spec.host_network.unwrap_or_default(),
            restart_policy: match spec.restart_policy.as_deref() {
                Some("Never") => RestartPolicy::Never,
                Some("OnFailure") => RestartPolicy::OnFailure,
                _ => RestartPolicy::Always,
            },
            // The API server has added the grace period to the time of the request.
            deletion: deletion.map(|time| Deletion { deadline: time.0 }),
            finished: matches!(status.phase.as_deref(), Some("Succeeded" | "Failed")),
            restarts: statuses
                .iter()
                .map(|status| u32::try_from(status.restart_count).unwrap_or(0))
                .max()
                .unwrap_or(0),
            containers: spec.containers.iter().map(Container::of).collect(),
            identity,
        }
    }

    /// Containers with probes that run a program, which is not done without images.
    pub fn exec_probes(&self) -> Vec<&str> {
        let probes = |c: &Container| {
            let all = [&c.startup, &c.liveness, &c.readiness];
            all.into_iter().flatten().any(|probe| probe.check == Check::Exec)
        };
        self.containers.iter().filter(|c| probes(c)).map(|c| c.name.as_str()).collect()
    }
}

fn hostname(identity: &PodIdentity, spec: &core::PodSpec) -> String {
    let name = spec.hostname.clone().filter(|name| !name.is_empty());
    // Linux takes 64 bytes; Kubernetes cuts names at 63 and then takes off what may not end one.
    let name: String = name.unwrap_or_else(|| identity.name.clone()).chars().take(63).collect();
    name.trim_end_matches(['-', '.']).to_owned()
}

impl Container {
    fn of(container: &core::Container) -> Self {
        let declared = container.ports.clone().unwrap_or_default();
        let names: BTreeMap<String, u16> = declared
            .iter()
            .filter_map(|port| Some((port.name.clone()?, u16::try_from(port.container_port).ok()?)))
            .collect();
        let mut ports: Vec<Port> = Vec::new();
        for port in &declared {
            let Ok(number) = u16::try_from(port.container_port) else { continue };
            let protocol = match port.protocol.as_deref() {
                Some("UDP") => Protocol::Udp,
                Some("SCTP") => Protocol::Sctp,
                _ => Protocol::Tcp,
            };
            let port = Port { number, protocol };
            if number != 0 && !ports.contains(&port) {
                ports.push(port);
            }
        }
        let probe = |probe: &Option<core::Probe>| probe.as_ref().map(|p| Probe::of(p, &names));
        Self {
            name: container.name.clone(),
            image: container.image.clone().unwrap_or_default(),
            ports,
            startup: probe(&container.startup_probe),
            liveness: probe(&container.liveness_probe),
            readiness: probe(&container.readiness_probe),
        }
    }
}

impl Probe {
    fn of(probe: &core::Probe, names: &BTreeMap<String, u16>) -> Self {
        let seconds = |value: Option<i32>, otherwise: u64| {
            let value = value.and_then(|value| u64::try_from(value).ok());
            Duration::from_secs(value.unwrap_or(otherwise))
        };
        let count = |value: Option<i32>, otherwise: u32| {
            value.and_then(|v| u32::try_from(v).ok()).filter(|v| *v > 0).unwrap_or(otherwise)
        };
        let timing = Timing {
            initial_delay: seconds(probe.initial_delay_seconds, 0),
            period: seconds(probe.period_seconds, 10).max(Duration::from_secs(1)),
            timeout: seconds(probe.timeout_seconds, 1).max(Duration::from_secs(1)),
            successes: count(probe.success_threshold, 1),
            failures: count(probe.failure_threshold, 3),
        };
        Self { timing, check: check(probe, names) }
    }
}

fn check(probe: &core::Probe, names: &BTreeMap<String, u16>) -> Check {
    let port = |port: &IntOrString| match port {
        IntOrString::Int(number) => u16::try_from(*number).map_err(|_| number.to_string()),
        IntOrString::String(name) => {
            names.get(name).copied().or_else(|| name.parse().ok()).ok_or_else(|| name.clone())
        }
    };
    let made = if let Some(http) = &probe.http_get {
        port(&http.port).map(|port| {
            let host = http.host.clone().filter(|host| !host.is_empty());
            // The responder speaks no TLS: what an HTTPS probe can find out is whether it listens.
            if http.scheme.as_deref() == Some("HTTPS") {
                return Check::Tcp { host, port };
            }
            let headers = http.http_headers.iter().flatten();
            let headers = headers.map(|h| (h.name.clone(), h.value.clone())).collect();
            let path = http.path.clone().unwrap_or_default();
            let path = if path.starts_with('/') { path } else { format!("/{path}") };
            Check::Http { host, port, path, headers }
        })
    } else if let Some(tcp) = &probe.tcp_socket {
        let host = tcp.host.clone().filter(|host| !host.is_empty());
        port(&tcp.port).map(|port| Check::Tcp { host, port })
    } else if let Some(grpc) = &probe.grpc {
        port(&IntOrString::Int(grpc.port)).map(|port| Check::Tcp { host: None, port })
    } else {
        Ok(Check::Exec)
    };
    made.unwrap_or_else(|port| Check::Impossible(format!("no port of the container is {port:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn desired(spec: &serde_json::Value) -> Desired {
        let pod = json!({"metadata": {"namespace": "n", "name": "p-0", "uid": "u"}, "spec": spec});
        Desired::of(&serde_json::from_value(pod).unwrap())
    }

    #[test]
    fn ports_and_probes_are_read() {
        let desired = desired(&json!({"hostNetwork": true, "containers": [{
            "name": "a", "image": "i",
            "ports": [{"name": "web", "containerPort": 80}, {"containerPort": 53, "protocol": "UDP"},
                      {"containerPort": 80}, {"containerPort": 70000}],
            "readinessProbe": {"httpGet": {"port": "web", "path": "x"}, "periodSeconds": 0},
            "livenessProbe": {"tcpSocket": {"port": "none"}},
            "startupProbe": {"exec": {"command": ["x"]}, "failureThreshold": 7},
        }]}));
        let container = &desired.containers[0];
        let port = |number, protocol| Port { number, protocol };
        assert_eq!(container.ports, [port(80, Protocol::Tcp), port(53, Protocol::Udp)]);
        let readiness = container.readiness.as_ref().unwrap();
        assert!(matches!(&readiness.check, Check::Http { port: 80, path, .. } if path == "/x"));
        assert_eq!(readiness.timing.period, Duration::from_secs(1));
        let liveness = container.liveness.as_ref().unwrap();
        assert!(matches!(&liveness.check, Check::Impossible(why) if why.contains("none")));
        assert_eq!(container.startup.as_ref().unwrap().timing.failures, 7);
        assert_eq!(desired.exec_probes(), ["a"]);
        assert!(desired.host_network);
    }

    #[test]
    fn hostnames_fit() {
        assert_eq!(desired(&json!({"containers": []})).hostname, "p-0");
        assert_eq!(desired(&json!({"containers": [], "hostname": "h"})).hostname, "h");
        let long = format!("{}-{}", "a".repeat(62), "b".repeat(30));
        let cut = desired(&json!({"containers": [], "hostname": long})).hostname;
        assert_eq!(cut, "a".repeat(62));
    }
}
