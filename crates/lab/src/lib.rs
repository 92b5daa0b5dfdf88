//! The lab.
pub mod enter;
pub mod error;
pub mod info;
mod node;
pub mod process;
pub mod spec;
pub mod supervise;
mod switches;
pub mod wires;
