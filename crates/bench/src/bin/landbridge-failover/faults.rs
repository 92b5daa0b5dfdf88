//! What befalls a node of a lab, and how it ends.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::ValueEnum;
use serde_json::Value;

use crate::probe::clock;

/// What befalls the node that announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Fault {
    /// Its agent is killed with SIGKILL
    Kill,
    /// Its agent is stopped with SIGSTOP for a while
    Freeze,
    /// The cable of the interface it announces on is pulled
    Link,
    /// The agents do not hear each other
    Partition,
    /// The cable to the other nodes is pulled: its pods cannot be reached
    Machine,
    /// All of its cables are pulled: from outside it is dead
    Node,
    /// Its agent is told to end, and started again
    Restart,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Kill,
        Self::Freeze,
        Self::Link,
        Self::Partition,
        Self::Machine,
        Self::Node,
        Self::Restart,
    ];
}

/// A running lab.
pub struct Lab {
    pub landbridge: PathBuf,
    pub state: PathBuf,
}

/// How long a killed agent may take to be back: the lab waits longer after each death.
const BACK: Duration = Duration::from_mins(1);

/// So exactly it has to be known when a cable was pulled.
const SURE: Duration = Duration::from_millis(150);

/// When a fault began is not known well enough to measure from.
#[derive(Debug, thiserror::Error)]
#[error("the machine is too busy to say when: the fault took {} ms to make", .0.as_millis())]
pub struct TooBusy(Duration);

impl Lab {
    /// Where a fault's own rules of nft are.
    const TABLE: &str = "inet landbridge-failover";

    fn landbridge(&self, words: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.landbridge);
        let output = command
            .args(words)
            .env("LANDBRIDGE_DIR", &self.state)
            .output()
            .with_context(|| format!("cannot run {}", self.landbridge.display()))?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "landbridge {}: {error}", words.join(" "));
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// In the namespaces of a node.
    pub fn exec(&self, node: &str, words: &[&str]) -> Result<String> {
        self.landbridge(&[&["exec", node, "--"], words].concat())
    }

    /// A command in the namespaces of a node, to be started.
    pub fn exec_command(&self, node: &str, program: &Path) -> Command {
        let mut command = Command::new(&self.landbridge);
        command.env("LANDBRIDGE_DIR", &self.state).args(["exec", node, "--"]).arg(program);
        command
    }

    /// The pid of an agent, as the lab's processes see it.
    pub fn agent(&self, node: &str) -> Result<Option<u64>> {
        let text = std::fs::read(self.state.join("lab/lab.json")).context("is the lab up?")?;
        let lab: Value = serde_json::from_slice(&text)?;
        let nodes = lab["nodes"].as_array().into_iter().flatten();
        let found = nodes.into_iter().find(|one| one["name"] == *node);
        Ok(found.and_then(|node| node["agent"]["pid"].as_u64()))
    }

    /// The Ethernet address of a node's interface.
    pub fn mac(&self, node: &str, interface: &str) -> Result<String> {
        let shown = self.exec(node, &["ip", "-j", "link", "show", interface])?;
        let shown: Value = serde_json::from_str(&shown)?;
        shown[0]["address"].as_str().map(str::to_owned).context("no Ethernet address")
    }

    /// Sends a signal to an agent; says when.
    fn signal(&self, node: &str, signal: &str) -> Result<u64> {
        let pid = self.agent(node)?.with_context(|| format!("{node} has no agent"))?;
        let script = format!("date +%s%N; kill -{signal} {pid}");
        Ok(self.exec(node, &["sh", "-c", &script])?.parse()?)
    }

    /// Pulls a cable or puts it back; says when, not later than it was.
    fn cable(&self, node: &str, nic: &str, state: &str) -> Result<u64> {
        let before = clock();
        self.landbridge(&["lab", "link", node, nic, state])?;
        Ok(before)
    }

    /// Pulls cables, all at the same time. When they were out is known to the time that took, so it must not have
    /// taken long.
    fn pull(&self, node: &str, nics: &[&str]) -> Result<u64> {
        let at = std::thread::scope(|scope| {
            let pulls: Vec<_> =
                nics.iter().map(|nic| scope.spawn(|| self.cable(node, nic, "down"))).collect();
            let at = pulls
                .into_iter()
                .map(|pull| pull.join().map_err(|_| anyhow!("pulling a cable panicked")).flatten());
            at.collect::<Result<Vec<u64>>>()
        })?;
        let at = at.into_iter().min().context("no cable")?;
        let took = Duration::from_nanos(clock().saturating_sub(at));
        if took > SURE { Err(TooBusy(took).into()) } else { Ok(at) }
    }

    /// Makes it happen; says when (nanoseconds of the machine's clock), not later than it did.
    pub fn hurt(&self, fault: Fault, node: &str) -> Result<u64> {
        match fault {
            Fault::Kill => self.signal(node, "KILL"),
            Fault::Freeze => self.signal(node, "STOP"),
            Fault::Restart => self.signal(node, "TERM"),
            Fault::Link => self.pull(node, &["enp6s0"]),
            Fault::Machine => self.pull(node, &["enp1s0"]),
            Fault::Node => self.pull(node, &["enp1s0", "enp6s0"]),
            Fault::Partition => {
                let rules = format!(
                    "add table {table}\n\
                     add chain {table} in {{ type filter hook input priority 0; }}\n\
                     add chain {table} out {{ type filter hook output priority 0; }}\n\
                     add rule {table} in udp dport 7950 drop\n\
                     add rule {table} out udp dport 7950 drop",
                    table = Self::TABLE
                );
                let script = format!("date +%s%N; nft '{rules}'");
                Ok(self.exec(node, &["sh", "-c", &script])?.parse()?)
            }
        }
    }

    /// Makes it good again, and waits until the node has its agent.
    pub fn heal(&self, fault: Fault, node: &str) -> Result<()> {
        match fault {
            Fault::Kill | Fault::Restart => {}
            Fault::Freeze => drop(self.signal(node, "CONT")?),
            Fault::Link => drop(self.cable(node, "enp6s0", "up")?),
            Fault::Machine => drop(self.cable(node, "enp1s0", "up")?),
            Fault::Node => {
                self.cable(node, "enp6s0", "up")?;
                self.cable(node, "enp1s0", "up")?;
            }
            Fault::Partition => {
                let table = format!("delete table {}", Self::TABLE);
                self.exec(node, &["nft", &table])?;
            }
        }
        let deadline = Instant::now() + BACK;
        while self.agent(node)?.is_none() {
            if Instant::now() > deadline {
                bail!("{node} has no agent {BACK:?} after {fault:?}");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}
