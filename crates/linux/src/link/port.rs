//! Links as ports of a bridge.

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoBridgePort, InfoPortData, InfoPortKind, LinkAttribute, LinkInfo,
};
use serde::{Deserialize, Serialize};

use super::{Select, encode};
use crate::error::{Action, Attempt, Object, Result};
use crate::handle::Handle;

/// Options of a bridge's port; in a wish, nothing is to stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Port {
    /// Whether a frame may go back where it came from.
    pub hairpin: Option<bool>,
    /// Whether it reaches only ports that are not isolated.
    pub isolated: Option<bool>,
    /// What spanning tree counts for this way.
    pub cost: Option<u32>,
    pub priority: Option<u16>,
}

impl Port {
    pub(super) fn decode(data: &InfoPortData) -> Option<Self> {
        let InfoPortData::BridgePort(data) = data else { return None };
        let mut port = Self::default();
        for attribute in data {
            match attribute {
                InfoBridgePort::HairpinMode(on) => port.hairpin = Some(*on),
                InfoBridgePort::Isolated(on) => port.isolated = Some(*on),
                InfoBridgePort::Cost(cost) => port.cost = Some(*cost),
                InfoBridgePort::Priority(priority) => port.priority = Some(*priority),
                _ => {}
            }
        }
        Some(port)
    }

    fn encode(self) -> Vec<InfoBridgePort> {
        [
            self.hairpin.map(InfoBridgePort::HairpinMode),
            self.isolated.map(InfoBridgePort::Isolated),
            self.cost.map(InfoBridgePort::Cost),
            self.priority.map(InfoBridgePort::Priority),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl Handle {
    /// Changes options of a link as a port of its bridge.
    pub fn change_port<'a>(&self, link: impl Into<Select<'a>>, port: Port) -> Result<()> {
        let link = link.into();
        let mut message = encode::select(link);
        message.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::PortKind(InfoPortKind::Bridge),
            LinkInfo::PortData(InfoPortData::BridgePort(port.encode())),
        ]));
        self.execute(RouteNetlinkMessage::NewLink(message), 0, || {
            Attempt::new(Action::Change, Object::Link, format!("{link} as a port"))
        })
    }
}
