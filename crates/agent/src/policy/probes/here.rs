//! The surroundings of the node this process runs on.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::Client;
use landbridge_linux::neighbour::NeighbourState;
use landbridge_linux::route::{Family, table};
use landbridge_linux::{Handle, Neighbour};
use tokio::runtime;

use super::super::network::NodeNetwork;
use super::{Gateway, Surroundings, dns};

/// So many gateways are looked at.
const MOST: usize = 4;
/// A datagram to this port makes the kernel ask who has the address; nobody needs to listen.
const DISCARD: u16 = 9;

/// The network around this process, and the API as its client reaches it.
pub struct Here {
    pub client: Client,
    pub runtime: runtime::Handle,
    pub network: Arc<dyn NodeNetwork>,
}

impl Surroundings for Here {
    fn api(&self, within: Duration) -> Result<(), String> {
        // A request that hangs on a connection from before the change must not use up the time.
        let within = within.min(Duration::from_millis(1500));
        let asked = async {
            match tokio::time::timeout(within, self.client.apiserver_version()).await {
                // A refusal is an answer too.
                Ok(Ok(_) | Err(kube::Error::Api(_))) => Ok(()),
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err(format!("no answer within {} ms", within.as_millis())),
            }
        };
        self.runtime.block_on(asked)
    }

    fn gateways(&self) -> Result<Vec<Gateway>, String> {
        gateways(&Handle::open().map_err(|error| error.to_string())?)
    }

    fn reaches(&self, gateway: &Gateway, within: Duration) -> Result<(), String> {
        reaches(&Handle::open().map_err(|error| error.to_string())?, gateway, within)
    }

    fn addresses(&self) -> Result<BTreeSet<IpAddr>, String> {
        addresses(&Handle::open().map_err(|error| error.to_string())?)
    }

    fn resolves(&self, host: &str, within: Duration) -> Result<(), String> {
        let state = self.network.show()?;
        let servers = state.pointer("/dns-resolver/running/server").and_then(|s| s.as_array());
        let servers = servers.into_iter().flatten().filter_map(|s| s.as_str()?.parse().ok());
        let mut last = "there is no name server".to_owned();
        for server in servers.take(3) {
            match dns::ask(server, host, within / 3) {
                Ok(()) => return Ok(()),
                Err(why) => last = why,
            }
        }
        Err(last)
    }
}

/// The default gateways of the main table.
pub fn gateways(net: &Handle) -> Result<Vec<Gateway>, String> {
    let routes = net.routes_of(table::MAIN).map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    for route in routes {
        if route.destination != Family::of(&route.destination).everywhere() {
            continue;
        }
        if let (Some(address), Some(link)) = (route.gateway, route.link) {
            found.push(Gateway { address, link: link.0 });
        }
        for hop in route.multipath {
            found.extend(hop.gateway.map(|address| Gateway { address, link: hop.link.0 }));
        }
    }
    found.truncate(MOST);
    Ok(found)
}

/// The addresses on links that are up.
pub fn addresses(net: &Handle) -> Result<BTreeSet<IpAddr>, String> {
    let links = net.links().map_err(|error| error.to_string())?;
    let up: BTreeSet<_> =
        links.iter().filter(|l| l.up && l.carrier).map(|link| link.index).collect();
    let addresses = net.addresses().map_err(|error| error.to_string())?;
    Ok(addresses.iter().filter(|a| up.contains(&a.link)).map(|a| a.net.addr()).collect())
}

/// Whether a gateway answers when the kernel asks who has its address. What the kernel remembers
/// from before is no answer, so it has to forget that first.
pub fn reaches(net: &Handle, gateway: &Gateway, within: Duration) -> Result<(), String> {
    if let Some(known) = entry(net, gateway)?
        && !matches!(known.state, NeighbourState::Permanent | NeighbourState::NoArp)
    {
        net.delete_neighbour(&known).map_err(|error| error.to_string())?;
    }
    let begin = Instant::now();
    send(net, gateway)?;
    loop {
        let state = entry(net, gateway)?.map(|entry| entry.state);
        match state {
            Some(
                NeighbourState::Reachable
                | NeighbourState::Stale
                | NeighbourState::Delay
                | NeighbourState::Probe
                | NeighbourState::Permanent
                | NeighbourState::NoArp,
            ) => return Ok(()),
            Some(NeighbourState::Failed) => return Err("nobody has that address".to_owned()),
            _ if begin.elapsed() >= within => {
                return Err(format!("no answer within {} ms", within.as_millis()));
            }
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn entry(net: &Handle, gateway: &Gateway) -> Result<Option<Neighbour>, String> {
    let all = net.neighbours().map_err(|error| error.to_string())?;
    Ok(all.into_iter().find(|n| !n.proxy && n.ip == gateway.address && n.link.0 == gateway.link))
}

fn send(net: &Handle, gateway: &Gateway) -> Result<(), String> {
    let (any, to): (IpAddr, SocketAddr) = match gateway.address {
        IpAddr::V4(ip) => (Ipv4Addr::UNSPECIFIED.into(), (ip, DISCARD).into()),
        IpAddr::V6(ip) => {
            (Ipv6Addr::UNSPECIFIED.into(), SocketAddrV6::new(ip, DISCARD, 0, gateway.link).into())
        }
    };
    let send = || {
        let socket = UdpSocket::bind((any, 0))?;
        socket.send_to(&[0], to)
    };
    let sent = net.namespace().run(send).map_err(|error| error.to_string())?;
    sent.map(drop).map_err(|error| format!("cannot send to it: {error}"))
}
