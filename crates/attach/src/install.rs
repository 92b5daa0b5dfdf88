//! The CNI entry of a node: the configuration file that puts Multus first, and the binary under the
//! names of its plugins. Everything can be done again, and taken back.
//!
//! ```text
//!   BIN/.landbridge/landbridge      one copy of the binary
//!   BIN/.landbridge/landbridge-shim  one copy of the thin one, where there is one
//!   BIN/{multus,macvlan,…}          hard links to the thin one, or else to the binary
//!   BIN/.landbridge/saved/macvlan   what was there before under that name
//!   CONF/00-multus.conf             Multus with the first configuration found as its delegate
//! ```
//!
//! Nothing is ever written in place: a runtime may be running the old binary (which would refuse
//! with "text file busy") or reading the old file at that instant.

mod files;
mod render;

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

pub use self::render::{Entry, render};

/// The plugins the binary answers for.
pub const NAMES: [&str; 7] =
    ["multus", "macvlan", "bridge", "host-device", "static", "tuning", "whereabouts"];
/// The file that comes first in the directory of configurations.
pub const CONF: &str = "00-multus.conf";
const OWN: &str = ".landbridge";

/// What to install, and where.
#[derive(Clone, Debug)]
pub struct InstallOptions {
    /// The binary.
    pub binary: PathBuf,
    /// The program that only asks the daemon, to be called instead of the binary.
    pub thin: Option<PathBuf>,
    /// Where plugins are.
    pub bin_dir: PathBuf,
    /// Where configurations are.
    pub conf_dir: PathBuf,
    /// How Multus reaches the cluster when the daemon is away.
    pub kubeconfig: PathBuf,
    /// Where the daemon listens.
    pub socket: Option<PathBuf>,
    /// The names to install; [`NAMES`] as a rule.
    pub names: Vec<String>,
}

/// What was done; empty when everything was as it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// One line for each step.
    pub steps: Vec<String>,
}

/// Why the entry is not there, or not gone.
#[derive(Debug, Error)]
pub enum InstallError {
    /// A file could not be read, written or renamed.
    #[error("{what} {path}: {source}")]
    File {
        /// What was being done.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The cluster's own network is not there yet.
    #[error(
        "{0} holds no CNI configuration yet: Multus needs the cluster's own network; install that \
         first, or wait until it is ready"
    )]
    NoPrimary(PathBuf),
    /// The cluster's own network cannot be read.
    #[error("{path} cannot be the cluster's network: {why}")]
    BadPrimary {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

/// Installs the entry, or brings it up to date. The configuration comes last: Multus is first only
/// once its plugins are there.
pub fn install(options: &InstallOptions) -> Result<Report, InstallError> {
    let mut report = Report::default();
    let primary = primary(&options.conf_dir)?;
    let own = options.bin_dir.join(OWN);
    files::make_directory(&own)?;
    let binary = own.join("landbridge");
    if files::copy(&options.binary, &binary)? {
        report.steps.push(format!("copied {} to {}", options.binary.display(), binary.display()));
    }
    let mut called = binary;
    if let Some(thin) = &options.thin {
        called = own.join("landbridge-shim");
        if files::copy(thin, &called)? {
            report.steps.push(format!("copied {} to {}", thin.display(), called.display()));
        }
    }
    for name in &options.names {
        let path = options.bin_dir.join(name);
        let saved = own.join("saved").join(name);
        if let Some(step) = files::link(&called, &path, &saved)? {
            report.steps.push(step);
        }
    }
    let (path, text) = primary;
    let entry = Entry { kubeconfig: &options.kubeconfig, socket: options.socket.as_deref() };
    let rendered = render(&text, &entry)
        .map_err(|why| InstallError::BadPrimary { path: path.clone(), why })?;
    let conf = options.conf_dir.join(CONF);
    if files::replace(&conf, rendered.as_bytes(), 0o600)? {
        report.steps.push(format!("wrote {} over {}", conf.display(), path.display()));
    }
    Ok(report)
}

/// Takes the entry back: the configuration first, so that nobody calls what is about to go.
pub fn uninstall(bin_dir: &Path, conf_dir: &Path) -> Result<Report, InstallError> {
    let mut report = Report::default();
    let conf = conf_dir.join(CONF);
    let ours = files::read(&conf)?.is_some_and(|text| render::is_ours(&text));
    if ours && files::remove(&conf)? {
        report.steps.push(format!("removed {}", conf.display()));
    }
    let own = bin_dir.join(OWN);
    let binary = own.join("landbridge");
    for path in files::links_to(&binary, bin_dir)? {
        let Some(name) = path.file_name() else { continue };
        let saved = own.join("saved").join(name);
        report.steps.push(files::unlink(&path, &saved)?);
    }
    if files::remove_tree(&own)? {
        report.steps.push(format!("removed {}", own.display()));
    }
    Ok(report)
}

/// The first configuration that is not ours: the cluster's own network.
fn primary(conf_dir: &Path) -> Result<(PathBuf, Vec<u8>), InstallError> {
    let found = crate::delegates::files(conf_dir).map_err(|why| InstallError::BadPrimary {
        path: conf_dir.to_owned(),
        why: why.to_string(),
    })?;
    for path in found {
        let Some(text) = files::read(&path)? else { continue };
        if !render::is_ours(&text) && !render::is_multus(&text) {
            return Ok((path, text));
        }
    }
    Err(InstallError::NoPrimary(conf_dir.to_owned()))
}
