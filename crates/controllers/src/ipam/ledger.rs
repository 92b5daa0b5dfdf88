//! The blocks of all segments, and the swaps under way.
//!
//! An edit waits until the block it belongs to is free, so that everything decided while one swap
//! is under way goes into the next. Whatever the server then says about the block decides what
//! became of the edits: done, still to do, or lost to somebody who was faster.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use landbridge_api::ledger::{Claim, block_name, block_of};

use super::seen::Block;
use crate::mirror::{Change, Epoch, Key, Mirror, Told};

/// The kind of holder this controller answers for.
pub const HOLDER: &str = "IPSet";

/// One address of one wire.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The wire.
    pub segment: Arc<str>,
    /// The address.
    pub address: IpAddr,
}

/// A compare-and-swap of one block.
#[derive(Clone, Debug, PartialEq)]
pub struct Swap {
    /// Name of the block.
    pub name: Arc<str>,
    /// The wire.
    pub segment: Arc<str>,
    /// First address of the block.
    pub base: IpAddr,
    /// The state it starts from; `None` when there is no block yet.
    pub from: Option<(Arc<str>, u64)>,
    /// New claims, and addresses to be freed.
    pub edits: BTreeMap<IpAddr, Option<Claim>>,
    /// Nothing is claimed afterwards: the block itself goes.
    pub empties: bool,
    epoch: Epoch,
}

/// How a swap ended.
#[derive(Clone, Debug)]
pub enum Swapped {
    /// The block as it is now.
    Block(Block),
    /// The block is gone: because it was emptied, or somebody else did that.
    Gone,
    /// It could not be tried.
    Failed,
}

/// What became different about one address.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// Which address.
    pub place: Place,
    /// Who held it, or was about to.
    pub before: Option<Claim>,
    /// Who holds it, or is about to.
    pub after: Option<Claim>,
}

/// What is to become of one address.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "few at a time, and they live shortly")]
enum Edit {
    /// Claim it; before, this same holder had it under another identity, or nobody.
    Put { from: Option<Claim>, to: Claim },
    /// Free it from this claim, and from no other.
    Remove { from: Claim },
}

#[derive(Debug, Default)]
struct Work {
    edits: BTreeMap<IpAddr, Edit>,
    under_way: bool,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Ledger {
    /// The kind of holder that is asked about.
    kind: &'static str,
    blocks: Mirror<Block>,
    work: HashMap<Key, (Arc<str>, IpAddr, Work)>,
    /// Blocks with edits and no swap under way.
    ready: BTreeSet<Key>,
    /// What each holder of the kind holds, or is about to.
    holders: HashMap<Key, BTreeSet<Place>>,
}

/// The ledger as it is kept for IPSets.
impl Default for Ledger {
    fn default() -> Self {
        Self::of_kind(HOLDER)
    }
}

impl Ledger {
    /// The ledger as it is kept for this kind of holder.
    pub fn of_kind(kind: &'static str) -> Self {
        Self {
            kind,
            blocks: Mirror::default(),
            work: HashMap::new(),
            ready: BTreeSet::new(),
            holders: HashMap::new(),
        }
    }

    /// Whether all blocks have been listed.
    pub fn is_complete(&self) -> bool {
        self.blocks.is_complete()
    }

    /// Who holds the address, or is about to. An address about to be freed is still held.
    pub fn holder(&self, place: &Place) -> Option<&Claim> {
        let key = key_of(place);
        match self.work.get(&key).and_then(|(_, _, work)| work.edits.get(&place.address)) {
            Some(Edit::Put { to, .. }) => Some(to),
            Some(Edit::Remove { from }) => Some(from),
            None => self.blocks.get(&key)?.claims.get(&place.address),
        }
    }

    /// Whether the server knows of the claim as it should be.
    pub fn is_settled(&self, place: &Place) -> bool {
        let key = key_of(place);
        self.work.get(&key).is_none_or(|(_, _, work)| !work.edits.contains_key(&place.address))
    }

    /// Whether the address is about to become free.
    pub fn is_leaving(&self, place: &Place) -> bool {
        let work = self.work.get(&key_of(place));
        let edit = work.and_then(|(_, _, work)| work.edits.get(&place.address));
        matches!(edit, Some(Edit::Remove { .. }))
    }

    /// What somebody holds, or is about to.
    pub fn of(&self, holder: &Key) -> impl Iterator<Item = &Place> {
        self.holders.get(holder).into_iter().flatten()
    }

    /// Everybody who holds something.
    pub fn all_holders(&self) -> impl Iterator<Item = &Key> {
        self.holders.keys()
    }

