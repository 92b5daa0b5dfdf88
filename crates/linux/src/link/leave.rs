//! Deleting a link without waiting for its memory.
//!
//! ```text
//!   RTM_DELLINK   closed, unlisted, addresses and routes away ─▶ told to all ─▶ grace period ─▶ answer
//!                 under the lock, well below a millisecond       gone          10 to 30 ms
//! ```
//!
//! The kernel answers a deletion only when nobody can hold a pointer to the link any more. Its name is
//! free, and no packet passes, long before. So a thread waits for the answer, and who wants the link
//! gone asks whether it is still listed: that question waits for the same lock.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::{LinkIndex, Select};
use crate::error::Result;
use crate::handle::Handle;

/// How long the first look waits, and the later ones.
const LOOK: (Duration, Duration) = (Duration::from_micros(200), Duration::from_millis(2));

/// A link on its way out.
#[must_use = "it is gone only after `gone`"]
pub struct Leaving<'a> {
    net: &'a Handle,
    index: LinkIndex,
    told: Receiver<Result<bool>>,
}

impl Handle {
    /// Begins to delete a link; one end of a pair takes the other with it. `None`: it is not there.
    pub fn start_delete<'a>(&self, link: impl Into<Select<'a>>) -> Result<Option<Leaving<'_>>> {
        let Some(found) = self.link(link)? else { return Ok(None) };
        let (index, namespace) = (found.index, self.namespace().clone());
        let told = self.namespace().start(move || Handle::here(namespace)?.delete_link(index))?;
        Ok(Some(Leaving { net: self, index, told }))
    }
}

impl Leaving<'_> {
    /// Waits until the link is not there any more: its name is free, its addresses and routes are
    /// away, nothing comes through it. Says whether this deleted it.
    pub fn gone(self) -> Result<bool> {
        let mut pause = LOOK.0;
        loop {
            match self.told.recv_timeout(pause) {
                Ok(outcome) => return outcome,
                // The thread broke off; whether it had asked the kernel is not known.
                Err(RecvTimeoutError::Disconnected) => return self.net.delete_link(self.index),
                Err(RecvTimeoutError::Timeout) => {
                    if self.net.link(self.index)?.is_none() {
                        return Ok(true);
                    }
                }
            }
            pause = (pause * 2).min(LOOK.1);
        }
    }
}
