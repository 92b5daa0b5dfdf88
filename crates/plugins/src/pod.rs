//! The two sides of an attachment: the container's namespace and the node's.

use std::io::ErrorKind;

use landbridge_cni::result::Interface;
use landbridge_cni::{CniError, Code};
use landbridge_linux::link::Leaving;
use landbridge_linux::sysctl::Conf;
use landbridge_linux::{Error, Handle, IfName, Link, MacAddr, Namespace, Result, Sysctl, Sysctls};

use crate::call::Call;
use crate::failure::{Context, Outcome, internal};

/// The container's namespace.
pub(crate) struct Pod {
    pub path: String,
    pub namespace: Namespace,
    pub net: Handle,
    pub sysctls: Sysctls,
}

/// A link of the container on its way out.
pub(crate) struct Going<'a> {
    leaving: Leaving<'a>,
    name: IfName,
}

impl Pod {
    /// The namespace of ADD and CHECK.
    pub fn open(call: &Call) -> Outcome<Self> {
        let Some(path) = &call.environment.netns else {
            return Err(CniError::new(
                Code::INVALID_ENVIRONMENT,
                "required env variables [CNI_NETNS] missing",
            ));
        };
        let namespace = Namespace::open(path).doing(|| format!("failed to open netns {path:?}"))?;
        Self::enter(call, path, namespace)
    }

    /// The namespace of DEL; nothing where none is named or it is gone. After a reboot the file a
    /// namespace was mounted on may still be there.
    pub fn if_there(call: &Call) -> Outcome<Option<Self>> {
        let Some(path) = &call.environment.netns else { return Ok(None) };
        match Namespace::open(path) {
            Ok(namespace) => Self::enter(call, path, namespace).map(Some),
            Err(Error::Namespace { source, .. })
                if matches!(
                    source.kind(),
                    ErrorKind::NotFound | ErrorKind::InvalidInput | ErrorKind::NotADirectory
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error).doing(|| format!("failed to open netns {path:?}")),
        }
    }

    fn enter(call: &Call, path: &str, namespace: Namespace) -> Outcome<Self> {
        let what = || format!("failed to open netns {path:?}");
        let own = Namespace::current().and_then(|own| own.identity()).doing(what)?;
        if !call.environment.netns_override && namespace.identity().doing(what)? == own {
            return Err(CniError::new(
                Code::INVALID_NETNS,
                "plugin's netns and netns from CNI_NETNS should not be the same",
            ));
        }
        let net = Handle::in_namespace(&namespace).doing(what)?;
        let sysctls = Sysctls::of(&namespace);
        Ok(Self { path: path.to_owned(), namespace, net, sysctls })
    }

    /// A link in the container, as results tell it.
    pub fn interface(&self, link: &Link) -> Interface {
        Interface { sandbox: self.path.clone(), ..interface(link) }
    }

    /// Tells neighbours about the link when it comes up. Kernels without a setting do without.
    pub fn announce(&self, name: &IfName) {
        let conf = Conf::Link(name);
        let settings = [Ok(Sysctl::arp_notify(conf)), Sysctl::ipv6(conf, "ndisc_notify")];
        let settings: Vec<_> = settings.into_iter().flatten().map(|name| (name, "1")).collect();
        let written = self.sysctls.write_many(&settings).unwrap_or_else(|error| vec![Err(error)]);
        for error in written.into_iter().filter_map(Result::err) {
            tracing::debug!(error = crate::failure::chain(&error), "a setting was left as it is");
        }
    }

    /// Begins to take a link away; [`gone`] waits for it.
    pub fn start_delete(&self, name: &IfName) -> Outcome<Option<Going<'_>>> {
        let leaving = self.net.start_delete(name);
        let leaving = leaving.doing(|| format!("failed to delete \"{name}\""))?;
        Ok(leaving.map(|leaving| Going { leaving, name: name.clone() }))
    }

    /// Takes back a link of a failed ADD.
    pub fn undo_link(&self, name: &IfName) {
        if let Err(error) = self.net.delete_link(name) {
            tracing::warn!(%error, interface = %name, "a link of a failed ADD stays behind");
        }
    }
}

/// The node's namespace: that of the calling thread.
pub(crate) fn node() -> Outcome<Handle> {
    Handle::open().doing(|| "failed to open the node's netns".to_owned())
}

/// A link as results tell it.
pub(crate) fn interface(link: &Link) -> Interface {
    Interface {
        name: link.name.to_string(),
        mac: link.mac.map(|mac| mac.to_string()).unwrap_or_default(),
        mtu: link.mtu,
        ..Interface::default()
    }
}

/// Writes a setting; one that is missing or refused is no error.
pub(crate) fn set_if_possible(sysctls: &Sysctls, name: Result<Sysctl>, value: &str) {
    let written = name.and_then(|name| sysctls.write(&name, value));
    if let Err(error) = written {
        tracing::debug!(error = crate::failure::chain(&error), "a setting was left as it is");
    }
}

/// The name of the interface to make.
pub(crate) fn wanted_name(call: &Call) -> Outcome<IfName> {
    name_of(&call.environment.interface)
}

pub(crate) fn name_of(text: &str) -> Outcome<IfName> {
    IfName::new(text).map_err(|why| internal(format!("{text:?} is no link's name: {why}")))
}

/// Waits until a link is gone that was on its way; none is no error.
pub(crate) fn gone(going: Option<Going<'_>>) -> Outcome<()> {
    let Some(Going { leaving, name }) = going else { return Ok(()) };
    leaving.gone().map(drop).doing(|| format!("failed to delete \"{name}\""))
}

/// A name nobody has: `veth` and eight hexadecimal digits, as the reference plugins choose it.
pub(crate) fn random_name() -> Outcome<IfName> {
    let number = getrandom::u32()
        .map_err(|error| internal(format!("failed to generate random veth name: {error}")))?;
    name_of(&format!("veth{number:08x}"))
}

/// Six octets in any of the forms a configuration may have them.
pub(crate) fn mac_of(text: &str) -> Outcome<MacAddr> {
    let digits: String = text.chars().filter(|c| !matches!(c, ':' | '-' | '.')).collect();
    let pairs = digits.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok()?;
        (pair.len() == 2).then(|| u8::from_str_radix(pair, 16).ok()).flatten()
    });
    let octets: Option<Vec<u8>> = pairs.collect();
    let octets = octets.and_then(|octets| <[u8; 6]>::try_from(octets).ok());
    octets.map(MacAddr).ok_or_else(|| {
        internal(format!("invalid args {text} for MAC addr: it is no Ethernet address"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macs_in_every_form() {
        let wanted = MacAddr([2, 0, 0x5e, 0, 1, 0xa]);
        for text in ["02:00:5e:00:01:0a", "02-00-5E-00-01-0A", "0200.5e00.010a"] {
            assert_eq!(mac_of(text).unwrap(), wanted, "{text}");
        }
        for text in ["", "02:00:5e:00:01", "02:00:5e:00:01:0a:0b:0c", "zz:00:5e:00:01:0a", "é"] {
            assert!(mac_of(text).is_err(), "{text}");
        }
    }
}
