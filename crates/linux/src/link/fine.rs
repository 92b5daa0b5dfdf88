//! What few links need told: what they listen to and how much they queue.

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};

use super::{Select, encode};
use crate::error::{Action, Attempt, Error, Object, Result};
use crate::handle::Handle;

/// What a link listens to and how much it queues. In a wish nothing is to stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fine {
    /// Whether it takes packets for anyone.
    pub promiscuous: Option<bool>,
    /// Whether it takes packets for every group.
    pub all_multicast: Option<bool>,
    /// How many packets wait to be sent.
    pub send_queue: Option<u32>,
}

impl Handle {
    /// How a link is set.
    pub fn fine<'a>(&self, link: impl Into<Select<'a>>) -> Result<Fine> {
        let message = self.raw_link(link.into())?;
        let has = |flag| Some(message.header.flags.contains(flag));
        let send_queue = message.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::TxQueueLen(length) => Some(*length),
            _ => None,
        });
        Ok(Fine {
            promiscuous: has(LinkFlags::Promisc),
            all_multicast: has(LinkFlags::Allmulti),
            send_queue,
        })
    }

    /// Sets a link.
    pub fn set_fine<'a>(&self, link: impl Into<Select<'a>>, wanted: &Fine) -> Result<()> {
        let link = link.into();
        let mut message = encode::select(link);
        let flags =
            [(wanted.promiscuous, LinkFlags::Promisc), (wanted.all_multicast, LinkFlags::Allmulti)];
        for (wanted, flag) in flags {
            if let Some(on) = wanted {
                message.header.change_mask.insert(flag);
                message.header.flags.set(flag, on);
            }
        }
        message.attributes.extend(wanted.send_queue.map(LinkAttribute::TxQueueLen));
        self.execute(RouteNetlinkMessage::SetLink(message), 0, || {
            Attempt::new(Action::Change, Object::Link, link)
        })
    }

    fn raw_link(&self, link: Select<'_>) -> Result<LinkMessage> {
        let attempt = || Attempt::new(Action::Get, Object::Link, link);
        let answers = self.query(RouteNetlinkMessage::GetLink(encode::select(link)), 0, attempt)?;
        let found = answers.into_iter().find_map(|answer| match answer {
            RouteNetlinkMessage::NewLink(message) => Some(message),
            _ => None,
        });
        found.ok_or_else(|| Error::Absent { attempt: attempt() })
    }
}
