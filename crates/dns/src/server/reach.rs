//! Who is served: on which addresses and links, and for whom others are asked.
//!
//! The rules are dnsmasq's: `interface`, `listen-address`, `except-interface` say where queries are
//! taken; without any of them only clients of networks that this machine is in are answered
//! (`local-service`, which Debian's dnsmasq has on, too).

use std::net::{IpAddr, SocketAddr, SocketAddrV6};

use ipnet::IpNet;
use landbridge_linux::Handle;

use crate::settings::{AuthServer, Settings};

/// An address of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Local {
    pub net: IpNet,
    pub link: u32,
    pub link_name: String,
}

/// The addresses of this machine; those of the calling thread's namespace.
pub fn locals() -> Result<Vec<Local>, landbridge_linux::Error> {
    let handle = Handle::open()?;
    let links = handle.links()?;
    let addresses = handle.addresses()?;
    Ok(addresses
        .into_iter()
        .filter_map(|address| {
            let link = links.iter().find(|link| link.index == address.link)?;
            Some(Local {
                net: address.net,
                link: link.index.0,
                link_name: link.name.as_str().to_owned(),
            })
        })
        .collect())
}

/// Who is served, as values to look at for each query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    locals: Vec<Local>,
    /// Some places were named: no other is served.
    named: bool,
    interfaces: Vec<String>,
    except: Vec<String>,
    addresses: Vec<IpAddr>,
    /// Where only zones are answered for.
    auth: Option<AuthServer>,
    /// Only for clients of attached networks.
    attached_only: bool,
    /// For whom others are asked; everybody who is served, when empty.
    recursion: Vec<IpNet>,
}

impl Reach {
    pub fn new(settings: &Settings, recursion: &[IpNet], locals: Vec<Local>) -> Self {
        let named = !settings.interfaces.is_empty() || !settings.listen_addresses.is_empty();
        Self {
            locals,
            named,
            interfaces: settings.interfaces.clone(),
            except: settings.except_interfaces.clone(),
            addresses: settings.listen_addresses.clone(),
            auth: settings.auth_server.clone(),
            attached_only: !named
                && settings.auth_server.is_none()
                && settings.except_interfaces.is_empty()
                && recursion.is_empty(),
            recursion: recursion.to_vec(),
        }
    }

    /// Where sockets are bound: every served address with `bind-interfaces`, else the wildcards.
    pub fn sockets(&self, settings: &Settings) -> Vec<SocketAddr> {
        if !settings.bind_interfaces && !settings.bind_dynamic {
            return ["0.0.0.0", "::"]
                .into_iter()
                .filter_map(|any| Some(SocketAddr::new(any.parse().ok()?, settings.port)))
                .collect();
        }
        let mut sockets: Vec<SocketAddr> = Vec::new();
        let mut add = |socket| {
            if !sockets.contains(&socket) {
                sockets.push(socket);
            }
        };
        for local in self.locals.iter().filter(|local| self.serves(local.net.addr(), local.link)) {
            add(match local.net.addr() {
                IpAddr::V6(address) if address.is_unicast_link_local() => {
                    SocketAddrV6::new(address, settings.port, 0, local.link).into()
                }
                address => SocketAddr::new(address, settings.port),
            });
        }
        // Also those that no link has (yet): binding then says so.
        for address in &self.addresses {
            add(SocketAddr::new(*address, settings.port));
        }
        sockets
    }

    /// Whether queries to this address, by this link, are taken.
    pub fn serves(&self, address: IpAddr, link: u32) -> bool {
        let by_address = self.addresses.contains(&address);
        if !self.named && self.except.is_empty() {
            return true;
        }
        let name =
            self.locals.iter().find(|local| local.link == link).map(|local| &local.link_name);
        let matches = |patterns: &[String]| {
            name.is_some_and(|name| patterns.iter().any(|pattern| matches(pattern, name)))
        };
        // The machine itself is always let in, as long as anything is named by interface.
        let loopback = name.is_some_and(|name| name == "lo") && !self.interfaces.is_empty();
        by_address
            || self.is_authoritative(address)
            || ((!self.named || matches(&self.interfaces) || loopback) && !matches(&self.except))
    }

    /// Whether this address is one of `auth-server`.
    pub fn is_authoritative(&self, address: IpAddr) -> bool {
        self.auth.as_ref().is_some_and(|auth| {
            let local = self.locals.iter().find(|local| local.net.addr() == address);
            auth.addresses.contains(&address)
                || local.is_some_and(|local| {
                    auth.interfaces.iter().any(|one| one.matches(address, &local.link_name))
                })
        })
    }

    /// The same for a connection, whose link is not known: that of its address.
    pub fn serves_address(&self, address: IpAddr) -> bool {
        let own = self.locals.iter().find(|local| local.net.addr() == address);
        // All of 127.0.0.0/8 is the machine's, though only one of them has an entry.
        let local = own.or_else(|| {
            address
                .is_loopback()
                .then(|| self.locals.iter().find(|local| local.net.contains(&address)))?
        });
        self.serves(address, local.map_or(0, |local| local.link))
    }

