//! Who holds which address of a pool, and who gets the next one.
//!
//! A ledger is made from an IPPool once and then follows it: choosing, taking and releasing an
//! address cost the logarithm of the pool's size, not its size. Each set of settings a pool is
//! used with (two networks of one range may differ in start and end) has a view of what is free.
//!
//! - The same interface of the same pod is given the address it has, whatever the settings say
//!   now; only its container is noted. So a pod made anew before its old container is gone keeps
//!   its address, and the late release of the old container finds nothing.
//! - Otherwise the lowest free address is given.
//! - Keys that are no offsets are left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;
use landbridge_addr::net::{Family, Range};
use landbridge_addr::number::{address, number};
use landbridge_addr::{Pool, Skip};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::patch::Change;
use super::usable::Usable;
use crate::error::{Code, Coded};

/// The highest offset upstream reads.
const OFFSET_MAX: u64 = i64::MAX as u64;

/// How many views are kept; a pool has one or two in practice.
const VIEWS_MAX: usize = 16;

/// The spec of an IPPool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolSpec {
    /// The subnet.
    pub range: String,
    /// Who holds what, by offset from the range's address.
    #[serde(default)]
    pub allocations: BTreeMap<String, Allocation>,
}

/// Who holds an address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocation {
    /// The container.
    #[serde(default)]
    pub id: String,
    /// The interface; old records lack it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ifname: String,
    /// The pod, `namespace/name`.
    #[serde(default)]
    pub podref: String,
}

impl Allocation {
    pub(super) fn to_value(&self) -> Value {
        let mut object = crate::json::Object::new();
        object.insert("id".to_owned(), self.id.as_str().into());
        if !self.ifname.is_empty() {
            object.insert("ifname".to_owned(), self.ifname.as_str().into());
        }
        object.insert("podref".to_owned(), self.podref.as_str().into());
        Value::Object(object)
    }
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim<'a> {
    /// The container.
    pub container_id: &'a str,
    /// The pod, `namespace/name`.
    pub podref: &'a str,
    /// The interface.
    pub ifname: &'a str,
}

/// What was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The address, with the length of the range's prefix.
    pub address: IpNet,
    /// What changed in the pool; `None` when it was all there already.
    pub change: Option<Change>,
    /// Whether the pod holds the address's reservation already, so that none is to be made. Asked
    /// anew for each range; upstream forgets to, and leaves later ranges without.
    pub is_reserved: bool,
}

/// A pool as it stands.
#[derive(Clone, Debug)]
pub struct Ledger {
    base: IpAddr,
    range: IpNet,
    records: BTreeMap<u64, Record>,
    by_interface: BTreeMap<(String, String), BTreeSet<u64>>,
    by_container: BTreeMap<String, BTreeSet<u64>>,
    views: Vec<(Usable, Pool)>,
}

#[derive(Clone, Debug)]
struct Record {
    /// As it was written; not every number is written one way only.
    key: String,
    held: Allocation,
}

impl Ledger {
    /// Reads a pool.
    pub fn read(spec: &PoolSpec) -> Result<Self, BadPool> {
        let range: IpNet = spec.range.parse().map_err(|_| BadPool { range: spec.range.clone() })?;
        let mut ledger = Self {
            base: range.addr(),
            range,
            records: BTreeMap::new(),
            by_interface: BTreeMap::new(),
            by_container: BTreeMap::new(),
            views: Vec::new(),
        };
        for (key, held) in &spec.allocations {
            if let Some(offset) = offset_of(key) {
                ledger.put(offset, key.clone(), held.clone());
            }
        }
        Ok(ledger)
    }

    /// Whether the range was written with host bits. Offsets then count from the middle of the
    /// subnet, and upstream miscounts some of them.
    pub fn is_unaligned(&self) -> bool {
        self.range != self.range.trunc()
    }

    /// How many addresses are held.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether none is held.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The addresses that are held, lowest first, and who holds them.
    pub fn iter(&self) -> impl Iterator<Item = (IpAddr, &Allocation)> {
        self.records.iter().filter_map(|(offset, r)| Some((self.address(*offset)?, &r.held)))
    }

