//! `landbridge status`

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use jiff::Timestamp;
use landbridge_lab::info::LabInfo;
use landbridge_lab::spec::Kind;
use serde::Serialize;
use serde_json::Value;

use crate::args::{Output, StatusArgs};
use crate::connect::ShortPath;
use crate::log::{self, LogLevel};
use crate::progress::{duration, say};
use crate::state::{RunInfo, Server, StateDir};
use crate::version;

/// As systemctl says it.
const EXIT_STOPPED: u8 = 3;
/// A server that takes longer to answer is a problem worth showing.
const PATIENCE: Duration = Duration::from_secs(5);
const LOG_LINES: usize = 10;

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum State {
    /// Answers requests.
    Running,
    /// Alive, not answering yet.
    Starting,
    /// Not there.
    Stopped,
}

/// Everything `status` says.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    state: State,
    directory: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uptime_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Where Routes are reached from this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    ingress: Option<String>,
    /// Where the embedded cloud's Keystone is.
    #[serde(skip_serializing_if = "Option::is_none")]
    cloud: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kubeconfig: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    content: Option<Content>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lab: Vec<LabNode>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    log: Vec<String>,
}

/// One node of the lab.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LabNode {
    name: String,
    kind: Kind,
    /// Process of its agent, inside the lab; nothing while it waits to be started again.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<u32>,
    restarts: u64,
}

/// What is in the server.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    kubernetes: String,
    revision: u64,
    objects: u64,
    kinds: Vec<KindCount>,
}

/// How many objects of one of our kinds there are.
#[derive(Serialize)]
struct KindCount {
    kind: String,
    group: String,
    objects: u64,
}

/// Prints the state of the server; the exit code says whether it is up.
pub fn run(args: &StatusArgs, log_level: Option<LogLevel>) -> anyhow::Result<ExitCode> {
    log::init(log_level, LogLevel::Error);
    let state = StateDir::new(&args.dir.dir);
    let report = match state.server()? {
        Server::Running(info) => running(&state, &info),
        Server::Crashed(info) => crashed(&state, &info),
        Server::Stopped => stopped(&state),
    };
    let text = match args.output {
        Output::Table => table(&report),
        Output::Json => serde_json::to_string_pretty(&report)?,
        Output::Yaml => serde_saphyr::to_string(&report).context("cannot write YAML")?,
    };
    say(text.trim_end());
    Ok(match report.state {
        State::Running if report.content.is_some() => ExitCode::SUCCESS,
        State::Running => ExitCode::FAILURE,
        State::Starting | State::Stopped => EXIT_STOPPED.into(),
    })
}

fn stopped(state: &StateDir) -> Report {
    Report {
        state: State::Stopped,
        directory: state.path().to_owned(),
        pid: None,
        started_at: None,
        uptime_seconds: None,
        url: None,
        ingress: None,
        cloud: None,
        kubeconfig: None,
        version: None,
        content: None,
        lab: Vec::new(),
        problems: Vec::new(),
        log: Vec::new(),
    }
}

fn crashed(state: &StateDir, info: &RunInfo) -> Report {
    let problem = format!(
        "pid {} ended without being stopped; `landbridge up` continues from what was stored",
        info.pid
    );
    let log = if info.detached { state.log_tail(LOG_LINES) } else { Vec::new() };
    Report { problems: vec![problem], log, ..stopped(state) }
}

