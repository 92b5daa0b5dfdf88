//! From any state of a node to the plan.
//!
//! The order is what makes it safe: what is gone goes first, the guard of all ports stands before any port is
//! plugged, and a node whose guard cannot stand plugs none.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use landbridge_fabric::{Instance, Network, NodePlan, NodeStatus, Router, names, rules};
use landbridge_linux::namespace::named;
use landbridge_linux::{Handle, IfName, LinkIndex, MacAddr, Namespace};
use landbridge_nodestate::wires::Wires;

use super::guests::{Guest, free_name};
use super::leases::{Answering, Leased};
use super::networks::{Networks, sweep_node};
use super::nft;
use super::plugs::{self, Plug};
use super::routers::{self, Known};
use super::spaces::{self, Use};

/// The cloud on a node, as far as this process keeps it.
pub struct Cloud {
    node: Namespace,
    netns: PathBuf,
    wires: Arc<dyn Wires>,
    /// The rules that stand; nothing: unknown.
    guard: Option<String>,
    /// By router.
    routers: BTreeMap<String, Known>,
    /// By instance.
    guests: BTreeMap<String, Guest>,
    /// By port.
    leases: BTreeMap<String, Answering>,
}

impl Cloud {
    /// Nothing is known of the node yet.
    pub fn new(node: Namespace, netns: PathBuf, wires: Arc<dyn Wires>) -> Self {
        Self {
            node,
            netns,
            wires,
            guard: None,
            routers: BTreeMap::new(),
            guests: BTreeMap::new(),
            leases: BTreeMap::new(),
        }
    }

    /// Makes the node what the plan says, as far as possible, and says how far that is. The calling thread must be in a runtime.
    pub fn converge(&mut self, plan: &NodePlan) -> NodeStatus {
        let mut status = NodeStatus { generation: plan.generation, ..NodeStatus::default() };
        let outcome = if plan.is_empty() { self.clear() } else { self.make(plan, &mut status) };
        status.errors.extend(outcome.err().map(|error| format!("{error:#}")));
        status
    }

    /// Lets go of what this process keeps, and leaves the rest running.
    pub fn leave(self) {
        for guest in self.guests.into_values() {
            guest.leave();
        }
    }

    fn clear(&mut self) -> anyhow::Result<()> {
        self.remove_others(&NodePlan::default())?;
        self.guard = None;
        if named::list(&self.netns)?.iter().any(|name| name == names::CLOUD) {
            named::delete(&self.netns, names::CLOUD)?;
        }
        sweep_node(&Handle::in_namespace(&self.node)?, |_| true)
    }

    /// Removes instances and routers that are not in the plan.
    fn remove_others(&mut self, plan: &NodePlan) -> anyhow::Result<()> {
        let instances: Vec<&str> = plan.instances.iter().map(|it| it.id.as_str()).collect();
        let routers: Vec<&str> = plan.routers.iter().map(|it| it.id.as_str()).collect();
        let gone: Vec<String> =
            self.guests.keys().filter(|id| !instances.contains(&id.as_str())).cloned().collect();
        for id in gone {
            if let Some(guest) = self.guests.remove(&id) {
                guest.end();
            }
        }
        self.routers.retain(|id, _| routers.contains(&id.as_str()));
        let ports: Vec<&str> =
            plan.instances.iter().flat_map(|it| &it.ports).map(|port| port.id.as_str()).collect();
        self.leases.retain(|port, _| ports.contains(&port.as_str()));
        let kept: Vec<String> = instances
            .into_iter()
            .map(names::instance)
            .chain(routers.into_iter().map(names::router))
            .collect();
        for name in named::list(&self.netns)? {
            if names::is_guest_or_router(&name) && !kept.contains(&name) {
                named::delete(&self.netns, &name)?;
            }
        }
        Ok(())
    }

    fn make(&mut self, plan: &NodePlan, status: &mut NodeStatus) -> anyhow::Result<()> {
        self.remove_others(plan)?;
        let node = Handle::in_namespace(&self.node)?;
        let cloud = spaces::ensure(&self.netns, names::CLOUD, Use::Bridges)?;
        self.stand_guard(&cloud, plan)?;
        plugs::sweep(&cloud, &taps(plan))?;
        let wires = Arc::clone(&self.wires);
        let networks = Networks { node: &node, cloud: &cloud, wires: &*wires };
        networks.sweep(plan)?;
        let mut bridges = HashMap::new();
        for network in &plan.networks {
            if let Err(error) = make_network(&networks, network, &mut bridges) {
                status.errors.push(format!("network {}: {error:#}", network.name));
            }
        }
        for router in &plan.routers {
            match self.router(&cloud, router, &bridges) {
                Ok(()) => status.wired.extend(router.interfaces.iter().map(|it| it.port.clone())),
                Err(error) => status.errors.push(format!("router {}: {error:#}", router.name)),
            }
        }
        for instance in &plan.instances {
            if let Err(error) = self.instance(&cloud, instance, &bridges, status) {
                status.errors.push(format!("instance {}: {error:#}", instance.name));
            }
        }
        Ok(())
    }

