//! Addresses that two may use: one sweep over each segment finds every pair.

use std::collections::{BTreeMap, HashMap, HashSet};

use landbridge_addr::{RangeSet, collisions};
use landbridge_api::net::Range;

use super::{View, addresses};
use crate::codes::{self, Code};
use crate::finding::Finding;
use crate::ledger::{Handed, Owner};
use crate::wires::Wire;

/// So many pairs of one segment are told. A plan with more is wrong as a whole.
const MOST: usize = 1000;

/// One of the things that may collide.
#[derive(Clone, Copy)]
enum Thing {
    Range(usize),
    Claim(usize),
}

pub(super) fn check(view: &View<'_, '_>, found: &mut Vec<Finding>) {
    let mut things: BTreeMap<Wire, Vec<(Range, Thing)>> = BTreeMap::new();
    for (at, handed) in view.ledger.ranges.iter().enumerate() {
        let list = things.entry(handed.segment).or_default();
        list.extend(handed.pieces.iter().map(|piece| (*piece, Thing::Range(at))));
    }
    for (at, claim) in view.ledger.claims.iter().enumerate() {
        let list = things.entry(claim.segment).or_default();
        list.push((Range::from(claim.address), Thing::Claim(at)));
    }
    for list in things.into_values() {
        segment(view, list, found);
    }
}

fn segment(view: &View<'_, '_>, list: Vec<(Range, Thing)>, found: &mut Vec<Finding>) {
    let mut ranges: BTreeMap<(usize, usize), RangeSet> = BTreeMap::new();
    let mut in_range: Vec<(usize, usize)> = Vec::new();
    let mut claims: Vec<(usize, usize)> = Vec::new();
    // Claims in a range that their own owner hands out.
    let mut at_home: HashSet<usize> = HashSet::new();
    for (a, b, shared) in collisions(list) {
        match (a, b) {
            (Thing::Range(a), Thing::Range(b)) if a != b => {
                ranges.entry((a.min(b), a.max(b))).or_default().insert(shared);
            }
            (Thing::Range(range), Thing::Claim(claim))
            | (Thing::Claim(claim), Thing::Range(range)) => {
                let owner = view.ledger.ranges[range].owner;
                if view.ledger.claims[claim].role.owner() == Some(owner) {
                    at_home.insert(claim);
                } else {
                    in_range.push((claim, range));
                }
            }
            (Thing::Claim(a), Thing::Claim(b)) => {
                if addresses::contradict(view, a, b) {
                    claims.push((a.min(b), a.max(b)));
                }
            }
            (Thing::Range(_), Thing::Range(_)) => {}
        }
        if ranges.len() + claims.len() > MOST {
            break;
        }
    }
    found.extend(ranges.into_iter().filter_map(|((a, b), shared)| pair(view, a, b, &shared)));
    // Each range is told once with all nodes in it, each address once with all its holders.
    in_range.retain(|(claim, _)| !at_home.contains(claim));
    let mut told: HashMap<usize, usize> = HashMap::new();
    for (claim, range) in in_range {
        let count = told.entry(range).or_default();
        *count += 1;
        if *count <= MOST {
            found.extend(addresses::inside(view, claim, range));
        }
    }
    for (a, b) in claims {
        found.push(addresses::two_holders(view, a, b));
    }
}

fn pair(view: &View<'_, '_>, a: usize, b: usize, shared: &RangeSet) -> Option<Finding> {
    let (a, b) = (&view.ledger.ranges[a], &view.ledger.ranges[b]);
    let (a, b) = if (b.owner, b.source) < (a.owner, a.source) { (b, a) } else { (a, b) };
    let code: &Code = match (a.owner, b.owner) {
        // Neutron keeps its own subnets apart.
        (Owner::Neutron, Owner::Neutron) => return None,
        _ if a.source == b.source => &codes::OVERLAP_WITHIN,
        (Owner::Attachment, Owner::Attachment) => &codes::ATTACHMENT_RANGES,
        _ => &codes::OVERLAP,
    };
    let message = if a.source == b.source && a.label == b.label {
        format!("{} lists {} and {}, which share {}", a.label, a.range, b.range, told(shared))
    } else {
        format!("{} of {} and {} of {} share {}", a.range, a.label, b.range, b.label, told(shared))
    };
    let help = match code.code {
        "LB101" => {
            format!("let one of them hand out other addresses, or exclude {}", brief(shared))
        }
        "LB107" => "use the same range in both, or ranges that do not overlap".to_owned(),
        _ => "make them one range, or let one end before the other begins".to_owned(),
    };
    let finding = Finding::new(code, message).at(&a.mark, hands_out(a)).at(&b.mark, hands_out(b));
    Some(finding.help(help))
}

fn hands_out(handed: &Handed) -> String {
    format!("{} is handed out here", handed.range)
}

/// `172.17.0.30-172.17.0.70 (41 addresses)`, at most three ranges.
fn told(shared: &RangeSet) -> String {
    let count = shared.len();
    let addresses = if count == 1 { "address" } else { "addresses" };
    format!("{} ({count} {addresses})", brief(shared))
}

fn brief(shared: &RangeSet) -> String {
    let mut texts: Vec<String> = shared.ranges().take(3).map(|range| range.to_string()).collect();
    if shared.ranges().nth(3).is_some() {
        texts.push("…".to_owned());
    }
    texts.join(", ")
}
