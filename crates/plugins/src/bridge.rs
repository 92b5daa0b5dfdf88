//! bridge: a pair of links, one end in the container, the other on a bridge of the node.

mod gateway;
mod vlans;

use std::time::Duration;

use landbridge_cni::environment::Command;
use landbridge_cni::plugins::{Bridge, MasqueradeBackend};
use landbridge_cni::result::CniResult;
use landbridge_linux::link::{Bridge as Kind, Fine, OperState, Port};
use landbridge_linux::sysctl::Conf;
use landbridge_linux::{Address, Handle, IfName, Link, LinkKind, NewLink, Sysctl, Sysctls};

use crate::call::{Call, Ipams};
use crate::failure::{Context, Outcome, internal, refused, unsupported};
use crate::pod::{
    Pod, gone, interface, mac_of, name_of, node, random_name, set_if_possible, wanted_name,
};
use crate::{ask_ipam, ipam, macvlan, nft, setup, verify};

/// The place of the container's end in the result: after the bridge and the node's end.
const CONTAINER: usize = 2;

pub(crate) fn run(call: &Call, ipams: &dyn Ipams) -> Outcome<Option<CniResult>> {
    let args = &call.environment.args;
    match call.environment.command {
        // What DEL takes away does not depend on a configuration that has changed since.
        Command::Del => return del(call, ipams).map(|()| None),
        Command::Gc | Command::Status => return ask_ipam(call, ipams, &ipam::kind_of(call)?),
        _ => {}
    }
    args.only(&["MAC"]).map_err(|error| refused(&error))?;
    let config = Bridge::read(&call.input, args).map_err(|error| refused(&error))?;
    match call.environment.command {
        Command::Check => check(call, &config, ipams).map(|()| None),
        _ => add(call, &config, ipams).map(Some),
    }
}

fn add(call: &Call, config: &Bridge, ipams: &dyn Ipams) -> Outcome<CniResult> {
    can_do(config)?;
    let name = wanted_name(call)?;
    let node = node()?;
    let bridge = bridge(&node, config)?;
    let pod = Pod::open(call)?;
    let (near, far) = pair(config, &node, &bridge, &pod, &name)?;
    let interfaces = vec![interface(&bridge), interface(&near), pod.interface(&far)];
    let result = CniResult { interfaces, ..CniResult::default() };
    let outcome = protect(call, config, &near, &far)
        .and_then(|()| {
            if config.ipam.is_empty() {
                if !config.disable_container_interface {
                    pod.net.set_up(&name).doing(|| format!("failed to set \"{name}\" UP"))?;
                }
                return Ok(result);
            }
            ipam::with_addresses(&config.ipam, call, ipams, |given| {
                let mut result =
                    CniResult { ips: given.ips, routes: given.routes, dns: given.dns, ..result };
                let gateways = gateway::plan(&mut result, config, CONTAINER);
                attend(config, &pod, &name);
                setup::configure(&pod, &name, &result)?;
                wait_for_port(&node, &near)?;
                let mut holder = bridge.clone();
                if let Some(id) = config.vlan.filter(|_| !gateways.is_empty()) {
                    holder = vlans::gateway(&node, &bridge, id, config)?;
                    result.interfaces.push(interface(&holder));
                }
                for net in gateways {
                    give_address(&node, &holder, net, config.force_address)?;
                    forward(&node, net.addr().is_ipv4())?;
                }
                if config.masquerade {
                    let nets: Vec<_> = result.ips.iter().map(|ip| ip.address).collect();
                    nft::apply(&nft::masquerade(&nft::owner(call), &nets))?;
                }
                Ok(result)
            })
        })
        .and_then(|result| finish(call, &node, result));
    if outcome.is_err() {
        pod.undo_link(&name);
        forget_rules(call);
    }
    outcome
}

/// What this plugin does not do is said before anything is made.
fn can_do(config: &Bridge) -> Outcome<()> {
    if config.masquerade && config.masquerade_backend == Some(MasqueradeBackend::Iptables) {
        return Err(unsupported(
            "bridge: ipMasqBackend \"iptables\" is not supported: leave it out or say \"nftables\"",
        ));
    }
    Ok(())
}

