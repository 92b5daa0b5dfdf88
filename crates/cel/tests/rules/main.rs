//! Rules of CRDs, by tables.

#![allow(clippy::panic, clippy::unwrap_used)] // all of this is test code

mod language;
mod libraries;
mod messages;
mod refused;
mod safety;
mod support;
mod transitions;
