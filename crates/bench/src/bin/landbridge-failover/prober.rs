//! A prober on the client: what it says, and what that tells of a round.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::Kind;
use crate::faults::Lab;
use crate::objects::{self, INTERFACE};
use crate::probe::clock;

/// Where it runs: a compute node.
pub const CLIENT: &str = "edpm-compute-0";
/// So many good answers in a row.
const GOOD: usize = 20;
/// For an address to answer steadily between rounds.
pub const PATIENCE: Duration = Duration::from_mins(1);
/// Answers are steady when there was one to every probe of this long.
const STEADY: Duration = Duration::from_secs(1);

/// One probe.
#[derive(Clone, Debug)]
pub struct Answer {
    at: u64,
    /// Who answered.
    pub by: Vec<String>,
}

/// The prober on the client.
pub struct Prober {
    limit: Duration,
    process: Child,
    answers: Receiver<Answer>,
}

impl Prober {
    pub fn start(lab: &Lab, kind: Kind, limit: Duration) -> Result<Self> {
        let address = objects::address(1);
        let own = std::env::current_exe()?;
        let mut process = lab
            .exec_command(CLIENT, &own)
            .args(["probe", "--interface", INTERFACE, "--address", &address.to_string()])
            .args(["--kind", if kind == Kind::Arp { "arp" } else { "http" }])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the prober")?;
        let out = process.stdout.take().context("the prober has no output")?;
        let (tell, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let Some((at, by)) = line.split_once(' ') else { continue };
                let Ok(at) = at.parse() else { continue };
                let by = by.split(',').filter(|one| !one.is_empty()).map(str::to_owned).collect();
                if tell.send(Answer { at, by }).is_err() {
                    return;
                }
            }
        });
        Ok(Self { limit, process, answers })
    }

    fn next(&self) -> Result<Answer> {
        let next = self.answers.recv_timeout(Duration::from_secs(10));
        next.context("the prober says nothing any more")
    }

    /// Waits for the same single answer for a while; says whose.
    pub fn steady(&self) -> Result<String> {
        let deadline = Instant::now() + PATIENCE;
        let mut since: Option<(String, u64)> = None;
        while Instant::now() < deadline {
            let answer = self.next()?;
            let alone = <&[String; 1]>::try_from(answer.by.as_slice())
                .ok()
                .map(|[one]| one.split('/').next().unwrap_or_default().to_owned());
            since = match (alone, since) {
                (None, _) => None,
                (Some(one), Some((same, at))) if same == one => {
                    if answer.at - at >= u64::try_from(STEADY.as_nanos())? {
                        return Ok(one);
                    }
                    Some((same, at))
                }
                (Some(one), _) => Some((one, answer.at)),
            };
        }
        bail!("no steady answer within {PATIENCE:?}")
    }

    /// The time from a moment to the twentieth good answer in a row to what was asked when the fault was there.
    pub fn recovered(&self, since: u64, there: u64) -> Result<Duration> {
        let mut good = 0;
        let mut course = Course::default();
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let answer = self.next()?;
            if answer.at <= there {
                continue;
            }
            let after = Duration::from_nanos(answer.at - since);
            course.note(after, &answer);
            good = if answer.by.is_empty() { 0 } else { good + 1 };
            if good == GOOD {
                ensure!(
                    after < self.limit,
                    "{GOOD} good answers only after {} ms: {course}",
                    after.as_millis()
                );
                return Ok(after);
            }
        }
        bail!("no {GOOD} good answers within {PATIENCE:?}")
    }

    /// Waits until nothing has been unanswered for a while.
    pub fn answered(&self) -> Result<()> {
        let wanted = usize::try_from(STEADY.as_millis() / 10)? / 2;
        let (mut good, deadline) = (0, Instant::now() + PATIENCE);
        while good < wanted {
            ensure!(Instant::now() < deadline, "no steady answers within {PATIENCE:?}");
            good = if self.next()?.by.is_empty() { 0 } else { good + 1 };
        }
        Ok(())
    }

    /// Forgets what was answered before now.
    pub fn drain(&self) {
        while self.answers.try_recv().is_ok() {}
    }

    /// Whether two answer at once within a time.
    pub fn two_answer(&self, how_long: Duration) -> Result<Option<Answer>> {
        self.drain();
        let until = clock() + u64::try_from(how_long.as_nanos())?;
        loop {
            let answer = self.next()?;
            if answer.by.len() > 1 {
                return Ok(Some(answer));
            }
            if answer.at > until {
                return Ok(None);
            }
        }
    }
}

impl Drop for Prober {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Who answered from when on, for the person who wants to know why it took so long.
#[derive(Default)]
struct Course(Vec<(Duration, String)>);

impl Course {
    fn note(&mut self, after: Duration, answer: &Answer) {
        let by = if answer.by.is_empty() { "nobody".to_owned() } else { answer.by.join("+") };
        if self.0.last().is_none_or(|(_, last)| *last != by) {
            self.0.push((after, by));
        }
    }
}

impl std::fmt::Display for Course {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Pods answer in turn; what matters is when nobody did.
        let mut silent = None;
        for (after, by) in &self.0 {
            match (by == "nobody", silent) {
                (true, None) => silent = Some(after),
                (false, Some(from)) => {
                    write!(
                        f,
                        "silence {}-{} ms, then {by}; ",
                        from.as_millis(),
                        after.as_millis()
                    )?;
                    silent = None;
                }
                _ => {}
            }
        }
        Ok(())
    }
}
