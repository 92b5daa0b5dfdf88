//! macvlan: an interface with a hardware address of its own on a master.

use landbridge_cni::environment::Command;
use landbridge_cni::plugins::{Macvlan, MacvlanMode as Mode, Master, check_mtu};
use landbridge_cni::result::{CniResult, Dns};
use landbridge_linux::link::{Macvlan as Kind, MacvlanMode};
use landbridge_linux::route::table;
use landbridge_linux::{Handle, IfName, Link, LinkKind, NewLink};

use crate::call::{Call, Ipams};
use crate::failure::{Context, Outcome, internal, refused};
use crate::ipam::Unmade;
use crate::pod::{Pod, gone, mac_of, name_of, node, random_name, wanted_name};
use crate::{ask_ipam, ipam, setup, verify};

pub(crate) fn run(call: &Call, ipams: &dyn Ipams) -> Outcome<Option<CniResult>> {
    let args = &call.environment.args;
    match call.environment.command {
        // What DEL takes away does not depend on a configuration that has changed since.
        Command::Del => return del(call, ipams).map(|()| None),
        Command::Gc | Command::Status => return ask_ipam(call, ipams, &ipam::kind_of(call)?),
        _ => {}
    }
    args.only(&["MAC"]).map_err(|error| refused(&error))?;
    let config = Macvlan::read(&call.input, args).map_err(|error| refused(&error))?;
    match call.environment.command {
        Command::Check => check(call, &config, ipams).map(|()| None),
        _ => add(call, &config, ipams).map(Some),
    }
}

fn add(call: &Call, config: &Macvlan, ipams: &dyn Ipams) -> Outcome<CniResult> {
    let name = wanted_name(call)?;
    let make = || -> Result<(Pod, Link), Unmade> {
        let pod = Pod::open(call)?;
        vacant(&pod, &name)?;
        let link = create(call, config, &pod)?;
        Ok((pod, link))
    };
    let only = |pod: &Pod, link: &Link| CniResult {
        interfaces: vec![pod.interface(link)],
        ..CniResult::default()
    };
    let (pod, outcome) = if config.ipam.is_empty() {
        let (pod, link) = make().map_err(Unmade::into_error)?;
        let up = pod.net.set_up(&link).doing(|| format!("failed to set \"{name}\" UP"));
        let outcome = up.map(|()| only(&pod, &link));
        (pod, outcome)
    } else {
        let make_and_announce = || make().inspect(|(pod, _)| pod.announce(&name));
        let ((pod, link), given) = ipam::add_beside(&config.ipam, call, ipams, make_and_announce)?;
        let outcome = given.and_then(|given| {
            let mut result =
                CniResult { ips: given.ips, routes: given.routes, ..only(&pod, &link) };
            result.ips.iter_mut().for_each(|ip| ip.interface = Some(0));
            let done = setup::configure_link(&pod, &link, &result);
            ipam::or_release(&config.ipam, call, ipams, done).map(|()| result)
        });
        (pod, outcome)
    };
    if outcome.is_err() {
        pod.undo_link(&name);
    }
    outcome.map(|result| CniResult { dns: dns(call), ..result })
}

/// Whether the container has no link of that name.
fn vacant(pod: &Pod, name: &IfName) -> Result<(), Unmade> {
    let what = || format!("failed to rename macvlan to \"{name}\"");
    if pod.net.link(name).doing(what)?.is_some() {
        let text = format!("{}: the container has a link of that name already", what());
        return Err(Unmade::Present(internal(text)));
    }
    Ok(())
}

/// What the configuration itself tells resolvers.
pub(crate) fn dns(call: &Call) -> Dns {
    let told = call.input.keys.get("dns").cloned();
    told.and_then(|dns| serde_json::from_value(dns).ok()).unwrap_or_default()
}

