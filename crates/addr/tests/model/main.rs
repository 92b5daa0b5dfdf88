//! Sets, pools and searches against what a child would write: lists of single addresses.

#![allow(clippy::unwrap_used)] // all of this is test code; clippy only knows `#[test]` functions

mod growth;
mod pool;
mod search;
mod set;
mod universe;
