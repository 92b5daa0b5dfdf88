//! The claims of pods in the ledger that IPSets draw from.
//!
//! The range of an attachment may lie in a subnet of a NetConfig on the same wire. What a pod gets
//! there is claimed in the ledger of that wire before it is recorded in the pool, and freed after the
//! record is gone: so at every instant at which a call may break off, whoever has the address is in
//! the ledger. A claim nobody stands behind is found by [`crate::reconcile`].
//!
//! ```text
//!   ADD: choose ─▶ claim (one swap per block) ─▶ pool (one patch)      DEL: pool ─▶ free
//!           ▲         │ somebody else has it
//!           └─────────┘
//! ```
//!
//! Where no NetConfig has addresses of a range nothing is claimed. What was seen of blocks is kept,
//! and is never more than a guess: a claim counts when the swap succeeded, and before anybody is
//! refused, or loses what is recorded for him, the blocks are read.

pub mod edits;
mod wiring;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use landbridge_addr::net::Range;
use landbridge_api::ledger::{
    AddressBlock, AddressBlockSpec, Claim, block_name, block_of, block_prefix,
};
use landbridge_plan::Site;
use serde_json::Value;

use self::edits::{Wants, is_of, same_holder};
use self::wiring::Wiring;
pub use self::wiring::segments_of;
use crate::objects::{Block, ObjectError, Objects};

/// How often a swap is tried against other writers.
const TRIES_MAX: u32 = 100;
/// The longest pause between two tries.
const PAUSE_MAX: Duration = Duration::from_millis(200);

/// The kind of holder that attachments answer for.
pub const HOLDER: &str = "Pod";

/// One address of one wire.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The wire.
    pub segment: Arc<str>,
    /// The address.
    pub address: IpAddr,
}

impl Place {
    /// The block it is in.
    pub fn block(&self) -> String {
        block_name(&self.segment, block_of(self.address))
    }
}

/// What an ask has to claim before it is served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The subnets of NetConfigs that have addresses of the range.
    pub sites: Vec<Site>,
    /// In whose name.
    pub claim: Claim,
}

impl Share {
    /// Where an address is to be claimed; nowhere, when it is of no NetConfig.
    pub fn places(&self, address: IpAddr) -> impl Iterator<Item = Place> {
        places(&self.sites, address)
    }
}

/// The places of an address on these sites, each once.
pub fn places(sites: &[Site], address: IpAddr) -> impl Iterator<Item = Place> {
    let holding = sites.iter().filter(move |site| site.prefix.contains(address));
    let segments: BTreeSet<&Arc<str>> = holding.map(|site| &site.segment).collect();
    let segments: Vec<Arc<str>> = segments.into_iter().cloned().collect();
    segments.into_iter().map(move |segment| Place { segment, address })
}

/// The ledger, as far as pods go.
pub struct Claims {
    objects: Arc<dyn Objects>,
    wiring: Wiring,
    /// What was last seen of each block; `None` when there was none.
    seen: Mutex<BTreeMap<String, Option<Block>>>,
}

/// What came of claiming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// All of it stands in the ledger.
    All,
    /// Somebody else has some of it, which is known now.
    Lost,
}

impl Claims {
    /// Nothing is known yet.
    pub fn new(objects: Arc<dyn Objects>) -> Self {
        Self { objects, wiring: Wiring::default(), seen: Mutex::default() }
    }

    /// The sites of a definition's range; none where no NetConfig has addresses of it.
    pub fn sites(&self, definition: &Value, range: Range) -> Result<Vec<Site>, ObjectError> {
        self.wiring.sites(self.objects.as_ref(), definition, range)
    }

    /// Who else holds an address, as last seen.
    pub fn other(&self, share: &Share, address: IpAddr) -> Option<Claim> {
        let seen = self.seen();
        share.places(address).find_map(|place| {
            let found = seen.get(&place.block())?.as_ref()?.claims.get(&address)?;
            (!same_holder(found, &share.claim)).then(|| found.clone())
        })
    }

    /// Who holds addresses between these bounds, as last seen.
    pub fn others_within(&self, share: &Share, bounds: Range) -> BTreeMap<IpAddr, Claim> {
        let segments: BTreeSet<&str> = share.sites.iter().map(|site| &*site.segment).collect();
        let seen = self.seen();
        let blocks = seen.values().flatten().filter(|b| segments.contains(b.segment.as_str()));
        let claims = blocks.flat_map(|block| &block.claims);
        let within = claims.filter(|(address, _)| bounds.contains(**address));
        within.map(|(address, claim)| (*address, claim.clone())).collect()
    }

    /// Forgets what was seen of the blocks of these sites: it is read again before it counts.
    pub fn doubt(&self, share: &Share) {
        let segments: BTreeSet<&str> = share.sites.iter().map(|site| &*site.segment).collect();
        let of_them = |block: &Block| segments.contains(block.segment.as_str());
        self.seen().retain(|_, block| !block.as_ref().is_some_and(of_them));
    }

