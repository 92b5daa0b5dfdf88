//! Requests about what runs: exec, attach, port-forward and logs. The server checks who asks and
//! what for; the node of the pod answers.
//!
//! ```text
//!  client ── Upgrade ──► handler ─► this ──► Unix socket of the node's agent
//!     ◄──────────── bytes, both ways, until either side ends ───────────►
//! ```
//!
//! Such requests may take for ever. They count with the watches, not with the requests, and end
//! when the server stops.

mod container;
mod forward;
mod log_options;

use http::{HeaderMap, Method, Response, header};
use hyper::upgrade::OnUpgrade;
use landbridge_machinery::object;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::Value;

use crate::body::Body;
use crate::call::Call;
use crate::meta;
use crate::path::percent_decode;

/// What a client wants of a running pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// Run a command in a container.
    Exec,
    /// See and feed what a container runs.
    Attach,
    /// Reach a port of the pod.
    PortForward,
    /// Read what a container wrote.
    Log,
}

impl Door {
    /// The door a subresource of pods is, if it is one.
    pub fn of(subresource: &str) -> Option<Self> {
        match subresource {
            "exec" => Some(Self::Exec),
            "attach" => Some(Self::Attach),
            "portforward" => Some(Self::PortForward),
            "log" => Some(Self::Log),
            _ => None,
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Exec => "exec",
            Self::Attach => "attach",
            Self::PortForward => "portForward",
            Self::Log => "containerLogs",
        }
    }
}

/// Opens the door. `query` is the raw query, `upgrade` the connection, to be taken over.
pub async fn open(
    call: &Call<'_>,
    door: Door,
    method: &Method,
    query: &str,
    upgrade: Option<OnUpgrade>,
) -> ApiResult<Response<Body>> {
    let upgrade = match (door, method) {
        (Door::Log, &Method::GET) => None,
        (Door::Log, _) => return Err(ApiError::method_not_allowed()),
        (_, &Method::GET | &Method::POST) => Some(upgrade_of(call.headers, upgrade)?),
        _ => return Err(ApiError::method_not_allowed()),
    };
    let snapshot = call.server.store.snapshot();
    let Some(entry) = snapshot.get(&call.key()) else { return Err(call.not_found()) };
    let pod = meta::parse(entry);
    let parameters = parameters(query);
    if door == Door::Log {
        log_options::check(&parameters)?;
    }
    let path = node_path(door, &pod, &parameters)?;
    may_be_running(door, &pod)?;
    let socket = socket(call, &pod)?;
    let place = call.server.gates.watch()?;
    let stopping = call.server.stopping.subscribe();
    let node = forward::Node { name: node_of(&pod), socket: &socket };
    match upgrade {
        Some(upgrade) => {
            let request = forward::upgrading(method, &path, call.headers)?;
            node.upgraded(request, upgrade, stopping, place).await
        }
        None => node.streamed(forward::plain(&path)?, stopping, place).await,
    }
}

/// The connection, provided the client wants to use it for something else than HTTP.
fn upgrade_of(headers: &HeaderMap, upgrade: Option<OnUpgrade>) -> ApiResult<OnUpgrade> {
    let asked = headers.contains_key(header::UPGRADE)
        && headers
            .get_all(header::CONNECTION)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .any(|word| word.trim().eq_ignore_ascii_case("upgrade"));
    let required = || {
        ApiError::bad_request(
            "Upgrade request required: ask with `Connection: Upgrade` and `Upgrade: websocket` over HTTP/1.1",
        )
    };
    upgrade.filter(|_| asked).ok_or_else(required)
}

/// The parameters of a query: name, and value as it was written.
fn parameters(query: &str) -> Vec<(&str, &str)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| pair.split_once('=').unwrap_or((pair, ""))).collect()
}

/// The last value of a parameter, decoded. The query as a whole was read before, so it can be.
fn parameter(parameters: &[(&str, &str)], name: &str) -> Option<String> {
    let (_, value) = parameters.iter().rev().find(|(key, _)| *key == name)?;
    percent_decode(&value.replace('+', " ")).map(std::borrow::Cow::into_owned)
}

