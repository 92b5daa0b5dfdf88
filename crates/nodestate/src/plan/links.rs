//! The steps for links.

use landbridge_linux::IfName;
use landbridge_linux::link::Port;

use super::difference::Change;
use super::step::{Setting, Step};
use crate::state::{BridgePort, Interface, Kind};

/// The steps for one link, from what it is and what it is to be.
type Work<'a> = dyn Fn(&IfName, Option<&Interface>, &Interface) -> Vec<Step> + 'a;

pub(super) fn steps(change: &Change<'_>) -> Vec<Step> {
    let order = change.goal.lower_first();
    let mut steps = detach(change);
    steps.extend(delete(change));
    steps.extend(down(change));
    steps.extend(create(change, &order));
    let each = |work: &Work<'_>| {
        let mut steps = Vec::new();
        for name in &order {
            if let Some(wanted) = change.goal.interfaces.get(*name) {
                steps.extend(work(name, change.before(name), wanted));
            }
        }
        steps
    };
    steps.extend(each(&options));
    steps.extend(each(&|name, before, wanted| settings(change, name, before, wanted)));
    steps.extend(each(&|name, before, wanted| attach(change, name, before, wanted)));
    steps.extend(each(&|name, before, wanted| port(change, name, before, wanted)));
    steps.extend(each(&mtu));
    steps.extend(each(&|name, before, wanted| up(change, name, before, wanted)));
    steps
}

/// Ports leave, unless their controller ends, for then they are free by themselves.
fn detach(change: &Change<'_>) -> Vec<Step> {
    let mut steps = Vec::new();
    for (name, wanted) in &change.goal.interfaces {
        let Some(controller) = change.before(name).and_then(|link| link.controller.as_ref()) else {
            continue;
        };
        if wanted.controller.as_ref() != Some(controller) && !change.ending.contains(controller) {
            steps.push(Step::Detach { link: name.clone(), controller: controller.clone() });
        }
    }
    steps
}

/// From the top; one end of a pair takes the other along. Hardware does not end.
fn delete(change: &Change<'_>) -> Vec<Step> {
    let mut gone: Vec<&IfName> = Vec::new();
    let mut steps = Vec::new();
    for name in change.now.lower_first().into_iter().rev() {
        let Some(link) = change.now.interfaces.get(name) else { continue };
        if !change.ending.contains(name) || gone.contains(&name) {
            continue;
        }
        if let Kind::Veth { peer } = &link.kind {
            gone.push(peer);
        }
        let kind = match link.kind {
            Kind::Veth { .. } => "veth",
            Kind::Vlan { .. } => "vlan",
            Kind::Bridge(_) => "linux-bridge",
            Kind::Bond(_) => "bond",
            Kind::Vrf { .. } => "vrf",
            Kind::Dummy => "dummy",
            Kind::Macvlan { .. } => "mac-vlan",
            Kind::Vxlan { .. } => "vxlan",
            Kind::Loopback | Kind::Ethernet | Kind::Other(_) => continue,
        };
        steps.push(Step::DeleteLink { link: name.clone(), kind });
    }
    steps
}

fn down(change: &Change<'_>) -> Vec<Step> {
    let goes = |(name, wanted): &(&IfName, &Interface)| {
        !wanted.up && change.before(name).is_some_and(|link| link.up)
    };
    let down = |(name, _): (&IfName, &Interface)| Step::Down { link: name.clone() };
    change.goal.interfaces.iter().filter(goes).map(down).collect()
}

fn create(change: &Change<'_>, order: &[&IfName]) -> Vec<Step> {
    let mut made: Vec<&IfName> = Vec::new();
    let mut steps = Vec::new();
    for name in order {
        let Some(wanted) = change.goal.interfaces.get(*name) else { continue };
        if change.before(name).is_some() || made.contains(name) || !wanted.kind.is_virtual() {
            continue;
        }
        if let Kind::Veth { peer } = &wanted.kind {
            made.push(peer);
        }
        steps.push(Step::CreateLink {
            link: (*name).clone(),
            kind: wanted.kind.clone(),
            mtu: wanted.mtu,
        });
    }
    steps
}

