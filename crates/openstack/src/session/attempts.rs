//! Whether and when to try again.

use std::time::Duration;

use jiff::Timestamp;

use crate::error::Refusal;
use crate::{Error, Reaction, Repeat};

/// So often altogether.
const TRIES: u32 = 5;
/// No further try begins later than this after the first.
const BUDGET: Duration = Duration::from_mins(1);
/// Before the second try; twice as long before each further one.
const FIRST: Duration = Duration::from_millis(250);
/// Never longer.
const LONGEST: Duration = Duration::from_secs(8);

/// The tries of one call.
#[derive(Clone, Debug)]
pub struct Attempts {
    began: Timestamp,
    made: u32,
}

impl Attempts {
    /// The first begins.
    pub fn new(now: Timestamp) -> Self {
        Self { began: now, made: 0 }
    }

    /// How long to wait before the next try; `None` when there is none. `chance` spreads those who
    /// failed together.
    pub fn next(
        &mut self,
        error: &Error,
        repeat: Repeat,
        now: Timestamp,
        chance: u64,
    ) -> Option<Duration> {
        self.made += 1;
        if self.made >= TRIES || !helps(error, repeat) {
            return None;
        }
        let longest = FIRST.saturating_mul(1 << (self.made - 1).min(16)).min(LONGEST);
        // Between half and all of it.
        let part = u32::try_from(chance % 1024).unwrap_or(0);
        let spread = longest / 2 + longest * part / 2048;
        let asked = error.refusal().and_then(|refusal: &Refusal| refusal.retry_after);
        // Whoever asks for more time than we have gets it: by not being asked again.
        let wait = asked.map_or(spread, |asked| asked.max(spread));
        let spent: Duration = now.duration_since(self.began).try_into().unwrap_or_default();
        (spent + wait <= BUDGET).then_some(wait)
    }
}

/// Whether another try may help, and does no harm.
fn helps(error: &Error, repeat: Repeat) -> bool {
    match error {
        // Nothing was sent.
        Error::Unreachable { .. } => true,
        Error::Lost { .. } => repeat == Repeat::Safe,
        Error::Refused(refusal) => match refusal.status.as_u16() {
            // Turned away at the door.
            408 | 413 | 429 | 503 => true,
            500 | 502 | 504 => repeat == Repeat::Safe,
            _ => false,
        },
        // Logging in twice does no harm, and the call itself was not made.
        Error::Login { why, .. } => why.reaction() == Reaction::Retry,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::{Method, StatusCode};
    use proptest::prelude::*;

    use super::*;
    use crate::error::Asked;

    fn asked() -> Asked {
        Asked { method: Method::POST, url: "http://x".to_owned() }
    }

    fn refused(status: u16, retry_after: Option<u64>) -> Error {
        Error::Refused(Box::new(Refusal {
            asked: asked(),
            status: StatusCode::from_u16(status).unwrap(),
            kind: String::new(),
            message: String::new(),
            detail: String::new(),
            request_id: None,
            retry_after: retry_after.map(Duration::from_secs),
        }))
    }

    fn tries(error: &Error, repeat: Repeat) -> Vec<Duration> {
        let mut now = Timestamp::UNIX_EPOCH;
        let mut attempts = Attempts::new(now);
        let mut waits = Vec::new();
        while let Some(wait) = attempts.next(error, repeat, now, 1023) {
            waits.push(wait);
            now += wait;
        }
        waits
    }

    #[test]
    fn only_what_is_safe_or_was_not_begun_is_repeated() {
        let unreachable = Error::Unreachable { asked: asked(), why: String::new() };
        let lost = Error::Lost { asked: asked(), why: String::new() };
        let login = |why: Error| Error::Login { cloud: "x".to_owned(), why: Arc::new(why) };
        for (error, safe, once) in [
            (unreachable.clone(), true, true),
            (lost.clone(), true, false),
            (refused(503, None), true, true),
            (refused(429, None), true, true),
            (refused(500, None), true, false),
            (refused(502, None), true, false),
            (refused(504, None), true, false),
            (refused(400, None), false, false),
            (refused(401, None), false, false),
            (refused(403, None), false, false),
            (refused(404, None), false, false),
            (refused(409, None), false, false),
            (refused(412, None), false, false),
            (login(unreachable), true, true),
            (login(lost), true, true),
            (login(refused(500, None)), true, true),
            (login(refused(401, None)), false, false),
            (Error::Settings(String::new()), false, false),
        ] {
            assert_eq!(!tries(&error, Repeat::Safe).is_empty(), safe, "{error:?}");
            assert_eq!(!tries(&error, Repeat::Once).is_empty(), once, "{error:?}");
        }
    }

    #[test]
    fn waits_grow_and_end() {
        let waits = tries(&refused(503, None), Repeat::Safe);
        let millis: Vec<u128> = waits.iter().map(Duration::as_millis).collect();
        assert_eq!(millis, [249, 499, 999, 1999]);
    }

    #[test]
    fn a_service_that_asks_for_time_gets_it() {
        let waits = tries(&refused(503, Some(20)), Repeat::Safe);
        assert_eq!(waits, [Duration::from_secs(20); 3]);
        assert!(tries(&refused(429, Some(3600)), Repeat::Safe).is_empty());
    }

    proptest! {
        #[test]
        fn tries_are_few_and_short(chances in prop::collection::vec(any::<u64>(), 8), after in prop::option::of(0..100u64)) {
            let start = Timestamp::UNIX_EPOCH;
            let mut now = start;
            let mut attempts = Attempts::new(now);
            let mut made = 1;
            for chance in chances {
                let Some(wait) = attempts.next(&refused(503, after), Repeat::Safe, now, chance) else { break };
                prop_assert!(wait >= Duration::from_millis(125));
                now += wait;
                made += 1;
            }
            prop_assert!(made <= TRIES);
            prop_assert!(now.duration_since(start).unsigned_abs() <= BUDGET);
        }
    }
}
