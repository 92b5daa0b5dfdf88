//! Every option by its name.

use std::str::FromStr;

use super::lines::fields;
use super::servers::{ip, network_of};
use super::{BadOption, Settings};
use crate::hosts::domain_name;

/// Options that say how dnsmasq runs as a process: they change nothing about answers, and files that hold
/// them are right all the same.
const OF_THE_PROCESS: &[&str] = &[
    "keep-in-foreground",
    "no-daemon",
    "log-facility",
    "log-async",
    "log-dhcp",
    "enable-dbus",
    "enable-ubus",
    "conntrack",
    "no-ident",
    "clear-on-reload",
    "fast-dns-retry",
    "port-limit",
    "max-tcp-connections",
    "use-stale-cache",
    "no-round-robin",
    "no-dhcp-interface",
    "no-dhcpv4-interface",
    "no-dhcpv6-interface",
    "cache-rr",
    "local-terminate",
    "test",
];

/// Options of dnsmasq that would change answers, or serve something else than DNS, and are not there.
const NOT_HERE: &[(&str, &str)] = &[
    ("dhcp-", "this is no DHCP server: remove the line"),
    ("enable-tftp", "this is no TFTP server: remove the line"),
    ("tftp-", "this is no TFTP server: remove the line"),
    ("enable-ra", "router advertisements are not sent: remove the line"),
    ("ra-param", "router advertisements are not sent: remove the line"),
    ("dnssec", "signatures are not validated: let the servers of server= do that"),
    ("trust-anchor", "signatures are not validated: let the servers of server= do that"),
    ("proxy-dnssec", "remove the line"),
    ("ipset", "remove the line"),
    ("nftset", "remove the line"),
    ("connmark-allowlist", "remove the line"),
    ("alias", "remove the line"),
    ("filterwin2k", "remove the line"),
    ("filter-rr", "use filter-A or filter-AAAA, or remove the line"),
    ("selfmx", "write an mx-host line for each name"),
    ("localmx", "write an mx-host line for each name"),
    ("interface-name", "write a host-record line with the address"),
    ("dynamic-host", "write a host-record line with the address"),
    ("add-", "remove the line"),
    ("strip-", "remove the line"),
    ("umbrella", "remove the line"),
    ("servers-file", "write the lines into a file of conf-dir"),
    ("auth-peer", "zones are not transferred: remove the line"),
    ("pxe-", "this is no DHCP server: remove the line"),
    ("bootp-dynamic", "this is no DHCP server: remove the line"),
    ("script-", "remove the line"),
    ("leasefile-ro", "this is no DHCP server: remove the line"),
    ("quiet-", "remove the line"),
    ("dump", "remove the line"),
];

impl Settings {
    /// One option as on the command line, without the dashes: `port`, `Some("5353")`. The error says
    /// why it is wrong and what to do.
    pub fn option(&mut self, key: &str, value: Option<&str>) -> Result<(), BadOption> {
        let value = value.filter(|value| !value.is_empty());
        if self.switch(key, value)? || self.with_value(key, value)? {
            return Ok(());
        }
        if OF_THE_PROCESS.contains(&key) {
            return Ok(());
        }
        let known = |(name, _): &&(&str, &str)| {
            key == *name || ((name.ends_with('-') || *name == "dnssec") && key.starts_with(name))
        };
        Err(match NOT_HERE.iter().find(known) {
            Some((_, help)) => {
                BadOption::new(format!("{key} of dnsmasq has no effect here"), *help)
            }
            None => BadOption::new(
                format!("the option {key:?} is unknown"),
                "look for a typing error; docs/dns-options.md lists all options",
            ),
        })
    }

    /// Options that are there or not.
    fn switch(&mut self, key: &str, value: Option<&str>) -> Result<bool, BadOption> {
        let switch = match key {
            "no-hosts" => &mut self.no_hosts,
            "expand-hosts" => &mut self.expand_hosts,
            "no-resolv" => &mut self.no_resolv,
            "no-poll" => &mut self.no_poll,
            "strict-order" => &mut self.strict_order,
            "all-servers" => &mut self.all_servers,
            "no-negcache" => &mut self.no_negcache,
            "domain-needed" => &mut self.domain_needed,
            "bogus-priv" => &mut self.bogus_priv,
            "stop-dns-rebind" => &mut self.stop_dns_rebind,
            "rebind-localhost-ok" => &mut self.rebind_localhost_ok,
            "filter-A" => &mut self.filter_a,
            "filter-AAAA" => &mut self.filter_aaaa,
            "localise-queries" => &mut self.localise_queries,
            "bind-interfaces" => &mut self.bind_interfaces,
            "bind-dynamic" => &mut self.bind_dynamic,
            "dns-loop-detect" => &mut self.dns_loop_detect,
            "log-debug" => &mut self.log_debug,
            _ => return Ok(false),
        };
        if let Some(value) = value {
            return Err(BadOption::new(
                format!("{key} takes no value, and has {value:?}"),
                format!("write {key} alone"),
            ));
        }
        *switch = true;
        Ok(true)
    }

