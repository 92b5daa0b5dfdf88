//! A landbridge of one's own: started, killed and started again, in a directory of its own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::process::{Child, Command};

/// For a server to answer after its start.
const PATIENCE: Duration = Duration::from_mins(1);

/// Where a server lives, also while it is dead.
pub struct Plane {
    binary: PathBuf,
    state: PathBuf,
    log: PathBuf,
}

impl Plane {
    /// Nothing is started yet.
    pub fn new(binary: PathBuf, directory: &Path) -> Self {
        Self { binary, state: directory.join("state"), log: directory.join("server.log") }
    }

    /// How to reach it.
    pub fn kubeconfig(&self) -> PathBuf {
        self.state.join("kubeconfig")
    }

    /// `landbridge up`, until it answers.
    pub async fn up(&self, arguments: &[&str]) -> Result<(Child, Config)> {
        let mut command = Command::new(&self.binary);
        // What is measured and killed here is the API and its controllers.
        command.env("LANDBRIDGE_LAB", "none");
        command.arg("up").arg("--dir").arg(&self.state).args(arguments);
        let mut server = self.spawn(command)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            // A kubeconfig of the life before may still lie there; only an answer counts.
            if let Ok(config) = answering(&self.kubeconfig()).await {
                return Ok((server, config));
            }
            if let Some(status) = server.try_wait()? {
                bail!("the server ended at its start: {status}\n{}", self.last_words());
            }
            if Instant::now() > deadline {
                bail!("the server does not answer {} s after its start", PATIENCE.as_secs());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// `landbridge operator` against it.
    pub fn operator(&self) -> Result<Child> {
        let mut command = Command::new(&self.binary);
        command.arg("operator").arg("--kubeconfig").arg(self.kubeconfig());
        self.spawn(command)
    }

    /// `landbridge down`: everything ends that it has started.
    pub async fn down(&self) -> Result<()> {
        let mut command = Command::new(&self.binary);
        let status = command.arg("down").arg("--dir").arg(&self.state).status().await?;
        anyhow::ensure!(status.success(), "landbridge down failed: {status}");
        Ok(())
    }

    fn spawn(&self, mut command: Command) -> Result<Child> {
        let log = File::options().create(true).append(true).open(&self.log)?;
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", self.binary.display()))
    }

    /// The end of what they have logged.
    pub fn last_words(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

async fn answering(kubeconfig: &Path) -> Result<Config> {
    let config = Config::from_custom_kubeconfig(
        Kubeconfig::read_from(kubeconfig)?,
        &KubeConfigOptions::default(),
    )
    .await?;
    let client = Client::try_from(config.clone())?;
    tokio::time::timeout(Duration::from_secs(2), client.apiserver_version()).await??;
    Ok(config)
}

/// SIGKILL, and wait until it is gone.
pub async fn kill(process: &mut Child) -> Result<()> {
    process.kill().await.context("cannot kill it")
}

/// A small generator (xorshift): what happens must be repeatable, not unguessable.
pub struct Chance(u64);

impl Chance {
    /// The same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// The seed that was asked for, or one from the clock; said, so that a run can be repeated.
    pub fn seed(asked: Option<u64>) -> Result<u64> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.subsec_nanos();
        let seed = asked.unwrap_or(u64::from(now));
        eprintln!("seed {seed}");
        Ok(seed)
    }

    /// A number below the limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