    /// Gives an address. `reserved` says which pod a reservation of another range holds an address
    /// for; where overlapping ranges are not looked at it says `None`.
    pub fn assign(
        &mut self,
        usable: &Usable,
        claim: &Claim<'_>,
        mut reserved: impl FnMut(IpAddr) -> Option<String>,
    ) -> Result<Assignment, NoAddress> {
        let interface = (claim.podref.to_owned(), claim.ifname.to_owned());
        let own = self.by_interface.get(&interface).and_then(BTreeSet::first).copied();
        if let Some(offset) = own
            && let Some(address) = self.address(offset)
        {
            let is_reserved = match reserved(address) {
                Some(holder) if holder != claim.podref => {
                    return Err(NoAddress::HeldTwice { address, holder });
                }
                holder => holder.is_some(),
            };
            let change = self.hand_over(offset, claim.container_id);
            let address = with_length(address, usable);
            return Ok(Assignment { address, change, is_reserved });
        }
        let view = self.view(usable);
        let mut passed = Vec::new();
        let found = loop {
            let Some(address) = self.views.get(view).and_then(|(_, pool)| pool.lowest()) else {
                break None;
            };
            let holder = reserved(address);
            if holder.as_ref().is_none_or(|holder| holder == claim.podref) {
                break Some((address, holder.is_some()));
            }
            passed.push(address);
            self.each_view(|pool| {
                pool.take(address);
            });
        };
        // What other ranges hold is not ours to note.
        for address in passed {
            self.each_view(|pool| {
                pool.release(address);
            });
        }
        let found = found.and_then(|(address, own)| Some((address, own, self.offset(address)?)));
        let Some((address, is_reserved, offset)) = found else {
            return Err(NoAddress::Exhausted {
                bounds: usable.bounds(),
                prefix: usable.prefix(),
                exclude: usable.exclude_text(),
            });
        };
        let held = Allocation {
            id: claim.container_id.to_owned(),
            ifname: claim.ifname.to_owned(),
            podref: claim.podref.to_owned(),
        };
        let key = offset.to_string();
        self.put(offset, key.clone(), held.clone());
        let change = Some(Change { key, before: None, after: Some(held) });
        Ok(Assignment { address: with_length(address, usable), change, is_reserved })
    }

    /// Gives exactly this address, as a pod's annotation may ask. It has to lie in the subnet and
    /// must not be left out; like a fixed address of an IPSet it need not lie between start and end.
    /// What the interface holds besides stays recorded, for its old container may still use it.
    pub fn take(
        &mut self,
        usable: &Usable,
        claim: &Claim<'_>,
        wanted: IpAddr,
    ) -> Result<Assignment, NoAddress> {
        let prefix = usable.prefix();
        let is_end = wanted == prefix.network() || wanted == prefix.broadcast();
        if !prefix.contains(&wanted) || is_end || usable.excluded().contains(wanted) {
            return Err(NoAddress::NotInRange { wanted, prefix, exclude: usable.exclude_text() });
        }
        let Some(offset) = self.offset(wanted) else {
            return Err(NoAddress::NotInRange { wanted, prefix, exclude: usable.exclude_text() });
        };
        let address = with_length(wanted, usable);
        match self.records.get(&offset) {
            Some(Record { held, .. })
                if held.podref == claim.podref && held.ifname == claim.ifname =>
            {
                let change = self.hand_over(offset, claim.container_id);
                Ok(Assignment { address, change, is_reserved: false })
            }
            Some(Record { held, .. }) => {
                let holder = match held.ifname.as_str() {
                    "" => held.podref.clone(),
                    ifname => format!("{} ({ifname})", held.podref),
                };
                Err(NoAddress::Held { wanted, holder })
            }
            None => {
                let held = Allocation {
                    id: claim.container_id.to_owned(),
                    ifname: claim.ifname.to_owned(),
                    podref: claim.podref.to_owned(),
                };
                let key = offset.to_string();
                self.put(offset, key.clone(), held.clone());
                let change = Some(Change { key, before: None, after: Some(held) });
                Ok(Assignment { address, change, is_reserved: false })
            }
        }
    }

    /// Who holds an address.
    pub fn holder(&self, address: IpAddr) -> Option<&Allocation> {
        self.records.get(&self.offset(address)?).map(|record| &record.held)
    }

    /// The addresses a pod's interface holds, lowest first.
    pub fn held_by(&self, podref: &str, ifname: &str) -> Vec<IpAddr> {
        let interface = (podref.to_owned(), ifname.to_owned());
        let offsets = self.by_interface.get(&interface).into_iter().flatten();
        offsets.filter_map(|offset| self.address(*offset)).collect()
    }

    /// The address that [`Self::release`] would free.
    pub fn held_for(&self, claim: &Claim<'_>) -> Option<(IpAddr, &Allocation)> {
        let offset = self.offset_of_container(claim)?;
        Some((self.address(offset)?, &self.records.get(&offset)?.held))
    }

