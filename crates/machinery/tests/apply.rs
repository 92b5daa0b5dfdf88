//! Server-side apply.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may
#![allow(clippy::needless_pass_by_value, clippy::type_complexity)] // tables read better so

#[path = "apply/bench.rs"]
mod bench;
#[path = "apply/fields.rs"]
mod fields;
#[path = "apply/laws.rs"]
mod laws;
#[path = "apply/lists.rs"]
mod lists;
#[path = "apply/managed.rs"]
mod managed;
#[path = "apply/migration.rs"]
mod migration;
#[path = "apply/rules.rs"]
mod rules;
#[path = "apply/scale.rs"]
mod scale;
#[path = "apply/track.rs"]
mod track;
