//! Plugins on the real kernel, in namespaces that each test makes for itself.
//!
//! Nothing outside them is touched, and files are in directories of the test's own. What needs
//! root, a program or a kernel feature that is not there is skipped with its reason.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)] // all of this is test code
#![allow(clippy::needless_pass_by_value)] // `json!` at the call reads best without a reference

mod bridge;
mod churn;
mod garbage;
mod harness;
mod host_device;
mod host_local;
mod macvlan;
mod networks;
mod peers;
mod tuning;
mod vlans;
