//! What is known of one other agent.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use super::message::{MemberId, Phase, Stake};
use super::replay::Window;
use crate::Moment;

/// How long a member is at least silent before it counts as dead.
pub const PATIENCE: Duration = Duration::from_millis(400);
/// How long at most, for one that is often late.
pub const LONGEST_PATIENCE: Duration = Duration::from_millis(520);
/// For so long a silence is remembered.
const MEMORY: Duration = Duration::from_secs(10);

/// One other agent.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its id.
    pub id: MemberId,
    /// Which of its messages were heard.
    pub window: Window,
    /// The life of it that is known to have heard us in ours: what it says is not an old recording.
    pub proven: Option<u64>,
    /// Where it stands, as it says.
    pub phase: Phase,
    /// When it was last heard.
    pub heard: Option<Moment>,
    /// When others have heard it last.
    pub hearsay: Option<Moment>,
    /// Whether it hears us.
    pub hears_us: bool,
    /// The version of its stakes that it speaks of.
    pub told: Option<u32>,
    /// Its stakes as far as they are known.
    pub stakes: Stakes,
    /// When it was last asked for them.
    pub asked: Option<Moment>,
    /// When it was last answered out of turn.
    pub answered: Option<Moment>,
    /// The longest silence lately, and when that was.
    silence: (Duration, Moment),
}

/// The stakes of a member, put together from parts.
#[derive(Clone, Debug, Default)]
pub struct Stakes {
    /// The version that is complete.
    pub version: Option<u32>,
    /// What it says.
    pub of: BTreeMap<IpAddr, Stake>,
    /// The version that comes in, and its parts.
    coming: Option<Coming>,
}

/// A version, how many parts it has, and those that are there.
type Coming = (u32, u8, BTreeMap<u8, Vec<(IpAddr, Stake)>>);

impl Stakes {
    /// Takes a part; says whether a version became complete. Older versions are no news.
    pub fn take(
        &mut self,
        version: u32,
        part: u8,
        parts: u8,
        stakes: Vec<(IpAddr, Stake)>,
    ) -> bool {
        let newest = self.coming.as_ref().map(|(coming, ..)| *coming).max(self.version);
        if newest.is_some_and(|newest| version < newest) || self.version == Some(version) {
            return false;
        }
        let fits =
            matches!(&self.coming, Some((coming, of, _)) if (*coming, *of) == (version, parts));
        if !fits {
            self.coming = Some((version, parts, BTreeMap::new()));
        }
        let Some((_, _, collected)) = &mut self.coming else { return false };
        collected.insert(part, stakes);
        if collected.len() < usize::from(parts) {
            return false;
        }
        self.of = std::mem::take(collected).into_values().flatten().collect();
        self.version = Some(version);
        self.coming = None;
        true
    }
}

impl Peer {
    /// One that was not heard yet.
    pub fn new(name: &str) -> Self {
        Self {
            id: MemberId::of(name),
            window: Window::default(),
            proven: None,
            phase: Phase::Joining,
            heard: None,
            hearsay: None,
            hears_us: false,
            told: None,
            stakes: Stakes::default(),
            asked: None,
            answered: None,
            silence: (Duration::ZERO, Duration::ZERO),
        }
    }

    /// A new life began: nothing of the former one holds.
    pub fn reborn(&mut self) {
        self.proven = None;
        self.hears_us = false;
        self.told = None;
        self.stakes = Stakes::default();
        self.phase = Phase::Joining;
        self.hearsay = None;
    }

    /// It was heard.
    pub fn hear(&mut self, now: Moment) {
        if let Some(before) = self.heard {
            let silence = now.saturating_sub(before);
            let (longest, at) = self.silence;
            // A silence that counted as death says nothing about being late.
            let late = silence <= LONGEST_PATIENCE;
            if late && (silence >= longest || now.saturating_sub(at) > MEMORY) {
                self.silence = (silence, now);
            }
        }
        self.heard = Some(now);
    }

    /// How long it may be silent: longer for one that was late lately, so that a busy machine does
    /// not make its addresses wander; never so long that a death is noticed too late.
    pub fn patience(&self, now: Moment) -> Duration {
        let (longest, at) = self.silence;
        let lately = if now.saturating_sub(at) > MEMORY { Duration::ZERO } else { longest };
        (lately * 5 / 4).clamp(PATIENCE, LONGEST_PATIENCE)
    }

    /// Whether it lives.
    pub fn lives(&self, now: Moment) -> bool {
        let known = self.proven.is_some() && self.proven == Some(self.window.life());
        let last = self.heard.max(self.hearsay);
        known
            && self.phase != Phase::Leaving
            && last.is_some_and(|last| now.saturating_sub(last) < self.patience(now))
    }

    /// Whether its stakes are the newest it spoke of.
    pub fn is_current(&self) -> bool {
        self.told.is_some() && self.told == self.stakes.version
    }

    /// Time in which we could hear nobody does not count.
    pub fn forgive(&mut self, blind: Duration) {
        for at in [&mut self.heard, &mut self.hearsay].into_iter().flatten() {
            *at += blind;
        }
    }
}
