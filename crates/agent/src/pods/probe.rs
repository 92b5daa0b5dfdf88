//! Probes: when one is due and what its answers mean. Asking is elsewhere.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// How a container is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    Http {
        host: Option<String>,
        port: u16,
        path: String,
        headers: Vec<(String, String)>,
    },
    Tcp {
        host: Option<String>,
        port: u16,
    },
    /// A program of the image, which is not run: always passed.
    Exec,
    /// It asks for what is not there: always failed.
    Impossible(String),
}

/// How often, and how many answers count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    pub initial_delay: Duration,
    pub period: Duration,
    pub timeout: Duration,
    pub successes: u32,
    pub failures: u32,
}

/// What a probe has found out so far.
#[derive(Clone, Debug)]
pub struct Prober {
    timing: Timing,
    due: Timestamp,
    asking: bool,
    passed: bool,
    /// So many answers in a row were like the last one.
    run: (bool, u32),
}

impl Prober {
    /// Of a container that started at a time. `passed` is what holds before the first answer.
    pub fn new(timing: Timing, started: Timestamp, passed: bool) -> Self {
        let due = later(started, timing.initial_delay);
        Self { timing, due, asking: false, passed, run: (passed, 0) }
    }

    /// When it is to be asked next; nothing while it is.
    pub fn due(&self) -> Option<Timestamp> {
        (!self.asking).then_some(self.due)
    }

    /// It is being asked.
    pub fn asked(&mut self, now: Timestamp) {
        self.asking = true;
        self.due = later(now, self.timing.period);
    }

    /// The answer. Says whether the verdict is now that it failed, newly or still.
    pub fn answered(&mut self, passed: bool) -> bool {
        self.asking = false;
        self.run = if self.run.0 == passed { (passed, self.run.1 + 1) } else { (passed, 1) };
        let enough = if passed { self.timing.successes } else { self.timing.failures };
        if self.run.1 >= enough {
            self.passed = passed;
        }
        !passed && self.run.1 >= enough
    }

    /// The verdict.
    pub fn passed(&self) -> bool {
        self.passed
    }
}

/// A time after another, as late as time goes.
pub fn later(time: Timestamp, by: Duration) -> Timestamp {
    SignedDuration::try_from(by)
        .ok()
        .and_then(|by| time.checked_add(by).ok())
        .unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing = Timing {
        initial_delay: Duration::from_secs(5),
        period: Duration::from_secs(2),
        timeout: Duration::from_secs(1),
        successes: 2,
        failures: 3,
    };

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn it_is_due_after_the_delay_and_then_each_period() {
        let mut probe = Prober::new(TIMING, at(10), false);
        assert_eq!(probe.due(), Some(at(15)));
        probe.asked(at(16));
        assert_eq!(probe.due(), None);
        probe.answered(true);
        assert_eq!(probe.due(), Some(at(18)));
    }

    #[test]
    fn only_enough_answers_in_a_row_change_the_verdict() {
        let verdicts = |answers: &str| {
            let mut probe = Prober::new(TIMING, at(0), false);
            let verdict = |answer| {
                let failed = probe.answered(answer == '+');
                (if probe.passed() { '+' } else { '-' }, failed)
            };
            let (verdicts, failed): (String, Vec<bool>) = answers.chars().map(verdict).unzip();
            (verdicts, failed.iter().filter(|failed| **failed).count())
        };
        assert_eq!(verdicts("+-+-"), ("----".to_owned(), 0));
        assert_eq!(verdicts("++--+---"), ("-++++++-".to_owned(), 1));
        assert_eq!(verdicts("----"), ("----".to_owned(), 2));
    }
}
