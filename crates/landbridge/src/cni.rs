//! The CNI plugin: called by a container runtime under a plugin's name, or installed by hand.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use landbridge_attach::install::{InstallOptions, NAMES, install, uninstall};
use landbridge_attach::own::OwnPlugins;
use landbridge_attach::{alone, ipams, shim};

use crate::args::{CniArgs, CniCommand};
use crate::progress::say;

/// The small program that is installed under the plugins' names, where it lies beside this one.
const THIN: &str = "landbridge-shim";

/// The plugin this process was called as, by its name or by `CNI_COMMAND`.
pub fn called_as(program: Option<&str>) -> Option<String> {
    let name = Path::new(program?).file_name()?.to_str()?;
    let ours = |name: &str| {
        name == "multus"
            || ipams::Ipams::has(name) && name != "landbridge"
            || landbridge_plugins::has(name)
    };
    if ours(name) {
        return Some(name.to_owned());
    }
    // A delegate `{"type": "landbridge"}` calls the program by its own name.
    let by_runtime = name == "landbridge" && std::env::var_os("CNI_COMMAND").is_some();
    by_runtime.then(|| name.to_owned())
}

/// One call, by the agent or else here. `landbridge-shim` does the same and is faster to start.
pub fn plugin(name: &str) -> ExitCode {
    shim::process(name, &|message, releases| alone::alone(message, releases, OwnPlugins::with))
}

/// Installs or removes.
pub fn run(command: &CniCommand) -> anyhow::Result<ExitCode> {
    let report = match command {
        CniCommand::Install(args) => install(&options(args)?)?,
        CniCommand::Uninstall(args) => uninstall(&args.bin_dir, &args.conf_dir)?,
    };
    if report.steps.is_empty() {
        say("nothing to do");
    }
    for step in report.steps {
        say(&step);
    }
    Ok(ExitCode::SUCCESS)
}

fn options(args: &CniArgs) -> anyhow::Result<InstallOptions> {
    let binary = std::env::current_exe().context("cannot find this program's own file")?;
    let thin = binary.with_file_name(THIN);
    Ok(InstallOptions {
        thin: thin.is_file().then_some(thin),
        binary,
        bin_dir: args.bin_dir.clone(),
        conf_dir: args.conf_dir.clone(),
        kubeconfig: args
            .kubeconfig
            .clone()
            .unwrap_or_else(|| args.conf_dir.join("multus.d/multus.kubeconfig")),
        socket: Some(args.socket.clone()),
        names: NAMES.map(str::to_owned).to_vec(),
    })
}
