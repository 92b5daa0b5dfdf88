//! Names the protocol lets through: containers, networks, interfaces, plugins.

use thiserror::Error;

use crate::error::{Code, Coded};

/// The longest name the kernel gives an interface, in bytes.
pub const INTERFACE_NAME_MAX: usize = 15;

/// Why a name is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadName {
    /// The container has no name.
    #[error("missing containerID")]
    NoContainer,
    /// The container's name has letters it may not have.
    #[error("invalid characters in containerID")]
    Container(String),
    /// The network has no name.
    #[error("missing network name")]
    NoNetwork,
    /// The network's name has letters it may not have.
    #[error("invalid characters found in network name")]
    Network(String),
    /// The interface has no name.
    #[error("interface name is empty")]
    NoInterface,
    /// The interface's name does not fit.
    #[error("interface name is too long")]
    LongInterface(String),
    /// The interface's name means a directory.
    #[error("interface name is . or ..")]
    DotInterface(String),
    /// The interface's name has letters the kernel refuses.
    #[error("interface name contains / or : or whitespace characters")]
    Interface(String),
    /// The plugin has no name.
    #[error("no plugin name provided")]
    NoPlugin,
    /// The plugin's name is a path.
    #[error("invalid plugin name: {0}")]
    Plugin(String),
}

impl Coded for BadName {
    fn code(&self) -> Code {
        match self {
            Self::NoContainer => Code::UNKNOWN_CONTAINER,
            Self::NoNetwork | Self::Network(_) | Self::NoPlugin | Self::Plugin(_) => {
                Code::INVALID_CONFIG
            }
            _ => Code::INVALID_ENVIRONMENT,
        }
    }

    fn details(&self) -> String {
        match self {
            Self::Container(name) | Self::Network(name) => name.clone(),
            Self::LongInterface(_) => {
                format!("interface name should be less than {} characters", INTERFACE_NAME_MAX + 1)
            }
            _ => String::new(),
        }
    }
}

/// `[a-zA-Z0-9][a-zA-Z0-9_.-]*`
fn is_plain(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    name.bytes().all(inner) && name.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
}

/// Checks CNI_CONTAINERID.
pub fn container(name: &str) -> Result<(), BadName> {
    match name {
        "" => Err(BadName::NoContainer),
        _ if is_plain(name) => Ok(()),
        _ => Err(BadName::Container(name.to_owned())),
    }
}

/// Checks `name` of a configuration.
pub fn network(name: &str) -> Result<(), BadName> {
    match name {
        "" => Err(BadName::NoNetwork),
        _ if is_plain(name) => Ok(()),
        _ => Err(BadName::Network(name.to_owned())),
    }
}

/// Checks CNI_IFNAME.
pub fn interface(name: &str) -> Result<(), BadName> {
    match name {
        "" => Err(BadName::NoInterface),
        _ if name.len() > INTERFACE_NAME_MAX => Err(BadName::LongInterface(name.to_owned())),
        "." | ".." => Err(BadName::DotInterface(name.to_owned())),
        _ if name.contains(|c: char| c == '/' || c == ':' || c.is_whitespace() || c == '\0') => {
            Err(BadName::Interface(name.to_owned()))
        }
        _ => Ok(()),
    }
}

/// Checks `type` of a configuration: it is looked up in directories, so it must not be a path.
pub fn plugin(name: &str) -> Result<(), BadName> {
    match name {
        "" => Err(BadName::NoPlugin),
        "." | ".." => Err(BadName::Plugin(name.to_owned())),
        _ if name.contains(['/', '\0']) => Err(BadName::Plugin(name.to_owned())),
        _ => Ok(()),
    }
}

/// The text cut to what fits an interface name. A letter that would be cut in two is left out.
pub fn cut_to_interface(name: &str) -> &str {
    let end = (0..=INTERFACE_NAME_MAX.min(name.len())).rev().find(|at| name.is_char_boundary(*at));
    name.get(..end.unwrap_or_default()).unwrap_or_default()
}

/// How many bytes a hardware address has: pairs with colons or dashes, or fours with dots.
pub fn mac_length(text: &str) -> Option<usize> {
    let (separator, width) = match text.as_bytes().get(2)? {
        b':' => (':', 2),
        b'-' => ('-', 2),
        _ => ('.', 4),
    };
    let is_part = |part: &str| part.len() == width && part.bytes().all(|b| b.is_ascii_hexdigit());
    let parts: Vec<&str> = text.split(separator).collect();
    parts.iter().all(|part| is_part(part)).then_some(parts.len() * width / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces() {
        let cases = [
            ("eth0", Ok(())),
            ("a23456789012345", Ok(())),
            ("enp6s0.20", Ok(())),
            ("", Err("interface name is empty")),
            ("a234567890123456", Err("interface name is too long")),
            ("ääääääää", Err("interface name is too long")),
            (".", Err("interface name is . or ..")),
            ("..", Err("interface name is . or ..")),
            ("...", Ok(())),
            ("a/b", Err("interface name contains / or : or whitespace characters")),
            ("eth0:1", Err("interface name contains / or : or whitespace characters")),
            ("a b", Err("interface name contains / or : or whitespace characters")),
            ("a\u{a0}b", Err("interface name contains / or : or whitespace characters")),
        ];
        for (name, expected) in cases {
            let found = interface(name).map_err(|e| {
                assert_eq!(e.code(), Code::INVALID_ENVIRONMENT);
                e.to_string()
            });
            assert_eq!(found, expected.map_err(str::to_owned), "{name:?}");
        }
    }

    #[test]
    fn containers_and_networks() {
        for name in ["a", "A1", "0_.-", "cbr0"] {
            assert_eq!((container(name), network(name)), (Ok(()), Ok(())), "{name}");
        }
        for name in ["_a", ".a", "-a", "a b", "a/b", "ä", "a\n"] {
            assert!(container(name).is_err() && network(name).is_err(), "{name}");
        }
        assert_eq!(container("").unwrap_err().code(), Code(3));
        assert_eq!(container("a b").unwrap_err().code(), Code(4));
        assert_eq!(network("").unwrap_err().code(), Code(7));
        assert_eq!(network("a b").unwrap_err().details(), "a b");
    }

    #[test]
    fn plugins_are_no_paths() {
        assert_eq!(plugin("host-device"), Ok(()));
        for name in ["", ".", "..", "../evil", "/bin/sh"] {
            assert_eq!(plugin(name).unwrap_err().code(), Code(7), "{name}");
        }
    }

    #[test]
    fn cutting_keeps_letters_whole() {
        assert_eq!(cut_to_interface("internalapi"), "internalapi");
        assert_eq!(cut_to_interface("a-very-long-network-name"), "a-very-long-net");
        assert_eq!(cut_to_interface("12345678901234ä"), "12345678901234");
    }
}
