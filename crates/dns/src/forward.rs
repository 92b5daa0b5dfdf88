//! Asking other servers, without IO: questions, datagrams and time go in, datagrams and replies come out.
//!
//! ```text
//!  client ─ ask ─► Exchange (one per question, however many ask it) ─► Send, Connect ─► servers
//!  client ◄ Reply ─┘        ▲ heard, failed, tick                                          │
//!                           └──────────────────────────────────────────────────────────────┘
//! ```
//!
//! - Every question that is taken ends in exactly one reply within [`PATIENCE`]; a question of the
//!   same client with the same id while the first waits is the same question.
//! - Each datagram to a server has an id of its own and, by the driver, a port of its own, and the
//!   letters of the name in random case where the server gives them back so. Only what comes from the
//!   server that was asked, with that id and that question, is an answer.
//! - An answer that was cut is asked for again by TCP.
//! - A question that comes back to us through other servers joins the one in flight: loops die out
//!   by themselves.

mod exchange;
mod judge;
mod packet;
mod servers;

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use self::exchange::{Attempt, Exchange, Lane, Waiter};
pub use self::exchange::{GIVE_UP, PATIENCE, RETRY};
use self::judge::Verdict;
use self::packet::Match;
use self::servers::Servers;
use crate::cache::{Asked, Cache, Form, Stored};
use crate::settings::{Settings, Upstream};
use crate::wire::{Query, rcode};

/// What names a datagram or a connection to a server.
pub type Token = u64;

/// A question that is not answered here.
#[derive(Debug, Clone)]
pub struct Ask<C> {
    /// Who asks; the same value stands in the reply.
    pub client: C,
    pub query: Vec<u8>,
    pub by_udp: bool,
    /// Who may be asked, in order.
    pub servers: Vec<Upstream>,
    /// Private addresses in the answer are no attack.
    pub private_answers: bool,
    /// The name exists here: "no such name" of others becomes an empty answer.
    pub exists: bool,
}

/// What the driver has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action<C> {
    /// From a new socket, on a random port, to this server.
    Send {
        token: Token,
        server: Upstream,
        message: Vec<u8>,
    },
    /// By a new TCP connection.
    Connect {
        token: Token,
        server: Upstream,
        message: Vec<u8>,
    },
    /// Nothing more is wanted from this one.
    Close {
        token: Token,
    },
    Reply {
        client: C,
        message: Vec<u8>,
    },
}

/// What happened so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Questions of clients.
    pub asked: u64,
    /// Of these, those that joined a question in flight.
    pub joined: u64,
    /// Of these, those refused because too many were in flight.
    pub refused: u64,
    /// Datagrams and connections to servers.
    pub sent: u64,
    /// Of these, connections.
    pub by_tcp: u64,
    /// Answers that were taken.
    pub answered: u64,
    /// Datagrams that were no answer: wrong sender, id or question.
    pub ignored: u64,
    /// Questions that nobody answered in time.
    pub timed_out: u64,
    /// Answers withheld because of a private address in them.
    pub rebinds: u64,
}

/// Clients that may wait for answers at once, for each question that may be in flight.
const WAITERS: usize = 16;

/// All questions in flight.
pub struct Forwarder<C> {
    settings: Arc<Settings>,
    cache: Arc<Cache>,
    chance: Box<dyn FnMut() -> u64 + Send>,
    /// Our own addresses: whoever names one of them as a server would make us ask ourselves.
    own: Vec<SocketAddr>,
    servers: Servers,
    exchanges: HashMap<u64, Exchange<C>>,
    lanes: HashMap<Lane, u64>,
    tokens: HashMap<Token, u64>,
    wakes: BTreeSet<(Duration, u64)>,
    waiting: usize,
    last: u64,
    counts: Counts,
}

