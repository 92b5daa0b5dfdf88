//! The resources, one file each: a table, and its rules.

pub mod address_groups;
pub mod dns;
pub mod floating_ips;
pub mod networks;
pub mod ports;
pub mod rbac;
pub mod routers;
pub mod security_group_rules;
pub mod security_groups;
pub mod segments;
pub mod subnetpools;
pub mod subnets;
pub mod trunks;
