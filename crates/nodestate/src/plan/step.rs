//! One thing to do.

use std::fmt;

use ipnet::IpNet;
use landbridge_linux::link::{BridgeVlan, Port};
use landbridge_linux::route::Family;
use landbridge_linux::{IfName, LinkKind, MacAddr, Route, Rule};

use crate::dhcp;
use crate::resolver::Resolver;
use crate::state::Kind;

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    StopDhcp {
        link: IfName,
        family: Family,
    },
    DeleteRule(Box<Rule>),
    DeleteRoute(Box<Route<IfName>>),
    /// Takes a link out of its bridge, bond or VRF.
    Detach {
        link: IfName,
        controller: IfName,
    },
    DeleteLink {
        link: IfName,
        kind: &'static str,
    },
    /// Makes a link, down. A VLAN gets its MTU at once: a wire has no base to take it from.
    CreateLink {
        link: IfName,
        kind: Kind,
        mtu: u32,
    },
    Options {
        link: IfName,
        options: LinkKind,
    },
    Describe {
        link: IfName,
        text: String,
    },
    Mac {
        link: IfName,
        mac: MacAddr,
    },
    Promiscuous {
        link: IfName,
        on: bool,
    },
    Set {
        link: IfName,
        setting: Setting,
        value: u8,
    },
    Attach {
        link: IfName,
        controller: IfName,
    },
    PortOptions {
        link: IfName,
        options: Port,
    },
    PortVlans {
        link: IfName,
        from: Vec<BridgeVlan>,
        to: Vec<BridgeVlan>,
    },
    Mtu {
        link: IfName,
        mtu: u32,
    },
    Up {
        link: IfName,
    },
    Down {
        link: IfName,
    },
    DeleteAddress {
        link: IfName,
        net: IpNet,
    },
    AddAddress {
        link: IfName,
        net: IpNet,
    },
    AddRoute(Box<Route<IfName>>),
    AddRule(Box<Rule>),
    Resolver(Resolver),
    /// The name the kernel knows.
    Hostname(String),
    /// The name after the next boot.
    HostnameFile(Option<String>),
    StartDhcp(dhcp::Request),
}

/// A sysctl of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    Ipv6Off,
    AcceptRa,
    Ipv4Forwarding,
    Ipv6Forwarding,
}

