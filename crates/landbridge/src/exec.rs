//! `landbridge exec`

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use landbridge_agent::pods::sandbox_of;
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
    let target = match args.target.strip_prefix("pod/") {
        Some(pod) => {
            let (namespace, name) = pod.split_once('/').unwrap_or((&args.namespace, pod));
            find_pod(&lab, &info, namespace, name)?
        }
        None if args.target == "switches" => Target::Switches,
        None => Target::Node(args.target.clone()),
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
