//! A subnet of every pool for every node that has none.

use std::collections::HashSet;

use ipnet::IpNet;
use serde_json::json;

use crate::action::{Decision, Kind, Notice, Verb};
use crate::settings::Settings;
use crate::world::{World, key_of, uid};

/// No more subnets of a pool are tried than this: so many nodes no lab has.
const MOST: usize = 65_536;

/// What is to be done for all nodes that lack addresses. All in one look, so no two get the same.
pub fn decide(world: &World, settings: &Settings) -> Decision {
    let mut decision = Decision::default();
    let nodes = world.nodes();
    let (with, without): (Vec<_>, Vec<_>) = nodes.into_iter().partition(|node| {
        node.spec.as_ref().is_some_and(|spec| {
            spec.pod_cidrs.as_ref().is_some_and(|list| !list.is_empty()) || spec.pod_cidr.is_some()
        })
    });
    if without.is_empty() || settings.pod_cidrs.is_empty() {
        return decision;
    }
    let mut taken: HashSet<IpNet> = HashSet::new();
    for spec in with.iter().filter_map(|node| node.spec.as_ref()) {
        let cidrs = spec.pod_cidrs.iter().flatten().chain(&spec.pod_cidr);
        taken.extend(cidrs.filter_map(|cidr| cidr.parse::<IpNet>().ok()));
    }
    let mut pools: Vec<_> =
        settings.pod_cidrs.iter().map(|(pool, part)| subnets(*pool, *part)).collect();
    for node in without {
        let mut given: Vec<String> = Vec::new();
        let mut full = None;
        for (subnets, (pool, _)) in pools.iter_mut().zip(&settings.pod_cidrs) {
            match subnets.find(|subnet| !taken.contains(subnet)) {
                Some(subnet) => given.push(subnet.to_string()),
                None => full = Some(pool),
            }
        }
        let key = key_of(&node.metadata);
        if let Some(pool) = full {
            let note = format!(
                "Node {} gets no podCIDRs: every subnet of {pool} is taken; delete nodes that are not needed",
                key.name
            );
            decision.notices.push(Notice {
                kind: Kind::Node,
                key,
                uid: uid(&node.metadata).to_owned(),
                warning: true,
                reason: "CIDRNotAvailable",
                note,
            });
            continue;
        }
        let patch = json!({
            "metadata": {"uid": uid(&node.metadata),
                "resourceVersion": node.metadata.resource_version},
            "spec": {"podCIDR": given[0], "podCIDRs": given},
        });
        decision.push(Kind::Node, &key, Verb::Patch(patch));
    }
    decision
}

/// The parts of a pool; empty if there can be none.
fn subnets(pool: IpNet, part: u8) -> Box<dyn Iterator<Item = IpNet>> {
    match pool {
        IpNet::V4(pool) => match pool.subnets(part) {
            Ok(subnets) => Box::new(subnets.map(IpNet::V4).take(MOST)),
            Err(_) => Box::new(std::iter::empty()),
        },
        IpNet::V6(pool) => match pool.subnets(part) {
            Ok(subnets) => Box::new(subnets.map(IpNet::V6).take(MOST)),
            Err(_) => Box::new(std::iter::empty()),
        },
    }
}
