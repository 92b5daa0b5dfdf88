//! `/metrics`: the server's own figures, and what others post beside them.

use std::fmt;

use crate::server::Inner;

/// Figures of others in the same process, in Prometheus' text form.
pub trait Figures: Send + Sync + fmt::Debug {
    /// All of them, as they are now.
    fn text(&self) -> String;
}

/// The whole page.
pub(crate) fn page(server: &Inner) -> String {
    let snapshot = server.store.snapshot();
    let own = [
        ("landbridge_store_revision", "Revision of the store", snapshot.revision().to_string()),
        ("landbridge_store_objects", "Number of objects", snapshot.len().to_string()),
    ];
    let own = own.map(|(name, help, value)| {
        format!("# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}\n")
    });
    let others = server.figures.as_ref().map(|figures| figures.text()).unwrap_or_default();
    own.concat() + &others
}
