//! DHCP, answered at the tap as OVN does: each port has a server of its own that knows one address.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use ipnet::{IpNet, Ipv4Net};
use landbridge_dhcp::{Kind, Message, Server, ServerSettings};
use landbridge_fabric::Port;
use landbridge_linux::packet::Frames;
use landbridge_linux::{LinkIndex, Namespace, PacketSocket};
use tokio::time::Instant;

use super::datagram::{self, Ends};

/// Neutron's default with OVN: half a day.
const LEASE_SECONDS: u32 = 43_200;
/// A locally administered address that no port has: Neutron's begin with fa:16:3e.
const SERVER_MAC: u8 = 0x0e;

/// What a port's server tells, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leased {
    pub tap: LinkIndex,
    settings: ServerSettings,
    mac: [u8; 6],
}

impl Leased {
    /// Of a port that has an address by DHCP.
    pub fn of(port: &Port, tap: LinkIndex) -> Option<Self> {
        let (fixed, server) = port.leased()?;
        let IpNet::V4(address) = fixed.address else { return None };
        let four = |ip: &IpAddr| match ip {
            IpAddr::V4(ip) => Some(*ip),
            IpAddr::V6(_) => None,
        };
        let router = fixed.gateway.as_ref().and_then(four);
        let mut routes: Vec<(Ipv4Net, Ipv4Addr)> = fixed
            .routes
            .iter()
            .filter_map(|route| match (route.destination, route.nexthop) {
                (IpNet::V4(to), IpAddr::V4(via)) => Some((to, via)),
                _ => None,
            })
            .collect();
        if !routes.is_empty() {
            // Who understands these does not look at the router (RFC 3442).
            routes.extend(router.map(|via| (Ipv4Net::default(), via)));
        }
        let settings = ServerSettings {
            own: Ipv4Net::new(server, address.prefix_len()).ok()?,
            first: address.addr(),
            last: address.addr(),
            router,
            resolvers: port.resolvers.iter().filter_map(four).collect(),
            domain: None,
            mtu: u16::try_from(port.mtu).ok(),
            lease_seconds: LEASE_SECONDS,
            routes,
            reserved: BTreeMap::from([(port.mac.0, address.addr())]),
        };
        Some(Self { tap, settings, mac: port.mac.0 })
    }

    /// What an instance notices when it changes.
    pub fn told(&self) -> &ServerSettings {
        &self.settings
    }
}

/// A server that answers at a tap until it is dropped.
pub struct Answering {
    pub leased: Leased,
    task: tokio::task::JoinHandle<()>,
}

impl Answering {
    /// Starts one. The calling thread must be in a runtime.
    pub fn start(cloud: &Namespace, leased: Leased) -> anyhow::Result<Self> {
        let tap = leased.tap;
        let socket = cloud.visit(|| PacketSocket::open(tap, Frames::DhcpClients))??;
        let task = tokio::runtime::Handle::current().spawn(serve(socket, leased.clone()));
        Ok(Self { leased, task })
    }

    /// Whether it still answers.
    pub fn lives(&self) -> bool {
        !self.task.is_finished()
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(socket: PacketSocket, leased: Leased) {
    let mut server = Server::new(leased.settings.clone());
    let began = Instant::now();
    loop {
        let frame = match socket.receive().await {
            Ok(frame) => frame,
            Err(error) => {
                // The tap is gone, or down; whoever looks after it starts another.
                tracing::debug!(%error, "DHCP at a tap ends");
                return;
            }
        };
        let Some(message) = datagram::read(&frame).and_then(|data| Message::decode(data).ok())
        else {
            continue;
        };
        // A port's server is for that port alone.
        if message.mac != leased.mac {
            continue;
        }
        let Some(reply) = server.answer(began.elapsed(), &message) else { continue };
        let has_address = !reply.client_address.is_unspecified() && reply.kind != Kind::Nak;
        let ends = Ends {
            to_mac: leased.mac,
            from_mac: server_mac(leased.mac),
            to: if has_address { reply.client_address } else { Ipv4Addr::BROADCAST },
            from: leased.settings.own.addr(),
        };
        if let Some(frame) = datagram::write(&ends, &reply.encode())
            && let Err(error) = socket.send(&frame)
        {
            tracing::debug!(%error, "an answer of DHCP is lost");
        }
    }
}

fn server_mac(port: [u8; 6]) -> [u8; 6] {
    let mut own = port;
    own[0] = SERVER_MAC;
    own
}
