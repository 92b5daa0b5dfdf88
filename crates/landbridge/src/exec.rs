//! `landbridge exec`

use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use landbridge_agent::pods::sandbox_of;
use landbridge_fabric::{NodePlan, names, plan};
use landbridge_lab::exec::{ExecError, Target, exec};
use landbridge_lab::info::LabInfo;

use crate::args::ExecArgs;
use crate::state::StateDir;

/// Where a node sees the network namespaces of its pods.
const NETNS: &str = "/run/netns";

/// Runs the command. This process has one thread, and has to: it moves into other namespaces.
pub fn run(args: &ExecArgs) -> anyhow::Result<ExitCode> {
    // In a node there is another working directory.
    let lab = std::path::absolute(StateDir::new(&args.dir.dir).lab())
        .context("cannot find the state directory")?;
    let info = LabInfo::read(&lab)?;
    let target = match args.target.split_once('/') {
        Some(("pod", pod)) => {
            let (namespace, name) = pod.split_once('/').unwrap_or((&args.namespace, pod));
            find_pod(&lab, &info, namespace, name)?
        }
        Some((kind @ ("instance" | "router"), name)) => find_in_cloud(&lab, &info, kind, name)?,
        _ if args.target == "switches" => Target::Switches,
        _ => Target::Node(args.target.clone()),
    };
    match exec(&info, &target, &args.command) {
        Ok(code) => Ok(code),
        Err(error @ ExecError::Start { .. }) => {
            // As a shell says it, with a shell's exit code.
            eprintln!("landbridge exec: {error}");
            Ok(error.exit_code())
        }
        Err(error) => Err(error.into()),
    }
}

/// Where a pod is, from what the agents have written down.
fn find_pod(lab: &Path, info: &LabInfo, namespace: &str, name: &str) -> anyhow::Result<Target> {
    for node in &info.nodes {
        let directory = lab.join("nodes").join(&node.name).join("pods");
        if let Some(found) = sandbox_of(&directory, Path::new(NETNS), namespace, name)
            .with_context(|| format!("cannot read what the agent of {} wrote", node.name))?
        {
            return Ok(Target::Pod {
                node: node.name.clone(),
                network: found.network,
                files: found.files,
            });
        }
    }
    bail!(
        "no pod {namespace}/{name} runs in the lab; `kubectl -n {namespace} get pods -o wide` shows those that do"
    )
}

/// Where an instance or a router of the embedded cloud is, from what the agents were told to make.
fn find_in_cloud(lab: &Path, info: &LabInfo, kind: &str, wanted: &str) -> anyhow::Result<Target> {
    let mut found = Vec::new();
    for node in &info.nodes {
        let path = lab.join("nodes").join(&node.name).join(plan::FILE);
        let Some(plan) = read_plan(&path)? else { continue };
        let all: Vec<(String, String, String)> = if kind == "router" {
            let routers = plan.routers.into_iter();
            routers.map(|it| (names::router(&it.id), it.id, it.name)).collect()
        } else {
            let instances = plan.instances.into_iter();
            instances.map(|it| (names::instance(&it.id), it.id, it.name)).collect()
        };
        for (space, id, name) in all {
            if id == wanted || name == wanted {
                found.push((node.name.clone(), space, id));
            }
        }
    }
    let exact = found.iter().position(|(_, _, id)| id == wanted);
    match (exact, found.len()) {
        (_, 0) => bail!(
            "no {kind} {wanted} runs in the lab; `openstack {} list` shows those that there are",
            if kind == "router" { "router" } else { "server" }
        ),
        (None, 2..) => {
            let ids: Vec<&str> = found.iter().map(|(_, _, id)| id.as_str()).collect();
            bail!("several are called {wanted}: name one by its id ({})", ids.join(", "))
        }
        (place, _) => {
            let (node, space, _) = found.swap_remove(place.unwrap_or(0));
            Ok(Target::Pod { node, network: Some(Path::new(NETNS).join(space)), files: Vec::new() })
        }
    }
}

fn read_plan(path: &Path) -> anyhow::Result<Option<NodePlan>> {
    let file = match std::fs::File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let mut text = Vec::new();
    file.take(plan::MAX_BYTES)
        .read_to_end(&mut text)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let read = serde_json::from_slice(&text);
    read.map(Some).with_context(|| format!("{} is no plan of this landbridge", path.display()))
}