    /// All addresses of a wire that are held.
    pub fn held_on(&self, segment: &str) -> impl Iterator<Item = IpAddr> {
        let known = self.blocks.iter().filter(move |block| &*block.segment == segment);
        let known = known.flat_map(|block| block.claims.keys().copied());
        let new = self.work.values().filter(move |(wire, _, _)| &**wire == segment);
        known.chain(new.flat_map(|(_, _, work)| work.edits.keys().copied()))
    }

    /// Claims an address that is free, or that the same holder has under another identity.
    /// Answers what changes at once; the swap follows.
    pub fn put(&mut self, place: &Place, to: Claim) -> Option<Effect> {
        let before = self.holder(place).cloned();
        if before.as_ref() == Some(&to) && self.is_settled(place) {
            return None;
        }
        let from = self.known(place).cloned();
        self.edit(place, Edit::Put { from, to: to.clone() });
        let effect = Effect { place: place.clone(), before, after: Some(to) };
        self.index(&effect);
        Some(effect)
    }

    /// Frees an address once the server agrees; at once, when the server has not heard of the
    /// claim.
    pub fn remove(&mut self, place: &Place) -> Vec<Effect> {
        let Some(from) = self.holder(place).cloned() else { return Vec::new() };
        self.edit(place, Edit::Remove { from });
        let key = key_of(place);
        let under_way = self.work.get(&key).is_some_and(|(_, _, work)| work.under_way);
        if under_way { Vec::new() } else { self.judge_again(&key) }
    }

    /// Frees an address whatever was to become of it: what the server knows of is taken out by the next
    /// swap. Unlike [`remove`](Self::remove), an edit that was not sent yet does not bring anything back.
    pub fn withdraw(&mut self, place: &Place) -> Vec<Effect> {
        let key = key_of(place);
        let under_way = self.work.get(&key).is_some_and(|(_, _, work)| work.under_way);
        match self.known(place).cloned() {
            Some(from) if !under_way => {
                let before = self.holder(place).cloned();
                self.edit(place, Edit::Remove { from: from.clone() });
                if before.as_ref() == Some(&from) {
                    return Vec::new();
                }
                // Until it is free, it is held by whom the server knows.
                let effect = Effect { place: place.clone(), before, after: Some(from) };
                self.index(&effect);
                vec![effect]
            }
            _ => self.remove(place),
        }
    }

    /// Swaps that can be sent now.
    pub fn swaps(&mut self) -> Vec<Swap> {
        let ready = std::mem::take(&mut self.ready);
        ready.into_iter().filter_map(|key| self.swap(&key)).collect()
    }

    /// A swap has ended.
    pub fn swapped(&mut self, swap: &Swap, how: Swapped) -> Vec<Effect> {
        let key = Key::new("", &swap.name);
        if let Some((_, _, work)) = self.work.get_mut(&key) {
            work.under_way = false;
        }
        let effects = match how {
            Swapped::Block(block) => match self.blocks.learn(swap.epoch, block) {
                Some(change) => self.judge(change),
                None => self.judge_again(&key),
            },
            Swapped::Gone => {
                let revision = swap.from.as_ref().map_or(0, |(_, revision)| *revision);
                let gone = self.blocks.get(&key).filter(|block| block.revision <= revision);
                match gone.cloned() {
                    Some(block) => self.tell(Told::Deleted(block)),
                    None => self.judge_again(&key),
                }
            }
            Swapped::Failed => self.judge_again(&key),
        };
        self.make_ready(&key);
        effects
    }

    /// To be handed to [`refreshed`](Self::refreshed) with what is read from now on.
    pub fn epoch(&self) -> Epoch {
        self.blocks.epoch()
    }

    /// Takes a block that was read.
    pub fn refreshed(&mut self, epoch: Epoch, block: Block) -> Vec<Effect> {
        match self.blocks.learn(epoch, block) {
            Some(change) => self.judge(change),
            None => Vec::new(),
        }
    }

    /// Takes what the watch tells of blocks.
    pub fn tell(&mut self, told: Told<Block>) -> Vec<Effect> {
        let changes = self.blocks.tell(told);
        let mut effects = Vec::new();
        for change in changes {
            effects.extend(self.judge(change));
        }
        effects
    }

    /// Whether every edit is done and no swap under way.
    pub fn is_idle(&self) -> bool {
        self.work.is_empty()
    }

    fn known(&self, place: &Place) -> Option<&Claim> {
        self.blocks.get(&key_of(place))?.claims.get(&place.address)
    }

