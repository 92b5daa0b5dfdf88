//! How much the server takes on at once. Beyond it clients hear 429 and when to come back, instead
//! of everybody waiting for everybody.

use std::sync::Arc;

use landbridge_machinery::status::{ApiError, ApiResult};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bounds, all per server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Requests being worked on at a time, watches aside (upstream's two limits together).
    pub requests: usize,
    /// Open watches, and other streams without an end: logs, exec.
    pub watches: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { requests: 600, watches: 20_000 }
    }
}

/// Room for requests and watches.
pub struct Gates {
    requests: Arc<Semaphore>,
    watches: Arc<Semaphore>,
}

/// A place taken; free again when dropped.
pub struct Place {
    _permit: OwnedSemaphorePermit,
}

impl Gates {
    /// As much room as the limits say.
    pub fn new(limits: Limits) -> Self {
        Self {
            requests: Arc::new(Semaphore::new(limits.requests)),
            watches: Arc::new(Semaphore::new(limits.watches)),
        }
    }

    /// Room for one request, or 429.
    pub fn request(&self) -> ApiResult<Place> {
        take(&self.requests, "too many requests, please try again later")
    }

    /// Room for one watch, or 429.
    pub fn watch(&self) -> ApiResult<Place> {
        take(&self.watches, "too many open watches and streams, please try again later")
    }
}

fn take(gate: &Arc<Semaphore>, words: &str) -> ApiResult<Place> {
    match Arc::clone(gate).try_acquire_owned() {
        Ok(permit) => Ok(Place { _permit: permit }),
        Err(_) => Err(ApiError::too_many_requests(words, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_house_says_when_to_come_back() {
        let gates = Gates::new(Limits { requests: 1, watches: 1 });
        let first = gates.request().map_err(|e| e.code);
        assert!(first.is_ok());
        let refused = gates.request().err().expect("full");
        assert_eq!((refused.code, refused.reason), (429, "TooManyRequests"));
        assert_eq!(refused.retry_after_seconds(), Some(1));
        assert!(gates.watch().is_ok(), "watches have their own room");
        drop(first);
        assert!(gates.request().is_ok());
    }
}
