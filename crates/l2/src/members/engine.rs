//! The state machine of one agent among the others.
//!
//! Everything that can happen is a method; what is to be done about it is fetched with
//! [`Engine::outputs`]. Invariants, each tried by the simulator in `tests/timelines.rs`:
//!
//! - a member that dies is missed by all others in under a second, and by nobody while it is only late;
//! - an agent that was itself stopped accuses nobody, and is silent until it has read again what is its own;
//! - two that hold one address stop doing so with the first message between them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use super::keys::Keys;
use super::message::{Body, MemberId, Message, Phase, SEEN, Seen, Stake, parts};
use super::ownership::{Other, Situation, Verdict, decide};
use super::peer::Peer;
use crate::Moment;
use crate::election::{Ballot, elect, rank};

/// How often the engine wants to look at the clock.
pub const TICK: Duration = Duration::from_millis(25);
/// How often members are told that we live.
const BEAT: Duration = Duration::from_millis(50);
/// The same among many.
const BEAT_OF_MANY: Duration = Duration::from_millis(100);
const MANY: usize = 32;
/// Between two looks at the clock lies more than this only when we got no time of a processor.
const STARVED: Duration = Duration::from_millis(100);
/// After such a gap the others may have taken us for dead. Shorter than their patience, less the
/// time between two beats.
const FROZEN: Duration = Duration::from_millis(330);
/// So long a new member waits for those it knows of from the API.
const JOIN: Duration = Duration::from_millis(1500);
/// So long a member that was stopped waits for an API that does not answer.
const REREAD: Duration = Duration::from_secs(5);
/// So long at least it listens.
const LISTEN: Duration = Duration::from_millis(120);
/// A member is asked for its stakes again after this.
const ASK_AGAIN: Duration = Duration::from_millis(40);
/// A member that does not hear us yet is answered again after this.
const ANSWER_AGAIN: Duration = Duration::from_millis(10);
/// An address that somebody unknown announces is left alone for this long, where we may be the
/// ones who are cut off.
const CONTESTED: Duration = Duration::from_secs(30);
/// An address that somebody else announces is announced again by us after this: longer than it takes
/// to find out that we are cut off.
const DEFEND: Duration = Duration::from_millis(700);
/// A beat that knows of nothing we said since then is a recording, or of one who does not hear us.
const FRESH: Duration = Duration::from_secs(1);
/// So many members are followed.
const MEMBERS: usize = 1024;

/// Who this is.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name of the node.
    pub name: String,
    /// This start of the agent: a greater number than any before, and not to be guessed.
    pub life: u64,
}

/// A node that may be a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contact {
    /// Where it is told things.
    pub address: IpAddr,
    /// Whether the API says that an agent is there and that the node is Ready: then it counts when
    /// we ask ourselves whether we are the ones who are cut off.
    pub counted: bool,
}

/// Addresses that move together, by the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// Nodes that may announce them, each with how much it is wanted.
    pub candidates: BTreeMap<String, u32>,
    /// Whether this node can: it has an interface for them that works.
    pub able: bool,
    /// Whether they stay with who has them.
    pub sticky: bool,
    /// Whether they count when shares are made.
    pub spread: bool,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Announce from now on.
    Announce(IpAddr),
    /// Fall silent.
    Withdraw(IpAddr),
    /// Say again where it is.
    Renew(IpAddr),
    /// Send a datagram.
    Send {
        /// The node.
        to: String,
        /// Its address.
        address: IpAddr,
        /// The datagram.
        bytes: Vec<u8>,
    },
    /// These nodes were members and are dead. Empty: nobody is known to be.
    Dead(BTreeSet<String>),
    /// Read again from the API what is our own, then call [`Engine::reread`].
    Reread,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Engine {
    settings: Settings,
    id: MemberId,
    keys: Keys,
    number: u64,
    phase: Phase,
    joining_since: Moment,
    was_frozen: bool,
    has_read: bool,
    connected: bool,
    roster: BTreeMap<String, Contact>,
    peers: BTreeMap<String, Peer>,
    live: BTreeSet<String>,
    /// Those that lived once in our life, and have not said goodbye.
    met: BTreeSet<String>,
    told_dead: BTreeSet<String>,
    units: BTreeMap<IpAddr, Unit>,
    held: BTreeSet<IpAddr>,
    wanted: BTreeSet<IpAddr>,
    contested: BTreeMap<IpAddr, Moment>,
    /// Announced by somebody else, and when we say that they are here.
    defend: BTreeMap<IpAddr, Moment>,
    /// Held by another one, too, when last looked at.
    disputed: BTreeSet<IpAddr>,
    stakes: Vec<(IpAddr, Stake)>,
    version: u32,
    changed: bool,
    last_tick: Moment,
    next_beat: Moment,
    turn: usize,
    /// When we sent messages from which number on.
    sent: VecDeque<(u64, Moment)>,
    outputs: Vec<Output>,
}

