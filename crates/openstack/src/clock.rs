//! Time and chance as arguments, so that tests need neither.

use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;

/// What the logic needs besides answers.
pub trait Clock: Send + Sync {
    /// What time it is.
    fn now(&self) -> Timestamp;

    /// Waits.
    fn sleep(&self, wait: Duration) -> BoxFuture<'_, ()>;

    /// A number that nobody can foresee, for spreading.
    fn chance(&self) -> u64;
}

/// The machine's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine;

impl Clock for Machine {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(wait))
    }

    fn chance(&self) -> u64 {
        let mut bytes = [0; 8];
        // Without chance nothing is spread, which is no reason to stop.
        let _ = getrandom::fill(&mut bytes);
        u64::from_ne_bytes(bytes)
    }
}
