//! What is recorded for nobody, and its collection.
//!
//! A record is an orphan when the pod it names is gone, or is there with a network-status that does
//! not list the address, unless it is to stay (see [`crate::sticky`]). What is an orphan is freed
//! only after it has been one, unchanged, for a while: a pod that is just being attached has records
//! before it has a status.
//!
//! Records are read before pods. Nobody gets a record without being a pod, so a record that was
//! there before the pods were listed and whose pod is not among them is of nobody.
//!
//! Compared with upstream: addresses are compared as addresses, reservations are matched by the
//! names that pools give them (with network names and for slices, too), and nothing is decided when
//! anything could not be read.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::ResourceExt;
use landbridge_api::network::IPSet;
use landbridge_cni::args::Args;
use landbridge_cni::config::Network;
use landbridge_cni::status;
use landbridge_cni::whereabouts::{Allocation, Ipam, Ledger, pool_name, reservation_address};
use serde_json::Value;

use crate::ipsets;
use crate::objects::{Definition, ObjectError, Objects, Pod, PodSet, Pool, Reserved};
use crate::sticky;
use crate::whereabouts::Pools;

/// How long something has to be an orphan before it is freed.
pub const GRACE: Duration = Duration::from_mins(1);

/// How long freeing one may take.
const FREE: Duration = Duration::from_secs(10);

/// The cluster, as far as records go.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// IPSets made for pods.
    pub ipsets: Vec<IPSet>,
    /// Reservations by name.
    pub reservations: BTreeMap<String, Reserved>,
    /// Pools by name.
    pub pools: BTreeMap<String, Pool>,
    /// Definitions.
    pub definitions: Vec<Definition>,
    /// Sets whose addresses may stay.
    pub sets: Vec<PodSet>,
    /// Nodes.
    pub nodes: Vec<String>,
    /// Pods.
    pub pods: Vec<Pod>,
}

impl Picture {
    /// Reads it, records before those they are for.
    pub fn read(objects: &dyn Objects) -> Result<Self, ObjectError> {
        Ok(Self {
            ipsets: objects.ipsets(ipsets::LABEL)?,
            reservations: objects.reservations()?,
            pools: objects.pools()?,
            definitions: objects.definitions()?,
            sets: objects.pod_sets()?,
            nodes: objects.nodes()?,
            pods: objects.pods(None)?,
        })
    }
}

/// Something that is recorded for nobody.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Orphan {
    /// A record of a pool: container, pod and interface.
    Record {
        /// The pool.
        pool: String,
        /// The address.
        address: IpAddr,
        /// The container, the pod, the interface.
        held: (String, String, String),
    },
    /// A reservation, in one state.
    Reservation {
        /// Its name.
        name: String,
        /// Which state of it.
        version: String,
    },
    /// An IPSet, in one state.
    IPSet {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Which state of it.
        version: String,
    },
}

/// Finds what is recorded for nobody.
pub fn orphans(picture: &Picture) -> Vec<Orphan> {
    let pods: BTreeMap<String, &Pod> =
        picture.pods.iter().map(|pod| (pod.reference(), pod)).collect();
    let sticky_pools = sticky_pools(&picture.definitions);
    let mut found = Vec::new();
    // The reservations that records stand behind, by name as read.
    let mut backed: BTreeSet<(String, IpAddr)> = BTreeSet::new();
    let mut scopes: BTreeSet<String> = BTreeSet::from([String::new()]);
    for (name, pool) in &picture.pools {
        let Ok(ledger) = Ledger::read(&pool.spec) else {
            tracing::warn!(pool = name, range = pool.spec.range, "a pool cannot be read");
            continue;
        };
        let own = scopes_of(name, &pool.spec.range);
        for (address, held) in ledger.iter() {
            if is_live(held, address, &pods, sticky_pools.contains(name), picture) {
                backed.extend(own.iter().map(|scope| (scope.clone(), address)));
                continue;
            }
            let Allocation { id, ifname, podref } = held.clone();
            let held = (id, podref, ifname);
            found.push(Orphan::Record { pool: name.clone(), address, held });
        }
        scopes.extend(own);
    }
    for (name, reserved) in &picture.reservations {
        let read = scopes.iter().filter_map(|scope| {
            reservation_address(scope, name).map(|address| (scope.clone(), address))
        });
        let keys: Vec<(String, IpAddr)> = read.collect();
        let pod = pods.get(&reserved.spec.podref);
        let used = |(_, address): &(String, IpAddr)| pod.is_some_and(|pod| uses(pod, *address));
        // A name that reads as no address is not ours to judge.
        if keys.is_empty() || keys.iter().any(|key| backed.contains(key) || used(key)) {
            continue;
        }
        let version = reserved.resource_version.clone();
        found.push(Orphan::Reservation { name: name.clone(), version });
    }
    for ipset in picture.ipsets.iter().filter(|i| i.metadata.deletion_timestamp.is_none()) {
        let note = |key: &str| ipset.annotations().get(key).map_or("", String::as_str);
        let podref = note(ipsets::POD);
        let is_sticky = !note(ipsets::KEPT).is_empty();
        let kept = is_sticky && sticky::is_kept(podref, true, &picture.sets, &picture.nodes);
        let gone = pods.get(podref).is_none_or(|pod| pod.is_lost);
        if podref.is_empty() || kept || !gone {
            continue;
        }
        found.push(Orphan::IPSet {
            namespace: ipset.namespace().unwrap_or_default(),
            name: ipset.name_any(),
            version: ipset.resource_version().unwrap_or_default(),
        });
    }
    found
}

