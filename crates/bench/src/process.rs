//! CPU time and memory of processes, read from `/proc`.

use std::time::Duration;
use std::{fs, iter};

use anyhow::{Context, Result};
use serde::Serialize;

/// `/proc/PID/stat` counts in ticks of `USER_HZ`, which is 100 on every Linux that reports it there.
const TICK: Duration = Duration::from_millis(10);

/// Memory of one or several processes together, in KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Resident now.
    pub resident_kib: u64,
    /// The most that was ever resident.
    pub peak_kib: u64,
}

/// The processes that make up a server.
#[derive(Clone, Debug, Default)]
pub struct Processes(pub Vec<u32>);

impl Processes {
    /// CPU time used so far by all of them; `None` when none was named.
    pub fn cpu(&self) -> Result<Option<Duration>> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let mut total = Duration::ZERO;
        for pid in &self.0 {
            let stat = read(*pid, "stat")?;
            total +=
                cpu_of(&stat).with_context(|| format!("/proc/{pid}/stat is not as expected"))?;
        }
        Ok(Some(total))
    }

    /// Memory of all of them together; `None` when none was named.
    pub fn memory(&self) -> Result<Option<Memory>> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let mut total = Memory::default();
        for pid in &self.0 {
            let status = read(*pid, "status")?;
            total.resident_kib += kib_of(&status, "VmRSS:");
            total.peak_kib += kib_of(&status, "VmHWM:");
        }
        Ok(Some(total))
    }
}

fn read(pid: u32, file: &str) -> Result<String> {
    let path = format!("/proc/{pid}/{file}");
    fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))
}

/// utime and stime are the 14th and 15th field; the second, the name, may hold blanks and brackets.
fn cpu_of(stat: &str) -> Option<Duration> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11);
    let ticks = iter::from_fn(|| fields.next()).take(2).map(str::parse::<u32>);
    let ticks = ticks.collect::<Result<Vec<_>, _>>().ok()?;
    (ticks.len() == 2).then(|| TICK * ticks.iter().sum::<u32>())
}

fn kib_of(status: &str, key: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_behind_an_awkward_name() {
        let stat = "42 (a ) name) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 1 0 5 6 7";
        assert_eq!(cpu_of(stat), Some(Duration::from_secs(2)));
        assert_eq!(cpu_of("42 (x) S 1"), None);
    }

    #[test]
    fn memory_lines() {
        let status = "Name:\tx\nVmHWM:\t   2048 kB\nVmRSS:\t   1024 kB\n";
        assert_eq!(kib_of(status, "VmRSS:"), 1024);
        assert_eq!(kib_of(status, "VmHWM:"), 2048);
        assert_eq!(kib_of(status, "VmSwap:"), 0);
    }

    #[test]
    fn this_process() {
        let own = Processes(vec![std::process::id()]);
        assert!(own.cpu().expect("readable").is_some());
        assert!(own.memory().expect("readable").expect("named").resident_kib > 0);
        assert_eq!(Processes::default().cpu().expect("nothing to read"), None);
    }
}
