//! Addresses as numbers: prefixes, ranges, pools and what is free in them.
//!
//! Nothing here knows Kubernetes, does IO or looks at a clock.
//!
//! | module | idea |
//! |---|---|
//! | [`net`] | prefixes, ranges and VLAN numbers, checked when they are made |
//! | [`number`] | an address is a family and a number; its neighbours |
//! | [`set`] | a set of addresses, kept as the ranges it consists of |
//! | [`skip`] | addresses that lie in a range and are never handed out |
//! | [`pool`] | what one source hands out, and what is left of it |
//! | [`collision`] | which of many ranges share addresses, and which addresses |
//! | [`index`] | which of many ranges hold an address |
//!
//! Counts of addresses are `u128`. All of IPv6 is one address more than that can say, so a count
//! that large reads as [`u128::MAX`]; every smaller one is exact.

pub mod collision;
mod count;
pub mod index;
mod intervals;
pub mod net;
pub mod number;
pub mod pool;
pub mod set;
pub mod skip;

pub use self::collision::{collisions, overlaps};
pub use self::index::RangeIndex;
pub use self::pool::{Pool, Position};
pub use self::set::RangeSet;
pub use self::skip::Skip;