impl Step {
    /// The link it is about, where there is one.
    pub fn link(&self) -> Option<&IfName> {
        match self {
            Self::StopDhcp { link, .. }
            | Self::Detach { link, .. }
            | Self::DeleteLink { link, .. }
            | Self::CreateLink { link, .. }
            | Self::Options { link, .. }
            | Self::Describe { link, .. }
            | Self::Mac { link, .. }
            | Self::Promiscuous { link, .. }
            | Self::Set { link, .. }
            | Self::Attach { link, .. }
            | Self::PortOptions { link, .. }
            | Self::PortVlans { link, .. }
            | Self::Mtu { link, .. }
            | Self::Up { link }
            | Self::Down { link }
            | Self::DeleteAddress { link, .. }
            | Self::AddAddress { link, .. } => Some(link),
            Self::StartDhcp(request) => Some(&request.link),
            Self::AddRoute(route) | Self::DeleteRoute(route) => route.link.as_ref(),
            _ => None,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StopDhcp { link, family } => write!(f, "- dhcp {family} on {link}"),
            Self::DeleteRule(rule) => write!(f, "- rule {rule}"),
            Self::DeleteRoute(route) => write!(f, "- route {route}"),
            Self::Detach { link, controller } => write!(f, "~ {link}: leaves {controller}"),
            Self::DeleteLink { link, kind } => write!(f, "- {kind} {link}"),
            Self::CreateLink { link, kind, .. } => {
                write!(f, "+ {} {link}{}", kind.word(), about(kind))
            }
            Self::Options { link, options } => write!(f, "~ {link}: {}", options_in_words(options)),
            Self::Describe { link, text } => write!(f, "~ {link}: description {text:?}"),
            Self::Mac { link, mac } => write!(f, "~ {link}: mac-address {mac}"),
            Self::Promiscuous { link, on } => {
                write!(f, "~ {link}: accept-all-mac-addresses {on}")
            }
            Self::Set { link, setting, value } => write!(f, "~ {link}: {}", setting.says(*value)),
            Self::Attach { link, controller } => write!(f, "~ {link}: joins {controller}"),
            Self::PortOptions { link, options } => {
                let parts = [
                    options.hairpin.map(|on| format!("stp-hairpin-mode {on}")),
                    options.cost.map(|cost| format!("stp-path-cost {cost}")),
                    options.priority.map(|priority| format!("stp-priority {priority}")),
                ];
                let parts: Vec<String> = parts.into_iter().flatten().collect();
                write!(f, "~ {link}: as a port {}", parts.join(", "))
            }
            Self::PortVlans { link, to, .. } => {
                let word = |vlan: &BridgeVlan| {
                    let range = match (vlan.first, vlan.last) {
                        (first, last) if first == last => first.to_string(),
                        (first, last) => format!("{first}-{last}"),
                    };
                    if vlan.untagged { format!("{range} untagged") } else { range }
                };
                let words: Vec<String> = to.iter().map(word).collect();
                write!(f, "~ {link}: as a port VLANs {}", words.join(", "))
            }
            Self::Mtu { link, mtu } => write!(f, "~ {link}: mtu {mtu}"),
            Self::Up { link } => write!(f, "~ {link}: up"),
            Self::Down { link } => write!(f, "~ {link}: down"),
            Self::DeleteAddress { link, net } => write!(f, "- address {net} on {link}"),
            Self::AddAddress { link, net } => write!(f, "+ address {net} on {link}"),
            Self::AddRoute(route) => write!(f, "+ route {route}"),
            Self::AddRule(rule) => write!(f, "+ rule {rule}"),
            Self::Resolver(resolver) => write!(
                f,
                "~ resolver: server [{}], search [{}], options [{}]",
                resolver.servers.join(" "),
                resolver.search.join(" "),
                resolver.options.join(" ")
            ),
            Self::Hostname(name) => write!(f, "~ hostname {name}"),
            Self::HostnameFile(Some(name)) => write!(f, "~ hostname after a boot {name}"),
            Self::HostnameFile(None) => f.write_str("- hostname after a boot"),
            Self::StartDhcp(request) => write!(f, "+ dhcp {} on {}", request.family, request.link),
        }
    }
}

impl Setting {
    fn says(self, value: u8) -> String {
        let on = |value| if value == 0 { "off" } else { "on" };
        match self {
            Self::Ipv6Off => format!("ipv6 {}", on(u8::from(value == 0))),
            Self::AcceptRa => format!("ipv6 autoconf {}", on(value)),
            Self::Ipv4Forwarding => format!("ipv4 forwarding {}", on(value)),
            Self::Ipv6Forwarding => format!("ipv6 forwarding {}", on(value)),
        }
    }
}

fn about(kind: &Kind) -> String {
    match kind {
        Kind::Vlan { base, id, .. } => format!(" (id {id} of {base})"),
        Kind::Veth { peer } => format!(" (peer {peer})"),
        Kind::Vrf { table } => format!(" (table {table})"),
        Kind::Macvlan { base, .. } => format!(" (of {base})"),
        Kind::Vxlan { options, .. } => format!(" (id {})", options.id),
        _ => String::new(),
    }
}

/// The options that are given, by name.
fn options_in_words(options: &LinkKind) -> String {
    let value = match options {
        LinkKind::Bridge(options) => serde_json::to_value(options),
        LinkKind::Bond(options) => serde_json::to_value(options),
        LinkKind::Vxlan(options) => serde_json::to_value(options),
        other => return format!("options of {other}"),
    };
    let value = value.unwrap_or_default();
    let given = value.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let words: Vec<String> = given.map(|(key, value)| format!("{key} {value}")).collect();
    words.join(", ")
}