/// The bridge, made where it is missing; one that is there keeps its MTU and its VLAN filtering.
fn bridge(node: &Handle, config: &Bridge) -> Outcome<Link> {
    let name = name_of(&config.bridge)?;
    let what = || format!("failed to create bridge \"{name}\"");
    let found = if let Some(found) = node.link(&name).doing(what)? {
        found
    } else {
        let mut kind = Kind::default();
        if config.filters_vlans() {
            vlans::can_be_filtered()?;
            kind.vlan_filtering = Some(true);
        }
        let mut wanted = NewLink::new(name.clone(), LinkKind::Bridge(kind));
        wanted.mtu = (config.mtu != 0).then_some(config.mtu);
        match node.create_link(&wanted) {
            // Another pod's ADD was faster.
            Err(error) if error.is_present() => node.expect_link(&name).doing(what)?,
            outcome => outcome.doing(what)?,
        }
    };
    if !matches!(found.kind, LinkKind::Bridge(_)) {
        return Err(internal(format!("{}: \"{name}\" already exists but is not a bridge", what())));
    }
    if config.filters_vlans() {
        vlans::is_filtered(&found)?;
    }
    if config.promiscuous {
        let all = Fine { promiscuous: Some(true), ..Fine::default() };
        node.set_fine(&name, &all)
            .doing(|| format!("could not set promiscuous mode on \"{name}\""))?;
    }
    // The routes of this link are ours, not some router's.
    let sysctls = Sysctls::of(node.namespace());
    set_if_possible(&sysctls, Ok(Sysctl::accept_ra(Conf::Link(&name))), "0");
    if !found.up {
        node.set_up(&name).doing(what)?;
    }
    Ok(found)
}

/// The pair: the node's end on the bridge and up, the container's end down. Nothing on failure.
fn pair(
    config: &Bridge,
    node: &Handle,
    bridge: &Link,
    pod: &Pod,
    name: &IfName,
) -> Outcome<(Link, Link)> {
    let near_name = random_name()?;
    let mut near = NewLink::new(near_name.clone(), LinkKind::Veth).in_master(bridge.index);
    near.mtu = (config.mtu != 0).then_some(config.mtu);
    let mut far = NewLink::new(name.clone(), LinkKind::Veth);
    far.mtu = near.mtu;
    far.mac = config.mac.as_deref().map(mac_of).transpose()?;
    node.create_veth(&near, &far, Some(&pod.namespace)).map_err(|error| {
        if error.is_present() {
            internal(format!("container veth name provided ({name}) already exists"))
        } else {
            internal(format!("failed to make veth pair: {error}"))
        }
    })?;
    let finish = || -> Outcome<(Link, Link)> {
        let sysctls = Sysctls::of(node.namespace());
        set_if_possible(&sysctls, Ok(Sysctl::accept_ra(Conf::Link(&near_name))), "0");
        if config.hairpin || config.port_isolation {
            let port = Port {
                hairpin: config.hairpin.then_some(true),
                isolated: config.port_isolation.then_some(true),
                ..Port::default()
            };
            node.change_port(&near_name, port)
                .doing(|| format!("failed to setup hairpin mode for {near_name}"))?;
        }
        // Before the port is on: no packet goes to the wrong VLAN.
        let port =
            node.expect_link(&near_name).doing(|| format!("failed to lookup \"{near_name}\""))?;
        vlans::give(node, bridge, &port, config)?;
        node.set_up(&near_name).doing(|| format!("failed to set \"{near_name}\" up"))?;
        let near =
            node.expect_link(&near_name).doing(|| format!("failed to lookup \"{near_name}\""))?;
        let far = pod.net.expect_link(name).doing(|| format!("failed to lookup \"{name}\""))?;
        Ok((near, far))
    };
    finish().inspect_err(|_| pod.undo_link(name))
}

/// What the container's end pays attention to before it gets its addresses.
fn attend(config: &Bridge, pod: &Pod, name: &IfName) {
    let conf = Conf::Link(name);
    if config.duplicate_address_detection {
        set_if_possible(&pod.sysctls, Sysctl::ipv6(conf, "enhanced_dad"), "1");
        set_if_possible(&pod.sysctls, Ok(Sysctl::accept_dad(conf)), "1");
    } else {
        set_if_possible(&pod.sysctls, Ok(Sysctl::accept_dad(conf)), "0");
    }
    pod.announce(name);
}

/// Waits until the node's end passes packets.
fn wait_for_port(node: &Handle, near: &Link) -> Outcome<()> {
    let mut state = near.state;
    for pause in [0, 50, 500, 1000, 1000] {
        std::thread::sleep(Duration::from_millis(pause));
        let what = || format!("failed to lookup \"{}\"", near.name);
        state = node.expect_link(near.index).doing(what)?.state;
        if state == OperState::Up {
            return Ok(());
        }
    }
    Err(internal(format!("bridge port in error state: {}", format!("{state:?}").to_lowercase())))
}