/// What to ask the node for. The container becomes part of the path, the rest stays as it is.
fn node_path(door: Door, pod: &Value, parameters: &[(&str, &str)]) -> ApiResult<String> {
    let mut path = format!("/{}/{}/{}", door.path(), object::namespace(pod), object::name(pod));
    if door != Door::PortForward {
        let asked = parameter(parameters, "container").unwrap_or_default();
        path.push('/');
        path.push_str(container::choose(pod, &asked)?);
    }
    let mut separator = '?';
    for (key, value) in parameters.iter().filter(|(key, _)| *key != "container") {
        path.extend([separator]);
        path.push_str(key);
        path.push('=');
        path.push_str(value);
        separator = '&';
    }
    Ok(path)
}

fn node_of(pod: &Value) -> &str {
    pod["spec"]["nodeName"].as_str().unwrap_or_default()
}

fn may_be_running(door: Door, pod: &Value) -> ApiResult<()> {
    let name = object::name(pod);
    if node_of(pod).is_empty() {
        return Err(ApiError::bad_request(format!(
            "pod {name} does not have a host assigned; `kubectl describe pod {name}` says what it waits for"
        )));
    }
    let phase = pod["status"]["phase"].as_str().unwrap_or_default();
    if !matches!(phase, "Succeeded" | "Failed") {
        return Ok(());
    }
    let what = match door {
        Door::Log => return Ok(()), // what it wrote can still be read
        Door::Exec => "exec into a container in",
        Door::Attach => "attach to a container in",
        Door::PortForward => "forward a port of",
    };
    Err(ApiError::bad_request(format!("cannot {what} a completed pod; current phase is {phase}")))
}

fn socket(call: &Call<'_>, pod: &Value) -> ApiResult<std::path::PathBuf> {
    let (name, node) = (object::name(pod), node_of(pod));
    let Some(nodes) = &call.server.nodes else {
        return Err(ApiError::unavailable(format!(
            "pod {name} is only a record: no node is attached to this API server, so nothing runs it. Start the server with its nodes"
        )));
    };
    nodes.socket(node).ok_or_else(|| {
        ApiError::unavailable(format!(
            "pod {name} is assigned to node {node:?}, which is not attached to this API server. Is the node's agent running, and is that its name?"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(containers: &[&str]) -> Value {
        let containers: Vec<Value> = containers.iter().map(|name| json!({"name": name})).collect();
        json!({"metadata": {"name": "p", "namespace": "ns"},
            "spec": {"nodeName": "n", "containers": containers}, "status": {"phase": "Running"}})
    }

    #[test]
    fn paths_are_the_nodes() {
        let table = [
            (
                Door::Exec,
                "command=ls&command=-l%20x&stdin=true",
                "/exec/ns/p/a?command=ls&command=-l%20x&stdin=true",
            ),
            (Door::Exec, "container=b&command=a+b", "/exec/ns/p/b?command=a+b"),
            (Door::Attach, "container=%62&tty", "/attach/ns/p/b?tty="),
            (Door::PortForward, "ports=80&container=zz", "/portForward/ns/p?ports=80"),
            (Door::Log, "", "/containerLogs/ns/p/a"),
            (Door::Log, "container=a&container=b&follow=true", "/containerLogs/ns/p/b?follow=true"),
        ];
        let mut pod = pod(&["a", "b"]);
        pod["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/default-container": "a"});
        for (door, query, wanted) in table {
            assert_eq!(node_path(door, &pod, &parameters(query)).as_deref(), Ok(wanted), "{query}");
        }
    }

    #[test]
    fn what_cannot_run_is_said() {
        let message =
            |door, pod: &Value| may_be_running(door, pod).err().map(|error| error.message);
        let mut pod = pod(&["a"]);
        assert_eq!(message(Door::Exec, &pod), None);
        pod["status"]["phase"] = "Failed".into();
        assert_eq!(message(Door::Log, &pod), None, "what it wrote can still be read");
        assert_eq!(
            message(Door::Exec, &pod).as_deref(),
            Some("cannot exec into a container in a completed pod; current phase is Failed")
        );
        pod["spec"]["nodeName"] = "".into();
        let why = message(Door::Log, &pod).unwrap_or_default();
        assert!(why.starts_with("pod p does not have a host assigned; "), "{why}");
    }

    #[test]
    fn only_an_upgrade_is_one() {
        for (connection, upgrade) in [("keep-alive", "websocket"), ("upgrade", "")] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONNECTION, connection.parse().expect("header"));
            if !upgrade.is_empty() {
                headers.insert(header::UPGRADE, upgrade.parse().expect("header"));
            }
            assert_eq!(upgrade_of(&headers, None).err().map(|e| e.code), Some(400));
        }
    }
}
