//! Rules of a namespace, by the program `nft`.

use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use landbridge_linux::Namespace;

use crate::services::nft::program;

/// So much of what it complains about is told.
const WORDS: usize = 600;

/// Runs a script in a namespace, and waits for it.
pub fn run(namespace: &Namespace, script: &str) -> anyhow::Result<()> {
    let program = program().context(
        "the program nft is not on this node (package nftables), so no port can be guarded",
    )?;
    let work = || -> anyhow::Result<()> {
        let mut child = Command::new(&program)
            .args(["-f", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {}", program.display()))?;
        if let Some(mut stdin) = child.stdin.take() {
            // An error here means that nft ended early; what it says about it is worth more.
            let _ = stdin.write_all(script.as_bytes());
        }
        let output = child.wait_with_output().context("cannot wait for nft")?;
        if !output.status.success() {
            let words: String =
                String::from_utf8_lossy(&output.stderr).chars().take(WORDS).collect();
            bail!("nft: {}: {}", output.status, words.trim());
        }
        Ok(())
    };
    namespace.run(work)?
}
