//! Processes, told apart from later ones with the same number.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A process and when it started, in ticks since boot: together they never come again before the
/// machine restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessId {
    pub pid: i32,
    pub started_ticks: u64,
}

/// A handle on a process that is alive. It stays with that process whatever happens to its number.
pub struct Process {
    id: ProcessId,
    handle: OwnedFd,
}

impl ProcessId {
    /// This process; `None` when `/proc` is not there.
    pub fn own() -> Option<Self> {
        let pid = i32::try_from(std::process::id()).ok()?;
        Some(Self { pid, started_ticks: start_of(pid)? })
    }

    /// Whether it is alive.
    pub fn is_alive(self) -> bool {
        start_of(self.pid) == Some(self.started_ticks)
    }

    /// A handle; `None` when it is gone.
    pub fn open(self) -> Option<Process> {
        let handle = pidfd_open(Pid::from_raw(self.pid)?, PidfdFlags::empty()).ok()?;
        // The handle first, then the check: the number cannot change hands in between.
        self.is_alive().then_some(Process { id: self, handle })
    }
}

impl Process {
    /// Sends a signal. A process that has just ended is fine.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        match pidfd_send_signal(&self.handle, signal) {
            Err(rustix::io::Errno::SRCH) => Ok(()),
            other => Ok(other?),
        }
    }

    /// Waits until it has ended; `false` when it did not in time.
    pub fn wait(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        while self.id.is_alive() {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        true
    }
}

/// Field 22 of `/proc/PID/stat`; `None` when there is no such process or it is a zombie.
fn start_of(pid: i32) -> Option<u64> {
    start_in(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn start_in(stat: &str) -> Option<u64> {
    // The name of the program stands in parentheses and may itself contain some.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    // Dead, or only waiting for its parent to notice.
    (!matches!(state, "Z" | "X")).then_some(())?;
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_found_behind_any_name() {
        let tail = "1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 9 9";
        assert_eq!(start_in(&format!("7 (a) b (c) S {tail}")), Some(4242));
        assert_eq!(start_in(&format!("7 (x) Z {tail}")), None, "a zombie is not alive");
        assert_eq!(start_in("rubbish"), None);
    }

    #[test]
    fn another_process_with_the_same_number_is_not_the_same() {
        let own = ProcessId::own();
        assert!(own.is_some_and(ProcessId::is_alive));
        let imposter = own.map(|id| ProcessId { started_ticks: id.started_ticks + 1, ..id });
        assert!(imposter.is_some_and(|id| !id.is_alive() && id.open().is_none()));
    }
}
