//! Links of a namespace: listed, made, changed, moved and deleted.

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkExtentMask};

use super::{Link, LinkChange, LinkIndex, LinkKind, Master, NewLink, Select, decode, encode};
use crate::error::{Action, Attempt, Error, Object, Result};
use crate::handle::Handle;
use crate::mac::MacAddr;
use crate::name::IfName;
use crate::namespace::Namespace;

impl Handle {
    /// All links, by number.
    pub fn links(&self) -> Result<Vec<Link>> {
        let mut message = netlink_packet_route::link::LinkMessage::default();
        message.attributes.push(LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats]));
        let answers = self.dump(&RouteNetlinkMessage::GetLink(message), Object::Link)?;
        let mut links: Vec<Link> = answers.iter().filter_map(received).collect();
        links.sort_by_key(|link| link.index);
        Ok(links)
    }

    /// One link, or nothing where it is not there.
    pub fn link<'a>(&self, link: impl Into<Select<'a>>) -> Result<Option<Link>> {
        let link = link.into();
        let mut message = encode::select(link);
        message.attributes.push(LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats]));
        let attempt = || Attempt::new(Action::Get, Object::Link, link);
        match self.query(RouteNetlinkMessage::GetLink(message), 0, attempt) {
            Ok(answers) => Ok(answers.iter().find_map(received)),
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// One link that has to be there.
    pub fn expect_link<'a>(&self, link: impl Into<Select<'a>>) -> Result<Link> {
        let link = link.into();
        let attempt = Attempt::new(Action::Get, Object::Link, link);
        self.link(link)?.ok_or(Error::Absent { attempt })
    }

    /// The number of a link that has to be there.
    pub fn index(&self, name: &IfName) -> Result<LinkIndex> {
        self.expect_link(name).map(|link| link.index)
    }

    /// Makes a link. For a veth with a chosen peer there is [`create_veth`](Self::create_veth).
    pub fn create_link(&self, link: &NewLink) -> Result<Link> {
        self.make(link, None)?;
        self.finish(link)
    }

    /// Makes a link in another namespace, with its parent in this one. A master would have to be of
    /// that namespace, so one that is named here is not used.
    pub fn create_link_in(&self, link: &NewLink, namespace: &Namespace) -> Result<()> {
        self.make(link, Some(namespace))?;
        if link.alias.is_none() {
            return Ok(());
        }
        Self::in_namespace(namespace)?.set_alias_if_any(link)
    }

    /// Makes a pair of links, the second in another namespace where one is given.
    pub fn create_veth(
        &self,
        link: &NewLink,
        peer: &NewLink,
        peer_namespace: Option<&Namespace>,
    ) -> Result<Link> {
        let message = encode::pair(link, peer, peer_namespace);
        let attempt = || {
            let subject = format!("{} with peer {}", link.name, peer.name);
            Attempt::new(Action::Create, Object::Link, subject).of_kind("veth")
        };
        self.execute(RouteNetlinkMessage::NewLink(message), NLM_F_CREATE | NLM_F_EXCL, attempt)?;
        let finished = match peer_namespace {
            None => self.finish_peer(peer),
            Some(_) if !peer.up && peer.alias.is_none() => Ok(()),
            Some(namespace) => {
                Handle::in_namespace(namespace).and_then(|there| there.finish_peer(peer))
            }
        };
        match finished.and_then(|()| self.finish(link)) {
            Ok(link) => Ok(link),
            Err(error) => {
                let _ = self.delete_link(&link.name);
                Err(error)
            }
        }
    }

    /// The kernel makes the peer first, and a veth without its other end cannot be switched on.
    fn finish_peer(&self, peer: &NewLink) -> Result<()> {
        let up = peer.up.then_some(true);
        let change = LinkChange { up, alias: peer.alias.clone(), ..LinkChange::default() };
        self.change_link(&peer.name, &change)
    }

    fn make(&self, link: &NewLink, namespace: Option<&Namespace>) -> Result<()> {
        let message = RouteNetlinkMessage::NewLink(encode::new(link, namespace));
        self.execute(message, NLM_F_CREATE | NLM_F_EXCL, || {
            let attempt =
                Attempt::new(Action::Create, Object::Link, &link.name).of_kind(link.kind.word());
            match link.parent {
                Some(parent) => attempt.on(self.called(parent)),
                None => attempt,
            }
        })
    }

    /// The kernel takes no alias with a new link.
    fn finish(&self, link: &NewLink) -> Result<Link> {
        self.set_alias_if_any(link)?;
        self.expect_link(&link.name)
    }

    fn set_alias_if_any(&self, link: &NewLink) -> Result<()> {
        let Some(alias) = link.alias.clone() else { return Ok(()) };
        self.change_link(&link.name, &LinkChange { alias: Some(alias), ..LinkChange::default() })
    }

    /// Changes a link.
    pub fn change_link<'a>(&self, link: impl Into<Select<'a>>, change: &LinkChange) -> Result<()> {
        let link = link.into();
        if change.is_empty() {
            return Ok(());
        }
        let message = RouteNetlinkMessage::SetLink(encode::change(link, change));
        self.execute(message, 0, || Attempt::new(Action::Change, Object::Link, self.spoken(link)))
    }

    /// Changes options of a link's kind; those that are `None` stay.
    pub fn change_options<'a>(&self, link: impl Into<Select<'a>>, kind: &LinkKind) -> Result<()> {
        let link = link.into();
        let message = RouteNetlinkMessage::NewLink(encode::options(link, kind));
        self.execute(message, 0, || {
            Attempt::new(Action::Change, Object::Link, self.spoken(link)).of_kind(kind.word())
        })
    }

    /// Switches a link on.
    pub fn set_up<'a>(&self, link: impl Into<Select<'a>>) -> Result<()> {
        self.change_link(link, &LinkChange { up: Some(true), ..LinkChange::default() })
    }

    /// Switches a link off. The kernel forgets its IPv6 addresses and its routes.
    pub fn set_down<'a>(&self, link: impl Into<Select<'a>>) -> Result<()> {
        self.change_link(link, &LinkChange { up: Some(false), ..LinkChange::default() })
    }

    /// Sets the largest packet.
    pub fn set_mtu<'a>(&self, link: impl Into<Select<'a>>, mtu: u32) -> Result<()> {
        self.change_link(link, &LinkChange { mtu: Some(mtu), ..LinkChange::default() })
    }

    /// Sets the Ethernet address.
    pub fn set_mac<'a>(&self, link: impl Into<Select<'a>>, mac: MacAddr) -> Result<()> {
        self.change_link(link, &LinkChange { mac: Some(mac), ..LinkChange::default() })
    }

    /// Puts a link into a bridge, bond or VRF, or takes it out.
    pub fn set_master<'a>(
        &self,
        link: impl Into<Select<'a>>,
        master: Option<LinkIndex>,
    ) -> Result<()> {
        let master = Some(master.map_or(Master::None, Master::Link));
        self.change_link(link, &LinkChange { master, ..LinkChange::default() })
    }

    /// Gives a link another name.
    pub fn rename<'a>(&self, link: impl Into<Select<'a>>, name: &IfName) -> Result<()> {
        let index = self.resolve(link.into(), Action::Rename)?;
        let mut message = encode::select(index.into());
        message.attributes.push(LinkAttribute::IfName(name.as_str().to_owned()));
        self.execute(RouteNetlinkMessage::SetLink(message), 0, || {
            let subject = format!("{} to {name}", self.called(index));
            Attempt::new(Action::Rename, Object::Link, subject)
        })
    }

    /// Moves a link to another namespace, under another name where one is given. It arrives down,
    /// without addresses.
    pub fn move_link<'a>(
        &self,
        link: impl Into<Select<'a>>,
        namespace: &Namespace,
        name: Option<&IfName>,
    ) -> Result<()> {
        use std::os::fd::AsRawFd;
        let index = self.resolve(link.into(), Action::Move)?;
        let mut message = encode::select(index.into());
        message.attributes.push(LinkAttribute::NetNsFd(namespace.as_raw_fd()));
        message.attributes.extend(name.map(|name| LinkAttribute::IfName(name.as_str().to_owned())));
        self.execute(RouteNetlinkMessage::SetLink(message), 0, || {
            let subject = format!("{} to {namespace}", self.called(index));
            Attempt::new(Action::Move, Object::Link, subject)
        })
    }

    /// Deletes a link; one end of a pair takes the other with it. Says whether it was there.
    pub fn delete_link<'a>(&self, link: impl Into<Select<'a>>) -> Result<bool> {
        let link = link.into();
        let attempt = || Attempt::new(Action::Delete, Object::Link, self.spoken(link));
        let message = RouteNetlinkMessage::DelLink(encode::select(link));
        match self.execute(message, 0, attempt) {
            Err(error) if error.is_absent() => Ok(false),
            outcome => outcome.map(|()| true),
        }
    }

    fn resolve(&self, link: Select<'_>, action: Action) -> Result<LinkIndex> {
        match link {
            Select::Index(index) => Ok(index),
            Select::Name(_) => match self.link(link)? {
                Some(found) => Ok(found.index),
                None => Err(Error::Absent { attempt: Attempt::new(action, Object::Link, link) }),
            },
        }
    }

    fn spoken(&self, link: Select<'_>) -> String {
        match link {
            Select::Name(name) => name.to_string(),
            Select::Index(index) => self.called(index),
        }
    }
}

fn received(message: &RouteNetlinkMessage) -> Option<Link> {
    match message {
        RouteNetlinkMessage::NewLink(message) => Some(decode::link(message)),
        _ => None,
    }
}
