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
//! The ledger of IPSets follows the records: what is recorded and not claimed there, because the
//! NetConfig came later or somebody else wrote the record, is claimed; what is claimed for a pod and
//! not recorded is an orphan like any other. A record whose address the ledger knows as somebody
//! else's is told to the pod: one address has two holders, and people have to decide.
//!
//! Compared with upstream: addresses are compared as addresses, reservations are matched by the
//! names that pools give them (with network names and for slices, too), and nothing is decided when
//! anything could not be read.

pub mod derived;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::ResourceExt;
use landbridge_api::ledger::Claim;
use landbridge_api::network::IPSet;
use landbridge_cni::args::Args;
use landbridge_cni::config::Network;
use landbridge_cni::status;
use landbridge_cni::whereabouts::{Allocation, Ipam, Ledger, pool_name, reservation_address};
use serde_json::Value;

use self::derived::{Double, recorded};
use crate::claims::edits::Wants;
use crate::claims::{HOLDER, Place, Put};
use crate::ipsets;
use crate::objects::{Block, Definition, Event, ObjectError, Objects, Pod, PodSet, Pool, Reserved};
use crate::sticky;
use crate::whereabouts::Pools;

/// How long something has to be an orphan before it is freed.
pub const GRACE: Duration = Duration::from_mins(1);

/// How long freeing one may take.
const FREE: Duration = Duration::from_secs(10);

/// The cluster, as far as records go.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// The ledger.
    pub blocks: Vec<Block>,
    /// NetConfigs as they are written.
    pub netconfigs: Vec<Value>,
    /// Policies as they are written; not read when there is no NetConfig.
    pub policies: Vec<Value>,
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
        let (blocks, netconfigs) = (objects.blocks()?, objects.netconfigs()?);
        let policies = if netconfigs.is_empty() { Vec::new() } else { objects.policies()? };
        Ok(Self {
            blocks,
            netconfigs,
            policies,
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
    /// A claim of the ledger for a pod: where, and of whom.
    Claim {
        /// The wire.
        segment: String,
        /// The address.
        address: IpAddr,
        /// The pod, the interface, the container.
        held: (String, String, String),
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
    // Where a pool cannot be read it is not known what is recorded.
    if let Some(recorded) = recorded(&picture.pools) {
        for (place, claim) in pod_claims(picture) {
            if !recorded.backs(place.address, claim) {
                let Claim { namespace, name, attachment, instance, .. } = claim.clone();
                let held = (format!("{namespace}/{name}"), attachment, instance);
                let segment = place.segment.to_string();
                found.push(Orphan::Claim { segment, address: place.address, held });
            }
        }
    }
    found
}

/// The claims of pods.
fn pod_claims(picture: &Picture) -> impl Iterator<Item = (Place, &Claim)> {
    picture.blocks.iter().flat_map(|block| {
        let segment: Arc<str> = block.segment.as_str().into();
        let ours = block.claims.iter().filter(|(_, claim)| claim.kind == HOLDER);
        ours.map(move |(address, claim)| {
            (Place { segment: Arc::clone(&segment), address: *address }, claim)
        })
    })
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
    let sticky = definitions.iter().filter(|definition| sticky::is_sticky(definition));
    sticky.flat_map(pools_of).collect()
}

/// The pools that a definition draws from.
fn pools_of(definition: &Definition) -> Vec<String> {
    let mut found = Vec::new();
    let network = Network::of_definition(&definition.name, &definition.config);
    let Ok(Some(network)) = network else { return found };
    for plugin in &network.plugins {
        let Some(Value::Object(section)) = plugin.keys.get("ipam") else { continue };
        let Ok(ipam) = Ipam::from_section(section, &Args::default()) else { continue };
        let ranges = ipam.ranges.iter();
        found.extend(ranges.map(|range| pool_name(&ipam.network_name, range.range)));
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
    /// What was recorded and is claimed now.
    pub claimed: usize,
    /// Addresses that have two holders, in words, when that is news.
    pub doubles: Vec<String>,
    /// What could not be done, and why.
    pub failed: Vec<String>,
}

/// Collects what is recorded for nobody. One of these per cluster is enough; more do no harm.
pub struct Reconciler {
    objects: Arc<dyn Objects>,
    pools: Pools,
    memory: Memory,
    /// What people were told of already.
    told: BTreeSet<String>,
    grace: Duration,
}

impl Reconciler {
    /// Nothing is suspected yet.
    pub fn new(objects: Arc<dyn Objects>, grace: Duration) -> Self {
        let pools = Pools::new(Arc::clone(&objects));
        Self { objects, pools, memory: Memory::default(), told: BTreeSet::new(), grace }
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
        let derived = derived::derive(&picture);
        self.claim(derived.missing, &mut report);
        self.tell(&picture, derived.doubles, &mut report);
        Ok(report)
    }

    /// Claims what is recorded, in one swap for each block.
    fn claim(&self, missing: Wants, report: &mut Report) {
        let mut blocks: BTreeMap<String, Wants> = BTreeMap::new();
        for (place, claim) in missing {
            blocks.entry(place.block()).or_default().insert(place, claim);
        }
        for wants in blocks.into_values() {
            let end = Instant::now() + FREE;
            match self.pools.claims().put(&wants, &mut Wants::new(), end) {
                Ok(Put::All) => report.claimed += wants.len(),
                // Somebody was faster; the next pass sees who.
                Ok(Put::Lost) => {}
                Err(error) => report.failed.push(error.to_string()),
            }
        }
    }

    /// Tells of addresses with two holders, once for each.
    fn tell(&mut self, picture: &Picture, doubles: Vec<Double>, report: &mut Report) {
        let now: BTreeSet<String> = doubles.iter().map(ToString::to_string).collect();
        for double in doubles {
            let text = double.to_string();
            if self.told.contains(&text) {
                continue;
            }
            if let Some(pod) = picture.pods.iter().find(|pod| pod.reference() == double.podref) {
                let event =
                    Event { is_warning: true, reason: "AddressHeldTwice", message: text.clone() };
                self.objects.tell(pod, vec![event]);
            }
            report.doubles.push(text);
        }
        self.told = now;
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
            Orphan::Claim { segment, address, .. } => {
                // It may have been recorded since the picture was taken.
                let pools = self.objects.pools().map_err(|error| error.to_string())?;
                let Some(recorded) = recorded(&pools) else { return Ok(()) };
                let is_it = |(place, _): &(Place, &Claim)| {
                    *place.segment == **segment && place.address == *address
                };
                let Some((place, claim)) = pod_claims(picture).find(is_it) else { return Ok(()) };
                if recorded.backs(*address, claim) {
                    return Ok(());
                }
                let gone = Wants::from([(place, claim.clone())]);
                let end = Instant::now() + FREE;
                self.pools.claims().take_back(&gone, end).map_err(|error| error.to_string())
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
