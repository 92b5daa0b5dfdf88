//! The table as rules of the kernel's packet filter, the ways of answers, and connections that must not
//! go on.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anyhow::Context as _;
use ipnet::IpNet;
use landbridge_lb::rules::{self, Rules};
use landbridge_lb::{Port, Protocol, Table};
use landbridge_linux::conntrack::{Conntrack, Flow};
use landbridge_linux::sysctl::{Conf, Sysctl};
use landbridge_linux::{Handle, IfName, Sysctls};

use super::{answers, nft};

/// What stands in the kernel, as far as we put it there.
pub struct Kernel {
    pods: String,
    ranges: Vec<IpNet>,
    /// What the node's own programs may ask for.
    services: Arc<BTreeSet<IpNet>>,
    /// Nothing: unknown, everything is put there anew.
    applied: Option<Rules>,
    edges: String,
    answers: answers::Plan,
    table: Arc<Table>,
}

impl Kernel {
    /// Nothing is known of the kernel yet.
    pub fn new(pods: &str, ranges: &[IpNet]) -> Self {
        Self {
            pods: pods.to_owned(),
            ranges: ranges.to_vec(),
            services: Arc::default(),
            applied: None,
            edges: String::new(),
            answers: answers::Plan::default(),
            table: Arc::default(),
        }
    }

    /// Makes the kernel do what the table says. `dead` are addresses of backends on dead nodes; `look`:
    /// links may have changed.
    pub async fn apply(
        &mut self,
        table: Table,
        dead: BTreeSet<IpAddr>,
        look: bool,
    ) -> anyhow::Result<()> {
        let outer = table.ports().iter().flat_map(Port::outer_addresses).map(IpNet::from);
        let services: BTreeSet<IpNet> = outer.chain(self.ranges.iter().copied()).collect();
        if look || self.applied.is_none() || services != *self.services {
            self.services = Arc::new(services);
            let (pods, services) = (self.pods.clone(), Arc::clone(&self.services));
            let made = tokio::task::spawn_blocking(move || make_answers(&pods, &services)).await;
            self.answers = made.context("making the ways of answers ended badly")??;
        }
        // Whoever flushes all rules flushes ours as well.
        if look && self.applied.is_some() && nft::run(rules::PROBE).await.is_err() {
            tracing::warn!("somebody took the rules of Services away; they are put back");
            self.applied = None;
            self.edges.clear();
        }
        let wanted = rules::rules(&table, &self.answers.marks, &self.pods);
        let script = match &self.applied {
            Some(applied) => rules::change(applied, &wanted),
            None => rules::replace(&wanted, &self.pods),
        };
        if !script.is_empty() {
            let outcome = nft::run(&script).await;
            if outcome.is_err() {
                // Somebody else may have been at our table: next time everything is put there anew.
                self.applied = None;
            }
            outcome?;
            tracing::debug!(bytes = script.len(), "rules of Services");
        }
        let outer: BTreeSet<String> = self.answers.marks.keys().cloned().collect();
        let edges = rules::edges(&wanted, &self.answers.bare, &outer);
        self.applied = Some(wanted);
        if edges != self.edges {
            nft::run(&edges).await?;
            self.edges = edges;
        }
        if table != *self.table || !dead.is_empty() {
            self.table = Arc::new(table);
            let table = Arc::clone(&self.table);
            let swept = tokio::task::spawn_blocking(move || sweep(&table, &dead)).await;
            let swept = swept.context("looking through connections ended badly")?;
            match swept {
                Ok(0) => {}
                Ok(count) => tracing::info!(count, "connections to backends that are gone ended"),
                Err(error) => tracing::warn!(%error, "cannot look through connections"),
            }
        }
        Ok(())
    }
}

