//! One call of a CNI plugin, as a container runtime makes it, and how long it took.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// A program, and what stands in its environment besides the call.
#[derive(Clone, Debug)]
pub struct Plugin {
    /// The program; its name is the plugin's.
    pub program: PathBuf,
    /// Further variables.
    pub variables: Vec<(&'static str, PathBuf)>,
}

/// What is asked of it.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The pod's container.
    pub container: &'a str,
    /// Its network namespace.
    pub netns: &'a Path,
    /// The interface to make or to take away.
    pub interface: &'a str,
    /// `CNI_ARGS`.
    pub args: &'a str,
    /// Standard input.
    pub config: &'a str,
}

impl Plugin {
    /// From before the process is there until it is gone; all it had to say is read by then.
    pub fn run(&self, command: &str, call: &Call<'_>) -> Result<Duration> {
        let directory = self.program.parent().context("a plugin without a directory")?;
        let mut process = Command::new(&self.program);
        process
            .env_clear()
            .env("CNI_COMMAND", command)
            .env("CNI_CONTAINERID", call.container)
            .env("CNI_NETNS", call.netns)
            .env("CNI_IFNAME", call.interface)
            .env("CNI_ARGS", call.args)
            .env("CNI_PATH", directory)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let began = Instant::now();
        let mut child =
            process.spawn().with_context(|| format!("cannot start {}", self.program.display()))?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(call.config.as_bytes())?;
        }
        let output = child.wait_with_output()?;
        let took = began.elapsed();
        if !output.status.success() {
            bail!(
                "{command} of {} for {}: {}\n{}{}",
                self.program.display(),
                call.container,
                output.status,
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr),
            );
        }
        if command == "ADD" {
            let result: serde_json::Value = serde_json::from_slice(&output.stdout)
                .with_context(|| format!("ADD of {} has no result", self.program.display()))?;
            let ips = result.get("ips").and_then(serde_json::Value::as_array);
            anyhow::ensure!(ips.is_some_and(|ips| !ips.is_empty()), "ADD without an address");
        }
        Ok(took)
    }
}
