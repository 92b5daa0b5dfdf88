//! One query, however it came: answered from local data, from the cache, or handed on.

use std::net::{IpAddr, SocketAddr};

use landbridge_linux::datagram;
use tokio::sync::mpsc;

use super::journal::Fate;
use super::metrics::Counters;
use super::reach::Reach;
use super::state::{Ask, Client, State};
use crate::answer::{Arrival, Outcome, Transport, answer};
use crate::cache::{Asked, Form, Stored};
use crate::catalog::Catalog;
use crate::limit::Verdict;
use crate::wire::{HEADER, Query, flag, rcode};

/// What one thread answers with: the data as they are now.
pub struct Desk<'a> {
    pub state: &'a State,
    pub catalog: &'a Catalog,
    pub reach: &'a Reach,
    pub counters: &'a Counters,
    pub asks: &'a mpsc::Sender<Ask>,
    pub now: std::time::Duration,
}

impl Desk<'_> {
    /// Answers a datagram into `out`; the length of the answer, 0 for none.
    pub fn datagram(
        &self,
        message: &[u8],
        peer: SocketAddr,
        bound: IpAddr,
        arrival: Option<datagram::Arrival>,
        out: &mut [u8],
        client: impl FnOnce() -> Client,
    ) -> usize {
        let source = peer.ip();
        let local = arrival.map_or(bound, |arrival| arrival.address);
        // Nobody listens at port 0: an answer would hit somebody who did not ask.
        let served = peer.port() != 0
            && arrival.is_none_or(|arrival| self.reach.serves(arrival.address, arrival.link))
            && self.reach.answers(source);
        if !served {
            self.counters.dropped.add(1);
            return 0;
        }
        self.counters.udp.add(1);
        let length = self.query(message, source, local, Transport::Udp, out, client);
        if length == 0 {
            return 0;
        }
        // Neighbours can not be forged from afar.
        if self.reach.attached(source) {
            return length;
        }
        match self.state.limiter.charge(source, self.now) {
            Verdict::Send => length,
            Verdict::Slip => {
                self.counters.slipped.add(1);
                slip(out.get_mut(..length).unwrap_or_default())
            }
            Verdict::Drop => {
                self.counters.limited.add(1);
                0
            }
        }
    }

    /// Answers a query that may be served; 0 when there is no answer, or not yet.
    pub fn query(
        &self,
        message: &[u8],
        source: IpAddr,
        local: IpAddr,
        transport: Transport,
        out: &mut [u8],
        client: impl FnOnce() -> Client,
    ) -> usize {
        let authoritative = self.reach.is_authoritative(local);
        // Only this option looks at it.
        let localised = self.catalog.settings().localise_queries;
        let local = if localised { self.reach.net_of(local) } else { None };
        let arrival = Arrival { transport, source, local, authoritative };
        let forward = match answer(self.catalog, message, &arrival, out) {
            Outcome::Reply(length) => {
                self.counters.local.add(1);
                self.note(
                    message,
                    source,
                    Fate::Reply("local", out.get(..length).unwrap_or_default()),
                );
                return length;
            }
            Outcome::Drop => {
                self.counters.dropped.add(1);
                return 0;
            }
            Outcome::Forward(forward) => forward,
        };
        // What is forwarded was read before; it is a query.
        let Ok(query) = Query::parse(message) else { return 0 };
        let form = Form::new(self.catalog.settings(), transport == Transport::Udp);
        if !self.reach.recurses(source) {
            self.counters.refused.add(1);
            self.note(message, source, Fate::Refused);
            let refusal = Stored::bare(query.question(), rcode::REFUSED, self.now);
            return refusal.write(&query, self.now, form, false, out);
        }
        let exists = self.catalog.knows(&query.name);
        if let Some(entry) = self.state.cache.get(Asked::of(&query), self.now) {
            self.counters.cached.add(1);
            let length = entry.stored.write(&query, self.now, form, exists, out);
            self.note(
                message,
                source,
                Fate::Reply("cached", out.get(..length).unwrap_or_default()),
            );
            return length;
        }
        let ask = Ask {
            client: client(),
            query: message.to_vec(),
            by_udp: transport == Transport::Udp,
            servers: forward.servers.to_vec(),
            private_answers: forward.private_answers,
            exists,
        };
        self.note(message, source, Fate::Forwarded);
        match self.asks.try_send(ask) {
            Ok(()) => self.counters.forwarded.add(1),
            Err(_) => self.counters.overflowed.add(1),
        }
        0
    }

    fn note(&self, message: &[u8], source: IpAddr, fate: Fate<'_>) {
        if self.catalog.settings().log_queries {
            self.state.journal.note(message, source, fate);
        }
    }
}

