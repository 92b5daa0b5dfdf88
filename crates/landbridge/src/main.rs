//! `landbridge`: the network plane between OpenStack and Kubernetes, in one binary.
//!
//! Each command has a file of its own; [`args`] says what can be typed.

mod args;
mod check;
mod completion;
mod connect;
mod crds;
mod detach;
mod down;
mod explain;
mod listen;
mod log;
mod operator;
mod plan;
mod process;
mod progress;
mod state;
mod status;
mod stop;
mod up;
mod version;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Up(args) => up::run(&args, cli.log_level),
        Command::Status(args) => status::run(&args, cli.log_level),
        Command::Down(args) => down::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Operator(args) => operator::run(&args, cli.log_level),
        Command::Crds(args) => crds::run(&args),
        Command::Completion(args) => completion::run(&args),
    };
    result.unwrap_or_else(|error| {
        // Nothing to be done when even stderr is gone.
        let _ = writeln!(std::io::stderr(), "error: {error:#}");
        ExitCode::FAILURE
    })
}
