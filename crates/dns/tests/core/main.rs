//! The part of the crate without IO: files to values, values to replies.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code
#![allow(clippy::format_collect)] // small texts

mod ask;
mod bad_input;
mod catalog;
mod hosts;
mod memory;
mod properties;
mod replies;
mod settings;
mod speed;
