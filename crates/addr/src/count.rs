//! How many addresses.
//!
//! All of IPv6 is 2^128 addresses, one more than `u128` says, and a set may hold all of IPv4
//! besides. Sums kept in `u128` would have to saturate, and what has saturated cannot be counted
//! down again. So sums are kept one word wider and saturate only when they are read.

use std::ops::{AddAssign, SubAssign};

/// A number of addresses, exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Count {
    /// How often 2^128.
    high: u64,
    low: u128,
}

impl Count {
    pub(crate) const ONE: Self = Self { high: 0, low: 1 };

    /// How many numbers there are from `first` to `last`, both included, `first` being no larger.
    pub(crate) fn span(first: u128, last: u128) -> Self {
        let mut count = Self::from(last.wrapping_sub(first));
        count += Self::ONE;
        count
    }

    /// The count, or `u128::MAX` when it is larger.
    pub(crate) fn saturated(self) -> u128 {
        if self.high == 0 { self.low } else { u128::MAX }
    }
}

impl From<u128> for Count {
    fn from(low: u128) -> Self {
        Self { high: 0, low }
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        let (low, carry) = self.low.overflowing_add(other.low);
        self.low = low;
        self.high = self.high.wrapping_add(other.high).wrapping_add(carry.into());
    }
}

impl SubAssign for Count {
    fn sub_assign(&mut self, other: Self) {
        let (low, borrow) = self.low.overflowing_sub(other.low);
        self.low = low;
        self.high = self.high.wrapping_sub(other.high).wrapping_sub(borrow.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_up_past_everything_and_down_again_is_exact() {
        let mut count = Count::span(0, u128::MAX);
        assert_eq!(count.saturated(), u128::MAX);
        count += Count::span(0, u128::from(u32::MAX));
        assert_eq!(count.saturated(), u128::MAX);
        count -= Count::span(1, u128::MAX);
        assert_eq!(count.saturated(), (1 << 32) + 1);
        count -= Count::from((1 << 32) + 1);
        assert_eq!(count, Count::default());
    }
}
