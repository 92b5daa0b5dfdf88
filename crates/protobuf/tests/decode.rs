//! Bodies in, JSON out.

#![allow(clippy::unwrap_used)] // a test may

#[path = "decode/encoder.rs"]
mod encoder;
#[path = "decode/kinds.rs"]
mod kinds;
#[path = "decode/recorded.rs"]
mod recorded;
#[path = "decode/robust.rs"]
mod robust;
