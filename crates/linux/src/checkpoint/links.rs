//! The steps for links.

use std::collections::HashMap;

use super::matching::Matching;
use super::plan::{Change, Step};
use super::{Lower, SavedLink};
use crate::link::LinkKind;
use crate::name::IfName;

pub(super) fn steps(matching: &Matching<'_>) -> Vec<Step> {
    let mut steps = Vec::new();
    for (have, want) in &matching.pairs {
        if have.name != want.name {
            steps.push(Step::Rename { from: have.name.clone(), to: want.name.clone() });
        }
    }
    steps.extend(matching.extra.iter().map(|link| remove(matching, link)));
    steps.extend(create(matching));
    for (have, want) in by_depth(matching) {
        steps.extend(change(matching, have, want));
    }
    steps
}

fn remove(matching: &Matching<'_>, link: &SavedLink) -> Step {
    let what = || format!("delete link {}", link.name);
    let stuck = |why: &str| Step::Stuck { what: what(), why: why.to_owned() };
    match (&link.kind, &link.peer) {
        (LinkKind::Physical, _) => stuck("it is hardware, or was moved here"),
        (LinkKind::Loopback, _) => stuck("a loopback comes with its namespace"),
        // Deleting it would take the end that was here before along.
        (LinkKind::Veth, Some(Lower::Here(peer)))
            if matching.pairs.iter().any(|(have, _)| have.name == *peer) =>
        {
            stuck("it came from another namespace, which is not known here")
        }
        _ => Step::DeleteLink { name: link.name.clone(), kind: link.kind.clone() },
    }
}

/// Parents before what stands on them; one step for the two ends of a pair.
fn create(matching: &Matching<'_>) -> Vec<Step> {
    let mut missing = matching.missing.clone();
    let depths = depths(missing.iter().copied());
    missing.sort_by_key(|link| (depths.get(&link.name).copied(), link.index));
    let mut paired: Vec<&IfName> = Vec::new();
    let mut steps = Vec::new();
    for link in missing {
        if let Some(why) = link.why_not_made() {
            let what = format!("create link {} ({})", link.name, link.kind);
            steps.push(Step::Stuck { what, why: why.to_owned() });
            continue;
        }
        if paired.contains(&&link.name) {
            continue;
        }
        if let (LinkKind::Veth, Some(Lower::Here(peer))) = (&link.kind, &link.peer) {
            paired.push(peer);
        }
        steps.push(Step::CreateLink(Box::new(link.clone())));
    }
    steps
}

fn change(matching: &Matching<'_>, have: &SavedLink, want: &SavedLink) -> Vec<Step> {
    let mut change = Change::nothing(&want.name);
    change.options = have.kind.missing(&want.kind);
    change.up = (have.up != want.up).then_some(want.up);
    let master = have.master.as_ref().map(|name| matching.called(name));
    if master != want.master.as_ref() {
        change.master = Some((master.cloned(), want.master.clone()));
    }
    if have.alias != want.alias {
        change.alias = Some((have.alias.clone(), want.alias.clone()));
    }
    // A bridge and a bond take both from their ports, so they come when the ports are right.
    let mut late = Change::nothing(&want.name);
    let follows = matches!(want.kind, LinkKind::Bridge(_) | LinkKind::Bond(_));
    let place = if follows { &mut late } else { &mut change };
    if have.mtu != want.mtu {
        place.mtu = Some((have.mtu, want.mtu));
    }
    if let Some(mac) = want.mac.filter(|mac| have.mac != Some(*mac)) {
        place.mac = Some((have.mac, mac));
    }
    let mut steps = Vec::new();
    if !change.is_empty() {
        steps.push(Step::ChangeLink(Box::new(change)));
    }
    if !late.is_empty() {
        steps.push(Step::Late(Box::new(Step::ChangeLink(Box::new(late)))));
    }
    steps
}

/// Parents first: what stands on a link is not larger than it.
fn by_depth<'a>(matching: &'a Matching<'_>) -> Vec<(&'a SavedLink, &'a SavedLink)> {
    let depths = depths(matching.pairs.iter().map(|(_, want)| *want));
    let mut pairs = matching.pairs.clone();
    pairs.sort_by_key(|(_, want)| depths.get(&want.name).copied());
    pairs
}

/// How many links each one stands on.
fn depths<'a>(links: impl Iterator<Item = &'a SavedLink>) -> HashMap<&'a IfName, usize> {
    let parents: HashMap<&IfName, Option<&IfName>> = links
        .map(|link| match &link.parent {
            Some(Lower::Here(parent)) => (&link.name, Some(parent)),
            _ => (&link.name, None),
        })
        .collect();
    let depth = |name: &'a IfName| {
        let mut at = name;
        let mut count = 0;
        while let Some(Some(parent)) = parents.get(at) {
            at = parent;
            count += 1;
            // A written checkpoint may be nonsense; the kernel's own has no circles.
            if count > parents.len() {
                break;
            }
        }
        count
    };
    parents.keys().map(|name| (*name, depth(name))).collect()
}
