//! Addresses as numbers: prefixes, ranges, pools and what is free in them.
//!
//! Nothing here knows Kubernetes, does IO or looks at a clock.
//!
//! | module | idea |
//! |---|---|
//! | [`net`] | prefixes, ranges and VLAN numbers, checked when they are made |

pub mod net;