    /// Frees an address, whoever holds it. `None` when nobody does.
    pub fn free_address(&mut self, address: IpAddr) -> Option<Change> {
        self.free(self.offset(address)?).map(|(_, change)| change)
    }

    /// Frees the address of a container's interface. `None` when it holds none, which is no error.
    /// A record without an interface is the container's own when nothing fits better.
    pub fn release(&mut self, claim: &Claim<'_>) -> Option<(IpAddr, Change)> {
        self.free(self.offset_of_container(claim)?)
    }

    fn offset_of_container(&self, claim: &Claim<'_>) -> Option<u64> {
        let held = self.by_container.get(claim.container_id)?;
        let fits = |offset: &&u64, ifname: &str| {
            self.records.get(offset).is_some_and(|record| {
                let known = !claim.podref.is_empty() && !record.held.podref.is_empty();
                record.held.ifname == ifname && (!known || record.held.podref == claim.podref)
            })
        };
        let exact = held.iter().find(|offset| fits(offset, claim.ifname));
        exact.or_else(|| held.iter().find(|offset| fits(offset, ""))).copied()
    }

    /// Frees everything that is not to be kept: for a pod that is gone, or for GC.
    pub fn retain(
        &mut self,
        mut keep: impl FnMut(IpAddr, &Allocation) -> bool,
    ) -> Vec<(IpAddr, Change)> {
        let gone: Vec<u64> = self
            .records
            .iter()
            .filter(|(offset, r)| self.address(**offset).is_some_and(|a| !keep(a, &r.held)))
            .map(|(offset, _)| *offset)
            .collect();
        gone.into_iter().filter_map(|offset| self.free(offset)).collect()
    }

    /// Follows a change somebody else made, or the inverse of one that was refused.
    pub fn apply(&mut self, change: &Change) {
        let Some(offset) = offset_of(&change.key) else { return };
        self.drop_record(offset);
        if let Some(held) = &change.after {
            self.put(offset, change.key.clone(), held.clone());
        }
    }

    /// Follows the pool to where it stands now, whoever changed it. What did not change costs a
    /// comparison.
    pub fn follow(&mut self, spec: &PoolSpec) -> Result<(), BadPool> {
        if spec.range.parse() != Ok(self.range) {
            *self = Self::read(spec)?;
            return Ok(());
        }
        let mut now: BTreeMap<u64, (&String, &Allocation)> = BTreeMap::new();
        for (key, held) in &spec.allocations {
            if let Some(offset) = offset_of(key) {
                now.insert(offset, (key, held));
            }
        }
        let gone: Vec<u64> =
            self.records.keys().filter(|offset| !now.contains_key(offset)).copied().collect();
        for offset in gone {
            self.drop_record(offset);
        }
        for (offset, (key, held)) in now {
            let same = |record: &Record| record.key == *key && record.held == *held;
            if !self.records.get(&offset).is_some_and(same) {
                self.put(offset, key.clone(), held.clone());
            }
        }
        Ok(())
    }

    /// Notes another container for the same interface.
    fn hand_over(&mut self, offset: u64, container_id: &str) -> Option<Change> {
        let record = self.records.get(&offset)?;
        if record.held.id == container_id {
            return None;
        }
        let (key, before) = (record.key.clone(), record.held.clone());
        let after = Allocation { id: container_id.to_owned(), ..before.clone() };
        let change = Change { key, before: Some(before), after: Some(after) };
        self.apply(&change);
        Some(change)
    }

    fn free(&mut self, offset: u64) -> Option<(IpAddr, Change)> {
        let address = self.address(offset)?;
        let record = self.drop_record(offset)?;
        Some((address, Change { key: record.key, before: Some(record.held), after: None }))
    }

    fn put(&mut self, offset: u64, key: String, held: Allocation) {
        // Two spellings of one offset: the later one counts.
        self.drop_record(offset);
        let interface = (held.podref.clone(), held.ifname.clone());
        self.by_interface.entry(interface).or_default().insert(offset);
        self.by_container.entry(held.id.clone()).or_default().insert(offset);
        self.records.insert(offset, Record { key, held });
        if let Some(address) = self.address(offset) {
            self.each_view(|pool| {
                pool.take(address);
            });
        }
    }

    fn drop_record(&mut self, offset: u64) -> Option<Record> {
        let record = self.records.remove(&offset)?;
        let interface = (record.held.podref.clone(), record.held.ifname.clone());
        forget(&mut self.by_interface, &interface, offset);
        forget(&mut self.by_container, &record.held.id, offset);
        if let Some(address) = self.address(offset) {
            self.each_view(|pool| {
                pool.release(address);
            });
        }
        Some(record)
    }

