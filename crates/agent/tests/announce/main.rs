//! Announcing with real packets: nodes and a client as namespaces, wires that run in them, and
//! everything that is said on the VLANs captured.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code
#![allow(clippy::needless_pass_by_value)] // json!() at the place of call reads best
#![allow(clippy::needless_range_loop)] // VLANs are known by their number

mod many;
mod plans;
mod scene;
mod wires;
