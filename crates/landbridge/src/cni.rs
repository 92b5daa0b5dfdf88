//! The CNI plugin: called by a container runtime under a plugin's name, or installed by hand.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use landbridge_attach::install::{InstallOptions, NAMES, install, uninstall};
use landbridge_attach::own::OwnPlugins;
use landbridge_attach::shim::{Places, shim};
use landbridge_attach::{alone, ipams};

use crate::args::{CniArgs, CniCommand};
use crate::progress::say;

/// Where releases wait that could not be made at once; the agent reads them.
pub const RELEASES: &str = "/var/lib/landbridge/releases";
/// Where the agent listens, when nothing else is said.
pub const SOCKET: &str = "/run/landbridge/cni.sock";
/// No configuration is larger.
const INPUT_MAX: u64 = 8 << 20;

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

/// One call. No runtime is started and nothing is read that is not needed: this runs once for every
/// interface of every pod.
pub fn plugin(name: &str) -> ExitCode {
    let env: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(key, _)| key.starts_with("CNI_"))
        .collect();
    let mut stdin = Vec::new();
    // What cannot be read is an empty configuration, and refused as such.
    let _ = std::io::stdin().take(INPUT_MAX).read_to_end(&mut stdin);
    let socket =
        std::env::var_os("LANDBRIDGE_CNI_SOCKET").map_or_else(|| SOCKET.into(), PathBuf::from);
    let releases =
        std::env::var_os("LANDBRIDGE_RELEASES").map_or_else(|| RELEASES.into(), PathBuf::from);
    let places = Places { socket: Some(socket), releases: releases.clone() };
    let output = shim(name, &env, &stdin, &places, &|message| {
        alone::alone(message, &releases, OwnPlugins::with)
    });
    let _ = std::io::stderr().write_all(output.stderr.as_bytes());
    let _ = std::io::stdout().write_all(output.stdout.as_bytes());
    output.code.into()
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
    Ok(InstallOptions {
        binary: std::env::current_exe().context("cannot find this program's own file")?,
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
