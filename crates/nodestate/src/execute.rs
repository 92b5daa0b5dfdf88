//! Doing the steps of a plan.

use landbridge_linux::link::{LinkKind, Master};
use landbridge_linux::sysctl::Conf;
use landbridge_linux::{
    Address, Handle, IfName, LinkChange, LinkIndex, NewLink, Result, Route, Sysctl, Sysctls,
};
use rustix::io::Errno;

use crate::dhcp::Dhcp;
use crate::error::told;
use crate::files::Files;
use crate::plan::{Setting, Step};
use crate::state::Kind;
use crate::wires::{self, VlanLink, WireError, Wires};

/// What steps are done with.
pub(crate) struct Hands<'a> {
    pub(crate) net: &'a Handle,
    pub(crate) wires: &'a dyn Wires,
    pub(crate) dhcp: &'a dyn Dhcp,
    pub(crate) files: &'a Files,
}

impl Hands<'_> {
    /// Does one step, or says why not.
    pub(crate) fn perform(&self, step: &Step) -> std::result::Result<(), String> {
        match step {
            Step::StopDhcp { link, family } => self.dhcp.stop(link, *family),
            Step::StartDhcp(request) => self.dhcp.start(request),
            Step::CreateLink { link, kind, mtu } => self.create(link, kind, *mtu),
            Step::Resolver(resolver) => {
                self.files.write_resolver(resolver).map_err(|error| error.to_string())
            }
            Step::Hostname(name) => rustix::system::sethostname(name.as_bytes())
                .map_err(|error| format!("{error} (it needs CAP_SYS_ADMIN)")),
            Step::HostnameFile(name) => {
                self.files.write_hostname(name.as_deref()).map_err(|error| error.to_string())
            }
            step => self.by_netlink(step).map_err(|error| told(&error)),
        }
    }

    fn by_netlink(&self, step: &Step) -> Result<()> {
        let net = self.net;
        match step {
            Step::DeleteRule(rule) => net.delete_rule(rule).map(drop),
            Step::AddRule(rule) => net.ensure_rule(rule).map(drop),
            Step::DeleteRoute(route) => match self.numbered(route)? {
                Some(route) => net.delete_route(&route).map(drop),
                None => Ok(()),
            },
            Step::AddRoute(route) => match self.numbered(route)? {
                Some(route) => self.add_route(&route),
                None => Ok(()),
            },
            Step::Detach { link, .. } => {
                self.change(link, |change| change.master = Some(Master::None))
            }
            Step::DeleteLink { link, .. } => net.delete_link(link).map(drop),
            Step::Options { link, options } => {
                self.down_if_busy(link, || net.change_options(link, options))
            }
            Step::Describe { link, text } => {
                // A wire's alias says what it is; the description stands behind that.
                let found = net.expect_link(link)?;
                let (wire, _) = wires::parse_alias(found.alias.as_deref().unwrap_or_default());
                let alias = match wire {
                    Some(wire) => wires::alias(&wire, Some(text)),
                    None => text.clone(),
                };
                self.change(link, |change| change.alias = Some(alias.clone()))
            }
            Step::Mac { link, mac } => {
                self.down_if_busy(link, || self.change(link, |change| change.mac = Some(*mac)))
            }
            Step::Promiscuous { link, on } => {
                self.change(link, |change| change.promiscuous = Some(*on))
            }
            Step::Set { link, setting, value } => self.set(link, *setting, *value),
            Step::Attach { link, controller } => self.attach(link, controller),
            Step::PortOptions { link, options } => net.change_port(link, *options),
            Step::PortVlans { link, from, to } => {
                let port = net.index(link)?;
                for vlan in from.iter().filter(|vlan| !to.contains(vlan)) {
                    net.delete_bridge_vlan(port, *vlan)?;
                }
                for vlan in to.iter().filter(|vlan| !from.contains(vlan)) {
                    net.add_bridge_vlan(port, *vlan)?;
                }
                Ok(())
            }
            Step::Mtu { link, mtu } => self.change(link, |change| change.mtu = Some(*mtu)),
            Step::Up { link } => net.set_up(link),
            Step::Down { link } => net.set_down(link),
            Step::DeleteAddress { link, net: address } => {
                let index = net.index(link)?;
                let found =
                    net.addresses_of(index)?.into_iter().find(|found| found.net == *address);
                found.map_or(Ok(()), |found| net.delete_address(&found).map(drop))
            }
            Step::AddAddress { link, net: address } => {
                net.ensure_address(&Address::new(net.index(link)?, *address)).map(drop)
            }
            Step::StopDhcp { .. }
            | Step::StartDhcp(_)
            | Step::CreateLink { .. }
            | Step::Resolver(_)
            | Step::Hostname(_)
            | Step::HostnameFile(_) => Ok(()),
        }
    }

    fn change(&self, link: &IfName, set: impl Fn(&mut LinkChange)) -> Result<()> {
        let mut change = LinkChange::default();
        set(&mut change);
        self.net.change_link(link, &change)
    }

    fn create(&self, link: &IfName, kind: &Kind, mtu: u32) -> std::result::Result<(), String> {
        let mtu = (mtu != 0).then_some(mtu);
        let made = match kind {
            Kind::Vlan { base, id, protocol } => {
                let vlan = VlanLink {
                    name: link.clone(),
                    base: base.clone(),
                    id: *id,
                    protocol: *protocol,
                    mtu,
                };
                return self.wires.make_vlan(self.net, &vlan).map_err(|error| match error {
                    WireError::Linux(error) => told(&error),
                    WireError::Refused(why) => why,
                });
            }
            Kind::Veth { peer } => {
                let end = |name: &IfName| NewLink::new(name.clone(), LinkKind::Veth);
                self.net.create_veth(&end(link), &end(peer), None)
            }
            kind => self.create_on(link, kind),
        };
        made.map(drop).map_err(|error| told(&error))
    }

    fn create_on(&self, link: &IfName, kind: &Kind) -> Result<landbridge_linux::Link> {
        let mut new = NewLink::new(link.clone(), kind.link_kind());
        if let Some(base) = kind.parent() {
            new.parent = Some(self.net.index(base)?);
        }
        self.net.create_link(&new)
    }

    /// A bond takes only ports that are down.
    fn attach(&self, link: &IfName, controller: &IfName) -> Result<()> {
        let above = self.net.expect_link(controller)?;
        if matches!(above.kind, LinkKind::Bond(_)) {
            self.net.set_down(link)?;
        }
        self.change(link, |change| change.master = Some(Master::Link(above.index)))
    }

    fn set(&self, link: &IfName, setting: Setting, value: u8) -> Result<()> {
        let conf = Conf::Link(link);
        let name = match setting {
            Setting::Ipv6Off => Sysctl::disable_ipv6(conf),
            Setting::AcceptRa => Sysctl::accept_ra(conf),
            Setting::Ipv4Forwarding => Sysctl::ipv4(conf, "forwarding")?,
            Setting::Ipv6Forwarding => Sysctl::ipv6(conf, "forwarding")?,
        };
        Sysctls::of(self.net.namespace()).write(&name, value)
    }

    /// The route with links by number; nothing where one has gone, for then the route has, too.
    fn numbered(&self, route: &Route<IfName>) -> Result<Option<Route>> {
        let mut numbers: Vec<(&IfName, LinkIndex)> = Vec::new();
        for name in route.links() {
            match self.net.link(name)? {
                Some(link) => numbers.push((name, link.index)),
                None => return Ok(None),
            }
        }
        Ok(route.map_links(|name| {
            numbers.iter().find(|(known, _)| *known == name).map(|(_, index)| *index)
        }))
    }

    /// Beside others to the same destination, as nmstate has it.
    fn add_route(&self, route: &Route) -> Result<()> {
        match self.net.add_route(route) {
            Err(error) if error.is_present() => match self.net.append_route(route) {
                Err(error) if error.is_present() => Ok(()),
                outcome => outcome,
            },
            outcome => outcome,
        }
    }

    /// Some links change only while they are down.
    fn down_if_busy(&self, link: &IfName, change: impl Fn() -> Result<()>) -> Result<()> {
        match change() {
            Err(error) if error.errno() == Some(Errno::BUSY.raw_os_error()) => {
                let up = self.net.expect_link(link)?.up;
                self.net.set_down(link)?;
                change()?;
                if up { self.net.set_up(link) } else { Ok(()) }
            }
            outcome => outcome,
        }
    }
}