fn is_live(
    held: &Allocation,
    address: IpAddr,
    pods: &BTreeMap<String, &Pod>,
    is_sticky_pool: bool,
    picture: &Picture,
) -> bool {
    // Old records without a pod are of somebody we cannot ask.
    if held.podref.is_empty() {
        return true;
    }
    let live = pods.get(&held.podref).is_some_and(|pod| !pod.is_lost && uses(pod, address));
    live || sticky::is_kept(&held.podref, is_sticky_pool, &picture.sets, &picture.nodes)
}

/// Whether a pod says it has an address, or has not said anything yet.
fn uses(pod: &Pod, address: IpAddr) -> bool {
    let told = [status::ANNOTATION, status::OLD_ANNOTATION];
    if !told.iter().any(|key| pod.annotations.contains_key(*key)) {
        return true;
    }
    match status::of_pod(&pod.annotations) {
        Ok(networks) => {
            networks.iter().flat_map(|network| &network.ips).any(|ip| ip.parse() == Ok(address))
        }
        Err(_) => true,
    }
}

/// The network names a pool may belong to. `NODE-RANGE` of a slice reads like `NETWORK-RANGE`, and
/// its reservations carry no name, so nothing is excluded.
fn scopes_of(pool: &str, range: &str) -> BTreeSet<String> {
    let mut scopes = BTreeSet::from([String::new()]);
    if let Ok(range) = range.parse() {
        let plain = pool_name("", range);
        let scope = pool.strip_suffix(&plain).and_then(|rest| rest.strip_suffix('-'));
        scopes.extend(scope.map(str::to_owned));
    }
    scopes
}

/// The pools that sticky definitions draw from.
fn sticky_pools(definitions: &[Definition]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for definition in definitions.iter().filter(|definition| sticky::is_sticky(definition)) {
        let network = Network::of_definition(&definition.name, &definition.config);
        let Ok(Some(network)) = network else { continue };
        for plugin in &network.plugins {
            let Some(Value::Object(section)) = plugin.keys.get("ipam") else { continue };
            let Ok(ipam) = Ipam::from_section(section, &Args::default()) else { continue };
            let ranges = ipam.ranges.iter();
            found.extend(ranges.map(|range| pool_name(&ipam.network_name, range.range)));
        }
    }
    found
}

/// Since when each orphan is one.
#[derive(Clone, Debug, Default)]
pub struct Memory(BTreeMap<Orphan, Instant>);

impl Memory {
    /// Notes what is an orphan now, and says which have been for long enough. An orphan that
    /// changed, or was none in between, begins anew.
    pub fn ripe(&mut self, now: Instant, found: &[Orphan], grace: Duration) -> Vec<Orphan> {
        self.0.retain(|known, _| found.contains(known));
        let mut ripe = Vec::new();
        for orphan in found {
            let since = *self.0.entry(orphan.clone()).or_insert(now);
            if now.saturating_duration_since(since) >= grace {
                ripe.push(orphan.clone());
            }
        }
        ripe
    }
}

/// What one pass did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What was freed.
    pub freed: Vec<Orphan>,
    /// What is an orphan and waits for its time.
    pub waiting: usize,
    /// What could not be freed, and why.
    pub failed: Vec<String>,
}

/// Collects what is recorded for nobody. One of these per cluster is enough; more do no harm.
pub struct Reconciler {
    objects: Arc<dyn Objects>,
    pools: Pools,
    memory: Memory,
    grace: Duration,
}

impl Reconciler {
    /// Nothing is suspected yet.
    pub fn new(objects: Arc<dyn Objects>, grace: Duration) -> Self {
        let pools = Pools::new(Arc::clone(&objects));
        Self { objects, pools, memory: Memory::default(), grace }
    }

    /// One pass.
    pub fn reconcile_once(&mut self, now: Instant) -> Result<Report, ObjectError> {
        let picture = Picture::read(self.objects.as_ref())?;
        let found = orphans(&picture);
        let ripe = self.memory.ripe(now, &found, self.grace);
        let mut report =
            Report { waiting: found.len().saturating_sub(ripe.len()), ..Report::default() };
        for orphan in ripe {
            match self.free(&picture, &orphan) {
                Ok(()) => report.freed.push(orphan),
                Err(text) => report.failed.push(text),
            }
        }
        Ok(report)
    }

    /// Frees one, if it still is what it was.
    fn free(&self, picture: &Picture, orphan: &Orphan) -> Result<(), String> {
        match orphan {
            Orphan::Record { pool, address, held: (id, podref, ifname) } => {
                let record =
                    Allocation { id: id.clone(), podref: podref.clone(), ifname: ifname.clone() };
                let end = Instant::now() + FREE;
                let freed = self.pools.forget(pool, *address, &record, end);
                freed.map_err(|error| error.to_string())
            }
            Orphan::Reservation { name, version } => {
                // A reservation that changed is not an orphan any more.
                match self.objects.delete_reservation(name, version) {
                    Err(error) if !error.is_conflict() => Err(format!("{name}: {error}")),
                    _ => Ok(()),
                }
            }
            Orphan::IPSet { namespace, name, .. } => {
                let is_it = |ipset: &&IPSet| {
                    ipset.name_any() == *name && ipset.namespace().as_deref() == Some(namespace)
                };
                let Some(ipset) = picture.ipsets.iter().find(is_it) else { return Ok(()) };
                match self.objects.delete_ipset(ipset) {
                    Err(error) if !error.is_conflict() => Err(format!("IPSet {name}: {error}")),
                    _ => Ok(()),
                }
            }
        }
    }
}
