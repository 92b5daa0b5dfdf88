//! The program `nft`: scripts, done at once or not at all.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// Ten thousand Services take a few seconds; a kernel that needs longer than this has a problem.
const LIMIT: Duration = Duration::from_mins(1);
/// So much of what it complains about is told.
const WORDS: usize = 600;

/// Where it is, if it is.
pub fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    places.map(|place: PathBuf| place.join("nft")).find(|file| file.is_file())
}

/// Runs a script.
pub async fn run(script: &str) -> anyhow::Result<()> {
    let program = program().context(
        "the program nft is not on this node: install the package nftables, or let the agent forward by itself",
    )?;
    let mut child = Command::new(&program)
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let mut stdin = child.stdin.take().context("nft has no standard input")?;
    let work = async {
        // An error here means that nft ended early; what it says about it is worth more.
        let _ = stdin.write_all(script.as_bytes()).await;
        drop(stdin);
        child.wait_with_output().await
    };
    let Ok(output) = tokio::time::timeout(LIMIT, work).await else {
        bail!("nft did not end within {} s", LIMIT.as_secs());
    };
    let output = output.context("cannot wait for nft")?;
    if !output.status.success() {
        let words: String = String::from_utf8_lossy(&output.stderr).chars().take(WORDS).collect();
        bail!("nft: {}: {}", output.status, words.trim());
    }
    Ok(())
}
