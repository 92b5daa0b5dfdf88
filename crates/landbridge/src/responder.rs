//! `landbridge responder` and `landbridge terminal`: the small processes an agent starts for pods.

use std::process::ExitCode;

use anyhow::Context as _;
use landbridge_agent::responder::{self, ResponderConfig};

use crate::args::{ResponderArgs, TerminalArgs};

/// Stands for the containers of a pod.
pub fn run(args: &ResponderArgs) -> anyhow::Result<ExitCode> {
    let shown = args.config.display();
    let text = std::fs::read(&args.config).with_context(|| format!("cannot read {shown}"))?;
    let config: ResponderConfig = serde_json::from_slice(&text)
        .with_context(|| format!("{shown} is not what was expected"))?;
    responder::run(config).context("cannot go on answering")?;
    Ok(ExitCode::SUCCESS)
}

/// Becomes a command with a terminal.
pub fn terminal(args: &TerminalArgs) -> anyhow::Result<ExitCode> {
    Err(responder::in_terminal(&args.command).into())
}