/// Makes rules and tables of policy routing what the links ask for.
fn make_answers(pods: &str, services: &BTreeSet<IpNet>) -> anyhow::Result<answers::Plan> {
    let net = Handle::open()?;
    let (links, addresses, routes) = (net.links()?, net.addresses()?, net.routes()?);
    let plan = answers::plan(&links, &addresses, &routes, pods, services);
    let change = answers::change(&plan, &net.rules()?, &routes);
    for rule in &change.remove_rules {
        net.delete_rule(rule)?;
    }
    for route in &change.remove_routes {
        net.delete_route(route)?;
    }
    for route in &change.add_routes {
        net.ensure_route(route).with_context(|| format!("cannot make the route {route}"))?;
    }
    for rule in &change.add_rules {
        net.ensure_rule(rule)?;
    }
    let sysctls = Sysctls::of(net.namespace());
    // Packets of pods are translated where they are routed, not on their way through the bridge: there
    // one that is sent back to its own pod is lost. A kernel that does not know of this needs nothing.
    for family in ["iptables", "ip6tables"] {
        let setting = Sysctl::parse(&format!("net.bridge.bridge-nf-call-{family}"))?;
        if sysctls.read(&setting).is_ok() {
            sysctls.ensure(&setting, 0)?;
        }
    }
    let names: Vec<&IfName> = links.iter().map(|link| &link.name).collect();
    take_questions(&sysctls, &names, &plan.bare)?;
    Ok(plan)
}

/// Lets packets in by links without an address: a check of their source against the routes would drop
/// them all. The check for all links counts for each, so it is handed on to the others first.
fn take_questions(
    sysctls: &Sysctls,
    links: &[&IfName],
    bare: &BTreeSet<String>,
) -> anyhow::Result<()> {
    if bare.is_empty() {
        return Ok(());
    }
    let all = Sysctl::rp_filter(Conf::All);
    let for_all: u8 = sysctls.read(&all)?.parse().unwrap_or(0);
    for link in links {
        let own = Sysctl::rp_filter(Conf::Link(link));
        let value = if bare.contains(link.as_str()) {
            0
        } else {
            let now = sysctls.read(&own).ok().and_then(|text| text.parse().ok());
            for_all.max(now.unwrap_or(0))
        };
        // A link that has gone meanwhile needs nothing.
        let _ = sysctls.ensure(&own, value);
    }
    sysctls.ensure(&all, 0)?;
    // A socket of this node that answers for a virtual address answers by the mark of the question.
    let accept = Sysctl::parse("net.ipv4.tcp_fwmark_accept")?;
    let _ = sysctls.ensure(&accept, 1);
    Ok(())
}

/// Forgets connections that must not go on: datagrams to backends that are gone, and everything to
/// backends on dead nodes. Their next packet is answered by somebody else, who knows nothing of a TCP
/// connection and resets it.
fn sweep(table: &Table, dead: &BTreeSet<IpAddr>) -> std::io::Result<usize> {
    let backends = backends(table);
    let mut conntrack = Conntrack::open()?;
    let mut count = 0;
    for flow in conntrack.flows()? {
        if must_end(&flow, &backends, dead) && conntrack.forget(&flow)? {
            count += 1;
        }
    }
    Ok(count)
}

type Backends<'a> = HashMap<(Protocol, SocketAddr), [&'a BTreeSet<SocketAddr>; 2]>;

fn backends(table: &Table) -> (Backends<'_>, BTreeMap<(Protocol, u16), Vec<SocketAddr>>) {
    let mut by_address: Backends<'_> = HashMap::new();
    let mut by_port: BTreeMap<(Protocol, u16), Vec<SocketAddr>> = BTreeMap::new();
    for port in table.ports() {
        for frontend in port.frontends() {
            by_address.entry((port.protocol, frontend)).or_insert([&port.anywhere, &port.here]);
        }
        if let Some(number) = port.node_port {
            let all = by_port.entry((port.protocol, number)).or_default();
            all.extend(port.anywhere.iter().chain(&port.here));
        }
    }
    (by_address, by_port)
}

fn must_end(
    flow: &Flow,
    (by_address, by_port): &(Backends<'_>, BTreeMap<(Protocol, u16), Vec<SocketAddr>>),
    dead: &BTreeSet<IpAddr>,
) -> bool {
    let protocol = match flow.protocol {
        6 => Protocol::Tcp,
        17 => Protocol::Udp,
        _ => return false,
    };
    let Some(answers) = flow.stand_in() else { return false };
    if dead.contains(&answers.ip()) {
        return true;
    }
    // A TCP connection to a pod that is going away is the pod's to end.
    if protocol == Protocol::Tcp {
        return false;
    }
    let to = flow.original.to;
    match by_address.get(&(protocol, to)) {
        Some(sets) => !sets.iter().any(|set| set.contains(&answers)),
        None => {
            by_port.get(&(protocol, to.port())).is_some_and(|backends| !backends.contains(&answers))
        }
    }
}
