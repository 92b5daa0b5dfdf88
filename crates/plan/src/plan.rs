//! The plan: each segment, who hands out which of its addresses, what is taken and what is free.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use landbridge_addr::RangeSet;
use landbridge_api::net::{Cidr, Range};
use serde::{Serialize, Serializer};

use crate::facts::Facts;
use crate::ledger::{Ledger, Owner};
use crate::segments::{Segments, prefix_of};
use crate::vips::{Pending, VirtualAddress};
use crate::wires::{Wire, Wires};

/// All segments, by name. `Display` prints tables.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The segments.
    pub segments: Vec<Segment>,
    /// Virtual addresses, as they would be given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub virtual_addresses: Vec<VirtualAddress>,
    /// Services that would stay without one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<Pending>,
}

/// One layer 2 segment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Segment {
    /// Name of the network; that of an attachment, a pool or an interface when no NetConfig has it.
    pub name: String,
    /// Interfaces of nodes that lead to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<String>,
    /// VLAN; absent when untagged or not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// Largest packet, when a NetConfig says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<i64>,
    /// Prefixes.
    pub subnets: Vec<SubnetPlan>,
    /// Who hands out what.
    pub ranges: Vec<HandedOut>,
    /// What is taken, by address.
    pub addresses: Vec<Address>,
}

/// One prefix of a segment.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubnetPlan {
    /// The prefix.
    pub cidr: String,
    /// Router, when a NetConfig or Neutron says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<IpAddr>,
    /// Ranges that nobody hands out and that hold no address that is taken.
    pub unowned: Vec<String>,
    /// How many addresses those are.
    pub unowned_size: Size,
}

/// Addresses that one owner hands out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HandedOut {
    /// The object.
    pub owner: String,
    /// `NetConfig`, `whereabouts`, `MetalLB` or `Neutron`.
    pub by: &'static str,
    /// The range, with what is excluded.
    pub range: String,
    /// How many addresses may be handed out.
    pub size: Size,
    /// How many of them are taken, by anybody.
    pub taken: Size,
    /// How many are not.
    pub free: Size,
    /// Further objects with the same range.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared_with: Vec<String>,
}

/// An address that is taken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Address {
    /// The address.
    pub address: IpAddr,
    /// What it is to the holder.
    pub role: &'static str,
    /// Who has it.
    pub holder: String,
}

/// A number of addresses. As JSON it is a number as long as every reader can hold it, and a text
/// beyond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u128);

/// What JavaScript, and so most readers of JSON, can count to.
const SAFE: u128 = (1 << 53) - 1;

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match u64::try_from(self.0) {
            Ok(small) if self.0 <= SAFE => serializer.serialize_u64(small),
            _ => serializer.collect_str(&self.0),
        }
    }
}

/// What is collected about a segment.
#[derive(Default)]
struct Draft<'f> {
    /// Names with how good they are: 0 is best.
    names: Vec<(u8, &'f str)>,
    mtu: Option<i64>,
    prefixes: BTreeMap<Range, (Cidr, Option<IpAddr>)>,
    ranges: Vec<usize>,
    claims: Vec<usize>,
}

/// Makes the plan.
pub(crate) fn make<'f>(
    facts: &'f Facts<'_>,
    segments: &Segments,
    ledger: &Ledger,
    wires: &mut Wires<'f>,
) -> Plan {
    let mut drafts = drafts(facts, segments);
    for (at, handed) in ledger.ranges.iter().enumerate() {
        drafts.entry(handed.segment).or_default().ranges.push(at);
    }
    for (at, claim) in ledger.claims.iter().enumerate() {
        drafts.entry(claim.segment).or_default().claims.push(at);
    }
    let mut names = wires.names();
    let tags = wires.tags();
    let mut list: Vec<Segment> = drafts
        .into_iter()
        .map(|(root, draft)| {
            let interfaces = names.remove(&root).unwrap_or_default();
            let vlan = tags.get(&root).and_then(|tags| tags.first()).map(|(_, id)| *id);
            segment(draft, &interfaces, vlan, ledger)
        })
        .collect();
    list.sort_by(|a, b| (&a.name, a.vlan, &a.interfaces).cmp(&(&b.name, b.vlan, &b.interfaces)));
    Plan { segments: list, ..Plan::default() }
}

