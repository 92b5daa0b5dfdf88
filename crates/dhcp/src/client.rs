//! The client, without sockets and without a clock.
//!
//! ```text
//!  Selecting ─offer─► Requesting ─ack─► Bound ─T1─► Renewing ─T2─► Rebinding ─end─► Selecting
//!      ▲                  │ nak, silence    ▲            │ ack          │ ack
//!      └──────────────────┘                 └────────────┴──────────────┘
//! ```

use std::net::Ipv4Addr;
use std::time::Duration;

use crate::lease::Lease;
use crate::message::{Kind, Message};

/// The first repetition comes after this, each later one after twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(16);
/// An offer that is not acknowledged after so many requests is given up.
const REQUESTS: u32 = 4;
/// While a lease is good there is no hurry.
const RENEW_WAIT: Duration = Duration::from_mins(1);

/// Where a client stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Selecting,
    Requesting { offered: Ipv4Addr, server: Ipv4Addr },
    Bound,
    Renewing,
    Rebinding,
}

/// What happens to a client.
#[derive(Clone, Debug)]
pub enum Input {
    /// It is time, as [`Client::wake`] said; harmless when it is not.
    Tick,
    Received(Box<Message>),
    /// The end: a lease is given back.
    Stop,
}

/// What a client wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// To everybody on the link.
    Broadcast(Message),
    /// To a server, from the leased address.
    Unicast(Ipv4Addr, Message),
    /// The address is ours, or was prolonged.
    Configure(Lease),
    /// The address is no longer ours.
    Deconfigure(Lease),
}

/// A client of one link.
#[derive(Clone, Debug)]
pub struct Client {
    mac: [u8; 6],
    host_name: Option<String>,
    id: Option<Vec<u8>>,
    state: State,
    transaction: u32,
    lease: Option<Held>,
    /// When something is to be sent again.
    wake: Duration,
    wait: Duration,
    sent: u32,
    began: Duration,
}

#[derive(Clone, Debug)]
struct Held {
    lease: Lease,
    since: Duration,
}

impl Held {
    fn after(&self, seconds: u32) -> Duration {
        self.since + Duration::from_secs(seconds.into())
    }
}

impl Client {
    /// A client that begins with its first [`Input::Tick`]. The seed makes its transactions its own.
    pub fn new(mac: [u8; 6], seed: u32, now: Duration) -> Self {
        Self {
            mac,
            host_name: None,
            id: None,
            state: State::Selecting,
            transaction: seed,
            lease: None,
            wake: now,
            wait: FIRST_WAIT,
            sent: 0,
            began: now,
        }
    }

    /// The name that servers put into their list of leases.
    #[must_use]
    pub fn with_host_name(mut self, name: impl Into<String>) -> Self {
        self.host_name = Some(name.into());
        self
    }

