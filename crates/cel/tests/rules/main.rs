//! Rules of CRDs, by tables.

mod language;
mod libraries;
mod messages;
mod refused;
mod safety;
mod support;
mod transitions;
