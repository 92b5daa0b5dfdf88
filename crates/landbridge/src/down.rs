//! `landbridge down`

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use rustix::process::Signal;

use crate::args::DownArgs;
use crate::progress::{Progress, say};
use crate::state::{RunInfo, Server, StateDir};
use crate::up;

/// How long the server may take to end by itself.
const PATIENCE: Duration = Duration::from_secs(10);

/// Stops the server of a directory, and removes the directory when asked.
pub fn run(args: &DownArgs) -> anyhow::Result<ExitCode> {
    let state = StateDir::new(&args.dir.dir);
    let shown = state.path().display();
    if args.purge {
        refuse_foreign(&state)?;
    }
    let mut progress = Progress::stdout();
    match state.server()? {
        Server::Running(info) => stop(&state, &info, &mut progress)?,
        Server::Crashed(info) => {
            state.forget()?;
            progress.note(format!(
                "not running: pid {} ended without being stopped. Nothing that was acknowledged is lost",
                info.pid
            ));
        }
        Server::Stopped => say(&format!("not running: no server in {shown}")),
    }
    if args.purge && state.path().exists() {
        purge(&state, &mut progress)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn stop(state: &StateDir, info: &RunInfo, progress: &mut Progress) -> anyhow::Result<()> {
    let Some(process) = info.process().open() else {
        return state.forget(); // it ended this very moment
    };
    let failed = || format!("cannot stop pid {}: is it another user's?", info.pid);
    process.signal(Signal::TERM).with_context(failed)?;
    if !process.wait(PATIENCE) {
        progress.note(format!(
            "pid {} did not end within {} s; killing it. Nothing that was acknowledged is lost",
            info.pid,
            PATIENCE.as_secs()
        ));
        process.signal(Signal::KILL).with_context(failed)?;
        if !process.wait(PATIENCE) {
            bail!("pid {} cannot be killed; is it waiting for a disk?", info.pid);
        }
    }
    state.forget()?;
    progress.step("stopped", format!("pid {}, {}", info.pid, info.url));
    Ok(())
}

/// Before anything happens: a typo in `--dir` must not cost anyone their files.
fn refuse_foreign(state: &StateDir) -> anyhow::Result<()> {
    let shown = state.path().display();
    if state.path().exists() && !state.is_ours() {
        bail!(
            "{shown} is not a landbridge state directory (it has no file `format` of ours); nothing was removed"
        );
    }
    Ok(())
}

fn purge(state: &StateDir, progress: &mut Progress) -> anyhow::Result<()> {
    let Some(_lock) = state.lock()? else { return Err(up::already_up(state)) };
    let left = state.purge()?;
    let shown = state.path().display().to_string();
    progress.step("removed", shown.clone());
    if !left.is_empty() {
        progress.note(format!(
            "{shown} itself is still there, with files that are not ours: {}",
            left.join(", ")
        ));
    }
    Ok(())
}
