//! The Node object as values.

use std::collections::BTreeMap;
use std::net::IpAddr;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use serde_json::{Map, Value, json};

use super::Settings;

const HOSTNAME: &str = "kubernetes.io/hostname";
const OS: &str = "kubernetes.io/os";
const ARCH: &str = "kubernetes.io/arch";

/// What there is to say about the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    pub architecture: String,
    pub kernel: String,
    pub os_image: String,
    pub id: String,
    pub boot_id: String,
    pub cpus: u64,
    pub memory_kib: u64,
}

impl Machine {
    /// Of the machine this runs on.
    pub fn read() -> Self {
        let uname = rustix::system::uname();
        let info = rustix::system::sysinfo();
        let file = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let release = file("/etc/os-release");
        let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
        Self {
            architecture: architecture(&uname.machine().to_string_lossy()).to_owned(),
            kernel: uname.release().to_string_lossy().into_owned(),
            os_image: name.unwrap_or("Linux").trim_matches('"').to_owned(),
            id: file("/etc/machine-id").trim().to_owned(),
            boot_id: file("/proc/sys/kernel/random/boot_id").trim().to_owned(),
            cpus: std::thread::available_parallelism().map_or(1, |count| count.get() as u64),
            memory_kib: info.totalram.saturating_mul(u64::from(info.mem_unit)) / 1024,
        }
    }
}

/// Kubernetes' name of an architecture.
fn architecture(machine: &str) -> &str {
    match machine {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "i686" => "386",
        other => other,
    }
}

fn own_labels(settings: &Settings, machine: &Machine) -> BTreeMap<String, String> {
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let fixed =
        [pair(HOSTNAME, &settings.name), pair(OS, "linux"), pair(ARCH, &machine.architecture)];
    settings.labels.clone().into_iter().chain(fixed).collect()
}

/// A Node that is not there yet.
pub fn new(settings: &Settings, machine: &Machine) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": settings.name, "labels": own_labels(settings, machine)},
        "spec": {"taints": settings.taints},
    })
}

/// The labels that a Node lacks. Those somebody has changed stay as they are.
pub fn missing_labels(node: &Node, settings: &Settings, machine: &Machine) -> Option<Value> {
    let there = node.metadata.labels.clone().unwrap_or_default();
    let own = own_labels(settings, machine);
    let missing: Map<String, Value> = own
        .into_iter()
        .filter(|(key, _)| !there.contains_key(key))
        .map(|(key, value)| (key, value.into()))
        .collect();
    (!missing.is_empty()).then(|| json!({"metadata": {"labels": missing}}))
}

/// The addresses of a node, for a merge patch: there are several of one type, which a strategic one
/// would merge into one another.
pub fn addresses(settings: &Settings, addresses: &[IpAddr]) -> Value {
    let internal = |ip: &IpAddr| json!({"type": "InternalIP", "address": ip.to_string()});
    let hostname = json!({"type": "Hostname", "address": settings.name});
    let all: Vec<Value> = addresses.iter().map(internal).chain([hostname]).collect();
    json!({"status": {"addresses": all}})
}

/// The rest of the node's own part of its status: a strategic merge patch, with the time of this
/// heartbeat.
pub fn status(
    now: Timestamp,
    node: Option<&Node>,
    settings: &Settings,
    machine: &Machine,
    addresses: &[IpAddr],
) -> Value {
    let quantities = json!({
        "cpu": machine.cpus.to_string(),
        "memory": format!("{}Ki", machine.memory_kib),
        "pods": settings.pods.to_string(),
    });
    let version = &settings.version;
    json!({
        "capacity": quantities,
        "allocatable": quantities,
        "conditions": conditions(now, node, addresses),
        "nodeInfo": {
            "architecture": machine.architecture,
            "operatingSystem": "linux",
            "kernelVersion": machine.kernel,
            "osImage": machine.os_image,
            "machineID": machine.id,
            "systemUUID": machine.id,
            "bootID": machine.boot_id,
            "kubeletVersion": format!("v{version}"),
            "kubeProxyVersion": "",
            "containerRuntimeVersion": format!("landbridge://{version}"),
        },
    })
}

fn conditions(now: Timestamp, node: Option<&Node>, addresses: &[IpAddr]) -> Value {
    let ready = if addresses.is_empty() {
        ("Ready", "False", "NoAddress", "the node has no address on its NIC yet")
    } else {
        ("Ready", "True", "KubeletReady", "landbridge agent is posting ready status")
    };
    let all = [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "memory is not watched"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "disks are not watched"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "processes are not counted"),
        ready,
    ];
    let known = node.and_then(|node| node.status.as_ref()?.conditions.as_ref());
    let condition = |(kind, status, reason, message): (&str, &str, &str, &str)| {
        let mut same = known.into_iter().flatten();
        let same = same.find(|known| known.type_ == kind && known.status == status);
        let since = same.and_then(|known| known.last_transition_time.as_ref());
        json!({
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": time(now),
            "lastTransitionTime": time(since.map_or(now, |time| time.0)),
        })
    };
    all.into_iter().map(condition).collect()
}

/// A status without its heartbeats: whether it says anything new.
pub fn without_heartbeats(mut status: Value) -> Value {
    let conditions = status["conditions"].as_array_mut();
    for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
        condition.remove("lastHeartbeatTime");
        condition.remove("lastTransitionTime");
    }
    status
}

/// As Kubernetes writes it: in seconds.
fn time(time: Timestamp) -> Value {
    let seconds = Timestamp::from_second(time.as_second()).unwrap_or(time);
    seconds.to_string().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        let labels = [("node-role.kubernetes.io/worker".to_owned(), String::new())];
        Settings { labels: labels.into(), ..Settings::new("worker-0", None) }
    }

    #[test]
    fn labels_of_others_stay() {
        let machine = Machine { architecture: "amd64".into(), ..Machine::default() };
        let node: Node = serde_json::from_value(json!({"metadata": {"labels": {
            "node-role.kubernetes.io/worker": "changed", OS: "linux", "x": "y",
        }}}))
        .unwrap();
        assert_eq!(
            missing_labels(&node, &settings(), &machine),
            Some(json!({"metadata": {"labels": {HOSTNAME: "worker-0", ARCH: "amd64"}}}))
        );
        let whole: Node = serde_json::from_value(new(&settings(), &machine)).unwrap();
        assert_eq!(missing_labels(&whole, &settings(), &machine), None);
    }

    #[test]
    fn times_of_conditions_are_kept_while_they_hold() {
        let node: Node = serde_json::from_value(json!({"metadata": {}, "status": {"conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "DiskPressure", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ]}}))
        .unwrap();
        let now: Timestamp = "2026-02-02T00:00:00.5Z".parse().unwrap();
        let address = ["192.0.2.1".parse().unwrap()];
        let status = status(now, Some(&node), &settings(), &Machine::default(), &address);
        let of = |kind: &str| {
            let all = status["conditions"].as_array().unwrap();
            let own = all.iter().find(|c| c["type"] == kind).unwrap();
            (own["status"].as_str().unwrap(), own["lastTransitionTime"].as_str().unwrap())
        };
        assert_eq!(of("Ready"), ("True", "2026-01-01T00:00:00Z"));
        assert_eq!(of("DiskPressure"), ("False", "2026-02-02T00:00:00Z"));
        let later = super::status(Timestamp::MAX, None, &settings(), &Machine::default(), &address);
        assert_eq!(without_heartbeats(status.clone()), without_heartbeats(later));
        let none = super::status(now, None, &settings(), &Machine::default(), &[]);
        assert_ne!(without_heartbeats(status), without_heartbeats(none));
    }
}