fn running(state: &StateDir, info: &RunInfo) -> Report {
    let now = Timestamp::now();
    let uptime = info.started_at.parse::<Timestamp>().ok().map(|at| now.duration_since(at));
    let mut report = Report {
        state: if info.ready { State::Running } else { State::Starting },
        pid: Some(info.pid),
        started_at: Some(info.started_at.clone()),
        uptime_seconds: uptime.and_then(|span| u64::try_from(span.as_secs()).ok()),
        url: Some(info.url.clone()),
        ingress: info.ingress.clone(),
        cloud: info.cloud.clone(),
        kubeconfig: Some(state.kubeconfig()),
        version: Some(format!("{} ({})", info.version, info.commit)),
        ..stopped(state)
    };
    if info.version != version::SHORT || info.commit != version::COMMIT {
        report.problems.push(format!(
            "the server is {} ({}), this program is {}: `landbridge down` and `up` make them the same",
            info.version,
            info.commit,
            version::LONG
        ));
    }
    report.lab = lab(state);
    for node in report.lab.iter().filter(|node| node.agent.is_none()) {
        report.problems.push(format!(
            "the agent of {} does not run; see {}",
            node.name,
            state.lab().join("nodes").join(&node.name).join("agent.log").display()
        ));
    }
    for node in &report.lab {
        let errors = cloud_errors(&state.lab().join("nodes").join(&node.name));
        let told = errors.into_iter().map(|error| format!("the cloud on {}: {error}", node.name));
        report.problems.extend(told);
    }
    if info.ready {
        match ask(&info.socket) {
            Ok(content) => report.content = Some(content),
            Err(error) => {
                report.problems.push(format!("the API does not answer properly: {error:#}"));
                report.log = if info.detached { state.log_tail(LOG_LINES) } else { Vec::new() };
            }
        }
    }
    report
}

/// The nodes of the lab; none where there is no lab.
fn lab(state: &StateDir) -> Vec<LabNode> {
    let Ok(info) = LabInfo::read(&state.lab()) else { return Vec::new() };
    let nodes = info.nodes.into_iter();
    nodes
        .map(|node| LabNode {
            name: node.name,
            kind: node.kind,
            agent: node.agent.pid,
            restarts: node.agent.restarts,
        })
        .collect()
}

/// What a node could not make of the embedded cloud; nothing where there is none.
fn cloud_errors(node: &Path) -> Vec<String> {
    use std::io::Read as _;
    let read = || {
        let mut text = Vec::new();
        let file = std::fs::File::open(node.join(landbridge_fabric::status::FILE)).ok()?;
        file.take(landbridge_fabric::status::MAX_BYTES).read_to_end(&mut text).ok()?;
        serde_json::from_slice::<landbridge_fabric::NodeStatus>(&text).ok()
    };
    read().map(|status| status.errors).unwrap_or_default()
}

fn ask(socket: &Path) -> anyhow::Result<Content> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let socket = ShortPath::new(socket).context("cannot reach its socket")?;
    runtime.block_on(async {
        let client = landbridge_client::unix(&socket.path);
        tokio::time::timeout(PATIENCE, content(&client))
            .await
            .with_context(|| format!("no answer within {} s", PATIENCE.as_secs()))?
    })
}

/// One list per kind, of one object each: the server says how many more there are.
async fn content(client: &kube::Client) -> anyhow::Result<Content> {
    let version = client.apiserver_version().await.context("cannot ask for its version")?;
    let ours: BTreeSet<(String, String)> = landbridge_api::crds()
        .into_iter()
        .map(|crd| (crd.spec.group, crd.spec.names.plural))
        .collect();
    let mut content = Content {
        kubernetes: format!("v{}.{}", version.major, version.minor),
        revision: 0,
        objects: 0,
        kinds: Vec::new(),
    };
    for (group, path) in group_paths(client).await? {
        let resources = get(client, &path).await?;
        for resource in resources["resources"].as_array().into_iter().flatten() {
            let plural = resource["name"].as_str().unwrap_or_default();
            let lists =
                resource["verbs"].as_array().is_some_and(|verbs| verbs.iter().any(|v| v == "list"));
            // Events appear in two groups and are stored once.
            if !lists || plural.contains('/') || group == "events.k8s.io" {
                continue;
            }
            let list = get(client, &format!("{path}/{plural}?limit=1")).await?;
            let count = count(&list);
            content.objects += count;
            content.revision = content.revision.max(revision(&list));
            if ours.contains(&(group.clone(), plural.to_owned())) {
                let kind = resource["kind"].as_str().unwrap_or_default().to_owned();
                content.kinds.push(KindCount { kind, group: group.clone(), objects: count });
            }
        }
    }
    Ok(content)
}

