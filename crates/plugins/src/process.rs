//! Programs, run with bounds: so much output, so much time, and nothing of them stays behind.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// What is kept of each output; a result is some kilobytes.
const OUTPUT_MAX: u64 = 4 << 20;
/// How long a program that has ended may keep others writing to its output.
const GRACE: Duration = Duration::from_millis(500);
/// How often a program that is just being written is tried, as the reference library does.
const BUSY_TRIES: u32 = 20;

/// What a program left.
pub(crate) struct Finished {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

/// Why a program has not finished.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unfinished {
    #[error("it could not be started: {0}")]
    Start(#[source] io::Error),
    #[error("it could not be waited for: {0}")]
    Wait(#[source] io::Error),
    #[error("it was stopped because it took longer than {} s{}", .limit.as_secs(), said(.stderr))]
    TooSlow { limit: Duration, stderr: String },
}

fn said(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!("; it said: {stderr}") }
}

/// Runs a program to its end, or to the end of its time; then it is killed with all it started in
/// its process group.
pub(crate) fn run(
    command: &mut Command,
    stdin: &[u8],
    limit: Duration,
) -> Result<Finished, Unfinished> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = start(command)?;
    let deadline = Instant::now() + limit;
    let writer = child.stdin.take().map(|mut pipe| {
        let bytes = stdin.to_vec();
        // A program that does not read its input closes it; that is its choice.
        std::thread::spawn(move || drop(pipe.write_all(&bytes)))
    });
    let stdout = child.stdout.take().map(Reader::start);
    let stderr = child.stderr.take().map(Reader::start);
    let status = wait(&mut child, deadline);
    if matches!(status, Ok(Some(_))) {
        let end = Instant::now() + GRACE;
        let reading = || [&stdout, &stderr].into_iter().flatten().any(|reader| !reader.is_done());
        while reading() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        if reading() {
            kill_group(&child);
        }
    } else {
        kill_group(&child);
        let _ = child.kill();
        let _ = child.wait();
    }
    let text = |reader: Option<Reader>| reader.map(Reader::take).unwrap_or_default();
    let (stdout, stderr) = (text(stdout), text(stderr));
    let stderr = String::from_utf8_lossy(&stderr).trim().to_owned();
    drop(writer);
    match status {
        Ok(Some(status)) => Ok(Finished { status, stdout, stderr }),
        Ok(None) => Err(Unfinished::TooSlow { limit, stderr }),
        Err(error) => Err(Unfinished::Wait(error)),
    }
}

fn start(command: &mut Command) -> Result<Child, Unfinished> {
    let mut tries = 0;
    loop {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                tries += 1;
                if tries == BUSY_TRIES {
                    return Err(Unfinished::Start(error));
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            outcome => return outcome.map_err(Unfinished::Start),
        }
    }
}

/// Nothing when the time is over.
fn wait(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    let mut pause = Duration::from_micros(500);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

fn kill_group(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

/// Reads an output to its end on a thread of its own; what is beyond the bound is thrown away.
struct Reader {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl Reader {
    fn start(mut pipe: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&bytes);
        let thread = std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            loop {
                let count = match pipe.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(count) => count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => return,
                };
                let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() as u64 + count as u64 <= OUTPUT_MAX {
                    kept.extend_from_slice(buffer.get(..count).unwrap_or_default());
                }
            }
        });
        Self { bytes, thread }
    }

    fn is_done(&self) -> bool {
        self.thread.is_finished()
    }

    fn take(self) -> Vec<u8> {
        std::mem::take(&mut self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, limit: Duration) -> Result<Finished, Unfinished> {
        run(Command::new("/bin/sh").arg("-c").arg(script), b"in\n", limit)
    }

    #[test]
    fn output_errors_and_input_are_kept() {
        let done = sh("cat; echo why >&2; exit 3", Duration::from_secs(10)).unwrap();
        assert_eq!((done.stdout.as_slice(), done.stderr.as_str()), (&b"in\n"[..], "why"));
        assert_eq!(done.status.code(), Some(3));
    }

    #[test]
    fn a_slow_program_is_killed_with_its_children() {
        let began = Instant::now();
        let mark = tempfile::tempdir().unwrap();
        let file = mark.path().join("late");
        let script = format!("echo begun >&2; (sleep 2; touch {}) & sleep 30", file.display());
        let Err(Unfinished::TooSlow { stderr, .. }) = sh(&script, Duration::from_millis(300))
        else {
            panic!("it finished")
        };
        assert_eq!(stderr, "begun");
        assert!(began.elapsed() < Duration::from_secs(2));
        std::thread::sleep(Duration::from_millis(2300));
        assert!(!file.exists(), "its child went on");
    }

    #[test]
    fn a_child_that_keeps_the_output_open_does_not_hold_us() {
        let began = Instant::now();
        let done = sh("sleep 30 & echo done", Duration::from_secs(20)).unwrap();
        assert_eq!(done.stdout, b"done\n");
        assert!(began.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn endless_output_is_bounded() {
        let done = sh("head -c 20000000 /dev/zero", Duration::from_secs(20)).unwrap();
        assert!(done.stdout.len() as u64 <= OUTPUT_MAX);
        assert!(done.status.success());
    }
}
