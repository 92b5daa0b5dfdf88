//! Which claims there should be for nodes, and what to change for that. No IO.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use landbridge_api::foreign::Trouble;
use landbridge_api::foreign::nmstate;
use landbridge_api::foreign::nmstate::objects::{
    NODE_LABEL, NodeNetworkConfigurationEnactment, POLICY_LABEL,
};
use landbridge_api::ledger::{Claim, block_name, block_of};
use landbridge_plan::{Source, sites};
use serde_json::{Value, json};

use crate::ipam::ledger::Place;
use crate::ipam::seen::Block;

/// The kind of holder this controller answers for.
pub const HOLDER: &str = "Node";
/// How the source of a claim begins that was made here.
const SOURCE: &str = "NodeNetworkConfigurationPolicy ";

/// What one block needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// The wire.
    pub segment: Arc<str>,
    /// First address of the block.
    pub base: IpAddr,
    /// The state it starts from; `None` when there is no block yet.
    pub from: Option<Block>,
    /// New claims, and addresses to be freed.
    pub edits: BTreeMap<IpAddr, Option<Claim>>,
}

/// What is to be done, and what people have to know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Changes, by name of the block.
    pub edits: BTreeMap<String, Edit>,
    /// Addresses of nodes that somebody else holds, in words.
    pub doubles: Vec<String>,
}

/// The claims of nodes, from what is in force on them. Of several nodes with one address the first
/// by name holds it: that they all have it is for `landbridge check` to say.
pub fn wanted(
    netconfigs: &[Value],
    enactments: &[NodeNetworkConfigurationEnactment],
) -> BTreeMap<Place, Claim> {
    let mut in_force: Vec<InForce> = enactments.iter().filter_map(InForce::read).collect();
    in_force.sort_by(|a, b| (&a.node, &a.policy).cmp(&(&b.node, &b.policy)));
    let all = netconfigs.iter().chain(in_force.iter().map(|enactment| &enactment.value));
    let sources: Vec<Source<'_>> =
        all.enumerate().map(|(id, value)| Source::new(id, value)).collect();
    let sites = sites(&sources);
    let mut wanted = BTreeMap::new();
    for enactment in &in_force {
        let policy = nmstate::read(&enactment.value, &mut Trouble::default());
        for interface in policy.interfaces.iter().filter(|interface| !interface.absent) {
            let name = interface.name.value;
            for site in sites.of_interface(&enactment.name, name) {
                let addresses = interface.addresses.iter().map(|address| address.value.0);
                for address in addresses.filter(|address| site.prefix.contains(*address)) {
                    let place = Place { segment: Arc::clone(&site.segment), address };
                    wanted.entry(place).or_insert_with(|| enactment.claim(name));
                }
            }
        }
    }
    wanted
}

/// A policy that is in force on a node, as if it were for that node alone.
struct InForce {
    node: String,
    policy: String,
    /// Of the enactment; tells it from those on other nodes.
    name: String,
    value: Value,
}

impl InForce {
    fn read(enactment: &NodeNetworkConfigurationEnactment) -> Option<Self> {
        let conditions = enactment.status.conditions.iter();
        let mut available = conditions.filter(|c| c.type_ == "Available" && c.status == "True");
        available.next()?;
        let labels = enactment.metadata.labels.as_ref()?;
        let name = enactment.metadata.name.clone()?;
        let value = json!({
            "apiVersion": "nmstate.io/v1", "kind": nmstate::KIND,
            "metadata": {"name": name},
            "spec": {"desiredState": enactment.status.desired_state},
        });
        let (node, policy) = (labels.get(NODE_LABEL)?, labels.get(POLICY_LABEL)?);
        Some(Self { node: node.clone(), policy: policy.clone(), name, value })
    }

    fn claim(&self, interface: &str) -> Claim {
        Claim {
            kind: HOLDER.to_owned(),
            name: self.node.clone(),
            attachment: interface.to_owned(),
            source: format!("{SOURCE}{}", self.policy),
            ..Claim::default()
        }
    }
}

/// What has to change in the blocks.
pub fn plan(wanted: &BTreeMap<Place, Claim>, blocks: &[Block]) -> Plan {
    let mut plan = Plan::default();
    let by_name: BTreeMap<&str, &Block> =
        blocks.iter().map(|block| (&*block.key.name, block)).collect();
    let mut change = |place: &Place, claim: Option<Claim>| {
        let base = block_of(place.address);
        let name = block_name(&place.segment, base);
        let from = by_name.get(name.as_str()).map(|block| (*block).clone());
        let fresh =
            || Edit { segment: Arc::clone(&place.segment), base, from, edits: BTreeMap::new() };
        plan.edits.entry(name).or_insert_with(fresh).edits.insert(place.address, claim);
    };
    for (place, claim) in wanted {
        let name = block_name(&place.segment, block_of(place.address));
        let found = by_name.get(name.as_str()).and_then(|block| block.claims.get(&place.address));
        match found {
            Some(found) if found == claim => {}
            Some(found) if !is_ours(found) => plan.doubles.push(format!(
                "{} of node {} ({}, interface {}) is held by {found} on the same network: change one \
                 of the two",
                place.address, claim.name, claim.source, claim.attachment
            )),
            _ => change(place, Some(claim.clone())),
        }
    }
    for block in blocks {
        for address in block.claims.iter().filter(|(_, c)| is_ours(c)).map(|(address, _)| address) {
            let place = Place { segment: Arc::clone(&block.segment), address: *address };
            if !wanted.contains_key(&place) {
                change(&place, None);
            }
        }
    }
    plan
}

fn is_ours(claim: &Claim) -> bool {
    claim.kind == HOLDER && claim.source.starts_with(SOURCE)
}

impl Edit {
    /// Nothing is claimed afterwards: the block itself goes.
    pub fn empties(&self) -> bool {
        let stays = |address: &IpAddr| !matches!(self.edits.get(address), Some(None));
        self.from.as_ref().is_some_and(|block| !block.claims.keys().any(stays))
            && self.edits.values().all(Option::is_none)
    }
}
