//! Which node announces an address.
//!
//! MetalLB's order: the node that is wanted most, then the one with the lowest SHA-256 of
//! `<node>#<address>`. Every node computes it for itself and comes to the same result, so that
//! nothing has to be agreed on, and no address moves unless its own node comes or goes.
//!
//! Beyond that, for who asks for it: an address stays where it is (sticky), or no node gets more
//! than its share (spread).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Where a node stands for an address; the lowest comes first.
pub type Rank = [u8; 32];

/// The rank of a node for an address.
pub fn rank(node: &str, ip: IpAddr) -> Rank {
    let mut context = ring::digest::Context::new(&ring::digest::SHA256);
    context.update(node.as_bytes());
    context.update(b"#");
    context.update(ip.to_string().as_bytes());
    let mut rank = [0; 32];
    // SHA-256 has 32 bytes; anything else would rank all nodes alike, and names would decide.
    if let Some(digest) = context.finish().as_ref().first_chunk::<32>() {
        rank = *digest;
    }
    rank
}

/// What has to be known about an address to choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ballot {
    /// Nodes that may, can and live, each with how much it is wanted.
    pub candidates: BTreeMap<String, u32>,
    /// Who announces it now.
    pub holder: Option<String>,
    /// Whether it stays with who has it.
    pub sticky: bool,
    /// Whether it counts when shares are made.
    pub spread: bool,
}

/// The candidates of an address, the first one first.
pub fn order(ip: IpAddr, candidates: &BTreeMap<String, u32>) -> Vec<&str> {
    let mut ordered: Vec<_> = candidates
        .iter()
        .map(|(node, weight)| (std::cmp::Reverse(*weight), rank(node, ip), node.as_str()))
        .collect();
    ordered.sort_unstable();
    ordered.into_iter().map(|(_, _, node)| node).collect()
}

/// The node of every address that has a candidate.
pub fn elect(ballots: &BTreeMap<IpAddr, Ballot>) -> BTreeMap<IpAddr, String> {
    let shares = shares(ballots);
    let mut load: BTreeMap<&str, usize> = BTreeMap::new();
    let mut elected = BTreeMap::new();
    // Who stays is counted first: the share of a node is not given away while it is in use.
    for staying in [true, false] {
        for (ip, ballot) in ballots {
            let stays = ballot
                .holder
                .as_deref()
                .filter(|holder| ballot.sticky && ballot.candidates.contains_key(*holder));
            if stays.is_some() != staying {
                continue;
            }
            let ordered;
            let chosen = if let Some(holder) = stays {
                ballot.candidates.get_key_value(holder).map(|(node, _)| node.as_str())
            } else {
                ordered = order(*ip, &ballot.candidates);
                let has_room = |node: &&&str| load.get(**node).copied().unwrap_or(0) < shares;
                let with_room = ordered.iter().filter(|_| ballot.spread).find(has_room);
                with_room.or(ordered.first()).copied()
            };
            let Some(chosen) = chosen else { continue };
            if ballot.spread {
                *load.entry(chosen).or_default() += 1;
            }
            elected.insert(*ip, chosen.to_owned());
        }
    }
    elected
}

/// How many of the addresses to be spread one node takes, rounded up.
fn shares(ballots: &BTreeMap<IpAddr, Ballot>) -> usize {
    let spread = || ballots.values().filter(|ballot| ballot.spread);
    let nodes: BTreeSet<&String> = spread().flat_map(|ballot| ballot.candidates.keys()).collect();
    spread().count().div_ceil(nodes.len().max(1))
}
