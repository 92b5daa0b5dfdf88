//! Routes of a lab: who gets which host name.
//!
//! On OpenShift its router does this, and nobody runs this there. Which requests reach whom is the
//! business of the ingress, on every node; it serves what is admitted here.

mod driver;
mod engine;

pub use self::driver::{rights, run};
pub use self::engine::{Update, plan};
