//! `landbridge responder` and `landbridge terminal`: the small processes an agent starts for pods.

use std::process::ExitCode;

use anyhow::Context as _;
use landbridge_agent::responder::{self, ResponderConfig};

use crate::args::{DnsArgs, ResponderArgs, TerminalArgs};
use crate::dns;

/// Stands for the containers of a pod. One that is a name server is one.
pub fn run(args: &ResponderArgs) -> anyhow::Result<ExitCode> {
    let config = ResponderConfig::read(&args.config)?;
    let Some(server) = config.name_server.clone() else {
        responder::run(config).context("cannot go on answering")?;
        return Ok(ExitCode::SUCCESS);
    };
    responder::run_beside(config, &server.container).context("cannot stand for the pod")?;
    let words = server.arguments.into_iter().map(Into::into).collect();
    dns::run(&DnsArgs { words }, None)
}

/// Becomes a command with a terminal.
pub fn terminal(args: &TerminalArgs) -> anyhow::Result<ExitCode> {
    Err(responder::in_terminal(&args.command).into())
}
