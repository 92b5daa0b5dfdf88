//! What the evaluation of one object's rules may cost.

use std::sync::atomic::{AtomicU64, Ordering};

use kube_cel::cel::common::types::{CelBytes, CelList, CelMap, CelString};
use kube_cel::cel::common::value::Val;

use crate::harden::WHOLE;

/// Units for one object: about two seconds at worst, microseconds as a rule.
const TOTAL: u64 = 20_000_000;
/// The longest text an expression may put together.
pub const MAX_TEXT: usize = 1 << 20;
/// Bytes that cost as much as one turn of a loop when they are copied.
const BYTES_PER_UNIT: usize = 16;

/// Counts down.
pub struct Budget {
    left: AtomicU64,
    /// What one operation on the whole of `self` costs inside a loop.
    bulk: AtomicU64,
}

impl Budget {
    /// A full one.
    pub fn new() -> Self {
        Self { left: AtomicU64::new(TOTAL), bulk: AtomicU64::new(0) }
    }

    /// Says how large the values are that the next rules see.
    pub fn set_size(&self, bytes: usize) {
        self.bulk.store((bytes / 1024) as u64, Ordering::Relaxed);
    }

    /// Pays; says whether there was enough.
    pub fn pay(&self, units: u64) -> bool {
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(units), Ordering::Relaxed);
        left > units
    }

    /// Pays for one turn of a loop with operations of this weight that may look at a whole value.
    pub fn pay_turn(&self, weight: u64) -> bool {
        let bulk = self.bulk.load(Ordering::Relaxed);
        self.pay(1 + weight.saturating_mul(bulk) / WHOLE.unsigned_abs())
    }

    /// Pays for a copy of a value.
    pub fn pay_copy(&self, value: &dyn Val) -> bool {
        self.pay((measure(value) / BYTES_PER_UNIT) as u64)
    }

    /// Nothing is left.
    pub fn is_spent(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }
}

/// About how many bytes a value takes.
fn measure(value: &dyn Val) -> usize {
    const EACH: usize = 16;
    if let Some(list) = value.downcast_ref::<CelList>() {
        list.inner().iter().map(|v| measure(v.as_ref())).sum::<usize>() + EACH
    } else if let Some(map) = value.downcast_ref::<CelMap>() {
        map.inner().values().map(|v| measure(v.as_ref()) + EACH).sum::<usize>() + EACH
    } else if let Some(text) = value.downcast_ref::<CelString>() {
        text.inner().len() + EACH
    } else if let Some(bytes) = value.downcast_ref::<CelBytes>() {
        bytes.inner().len() + EACH
    } else {
        EACH
    }
}
