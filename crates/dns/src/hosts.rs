//! Hosts files: an address and its names on each line.

use crate::warning::Warning;

/// The good entries of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts {}

/// Reads a hosts file. Entries that are wrong are left out, each with a warning.
pub fn parse(file: &str, text: &str) -> (Hosts, Vec<Warning>) {
    let _ = (file, text);
    (Hosts::default(), Vec::new())
}
