//! The built-in kinds, as entries of the registry: data, not code.
//!
//! ```text
//!  kinds/*.rs ── Entry ──┐
//!  schemas  ─ definitions┼── resources() ──> Vec<Arc<Resource>> ──> Registry
//!  hooks/*  ── Rules ────┘
//! ```
//!
//! * [`schemas`] generates the OpenAPI definitions of all kinds once, from the typed API, and adds
//!   what Go keeps in struct tags and defaulting functions: [`defaults`] and [`merge_keys`].
//! * [`hooks`] holds what a schema cannot express: conditional defaults and upstream's rules.
//! * [`events`] converts between the two shapes of an Event; the stored one is core/v1.
//! * [`fields`] reads the values field selectors compare, where they are no plain paths.

mod apps;
pub mod columns;
mod core;
pub mod defaults;
mod entry;
pub mod events;
mod extension;
pub mod fields;
pub mod hooks;
pub mod merge_keys;
mod policy;
mod review;
pub mod schemas;
mod zeros;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use self::entry::Entry;
use crate::registry::Resource;

fn entries() -> impl Iterator<Item = &'static Entry> {
    let tables =
        [core::ENTRIES, apps::ENTRIES, policy::ENTRIES, extension::ENTRIES, review::ENTRIES];
    tables.into_iter().flatten()
}

/// All built-in kinds.
pub fn resources() -> Vec<Arc<Resource>> {
    let _kept = schemas::definitions();
    let shapes = schemas::Shapes::new();
    zeros::prepare();
    entries().map(|entry| Arc::new(entry.resource(&shapes))).collect()
}

/// Definitions every OpenAPI document may refer to: metadata, Status, DeleteOptions, Scale and so
/// on.
pub fn openapi_meta_definitions() -> BTreeMap<String, Value> {
    schemas::meta_definitions()
}

#[cfg(test)]
mod tests;
