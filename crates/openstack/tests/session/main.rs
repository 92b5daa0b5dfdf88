//! Sessions against a small cloud in this process, on a virtual clock.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod changing;
mod faults;
mod pages;
mod small;
mod tokens;
