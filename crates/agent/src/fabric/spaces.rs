//! Namespaces with a name: made, set up, and found again.

use std::path::Path;

use anyhow::Context as _;
use landbridge_linux::namespace::named;
use landbridge_linux::sysctl::{Conf, Sysctl};
use landbridge_linux::{Handle, IfName, Sysctls};

/// What a namespace is for decides how it is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Bridges, which have nothing to say for themselves.
    Bridges,
    Router,
    Instance,
}

impl Use {
    fn settings(self) -> anyhow::Result<Vec<(Sysctl, &'static str)>> {
        // A new namespace has the host's settings of IPv4, whatever these are.
        let no_filter = || [Sysctl::rp_filter(Conf::All), Sysctl::rp_filter(Conf::Default)];
        Ok(match self {
            Self::Bridges => vec![
                (Sysctl::disable_ipv6(Conf::All), "1"),
                (Sysctl::disable_ipv6(Conf::Default), "1"),
                (Sysctl::ipv4_forwarding(), "0"),
                // Without these, bridged packets meet no rule of a group.
                (Sysctl::parse("net.bridge.bridge-nf-call-iptables")?, "1"),
                (Sysctl::parse("net.bridge.bridge-nf-call-ip6tables")?, "1"),
            ],
            Self::Router => {
                let mut all: Vec<_> = no_filter().into_iter().map(|name| (name, "0")).collect();
                all.push((Sysctl::ipv4_forwarding(), "1"));
                all.push((Sysctl::ipv6_forwarding(), "1"));
                all
            }
            Self::Instance => {
                let mut all: Vec<_> = no_filter().into_iter().map(|name| (name, "0")).collect();
                all.push((Sysctl::ipv4_forwarding(), "0"));
                // An instance is told its addresses; nobody else tells it others.
                all.push((Sysctl::accept_ra(Conf::All), "0"));
                all.push((Sysctl::accept_ra(Conf::Default), "0"));
                all
            }
        })
    }
}

/// The namespace of a name: the one that is there, or a new one, set up. An instance is set up once: then it is its owner's.
pub fn ensure(directory: &Path, name: &str, purpose: Use) -> anyhow::Result<Handle> {
    let found = named::list(directory)?.iter().any(|there| there == name);
    let namespace =
        if found { named::open(directory, name) } else { named::create(directory, name) };
    let namespace = namespace?;
    let net = Handle::in_namespace(&namespace)?;
    if found && purpose == Use::Instance {
        return Ok(net);
    }
    let ready = || -> anyhow::Result<()> {
        net.set_up(&IfName::new("lo")?)?;
        let sysctls = Sysctls::of(&namespace);
        for (setting, value) in purpose.settings()? {
            let bridge = setting.to_string().starts_with("net.bridge");
            let outcome = sysctls.ensure(&setting, value);
            if bridge {
                outcome.context(
                    "security groups cannot be enforced: the kernel has no br_netfilter here (modprobe br_netfilter on the host)",
                )?;
            } else {
                outcome?;
            }
        }
        Ok(())
    };
    let outcome = ready();
    if outcome.is_err() && !found {
        // Half of a namespace would be taken for a whole one next time.
        let _ = named::delete(directory, name);
    }
    outcome.with_context(|| format!("cannot set up namespace {name}"))?;
    Ok(net)
}
