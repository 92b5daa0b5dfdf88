//! Plugins that are programs in the directories of `CNI_PATH`.

use std::path::{Path, PathBuf};
use std::process::Command as Program;
use std::time::Duration;

use landbridge_cni::environment::Command;
use landbridge_cni::{CniError, CniResult, names};

use crate::call::Call;
use crate::failure::{Outcome, internal, refused};
use crate::process::{self, Unfinished};

/// How long a plugin may take; runtimes give a whole sandbox four minutes.
const LIMIT: Duration = Duration::from_mins(2);

/// Why a plugin gave no answer to use.
pub(crate) struct Failed {
    pub error: CniError,
    /// Whether it was stopped in the middle of its work.
    pub stopped: bool,
}

impl From<CniError> for Failed {
    fn from(error: CniError) -> Self {
        Self { error, stopped: false }
    }
}

/// Runs a plugin; ADD answers a result.
pub(crate) fn run(kind: &str, call: &Call) -> Result<Option<CniResult>, Failed> {
    names::plugin(kind).map_err(|error| refused(&error))?;
    let path = find(kind, &call.environment.path)?;
    let mut program = Program::new(&path);
    // The rest of our environment is theirs too: proxies, HOME, the mount of /proc.
    program.envs(call.environment.write());
    let finished = process::run(&mut program, &call.stdin, LIMIT).map_err(|error| Failed {
        stopped: matches!(error, Unfinished::TooSlow { .. }),
        error: internal(format!("plugin {}: {error}", path.display())),
    })?;
    if !finished.status.success() {
        return Err(explain(kind, &finished.stdout, &finished.stderr).into());
    }
    if call.environment.command != Command::Add {
        return Ok(None);
    }
    let (_, result) = CniResult::parse(&finished.stdout).map_err(|error| {
        internal(format!("plugin {} answered what is no result: {error}", path.display()))
    })?;
    Ok(Some(result))
}

/// What a plugin said when it failed, on either output.
fn explain(kind: &str, stdout: &[u8], stderr: &str) -> CniError {
    let mut error = CniError::from_output(kind, stdout);
    if !stderr.is_empty() {
        let gap = if error.details.is_empty() { "" } else { "; " };
        error.details = format!("{}{gap}stderr: {stderr}", error.details);
    }
    error
}

/// The first program of that name.
fn find(kind: &str, path: &[String]) -> Outcome<PathBuf> {
    let candidates = path.iter().map(|directory| Path::new(directory).join(kind));
    candidates.into_iter().find(|file| file.is_file()).ok_or_else(|| {
        internal(format!("failed to find plugin {kind:?} in path [{}]", path.join(" ")))
    })
}