fn options(name: &IfName, before: Option<&Interface>, wanted: &Interface) -> Vec<Step> {
    let mut steps = Vec::new();
    let link = || name.clone();
    // A new link is made with its options.
    if let Some(options) = before.and_then(|before| before.kind.missing(&wanted.kind)) {
        steps.push(Step::Options { link: link(), options });
    }
    let was = |property: fn(&Interface) -> Option<String>| before.and_then(property);
    if wanted.description != was(|link| link.description.clone()) {
        let text = wanted.description.clone().unwrap_or_default();
        steps.push(Step::Describe { link: link(), text });
    }
    if let Some(mac) = wanted.mac.filter(|mac| before.and_then(|link| link.mac) != Some(*mac)) {
        steps.push(Step::Mac { link: link(), mac });
    }
    if wanted.promiscuous != before.is_some_and(|link| link.promiscuous) {
        steps.push(Step::Promiscuous { link: link(), on: wanted.promiscuous });
    }
    steps
}

/// Before a link goes up, so that it never has what it is not to have.
fn settings(
    change: &Change<'_>,
    name: &IfName,
    before: Option<&Interface>,
    wanted: &Interface,
) -> Vec<Step> {
    let fresh = Interface::new(wanted.kind.clone(), change.now.fresh);
    let before = before.unwrap_or(&fresh);
    let values = |link: &Interface| {
        [
            (Setting::Ipv4Forwarding, u8::from(link.ipv4.forwarding)),
            (Setting::AcceptRa, link.ipv6.accept_ra),
            (Setting::Ipv6Off, u8::from(!link.ipv6.enabled)),
        ]
    };
    values(before)
        .into_iter()
        .zip(values(wanted))
        .filter(|(before, wanted)| before != wanted)
        .map(|(_, (setting, value))| Step::Set { link: name.clone(), setting, value })
        .collect()
}

/// Whether a link belongs already where it is to belong.
fn belongs(change: &Change<'_>, before: Option<&Interface>, controller: &IfName) -> bool {
    !change.ending.contains(controller)
        && before.is_some_and(|link| link.controller.as_ref() == Some(controller))
}

fn attach(
    change: &Change<'_>,
    name: &IfName,
    before: Option<&Interface>,
    wanted: &Interface,
) -> Vec<Step> {
    match &wanted.controller {
        Some(controller) if !belongs(change, before, controller) => {
            vec![Step::Attach { link: name.clone(), controller: controller.clone() }]
        }
        _ => Vec::new(),
    }
}

fn port(
    change: &Change<'_>,
    name: &IfName,
    before: Option<&Interface>,
    wanted: &Interface,
) -> Vec<Step> {
    let (Some(controller), Some(port)) = (&wanted.controller, &wanted.port) else {
        return Vec::new();
    };
    let pvid = match change.goal.interfaces.get(controller).map(|link| &link.kind) {
        Some(Kind::Bridge(options)) => options.vlan_default_pvid.unwrap_or(1),
        _ => return Vec::new(),
    };
    let here = belongs(change, before, controller)
        .then(|| before.and_then(|link| link.port.clone()))
        .flatten();
    // What the kernel gives to a new port.
    let fresh = BridgePort { options: Port::default(), vlans: super::goal::default_vlans(pvid) };
    let here = here.unwrap_or(fresh);
    let mut steps = Vec::new();
    let options = Port {
        hairpin: port.options.hairpin.filter(|on| here.options.hairpin != Some(*on)),
        isolated: port.options.isolated.filter(|on| here.options.isolated != Some(*on)),
        cost: port.options.cost.filter(|cost| here.options.cost != Some(*cost)),
        priority: port.options.priority.filter(|priority| here.options.priority != Some(*priority)),
    };
    if options != Port::default() {
        steps.push(Step::PortOptions { link: name.clone(), options });
    }
    if !port.vlans.is_empty() && port.vlans != here.vlans {
        let to = port.vlans.clone();
        steps.push(Step::PortVlans { link: name.clone(), from: here.vlans, to });
    }
    steps
}

/// Lower links first: what stands on a link is not larger than it.
fn mtu(name: &IfName, before: Option<&Interface>, wanted: &Interface) -> Vec<Step> {
    let same = before.is_some_and(|before| before.mtu == wanted.mtu);
    if same || wanted.mtu == 0 {
        return Vec::new();
    }
    vec![Step::Mtu { link: name.clone(), mtu: wanted.mtu }]
}

/// A bond opens what joins it, and closes what leaves it.
fn up(
    change: &Change<'_>,
    name: &IfName,
    before: Option<&Interface>,
    wanted: &Interface,
) -> Vec<Step> {
    let is_up = before.is_some_and(|link| link.up) && !change.shaken.contains(name);
    if wanted.up && !is_up { vec![Step::Up { link: name.clone() }] } else { Vec::new() }
}
