//! The steps for addresses.

use std::collections::HashSet;

use ipnet::IpNet;

use super::Checkpoint;
use super::matching::Matching;
use super::plan::Step;
use crate::address::{Address, Origin};
use crate::name::IfName;

type Saved = Address<IfName>;

pub(super) fn steps(matching: &Matching<'_>, now: &Checkpoint, wanted: &Checkpoint) -> Vec<Step> {
    let have: Vec<Saved> = now
        .addresses
        .iter()
        .map(|address| address.on(matching.called(&address.link).clone()))
        .collect();
    let anew = out_of_order(&have, &wanted.addresses);
    let mut steps = Vec::new();
    for address in &have {
        let stays = wanted.addresses.iter().any(|want| is_same(address, want));
        let again = anew.contains(&network(address));
        if again || !stays && ours_to_delete(address, wanted) {
            steps.push(Step::DeleteAddress(address.clone()));
        }
    }
    for want in &wanted.addresses {
        let there = have.iter().any(|address| is_same(address, want));
        if there && !anew.contains(&network(want)) {
            continue;
        }
        let add = Step::AddAddress(want.clone());
        // Set up, the link gets this one by itself.
        let late = want.origin != Origin::User;
        steps.push(if late { Step::Late(Box::new(add)) } else { add });
    }
    steps
}

/// What ends by itself belongs to whoever renews it; link-local addresses come with the link, so
/// one is only in the way where another one was.
fn ours_to_delete(address: &Saved, wanted: &Checkpoint) -> bool {
    match address.origin {
        Origin::LinkLocal => wanted
            .addresses
            .iter()
            .any(|want| want.link == address.link && want.origin == Origin::LinkLocal),
        _ => address.valid_seconds.is_none(),
    }
}

/// Equal but for what passes with time.
fn is_same(one: &Saved, other: &Saved) -> bool {
    one.link == other.link
        && one.net == other.net
        && one.peer == other.peer
        && one.scope == other.scope
        && one.broadcast == other.broadcast
        && one.label == other.label
        && one.flags.no_prefix_route == other.flags.no_prefix_route
        && one.valid_seconds.is_some() == other.valid_seconds.is_some()
}

fn network(address: &Saved) -> (IfName, IpNet) {
    (address.link.clone(), address.net.trunc())
}

/// IPv4 networks on a link whose primary address is another one than wanted. The kernel makes the
/// first that is added the primary, so all of them have to be added again, in order.
fn out_of_order(have: &[Saved], wanted: &[Saved]) -> HashSet<(IfName, IpNet)> {
    let primary = |address: &&Saved| address.net.addr().is_ipv4() && !address.flags.secondary;
    wanted
        .iter()
        .filter(primary)
        .filter(|want| {
            have.iter()
                .filter(primary)
                .any(|address| network(address) == network(want) && !is_same(address, want))
        })
        .map(network)
        .collect()
}
