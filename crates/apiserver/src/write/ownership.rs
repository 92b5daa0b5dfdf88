//! Who writes which fields: what `metadata.managedFields` needs to know about a request.

use http::header::USER_AGENT;
use landbridge_machinery::apply::{FieldSet, SCALE_API_VERSION, Write};
use landbridge_machinery::schema::Schema;

use crate::call::Call;
use crate::chance;

/// The writer of one request, through one endpoint.
pub struct Writer {
    manager: String,
    api_version: String,
    subresource: Option<String>,
    now: String,
    ignored: FieldSet,
}

impl Writer {
    /// The writer of a call.
    pub fn of(call: &Call<'_>) -> Self {
        Self {
            manager: manager(call),
            api_version: call.resource.api_version(&call.version().name),
            subresource: call.target.subresource.clone(),
            now: chance::timestamp(),
            ignored: ignored(call),
        }
    }

    /// The writer of a Scale, which has a version of its own.
    pub fn of_scale(call: &Call<'_>) -> Self {
        Self { api_version: SCALE_API_VERSION.to_owned(), ..Self::of(call) }
    }

    /// The same, as the apply code wants it.
    pub fn write<'a>(&'a self, schema: &'a Schema) -> Write<'a> {
        Write {
            schema,
            manager: &self.manager,
            api_version: &self.api_version,
            subresource: self.subresource.as_deref(),
            now: &self.now,
            ignored: &self.ignored,
        }
    }
}

/// `fieldManager`, or the program the user agent names.
fn manager(call: &Call<'_>) -> String {
    if !call.query.field_manager.is_empty() {
        return call.query.field_manager.clone();
    }
    let agent = call.headers.get(USER_AGENT).and_then(|v| v.to_str().ok()).unwrap_or("unknown");
    agent.split('/').next().unwrap_or(agent).chars().take(128).collect()
}

/// What this endpoint does not write, and so gives nobody.
fn ignored(call: &Call<'_>) -> FieldSet {
    match call.target.subresource.as_deref() {
        // Metadata that this endpoint takes is its writer's.
        Some("status") if call.resource.strategy.status_with_metadata => {
            FieldSet::of_fields(&["spec"])
        }
        Some("status") => {
            let properties = call.version().schema.root().properties();
            let others: Vec<&str> =
                properties.map(|(name, _)| name).filter(|name| *name != "status").collect();
            FieldSet::of_fields(&others)
        }
        Some("finalize") => FieldSet::of_fields(&["metadata", "status"]),
        None if call.version().status => FieldSet::of_fields(&["status"]),
        _ => FieldSet::new(),
    }
}
