//! host-device: a link of the node that moves into the container and comes back.
//!
//! Its name on the node is kept as its alias while it is away, as the reference plugin does. An
//! alias it had before is kept behind that name, after a tab, and put back too.

use std::path::Path;

use landbridge_cni::environment::Command;
use landbridge_cni::plugins::{Device, HostDevice};
use landbridge_cni::result::CniResult;
use landbridge_linux::{Handle, IfName, Link, LinkChange};

use crate::call::{Call, Ipams};
use crate::failure::{Context, Outcome, internal, refused};
use crate::pod::{Pod, mac_of, name_of, node, random_name, wanted_name};
use crate::{ask_ipam, ipam, macvlan, setup, verify};

pub(crate) fn run(call: &Call, ipams: &dyn Ipams) -> Outcome<Option<CniResult>> {
    match call.environment.command {
        // What comes back is known by its alias, not by a configuration that has changed since.
        Command::Del => return del(call, ipams).map(|()| None),
        Command::Gc | Command::Status => return ask_ipam(call, ipams, &ipam::kind_of(call)?),
        _ => {}
    }
    let config = HostDevice::read(&call.input).map_err(|error| refused(&error))?;
    match call.environment.command {
        Command::Check => check(call, &config, ipams).map(|()| None),
        _ => add(call, &config, ipams).map(Some),
    }
}

fn add(call: &Call, config: &HostDevice, ipams: &dyn Ipams) -> Outcome<CniResult> {
    let name = wanted_name(call)?;
    let pod = Pod::open(call)?;
    let node = node()?;
    let device = find(&node, &config.device)
        .map_err(|error| internal(format!("failed to find host device: {error}")))?;
    let link = move_in(&node, &device, &pod, &name)?;
    let result = CniResult { interfaces: vec![pod.interface(&link)], ..CniResult::default() };
    if config.ipam.is_empty() {
        return Ok(result);
    }
    let outcome = ipam::with_addresses(&config.ipam, call, ipams, |given| {
        let mut result = CniResult { ips: given.ips, routes: given.routes, ..result };
        result.ips.iter_mut().for_each(|ip| ip.interface = Some(0));
        setup::configure(&pod, &name, &result)?;
        Ok(result)
    });
    if outcome.is_err() {
        bring_back(&node, &device, &pod, &link);
    }
    outcome.map(|result| CniResult { dns: macvlan::dns(call), ..result })
}

/// The device a configuration means.
fn find(node: &Handle, device: &Device) -> Outcome<Link> {
    let name = match device {
        Device::Name(name) => name_of(name)?,
        Device::HardwareAddress(text) => {
            let mac = mac_of(text)?;
            let links = node.links().doing(|| "failed to list node links".to_owned())?;
            let found = links.into_iter().find(|link| link.mac == Some(mac));
            return found.ok_or_else(|| internal(format!("no link has the address {mac}")));
        }
        Device::KernelPath(path) => name_below(Path::new(path))?,
        Device::Pci(place) => {
            if place.contains('/') || place.starts_with('.') {
                return Err(internal(format!("{place:?} is no place on the PCI bus")));
            }
            name_below(&Path::new("/sys/bus/pci/devices").join(place))?
        }
    };
    let found = node.link(&name).doing(|| format!("failed to lookup \"{name}\""))?;
    found.ok_or_else(|| internal(format!("Link not found: no \"{name}\" on this node")))
}

/// The link that a device of the kernel's tree has.
fn name_below(device: &Path) -> Outcome<IfName> {
    let directory = device.join("net");
    let what = || format!("failed to find network devices at {}", directory.display());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&directory).doing(what)? {
        let entry = entry.doing(what)?;
        names.extend(entry.file_name().into_string());
    }
    names.sort();
    match names.as_slice() {
        [name] => name_of(name),
        _ => Err(internal(format!("{}: there are {}, wanted is one", what(), names.len()))),
    }
}