    /// Claims everything, in one swap for each block, or says that somebody else has some of it.
    /// What is written is noted in `made`.
    pub fn put(&self, wanted: &Wants, made: &mut Wants, end: Instant) -> Result<Put, ObjectError> {
        let mut blocks: BTreeMap<String, Wants> = BTreeMap::new();
        for (place, claim) in wanted {
            blocks.entry(place.block()).or_default().insert(place.clone(), claim.clone());
        }
        for (name, wants) in blocks {
            let decide = |block: Option<&Block>| edits::put(block, &wants);
            match self.swap(&name, end, decide)? {
                Swapped::Lost => return Ok(Put::Lost),
                Swapped::Done(true) => made.extend(wants),
                Swapped::Done(false) => {}
            }
        }
        Ok(Put::All)
    }

    /// Frees claims, each if it still is exactly that one.
    pub fn take_back(&self, claims: &Wants, end: Instant) -> Result<(), ObjectError> {
        for (place, claim) in claims {
            let decide =
                |block: Option<&Block>| edits::free(block, place.address, |found| found == claim);
            self.swap(&place.block(), end, decide)?;
        }
        Ok(())
    }

    /// Frees what a container's interface held, on whatever wire it was claimed.
    pub fn free(
        &self,
        address: IpAddr,
        record: &Record<'_>,
        end: Instant,
    ) -> Result<(), ObjectError> {
        let sites = self.wiring.all_sites(self.objects.as_ref())?;
        for place in places(&sites, address) {
            let decide =
                |block: Option<&Block>| edits::free(block, address, |found| is_of(found, record));
            self.swap(&place.block(), end, decide)?;
        }
        Ok(())
    }

    /// Brings one block to where `decide` wants it.
    fn swap(
        &self,
        name: &str,
        end: Instant,
        decide: impl Fn(Option<&Block>) -> edits::Decision,
    ) -> Result<Swapped, ObjectError> {
        for attempt in 0..TRIES_MAX {
            let pause = Duration::from_millis(u64::from(attempt) * 3).min(PAUSE_MAX);
            if attempt > 0 && Instant::now() + pause >= end {
                break;
            }
            // The first conflict is nearly always what was seen being old.
            std::thread::sleep(pause.saturating_sub(Duration::from_millis(3)));
            let known = self.seen().get(name).cloned();
            let is_fresh = known.is_none();
            let block = match known {
                Some(block) => block,
                None => self.see(name, self.objects.block(name)?),
            };
            let (segment, edits) = match decide(block.as_ref()) {
                edits::Decision::Nothing if is_fresh => return Ok(Swapped::Done(false)),
                edits::Decision::Lost if is_fresh => return Ok(Swapped::Lost),
                // What was seen says so; what is there may be another matter.
                edits::Decision::Nothing | edits::Decision::Lost => {
                    self.seen().remove(name);
                    continue;
                }
                edits::Decision::Write { segment, edits } => (segment, edits),
            };
            let outcome = match &block {
                Some(block) => self.objects.swap_block(block, &edits),
                None => match self.objects.create_block(&new_block(name, &segment, edits)) {
                    // No ledger: nobody to share addresses with.
                    Ok(None) => return Ok(Swapped::Done(false)),
                    other => other,
                },
            };
            match outcome {
                Ok(block) => {
                    self.see(name, block);
                    return Ok(Swapped::Done(true));
                }
                Err(ObjectError::Conflict(_)) => {
                    self.seen().remove(name);
                }
                Err(error) => {
                    self.seen().remove(name);
                    return Err(error);
                }
            }
        }
        let text = format!("AddressBlock {name}: too many others write at the same time");
        Err(ObjectError::Conflict(text))
    }

    fn see(&self, name: &str, block: Option<Block>) -> Option<Block> {
        self.seen().insert(name.to_owned(), block.clone());
        block
    }

    fn seen(&self) -> MutexGuard<'_, BTreeMap<String, Option<Block>>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whose an address was, as a pool records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The container.
    pub id: &'a str,
    /// The pod, `namespace/name`; empty when it is not known.
    pub podref: &'a str,
    /// The interface; empty in old records.
    pub ifname: &'a str,
}

enum Swapped {
    /// As it should be; whether something was written for it.
    Done(bool),
    Lost,
}

fn new_block(name: &str, segment: &str, edits: BTreeMap<IpAddr, Option<Claim>>) -> AddressBlock {
    let base = edits.keys().next().copied().map_or(IpAddr::from([0, 0, 0, 0]), block_of);
    let claims = edits.into_iter().filter_map(|(address, claim)| Some((address, claim?)));
    let spec = AddressBlockSpec {
        segment: segment.to_owned(),
        block: block_prefix(base),
        claims: claims.collect(),
    };
    AddressBlock::new(name, spec)
}