    fn edit(&mut self, place: &Place, edit: Edit) {
        let key = key_of(place);
        let fresh = || (place.segment.clone(), block_of(place.address), Work::default());
        let (_, _, work) = self.work.entry(key.clone()).or_insert_with(fresh);
        work.edits.insert(place.address, edit);
        self.make_ready(&key);
    }

    fn make_ready(&mut self, key: &Key) {
        let Some((_, _, work)) = self.work.get(key) else { return };
        if work.under_way {
            return;
        }
        if work.edits.is_empty() {
            self.work.remove(key);
        } else {
            self.ready.insert(key.clone());
        }
    }

    fn swap(&mut self, key: &Key) -> Option<Swap> {
        let (segment, base, work) = self.work.get_mut(key)?;
        if work.under_way || work.edits.is_empty() {
            return None;
        }
        work.under_way = true;
        let block = self.blocks.get(key);
        let edits: BTreeMap<_, _> = work
            .edits
            .iter()
            .map(|(address, edit)| match edit {
                Edit::Put { to, .. } => (*address, Some(to.clone())),
                Edit::Remove { .. } => (*address, None),
            })
            .collect();
        let stays = |address: &IpAddr| !matches!(edits.get(address), Some(None));
        let empties = block.is_some_and(|block| !block.claims.keys().any(stays))
            && edits.values().all(Option::is_none);
        Some(Swap {
            name: key.name.clone(),
            segment: segment.clone(),
            base: *base,
            from: block.map(|block| (block.uid.clone(), block.revision)),
            edits,
            empties,
            epoch: self.blocks.epoch(),
        })
    }

    /// Compares a block with what it was: which claims came and went, and what that means for the
    /// edits that wait for it.
    fn judge(&mut self, change: Change<Block>) -> Vec<Effect> {
        let Change { key, before } = change;
        let now = self.blocks.get(&key);
        let block = now.or(before.as_ref()).map(|block| &block.segment);
        let work = self.work.get(&key).map(|(segment, _, _)| segment);
        let Some(segment) = block.or(work).cloned() else { return Vec::new() };
        let none = BTreeMap::new();
        let old = before.as_ref().map_or(&none, |block| &block.claims);
        let new = now.map_or(&none, |block| &block.claims);
        let edits = self.work.get_mut(&key).map(|(_, _, work)| &mut work.edits);
        let mut effects = Vec::new();
        let mut empty = BTreeMap::new();
        let edits = edits.unwrap_or(&mut empty);
        let addresses: BTreeSet<IpAddr> =
            old.keys().chain(new.keys()).chain(edits.keys()).copied().collect();
        for address in addresses {
            let before = match edits.get(&address) {
                Some(Edit::Put { to, .. }) => Some(to),
                Some(Edit::Remove { from }) => Some(from),
                None => old.get(&address),
            }
            .cloned();
            let server = new.get(&address);
            let open = match edits.get(&address) {
                Some(Edit::Put { from, to }) => server != Some(to) && server == from.as_ref(),
                Some(Edit::Remove { from }) => server == Some(from),
                None => false,
            };
            if open {
                continue;
            }
            let decided = edits.remove(&address).is_some();
            let after = server.cloned();
            if decided || before != after {
                let place = Place { segment: segment.clone(), address };
                effects.push(Effect { place, before, after });
            }
        }
        for effect in &effects {
            self.index(effect);
        }
        self.make_ready(&key);
        effects
    }

    /// As [`judge`](Self::judge), for a block that is known to be as before: edits of a swap that
    /// was answered by news the watch had told already.
    fn judge_again(&mut self, key: &Key) -> Vec<Effect> {
        let before = self.blocks.get(key).cloned();
        self.judge(Change { key: key.clone(), before })
    }

    fn index(&mut self, effect: &Effect) {
        for key in self.keys(effect.before.as_ref()) {
            if let Some(places) = self.holders.get_mut(&key) {
                places.remove(&effect.place);
                if places.is_empty() {
                    self.holders.remove(&key);
                }
            }
        }
        for key in self.keys(effect.after.as_ref()) {
            self.holders.entry(key).or_default().insert(effect.place.clone());
        }
    }

    /// Whose claim it is: all users of an address that is shared.
    fn keys(&self, claim: Option<&Claim>) -> Vec<Key> {
        let Some(claim) = claim.filter(|claim| claim.kind == self.kind) else { return Vec::new() };
        match &claim.shared {
            Some(shared) => {
                shared.users.iter().map(|user| Key::new(&user.namespace, &user.name)).collect()
            }
            None => vec![Key::new(&claim.namespace, &claim.name)],
        }
    }
}

fn key_of(place: &Place) -> Key {
    Key::new("", &block_name(&place.segment, block_of(place.address)))
}