impl<C: Clone + PartialEq> Forwarder<C> {
    /// `chance` gives numbers nobody can guess.
    pub fn new(
        settings: Arc<Settings>,
        cache: Arc<Cache>,
        chance: Box<dyn FnMut() -> u64 + Send>,
    ) -> Self {
        Self {
            settings,
            cache,
            chance,
            own: Vec::new(),
            servers: Servers::default(),
            exchanges: HashMap::new(),
            lanes: HashMap::new(),
            tokens: HashMap::new(),
            wakes: BTreeSet::new(),
            waiting: 0,
            last: 0,
            counts: Counts::default(),
        }
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Questions in flight.
    pub fn in_flight(&self) -> usize {
        self.exchanges.len()
    }

    /// Other settings: what was learnt of the servers and what was kept of their answers is forgotten.
    pub fn configure(&mut self, settings: Arc<Settings>, own: Vec<SocketAddr>) {
        if *settings != *self.settings {
            self.cache.clear();
            self.servers = Servers::default();
        }
        self.settings = settings;
        self.own = own;
    }

    /// When [`Self::tick`] has to be called at the latest.
    pub fn wake(&self) -> Option<Duration> {
        self.wakes.first().map(|(at, _)| *at)
    }

    /// A client asks.
    pub fn ask(&mut self, now: Duration, ask: Ask<C>, out: &mut Vec<Action<C>>) {
        self.counts.asked += 1;
        let Ask { client, query: message, by_udp, mut servers, private_answers, exists } = ask;
        // What is no query has been dropped before it came here.
        let Ok(query) = Query::parse(&message) else { return };
        servers.retain(|server| !self.own.contains(&server.address));
        let question = Asked::of(&query).to_question();
        let lane = Lane { question, servers, private_answers };
        let wire_question = query.question().to_vec();
        let (id, flags) = (query.id, query.flags);
        let waiter = Waiter { client, id, message, by_udp, exists, until: now + PATIENCE };

        if let Some(&number) = self.lanes.get(&lane) {
            let Some(mut exchange) = self.take(number) else { return };
            self.counts.joined += 1;
            if exchange.waiters.iter().any(|other| other.is_same(&waiter)) {
                // It asks again: it has waited long enough for the servers that were asked.
                if now >= exchange.last_sent + exchange::IMPATIENCE {
                    self.try_next(now, number, &mut exchange, out);
                }
            } else if self.waiting < self.most() * WAITERS {
                self.waiting += 1;
                exchange.waiters.push(waiter);
                if exchange.open().next().is_none()
                    && now >= exchange.last_sent + exchange::IMPATIENCE
                {
                    self.try_next(now, number, &mut exchange, out);
                }
            } else {
                self.refuse(now, &waiter, rcode::REFUSED, out);
            }
            self.put(number, exchange, now, out);
            return;
        }
        if lane.servers.is_empty() || !self.make_room(out) {
            self.counts.refused += 1;
            self.refuse(now, &waiter, rcode::REFUSED, out);
            return;
        }
        self.last += 1;
        let number = self.last;
        self.waiting += 1;
        self.lanes.insert(lane.clone(), number);
        let mut exchange = Exchange::new(lane, wire_question, flags, waiter, now);
        for index in self.servers.first(&exchange.lane.servers, &self.settings, now) {
            self.send(now, number, &mut exchange, index, false, out);
        }
        self.put(number, exchange, now, out);
    }

    /// A datagram or a message by TCP came for `token`.
    pub fn heard(
        &mut self,
        now: Duration,
        token: Token,
        from: SocketAddr,
        message: &[u8],
        out: &mut Vec<Action<C>>,
    ) {
        let Some(&number) = self.tokens.get(&token) else {
            self.counts.ignored += 1;
            return;
        };
        let Some(mut exchange) = self.take(number) else { return };
        self.weigh(now, number, &mut exchange, token, from, message, out);
        self.put(number, exchange, now, out);
    }

    /// Nothing will come for `token`: no route, refused, connection lost.
    pub fn failed(&mut self, now: Duration, token: Token, out: &mut Vec<Action<C>>) {
        let Some(&number) = self.tokens.get(&token) else { return };
        let Some(mut exchange) = self.take(number) else { return };
        self.end_attempt(&mut exchange, token, out);
        // Where none is left, the clock starts the next round: a server may be just starting.
        self.disappoint(now, number, &mut exchange, None, out);
        self.put(number, exchange, now, out);
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Duration, out: &mut Vec<Action<C>>) {
        while let Some(&(at, number)) = self.wakes.first() {
            if at > now {
                return;
            }
            let Some(mut exchange) = self.take(number) else {
                self.wakes.remove(&(at, number));
                continue;
            };
            let (late, waiting) = std::mem::take(&mut exchange.waiters)
                .into_iter()
                .partition(|waiter: &Waiter<C>| waiter.until <= now);
            exchange.waiters = waiting;
            for waiter in late {
                self.waiting -= 1;
                self.counts.timed_out += 1;
                // What a server said, if only that it failed, is better than our own word.
                match exchange.worst.clone() {
                    Some(stored) => self.reply(now, &waiter, &stored, out),
                    None => self.refuse(now, &waiter, rcode::SERVFAIL, out),
                }
            }
            if !exchange.waiters.is_empty() && now >= exchange.last_sent + RETRY {
                self.try_next(now, number, &mut exchange, out);
            }
            self.put(number, exchange, now, out);
        }
    }

    /// Looks at what came for an attempt.
    #[expect(clippy::too_many_arguments, reason = "one step of the machine, split from its caller")]
    fn weigh(
        &mut self,
        now: Duration,
        number: u64,
        exchange: &mut Exchange<C>,
        token: Token,
        from: SocketAddr,
        message: &[u8],
        out: &mut Vec<Action<C>>,
    ) {
        let Some(attempt) = exchange.attempts.iter().find(|attempt| attempt.token == token) else {
            return;
        };
        let (index, by_tcp, edns) = (attempt.server, attempt.by_tcp, attempt.edns);
        let Some(server) = exchange.lane.servers.get(index).cloned() else { return };
        if from != server.address {
            self.counts.ignored += 1;
            return;
        }
        match packet::matches(message, attempt.id, &attempt.question) {
            Match::No => {
                self.counts.ignored += 1;
                return;
            }
            // Either a guess, or a server that writes names its own way. TCP cannot be guessed.
            Match::OtherCase => {
                self.servers.loses_case(&server);
                self.end_attempt(exchange, token, out);
                self.send(now, number, exchange, index, true, out);
                return;
            }
            Match::Yes => {}
        }
        self.end_attempt(exchange, token, out);
        if packet::is_cut(message) && !by_tcp {
            self.send(now, number, exchange, index, true, out);
            return;
        }
        let question_end = crate::wire::HEADER + exchange.question.len();
        let Ok(stored) = Stored::read(message, question_end, now) else {
            self.disappoint(now, number, exchange, None, out);
            return;
        };
        match stored.rcode() {
            // Old servers know no OPT and say so, some of them in odd ways.
            rcode::FORMERR | rcode::NOTIMP if edns => {
                self.servers.knows_no_edns(&server);
                self.send(now, number, exchange, index, by_tcp, out);
            }
            rcode::SERVFAIL | rcode::REFUSED => {
                self.servers.failed(&exchange.lane.servers, index);
                self.disappoint(now, number, exchange, Some(stored), out);
            }
            _ => match judge::judge(stored, &exchange.lane, &self.settings) {
                Verdict::Ignore => {
                    self.disappoint(now, number, exchange, None, out);
                }
                Verdict::Believe(stored) => {
                    self.servers.answered(&exchange.lane.servers, index, now);
                    self.counts.answered += 1;
                    self.settle(now, exchange, &stored, out);
                }
                Verdict::Rebind(stored) => {
                    self.counts.rebinds += 1;
                    tracing::warn!(
                        name = %crate::wire::name_text(&exchange.lane.question.name),
                        server = %server.address,
                        "possible DNS rebind attack: private address in the answer withheld; \
                         rebind-domain-ok allows it for a domain"
                    );
                    self.settle(now, exchange, &stored, out);
                }
            },
        }
    }

    /// A server was of no help: others are asked, or the answer is passed on when none is left.
    fn disappoint(
        &mut self,
        now: Duration,
        number: u64,
        exchange: &mut Exchange<C>,
        stored: Option<Stored>,
        out: &mut Vec<Action<C>>,
    ) {
        if stored.is_some() {
            exchange.worst = stored;
        }
        if exchange.open().next().is_some() {
            return;
        }
        if exchange.untried().is_some() {
            self.try_next(now, number, exchange, out);
        } else if let Some(worst) = exchange.worst.clone() {
            self.settle(now, exchange, &worst, out);
        }
    }

    /// Asks whoever is next: those that were not asked yet, else from the beginning.
    fn try_next(
        &mut self,
        now: Duration,
        number: u64,
        exchange: &mut Exchange<C>,
        out: &mut Vec<Action<C>>,
    ) {
        let indexes = exchange.next_round(self.settings.strict_order);
        // Whoever does not answer now is not the one to ask first next time.
        self.servers.silent(&exchange.lane.servers);
        for index in indexes {
            self.send(now, number, exchange, index, false, out);
        }
        exchange.last_sent = now;
    }

    fn send(
        &mut self,
        now: Duration,
        number: u64,
        exchange: &mut Exchange<C>,
        index: usize,
        by_tcp: bool,
        out: &mut Vec<Action<C>>,
    ) {
        let Some(server) = exchange.lane.servers.get(index).cloned() else { return };
        if exchange.attempts_made >= exchange::MOST_ATTEMPTS {
            return;
        }
        exchange.attempts_made += 1;
        exchange.last_sent = now;
        self.last += 1;
        let token = self.last;
        let known = self.servers.known(&server);
        let mut question = exchange.question.clone();
        if !known.loses_case && !by_tcp {
            packet::scramble(&mut question, &mut self.chance);
        }
        let [first, second, ..] = (self.chance)().to_ne_bytes();
        let id = u16::from_ne_bytes([first, second]);
        let edns = (!known.no_edns).then_some(self.settings.edns_packet_max);
        let message = packet::query(id, &question, exchange.flags, edns, &exchange.lane.question);
        self.counts.sent += 1;
        self.counts.by_tcp += u64::from(by_tcp);
        self.tokens.insert(token, number);
        let edns = edns.is_some();
        exchange.attempts.push(Attempt { token, server: index, id, question, by_tcp, edns });
        exchange.tried(index);
        out.push(if by_tcp {
            Action::Connect { token, server, message }
        } else {
            Action::Send { token, server, message }
        });
    }

    /// The answer, to all who wait for it.
    fn settle(
        &mut self,
        now: Duration,
        exchange: &mut Exchange<C>,
        stored: &Stored,
        out: &mut Vec<Action<C>>,
    ) {
        if let Some(kept) = stored.kept(&self.settings) {
            self.cache.put(&exchange.lane.question, kept, now);
        }
        for waiter in std::mem::take(&mut exchange.waiters) {
            self.waiting -= 1;
            self.reply(now, &waiter, stored, out);
        }
        exchange.done = true;
    }

    fn reply(&self, now: Duration, waiter: &Waiter<C>, stored: &Stored, out: &mut Vec<Action<C>>) {
        let Ok(query) = Query::parse(&waiter.message) else { return };
        let form = Form::new(&self.settings, waiter.by_udp);
        let mut message = vec![0; stored.len() + 512];
        let length = stored.write(&query, now, form, waiter.exists, &mut message);
        message.truncate(length);
        out.push(Action::Reply { client: waiter.client.clone(), message });
    }

    fn refuse(&self, now: Duration, waiter: &Waiter<C>, code: u8, out: &mut Vec<Action<C>>) {
        if let Ok(query) = Query::parse(&waiter.message) {
            self.reply(now, waiter, &Stored::bare(query.question(), code, now), out);
        }
    }

    fn most(&self) -> usize {
        self.settings.dns_forward_max.max(1)
    }

    /// Room for one more question: those that nobody waits for any more go first.
    fn make_room(&mut self, out: &mut Vec<Action<C>>) -> bool {
        if self.exchanges.len() < self.most() {
            return true;
        }
        let orphan = self.exchanges.iter().filter(|(_, exchange)| exchange.waiters.is_empty());
        let Some(number) = orphan.map(|(number, _)| *number).min() else { return false };
        if let Some(exchange) = self.take(number) {
            self.forget(exchange, out);
        }
        true
    }

    fn end_attempt(&mut self, exchange: &mut Exchange<C>, token: Token, out: &mut Vec<Action<C>>) {
        exchange.attempts.retain(|attempt| attempt.token != token);
        self.tokens.remove(&token);
        out.push(Action::Close { token });
    }

    fn take(&mut self, number: u64) -> Option<Exchange<C>> {
        let exchange = self.exchanges.remove(&number)?;
        self.wakes.remove(&(exchange.wake, number));
        Some(exchange)
    }

    /// Puts an exchange back, or ends it.
    fn put(
        &mut self,
        number: u64,
        mut exchange: Exchange<C>,
        now: Duration,
        out: &mut Vec<Action<C>>,
    ) {
        if exchange.done || exchange.over(now) {
            self.forget(exchange, out);
            return;
        }
        exchange.wake = exchange.next_wake();
        self.wakes.insert((exchange.wake, number));
        self.exchanges.insert(number, exchange);
    }

    fn forget(&mut self, exchange: Exchange<C>, out: &mut Vec<Action<C>>) {
        self.lanes.remove(&exchange.lane);
        for attempt in exchange.attempts {
            self.tokens.remove(&attempt.token);
            out.push(Action::Close { token: attempt.token });
        }
    }
}
