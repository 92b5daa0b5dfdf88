//! One node: an API, an agent beside it, a master to attach to, and namespaces for pods.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use kube::Client;
use landbridge_bench::plane::{Plane, kill};
use landbridge_bench::plugin::Plugin;
use landbridge_bench::process::Processes;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// What the node is called.
pub const NAME: &str = "bench-0";
/// What pods attach to: one end of a cable whose other end nobody uses.
pub const MASTER: &str = "bench0";
const PATIENCE: Duration = Duration::from_secs(20);

/// The node. Everything goes with its directory and its namespaces.
pub struct Node {
    directory: TempDir,
    plane: Plane,
    server: Child,
    agent: Child,
    /// The API.
    pub client: Client,
}

impl Node {
    /// To be called in network and mount namespaces of one's own.
    pub async fn start(binary: &Path) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        // Named namespaces are mounts below /run, and this one is ours.
        tool("mount -t tmpfs tmpfs /run").await?;
        tool("ip link set lo up").await?;
        tool(&format!("ip link add {MASTER} type veth peer name {MASTER}p")).await?;
        for link in [MASTER, "bench0p"] {
            tool(&format!("ip link set {link} up")).await?;
        }
        let plugins = directory.path().join("bin");
        std::fs::create_dir(&plugins)?;
        // As it is installed: the thin program where there is one.
        let thin = binary.with_file_name("landbridge-shim");
        let called = if thin.is_file() { thin.as_path() } else { binary };
        for name in ["macvlan", "multus"] {
            symlink(called, plugins.join(name))?;
        }
        let plane = Plane::new(binary.to_owned(), directory.path());
        let (server, config) =
            plane.up(&["--no-controllers", "--lab", "none", "--port", "0"]).await?;
        let log = std::fs::File::create(directory.path().join("agent.log"))?;
        let agent = Command::new(binary)
            .args(["agent", "--node", NAME, "--kubeconfig"])
            .arg(plane.kubeconfig())
            .arg("--cni-socket")
            .arg(directory.path().join("cni.sock"))
            .arg("--state-dir")
            .arg(directory.path().join("agent"))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        let client = Client::try_from(config)?;
        let mut node = Self { directory, plane, server, agent, client };
        node.wait_for_agent().await?;
        Ok(node)
    }

    async fn wait_for_agent(&mut self) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while !self.directory.path().join("cni.sock").exists() {
            if let Some(status) = self.agent.try_wait()? {
                bail!("the agent ended at its start: {status}\n{}", self.last_words());
            }
            ensure!(Instant::now() < deadline, "no agent within {} s", PATIENCE.as_secs());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Our program under the name of a plugin, with the agent to ask.
    pub fn plugin(&self, name: &str) -> Plugin {
        let directory = self.directory.path();
        Plugin {
            program: directory.join("bin").join(name),
            variables: vec![
                ("LANDBRIDGE_CNI_SOCKET", directory.join("cni.sock")),
                ("LANDBRIDGE_RELEASES", directory.join("releases")),
            ],
        }
    }

    /// A place for files of plugins, on the same disk for all.
    pub fn files(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The configuration of Multus with a bridge as the cluster's network, as a lab node has it.
    pub fn multus(&self) -> Value {
        json!({
            "cniVersion": "1.0.0", "name": "multus-cni-network", "type": "multus",
            "cniDir": self.files("multus"), "confDir": self.files("net.d"),
            "delegates": [{
                "cniVersion": "1.0.0", "name": "cluster",
                "plugins": [{
                    "type": "bridge", "bridge": "cni0", "isGateway": true,
                    "ipam": {
                        "type": "host-local", "dataDir": self.files("cluster"),
                        "ranges": [[{"subnet": "10.244.0.0/20"}]],
                        "routes": [{"dst": "0.0.0.0/0"}],
                    },
                }],
            }],
        })
    }

    /// CPU time so far of the agent and of the API server.
    pub fn cpu(&self) -> Result<(Duration, Duration)> {
        let of = |process: &Child| {
            Processes(process.id().into_iter().collect()).cpu()?.context("a process is gone")
        };
        Ok((of(&self.agent)?, of(&self.server)?))
    }

    /// The end of the logs.
    pub fn last_words(&self) -> String {
        let agent = std::fs::read_to_string(self.files("agent.log")).unwrap_or_default();
        let lines: Vec<&str> = agent.lines().collect();
        let agent = lines[lines.len().saturating_sub(20)..].join("\n");
        format!("server:\n{}\nagent:\n{agent}", self.plane.last_words())
    }

    /// Ends the processes.
    pub async fn stop(mut self) -> Result<()> {
        kill(&mut self.agent).await?;
        kill(&mut self.server).await
    }
}

/// Makes network namespaces by name and says where they are.
pub async fn namespaces(names: impl IntoIterator<Item = String>) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for name in names {
        tool(&format!("ip netns add {name}")).await?;
        paths.push(Path::new("/run/netns").join(name));
    }
    Ok(paths)
}

async fn tool(line: &str) -> Result<()> {
    let words: Vec<&str> = line.split(' ').collect();
    let (program, arguments) = words.split_first().context("an empty line")?;
    let output = Command::new(program).args(arguments).output().await;
    let output = output.with_context(|| format!("cannot start {program}"))?;
    ensure!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
