//! `landbridge-shim`: the CNI plugin by itself.
//!
//! It is started for every interface of every pod, and does nothing but ask the agent; the whole program
//! would do the same, but takes three times as long to be loaded. Where no agent answers, the whole program
//! is started: `landbridge` beside this one, or in `.landbridge` beside it, where `landbridge cni install`
//! puts it.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use landbridge_attach::message::Message;
use landbridge_attach::shim;
use landbridge_cni::error::{CniError, Code};

fn main() -> ExitCode {
    let called = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&called).file_name().unwrap_or_default().to_string_lossy().into_owned();
    shim::process(&name, &|message, _| whole_program(&name, message))
}

/// Does the call with the whole program.
fn whole_program(name: &str, message: &Message) -> Result<String, CniError> {
    let failed = |what: String| CniError::new(Code::TRY_AGAIN, what);
    let program = find().ok_or_else(|| {
        failed("no agent answers, and the program landbridge is not beside its plugins".to_owned())
    })?;
    let stdin = message.request()?.config;
    let start = || -> std::io::Result<std::process::Output> {
        let mut child = Command::new(&program)
            .arg0(name)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()?;
        if let Some(mut pipe) = child.stdin.take() {
            pipe.write_all(&stdin)?;
        }
        child.wait_with_output()
    };
    let output = start().map_err(|error| failed(format!("{}: {error}", program.display())))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(CniError::from_output(name, &output.stdout))
}

fn find() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let directory = own.parent()?;
    let places = [directory.join(".landbridge/landbridge"), directory.join("landbridge")];
    places.into_iter().find(|place| place.is_file())
}
