//! Processes that can be told from others that later have the same number.

use std::io;

use serde::{Deserialize, Serialize};

/// A process: its number, and when it was started, which together no other one has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    pub pid: u32,
    /// In the kernel's ticks since boot.
    pub started: u64,
}

impl Process {
    /// The calling process as the owner of the mounted `/proc` sees it.
    pub(crate) fn myself() -> io::Result<Self> {
        let link = std::fs::read_link("/proc/self")?;
        let pid = link.to_str().and_then(|text| text.parse().ok());
        Self::find(pid.ok_or_else(|| io::Error::other("/proc/self leads nowhere"))?)
    }

    fn find(pid: u32) -> io::Result<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let started = started(&stat).ok_or_else(|| io::Error::other("it is dead"))?;
        Ok(Self { pid, started })
    }

    /// Whether it is still there.
    pub fn is_alive(self) -> bool {
        Self::find(self.pid).is_ok_and(|found| found == self)
    }
}

/// The 22nd field of `/proc/PID/stat`, unless the process only waits to be buried. The second field
/// is a name in parentheses and may hold anything.
fn started(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_may_be_anything() {
        let stat = "12 (a) b ( c)) S 1 12 12 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2";
        assert_eq!(started(stat), Some(98765));
        assert_eq!(
            started(&stat.replace(") S", ") Z")),
            None,
            "dead, though its number is not free"
        );
        assert_eq!(started("12"), None);
    }

    #[test]
    fn only_the_same_one_is_alive() {
        let me = Process::myself().unwrap();
        assert_eq!(me.pid, std::process::id());
        assert!(me.is_alive());
        assert!(!Process { started: me.started + 1, ..me }.is_alive());
    }
}