/// Moves the device in: down, under a name nobody has, then under its own, up. On failure it is
/// back where it was.
fn move_in(node: &Handle, device: &Link, pod: &Pod, name: &IfName) -> Outcome<Link> {
    let passing = random_name()?;
    let failed = || format!("failed to move link \"{}\"", device.name);
    if pod.net.link(name).doing(failed)?.is_some() {
        return Err(internal(format!("{}: the container has a link \"{name}\" already", failed())));
    }
    node.set_down(device).doing(failed)?;
    let moved = node.move_link(device, &pod.namespace, Some(&passing)).doing(failed);
    if let Err(error) = moved {
        if device.up {
            let _ = node.set_up(device);
        }
        return Err(error);
    }
    let dress = || -> landbridge_linux::Result<Link> {
        let alias = Some(alias_for(device.name.as_str(), device.alias.as_deref()));
        pod.net.change_link(&passing, &LinkChange { alias, ..LinkChange::default() })?;
        pod.net.rename(&passing, name)?;
        pod.net.set_up(name)?;
        pod.net.expect_link(name)
    };
    dress().doing(failed).inspect_err(|_| {
        for here in [name, &passing] {
            if let Ok(Some(link)) = pod.net.link(here) {
                bring_back(node, device, pod, &link);
            }
        }
    })
}

/// After a failed ADD: the device as it was on the node.
fn bring_back(node: &Handle, device: &Link, pod: &Pod, link: &Link) {
    let back = || -> Outcome<()> {
        move_out(pod, link, node)?;
        if device.up {
            node.set_up(&device.name).doing(|| format!("failed to set \"{}\" up", device.name))?;
        }
        Ok(())
    };
    if let Err(error) = back() {
        tracing::warn!(%error, device = %device.name, "a device of a failed ADD stays away");
    }
}

/// Addresses first, then the device; one that fails does not keep the other.
fn del(call: &Call, ipams: &dyn Ipams) -> Outcome<()> {
    let kind = ipam::kind_of(call)?;
    // An address is given back when nobody answers for it any more.
    if let Some(pod) = Pod::if_there(call)? {
        let name = wanted_name(call)?;
        let what = || format!("failed to find \"{name}\"");
        if let Some(link) = pod.net.link(&name).doing(what)? {
            move_out(&pod, &link, &node()?)?;
        }
    }
    ipam::del(&kind, call, ipams)
}

/// Moves the device back to the node, under the name it had there, without addresses.
fn move_out(pod: &Pod, link: &Link, node: &Handle) -> Outcome<()> {
    let (name, alias) = of_alias(link.alias.as_deref().unwrap_or_default());
    let name = if name.is_empty() { link.name.clone() } else { name_of(name)? };
    let failed = || format!("failed to move \"{}\" to host netns as \"{name}\"", link.name);
    pod.net.set_down(link).doing(failed)?;
    pod.net.flush_addresses(link.index).doing(failed)?;
    pod.net.move_link(link, node.namespace(), Some(&name)).doing(failed)?;
    let alias = Some(alias.to_owned());
    node.change_link(&name, &LinkChange { alias, ..LinkChange::default() }).doing(failed)
}

fn alias_for(name: &str, alias: Option<&str>) -> String {
    match alias {
        None | Some("") => name.to_owned(),
        Some(alias) => format!("{name}\t{alias}"),
    }
}

fn of_alias(alias: &str) -> (&str, &str) {
    alias.split_once('\t').unwrap_or((alias, ""))
}

fn check(call: &Call, config: &HostDevice, ipams: &dyn Ipams) -> Outcome<()> {
    ipam::check(&config.ipam, call, ipams)?;
    let result = verify::previous(call)?;
    let told = verify::container_interface(call, result)?;
    let pod = Pod::open(call)?;
    verify::container_link(&pod, told, "")?;
    if config.ipam.is_empty() {
        return Ok(());
    }
    verify::addresses_and_routes(&pod, call, result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_remembers_the_name_and_what_was_there() {
        for (name, alias) in [("eth0", None), ("eth0", Some("landbridge:vlan base=a id=7"))] {
            let kept = alias_for(name, alias);
            assert_eq!(of_alias(&kept), (name, alias.unwrap_or_default()));
        }
        assert_eq!(of_alias(""), ("", ""));
    }
}
