//! What one swap of a block changes. Pure.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use landbridge_api::ledger::Claim;

use super::{HOLDER, Place, Record};
use crate::objects::Block;

/// Claims, by place.
pub type Wants = BTreeMap<Place, Claim>;

/// What is to become of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// It is as it should be.
    Nothing,
    /// Somebody else holds what is wanted.
    Lost,
    /// These claims change.
    Write {
        /// The wire.
        segment: Arc<str>,
        /// New claims, and addresses that become free.
        edits: BTreeMap<IpAddr, Option<Claim>>,
    },
}

/// The claim of a pod's interface. `podref` is what the pool records: `namespace/name`.
pub fn claim_of(record: &Record<'_>, uid: &str, source: &str) -> Claim {
    let (namespace, name) = record.podref.split_once('/').unwrap_or(("", record.podref));
    Claim {
        kind: HOLDER.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
        attachment: record.ifname.to_owned(),
        instance: record.id.to_owned(),
        source: source.to_owned(),
        fixed: false,
        shared: None,
    }
}

/// Whether two claims are of the same interface of the same pod, whatever its container.
pub fn same_holder(a: &Claim, b: &Claim) -> bool {
    let holder = |claim: &Claim| {
        [&claim.kind, &claim.namespace, &claim.name, &claim.attachment].map(Clone::clone)
    };
    holder(a) == holder(b)
}

/// Whether a claim is that of a record: of the very container.
pub fn is_of(claim: &Claim, record: &Record<'_>) -> bool {
    let (namespace, name) = record.podref.split_once('/').unwrap_or(("", record.podref));
    let same_pod = record.podref.is_empty() || (claim.namespace == namespace && claim.name == name);
    let same_interface = claim.attachment.is_empty() || claim.attachment == record.ifname;
    claim.kind == HOLDER && claim.instance == record.id && same_pod && same_interface
}

/// Claims all of it, all places being of this block; or nothing, when somebody else has some.
pub fn put(block: Option<&Block>, wants: &Wants) -> Decision {
    let Some((first, _)) = wants.first_key_value() else { return Decision::Nothing };
    let mut edits = BTreeMap::new();
    for (place, claim) in wants {
        match block.and_then(|block| block.claims.get(&place.address)) {
            Some(found) if found == claim => {}
            Some(found) if !same_holder(found, claim) => return Decision::Lost,
            _ => {
                edits.insert(place.address, Some(claim.clone()));
            }
        }
    }
    if edits.is_empty() {
        return Decision::Nothing;
    }
    Decision::Write { segment: Arc::clone(&first.segment), edits }
}

/// Frees an address if the claim there is meant.
pub fn free(block: Option<&Block>, address: IpAddr, is_meant: impl Fn(&Claim) -> bool) -> Decision {
    let Some(block) = block else { return Decision::Nothing };
    if !block.claims.get(&address).is_some_and(is_meant) {
        return Decision::Nothing;
    }
    let segment = block.segment.as_str().into();
    Decision::Write { segment, edits: BTreeMap::from([(address, None)]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(podref: &str, id: &str) -> Claim {
        claim_of(&Record { id, podref, ifname: "net1" }, "", "s")
    }

    fn place(last: u8) -> Place {
        Place { segment: "vlan-20".into(), address: IpAddr::from([172, 17, 0, last]) }
    }

    fn block(claims: &[(u8, Claim)]) -> Block {
        let claims = claims.iter().map(|(last, claim)| (place(*last).address, claim.clone()));
        Block { segment: "vlan-20".into(), claims: claims.collect(), ..Block::default() }
    }

    fn changed(decision: &Decision) -> Vec<(u8, bool)> {
        let Decision::Write { edits, .. } = decision else { return Vec::new() };
        let last = |address: &IpAddr| match address {
            IpAddr::V4(a) => a.octets()[3],
            IpAddr::V6(_) => 0,
        };
        edits.iter().map(|(address, claim)| (last(address), claim.is_some())).collect()
    }

    #[test]
    fn all_or_nothing() {
        let ipset = Claim { kind: "IPSet".into(), name: "a".into(), ..Claim::default() };
        let wants = Wants::from([(place(30), claim("n/a", "c1")), (place(31), claim("n/b", "c2"))]);
        assert_eq!(changed(&put(None, &wants)), [(30, true), (31, true)]);
        let there = block(&[(30, claim("n/a", "c1"))]);
        assert_eq!(changed(&put(Some(&there), &wants)), [(31, true)]);
        let whole = block(&[(30, claim("n/a", "c1")), (31, claim("n/b", "c2"))]);
        assert_eq!(put(Some(&whole), &wants), Decision::Nothing);
        assert_eq!(put(Some(&block(&[(31, ipset)])), &wants), Decision::Lost);
        assert_eq!(put(Some(&block(&[(31, claim("n/x", "c2"))])), &wants), Decision::Lost);
        // The interface's own, of an older container.
        let old = block(&[(31, claim("n/b", "c0"))]);
        assert_eq!(changed(&put(Some(&old), &wants)), [(30, true), (31, true)]);
        assert_eq!(put(None, &Wants::new()), Decision::Nothing);
    }

    #[test]
    fn only_the_very_container_frees() {
        let held = block(&[(30, claim("n/a", "c1"))]);
        let of = |id, podref, ifname| {
            let record = Record { id, podref, ifname };
            changed(&free(Some(&held), place(30).address, |found| is_of(found, &record)))
        };
        assert_eq!(of("c1", "n/a", "net1"), [(30, false)]);
        assert_eq!(of("c1", "", "net1"), [(30, false)], "a DEL that does not name the pod");
        assert!(of("c0", "n/a", "net1").is_empty());
        assert!(of("c1", "n/b", "net1").is_empty());
        assert!(of("c1", "n/a", "net2").is_empty());
        let ipset = Claim { kind: "IPSet".into(), instance: "c1".into(), ..claim("n/a", "c1") };
        let record = Record { id: "c1", podref: "n/a", ifname: "net1" };
        assert!(!is_of(&ipset, &record), "what is an IPSet's is no pod's");
    }
}
