//! loopback: switches the container's loopback on and off.

use std::net::IpAddr;

use landbridge_cni::environment::Command;
use landbridge_cni::result::{CniResult, Ip};

use crate::call::Call;
use crate::failure::{Context, Outcome, internal};
use crate::pod::{Pod, name_of};

pub(crate) fn run(call: &Call) -> Outcome<Option<CniResult>> {
    match call.environment.command {
        Command::Add => add(call).map(Some),
        Command::Del => del(call).map(|()| None),
        Command::Check => check(call).map(|()| None),
        _ => Ok(None),
    }
}

fn add(call: &Call) -> Outcome<CniResult> {
    let pod = Pod::open(call)?;
    let lo = name_of("lo")?;
    pod.net.set_up(&lo).doing(|| "failed to set \"lo\" UP".to_owned())?;
    if let Some(previous) = &call.input.previous {
        return Ok(previous.clone());
    }
    let link = pod.net.expect_link(&lo).doing(|| "failed to find \"lo\"".to_owned())?;
    let addresses = pod.net.addresses_of(link.index).doing(|| "addresses of \"lo\"".to_owned())?;
    let mut interface = pod.interface(&link);
    if interface.mac.is_empty() {
        "00:00:00:00:00:00".clone_into(&mut interface.mac);
    }
    let mut result = CniResult { interfaces: vec![interface], ..CniResult::default() };
    for v4 in [true, false] {
        let mut of_family = addresses.iter().filter(|address| address.ip().is_ipv4() == v4);
        let Some(first) = of_family.next() else { continue };
        if let Some(odd) = std::iter::once(first).chain(of_family).find(|a| !a.ip().is_loopback()) {
            return Err(internal(format!(
                "loopback interface found with non-loopback address \"{}\"",
                odd.net
            )));
        }
        result.ips.push(Ip { address: first.net, gateway: None, interface: Some(0) });
    }
    result.ips.sort_by_key(|ip| matches!(ip.address.addr(), IpAddr::V6(_)));
    Ok(result)
}

fn del(call: &Call) -> Outcome<()> {
    let Some(pod) = Pod::if_there(call)? else { return Ok(()) };
    pod.net.set_down(&name_of("lo")?).doing(|| "failed to set \"lo\" down".to_owned())
}

fn check(call: &Call) -> Outcome<()> {
    let pod = Pod::open(call)?;
    let link = pod.net.expect_link(&name_of("lo")?).doing(|| "failed to find \"lo\"".to_owned())?;
    if link.up { Ok(()) } else { Err(internal("loopback interface is down")) }
}
