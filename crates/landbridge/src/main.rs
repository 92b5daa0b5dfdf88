//! `landbridge`: the network plane between OpenStack and Kubernetes, in one binary.
//!
//! Each command has a file of its own; [`args`] says what can be typed. Under the name of a CNI plugin it
//! is that plugin ([`cni`]).

mod agent;
mod args;
mod check;
mod cni;
mod collect;
mod completion;
mod connect;
mod crds;
mod detach;
mod dns;
mod down;
mod exec;
mod explain;
mod lab;
mod listen;
mod log;
mod node_file;
mod operator;
mod plan;
mod process;
mod progress;
mod responder;
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
    if let Some(plugin) = cni::called_as(std::env::args().next().as_deref()) {
        return cni::plugin(&plugin);
    }
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Up(args) => up::run(&args, cli.log_level),
        Command::Status(args) => status::run(&args, cli.log_level),
        Command::Down(args) => down::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Operator(args) => operator::run(&args, cli.log_level),
        Command::Exec(args) => exec::run(&args),
        Command::Lab(command) => lab::run(&command, cli.log_level),
        Command::Agent(args) => agent::run(&args, cli.log_level),
        Command::Dns(args) => dns::run(&args, cli.log_level),
        Command::Cni(command) => cni::run(&command),
        Command::Responder(args) => responder::run(&args),
        Command::Terminal(args) => responder::terminal(&args),
        Command::Crds(args) => crds::run(&args),
        Command::Completion(args) => completion::run(&args),
    };
    result.unwrap_or_else(|error| {
        // Nothing to be done when even stderr is gone.
        let _ = writeln!(std::io::stderr(), "error: {error:#}");
        ExitCode::FAILURE
    })
}
