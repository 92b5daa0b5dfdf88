//! Network sysctls of one namespace.
//!
//! `/proc/sys/net` shows the namespace of whoever opens a file there, so reading and writing happen
//! on a thread inside it. A name is a list of components, each checked, so no name leads out of
//! `/proc/sys/net`; a link's name may hold dots, which is why the dotted form is only for display.

use std::fmt;
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::name::IfName;
use crate::namespace::Namespace;
use crate::remedy::sysctl_remedy;

/// The name of a network sysctl.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sysctl(Vec<Box<str>>);

/// Which links a setting below `conf` is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conf<'a> {
    /// All of them; how it combines with a link's own differs from setting to setting.
    All,
    /// Links that will be made.
    Default,
    /// One link.
    Link(&'a IfName),
}

impl Conf<'_> {
    fn component(&self) -> &str {
        match self {
            Self::All => "all",
            Self::Default => "default",
            Self::Link(name) => name.as_str(),
        }
    }
}

impl Sysctl {
    /// Reads a name as sysctl(8) does: `net.ipv4.conf.eth0/20.rp_filter` or
    /// `net/ipv4/conf/eth0.20/rp_filter`, whichever separator comes first.
    pub fn parse(name: &str) -> Result<Self> {
        let wrong = |reason| Error::SysctlName { name: name.to_owned(), reason };
        let slashes = name.find(['.', '/']).is_some_and(|at| name.as_bytes()[at] == b'/');
        let components: Vec<Box<str>> = if slashes {
            name.split('/').map(Into::into).collect()
        } else {
            name.split('.').map(|part| part.replace('/', ".").into()).collect()
        };
        if components.first().is_none_or(|first| &**first != "net") || components.len() < 3 {
            return Err(wrong("it must start with net and name a setting"));
        }
        for component in &components {
            let odd = |c: char| c.is_control() || c.is_whitespace() || c == '/';
            match &**component {
                "" => return Err(wrong("a part of it is empty")),
                "." | ".." => return Err(wrong("a part of it leads elsewhere")),
                part if part.chars().any(odd) => {
                    return Err(wrong("a part of it has a forbidden character"));
                }
                _ => {}
            }
        }
        Ok(Self(components))
    }

    fn of(parts: &[&str]) -> Self {
        Self(parts.iter().map(|&part| part.into()).collect())
    }

    /// Whether packets are passed on, IPv4.
    pub fn ipv4_forwarding() -> Self {
        Self::of(&["net", "ipv4", "ip_forward"])
    }

    /// Whether packets are passed on, IPv6.
    pub fn ipv6_forwarding() -> Self {
        Self::of(&["net", "ipv6", "conf", "all", "forwarding"])
    }

    /// Whether a packet's source must lead back where it came from: 0 no, 1 strict, 2 loose.
    pub fn rp_filter(conf: Conf<'_>) -> Self {
        Self::of(&["net", "ipv4", "conf", conf.component(), "rp_filter"])
    }

    /// For which addresses ARP is answered: 1 is only those of the link the question came by.
    pub fn arp_ignore(conf: Conf<'_>) -> Self {
        Self::of(&["net", "ipv4", "conf", conf.component(), "arp_ignore"])
    }

    /// Which own address ARP questions name: 2 is the best one for the target.
    pub fn arp_announce(conf: Conf<'_>) -> Self {
        Self::of(&["net", "ipv4", "conf", conf.component(), "arp_announce"])
    }

    /// Whether neighbours are told when a link comes up or changes its MAC.
    pub fn arp_notify(conf: Conf<'_>) -> Self {
        Self::of(&["net", "ipv4", "conf", conf.component(), "arp_notify"])
    }

    /// Whether deleting a primary address keeps its secondaries.
    pub fn promote_secondaries(conf: Conf<'_>) -> Self {
        Self::of(&["net", "ipv4", "conf", conf.component(), "promote_secondaries"])
    }

    /// Whether IPv6 is off.
    pub fn disable_ipv6(conf: Conf<'_>) -> Self {
        Self::of(&["net", "ipv6", "conf", conf.component(), "disable_ipv6"])
    }

    /// Whether an IPv6 address is first checked for a double: 0 no, 1 yes.
    pub fn accept_dad(conf: Conf<'_>) -> Self {
        Self::of(&["net", "ipv6", "conf", conf.component(), "accept_dad"])
    }

    /// Whether router advertisements are believed.
    pub fn accept_ra(conf: Conf<'_>) -> Self {
        Self::of(&["net", "ipv6", "conf", conf.component(), "accept_ra"])
    }

