//! Attachments of pods.

pub mod alone;
pub mod attacher;
pub mod cache;
pub mod daemon;
pub mod delegates;
pub mod install;
pub mod ipams;
pub mod ipsets;
pub mod message;
pub mod networks;
pub mod objects;
pub mod own;
pub mod reconcile;
pub mod releases;
mod requested;
pub mod serve;
pub mod settings;
pub mod shim;
pub mod sticky;
pub mod whereabouts;
