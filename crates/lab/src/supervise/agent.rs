//! One agent's life as a state machine; time is an argument.

use std::time::{Duration, Instant};

use crate::info::AgentInfo;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Who ran this long starts again as if for the first time: what cannot run ends sooner.
const STEADY: Duration = Duration::from_secs(3);

/// An agent that is to run for ever.
#[derive(Clone, Debug)]
pub(super) struct Agent {
    state: State,
    pause: Duration,
    starts: u64,
    last_exit: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running { pid: u32, since: Instant },
    Waiting { until: Instant },
}

impl Agent {
    /// One that is to be started at once.
    pub fn new(now: Instant) -> Self {
        let state = State::Waiting { until: now };
        Self { state, pause: FIRST_PAUSE, starts: 0, last_exit: None }
    }

    pub fn pid(&self) -> Option<u32> {
        match self.state {
            State::Running { pid, .. } => Some(pid),
            State::Waiting { .. } => None,
        }
    }

    /// When it is to be started; nothing while it runs.
    pub fn due(&self) -> Option<Instant> {
        match self.state {
            State::Running { .. } => None,
            State::Waiting { until } => Some(until),
        }
    }

    pub fn started(&mut self, pid: u32, now: Instant) {
        self.state = State::Running { pid, since: now };
        self.starts += 1;
    }

    /// It ended, or could not be started. Says how long it now waits.
    pub fn ended(&mut self, how: String, now: Instant) -> Duration {
        let steady = matches!(self.state, State::Running { since, .. } if now.duration_since(since) >= STEADY);
        let pause = if steady { FIRST_PAUSE } else { self.pause };
        self.state = State::Waiting { until: now + pause };
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        self.last_exit = Some(how);
        pause
    }

    /// Its machine was rebooted: it starts at once, and what was before does not count.
    pub fn rebooted(&mut self, now: Instant) {
        self.state = State::Waiting { until: now };
        self.pause = FIRST_PAUSE;
        self.last_exit = Some("the node was rebooted".to_owned());
    }

    pub fn info(&self) -> AgentInfo {
        AgentInfo {
            pid: self.pid(),
            restarts: self.starts.saturating_sub(1),
            last_exit: self.last_exit.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_started_again_ever_more_slowly() {
        let start = Instant::now();
        let mut now = start;
        let mut agent = Agent::new(now);
        assert_eq!(agent.due(), Some(now));
        let mut pauses = Vec::new();
        for pid in 10..17 {
            agent.started(pid, now);
            assert_eq!((agent.pid(), agent.due()), (Some(pid), None));
            now += Duration::from_millis(10);
            let pause = agent.ended("exit status: 1".into(), now);
            assert_eq!(agent.due(), Some(now + pause));
            now += pause;
            pauses.push(pause.as_secs());
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(agent.info().restarts, 6);
        // One that ran for a while is forgiven.
        agent.started(20, now);
        now += STEADY;
        assert_eq!(agent.ended("signal: 9".into(), now), Duration::from_secs(1));
        assert_eq!(agent.info().last_exit.as_deref(), Some("signal: 9"));
        // One that cannot even be started waits, too.
        assert_eq!(agent.ended("not found".into(), now), Duration::from_secs(2));
        agent.rebooted(now);
        assert_eq!(agent.due(), Some(now));
        agent.started(21, now);
        assert_eq!(agent.ended("exit status: 1".into(), now), Duration::from_secs(1));
    }
}
