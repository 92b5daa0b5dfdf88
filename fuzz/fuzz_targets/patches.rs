//! Patches of all kinds, and server-side apply, of documents from outside.
#![no_main]

use landbridge_machinery::apply::{ApplyRequest, FieldSet, Write, apply};
use landbridge_machinery::schema::Schema;
use landbridge_machinery::{decode, patch};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let (Some(document), Some(change)) = (parts.next(), parts.next()) else { return };
    let Ok(document) = decode::json(document, 128) else { return };
    let Ok(change) = decode::json(change, 128) else { return };
    let (document, change): (Value, Value) = (document.value, change.value);
    let schema = Schema::any();
    let _ = patch::json_patch(&document, &change);
    let mut merged = document.clone();
    patch::merge_patch(&mut merged, &change);
    let mut strategic = document.clone();
    let _ = patch::strategic(&mut strategic, &change, &schema);
    let ignored = FieldSet::new();
    let write = Write {
        schema: &schema,
        manager: "fuzz",
        api_version: "v1",
        subresource: None,
        now: "2026-01-01T00:00:00Z",
        ignored: &ignored,
    };
    let _ = apply(ApplyRequest { live: Some(&document), config: &change, force: true, write });
});