    /// Any other setting of a link, IPv4.
    pub fn ipv4(conf: Conf<'_>, setting: &str) -> Result<Self> {
        Self::conf("ipv4", conf, setting)
    }

    /// Any other setting of a link, IPv6.
    pub fn ipv6(conf: Conf<'_>, setting: &str) -> Result<Self> {
        Self::conf("ipv6", conf, setting)
    }

    fn conf(family: &str, conf: Conf<'_>, setting: &str) -> Result<Self> {
        if setting.is_empty() || !setting.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            let reason = "a setting is letters, digits and underscores";
            return Err(Error::SysctlName { name: setting.to_owned(), reason });
        }
        Ok(Self::of(&["net", family, "conf", conf.component(), setting]))
    }

    fn path(&self) -> PathBuf {
        let mut path = PathBuf::from("/proc/sys");
        path.extend(self.0.iter().map(|component| &**component));
        path
    }
}

impl fmt::Display for Sysctl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, component) in self.0.iter().enumerate() {
            let dot = if place == 0 { "" } else { "." };
            write!(f, "{dot}{}", component.replace('.', "/"))?;
        }
        Ok(())
    }
}

/// The sysctls of a namespace.
#[derive(Clone, Debug)]
pub struct Sysctls {
    namespace: Namespace,
}

impl Sysctls {
    /// Those of a namespace.
    pub fn of(namespace: &Namespace) -> Self {
        Self { namespace: namespace.clone() }
    }

    /// The value, without the line's end.
    pub fn read(&self, name: &Sysctl) -> Result<String> {
        let value = self.namespace.visit(|| std::fs::read_to_string(name.path()))?;
        value.map(|text| text.trim_end().to_owned()).map_err(|source| failed("read", name, source))
    }

    /// Many values with one visit to the namespace; nothing where a setting is not there, as for a
    /// link that has gone meanwhile.
    pub fn read_many(&self, names: &[Sysctl]) -> Result<Vec<Option<String>>> {
        let read = |name: &Sysctl| std::fs::read_to_string(name.path()).ok();
        let values = self.namespace.visit(|| names.iter().map(read).collect::<Vec<_>>())?;
        let trimmed = |text: String| text.trim_end().to_owned();
        Ok(values.into_iter().map(|value| value.map(trimmed)).collect())
    }

    /// Writes a value.
    pub fn write(&self, name: &Sysctl, value: impl fmt::Display) -> Result<()> {
        let value = value.to_string();
        let outcome = self.namespace.visit(|| std::fs::write(name.path(), &value))?;
        outcome.map_err(|source| failed("write", name, source))
    }

    /// Writes several settings with one visit; each may fail by itself.
    pub fn write_many(&self, settings: &[(Sysctl, &str)]) -> Result<Vec<Result<()>>> {
        let write = |(name, value): &(Sysctl, &str)| {
            std::fs::write(name.path(), value).map_err(|source| failed("write", name, source))
        };
        self.namespace.visit(|| settings.iter().map(write).collect())
    }

    /// Writes a value where another stands, and says whether it did.
    pub fn ensure(&self, name: &Sysctl, value: impl fmt::Display) -> Result<bool> {
        let value = value.to_string();
        if self.read(name)? == value {
            return Ok(false);
        }
        self.write(name, value).map(|()| true)
    }
}

fn failed(what: &'static str, name: &Sysctl, source: std::io::Error) -> Error {
    let remedy = sysctl_remedy(&source);
    Error::Sysctl { what, name: name.to_string(), source, remedy }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_below_net() {
        let vlan = IfName::new("eth0.20").unwrap();
        let typed = Sysctl::rp_filter(Conf::Link(&vlan));
        assert_eq!(typed.to_string(), "net.ipv4.conf.eth0/20.rp_filter");
        assert_eq!(typed.path(), PathBuf::from("/proc/sys/net/ipv4/conf/eth0.20/rp_filter"));
        for same in ["net.ipv4.conf.eth0/20.rp_filter", "net/ipv4/conf/eth0.20/rp_filter"] {
            assert_eq!(Sysctl::parse(same).unwrap(), typed);
        }
        for wrong in [
            "",
            "net",
            "net.ipv4",
            "kernel.core_pattern",
            "net/../kernel/core_pattern",
            "net.ipv4./.x",
            "net.ipv4.//.x",
            "/net/ipv4/ip_forward",
            "net.ipv4..ip_forward",
            "net/ipv4/ip forward",
            "net/ipv4/./ip_forward",
        ] {
            assert!(Sysctl::parse(wrong).is_err(), "{wrong:?}");
        }
        assert!(Sysctl::ipv4(Conf::All, "../../x").is_err());
        assert!(Sysctl::ipv4(Conf::All, "").is_err());
    }
}
