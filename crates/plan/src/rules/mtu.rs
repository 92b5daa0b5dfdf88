//! Packets that are larger than what lies below lets through.

use std::collections::{HashMap, HashSet};

use landbridge_api::foreign::At;

use super::View;
use crate::codes;
use crate::finding::{Finding, Mark};
use crate::wires::{Wire, Wires};

/// How deep interfaces may be stacked.
const DEEPEST: usize = 8;

/// What policies say about an interface: the smallest MTU anywhere, and what lies below.
#[derive(Default)]
struct Known<'v> {
    mtu: Option<(i64, Mark)>,
    below: Vec<&'v str>,
}

type Interfaces<'v> = HashMap<&'v str, Known<'v>>;

pub(super) fn check<'v>(view: &View<'v, '_>, wires: &mut Wires<'v>, found: &mut Vec<Finding>) {
    let interfaces = interfaces(view);
    stacked(view, &interfaces, found);
    let names = wires.names();
    let mut told = HashSet::new();
    for (subnet, (root, _)) in view.facts.subnets.iter().zip(&view.segments.subnets) {
        let Some(carrier) = carrier(&interfaces, &names, *root) else { continue };
        if subnet.mtu.value > carrier.mtu && told.insert((subnet.source, subnet.number)) {
            let what = format!("network {}", subnet.network);
            found.push(larger(&what, subnet.source, &subnet.mtu, &carrier));
        }
    }
    for (attachment, root) in view.facts.attachments.iter().zip(&view.segments.attachments) {
        let Some(mtu) = &attachment.conf.mtu else { continue };
        let own = attachment
            .conf
            .interface()
            .and_then(|interface| carried(&interfaces, interface.value.as_str(), DEEPEST));
        let Some(carrier) = own.or_else(|| carrier(&interfaces, &names, *root)) else { continue };
        if mtu.value > carrier.mtu {
            let what = format!("attachment {}", attachment.name);
            found.push(larger(&what, attachment.source, mtu, &carrier));
        }
    }
}

fn interfaces<'v>(view: &View<'v, '_>) -> Interfaces<'v> {
    let mut interfaces = Interfaces::new();
    for policy in &view.facts.policies {
        for interface in &policy.wants.interfaces {
            let known = interfaces.entry(interface.name.value).or_default();
            if let Some(mtu) = &interface.mtu
                && known.mtu.as_ref().is_none_or(|(least, _)| mtu.value < *least)
            {
                known.mtu = Some((mtu.value, Mark::new(policy.source, &mtu.place)));
            }
            let base = interface.vlan.as_ref().map(|(base, _)| base.value);
            for below in base.into_iter().chain(interface.ports.iter().map(|port| port.value)) {
                if !known.below.contains(&below) {
                    known.below.push(below);
                }
            }
        }
    }
    interfaces
}

/// An interface that is known to let through so much.
struct Carrier<'v> {
    name: &'v str,
    mtu: i64,
    mark: Mark,
}

/// The least that an interface and what lies below it let through. The kernel gives a VLAN the MTU
/// of its base when nothing else is said.
fn carried<'v>(interfaces: &Interfaces<'v>, name: &str, depth: usize) -> Option<Carrier<'v>> {
    let (name, known) = interfaces.get_key_value(name)?;
    let own = known.mtu.as_ref().map(|(mtu, mark)| Carrier { name, mtu: *mtu, mark: mark.clone() });
    if depth == 0 {
        return own;
    }
    let below = known.below.iter().filter_map(|below| carried(interfaces, below, depth - 1));
    own.into_iter().chain(below).min_by_key(|carrier| carrier.mtu)
}

fn carrier<'v>(
    interfaces: &Interfaces<'v>,
    names: &HashMap<Wire, Vec<&'v str>>,
    root: Wire,
) -> Option<Carrier<'v>> {
    let names = names.get(&root)?.iter();
    names.filter_map(|name| carried(interfaces, name, DEEPEST)).min_by_key(|carrier| carrier.mtu)
}

fn larger(what: &str, source: usize, mtu: &At<i64>, carrier: &Carrier<'_>) -> Finding {
    let message = format!(
        "{what} has MTU {}, but interface {} lets through {}",
        mtu.value, carrier.name, carrier.mtu
    );
    Finding::new(&codes::MTU, message)
        .at(&Mark::new(source, &mtu.place), format!("MTU {} here", mtu.value))
        .at(&carrier.mark, format!("MTU {} here", carrier.mtu))
        .help("raise the MTU of the interface and of what lies below it, or lower this one")
}

/// Interfaces with a larger MTU than what they are made of, in one policy.
fn stacked(view: &View<'_, '_>, interfaces: &Interfaces<'_>, found: &mut Vec<Finding>) {
    for policy in &view.facts.policies {
        for interface in &policy.wants.interfaces {
            let Some(mtu) = &interface.mtu else { continue };
            let base = interface.vlan.as_ref().map(|(base, _)| base.value);
            for below in base.into_iter().chain(interface.ports.iter().map(|port| port.value)) {
                let Some(carrier) = carried(interfaces, below, DEEPEST) else { continue };
                if mtu.value > carrier.mtu {
                    let what = format!("interface {}", interface.name.value);
                    found.push(larger(&what, policy.source, mtu, &carrier));
                }
            }
        }
    }
}
