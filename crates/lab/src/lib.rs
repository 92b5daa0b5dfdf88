//! Spec.
pub mod spec;
