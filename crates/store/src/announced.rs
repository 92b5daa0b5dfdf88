//! Writes that are on their way: who expects one says so, and a commit waits a moment for it.
//!
//! Two writes that come at nearly the same time would else be two commits, one after the other, and the second
//! would take twice as long. A write that nobody announced is committed at once, as is the last announced one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many are on their way or wait for their answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coming(Arc<AtomicUsize>);

impl Coming {
    pub(crate) fn announce(&self) -> Announced {
        self.0.fetch_add(1, Ordering::Relaxed);
        Announced(self.clone())
    }

    /// Whether there are more than those that wait for their answer already.
    pub(crate) fn is_more_than(&self, waiting: usize) -> bool {
        self.0.load(Ordering::Relaxed) > waiting
    }
}

/// A write that is on its way. Dropped when it is answered, or will not come after all.
#[derive(Debug)]
pub struct Announced(Coming);

impl Drop for Announced {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
