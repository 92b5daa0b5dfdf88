//! Attachments of pods.

pub mod attacher;
pub mod cache;
pub mod delegates;
pub mod ipams;
pub mod ipsets;
pub mod networks;
pub mod objects;
pub mod reconcile;
pub mod releases;
mod requested;
pub mod settings;
pub mod sticky;
pub mod whereabouts;