    /// What a server shall know this client by, instead of its MAC.
    #[must_use]
    pub fn with_client_id(mut self, id: Vec<u8>) -> Self {
        self.id = Some(id);
        self
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    /// What is held now.
    pub fn lease(&self) -> Option<&Lease> {
        self.lease.as_ref().map(|held| &held.lease)
    }

    /// When [`Input::Tick`] is wanted.
    pub fn wake(&self) -> Duration {
        self.wake
    }

    /// One thing happened; what follows from it.
    pub fn step(&mut self, now: Duration, input: Input) -> Vec<Output> {
        match input {
            Input::Tick if now < self.wake => Vec::new(),
            Input::Tick => self.tick(now),
            Input::Received(message) => self.received(now, &message),
            Input::Stop => self.stop(),
        }
    }

    fn tick(&mut self, now: Duration) -> Vec<Output> {
        let Some(held) = self.lease.clone() else { return vec![self.seek(now)] };
        if now >= held.after(held.lease.seconds) {
            self.lease = None;
            self.begin(now);
            return vec![Output::Deconfigure(held.lease), self.seek(now)];
        }
        let rebinding = now >= held.after(held.lease.rebind);
        let next = if rebinding { State::Rebinding } else { State::Renewing };
        if self.state != next {
            self.state = next;
            self.transaction = self.transaction.wrapping_add(1);
        }
        let mut request = self.question(Kind::Request, now);
        request.broadcast = false; // the address is there, so answers can come to it
        request.client_address = held.lease.address.addr();
        let limit = held.after(if rebinding { held.lease.seconds } else { held.lease.rebind });
        self.wake = limit.min(now + RENEW_WAIT);
        vec![if rebinding {
            Output::Broadcast(request)
        } else {
            Output::Unicast(held.lease.server, request)
        }]
    }

    /// Asks for an offer, or for the one that was made.
    fn seek(&mut self, now: Duration) -> Output {
        if let State::Requesting { offered, server } = self.state
            && self.sent < REQUESTS
        {
            return self.request(now, offered, server);
        }
        if self.state != State::Selecting {
            self.begin(now);
        }
        self.again(now);
        Output::Broadcast(self.question(Kind::Discover, now))
    }

    fn request(&mut self, now: Duration, offered: Ipv4Addr, server: Ipv4Addr) -> Output {
        self.again(now);
        let mut request = self.question(Kind::Request, now);
        request.options.requested = Some(offered);
        request.options.server = Some(server);
        Output::Broadcast(request)
    }

    fn received(&mut self, now: Duration, message: &Message) -> Vec<Output> {
        let ours = message.from_server
            && message.transaction == self.transaction
            && message.mac == self.mac;
        if !ours {
            return Vec::new();
        }
        match (&self.state, message.kind) {
            (State::Selecting, Kind::Offer) => {
                let Some(server) = message.options.server else { return Vec::new() };
                if Lease::of(message).is_none() {
                    return Vec::new();
                }
                let offered = message.your_address;
                self.state = State::Requesting { offered, server };
                (self.sent, self.wait) = (0, FIRST_WAIT);
                vec![self.request(now, offered, server)]
            }
            (State::Selecting | State::Bound, _) => Vec::new(),
            (State::Requesting { server, .. }, Kind::Ack | Kind::Nak)
                if message.options.server.is_some_and(|other| other != *server) =>
            {
                Vec::new() // somebody else's answer to somebody else's offer
            }
            (_, Kind::Ack) => self.granted(now, message),
            (_, Kind::Nak) => {
                let lost = self.lease.take();
                self.begin(now);
                lost.map(|held| Output::Deconfigure(held.lease)).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn granted(&mut self, now: Duration, ack: &Message) -> Vec<Output> {
        let Some(lease) = Lease::of(ack) else { return Vec::new() };
        let mut outputs = Vec::new();
        if let Some(held) = self.lease.take()
            && held.lease.address != lease.address
        {
            outputs.push(Output::Deconfigure(held.lease));
        }
        let held = Held { lease: lease.clone(), since: now };
        self.state = State::Bound;
        self.wake = held.after(lease.renew);
        self.lease = Some(held);
        outputs.push(Output::Configure(lease));
        outputs
    }

    fn stop(&mut self) -> Vec<Output> {
        let Some(held) = self.lease.take() else { return Vec::new() };
        let mut release =
            Message::question(Kind::Release, self.transaction.wrapping_add(1), self.mac);
        release.client_address = held.lease.address.addr();
        release.options.server = Some(held.lease.server);
        release.options.client.clone_from(&self.id);
        vec![Output::Unicast(held.lease.server, release), Output::Deconfigure(held.lease)]
    }

    /// From the beginning, under a new transaction.
    fn begin(&mut self, now: Duration) {
        self.state = State::Selecting;
        self.transaction = self.transaction.wrapping_add(1);
        (self.wake, self.wait, self.sent, self.began) = (now, FIRST_WAIT, 0, now);
    }

    /// Plans the repetition of what is being sent.
    fn again(&mut self, now: Duration) {
        // Up to a quarter more, different for each client and try, so that a rack that boots together spreads.
        let spread = self.transaction.wrapping_mul(2_654_435_761).rotate_left(self.sent) % 256;
        self.wake = now + self.wait + self.wait * spread / 1024;
        self.wait = (self.wait * 2).min(LONGEST_WAIT);
        self.sent += 1;
    }

    fn question(&self, kind: Kind, now: Duration) -> Message {
        let mut message = Message::question(kind, self.transaction, self.mac);
        // Without an address an answer to it cannot come in.
        message.broadcast = true;
        message.seconds =
            u16::try_from(now.saturating_sub(self.began).as_secs()).unwrap_or(u16::MAX);
        message.options.host_name.clone_from(&self.host_name);
        message.options.client.clone_from(&self.id);
        message.options.wishes = true;
        message
    }
}
