//! The allocator beside a straightforward model of MetalLB's rules: equal on random histories.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod growth;
mod histories;
mod naive;
mod words;