fn drafts<'f>(facts: &'f Facts<'_>, segments: &Segments) -> HashMap<Wire, Draft<'f>> {
    let mut drafts: HashMap<Wire, Draft<'f>> = HashMap::new();
    let prefix = |draft: &mut Draft<'_>, cidr: Cidr, gateway: Option<IpAddr>| {
        let known = draft.prefixes.entry(Range::from(cidr)).or_insert((cidr, None));
        known.1 = known.1.or(gateway);
    };
    for (subnet, (root, _)) in facts.subnets.iter().zip(&segments.subnets) {
        let draft = drafts.entry(*root).or_default();
        draft.names.push((0, subnet.service.as_str()));
        draft.mtu = draft.mtu.max(Some(subnet.mtu.value));
        prefix(draft, subnet.cidr.value, subnet.gateway);
    }
    for (attachment, root) in facts.attachments.iter().zip(&segments.attachments) {
        let draft = drafts.entry(*root).or_default();
        draft.names.push((1, attachment.name));
        for range in &attachment.conf.ipam.ranges {
            prefix(draft, range.prefix.value, None);
        }
    }
    for (pool, roots) in facts.pools.iter().zip(&segments.pools) {
        for root in roots {
            drafts.entry(*root).or_default().names.push((2, pool.name));
        }
    }
    for ((_, document), roots) in facts.neutron.iter().zip(&segments.neutron) {
        for (subnet, root) in document.subnets.iter().zip(roots) {
            let draft = drafts.entry(*root).or_default();
            draft.names.push((3, if subnet.name.is_empty() { subnet.id } else { subnet.name }));
            prefix(draft, subnet.cidr.value, subnet.gateway.as_ref().map(|gateway| gateway.value));
        }
    }
    for (policy, roots) in facts.policies.iter().zip(&segments.interfaces) {
        for (interface, root) in policy.wants.interfaces.iter().zip(roots) {
            for address in &interface.addresses {
                if let Some(cidr) = prefix_of(address.value) {
                    let draft = drafts.entry(*root).or_default();
                    draft.names.push((4, interface.name.value));
                    prefix(draft, cidr, None);
                }
            }
        }
    }
    drafts
}

fn segment(
    mut draft: Draft<'_>,
    interfaces: &[&str],
    vlan: Option<u16>,
    ledger: &Ledger,
) -> Segment {
    draft.names.sort_unstable();
    let mut taken: Vec<IpAddr> = draft.claims.iter().map(|at| ledger.claims[*at].address).collect();
    taken.sort_unstable();
    taken.dedup();
    let mut owned: RangeSet = taken.iter().copied().collect();
    let mut ranges = Vec::new();
    for at in draft.ranges {
        let handed = &ledger.ranges[at];
        let size: u128 = handed.pieces.iter().map(Range::len).fold(0, u128::saturating_add);
        let used = handed.pieces.iter().map(|piece| {
            let below = taken.partition_point(|address| *address < piece.first());
            taken.partition_point(|address| *address <= piece.last()) - below
        });
        let used = used.sum::<usize>() as u128;
        owned.insert(handed.range);
        ranges.push((
            handed.owner,
            handed.range,
            HandedOut {
                owner: handed.label.clone(),
                by: match handed.owner {
                    Owner::NetConfig => "NetConfig",
                    Owner::Attachment => "whereabouts",
                    Owner::Pool => "MetalLB",
                    Owner::Neutron => "Neutron",
                },
                range: handed.range.to_string(),
                size: Size(size),
                taken: Size(used),
                free: Size(size.saturating_sub(used)),
                shared_with: handed.sharers.clone(),
            },
        ));
    }
    ranges.sort_by_key(|(owner, range, _)| (*range, *owner));
    let subnets = draft.prefixes.into_iter().map(|(range, (cidr, gateway))| {
        let gaps: Vec<Range> = owned.gaps(range).collect();
        let size = gaps.iter().map(Range::len).fold(0, u128::saturating_add);
        SubnetPlan {
            cidr: cidr.prefix().to_string(),
            gateway,
            unowned: gaps.iter().map(ToString::to_string).collect(),
            unowned_size: Size(size),
        }
    });
    let mut addresses: Vec<Address> = draft
        .claims
        .iter()
        .map(|at| {
            let claim = &ledger.claims[*at];
            let (role, holder) = (claim.role.text(), claim.holder.clone());
            Address { address: claim.address, role, holder }
        })
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    Segment {
        name: draft.names.first().map_or_else(String::new, |(_, name)| (*name).to_owned()),
        interfaces: interfaces.iter().map(|name| (*name).to_owned()).collect(),
        vlan,
        mtu: draft.mtu,
        subnets: subnets.collect(),
        ranges: ranges.into_iter().map(|(_, _, handed)| handed).collect(),
        addresses,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_stay_readable_for_everybody() {
        assert_eq!(serde_json::to_string(&Size(SAFE)).unwrap(), "9007199254740991");
        assert_eq!(serde_json::to_string(&Size(SAFE + 1)).unwrap(), r#""9007199254740992""#);
        let all = serde_json::to_value(Size(u128::MAX)).unwrap();
        assert_eq!(all, "340282366920938463463374607431768211455");
    }
}
