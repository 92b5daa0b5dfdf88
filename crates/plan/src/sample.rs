//! Random plans that fit, and mistakes to make in them.
//!
//! For tests of this crate and of whatever prints its findings, and for benchmarks. The same
//! number always gives the same plan and the same mistake.

mod fitting;
mod mistakes;

use serde_json::Value;

pub use self::fitting::{Scale, consistent, consistent_of};
pub use self::mistakes::{Expected, KINDS, make, mutate};

/// Numbers that look random (SplitMix64).
pub struct Dice(u64);

impl Dice {
    /// The same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high.saturating_sub(low) + 1)
    }

    /// Yes in so many of a hundred cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.between(1, 100) <= percent
    }

    /// One of them.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        let last = of.len().checked_sub(1)?;
        of.get(usize::try_from(self.between(0, last as u64)).ok()?)
    }
}

/// `Kind/namespace/name` of an object.
pub fn label(object: &Value) -> String {
    let part = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    format!(
        "{}/{}/{}",
        part(&object["kind"]),
        part(&metadata["namespace"]),
        part(&metadata["name"])
    )
}