/// Cuts a reply to its header and question, with the word to ask by TCP.
fn slip(reply: &mut [u8]) -> usize {
    let Some(header) = reply.get_mut(..HEADER) else { return 0 };
    let questions = u16::from_be_bytes([header[4], header[5]]);
    header[2] |= (flag::TC >> 8).to_be_bytes()[1];
    header[6..HEADER].fill(0);
    match questions {
        0 => HEADER,
        _ => crate::wire::skip_name(reply, HEADER).map_or(0, |end| end + 4),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use arc_swap::ArcSwap;

    use super::*;
    use crate::cache::Cache;
    use crate::limit::Limiter;
    use crate::server::journal::Journal;
    use crate::server::reach::Local;
    use crate::settings::Settings;

    const QUERY: &[u8] = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x01a\x07example\0\0\x01\0\x01";

    /// The lengths of the answers to so many equal queries.
    fn lengths(conf: &str, peer: &str, times: usize) -> Vec<usize> {
        let (settings, warnings) = Settings::parse("conf", conf);
        assert_eq!(warnings, []);
        let locals = vec![Local {
            net: "10.0.0.5/24".parse().unwrap(),
            link: 2,
            link_name: "eth0".to_owned(),
        }];
        let reach = Reach::new(&settings, &[], locals);
        let state = State {
            catalog: ArcSwap::from_pointee(Catalog::new(settings)),
            reach: ArcSwap::from_pointee(reach.clone()),
            cache: Arc::new(Cache::new(8)),
            limiter: Limiter::new(10),
            journal: Journal::start().unwrap(),
            recursion: Vec::new(),
            counters: Vec::new(),
            began: Instant::now(),
        };
        let (asks, _waiting) = mpsc::channel(8);
        let (catalog, counters) = (state.catalog.load_full(), Counters::default());
        let desk = Desk {
            state: &state,
            catalog: &catalog,
            reach: &reach,
            counters: &counters,
            asks: &asks,
            now: Duration::from_secs(5),
        };
        let (peer, bound) = (peer.parse().unwrap(), "10.0.0.5".parse().unwrap());
        let arrival = Some(datagram::Arrival { address: bound, link: 2 });
        let answer = |_| {
            let mut out = [0; 1232];
            desk.datagram(QUERY, peer, bound, arrival, &mut out, || panic!("nothing is forwarded"))
        };
        (0..times).map(answer).collect()
    }

    const CONF: &str = "address=/a.example/192.0.2.1\ninterface=eth0\n";

    #[test]
    fn strangers_get_their_share_and_then_the_word_to_come_by_tcp() {
        let lengths = lengths(CONF, "203.0.113.7:4000", 110);
        let count = |wanted: usize| lengths.iter().filter(|length| **length == wanted).count();
        let (whole, cut) = (QUERY.len() + 16, QUERY.len());
        assert_eq!((count(whole), count(cut), count(0)), (10, 50, 50));
    }

    #[test]
    fn neighbours_are_not_limited() {
        assert!(lengths(CONF, "10.0.0.77:4000", 110).iter().all(|length| *length > QUERY.len()));
    }

    #[test]
    fn nobody_at_port_0_is_answered_and_no_stranger_without_being_asked_to() {
        assert_eq!(lengths(CONF, "10.0.0.77:0", 3), [0, 0, 0]);
        let unnamed = "address=/a.example/192.0.2.1\n";
        assert_eq!(lengths(unnamed, "203.0.113.7:4000", 3), [0, 0, 0]);
        assert!(lengths(unnamed, "10.0.0.77:4000", 1)[0] > 0);
        let elsewhere = "address=/a.example/192.0.2.1\ninterface=eth1\n";
        assert_eq!(lengths(elsewhere, "10.0.0.77:4000", 1), [0]);
    }

    #[test]
    fn a_slipped_reply_says_only_ask_by_tcp() {
        let mut reply = vec![1, 2, 0x85, 0x80, 0, 1, 0, 1, 0, 0, 0, 1];
        reply.extend([1, b'a', 0, 0, 1, 0, 1]);
        reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 1, 2, 3, 4]);
        let length = slip(&mut reply);
        assert_eq!(length, 19);
        assert_eq!(reply[..12], [1, 2, 0x87, 0x80, 0, 1, 0, 0, 0, 0, 0, 0]);
    }
}
