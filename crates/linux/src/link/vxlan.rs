//! Options of a vxlan.

use std::net::IpAddr;

use netlink_packet_route::link::InfoVxlan;
use serde::{Deserialize, Serialize};

use super::options::options;

/// A tunnel of Ethernet frames in UDP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Vxlan {
    /// The network's number, 24 bits.
    pub id: u32,
    pub port: Option<u16>,
    pub local: Option<IpAddr>,
    /// Where frames with an unknown destination go: a host, or a multicast group.
    pub remote: Option<IpAddr>,
    pub learning: Option<bool>,
    pub ttl: Option<u8>,
    pub ageing_seconds: Option<u32>,
}

options!(Vxlan { port, local, remote, learning, ttl, ageing_seconds });

impl Vxlan {
    /// The kernel changes neither the number nor the port of a vxlan that is there.
    pub(super) fn turns_into(&self, wanted: &Self) -> bool {
        self.id == wanted.id && (wanted.port.is_none() || wanted.port == self.port)
    }

    pub(super) fn encode(&self) -> Vec<InfoVxlan> {
        let local = self.local.map(|ip| match ip {
            IpAddr::V4(ip) => InfoVxlan::Local(ip),
            IpAddr::V6(ip) => InfoVxlan::Local6(ip),
        });
        let remote = self.remote.map(|ip| match ip {
            IpAddr::V4(ip) => InfoVxlan::Group(ip),
            IpAddr::V6(ip) => InfoVxlan::Group6(ip),
        });
        [
            Some(InfoVxlan::Id(self.id)),
            self.port.map(InfoVxlan::Port),
            local,
            remote,
            self.learning.map(InfoVxlan::Learning),
            self.ttl.map(InfoVxlan::Ttl),
            self.ageing_seconds.map(InfoVxlan::Ageing),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    pub(super) fn decode(data: &[InfoVxlan]) -> Self {
        let mut vxlan = Self::default();
        for attribute in data {
            match attribute {
                InfoVxlan::Id(id) => vxlan.id = *id,
                InfoVxlan::Port(port) => vxlan.port = Some(*port),
                InfoVxlan::Local(ip) => vxlan.local = Some((*ip).into()),
                InfoVxlan::Local6(ip) => vxlan.local = Some((*ip).into()),
                InfoVxlan::Group(ip) => vxlan.remote = Some((*ip).into()),
                InfoVxlan::Group6(ip) => vxlan.remote = Some((*ip).into()),
                InfoVxlan::Learning(on) => vxlan.learning = Some(*on),
                InfoVxlan::Ttl(ttl) => vxlan.ttl = Some(*ttl),
                InfoVxlan::Ageing(time) => vxlan.ageing_seconds = Some(*time),
                _ => {}
            }
        }
        vxlan
    }
}