impl Engine {
    /// An agent that has just started.
    pub fn new(settings: Settings, now: Moment) -> Self {
        Self {
            id: MemberId::of(&settings.name),
            settings,
            keys: Keys::default(),
            number: 0,
            phase: Phase::Joining,
            joining_since: now,
            was_frozen: false,
            has_read: false,
            connected: true,
            roster: BTreeMap::new(),
            peers: BTreeMap::new(),
            live: BTreeSet::new(),
            met: BTreeSet::new(),
            told_dead: BTreeSet::new(),
            units: BTreeMap::new(),
            held: BTreeSet::new(),
            wanted: BTreeSet::new(),
            contested: BTreeMap::new(),
            defend: BTreeMap::new(),
            disputed: BTreeSet::new(),
            stakes: Vec::new(),
            version: 1,
            changed: true,
            last_tick: now,
            next_beat: now,
            turn: 0,
            sent: VecDeque::new(),
            outputs: Vec::new(),
        }
    }

    /// What is to be done, in this order.
    pub fn outputs(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.outputs)
    }

    /// When [`tick`](Self::tick) is to be called.
    pub fn wake(&self) -> Moment {
        self.last_tick + TICK
    }

    /// The addresses held.
    pub fn held(&self) -> &BTreeSet<IpAddr> {
        &self.held
    }

    /// The members that live, without us.
    pub fn live(&self) -> &BTreeSet<String> {
        &self.live
    }

    /// Where this agent stands.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Where it stands, in one line.
    pub fn describe(&self) -> String {
        let (alive, known) = self.count();
        let stakes = |peer: &Peer| {
            format!("{:?}{}", peer.phase, if peer.is_current() { "" } else { ", not current" })
        };
        let peers: Vec<String> = self
            .peers
            .iter()
            .map(|(name, peer)| {
                let lives = if self.live.contains(name) { "lives" } else { "is dead" };
                format!("{name} {lives} ({})", stakes(peer))
            })
            .collect();
        format!(
            "{:?}, {alive} of {known}, holds {:?}, wants {:?}; {}",
            self.phase,
            self.held,
            self.wanted,
            peers.join(", ")
        )
    }

    /// Who announces an address, as far as is known.
    pub fn holder(&self, key: IpAddr) -> Option<&str> {
        if self.held.contains(&key) {
            return Some(&self.settings.name);
        }
        let holds = |name: &&String| {
            let peer = self.peers.get(*name).filter(|peer| peer.phase == Phase::Ready);
            peer.is_some_and(|peer| peer.stakes.of.get(&key).is_some_and(|stake| stake.holds))
        };
        self.live.iter().find(holds).map(String::as_str)
    }

    /// Takes other keys.
    pub fn set_keys(&mut self, keys: Keys) {
        self.keys = keys;
    }

    /// Takes the nodes that the API knows of, without us.
    pub fn set_roster(&mut self, now: Moment, roster: BTreeMap<String, Contact>) {
        let roster: BTreeMap<_, _> =
            roster.into_iter().filter(|(name, _)| *name != self.settings.name).collect();
        if roster == self.roster {
            return;
        }
        self.peers.retain(|name, peer| roster.contains_key(name) || peer.lives(now));
        self.met.retain(|name| roster.contains_key(name));
        self.roster = roster;
        self.changed = true;
        self.settle(now);
    }

    /// Takes the addresses there are.
    pub fn set_units(&mut self, now: Moment, units: BTreeMap<IpAddr, Unit>) {
        if units != self.units {
            self.units = units;
            self.changed = true;
            self.settle(now);
        }
    }

    /// Takes whether something is at the other end of the interface to the other members.
    pub fn set_connected(&mut self, now: Moment, connected: bool) {
        if self.connected != connected {
            self.connected = connected;
            self.changed = true;
            self.settle(now);
        }
    }

    /// What is our own was read from the API.
    pub fn reread(&mut self, now: Moment) {
        self.has_read = true;
        self.settle(now);
    }

    /// Ends: gives everything away, and says so.
    pub fn leave(&mut self, now: Moment) {
        self.phase = Phase::Leaving;
        self.changed = true;
        self.settle(now);
        self.beat(now);
    }

    /// Whether we were stopped for so long that [`tick`](Self::tick) has to come first of all.
    pub fn was_stopped(&self, now: Moment) -> bool {
        now.saturating_sub(self.last_tick) > STARVED
    }

    /// Time goes on. To be called before anything that has happened meanwhile is handed in.
    pub fn tick(&mut self, now: Moment) {
        let gap = now.saturating_sub(self.last_tick);
        self.last_tick = now;
        if gap > STARVED {
            for peer in self.peers.values_mut() {
                peer.forgive(gap);
            }
        }
        if gap > FROZEN && self.phase != Phase::Leaving {
            self.freeze(now);
        }
        self.judge(now);
        self.settle(now);
        self.defend(now);
        if now >= self.next_beat {
            self.beat(now);
        }
        self.ask(now);
    }

    /// We were stopped for so long that others may have taken over.
    fn freeze(&mut self, now: Moment) {
        self.phase = Phase::Joining;
        self.joining_since = now;
        self.was_frozen = true;
        self.has_read = false;
        self.changed = true;
        for key in std::mem::take(&mut self.held) {
            self.outputs.push(Output::Withdraw(key));
        }
        self.outputs.push(Output::Reread);
    }

    /// Somebody announces an address we hold; says whether that is news. In a moment it may turn out
    /// that we are the ones who are cut off, or that it was only late: so the answer waits.
    pub fn foreign(&mut self, now: Moment, key: IpAddr) -> bool {
        if !self.held.contains(&key) {
            return false;
        }
        let (alive, known) = self.count();
        if alive * 2 > known {
            let news = !self.defend.contains_key(&key);
            self.defend.entry(key).or_insert(now + DEFEND);
            return news;
        }
        // Half of the members cannot know whether they are the half that is cut off. Who came last
        // has a reason.
        self.contested.insert(key, now + CONTESTED);
        self.changed = true;
        self.settle(now);
        true
    }

    /// Says again where addresses are that somebody else has announced, too.
    fn defend(&mut self, now: Moment) {
        let held = &self.held;
        let outputs = &mut self.outputs;
        self.defend.retain(|key, at| {
            if *at <= now && held.contains(key) {
                outputs.push(Output::Renew(*key));
            }
            *at > now
        });
    }

    /// Takes a datagram. What is not authentic, or was heard before, has no effect.
    pub fn receive(&mut self, now: Moment, datagram: &[u8]) -> Result<(), super::message::Refused> {
        let message = Message::open(datagram, &self.keys)?;
        if message.sender == self.settings.name {
            return Ok(());
        }
        if !self.peers.contains_key(&message.sender) {
            if self.peers.len() >= MEMBERS {
                return Ok(());
            }
            self.peers.insert(message.sender.clone(), Peer::new(&message.sender));
        }
        let (own, life) = (self.id, self.settings.life);
        let Some(peer) = self.peers.get_mut(&message.sender) else { return Ok(()) };
        let former = peer.window.life();
        if !peer.window.take(message.life, message.number) {
            return Ok(());
        }
        if message.life != former {
            peer.reborn();
            self.changed = true;
        }
        let before = (peer.phase, peer.hears_us, peer.is_current());
        match message.body {
            Body::Beat { phase, version, echo, seen } => {
                let us = seen.iter().find(|seen| seen.member == own && seen.life == life);
                // Said after we had sent what it knows of; so it is not older than that.
                let after = self.sent.iter().rev().find(|(first, _)| *first <= echo);
                let fresh = after.is_some_and(|(_, at)| now.saturating_sub(*at) < FRESH);
                let Some(us) = us.filter(|_| fresh) else {
                    // It may just not have heard us yet. Not at every such beat: two would go on for ever.
                    let lately = |at: Moment| now.saturating_sub(at) < ANSWER_AGAIN;
                    if !peer.answered.is_some_and(lately) {
                        peer.answered = Some(now);
                        self.answer(now, &message.sender);
                    }
                    return Ok(());
                };
                peer.hear(now);
                peer.hears_us = us.age < peer.patience(now);
                peer.proven = Some(message.life);
                peer.phase = phase;
                peer.told = Some(version);
                self.changed |= before != (peer.phase, peer.hears_us, peer.is_current());
                self.hearsay(now, &seen);
            }
            Body::State { version, part, parts, stakes } => {
                if peer.stakes.take(version, part, parts, stakes) {
                    peer.told = peer.told.max(Some(version));
                    self.changed = true;
                }
            }
            Body::Ask { .. } => self.tell_stakes(&message.sender),
        }
        self.settle(now);
        Ok(())
    }

    /// Others hear members that we may not hear.
    fn hearsay(&mut self, now: Moment, seen: &[Seen]) {
        for seen in seen {
            let about = self.peers.values_mut().find(|peer| peer.id == seen.member);
            let Some(peer) = about.filter(|peer| peer.proven == Some(seen.life)) else { continue };
            let at = now.checked_sub(seen.age);
            peer.hearsay = peer.hearsay.max(at);
        }
    }

    /// Says who is dead. Not while messages are taken in: the next one may be of who seems to be.
    fn judge(&mut self, now: Moment) {
        let before = self.live.len();
        self.live.retain(|name| self.peers.get(name).is_some_and(|peer| peer.lives(now)));
        if self.live.len() != before {
            self.contested.clear();
            self.changed = true;
        }
    }

    /// Looks at everything again, as far as it has changed.
    fn settle(&mut self, now: Moment) {
        let lives = |(name, peer): (&String, &Peer)| {
            // Who left or began anew is not waited for.
            let stays = self.live.contains(name)
                && peer.phase != Phase::Leaving
                && peer.proven == Some(peer.window.life());
            (stays || peer.lives(now)).then(|| name.clone())
        };
        let live: BTreeSet<String> = self.peers.iter().filter_map(lives).collect();
        if live != self.live {
            let returned = live.difference(&self.live).any(|name| self.met.contains(name));
            self.met.extend(live.iter().cloned());
            self.live = live;
            self.contested.clear();
            self.changed = true;
            if returned {
                // It may have said something before it knew; what is true is said last.
                self.outputs.extend(self.held.iter().map(|key| Output::Renew(*key)));
            }
        }
        for (name, peer) in &self.peers {
            if peer.phase == Phase::Leaving {
                self.met.remove(name);
            }
        }
        if self.phase == Phase::Joining && self.may_be_ready(now) {
            self.phase = Phase::Ready;
            self.was_frozen = false;
            self.changed = true;
            self.next_beat = now;
        }
        let expired = self.contested.len();
        self.contested.retain(|_, until| *until > now);
        if expired != self.contested.len() {
            self.changed = true;
        }
        if std::mem::take(&mut self.changed) {
            self.decide();
        }
    }

    /// Whether we know enough to take part.
    fn may_be_ready(&self, now: Moment) -> bool {
        let waited = now.saturating_sub(self.joining_since);
        let read = self.has_read || (self.was_frozen && waited >= REREAD);
        let alone = self.roster.is_empty();
        if !read || (self.keys.is_empty() && !alone) {
            return false;
        }
        let heard = |name: &String| {
            self.peers.get(name).is_some_and(|peer| {
                let since = peer.heard.is_some_and(|at| at >= self.joining_since);
                peer.phase == Phase::Leaving || (peer.lives(now) && since && peer.is_current())
            })
        };
        let counted = self.roster.iter().filter(|(_, contact)| contact.counted);
        let all = counted.map(|(name, _)| name).chain(&self.live).all(heard);
        let listened = alone || waited >= LISTEN;
        (all && listened) || waited >= JOIN
    }

    /// How many members live, and how many there are, with us.
    fn count(&self) -> (usize, usize) {
        let left =
            |name: &String| self.peers.get(name).is_some_and(|peer| peer.phase == Phase::Leaving);
        let counted = self.roster.iter().filter(|(_, contact)| contact.counted);
        let known: BTreeSet<&String> =
            counted.map(|(name, _)| name).filter(|name| !left(name)).chain(&self.live).collect();
        (self.live.len() + 1, known.len() + 1)
    }

    /// Whether we are not the ones who are cut off. Half of the members go on where their own cable
    /// is in.
    fn is_with_the_others(&self) -> bool {
        let (alive, known) = self.count();
        alive * 2 > known || (alive * 2 == known && self.connected) || known == 1
    }

    fn decide(&mut self) {
        let with_others = self.is_with_the_others();
        let may = self.phase == Phase::Ready && with_others;
        let elected = elect(&self.ballots(may));
        let unknown = self.live.iter().filter_map(|name| self.peers.get(name)).any(|peer| {
            peer.phase == Phase::Ready && peer.hears_us && peer.stakes.version.is_none()
        });
        let mut taken = Vec::new();
        let mut wanted = BTreeSet::new();
        let mut disputed = BTreeSet::new();
        let gone = self.held.iter().filter(|key| !self.units.contains_key(key));
        let mut given: Vec<IpAddr> = gone.copied().collect();
        for (key, unit) in &self.units {
            let first = elected.get(key);
            let others = self.others(*key, first);
            let holds = self.held.contains(key);
            let verdict = decide(&Situation {
                may,
                able: unit.able && !self.contested.contains_key(key),
                our_turn: first == Some(&self.settings.name),
                holds,
                unknown,
                others: &others,
            });
            match verdict {
                Verdict::Hold if !holds => taken.push(*key),
                Verdict::Hold if others.iter().any(|other| other.stake.holds) => {
                    disputed.insert(*key);
                }
                Verdict::Hold if self.disputed.contains(key) => {
                    self.outputs.push(Output::Renew(*key));
                }
                Verdict::Hold => {}
                Verdict::Want | Verdict::Nothing => {
                    if holds {
                        given.push(*key);
                    }
                    if verdict == Verdict::Want {
                        wanted.insert(*key);
                    }
                }
            }
        }
        self.wanted = wanted;
        self.disputed = disputed;
        // First silence, then the news of it, then what is new: so nobody takes what is still announced.
        for key in given {
            self.held.remove(&key);
            self.outputs.push(Output::Withdraw(key));
        }
        self.held.extend(taken.iter().copied());
        self.publish();
        self.outputs.extend(taken.into_iter().map(Output::Announce));
        self.tell_dead(with_others);
    }

    /// What there is to choose from, for each address.
    fn ballots(&self, may: bool) -> BTreeMap<IpAddr, Ballot> {
        let ballot = |(key, unit): (&IpAddr, &Unit)| {
            let able = |name: &String| {
                if *name == self.settings.name {
                    return may && unit.able && !self.contested.contains_key(key);
                }
                let peer = self.peers.get(name).filter(|_| self.live.contains(name));
                peer.is_some_and(|peer| {
                    let able = peer.stakes.of.get(key).is_some_and(|stake| stake.able);
                    peer.phase == Phase::Ready && able
                })
            };
            let candidates = unit.candidates.iter().filter(|(name, _)| able(name));
            let ballot = Ballot {
                candidates: candidates.map(|(name, weight)| (name.clone(), *weight)).collect(),
                holder: self.holder(*key).map(str::to_owned),
                sticky: unit.sticky,
                spread: unit.spread,
            };
            (*key, ballot)
        };
        self.units.iter().map(ballot).collect()
    }

    fn others(&self, key: IpAddr, first: Option<&String>) -> Vec<Other> {
        let living = self.live.iter().filter_map(|name| Some((name, self.peers.get(name)?)));
        // Who is not ready holds nothing, whatever it said before.
        living
            .filter(|(_, peer)| peer.phase == Phase::Ready)
            .filter_map(|(name, peer)| {
                let stake = *peer.stakes.of.get(&key)?;
                // Rank is only asked for where it decides.
                let outranks_us = stake.holds && {
                    let ours = (rank(&self.settings.name, key), self.settings.name.as_str());
                    (rank(name, key), name.as_str()) < ours
                };
                let is_first = first == Some(name);
                let (hears_us, current) = (peer.hears_us, peer.is_current());
                Some(Other { stake, is_first, outranks_us, hears_us, current })
            })
            .collect()
    }

    /// Tells everybody what has changed of our stakes.
    fn publish(&mut self) {
        let may = self.phase == Phase::Ready;
        let stakes: Vec<(IpAddr, Stake)> = self
            .units
            .iter()
            .map(|(key, unit)| {
                let stake = Stake {
                    able: may && unit.able && !self.contested.contains_key(key),
                    wants: self.wanted.contains(key),
                    holds: self.held.contains(key),
                };
                (*key, stake)
            })
            .filter(|(_, stake)| *stake != Stake::default())
            .collect();
        if stakes == self.stakes {
            return;
        }
        self.stakes = stakes;
        self.version = self.version.wrapping_add(1);
        let names: Vec<String> = self.roster.keys().cloned().collect();
        for name in names {
            self.tell_stakes(&name);
        }
    }

    fn tell_stakes(&mut self, to: &str) {
        let parts = parts(&self.stakes);
        let count = u8::try_from(parts.len()).unwrap_or(u8::MAX);
        for (part, stakes) in (0..count).zip(parts) {
            let body = Body::State { version: self.version, part, parts: count, stakes };
            self.send(to, body);
        }
    }

    fn beat(&mut self, now: Moment) {
        self.sent.push_back((self.number + 1, now));
        while self.sent.front().is_some_and(|(_, at)| now.saturating_sub(*at) > FRESH * 2) {
            self.sent.pop_front();
        }
        let many = self.roster.len() > MANY;
        self.next_beat = now + if many { BEAT_OF_MANY } else { BEAT };
        let names: Vec<String> = self.roster.keys().cloned().collect();
        for name in names {
            self.answer(now, &name);
        }
        self.turn = self.turn.wrapping_add(1);
    }

    /// One beat for one member: how we see it, and how we see the others.
    fn answer(&mut self, now: Moment, to: &str) {
        let seen = |peer: &Peer| {
            // Who was heard and has not shown yet that it hears us is answered all the same.
            let age = peer.heard.map_or(Duration::MAX, |heard| now.saturating_sub(heard));
            let life = peer.window.life();
            (life != 0).then_some(Seen { member: peer.id, life, age })
        };
        let mut list: Vec<Seen> = self.peers.get(to).and_then(seen).into_iter().collect();
        let others = self.peers.iter().filter(|(name, _)| *name != to);
        // Among many, each beat speaks of some, in turn.
        let skip = (self.turn * SEEN) % self.peers.len().max(1);
        let others: Vec<Seen> = others.filter_map(|(_, peer)| seen(peer)).collect();
        let turned = others.iter().skip(skip).chain(others.iter().take(skip));
        list.extend(turned.take(SEEN - 1).copied());
        let echo = self.peers.get(to).map_or(0, |peer| peer.window.highest());
        let body = Body::Beat { phase: self.phase, version: self.version, echo, seen: list };
        self.send(to, body);
    }

    /// Asks those whose stakes we have not got.
    fn ask(&mut self, now: Moment) {
        let mut missing = Vec::new();
        for name in &self.live {
            let Some(peer) = self.peers.get_mut(name) else { continue };
            let asked = peer.asked.is_some_and(|at| now.saturating_sub(at) < ASK_AGAIN);
            if peer.is_current() || asked {
                continue;
            }
            peer.asked = Some(now);
            missing.extend(peer.told.map(|version| (name.clone(), version)));
        }
        for (name, version) in missing {
            self.send(&name, Body::Ask { version });
        }
    }

    fn send(&mut self, to: &str, body: Body) {
        let Some(contact) = self.roster.get(to) else { return };
        let address = contact.address;
        self.number += 1;
        let message = Message {
            sender: self.settings.name.clone(),
            life: self.settings.life,
            number: self.number,
            body,
        };
        if let Some(bytes) = message.seal(&self.keys) {
            self.outputs.push(Output::Send { to: to.to_owned(), address, bytes });
        }
    }

    /// Who is cut off sees the dead everywhere, and says nothing.
    fn tell_dead(&mut self, with_others: bool) {
        let known = with_others && self.phase == Phase::Ready;
        let dead: BTreeSet<String> = if known {
            self.met.difference(&self.live).cloned().collect()
        } else {
            BTreeSet::new()
        };
        if dead != self.told_dead {
            self.told_dead.clone_from(&dead);
            self.outputs.push(Output::Dead(dead));
        }
    }
}
