//! Clients for writes that a thread waits for.
//!
//! A client that belongs to the process is run by threads of its runtime: a call wakes one of them, and the answer
//! wakes one of them and then the caller. Each of these clients has a runtime of its own that runs on the thread that
//! calls, while it calls, so nobody is woken but by the answer.

use std::sync::{Mutex, PoisonError};

use kube::Client;
use tokio::runtime::{Builder, Runtime};

/// So many are kept for the next call.
const IDLE_MAX: usize = 4;

/// How one more client for the same API is made.
pub type MakeClient = Box<dyn Fn() -> Result<Client, kube::Error> + Send + Sync>;

/// A stock of them.
pub(super) struct Near {
    make: MakeClient,
    idle: Mutex<Vec<Seat>>,
}

struct Seat {
    runtime: Runtime,
    client: Client,
}

impl Near {
    pub(super) fn new(make: MakeClient) -> Self {
        Self { make, idle: Mutex::default() }
    }

    /// Runs it on this thread, which must be one that may block. `Err` hands it back: no client could be made.
    pub(super) fn run<T, W, F>(&self, work: W) -> Result<T, W>
    where
        W: FnOnce(Client) -> F,
        F: Future<Output = T>,
    {
        let known = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some(seat) = known.or_else(|| self.seat()) else { return Err(work) };
        let done = seat.runtime.block_on(async {
            // A connection that was closed while nobody looked is noticed now, not after the question was sent.
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            work(seat.client.clone()).await
        });
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push(seat);
        } else {
            drop(idle);
            seat.runtime.shutdown_background();
        }
        Ok(done)
    }

    fn seat(&self) -> Option<Seat> {
        let told = |error: &dyn std::error::Error| {
            tracing::debug!(%error, "no client that runs on the calling thread");
        };
        let runtime =
            Builder::new_current_thread().enable_all().build().inspect_err(|e| told(e)).ok()?;
        let client = {
            let _inside = runtime.enter();
            (self.make)().inspect_err(|e| told(e))
        };
        Some(Seat { client: client.ok()?, runtime })
    }
}

impl Drop for Near {
    fn drop(&mut self) {
        // Not in the usual way: that waits, and whoever drops this may be a task.
        let idle = self.idle.get_mut().unwrap_or_else(PoisonError::into_inner);
        for seat in idle.drain(..) {
            seat.runtime.shutdown_background();
        }
    }
}