    fn with_value(&mut self, key: &str, value: Option<&str>) -> Result<bool, BadOption> {
        // These mean something without a value too.
        match (key, value) {
            ("local-service", None | Some("net" | "host")) => {
                self.local_service = true;
                return Ok(true);
            }
            ("log-queries", None | Some("extra" | "proto")) => {
                self.log_queries = true;
                return Ok(true);
            }
            ("pid-file" | "user" | "group", value) => {
                let text = value.map(str::to_owned);
                match key {
                    "pid-file" => self.pid_file = text,
                    "user" => self.user = text,
                    _ => self.group = text,
                }
                return Ok(true);
            }
            ("query-port", value) => {
                self.query_port = value.map(|value| number(key, value)).transpose()?;
                return Ok(true);
            }
            _ => {}
        }
        if !VALUED.contains(&key) {
            return Ok(false);
        }
        let Some(value) = value else {
            return Err(BadOption::new(format!("{key} has no value"), format!("write {key}=…")));
        };
        match key {
            "server" | "local" => self.server(value)?,
            "address" => self.address(value)?,
            "rev-server" => self.rev_server(value)?,
            "cname" => self.cname(value)?,
            "host-record" => self.host_record(value)?,
            "srv-host" => self.srv_host(value)?,
            "mx-host" => self.mx_host(value)?,
            "mx-target" => self.mx_target = Some(domain_name(value)?),
            "txt-record" => self.txt_record(value)?,
            "ptr-record" => self.ptr_record(value)?,
            "naptr-record" => self.naptr_record(value)?,
            "caa-record" => self.caa_record(value)?,
            "dns-rr" => self.dns_rr(value)?,
            "synth-domain" => self.synth_domain(value)?,
            "domain" => self.domain(value)?,
            "auth-zone" => self.auth_zone(value)?,
            "auth-server" => self.auth_server_option(value)?,
            "auth-soa" => self.auth_soa_option(value)?,
            "auth-sec-servers" => {
                for name in fields(value) {
                    self.auth_sec_servers.push(domain_name(&name)?);
                }
            }
            "rebind-domain-ok" => {
                for name in value.split('/').filter(|name| !name.is_empty()) {
                    self.rebind_domain_ok.push(domain_name(name.trim_start_matches('.'))?);
                }
            }
            "local-ttl" => self.local_ttl = number(key, value)?,
            "auth-ttl" => self.auth_ttl = number(key, value)?,
            // There are no leases here, so that there is nothing it could be the TTL of.
            "dhcp-ttl" => drop(number::<u32>(key, value)?),
            "neg-ttl" => self.neg_ttl = number(key, value)?,
            "max-ttl" => self.max_ttl = number(key, value)?,
            // dnsmasq bounds it too: longer is asking for trouble.
            "min-cache-ttl" => self.min_cache_ttl = number::<u32>(key, value)?.min(3600),
            "max-cache-ttl" => self.max_cache_ttl = number(key, value)?,
            "cache-size" => self.cache_size = number(key, value)?,
            "dns-forward-max" => self.dns_forward_max = number(key, value)?,
            "port" => self.port = number(key, value)?,
            "min-port" => self.min_port = number(key, value)?,
            "max-port" => self.max_port = number(key, value)?,
            "edns-packet-max" => self.edns_packet_max = number::<u16>(key, value)?.max(512),
            "listen-address" => {
                for address in fields(value) {
                    self.listen_addresses.push(ip(&address)?);
                }
            }
            "interface" => self.interfaces.extend(fields(value)),
            "except-interface" => self.except_interfaces.extend(fields(value)),
            "addn-hosts" => self.addn_hosts.push(value.to_owned()),
            "hostsdir" => self.hostsdirs.push(value.to_owned()),
            "conf-file" => self.conf_files.push(value.to_owned()),
            "conf-dir" => self.conf_dirs.push(value.to_owned()),
            "resolv-file" => self.resolv_files.push(value.to_owned()),
            "bogus-nxdomain" => self.bogus_nxdomain.push(network_of(value, 32, 128)?),
            "ignore-address" => self.ignore_address.push(network_of(value, 32, 128)?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Options that need a value.
const VALUED: &[&str] = &[
    "server",
    "local",
    "address",
    "rev-server",
    "cname",
    "host-record",
    "srv-host",
    "mx-host",
    "mx-target",
    "txt-record",
    "ptr-record",
    "naptr-record",
    "caa-record",
    "dns-rr",
    "synth-domain",
    "domain",
    "auth-zone",
    "auth-server",
    "auth-soa",
    "auth-sec-servers",
    "rebind-domain-ok",
    "local-ttl",
    "auth-ttl",
    "dhcp-ttl",
    "neg-ttl",
    "max-ttl",
    "min-cache-ttl",
    "max-cache-ttl",
    "cache-size",
    "dns-forward-max",
    "port",
    "min-port",
    "max-port",
    "edns-packet-max",
    "listen-address",
    "interface",
    "except-interface",
    "addn-hosts",
    "hostsdir",
    "conf-file",
    "conf-dir",
    "resolv-file",
    "bogus-nxdomain",
    "ignore-address",
];

fn number<T: FromStr>(key: &str, value: &str) -> Result<T, BadOption> {
    value.parse().map_err(|_| {
        BadOption::new(
            format!("{value:?} is no number that {key} can be"),
            format!("write {key}= and a whole number"),
        )
    })
}
