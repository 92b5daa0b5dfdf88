//! `landbridge responder` and `landbridge terminal`: the small processes an agent starts for pods.

use std::process::ExitCode;

use anyhow::Context as _;
use landbridge_agent::responder::{self, ResponderConfig};

use crate::args::{ResponderArgs, TerminalArgs};

/// Stands for the containers of a pod.
pub fn run(args: &ResponderArgs) -> anyhow::Result<ExitCode> {
    let config = ResponderConfig::read(&args.config)?;
    responder::run(config).context("cannot go on answering")?;
    Ok(ExitCode::SUCCESS)
}

/// Becomes a command with a terminal.
pub fn terminal(args: &TerminalArgs) -> anyhow::Result<ExitCode> {
    Err(responder::in_terminal(&args.command).into())
}
