//! Addresses and routes on the link of a container.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use landbridge_addr::net::Family;
use landbridge_cni::result::{CniResult, Route as Wanted};
use landbridge_linux::route::Protocol;
use landbridge_linux::sysctl::Conf;
use landbridge_linux::{Address, IfName, Link, LinkIndex, Route, Scope, Sysctl};

use crate::failure::{Context, Outcome, internal};
use crate::pod::{Pod, set_if_possible};

/// How long IPv6 addresses are waited for until their check for doubles is done.
const SETTLE: Duration = Duration::from_secs(5);

/// Sets what a result says of the interface: addresses, up, routes, in this order. Addresses of
/// no interface are left out; one of another interface is an error.
pub(crate) fn configure(pod: &Pod, name: &IfName, result: &CniResult) -> Outcome<()> {
    let link = pod.net.expect_link(name).doing(|| format!("failed to lookup {name:?}"))?;
    configure_link(pod, &link, result)
}

/// The same for a link that was just made, so that nobody has to ask for it again.
pub(crate) fn configure_link(pod: &Pod, link: &Link, result: &CniResult) -> Outcome<()> {
    let name = &link.name;
    let mut gateways: Vec<IpAddr> = Vec::new();
    let mut has_v6 = false;
    for ip in &result.ips {
        let Some(place) = ip.interface else { continue };
        if result.interfaces.get(place).is_none_or(|found| found.name != name.as_str()) {
            return Err(internal(format!(
                "failed to add IP addr {} to \"{name}\": invalid interface index",
                ip.address
            )));
        }
        if ip.address.addr().is_ipv6() && !has_v6 {
            enable_ipv6(pod, name)?;
            has_v6 = true;
        }
        pod.net
            .add_address(&Address::new(link.index, ip.address))
            .doing(|| format!("failed to add IP addr {} to \"{name}\"", ip.address))?;
        gateways.extend(ip.gateway);
    }
    pod.net.set_up(link).doing(|| format!("failed to set \"{name}\" UP"))?;
    if gateways.iter().any(IpAddr::is_ipv6) {
        settle(pod, name, link.index)?;
    }
    for wanted in &result.routes {
        let family = Family::of(wanted.dst.addr());
        let first = gateways.iter().copied().find(|gateway| Family::of(*gateway) == family);
        let gateway = wanted.gw.or(first);
        let route = route(wanted, gateway, link.index);
        // As the reference plugins: beside a route to the same destination, not in its place.
        pod.net.append_route(&route).doing(|| {
            let via = gateway.map_or("<nil>".to_owned(), |gateway| gateway.to_string());
            format!("failed to add route '{} via {via} dev {name}'", wanted.dst)
        })?;
    }
    Ok(())
}

/// A route in the kernel's words. Without attributes it has the marks the reference plugins leave.
fn route(wanted: &Wanted, gateway: Option<IpAddr>, link: LinkIndex) -> Route {
    if wanted.advmss != 0 {
        tracing::warn!(destination = %wanted.dst, "a route's advmss is left to the kernel");
    }
    let mut route = Route::dev(wanted.dst, link);
    route.gateway = gateway;
    route.scope = wanted.scope.map_or(Scope::Global, Scope::from);
    route.protocol = Protocol::BOOT;
    route.mtu = (wanted.mtu != 0).then_some(wanted.mtu);
    route.metric = (wanted.priority != 0).then_some(wanted.priority);
    route.table = wanted.table.unwrap_or(route.table);
    route
}

fn enable_ipv6(pod: &Pod, name: &IfName) -> Outcome<()> {
    let lo = IfName::new("lo").doing(|| "lo".to_owned())?;
    for link in [&lo, name] {
        let setting = Sysctl::disable_ipv6(Conf::Link(link));
        match pod.sysctls.read(&setting) {
            Ok(value) if value != "0" => pod
                .sysctls
                .write(&setting, "0")
                .doing(|| format!("failed to enable IPv6 for interface \"{link}\""))?,
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "whether IPv6 is off cannot be told"),
        }
    }
    set_if_possible(&pod.sysctls, Sysctl::ipv6(Conf::Link(name), "keep_addr_on_down"), "1");
    Ok(())
}

/// Waits until no address is tentative any more. A double is an error, told now rather than found
/// out by two pods that cannot be reached.
fn settle(pod: &Pod, name: &IfName, link: LinkIndex) -> Outcome<()> {
    let deadline = Instant::now() + SETTLE;
    loop {
        let addresses = pod
            .net
            .addresses_of(link)
            .doing(|| format!("could not list addresses of \"{name}\""))?;
        if let Some(double) = addresses.iter().find(|address| address.flags.dad_failed) {
            return Err(internal(format!(
                "link \"{name}\" has address {} in dadfailed state: another machine on the \
                 network has it",
                double.ip()
            )));
        }
        if !addresses.iter().any(|address| address.flags.tentative) {
            return Ok(());
        }
        if Instant::now() >= deadline {
            tracing::warn!(interface = %name, "IPv6 addresses are still tentative");
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
