//! dnsmasq's configuration as values.
//!
//! Options mean what dnsmasq's manual says. dnsmasq refuses to start for one wrong line; here that line
//! is a [`Warning`] and the others count, because one typing error must not take all names away.

mod lines;
mod options;
mod ranges;
mod records;
mod servers;

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;

pub use ranges::{AuthInterface, AuthServer, AuthSoa, AuthZone, DomainOf, Range, Synth};
pub(crate) use records::octets;
pub use records::{Cname, HostRecord, Rdata, Record};
pub(crate) use servers::arpa;

use crate::warning::Warning;
use crate::wire::Name;

/// A server that is asked what is not known here: `10.0.0.1#5353@eth0`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Upstream {
    pub address: SocketAddr,
    /// The address (and port, or 0) that questions are sent from.
    pub source: Option<SocketAddr>,
    /// The interface that questions leave by.
    pub interface: Option<String>,
}

/// What is done with the names of a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// `server=/domain/address`: that one is asked.
    Server(Upstream),
    /// `server=/domain/#`: those without a domain are asked.
    Default,
    /// `server=/domain/`, `local=/domain/`: nobody is asked.
    Local,
    /// `address=/domain/1.2.3.4`.
    Address(IpAddr),
    /// `address=/domain/#`: all zeros.
    Zeros,
}

/// One domain of a `server`, `local`, `rev-server` or `address` option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainRule {
    pub domain: Domain,
    pub route: Route,
}

/// Which names a rule is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Domain {
    /// This name and all below it; the root for all names (`/#/`).
    Below(Name),
    /// `*name`: all names that end in these letters (lower case), also within a label.
    Ending(String),
    /// `//`: names of one label.
    Plain,
}

/// All settings, with dnsmasq's defaults.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// `server`, `local`, `rev-server` and `address` with a domain.
    pub rules: Vec<DomainRule>,
    /// `server` without a domain.
    pub servers: Vec<Upstream>,
    pub cnames: Vec<Cname>,
    pub host_records: Vec<HostRecord>,
    /// Everything else that has a name: `srv-host`, `txt-record`, `dns-rr` and so on.
    pub records: Vec<Record>,
    pub synth_domains: Vec<Synth>,
    /// `domain`, also for ranges of addresses; the one for all comes last.
    pub domains: Vec<DomainOf>,
    pub expand_hosts: bool,
    pub auth_zones: Vec<AuthZone>,
    pub auth_server: Option<AuthServer>,
    pub auth_soa: AuthSoa,
    pub auth_sec_servers: Vec<Name>,
    pub auth_ttl: u32,
    /// TTL of what is known here.
    pub local_ttl: u32,
    pub domain_needed: bool,
    pub bogus_priv: bool,
    pub localise_queries: bool,
    /// Where mail goes by default.
    pub mx_target: Option<Name>,
    pub port: u16,
    pub listen_addresses: Vec<IpAddr>,
    /// `interface`; `*` matches any end.
    pub interfaces: Vec<String>,
    pub except_interfaces: Vec<String>,
    pub bind_interfaces: bool,
    pub bind_dynamic: bool,
    /// Only clients of networks that this machine is in.
    pub local_service: bool,
    pub no_hosts: bool,
    pub addn_hosts: Vec<String>,
    pub hostsdirs: Vec<String>,
    pub conf_files: Vec<String>,
    /// `directory[,.suffix…]`, as given.
    pub conf_dirs: Vec<String>,
    pub no_resolv: bool,
    pub resolv_files: Vec<String>,
    pub no_poll: bool,
    pub strict_order: bool,
    pub all_servers: bool,
    pub no_negcache: bool,
    pub cache_size: usize,
    /// TTL of negative answers without SOA; 0 when not given.
    pub neg_ttl: u32,
    /// Upper bound of what clients are told; 0 for none.
    pub max_ttl: u32,
    pub min_cache_ttl: u32,
    /// 0 for none.
    pub max_cache_ttl: u32,
    pub stop_dns_rebind: bool,
    pub rebind_localhost_ok: bool,
    pub rebind_domain_ok: Vec<Name>,
    pub bogus_nxdomain: Vec<IpNet>,
    pub ignore_address: Vec<IpNet>,
    pub filter_a: bool,
    pub filter_aaaa: bool,
    pub dns_forward_max: usize,
    pub query_port: Option<u16>,
    pub min_port: u16,
    pub max_port: u16,
    /// The largest UDP answer, also what is told to others.
    pub edns_packet_max: u16,
    pub dns_loop_detect: bool,
    pub log_queries: bool,
    pub log_debug: bool,
    pub user: Option<String>,
    pub group: Option<String>,
    pub pid_file: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            servers: Vec::new(),
            cnames: Vec::new(),
            host_records: Vec::new(),
            records: Vec::new(),
            synth_domains: Vec::new(),
            domains: Vec::new(),
            expand_hosts: false,
            auth_zones: Vec::new(),
            auth_server: None,
            auth_soa: AuthSoa::default(),
            auth_sec_servers: Vec::new(),
            auth_ttl: 600,
            local_ttl: 0,
            domain_needed: false,
            bogus_priv: false,
            localise_queries: false,
            mx_target: None,
            port: 53,
            listen_addresses: Vec::new(),
            interfaces: Vec::new(),
            except_interfaces: Vec::new(),
            bind_interfaces: false,
            bind_dynamic: false,
            local_service: false,
            no_hosts: false,
            addn_hosts: Vec::new(),
            hostsdirs: Vec::new(),
            conf_files: Vec::new(),
            conf_dirs: Vec::new(),
            no_resolv: false,
            resolv_files: Vec::new(),
            no_poll: false,
            strict_order: false,
            all_servers: false,
            no_negcache: false,
            cache_size: 150,
            neg_ttl: 0,
            max_ttl: 0,
            min_cache_ttl: 0,
            max_cache_ttl: 0,
            stop_dns_rebind: false,
            rebind_localhost_ok: false,
            rebind_domain_ok: Vec::new(),
            bogus_nxdomain: Vec::new(),
            ignore_address: Vec::new(),
            filter_a: false,
            filter_aaaa: false,
            dns_forward_max: 150,
            query_port: None,
            min_port: 1024,
            max_port: u16::MAX,
            edns_packet_max: 1232,
            dns_loop_detect: false,
            log_queries: false,
            log_debug: false,
            user: None,
            group: None,
            pid_file: None,
        }
    }
}