/// Gives the bridge an address of the subnet.
fn give_address(node: &Handle, bridge: &Link, net: ipnet::IpNet, force: bool) -> Outcome<()> {
    let what = || "failed to set bridge addr: could not get list of IP addresses".to_owned();
    let there = node.addresses_of(bridge.index).doing(what)?;
    if there.iter().any(|found| found.net == net) {
        return Ok(());
    }
    for found in there.iter().filter(|found| gateway::conflict(found.net, net)) {
        if !force {
            return Err(internal(format!(
                "failed to set bridge addr: \"{}\" already has an IP address different from {net}",
                bridge.name
            )));
        }
        node.delete_address(found).doing(|| {
            format!(
                "failed to set bridge addr: could not remove IP address from \"{}\"",
                bridge.name
            )
        })?;
    }
    match node.add_address(&Address::new(bridge.index, net)) {
        Err(error) if !error.is_present() => Err(error).doing(|| {
            format!("failed to set bridge addr: could not add IP address to \"{}\"", bridge.name)
        })?,
        _ => {}
    }
    // A bridge takes the lowest address of its ports and changes it as they come and go, unless it
    // was given one.
    if let Some(mac) = bridge.mac {
        node.set_mac(bridge, mac).doing(|| "could not set bridge's mac".to_owned())?;
    }
    Ok(())
}

fn forward(node: &Handle, v4: bool) -> Outcome<()> {
    let setting = if v4 { Sysctl::ipv4_forwarding() } else { Sysctl::ipv6_forwarding() };
    Sysctls::of(node.namespace())
        .ensure(&setting, "1")
        .map(drop)
        .doing(|| "failed to enable forwarding".to_owned())
}

fn protect(call: &Call, config: &Bridge, near: &Link, far: &Link) -> Outcome<()> {
    if !config.mac_spoof_check {
        return Ok(());
    }
    let mac = far.mac.map(|mac| mac.to_string()).unwrap_or_default();
    nft::apply(&nft::no_spoofing(&nft::owner(call), near.name.as_str(), &mac))
}

/// What changed meanwhile, and what the configuration tells resolvers.
fn finish(call: &Call, node: &Handle, mut result: CniResult) -> Outcome<CniResult> {
    for place in [0, 1] {
        let Some(told) = result.interfaces.get_mut(place) else { continue };
        let name = name_of(&told.name)?;
        *told =
            interface(&node.expect_link(&name).doing(|| format!("could not lookup \"{name}\""))?);
    }
    let dns = macvlan::dns(call);
    if !dns.is_empty() {
        result.dns = dns;
    }
    Ok(result)
}

fn del(call: &Call, ipams: &dyn Ipams) -> Outcome<()> {
    if let Some(pod) = Pod::if_there(call)? {
        let name = wanted_name(call)?;
        gone(pod.start_delete(&name)?)?;
    }
    let released = ipam::del(&ipam::kind_of(call)?, call, ipams);
    let asked = |key| call.input.keys.get(key) == Some(&serde_json::Value::Bool(true));
    if asked("ipMasq") || asked("macspoofchk") {
        forget_rules(call);
    }
    released
}

/// Rules that stay match nothing any more: the pair is gone, so this is no reason to fail.
fn forget_rules(call: &Call) {
    let owner = nft::owner(call);
    for place in [nft::MASQUERADE, nft::SPOOFING] {
        if let Err(error) = nft::remove(place, &owner) {
            tracing::warn!(%error, "packet filter rules of a container stay behind");
        }
    }
}

fn check(call: &Call, config: &Bridge, ipams: &dyn Ipams) -> Outcome<()> {
    ipam::check(&config.ipam, call, ipams)?;
    let result = verify::previous(call)?;
    let told = verify::container_interface(call, result)?;
    let pod = Pod::open(call)?;
    let node = node()?;
    let name = name_of(&config.bridge)?;
    let bridge = node.link(&name).doing(|| format!("failed to lookup \"{name}\""))?;
    let bridge = bridge
        .filter(|found| matches!(found.kind, LinkKind::Bridge(_)))
        .ok_or_else(|| internal(format!("bridge \"{name}\" not found, or no bridge")))?;
    let link = verify::container_link(&pod, told, "veth")?;
    let near = match link.peer {
        Some(peer) => node.link(peer.index).doing(|| "failed to lookup host veth".to_owned())?,
        None => None,
    };
    let near = near.ok_or_else(|| {
        internal(format!("the other end of container interface {} is not on this node", link.name))
    })?;
    if near.master != Some(bridge.index) {
        return Err(internal(format!("\"{}\" is not on bridge \"{name}\"", near.name)));
    }
    vlans::check(&node, &near, config)?;
    if !config.ipam.is_empty() {
        verify::addresses_and_routes(&pod, call, result)?;
    }
    Ok(())
}