/// Every group with the path of its preferred version.
async fn group_paths(client: &kube::Client) -> anyhow::Result<Vec<(String, String)>> {
    let groups = get(client, "/apis").await?;
    let mut paths = vec![(String::new(), "/api/v1".to_owned())];
    for group in groups["groups"].as_array().into_iter().flatten() {
        let name = group["name"].as_str().unwrap_or_default();
        if let Some(preferred) = group["preferredVersion"]["groupVersion"].as_str() {
            paths.push((name.to_owned(), format!("/apis/{preferred}")));
        }
    }
    Ok(paths)
}

async fn get(client: &kube::Client, path: &str) -> anyhow::Result<Value> {
    let request = http::Request::get(path)
        .header(http::header::ACCEPT, "application/json")
        .body(Vec::new())
        .with_context(|| format!("cannot ask for {path}"))?;
    client.request::<Value>(request).await.with_context(|| format!("cannot read {path}"))
}

fn count(list: &Value) -> u64 {
    let here = list["items"].as_array().map_or(0, Vec::len);
    let more = list["metadata"]["remainingItemCount"].as_u64().unwrap_or(0);
    u64::try_from(here).unwrap_or(u64::MAX).saturating_add(more)
}

fn revision(list: &Value) -> u64 {
    list["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn table(report: &Report) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:<12} {value}");
    };
    let state = match report.state {
        State::Running => "running",
        State::Starting => "starting",
        State::Stopped => "stopped",
    };
    line("state", state.to_owned());
    line("directory", report.directory.display().to_string());
    if let Some(pid) = report.pid {
        line("pid", pid.to_string());
    }
    if let Some(seconds) = report.uptime_seconds {
        line("up for", duration(Duration::from_secs(seconds)));
    }
    if let Some(url) = &report.url {
        line("API", url.clone());
    }
    if let Some(ingress) = &report.ingress {
        line("ingress", format!("{ingress} (Routes by host name; also as an HTTP proxy)"));
    }
    if let Some(cloud) = &report.cloud {
        let file = StateDir::new(&report.directory).clouds();
        line("cloud", format!("{cloud} (clouds.yaml: {})", file.display()));
    }
    if let Some(kubeconfig) = &report.kubeconfig {
        line("kubeconfig", kubeconfig.display().to_string());
    }
    if let Some(version) = &report.version {
        line("version", version.clone());
    }
    if let Some(content) = &report.content {
        line("kubernetes", content.kubernetes.clone());
        line("revision", content.revision.to_string());
        line("objects", content.objects.to_string());
        for kind in &content.kinds {
            line("", format!("{:<20} {:>6}", kind.kind, kind.objects));
        }
    }
    for (place, node) in report.lab.iter().enumerate() {
        let kind = match node.kind {
            Kind::Kubernetes => "node",
            Kind::Host => "host",
        };
        let agent = match node.restarts {
            _ if node.agent.is_none() => "agent does not run".to_owned(),
            0 => String::new(),
            times => format!("agent restarted {times} times"),
        };
        let name = if place == 0 { "lab" } else { "" };
        line(name, format!("{:<20} {kind}  {agent}", node.name).trim_end().to_owned());
    }
    for problem in &report.problems {
        line("problem", problem.clone());
    }
    if !report.log.is_empty() {
        line("log", "last lines:".to_owned());
        for entry in &report.log {
            line("", entry.clone());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_page_of_one_tells_how_many_there_are() {
        let page = json!({
            "metadata": {"resourceVersion": "42", "remainingItemCount": 6},
            "items": [{}],
        });
        assert_eq!((count(&page), revision(&page)), (7, 42));
        assert_eq!(count(&json!({"items": [{}]})), 1);
        assert_eq!(count(&json!({"items": null})), 0);
    }

    #[test]
    fn a_stopped_server_has_few_lines() {
        let report = stopped(&StateDir::new(Path::new("/x")));
        assert_eq!(table(&report), "state        stopped\ndirectory    /x\n");
        let json = serde_json::to_value(&report).unwrap_or_default();
        assert_eq!(json, json!({"state": "stopped", "directory": "/x"}));
    }
}
