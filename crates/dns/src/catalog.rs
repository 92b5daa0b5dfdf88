//! All local data, compiled for answering.
//!
//! A catalogue never changes. Whoever follows the files makes a new one from the old one, which shares
//! what stayed as it was, and swaps it in; readers hold an `Arc` of the one they began with.

mod local;
mod routes;
mod shard;
mod table;

use std::net::IpAddr;
use std::sync::Arc;

pub(crate) use local::{Alias, Records};
pub(crate) use routes::{Verdict, ZEROS};
pub(crate) use shard::Found;

use self::local::Local;
use self::routes::Routes;
use self::table::{Rank, Table};
use crate::answer::synth;
use crate::hosts::Hosts;
use crate::settings::{Settings, Upstream};
use crate::wire::{Key, Name, rtype};

/// Settings and hosts, ready to answer from. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Catalog {
    settings: Arc<Settings>,
    local: Arc<Local>,
    routes: Arc<Routes>,
    resolv: Arc<[Upstream]>,
    hosts: Table,
}

impl Catalog {
    /// The catalogue of the settings alone.
    pub fn new(settings: Settings) -> Self {
        Self {
            local: Arc::new(Local::new(&settings)),
            routes: Arc::new(Routes::new(&settings, &[])),
            resolv: Arc::new([]),
            hosts: Table::new(),
            settings: Arc::new(settings),
        }
    }

    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// The same with the entries of one hosts file exchanged, or without them. Where two files name the
    /// same address, the reverse lookup answers from `/etc/hosts`, then from those of `addn-hosts` (the
    /// last one first, as dnsmasq), then from the others in the order of their names.
    #[must_use]
    pub fn with_hosts(&self, file: &str, hosts: Option<Hosts>) -> Self {
        let rank = rank(&self.settings, file);
        let table = self.hosts.with(file, rank, hosts.as_ref());
        // They may be many, and are not needed beside the table any more.
        drop(hosts);
        // With more than 65536 files, the new one is left out rather than an old one.
        let hosts = table.unwrap_or_else(|| self.hosts.clone());
        Self { hosts, ..self.clone() }
    }

    /// The hosts files that it has entries of.
    pub fn hosts_files(&self) -> impl Iterator<Item = &str> {
        self.hosts.files()
    }

    /// The same with other settings; the hosts stay.
    #[must_use]
    pub fn with_settings(&self, settings: Settings) -> Self {
        Self {
            local: Arc::new(Local::new(&settings)),
            routes: Arc::new(Routes::new(&settings, &self.resolv)),
            resolv: Arc::clone(&self.resolv),
            hosts: self.hosts.ranked(|file| rank(&settings, file)),
            settings: Arc::new(settings),
        }
    }

    /// The same with the servers that resolv.conf names, which are asked like those of `server=`.
    #[must_use]
    pub fn with_resolv(&self, servers: Vec<Upstream>) -> Self {
        Self {
            routes: Arc::new(Routes::new(&self.settings, &servers)),
            resolv: servers.into(),
            ..self.clone()
        }
    }

    /// Whether there are records of this name, or of names below it. An NXDOMAIN of another server
    /// about it becomes an empty answer, as the name exists here.
    pub fn knows(&self, name: &Key) -> bool {
        self.exists(name.wire())
    }

    pub(crate) fn exists(&self, name: &[u8]) -> bool {
        self.records(name).is_some_and(|records| records.exists)
            || self.host(name).is_some()
            || self.expanded(name).is_some()
            || synth::address(&self.settings, name, rtype::ANY).is_some()
    }

    /// The records of options.
    pub(crate) fn records(&self, name: &[u8]) -> Option<&Records> {
        self.local.find(name)
    }

    /// The entries of hosts files.
    pub(crate) fn host(&self, name: &[u8]) -> Option<Found<'_>> {
        self.hosts.find(name)
    }

    /// `expand-hosts`: the entries of the plain name, where `name` is that with the domain. Whether an
    /// address is in that domain is for the caller to look at.
    pub(crate) fn expanded<'n>(&self, name: &'n [u8]) -> Option<(Found<'_>, &'n [u8])> {
        if !self.settings.expand_hosts {
            return None;
        }
        let length = usize::from(*name.first()?) + 1;
        let (label, domain) = name.split_at_checked(length)?;
        let mut plain = [0; 65];
        plain.get_mut(..length)?.copy_from_slice(label);
        let found = self.hosts.find(&plain[..=length])?;
        let inside = |address| self.is_domain_of(address, domain);
        found.addresses().any(inside).then_some((found, domain))
    }

    pub(crate) fn is_domain_of(&self, address: IpAddr, domain: &[u8]) -> bool {
        self.settings.domain_of(address).is_some_and(|of| of.wire().eq_ignore_ascii_case(domain))
    }

    /// The name that the reverse lookup of an address answers by options.
    pub(crate) fn record_name_of(&self, address: IpAddr) -> Option<&(Name, u32)> {
        self.local.name_of(address)
    }

    /// The name that the reverse lookup of an address answers by hosts files.
    pub(crate) fn host_name_of(&self, address: IpAddr) -> Option<&[u8]> {
        self.hosts.name_of(address)
    }

    pub(crate) fn wildcard(&self, name: &[u8]) -> Option<&Alias> {
        self.local.wildcard(name)
    }

    pub(crate) fn verdict<'c>(&'c self, name: &Key, qtype: u16) -> Verdict<'c> {
        self.routes.verdict(name, qtype)
    }

    pub(crate) fn has_server(&self, name: &Key) -> bool {
        self.routes.has_server(name)
    }

    /// Whether private addresses in another server's answer about this name are no attack.
    pub(crate) fn private_answers(&self, name: &Key) -> bool {
        !self.settings.stop_dns_rebind || routes::is_below(name, &self.settings.rebind_domain_ok)
    }
}

fn rank(settings: &Settings, file: &str) -> Rank {
    let of_option = |path: &String| {
        file == path || file.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('/'))
    };
    let position = settings.addn_hosts.iter().rev().position(of_option);
    let class = match position {
        _ if file == "/etc/hosts" => 0,
        Some(position) => 1 + position,
        None => usize::MAX,
    };
    Rank(class, file.into())
}
