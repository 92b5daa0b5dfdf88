//! What the ledger should say of the records of pools. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;

use landbridge_addr::net::Range;
use landbridge_api::ledger::Claim;
use landbridge_cni::whereabouts::{Allocation, Ledger};
use landbridge_plan::{Site, Source, all_sites};
use serde_json::{Value, json};

use super::{Picture, pools_of};
use crate::claims::edits::{Wants, claim_of, same_holder};
use crate::claims::{Record, places, segments_of};
use crate::objects::{Definition, Pod, Pool};
use crate::origin;

/// What pools and ledger say of each other.
#[derive(Clone, Debug, Default)]
pub struct Derived {
    /// What is recorded and not claimed, or claimed for a container before.
    pub missing: Wants,
    /// What is recorded, and claimed by somebody else.
    pub doubles: Vec<Double>,
}

/// One address with two holders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Double {
    /// The address.
    pub address: IpAddr,
    /// The pool that records it.
    pub pool: String,
    /// For whom.
    pub podref: String,
    /// Who holds it in the ledger.
    pub holder: String,
}

impl fmt::Display for Double {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, pool, podref, holder } = self;
        write!(
            f,
            "{address}, recorded for pod {podref} in IPPool {pool}, is held by {holder} on the same \
             network: delete one of the two"
        )
    }
}

/// Who is recorded, by address.
pub struct Recorded(BTreeSet<(IpAddr, [String; 3])>);

impl Recorded {
    /// Whether a record stands behind a claim.
    pub fn backs(&self, address: IpAddr, claim: &Claim) -> bool {
        self.0.contains(&(address, holder_of(claim)))
    }
}

fn holder_of(claim: &Claim) -> [String; 3] {
    [&claim.namespace, &claim.name, &claim.attachment].map(Clone::clone)
}

/// All records of all pools; `None` when one of them cannot be read.
pub fn recorded(pools: &BTreeMap<String, Pool>) -> Option<Recorded> {
    let mut all = BTreeSet::new();
    for pool in pools.values() {
        let ledger = Ledger::read(&pool.spec).ok()?;
        all.extend(
            ledger
                .iter()
                .map(|(address, held)| (address, holder_of(&claim_of(&record_of(held), "", "")))),
        );
    }
    Some(Recorded(all))
}

fn record_of(held: &Allocation) -> Record<'_> {
    Record { id: &held.id, podref: &held.podref, ifname: &held.ifname }
}

/// Compares them.
pub fn derive(picture: &Picture) -> Derived {
    let mut derived = Derived::default();
    let sources: Vec<Source<'_>> =
        picture.netconfigs.iter().enumerate().map(|(id, value)| Source::new(id, value)).collect();
    let all = all_sites(&sources);
    if all.is_empty() {
        return derived;
    }
    let pods: BTreeMap<String, &Pod> =
        picture.pods.iter().map(|pod| (pod.reference(), pod)).collect();
    let blocks: BTreeMap<&str, &BTreeMap<IpAddr, Claim>> =
        picture.blocks.iter().map(|block| (block.name.as_str(), &block.claims)).collect();
    for (name, pool) in &picture.pools {
        let Ok(ledger) = Ledger::read(&pool.spec) else { continue };
        if ledger.is_empty() || !meets(&all, &pool.spec.range) {
            continue;
        }
        let (sites, source) = sites_of(name, pool, picture);
        for (address, held) in ledger.iter() {
            let uid = pods.get(&held.podref).map_or("", |pod| &pod.uid);
            let claim = claim_of(&record_of(held), uid, &source);
            for place in places(&sites, address) {
                let found = blocks.get(place.block().as_str()).and_then(|c| c.get(&address));
                match found {
                    Some(found) if !same_holder(found, &claim) => derived.doubles.push(Double {
                        address,
                        pool: name.clone(),
                        podref: held.podref.clone(),
                        holder: found.to_string(),
                    }),
                    Some(found) if found.instance == claim.instance => {}
                    _ => {
                        derived.missing.insert(place, claim.clone());
                    }
                }
            }
        }
    }
    derived
}

fn meets(sites: &[Site], range: &str) -> bool {
    let bounds = Range::parse(range);
    bounds.is_ok_and(|bounds| sites.iter().any(|site| site.prefix.intersect(&bounds).is_some()))
}

/// Where a pool's addresses are to be claimed, and who hands them out. A record does not say through
/// which definition it was made, so all that draw from the pool count.
fn sites_of(name: &str, pool: &Pool, picture: &Picture) -> (Vec<Site>, String) {
    let draws = |definition: &&Definition| pools_of(definition).iter().any(|own| own == name);
    let definitions: Vec<&Definition> = picture.definitions.iter().filter(draws).collect();
    let source = match definitions[..] {
        [one] => format!("NetworkAttachmentDefinition {}/{}", one.namespace, one.name),
        _ => format!("IPPool {name}"),
    };
    let mut values: Vec<Value> = definitions
        .iter()
        .map(|found| origin::definition(&found.namespace, &found.name, &found.config))
        .collect();
    if values.is_empty() {
        // The definition is gone: only the prefix is left.
        let ipam = json!({"type": "whereabouts", "range": pool.spec.range});
        let config = json!({"type": "unknown", "name": name, "ipam": ipam});
        values.push(origin::definition("-", name, &config.to_string()));
    }
    let each = values.iter();
    let mut sites: Vec<Site> =
        each.flat_map(|v| segments_of(v, &picture.policies, &picture.netconfigs)).collect();
    sites.sort();
    sites.dedup();
    (sites, source)
}
