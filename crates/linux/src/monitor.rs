//! Changes in a namespace, as they happen.
//!
//! The kernel drops what a slow listener does not fetch, and says so once. The listener then no
//! longer knows what it missed; [`Event::Resync`] tells it to list everything again.

use std::collections::VecDeque;
use std::io;

use futures::Stream;
use netlink_packet_core::NetlinkPayload;
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, protocols::NETLINK_ROUTE};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_recv_buffer_size;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::address::{self, Address};
use crate::connection::{Frame, Frames, read_datagram};
use crate::error::{Attempt, Error, Object, Result};
use crate::link::{self, Link};
use crate::namespace::Namespace;
use crate::neighbour::{self, Neighbour};
use crate::route::{self, Route};
use crate::rule::{self, Rule};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A link came or changed.
    Link(Link),
    LinkGone(Link),
    Address(Address),
    AddressGone(Address),
    Route(Route),
    RouteGone(Route),
    Rule(Rule),
    RuleGone(Rule),
    Neighbour(Neighbour),
    NeighbourGone(Neighbour),
    /// Changes were lost: list everything again.
    Resync(Reason),
}

/// Why changes were lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// They came faster than they were fetched.
    Overflow,
    /// One could not be read.
    Unreadable(String),
}

/// What to listen for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    pub links: bool,
    pub addresses: bool,
    pub routes: bool,
    pub rules: bool,
    pub neighbours: bool,
    /// How much the kernel keeps for us; nothing is its default.
    pub buffer_bytes: Option<usize>,
}

impl Default for Watch {
    /// Links, addresses and routes.
    fn default() -> Self {
        Self {
            links: true,
            addresses: true,
            routes: true,
            rules: false,
            neighbours: false,
            buffer_bytes: None,
        }
    }
}

impl Watch {
    /// The kernel's numbers of the multicast groups (`RTNLGRP_*`).
    fn groups(self) -> impl Iterator<Item = u32> {
        [
            (self.links, &[1][..]),
            (self.neighbours, &[3]),
            (self.addresses, &[5, 9]),
            (self.routes, &[7, 11]),
            (self.rules, &[8, 19]),
        ]
        .into_iter()
        .filter_map(|(wanted, groups)| wanted.then_some(groups))
        .flatten()
        .copied()
    }
}

/// A listener on one namespace.
pub struct Monitor {
    socket: AsyncFd<Socket>,
    buffer: Vec<u8>,
    waiting: VecDeque<Event>,
    /// Whether changes were lost. The kernel reports that once and then goes on dropping until its
    /// queue has been emptied, so only then is it time to list again.
    lost: bool,
}

impl Monitor {
    /// Listens in a namespace. What happens after this call is seen; so first open, then list.
    pub fn in_namespace(namespace: &Namespace, watch: Watch) -> Result<Self> {
        let socket = namespace.run(|| listen(watch))?.map_err(failed)?;
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(Error::NoRuntime);
        }
        // Deprecated because a type may change its descriptor behind tokio's back; this one owns
        // one descriptor from its first to its last moment.
        #[expect(deprecated, reason = "the socket never changes its descriptor")]
        let socket = AsyncFd::with_interest(socket, Interest::READABLE).map_err(failed)?;
        Ok(Self { socket, buffer: Vec::new(), waiting: VecDeque::new(), lost: false })
    }

    /// The next change. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(event);
            }
            let mut ready = self.socket.readable().await.map_err(failed)?;
            let buffer = &mut self.buffer;
            match ready.try_io(|socket| read_datagram(socket.get_ref(), buffer)) {
                Err(_empty) if std::mem::take(&mut self.lost) => {
                    return Ok(Event::Resync(Reason::Overflow));
                }
                Err(_empty) => {}
                Ok(Ok(())) if self.lost => {}
                Ok(Ok(())) => self.waiting.extend(Frames(&self.buffer).filter_map(received)),
                Ok(Err(error)) if Errno::from_io_error(&error) == Some(Errno::NOBUFS) => {
                    self.lost = true;
                }
                Ok(Err(error)) => return Err(failed(error)),
            }
        }
    }

    /// The changes as a stream that ends after its first error.
    pub fn into_stream(self) -> impl Stream<Item = Result<Event>> + Send {
        futures::stream::unfold(Some(self), |monitor| async move {
            let mut monitor = monitor?;
            let next = monitor.next().await;
            let rest = next.is_ok().then_some(monitor);
            Some((next, rest))
        })
    }
}

fn listen(watch: Watch) -> io::Result<Socket> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.set_non_blocking(true)?;
    if let Some(bytes) = watch.buffer_bytes {
        set_socket_recv_buffer_size(&socket, bytes)?;
    }
    socket.bind_auto()?;
    for group in watch.groups() {
        socket.add_membership(group)?;
    }
    Ok(socket)
}

fn received(frame: Frame<'_>) -> Option<Event> {
    match frame.decode() {
        Ok(NetlinkPayload::InnerMessage(message)) => event(&message),
        Ok(_) => None,
        Err(reason) => Some(Event::Resync(Reason::Unreadable(reason))),
    }
}

fn event(message: &RouteNetlinkMessage) -> Option<Event> {
    if let RouteNetlinkMessage::NewLink(link) | RouteNetlinkMessage::DelLink(link) = message
        && link.header.interface_family != AddressFamily::Unspec
    {
        // A bridge about its ports: "gone" there is "left the bridge", which also comes as a change.
        return None;
    }
    Some(match message {
        RouteNetlinkMessage::NewLink(message) => Event::Link(link::decode(message)),
        RouteNetlinkMessage::DelLink(message) => Event::LinkGone(link::decode(message)),
        RouteNetlinkMessage::NewAddress(message) => Event::Address(address::decode(message)?),
        RouteNetlinkMessage::DelAddress(message) => Event::AddressGone(address::decode(message)?),
        RouteNetlinkMessage::NewRoute(message) => Event::Route(route::decode(message)?),
        RouteNetlinkMessage::DelRoute(message) => Event::RouteGone(route::decode(message)?),
        RouteNetlinkMessage::NewRule(message) => Event::Rule(rule::decode(message)?),
        RouteNetlinkMessage::DelRule(message) => Event::RuleGone(rule::decode(message)?),
        RouteNetlinkMessage::NewNeighbour(message) => Event::Neighbour(neighbour::decode(message)?),
        RouteNetlinkMessage::DelNeighbour(message) => {
            Event::NeighbourGone(neighbour::decode(message)?)
        }
        _ => return None,
    })
}

fn failed(source: io::Error) -> Error {
    Error::Socket { attempt: Attempt::list(Object::Link), source }
}
