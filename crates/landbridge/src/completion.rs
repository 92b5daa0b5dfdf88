//! `landbridge completion`

use std::io::Write as _;
use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::args::{Cli, CompletionArgs};

/// Prints the script of a shell.
pub fn run(args: &CompletionArgs) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "landbridge", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
