//! Messages to ask and answer with, and servers of a small world.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use landbridge_dns::cache::Cache;
use landbridge_dns::forward::{Action, Ask, Forwarder};
use landbridge_dns::{Settings, Upstream};

pub type Client = u32;

/// Numbers that look random and are the same in every run.
#[derive(Clone)]
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.roll() % limit
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

pub fn upstream(number: u8) -> Upstream {
    Upstream { address: SocketAddr::from(([192, 0, 2, number], 53)), source: None, interface: None }
}

pub fn upstreams(count: u8) -> Vec<Upstream> {
    (1..=count).map(upstream).collect()
}

pub fn wire_name(name: &str) -> Vec<u8> {
    let mut wire = Vec::new();
    for label in name.split('.').filter(|label| !label.is_empty()) {
        wire.push(u8::try_from(label.len()).unwrap());
        wire.extend_from_slice(label.as_bytes());
    }
    wire.push(0);
    wire
}

/// A query for addresses; `edns` is the size it takes.
pub fn query(id: u16, name: &str, qtype: u16, edns: Option<u16>) -> Vec<u8> {
    let mut message = id.to_be_bytes().to_vec();
    message.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, u8::from(edns.is_some())]);
    message.extend(wire_name(name));
    message.extend(qtype.to_be_bytes());
    message.extend([0, 1]);
    if let Some(size) = edns {
        message.extend([0, 0, 41]);
        message.extend(size.to_be_bytes());
        message.extend([0; 6]);
    }
    message
}

pub fn question_of(message: &[u8]) -> &[u8] {
    let mut at = 12;
    while message[at] != 0 {
        at += usize::from(message[at]) + 1;
    }
    &message[12..at + 5]
}

pub fn id_of(message: &[u8]) -> u16 {
    u16::from_be_bytes([message[0], message[1]])
}

pub fn rcode_of(message: &[u8]) -> u8 {
    message[3] & 0x0f
}

pub fn is_cut(message: &[u8]) -> bool {
    message[2] & 2 != 0
}

pub fn answers_of(message: &[u8]) -> u16 {
    u16::from_be_bytes([message[6], message[7]])
}

/// A reply to what we were asked: with addresses and a TTL, or a code.
pub fn reply(asked: &[u8], rcode: u8, ttl: u32, addresses: &[[u8; 4]]) -> Vec<u8> {
    let mut message = asked[..2].to_vec();
    message.extend([
        0x81,
        0x80 | rcode,
        0,
        1,
        0,
        u8::try_from(addresses.len()).unwrap(),
        0,
        0,
        0,
        0,
    ]);
    message.extend(question_of(asked));
    for address in addresses {
        message.extend([0xc0, 12, 0, 1, 0, 1]);
        message.extend(ttl.to_be_bytes());
        message.extend([0, 4]);
        message.extend(address);
    }
    message
}

/// A reply that the name does not exist, with a SOA.
pub fn no_such_name(asked: &[u8], soa_ttl: u32, minimum: u32) -> Vec<u8> {
    let mut message = asked[..2].to_vec();
    message.extend([0x81, 0x83, 0, 1, 0, 0, 0, 1, 0, 0]);
    message.extend(question_of(asked));
    message.extend([0, 0, 6, 0, 1]);
    message.extend(soa_ttl.to_be_bytes());
    message.extend([0, 22, 0, 0]);
    for field in [1, 2, 3, 4, minimum] {
        message.extend(u32::to_be_bytes(field));
    }
    message
}

pub fn cut(mut reply: Vec<u8>) -> Vec<u8> {
    reply[2] |= 2;
    reply
}

/// A forwarder and the time.
pub struct World {
    pub forwarder: Forwarder<Client>,
    pub cache: Arc<Cache>,
    pub now: Duration,
    pub out: Vec<Action<Client>>,
}

impl World {
    pub fn new(settings: Settings, seed: u64) -> Self {
        let cache = Arc::new(Cache::new(settings.cache_size));
        let mut dice = Dice(seed);
        let chance = Box::new(move || dice.roll());
        let forwarder = Forwarder::new(Arc::new(settings), Arc::clone(&cache), chance);
        Self { forwarder, cache, now: Duration::from_secs(1000), out: Vec::new() }
    }

    pub fn ask(&mut self, client: Client, query: Vec<u8>, servers: Vec<Upstream>) {
        let ask =
            Ask { client, query, by_udp: true, servers, private_answers: false, exists: false };
        self.forwarder.ask(self.now, ask, &mut self.out);
    }

    pub fn heard(&mut self, token: u64, from: SocketAddr, message: &[u8]) {
        self.forwarder.heard(self.now, token, from, message, &mut self.out);
    }

    pub fn pass(&mut self, milliseconds: u64) {
        let end = self.now + Duration::from_millis(milliseconds);
        while let Some(wake) = self.forwarder.wake().filter(|wake| *wake <= end) {
            self.now = wake.max(self.now);
            self.forwarder.tick(self.now, &mut self.out);
        }
        self.now = end;
    }

    /// What was sent since this was called last: token, server, message, by TCP.
    pub fn sent(&mut self) -> Vec<(u64, SocketAddr, Vec<u8>, bool)> {
        let mut sent = Vec::new();
        self.out.retain(|action| match action {
            Action::Send { token, server, message } => {
                sent.push((*token, server.address, message.clone(), false));
                false
            }
            Action::Connect { token, server, message } => {
                sent.push((*token, server.address, message.clone(), true));
                false
            }
            _ => true,
        });
        sent
    }

    /// The replies since this was called last.
    pub fn replies(&mut self) -> Vec<(Client, Vec<u8>)> {
        let mut replies = Vec::new();
        self.out.retain(|action| match action {
            Action::Reply { client, message } => {
                replies.push((*client, message.clone()));
                false
            }
            _ => true,
        });
        replies
    }
}
