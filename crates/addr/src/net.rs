//! Prefixes, ranges and VLAN numbers, checked when they are made.

mod cidr;
mod family;
mod range;
mod vlan;

pub use self::cidr::{Cidr, NotACidr, NotAMember};
pub use self::family::Family;
pub use self::range::{NotARange, Range};
pub use self::vlan::{NotAVlan, VlanId};
pub use crate::collision::overlaps;
