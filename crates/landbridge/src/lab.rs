//! `landbridge lab`: the lab itself, and what its operator does to it.

mod dhcp;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use landbridge_lab::enter::{self, Entered};
use landbridge_lab::spec::builtin;
use landbridge_lab::supervise::{self, Template};
use landbridge_lab::wires;

use crate::args::{Cable, LabCommand};
use crate::log::{self, LogLevel};
use crate::progress::say;
use crate::state::StateDir;

/// How long agents may take to stop.
const GRACE: Duration = Duration::from_secs(3);

/// Does what was asked.
pub fn run(command: &LabCommand, log_level: Option<LogLevel>) -> anyhow::Result<ExitCode> {
    match command {
        LabCommand::Shapes { name: None } => {
            for (name, purpose) in builtin::names() {
                say(&format!("{name:<10} {purpose}"));
            }
        }
        LabCommand::Shapes { name: Some(name) } => {
            let text = builtin::text(name).ok_or_else(|| {
                anyhow!("no shape is called {name}; `landbridge lab shapes` lists them")
            })?;
            say(text.trim_end());
        }
        LabCommand::Reboot { dir, node } => {
            wires::reboot(&StateDir::new(&dir.dir).lab(), node)?;
            say(&format!("{node} rebooted"));
        }
        LabCommand::Link { dir, node, nic, state } => {
            let up = *state == Cable::Up;
            wires::link(&StateDir::new(&dir.dir).lab(), node, nic, up)?;
            let how = if up { "plugged in" } else { "pulled" };
            say(&format!("{node}: the cable of {nic} is {how}"));
        }
        LabCommand::Run { dir, shape } => return supervise(dir, shape, log_level),
    }
    Ok(ExitCode::SUCCESS)
}

/// The lab: from here on this process is two, one outside and one inside.
fn supervise(dir: &Path, shape: &str, log_level: Option<LogLevel>) -> anyhow::Result<ExitCode> {
    let settings = enter::Settings { keep: vec![dir.to_owned()], lifeline: true };
    let inside = match enter::enter(&settings)? {
        Entered::Outside(code) => return Ok(code),
        Entered::Inside(inside) => inside,
    };
    log::init(log_level, LogLevel::Info);
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let agent = |kind: &str| Template {
        program: program.clone(),
        arguments: ["agent", kind, "{node}", "--lab", "{directory}"].map(str::to_owned).to_vec(),
        environment: Vec::new(),
    };
    let settings = supervise::Settings {
        directory: dir.to_owned(),
        kubernetes: agent("--node"),
        host: agent("--host"),
        services: Some(Box::new(dhcp::Dhcp)),
        grace: GRACE,
    };
    Ok(supervise::run(&inside, builtin::find(shape)?, settings)?)
}
