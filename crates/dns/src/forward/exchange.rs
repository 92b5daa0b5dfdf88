//! One question in flight: who waits for it, who was asked.

use std::time::Duration;

use super::Token;
use crate::cache::{Question, Stored};
use crate::settings::Upstream;

/// A client gets an answer after this time, if only that there is none: less than the five seconds
/// after which resolvers ask again or give up.
pub const PATIENCE: Duration = Duration::from_millis(4500);
/// A server that is silent for so long is not waited for alone.
pub const RETRY: Duration = Duration::from_secs(1);
/// A client that asks again after this time makes us ask others.
pub const IMPATIENCE: Duration = Duration::from_millis(250);
/// So long an answer is waited for, also when nobody waits for us: for the next one to ask.
pub const GIVE_UP: Duration = Duration::from_secs(10);
/// More is never sent for one question.
pub const MOST_ATTEMPTS: u32 = 24;

/// Equal questions travel together: same name and type, same servers, same rules.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lane {
    pub question: Question,
    pub servers: Vec<Upstream>,
    pub private_answers: bool,
}

/// One client.
#[derive(Debug)]
pub struct Waiter<C> {
    pub client: C,
    pub id: u16,
    pub message: Vec<u8>,
    pub by_udp: bool,
    pub exists: bool,
    pub until: Duration,
}

impl<C: PartialEq> Waiter<C> {
    pub fn is_same(&self, other: &Self) -> bool {
        self.id == other.id && self.client == other.client
    }
}

/// One datagram or connection that may still bring the answer.
#[derive(Debug)]
pub struct Attempt {
    pub token: Token,
    pub server: usize,
    pub id: u16,
    /// The question as it was sent, letter by letter.
    pub question: Vec<u8>,
    pub by_tcp: bool,
    pub edns: bool,
}

#[derive(Debug)]
pub struct Exchange<C> {
    pub lane: Lane,
    /// The question as the first client wrote it.
    pub question: Vec<u8>,
    /// The flags of its query.
    pub flags: u16,
    pub waiters: Vec<Waiter<C>>,
    pub attempts: Vec<Attempt>,
    pub attempts_made: u32,
    /// Which servers were asked in this round.
    asked: Vec<bool>,
    /// The last answer that says no more than that a server failed.
    pub worst: Option<Stored>,
    pub last_sent: Duration,
    ends: Duration,
    pub wake: Duration,
    pub done: bool,
}

impl<C> Exchange<C> {
    pub fn new(
        lane: Lane,
        question: Vec<u8>,
        flags: u16,
        waiter: Waiter<C>,
        now: Duration,
    ) -> Self {
        Self {
            asked: vec![false; lane.servers.len()],
            lane,
            question,
            flags,
            waiters: vec![waiter],
            attempts: Vec::new(),
            attempts_made: 0,
            worst: None,
            last_sent: now,
            ends: now + GIVE_UP,
            wake: now,
            done: false,
        }
    }

    /// Attempts that may still bring something.
    pub fn open(&self) -> impl Iterator<Item = &Attempt> {
        self.attempts.iter()
    }

    pub fn tried(&mut self, index: usize) {
        if let Some(asked) = self.asked.get_mut(index) {
            *asked = true;
        }
    }

    /// The first server that was not asked yet.
    pub fn untried(&self) -> Option<usize> {
        self.asked.iter().position(|asked| !asked)
    }

    /// Who is to be asked now: the next one in strict order, else all that were not asked yet. When
    /// all were, a new round begins.
    pub fn next_round(&mut self, strict: bool) -> Vec<usize> {
        if self.untried().is_none() {
            self.asked.fill(false);
        }
        let rest = (0..self.asked.len()).filter(|index| !self.asked[*index]);
        if strict { rest.take(1).collect() } else { rest.collect() }
    }

    /// Whether there is nothing left to wait for.
    pub fn over(&self, now: Duration) -> bool {
        self.waiters.is_empty() && (now >= self.ends || self.attempts.is_empty())
    }

    pub fn next_wake(&self) -> Duration {
        match self.waiters.iter().map(|waiter| waiter.until).min() {
            Some(until) if self.attempts_made < MOST_ATTEMPTS => until.min(self.last_sent + RETRY),
            Some(until) => until,
            None => self.ends,
        }
    }
}