    fn stand_guard(&mut self, cloud: &Handle, plan: &NodePlan) -> anyhow::Result<()> {
        let text = rules::guard(plan);
        // Whoever flushes all rules flushes ours as well.
        let stands =
            self.guard.as_ref() == Some(&text) && nft::run(cloud.namespace(), rules::PROBE).is_ok();
        if !stands {
            self.guard = None;
            nft::run(cloud.namespace(), &text).context("no port is guarded")?;
            self.guard = Some(text);
        }
        Ok(())
    }

    fn router(
        &mut self,
        cloud: &Handle,
        router: &Router,
        bridges: &HashMap<String, LinkIndex>,
    ) -> anyhow::Result<()> {
        let name = names::router(&router.id);
        let found = named::list(&self.netns)?.contains(&name);
        let net = spaces::ensure(&self.netns, &name, Use::Router)?;
        if !found {
            self.routers.remove(&router.id);
        }
        let fresh = || Known::new(Instant::now());
        let known = self.routers.entry(router.id.clone()).or_insert_with(fresh);
        routers::ensure(cloud, &net, router, bridges, known)
    }

    fn instance(
        &mut self,
        cloud: &Handle,
        instance: &Instance,
        bridges: &HashMap<String, LinkIndex>,
        status: &mut NodeStatus,
    ) -> anyhow::Result<()> {
        let net = spaces::ensure(&self.netns, &names::instance(&instance.id), Use::Instance)?;
        if let Some(guest) = self.guests.remove(&instance.id) {
            if guest.is_in(net.namespace()) {
                self.guests.insert(instance.id.clone(), guest);
            } else {
                guest.end();
            }
        }
        if !self.guests.contains_key(&instance.id) {
            let guest = Guest::start(net.namespace(), instance)?;
            self.guests.insert(instance.id.clone(), guest);
        }
        let mut links: Vec<(&str, IfName)> = Vec::new();
        for (place, port) in instance.ports.iter().enumerate() {
            let bridge = *bridges
                .get(&port.network)
                .with_context(|| format!("network {} is not here", port.network))?;
            let mac = MacAddr(port.mac.0);
            let plug = Plug { port: &port.id, mac, mtu: port.mtu, up: port.up, bridge };
            let parent = port.child.as_ref().and_then(|child| {
                let (_, link) = links.iter().find(|(port, _)| *port == child.parent)?;
                Some(format!("{link}.{}", child.vlan))
            });
            let plugged = plug.ensure(cloud, &net, |there| match &parent {
                Some(name) => Ok(IfName::new(name)?),
                None => free_name(there, place),
            })?;
            let leased = Leased::of(port, plugged.tap);
            let told = leased.as_ref().map(|leased| leased.told().clone());
            self.answer(cloud.namespace(), &port.id, leased)?;
            if let Some(guest) = self.guests.get_mut(&instance.id) {
                guest.configure(&net, &plugged.inside, port, told.as_ref())?;
            }
            links.push((&port.id, plugged.inside.name));
            if port.up {
                status.wired.insert(port.id.clone());
            }
        }
        if let Some(guest) = self.guests.get_mut(&instance.id) {
            guest.keep_only(&links.into_iter().map(|(_, link)| link).collect::<Vec<_>>());
        }
        Ok(())
    }

    /// Answers DHCP at a port's tap, or does not.
    fn answer(
        &mut self,
        cloud: &Namespace,
        port: &str,
        leased: Option<Leased>,
    ) -> anyhow::Result<()> {
        let known = self.leases.get(port).filter(|it| it.lives()).map(|it| &it.leased);
        if known == leased.as_ref() {
            return Ok(());
        }
        self.leases.remove(port);
        if let Some(leased) = leased {
            self.leases.insert(port.to_owned(), Answering::start(cloud, leased)?);
        }
        Ok(())
    }
}

/// A network whose uplink fails has its bridge all the same: those on this node reach each other.
fn make_network(
    networks: &Networks<'_>,
    network: &Network,
    bridges: &mut HashMap<String, LinkIndex>,
) -> anyhow::Result<()> {
    let bridge = networks.bridge(network)?;
    bridges.insert(network.id.clone(), bridge);
    networks.connect(network, bridge)
}

/// The taps of all ports of a plan.
fn taps(plan: &NodePlan) -> Vec<String> {
    let of_instances = plan.instances.iter().flat_map(|it| &it.ports).map(|port| &port.id);
    let of_routers = plan.routers.iter().flat_map(|it| &it.interfaces).map(|it| &it.port);
    of_instances.chain(of_routers).map(|port| names::tap(port)).collect()
}