    /// The place of the view for these settings, made when it is new.
    fn view(&mut self, usable: &Usable) -> usize {
        if let Some(place) = self.views.iter().position(|(known, _)| known == usable) {
            return place;
        }
        if self.views.len() == VIEWS_MAX {
            self.views.remove(0);
        }
        // Only what has an offset can be recorded.
        let last = self.address(OFFSET_MAX).unwrap_or_else(|| last_of(self.base));
        let recordable = Range::new(self.base, last);
        let range = recordable.and_then(|range| range.intersect(&usable.bounds()));
        let ranges: Vec<Range> = range.into_iter().collect();
        let taken = self.iter().map(|(address, _)| address);
        let pool = Pool::rebuild(&ranges, usable.excluded(), Skip::Nothing, taken);
        self.views.push((usable.clone(), pool));
        self.views.len() - 1
    }

    fn each_view(&mut self, mut change: impl FnMut(&mut Pool)) {
        self.views.iter_mut().for_each(|(_, pool)| change(pool));
    }

    fn address(&self, offset: u64) -> Option<IpAddr> {
        let number = number(self.base).checked_add(offset.into())?;
        address(Family::of(self.base), number)
    }

    fn offset(&self, address: IpAddr) -> Option<u64> {
        let offset = number(address).checked_sub(number(self.base))?;
        u64::try_from(offset).ok().filter(|offset| *offset <= OFFSET_MAX)
    }
}

/// The offset a key stands for; `None` when it is none.
fn offset_of(key: &str) -> Option<u64> {
    key.parse::<u64>().ok().filter(|offset| *offset <= OFFSET_MAX)
}

fn last_of(base: IpAddr) -> IpAddr {
    match base {
        IpAddr::V4(_) => IpAddr::V4(std::net::Ipv4Addr::BROADCAST),
        IpAddr::V6(_) => IpAddr::V6(std::net::Ipv6Addr::from_bits(u128::MAX)),
    }
}

/// The address with the length of the range's prefix, or alone where that does not fit it.
fn with_length(address: IpAddr, usable: &Usable) -> IpNet {
    IpNet::new(address, usable.prefix().prefix_len()).unwrap_or_else(|_| address.into())
}

fn forget<K: Ord>(index: &mut BTreeMap<K, BTreeSet<u64>>, key: &K, offset: u64) {
    if let Some(offsets) = index.get_mut(key) {
        offsets.remove(&offset);
        if offsets.is_empty() {
            index.remove(key);
        }
    }
}

/// The pool's range is no prefix.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the pool's range {range:?} is no prefix")]
pub struct BadPool {
    /// What it is.
    pub range: String,
}

impl Coded for BadPool {
    fn code(&self) -> Code {
        Code::INTERNAL
    }
}

/// Why no address is given.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoAddress {
    /// All are held.
    #[error(
        "Could not allocate IP in range: ip: {} / - {} / range: {prefix} / excludeRanges: {exclude}",
        bounds.first(),
        bounds.last()
    )]
    Exhausted {
        /// The first and the last that could have been given.
        bounds: Range,
        /// The subnet.
        prefix: IpNet,
        /// What is left out of it.
        exclude: String,
    },
    /// The pool says the address is this pod's, a reservation says it is another's. Giving it out
    /// would put it on the network twice.
    #[error("{address} is recorded for this pod and reserved for {holder}")]
    HeldTwice {
        /// The address.
        address: IpAddr,
        /// The other pod.
        holder: String,
    },
    /// The address asked for is another's.
    #[error("the requested address {wanted} is held by {holder}")]
    Held {
        /// The address.
        wanted: IpAddr,
        /// Who has it.
        holder: String,
    },
    /// The address asked for is none of the subnet's, or left out of it.
    #[error(
        "the requested address {wanted} cannot be given: it has to be a host address of {prefix} \
         outside of excludeRanges {exclude}"
    )]
    NotInRange {
        /// The address.
        wanted: IpAddr,
        /// The subnet.
        prefix: IpNet,
        /// What is left out of it.
        exclude: String,
    },
}

impl Coded for NoAddress {
    fn code(&self) -> Code {
        match self {
            // These pass when somebody releases an address.
            Self::Exhausted { .. } | Self::HeldTwice { .. } | Self::Held { .. } => Code::TRY_AGAIN,
            Self::NotInRange { .. } => Code::INVALID_CONFIG,
        }
    }
}
