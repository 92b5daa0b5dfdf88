//! Addresses as numbers: prefixes, ranges, pools and what is free in them.
//!
//! Nothing here knows Kubernetes, does IO or looks at a clock.
//!
//! | module | idea |
//! |---|---|
//! | [`net`] | prefixes, ranges and VLAN numbers, checked when they are made |
//! | [`number`] | an address is a family and a number; its neighbours |
//! | [`collision`] | which of many ranges share addresses, and which addresses |
//!
//! Counts of addresses are `u128`. All of IPv6 is one address more than that can say, so a count
//! that large reads as [`u128::MAX`]; every smaller one is exact.

pub mod collision;
mod count;
pub mod net;
pub mod number;

pub use self::collision::{collisions, overlaps};
