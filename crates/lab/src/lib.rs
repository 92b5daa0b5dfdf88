//! The lab: virtual switches and nodes in namespaces, one agent on each node, no root needed.
//!
//! ```text
//!  landbridge up ── start ──► landbridge lab ── enter ──► pid 1: supervise
//!                              waits outside               ├ switches   one namespace, a bridge each
//!                                                          ├ node       network, mount and UTS namespaces
//!  landbridge exec NODE ── exec, by way of lab.json ─────► │   └ agent  restarted when it ends
//!                                                          └ wires      sockets: VLANs, reboot, cables
//! ```
//!
//! - [`spec`]: what a lab looks like, from a name or a file.
//! - [`enter`]: into user, mount, PID and UTS namespaces, first thing in `main`.
//! - [`supervise`]: what pid 1 does from then on.
//! - [`start`]: the lab as a child of another process; [`info`]: what runs; [`exec`]: a command on a node.
//! - [`wires`]: what nodes and operators ask of the supervisor.
//!
//! Whatever is killed, nothing stays: pid 1 dies with the process outside, everything inside dies
//! with pid 1, and namespaces and mounts go with the last process that holds them.

pub mod enter;
pub mod error;
pub mod exec;
pub mod info;
mod node;
pub mod process;
pub mod spec;
pub mod start;
pub mod supervise;
mod switches;
pub mod wires;
