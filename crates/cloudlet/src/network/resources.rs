//! The resources, one file each: a table, and its rules.

pub mod dns;
pub mod networks;
pub mod ports;
pub mod rbac;
pub mod security_groups;
pub mod segments;
pub mod subnetpools;
pub mod subnets;