impl Settings {
    /// The settings of one file.
    pub fn parse(file: &str, text: &str) -> (Self, Vec<Warning>) {
        let mut settings = Self::default();
        let warnings = settings.read(file, text);
        (settings, warnings)
    }

    /// Adds those of one more file, as if it were appended to the ones before.
    pub fn read(&mut self, file: &str, text: &str) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for line in lines::lines(text) {
            let taken = match line.option() {
                Ok((key, value)) => self.option(&key, value.as_deref()),
                Err(bad) => Err(bad),
            };
            if let Err(BadOption { why, help }) = taken {
                let text = line.text.to_owned();
                warnings.push(Warning {
                    file: file.to_owned(),
                    line: line.number,
                    text,
                    why,
                    help,
                });
            }
        }
        warnings
    }

    /// Whether queries to this address, which came in by this interface, are answered from the
    /// `auth-zone`s only.
    pub fn is_authoritative_at(&self, address: IpAddr, interface: &str) -> bool {
        self.auth_server.as_ref().is_some_and(|auth| {
            auth.addresses.contains(&address)
                || auth.interfaces.iter().any(|i| i.matches(address, interface))
        })
    }

    /// The domain of `domain=` that names of this address are in.
    pub fn domain_of(&self, address: IpAddr) -> Option<&Name> {
        let fits = |domain: &&DomainOf| domain.range.is_none_or(|range| range.contains(address));
        self.domains.iter().find(fits).map(|domain| &domain.domain)
    }
}

/// Why an option was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct BadOption {
    pub why: String,
    pub help: String,
}

impl BadOption {
    pub(crate) fn new(why: impl Into<String>, help: impl Into<String>) -> Self {
        Self { why: why.into(), help: help.into() }
    }
}
