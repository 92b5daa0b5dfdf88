//! `server`, `local`, `address` and `rev-server`: who is asked about which names.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};

use ipnet::IpNet;

use super::{BadOption, Domain, DomainRule, Route, Settings, Upstream};
use crate::hosts::domain_name;
use crate::wire::Name;

impl Settings {
    /// `[/domain/…/][address]`.
    pub(super) fn server(&mut self, value: &str) -> Result<(), BadOption> {
        let Some(rest) = value.strip_prefix('/') else {
            self.servers.push(upstream(value)?);
            return Ok(());
        };
        let (domains, target) = rest.rsplit_once('/').ok_or_else(unclosed)?;
        let route = match target {
            "" => Route::Local,
            "#" => Route::Default,
            server => Route::Server(upstream(server)?),
        };
        for domain in domains.split('/') {
            match (domain, &route) {
                // For all names is the same as without a domain.
                ("#", Route::Server(server)) => self.servers.push(server.clone()),
                ("#", Route::Default) => {}
                _ => self.rules.push(DomainRule { domain: pattern(domain)?, route: route.clone() }),
            }
        }
        Ok(())
    }

    /// `/domain/…/[address]`.
    pub(super) fn address(&mut self, value: &str) -> Result<(), BadOption> {
        let rest = value
            .strip_prefix('/')
            .ok_or_else(|| BadOption::new("names no domain", "write address=/domain/10.0.0.1"))?;
        let (domains, target) = rest.rsplit_once('/').ok_or_else(unclosed)?;
        let route = match target {
            "" => Route::Local,
            "#" => Route::Zeros,
            address => Route::Address(ip(address)?),
        };
        for domain in domains.split('/') {
            self.rules.push(DomainRule { domain: pattern(domain)?, route: route.clone() });
        }
        Ok(())
    }

    /// `network[/length],[server]`.
    pub(super) fn rev_server(&mut self, value: &str) -> Result<(), BadOption> {
        let (network, target) = value.split_once(',').unwrap_or((value, ""));
        let network = network_of(network.trim(), 32, 128)?;
        if network.prefix_len() == 0 {
            return Err(BadOption::new("a prefix length of 0 is all addresses", "use server="));
        }
        let route = match target.trim() {
            "" => Route::Local,
            "#" => Route::Default,
            server => Route::Server(upstream(server)?),
        };
        for name in arpa(network) {
            let domain = Domain::Below(Name::from_text(&name).map_err(|bad| {
                BadOption::new(format!("{name} {bad}"), "give a network such as 10.0.0.0/24")
            })?);
            self.rules.push(DomainRule { domain, route: route.clone() });
        }
        Ok(())
    }
}

fn unclosed() -> BadOption {
    BadOption::new("the list of domains does not end", "write /domain/ with a slash at both ends")
}

pub(super) fn ip(text: &str) -> Result<IpAddr, BadOption> {
    text.parse().map_err(|_| {
        BadOption::new(format!("{text:?} is no address"), "give an IPv4 or IPv6 address")
    })
}

/// A network; without a length it is as long as the caller says.
pub(super) fn network_of(text: &str, v4: u8, v6: u8) -> Result<IpNet, BadOption> {
    let bad = || {
        BadOption::new(
            format!("{text:?} is no network"),
            "give an address and the length of its prefix, such as 10.0.0.0/24",
        )
    };
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(length.parse().map_err(|_| bad())?)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().map_err(|_| bad())?;
    let default = if address.is_ipv4() { v4 } else { v6 };
    IpNet::new(address, length.unwrap_or(default)).map(|net| net.trunc()).map_err(|_| bad())
}

/// Which names a domain of `/domain/` means.
fn pattern(text: &str) -> Result<Domain, BadOption> {
    match text {
        "" => return Ok(Domain::Plain),
        "#" => return Ok(Domain::Below(Name::root())),
        _ => {}
    }
    if let Some(ending) = text.strip_prefix('*') {
        return Ok(Domain::Ending(ending.to_ascii_lowercase()));
    }
    domain_name(text.strip_prefix('.').unwrap_or(text)).map(Domain::Below)
}

/// `address[%scope][#port][@interface][@source[#port]]`.
fn upstream(text: &str) -> Result<Upstream, BadOption> {
    let mut parts = text.split('@');
    let (address, port) = with_port(parts.next().unwrap_or_default(), 53)?;
    let (mut source, mut interface) = (None, None);
    for part in parts {
        if let Ok((address, port)) = with_port(part, 0) {
            source = Some(socket(&address, port)?);
        } else if part.is_empty() || part.len() > 15 || part.contains(['/', ' ', '#']) {
            return Err(BadOption::new(
                format!("{part:?} is neither an address nor an interface"),
                "write address#port@interface or address#port@source",
            ));
        } else {
            interface = Some(part.to_owned());
        }
    }
    let address = socket(&address, port)?;
    if address.port() == 0 {
        return Err(BadOption::new(
            "nobody listens on port 0",
            "give another port, or none for 53",
        ));
    }
    if source.is_some_and(|source: SocketAddr| source.is_ipv4() != address.is_ipv4()) {
        return Err(BadOption::new(
            "the source and the server are of different families",
            "give both as IPv4 or both as IPv6",
        ));
    }
    Ok(Upstream { address, source, interface })
}

fn with_port(text: &str, default: u16) -> Result<(String, u16), BadOption> {
    let (address, port) = match text.split_once('#') {
        None => (text, default),
        Some((address, port)) => {
            let port = port.parse().map_err(|_| {
                BadOption::new(format!("{port:?} is no port"), "give a number from 1 to 65535")
            })?;
            (address, port)
        }
    };
    socket(address, port)?;
    Ok((address.to_owned(), port))
}

fn socket(text: &str, port: u16) -> Result<SocketAddr, BadOption> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(SocketAddr::new(address, port));
    }
    // A scope may be a number, which needs no look at the interfaces of this machine.
    if let Some((address, scope)) = text.split_once('%')
        && let (Ok(address), Ok(scope)) = (address.parse::<Ipv6Addr>(), scope.parse::<u32>())
    {
        return Ok(SocketAddr::V6(SocketAddrV6::new(address, port, 0, scope)));
    }
    let help = if text.contains('%') {
        "write fe80::1@eth0 instead of fe80::1%eth0, or the number of the interface"
    } else {
        "give its address: names of servers are not looked up"
    };
    Err(BadOption::new(format!("{text:?} is no address of a server"), help))
}

/// The names below which the reverse lookups of a network are: more than one where the prefix does not end
/// at a label.
pub(crate) fn arpa(network: IpNet) -> Vec<String> {
    let (bits, zone) = match network {
        IpNet::V4(_) => (8, "in-addr.arpa"),
        IpNet::V6(_) => (4, "ip6.arpa"),
    };
    let labels = usize::from(network.prefix_len().div_ceil(bits));
    let aligned = u8::try_from(labels).unwrap_or(0).saturating_mul(bits);
    let Ok(parts) = network.subnets(aligned) else { return Vec::new() };
    parts
        .map(|part| {
            let digits: Vec<String> = match part.network() {
                IpAddr::V4(address) => address.octets().iter().map(u8::to_string).collect(),
                IpAddr::V6(address) => address
                    .octets()
                    .iter()
                    .flat_map(|byte| [byte >> 4, byte & 15])
                    .map(|nibble| format!("{nibble:x}"))
                    .collect(),
            };
            let mut name = String::new();
            for digit in digits[..labels.min(digits.len())].iter().rev() {
                name.push_str(digit);
                name.push('.');
            }
            name + zone
        })
        .collect()
}