/// The link in the container at once, under its own name. A name that the node has too is refused;
/// then it is made under one that nobody has, and renamed.
fn create(call: &Call, config: &Macvlan, pod: &Pod) -> Outcome<Link> {
    let node = node()?;
    let around = if config.link_in_container { &pod.net } else { &node };
    let master = master(around, &config.master)?;
    check_mtu(config.mtu, master.mtu).map_err(|error| refused(&error))?;
    let name = wanted_name(call)?;
    let kind = LinkKind::Macvlan(Kind { mode: mode(config.mode) });
    let mut wanted = NewLink::new(name.clone(), kind).on(master.index);
    wanted.mtu = (config.mtu != 0).then_some(config.mtu);
    wanted.mac = config.mac.as_deref().map(mac_of).transpose()?;
    if config.broadcast_queue != 0 {
        tracing::warn!(bcqueuelen = config.broadcast_queue, "bcqueuelen is left to the kernel");
    }
    let failed = || "failed to create macvlan".to_owned();
    let fetch =
        || pod.net.expect_link(&name).doing(|| format!("failed to refetch macvlan \"{name}\""));
    match around.create_link_in(&wanted, &pod.namespace) {
        Err(error) if error.is_present() => {}
        outcome => return outcome.doing(failed).and_then(|()| fetch()),
    }
    let passing = random_name()?;
    wanted.name = passing.clone();
    around.create_link_in(&wanted, &pod.namespace).doing(failed)?;
    let renamed = pod
        .net
        .rename(&passing, &name)
        .doing(|| format!("failed to rename macvlan to \"{name}\""))
        .and_then(|()| fetch());
    if renamed.is_err() {
        pod.undo_link(&passing);
    }
    renamed
}

fn mode(mode: Mode) -> MacvlanMode {
    match mode {
        Mode::Bridge => MacvlanMode::Bridge,
        Mode::Private => MacvlanMode::Private,
        Mode::Vepa => MacvlanMode::Vepa,
        Mode::Passthru => MacvlanMode::Passthru,
    }
}

/// The link it hangs on.
fn master(around: &Handle, master: &Master) -> Outcome<Link> {
    match master {
        Master::Named(name) => {
            let what = || format!("failed to lookup master {name:?}");
            let found = around.link(&name_of(name)?).doing(what)?;
            found.ok_or_else(|| internal(format!("{}: Link not found", what())))
        }
        Master::OfDefaultRoute => {
            let routes =
                around.routes_of(table::MAIN).doing(|| "failed to list routes".to_owned())?;
            let default = routes
                .iter()
                .filter(|route| route.destination.prefix_len() == 0)
                .filter(|route| route.destination.addr().is_ipv4())
                .find_map(|route| route.link);
            let index = default.ok_or_else(|| internal("no default route interface found"))?;
            around.expect_link(index).doing(|| "failed to lookup the default interface".to_owned())
        }
    }
}

/// The link first: an address is given back when nobody answers for it any more.
fn del(call: &Call, ipams: &dyn Ipams) -> Outcome<()> {
    let kind = ipam::kind_of(call)?;
    if let Some(pod) = Pod::if_there(call)? {
        let name = wanted_name(call)?;
        gone(pod.start_delete(&name)?)?;
    }
    ipam::del(&kind, call, ipams)
}

fn check(call: &Call, config: &Macvlan, ipams: &dyn Ipams) -> Outcome<()> {
    ipam::check(&config.ipam, call, ipams)?;
    let result = verify::previous(call)?;
    let told = verify::container_interface(call, result)?;
    let pod = Pod::open(call)?;
    let node = node()?;
    let around = if config.link_in_container { &pod.net } else { &node };
    let master = master(around, &config.master)?;
    let link = verify::container_link(&pod, told, "macvlan")?;
    let wanted = LinkKind::Macvlan(Kind { mode: mode(config.mode) });
    if link.kind != wanted {
        return Err(internal(format!(
            "Container interface {} is a {}, expected is {wanted}",
            link.name, link.kind
        )));
    }
    if link.parent.is_none_or(|parent| parent.index != master.index) {
        return Err(internal(format!(
            "Container interface {} does not hang on master \"{}\"",
            link.name, master.name
        )));
    }
    verify::addresses_and_routes(&pod, call, result)
}
