//! The server, without sockets and without a clock: one subnet, one range, addresses that stay with their clients.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::Duration;

use ipnet::Ipv4Net;

use crate::message::{Kind, Message};

/// An offer that nobody takes up is free again after this.
const OFFER_SECONDS: u64 = 60;

/// What a server hands out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// The server's own address and its subnet.
    pub own: Ipv4Net,
    /// First and last address of the range.
    pub first: Ipv4Addr,
    pub last: Ipv4Addr,
    pub router: Option<Ipv4Addr>,
    pub resolvers: Vec<Ipv4Addr>,
    pub domain: Option<String>,
    pub mtu: Option<u16>,
    pub lease_seconds: u32,
    pub routes: Vec<(Ipv4Net, Ipv4Addr)>,
    /// Addresses that belong to one client.
    pub reserved: BTreeMap<[u8; 6], Ipv4Addr>,
}

/// A server and what it has given.
#[derive(Clone, Debug)]
pub struct Server {
    settings: ServerSettings,
    held: BTreeMap<Vec<u8>, Given>,
    /// Answered for by a client as somebody else's.
    declined: BTreeSet<Ipv4Addr>,
}

#[derive(Clone, Debug)]
struct Given {
    address: Ipv4Addr,
    until: Duration,
    /// Whether the client took it, rather than only being offered it.
    taken: bool,
}

impl Server {
    pub fn new(settings: ServerSettings) -> Self {
        Self { settings, held: BTreeMap::new(), declined: BTreeSet::new() }
    }

    /// Addresses that clients hold now.
    pub fn leases(&self, now: Duration) -> Vec<(Vec<u8>, Ipv4Addr)> {
        let live = self.held.iter().filter(|(_, given)| given.taken && given.until > now);
        live.map(|(client, given)| (client.clone(), given.address)).collect()
    }

    /// The answer to a message; most deserve none.
    pub fn answer(&mut self, now: Duration, message: &Message) -> Option<Message> {
        if message.from_server {
            return None;
        }
        let client = message.options.client.clone().unwrap_or_else(|| message.mac.to_vec());
        match message.kind {
            Kind::Discover => {
                let address = self.choose(now, &client, message)?;
                let until = now + Duration::from_secs(OFFER_SECONDS);
                // Whoever holds a lease keeps it while asking again.
                let kept = self.held.get(&client).filter(|given| given.taken && given.until > now);
                if kept.is_none_or(|given| given.address != address) {
                    self.held.insert(client, Given { address, until, taken: false });
                }
                Some(self.reply(Kind::Offer, message, address))
            }
            Kind::Request => self.requested(now, client, message),
            Kind::Release => {
                self.held
                    .retain(|id, given| *id != client || given.address != message.client_address);
                None
            }
            Kind::Decline => {
                if let Some(address) = message.options.requested {
                    self.held.retain(|id, given| *id != client || given.address != address);
                    if self.in_range(address) {
                        self.declined.insert(address);
                    }
                }
                None
            }
            Kind::Inform => {
                let mut reply = self.reply(Kind::Ack, message, Ipv4Addr::UNSPECIFIED);
                reply.options.lease_seconds = None;
                Some(reply)
            }
            Kind::Offer | Kind::Ack | Kind::Nak => None,
        }
    }

    fn requested(&mut self, now: Duration, client: Vec<u8>, message: &Message) -> Option<Message> {
        let own = self.settings.own.addr();
        if message.options.server.is_some_and(|server| server != own) {
            // It took another server's offer.
            self.held.retain(|id, given| *id != client || given.taken);
            return None;
        }
        let wanted = message.options.requested.unwrap_or(message.client_address);
        if self.free_for(now, &client, wanted, message.mac) {
            let until = now + Duration::from_secs(self.settings.lease_seconds.into());
            self.held.insert(client, Given { address: wanted, until, taken: true });
            return Some(self.reply(Kind::Ack, message, wanted));
        }
        let mut nak = Message::reply(Kind::Nak, message.transaction, message.mac);
        nak.broadcast = true;
        nak.options.server = Some(own);
        nak.options.message = Some(format!("{wanted} is not yours"));
        Some(nak)
    }

    /// What it had, what it is owed, what it wishes, then the lowest free one.
    fn choose(&self, now: Duration, client: &[u8], message: &Message) -> Option<Ipv4Addr> {
        let before = self.held.get(client).map(|given| given.address);
        let reserved = self.settings.reserved.get(&message.mac).copied();
        let wishes = [reserved, before, message.options.requested];
        let free = |address: &Ipv4Addr| self.free_for(now, client, *address, message.mac);
        if let Some(address) = wishes.into_iter().flatten().find(free) {
            return Some(address);
        }
        let taken: BTreeSet<Ipv4Addr> = self
            .held
            .values()
            .filter(|given| given.until > now)
            .map(|given| given.address)
            .chain(self.settings.reserved.values().copied())
            .chain(self.declined.iter().copied())
            .chain([self.settings.own.addr()])
            .collect();
        let range = u32::from(self.settings.first)..=u32::from(self.settings.last);
        range.map(Ipv4Addr::from).find(|address| !taken.contains(address))
    }

    fn free_for(&self, now: Duration, client: &[u8], address: Ipv4Addr, mac: [u8; 6]) -> bool {
        let owner = self.settings.reserved.iter().find(|(_, reserved)| **reserved == address);
        let allowed = match owner {
            Some((of, _)) => *of == mac,
            None => self.in_range(address) && address != self.settings.own.addr(),
        };
        let others = self.held.iter().filter(|(id, given)| *id != client && given.until > now);
        allowed
            && !self.declined.contains(&address)
            && others.into_iter().all(|(_, given)| given.address != address)
    }

    fn in_range(&self, address: Ipv4Addr) -> bool {
        (self.settings.first..=self.settings.last).contains(&address)
    }

    fn reply(&self, kind: Kind, to: &Message, address: Ipv4Addr) -> Message {
        let settings = &self.settings;
        let mut reply = Message::reply(kind, to.transaction, to.mac);
        reply.broadcast = to.broadcast;
        reply.client_address = to.client_address;
        reply.your_address = address;
        reply.relay = to.relay;
        reply.options.server = Some(settings.own.addr());
        reply.options.mask = Some(settings.own.netmask());
        reply.options.routers = settings.router.into_iter().collect();
        reply.options.resolvers.clone_from(&settings.resolvers);
        reply.options.domain.clone_from(&settings.domain);
        reply.options.mtu = settings.mtu;
        reply.options.lease_seconds = Some(settings.lease_seconds);
        reply.options.classless_routes.clone_from(&settings.routes);
        reply
    }
}
