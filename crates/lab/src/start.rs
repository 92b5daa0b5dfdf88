//! The lab as `landbridge up` has it: a child process. All of this blocks.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::info::{InfoError, LabInfo};

/// How often the lab is looked after while it starts.
const LOOK: Duration = Duration::from_millis(5);

/// A lab that was started. It ends when this value is dropped, and when this process is killed.
#[derive(Debug)]
pub struct Started {
    child: Child,
    directory: PathBuf,
}

/// Why the lab does not run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot start the lab")]
    Spawn(#[source] io::Error),
    #[error("the lab ended at once ({0}); its reason is above")]
    Ended(ExitStatus),
    #[error("the lab was not ready after {0:?}")]
    Slow(Duration),
    #[error(transparent)]
    Info(InfoError),
}

/// Starts a lab: the command is this program's own, which calls [`enter`](crate::enter::enter) with a
/// lifeline.
pub fn start(mut command: Command, directory: &Path) -> Result<Started, StartError> {
    // What an earlier one has left would look like an answer.
    match std::fs::remove_file(LabInfo::path(directory)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(StartError::Spawn(error));
        }
        _ => {}
    }
    // Ctrl-C is for `up`, which stops things in order.
    let child =
        command.stdin(Stdio::piped()).process_group(0).spawn().map_err(StartError::Spawn)?;
    Ok(Started { child, directory: directory.to_owned() })
}

impl Started {
    /// Waits until every node is there and every agent was started.
    pub fn wait_ready(&mut self, patience: Duration) -> Result<LabInfo, StartError> {
        let deadline = Instant::now() + patience;
        loop {
            match LabInfo::read(&self.directory) {
                Ok(info) if info.ready => return Ok(info),
                Ok(_) | Err(InfoError::None(_)) => {}
                Err(error) => return Err(StartError::Info(error)),
            }
            if let Some(status) = self.ended().map_err(StartError::Spawn)? {
                return Err(StartError::Ended(status));
            }
            if Instant::now() > deadline {
                return Err(StartError::Slow(patience));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// How it ended, where it did.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// The process that stands for the lab outside.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops it: politely, and after a while by force.
    pub fn stop(&mut self, patience: Duration) -> io::Result<ExitStatus> {
        let pid = Pid::from_raw(self.child.id().cast_signed());
        if let (Some(pid), None) = (pid, self.ended()?) {
            kill_process(pid, Signal::TERM)?;
        }
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            std::thread::sleep(LOOK);
        }
        self.child.kill()?;
        self.child.wait()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.stop(Duration::from_secs(8));
    }
}
