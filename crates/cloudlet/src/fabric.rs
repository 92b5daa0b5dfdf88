//! From the state to what each node of a lab has to make of it.
//!
//! ```text
//!  instance   on the host that Nova chose, while it is ACTIVE
//!  router     on one node: a Kubernetes node if a physical network is on it (their bridges lead there),
//!             the first by name that is ready, so it moves when that one goes
//!  network    on every node that has something on it
//! ```
//!
//! A function of the state and of the nodes: the same input gives the same plans.

mod guard;
mod instances;
mod routers;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;
use landbridge_fabric::{HostRoute, Mac, Network, NodePlan, Uplink};
use serde_json::Value;

use crate::compute::servers::SERVER;
use crate::network::resources::networks::NETWORK;
use crate::network::resources::routers::ROUTER;
use crate::network::resources::segments;
use crate::network::resources::subnets::SUBNET;
use crate::object::Object;
use crate::state::State;

/// The MTU of a network that does not say.
const USUAL_MTU: u32 = 1500;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One of the control plane's cluster.
    Kubernetes,
    /// A compute node.
    Host,
}

/// A node of the lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// As Nova calls it, too.
    pub name: String,
    pub kind: Kind,
    /// Whether routers may stand on it.
    pub ready: bool,
}

/// Where the cloud is to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// By name.
    pub nodes: Vec<Node>,
    /// The link of each physical network, as OVN's `nicMappings` say.
    pub links: BTreeMap<String, String>,
}

/// One plan for each node of the site; generations are left to whoever hands them out.
pub fn plans(state: &State, site: &Site) -> BTreeMap<String, NodePlan> {
    let mut plans: BTreeMap<String, NodePlan> =
        site.nodes.iter().map(|node| (node.name.clone(), NodePlan::default())).collect();
    for server in state.all(&SERVER).filter(|server| server.text("status") == "ACTIVE") {
        // A host that is none of the lab's has nobody to make it.
        if let Some(plan) = plans.get_mut(server.text("host")) {
            plan.instances.extend(instances::instance(state, &server));
        }
    }
    for router in state.all(ROUTER.kind).filter(|router| router.flag("admin_state_up")) {
        let Some(planned) = routers::router(state, &router) else { continue };
        let networks = planned.interfaces.iter().map(|interface| interface.network.as_str());
        let node = home(state, site, networks);
        if let Some(plan) = node.and_then(|node| plans.get_mut(&node.name)) {
            plan.routers.push(planned);
        }
    }
    for plan in plans.values_mut() {
        let on_it: BTreeSet<String> = plan
            .instances
            .iter()
            .flat_map(|instance| &instance.ports)
            .map(|port| port.network.clone())
            .chain(
                plan.routers.iter().flat_map(|it| &it.interfaces).map(|port| port.network.clone()),
            )
            .collect();
        plan.networks = on_it.iter().filter_map(|id| network(state, site, id)).collect();
    }
    plans
}

/// The node that a router with interfaces on these networks stands on.
fn home<'a, 's>(
    state: &State,
    site: &'s Site,
    mut networks: impl Iterator<Item = &'a str>,
) -> Option<&'s Node> {
    let physical = networks.any(|id| {
        let network = state.get(NETWORK.kind, id).unwrap_or_default();
        segments::of(&network).iter().any(|segment| segment.physical.is_some())
    });
    let ready = site.nodes.iter().filter(|node| node.ready);
    let candidates = ready.filter(|node| !physical || node.kind == Kind::Kubernetes);
    candidates.min_by_key(|node| (node.kind == Kind::Host, &node.name))
}

fn network(state: &State, site: &Site, id: &str) -> Option<Network> {
    let network = state.get(NETWORK.kind, id)?;
    let segment = segments::of(&network).into_iter().next();
    let uplink = match segment.as_ref().and_then(|it| it.physical.clone()) {
        None => Uplink::Segment,
        Some(physical) => match site.links.get(&physical) {
            None => Uplink::Missing { network: physical },
            Some(link) => {
                let vlan = segment.filter(|it| it.kind == "vlan").and_then(|it| it.id);
                let vlan = vlan.and_then(|id| u16::try_from(id).ok());
                Uplink::Physical { network: physical, link: link.clone(), vlan }
            }
        },
    };
    Some(Network {
        id: id.to_owned(),
        name: network.text("name").to_owned(),
        mtu: mtu(&network),
        uplink,
    })
}

fn mtu(network: &Object) -> u32 {
    let known = network.number("mtu").and_then(|mtu| u32::try_from(mtu).ok());
    known.filter(|mtu| (68..=9216).contains(mtu)).unwrap_or(USUAL_MTU)
}

/// An address of a port with its subnet.
fn fixed(state: &State, fixed: &Value) -> Option<(IpNet, Object)> {
    let text = |name: &str| fixed.get(name).and_then(Value::as_str);
    let subnet = state.get(SUBNET.kind, text("subnet_id")?)?;
    let ip: IpAddr = text("ip_address")?.parse().ok()?;
    let cidr: IpNet = subnet.text("cidr").parse().ok()?;
    Some((IpNet::new(ip, cidr.prefix_len()).ok()?, subnet))
}

/// Routes as Neutron has them: `destination` and `nexthop`.
fn routes(object: &Object, name: &str) -> Vec<HostRoute> {
    let one = |route: &Value| {
        let text = |name: &str| route.get(name).and_then(Value::as_str);
        Some(HostRoute {
            destination: text("destination")?.parse().ok()?,
            nexthop: text("nexthop")?.parse().ok()?,
        })
    };
    object.list(name).iter().filter_map(one).collect()
}

fn mac(port: &Object) -> Option<Mac> {
    port.text("mac_address").parse().ok()
}
