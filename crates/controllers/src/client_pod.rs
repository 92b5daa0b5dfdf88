//! The pod `openstackclient` of a control plane in a lab: where `openstack` is run.
//!
//! On a cluster the OpenStack operator brings one along, with an image that has the program in it. In a
//! lab programs are the machine's, and what lets them in stands on the node; the pod only says which
//! Keystone is meant.

mod driver;
mod engine;

pub use self::driver::{rights, run};
pub use self::engine::{Act, NAME, plan};
