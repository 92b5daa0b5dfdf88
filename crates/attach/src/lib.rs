//! Attachments of pods.

pub mod objects;
pub mod releases;
mod requested;
pub mod sticky;
pub mod whereabouts;