    /// Whether this client is answered at all.
    pub fn answers(&self, source: IpAddr) -> bool {
        !self.attached_only || self.attached(source)
    }

    /// Whether others are asked for this client.
    pub fn recurses(&self, source: IpAddr) -> bool {
        self.recursion.is_empty() || self.recursion.iter().any(|net| net.contains(&source))
    }

    /// Whether it is a neighbour, or this machine.
    pub fn attached(&self, source: IpAddr) -> bool {
        source.is_loopback() || self.locals.iter().any(|local| local.net.contains(&source))
    }

    /// One of our addresses with the prefix of its network.
    pub fn net_of(&self, address: IpAddr) -> Option<IpNet> {
        self.locals.iter().map(|local| local.net).find(|net| net.addr() == address)
    }

    /// Every address that queries are taken at.
    pub fn own(&self, port: u16) -> Vec<SocketAddr> {
        let all =
            self.locals.iter().map(|local| local.net.addr()).chain(self.addresses.iter().copied());
        all.map(|address| SocketAddr::new(address, port)).collect()
    }
}

/// `eth*` matches every name that begins so.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(text: &[(&str, &str)], recursion: &[&str]) -> (Reach, Settings) {
        let mut settings = Settings { port: 53, ..Settings::default() };
        for (key, value) in text {
            match *key {
                "interface" => settings.interfaces.push((*value).to_owned()),
                "except-interface" => settings.except_interfaces.push((*value).to_owned()),
                "listen-address" => settings.listen_addresses.push(value.parse().unwrap()),
                "bind-interfaces" => settings.bind_interfaces = true,
                other => panic!("{other}"),
            }
        }
        let local = |net: &str, link, name: &str| Local {
            net: net.parse().unwrap(),
            link,
            link_name: name.to_owned(),
        };
        let locals = vec![
            local("127.0.0.1/8", 1, "lo"),
            local("10.0.0.5/24", 2, "eth0"),
            local("fe80::5/64", 2, "eth0"),
            local("172.17.0.5/24", 3, "internalapi"),
        ];
        let recursion: Vec<IpNet> = recursion.iter().map(|net| net.parse().unwrap()).collect();
        (Reach::new(&settings, &recursion, locals), settings)
    }

    fn sockets(text: &[(&str, &str)]) -> Vec<String> {
        let (reach, settings) = reach(text, &[]);
        reach.sockets(&settings).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn sockets_are_where_dnsmasq_has_them() {
        assert_eq!(sockets(&[]), ["0.0.0.0:53", "[::]:53"]);
        assert_eq!(sockets(&[("listen-address", "10.0.0.5")]), ["0.0.0.0:53", "[::]:53"]);
        let bind = ("bind-interfaces", "");
        assert_eq!(sockets(&[bind, ("listen-address", "10.0.0.5")]), ["10.0.0.5:53"]);
        assert_eq!(
            sockets(&[bind, ("interface", "internal*")]),
            ["127.0.0.1:53", "172.17.0.5:53"],
            "the machine itself is always let in"
        );
        assert_eq!(
            sockets(&[bind, ("interface", "*"), ("listen-address", "10.0.0.5")]),
            ["127.0.0.1:53", "10.0.0.5:53", "[fe80::5%2]:53", "172.17.0.5:53"]
        );
        assert_eq!(
            sockets(&[bind, ("except-interface", "eth0")]),
            ["127.0.0.1:53", "172.17.0.5:53"]
        );
        assert_eq!(
            sockets(&[bind, ("listen-address", "192.0.2.99")]),
            ["192.0.2.99:53"],
            "binding will say that it is not there"
        );
    }

    #[test]
    fn queries_elsewhere_are_not_taken() {
        let (reach, _) = reach(&[("interface", "internalapi")], &[]);
        assert!(reach.serves("172.17.0.5".parse().unwrap(), 3));
        assert!(!reach.serves("10.0.0.5".parse().unwrap(), 2));
        assert!(reach.serves("127.0.0.1".parse().unwrap(), 1));
        assert!(!reach.serves("10.0.0.5".parse().unwrap(), 77), "a link that is not known");
    }

    #[test]
    fn strangers_are_not_answered_where_nothing_else_is_said() {
        let (local, _) = reach(&[], &[]);
        assert!(local.answers("10.0.0.77".parse().unwrap()));
        assert!(local.answers("127.0.0.9".parse().unwrap()));
        assert!(!local.answers("203.0.113.7".parse().unwrap()));
        let (open, _) = reach(&[("listen-address", "10.0.0.5")], &[]);
        assert!(open.answers("203.0.113.7".parse().unwrap()), "as dnsmasq: the address was named");
        let (closed, _) = reach(&[("listen-address", "10.0.0.5")], &["10.0.0.0/8", "fd00::/8"]);
        assert!(closed.answers("203.0.113.7".parse().unwrap()));
        assert!(!closed.recurses("203.0.113.7".parse().unwrap()));
        assert!(closed.recurses("10.9.9.9".parse().unwrap()));
    }
}
