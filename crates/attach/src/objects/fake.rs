//! A cluster in memory for tests, with the faults of a real one on demand.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ipnet::IpNet;
use kube::ResourceExt;
use landbridge_api::ledger::{AddressBlock, Claim};
use landbridge_api::network::{IPSet, IPSetStatus};
use landbridge_cni::status;
use landbridge_cni::whereabouts::{Operation, PoolSpec, Reservation};
use serde_json::Value;

use super::{
    Block, Definition, Event, ObjectError, Objects, PatchedAndReserved, Pod, PodSet, Pool, Reserved,
};

/// What goes wrong with one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The call does not arrive.
    Unreachable,
    /// The call is done, and its answer is lost.
    AnswerLost,
    /// Somebody else was faster.
    Conflict,
    /// The answer is no.
    Refused,
    /// The answer takes its time.
    Slow(Duration),
}

/// How an IPSet is answered, as the address controller would.
type Answer = Box<dyn Fn(&IPSet) -> Option<IPSetStatus> + Send>;

/// What is in the cluster.
#[derive(Default)]
pub struct State {
    /// By `namespace/name`.
    pub pods: BTreeMap<String, Pod>,
    /// By `namespace/name`.
    pub definitions: BTreeMap<String, Definition>,
    /// By name.
    pub pools: BTreeMap<String, Pool>,
    /// By name.
    pub reservations: BTreeMap<String, Reserved>,
    /// By `namespace/name`.
    pub ipsets: BTreeMap<String, IPSet>,
    /// NetConfigs.
    pub netconfigs: Vec<Value>,
    /// Policies.
    pub policies: Vec<Value>,
    /// Blocks of the ledger, by name.
    pub blocks: BTreeMap<String, Block>,
    /// Whether there are no such blocks in this cluster.
    pub has_no_ledger: bool,
    /// Prefixes of subnets, by name in lower case; one network for all.
    pub prefixes: BTreeMap<String, IpNet>,
    /// Sets of pods.
    pub sets: Vec<PodSet>,
    /// Nodes.
    pub nodes: Vec<String>,
    /// What was told, with the pod it is about.
    pub events: Vec<(String, Event)>,
    /// The calls that were made, by name.
    pub calls: Vec<&'static str>,
    /// The next faults: the call of that name, and what happens to it.
    pub faults: Vec<(&'static str, Fault)>,
    /// Whether nothing is answered at all.
    pub is_away: bool,
    /// After how many calls nothing is answered any more.
    pub calls_left: Option<usize>,
    /// Whether the next patch of a pool comes before the reservations that are made with it.
    pub reserve_last: bool,
    /// How IPSets are answered.
    pub answer: Option<Answer>,
    version: u64,
}

/// The cluster.
#[derive(Default)]
pub struct FakeObjects(Mutex<State>);

impl FakeObjects {
    /// The state, to look at or to change.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets calls of that name go wrong, one for each.
    pub fn fail(&self, call: &'static str, faults: &[Fault]) {
        self.state().faults.extend(faults.iter().map(|fault| (call, *fault)));
    }

    /// Puts a pod.
    pub fn put_pod(&self, pod: Pod) {
        self.state().pods.insert(pod.reference(), pod);
    }

    /// Puts a definition.
    pub fn define(&self, namespace: &str, name: &str, config: &str) {
        let definition = Definition {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            config: config.to_owned(),
            ..Definition::default()
        };
        self.state().definitions.insert(format!("{namespace}/{name}"), definition);
    }

    fn call<T>(
        &self,
        name: &'static str,
        work: impl FnOnce(&mut State) -> Result<T, ObjectError>,
    ) -> Result<T, ObjectError> {
        let away = || ObjectError::Unreachable(format!("{name}: the fake is away"));
        let fault = {
            let mut state = self.state();
            state.calls.push(name);
            match &mut state.calls_left {
                Some(0) => state.is_away = true,
                Some(left) => *left -= 1,
                None => {}
            }
            if state.is_away {
                return Err(away());
            }
            let at = state.faults.iter().position(|(call, _)| *call == name);
            at.map(|at| state.faults.remove(at).1)
        };
        match fault {
            None => work(&mut self.state()),
            Some(Fault::Unreachable) => Err(away()),
            Some(Fault::AnswerLost) => work(&mut self.state()).and_then(|_| Err(away())),
            Some(Fault::Conflict) => Err(ObjectError::Conflict(format!("{name}: a fault"))),
            Some(Fault::Refused) => Err(ObjectError::Refused(format!("{name}: a fault"))),
            Some(Fault::Slow(time)) => {
                std::thread::sleep(time);
                work(&mut self.state())
            }
        }
    }
}

impl State {
    /// The next version of whatever changes.
    pub fn next_version(&mut self) -> String {
        self.version += 1;
        self.version.to_string()
    }
}

impl Objects for FakeObjects {
    fn pod(&self, namespace: &str, name: &str) -> Result<Option<Pod>, ObjectError> {
        self.call("pod", |state| Ok(state.pods.get(&format!("{namespace}/{name}")).cloned()))
    }

    fn pods(&self, node: Option<&str>) -> Result<Vec<Pod>, ObjectError> {
        self.call("pods", |state| {
            let on = |pod: &&Pod| node.is_none_or(|node| pod.node == node);
            Ok(state.pods.values().filter(on).cloned().collect())
        })
    }

    fn set_network_status(&self, pod: &Pod, text: &str) -> Result<(), ObjectError> {
        self.call("set_network_status", |state| {
            if let Some(found) = state.pods.get_mut(&pod.reference()).filter(|p| p.uid == pod.uid) {
                found.annotations.insert(status::ANNOTATION.to_owned(), text.to_owned());
            }
            Ok(())
        })
    }

    fn tell(&self, pod: &Pod, events: Vec<Event>) {
        let mut state = self.state();
        state.events.extend(events.into_iter().map(|event| (pod.reference(), event)));
    }

    fn definition(&self, namespace: &str, name: &str) -> Result<Option<Definition>, ObjectError> {
        let key = format!("{namespace}/{name}");
        self.call("definition", |state| Ok(state.definitions.get(&key).cloned()))
    }

    fn definitions(&self) -> Result<Vec<Definition>, ObjectError> {
        self.call("definitions", |state| Ok(state.definitions.values().cloned().collect()))
    }

    fn pool(&self, name: &str) -> Result<Option<Pool>, ObjectError> {
        self.call("pool", |state| Ok(state.pools.get(name).cloned()))
    }

    fn pools(&self) -> Result<BTreeMap<String, Pool>, ObjectError> {
        self.call("pools", |state| Ok(state.pools.clone()))
    }

    fn create_pool(&self, name: &str, range: &str) -> Result<Pool, ObjectError> {
        self.call("create_pool", |state| {
            if state.pools.contains_key(name) {
                return Err(ObjectError::Conflict(format!("IPPool {name} already exists")));
            }
            let spec = PoolSpec { range: range.to_owned(), ..PoolSpec::default() };
            let pool = Pool { resource_version: state.next_version(), spec };
            state.pools.insert(name.to_owned(), pool.clone());
            Ok(pool)
        })
    }

    fn patch_pool(&self, name: &str, patch: &[Operation]) -> Result<String, ObjectError> {
        self.call("patch_pool", |state| {
            let Some(pool) = state.pools.get(name) else {
                return Err(ObjectError::Refused(format!("IPPool {name} not found")));
            };
            let mut object = serde_json::json!({
                "metadata": {"resourceVersion": pool.resource_version}, "spec": pool.spec,
            });
            apply(&mut object, patch)?;
            let spec = serde_json::from_value(object["spec"].take());
            let spec = spec.map_err(|error| ObjectError::Refused(error.to_string()))?;
            let version = state.next_version();
            let pool = Pool { resource_version: version.clone(), spec };
            state.pools.insert(name.to_owned(), pool);
            Ok(version)
        })
    }

    fn reservation(&self, name: &str) -> Result<Option<Reserved>, ObjectError> {
        self.call("reservation", |state| Ok(state.reservations.get(name).cloned()))
    }

    fn reservations(&self) -> Result<BTreeMap<String, Reserved>, ObjectError> {
        self.call("reservations", |state| Ok(state.reservations.clone()))
    }

    fn create_reservation(&self, name: &str, spec: &Reservation) -> Result<String, ObjectError> {
        self.call("create_reservation", |state| {
            if state.reservations.contains_key(name) {
                return Err(ObjectError::Conflict(format!("{name} already exists")));
            }
            let version = state.next_version();
            let reserved = Reserved { resource_version: version.clone(), spec: spec.clone() };
            state.reservations.insert(name.to_owned(), reserved);
            Ok(version)
        })
    }

    /// One after the other, the other way round each time: which comes first must not matter.
    fn patch_and_reserve(
        &self,
        pool: &str,
        patch: &[Operation],
        reservations: &[(String, Reservation)],
    ) -> PatchedAndReserved {
        let reserve = || -> Vec<_> {
            reservations.iter().map(|(name, spec)| self.create_reservation(name, spec)).collect()
        };
        let reserve_last = {
            let mut state = self.state();
            state.reserve_last = !state.reserve_last;
            !state.reserve_last
        };
        if reserve_last {
            let patched = self.patch_pool(pool, patch);
            (patched, reserve())
        } else {
            let reserved = reserve();
            (self.patch_pool(pool, patch), reserved)
        }
    }

    fn replace_reservation(&self, name: &str, with: &Reserved) -> Result<(), ObjectError> {
        self.call("replace_reservation", |state| {
            expect(state.reservations.get(name), &with.resource_version, name)?;
            let reserved =
                Reserved { resource_version: state.next_version(), spec: with.spec.clone() };
            state.reservations.insert(name.to_owned(), reserved);
            Ok(())
        })
    }

    fn delete_reservation(&self, name: &str, version: &str) -> Result<(), ObjectError> {
        self.call("delete_reservation", |state| {
            if state.reservations.contains_key(name) {
                expect(state.reservations.get(name), version, name)?;
                state.reservations.remove(name);
            }
            Ok(())
        })
    }

    fn ipset(&self, namespace: &str, name: &str) -> Result<Option<IPSet>, ObjectError> {
        let key = format!("{namespace}/{name}");
        self.call("ipset", |state| Ok(state.ipsets.get(&key).cloned()))
    }

    fn ipsets(&self, label: &str) -> Result<Vec<IPSet>, ObjectError> {
        self.call("ipsets", |state| {
            let has = |ipset: &&IPSet| ipset.labels().contains_key(label);
            Ok(state.ipsets.values().filter(has).cloned().collect())
        })
    }

    fn create_ipset(&self, ipset: &IPSet) -> Result<IPSet, ObjectError> {
        self.call("create_ipset", |state| {
            let key = key_of(ipset);
            if state.ipsets.contains_key(&key) {
                return Err(ObjectError::Conflict(format!("IPSet {key} already exists")));
            }
            let mut made = ipset.clone();
            made.metadata.uid = Some(format!("uid-{}", state.next_version()));
            made.metadata.resource_version = Some(state.next_version());
            made.status = state.answer.as_ref().and_then(|answer| answer(&made));
            state.ipsets.insert(key, made.clone());
            Ok(made)
        })
    }

    fn replace_ipset(&self, ipset: &IPSet) -> Result<IPSet, ObjectError> {
        self.call("replace_ipset", |state| {
            same_ipset(state, ipset)?;
            let mut made = ipset.clone();
            made.metadata.resource_version = Some(state.next_version());
            made.status = state.answer.as_ref().and_then(|answer| answer(&made));
            state.ipsets.insert(key_of(ipset), made.clone());
            Ok(made)
        })
    }

    fn delete_ipset(&self, ipset: &IPSet) -> Result<(), ObjectError> {
        self.call("delete_ipset", |state| {
            if state.ipsets.contains_key(&key_of(ipset)) {
                same_ipset(state, ipset)?;
                state.ipsets.remove(&key_of(ipset));
            }
            Ok(())
        })
    }

    fn subnet_prefixes(
        &self,
        _namespace: &str,
        _network: &str,
    ) -> Result<BTreeMap<String, IpNet>, ObjectError> {
        self.call("subnet_prefixes", |state| Ok(state.prefixes.clone()))
    }

    fn netconfigs(&self) -> Result<Vec<Value>, ObjectError> {
        self.call("netconfigs", |state| Ok(state.netconfigs.clone()))
    }

    fn policies(&self) -> Result<Vec<Value>, ObjectError> {
        self.call("policies", |state| Ok(state.policies.clone()))
    }

    fn block(&self, name: &str) -> Result<Option<Block>, ObjectError> {
        self.call("block", |state| Ok(state.blocks.get(name).cloned()))
    }

    fn blocks(&self) -> Result<Vec<Block>, ObjectError> {
        self.call("blocks", |state| Ok(state.blocks.values().cloned().collect()))
    }

    fn create_block(&self, block: &AddressBlock) -> Result<Option<Block>, ObjectError> {
        self.call("create_block", |state| {
            if state.has_no_ledger {
                return Ok(None);
            }
            let name = block.name_any();
            if state.blocks.contains_key(&name) {
                return Err(ObjectError::Conflict(format!("AddressBlock {name} already exists")));
            }
            let mut made = Block::from(block.clone());
            made.uid = format!("uid-{}", state.next_version());
            made.resource_version = state.next_version();
            state.blocks.insert(name, made.clone());
            Ok(Some(made))
        })
    }

    fn swap_block(
        &self,
        from: &Block,
        edits: &BTreeMap<IpAddr, Option<Claim>>,
    ) -> Result<Option<Block>, ObjectError> {
        self.call("swap_block", |state| {
            let found = state.blocks.get(&from.name);
            let same = |found: &&Block| {
                (&found.uid, &found.resource_version) == (&from.uid, &from.resource_version)
            };
            let Some(mut block) = found.filter(same).cloned() else {
                let text = format!("AddressBlock {} has another state", from.name);
                return Err(ObjectError::Conflict(text));
            };
            for (address, claim) in edits {
                match claim {
                    Some(claim) => block.claims.insert(*address, claim.clone()),
                    None => block.claims.remove(address),
                };
            }
            if block.claims.is_empty() {
                state.blocks.remove(&from.name);
                return Ok(None);
            }
            block.resource_version = state.next_version();
            state.blocks.insert(from.name.clone(), block.clone());
            Ok(Some(block))
        })
    }

    fn pod_sets(&self) -> Result<Vec<PodSet>, ObjectError> {
        self.call("pod_sets", |state| Ok(state.sets.clone()))
    }

    fn nodes(&self) -> Result<Vec<String>, ObjectError> {
        self.call("nodes", |state| Ok(state.nodes.clone()))
    }
}

fn key_of(ipset: &IPSet) -> String {
    format!("{}/{}", ipset.namespace().unwrap_or_default(), ipset.name_any())
}

fn same_ipset(state: &State, ipset: &IPSet) -> Result<(), ObjectError> {
    let found = state.ipsets.get(&key_of(ipset));
    if found.is_some_and(|found| found.resource_version() == ipset.resource_version()) {
        return Ok(());
    }
    Err(ObjectError::Conflict(format!("IPSet {} has another state", key_of(ipset))))
}

fn expect(found: Option<&Reserved>, version: &str, name: &str) -> Result<(), ObjectError> {
    if found.is_some_and(|found| found.resource_version == version) {
        return Ok(());
    }
    Err(ObjectError::Conflict(format!("{name} has another state")))
}

/// Applies a patch as a Kubernetes server does: a test for `null` passes where nothing is.
fn apply(object: &mut Value, patch: &[Operation]) -> Result<(), ObjectError> {
    let failed = |path: &str| ObjectError::Conflict(format!("testing {path} failed"));
    let refused = |path: &str| ObjectError::Refused(format!("no such path {path}"));
    for operation in patch {
        match operation {
            Operation::Test { path, value } => {
                if object.pointer(path).unwrap_or(&Value::Null) != value {
                    return Err(failed(path));
                }
            }
            Operation::Add { path, value } => {
                let (parent, key) = parent_of(object, path).ok_or_else(|| refused(path))?;
                parent.insert(key, value.clone());
            }
            Operation::Replace { path, value } => {
                *object.pointer_mut(path).ok_or_else(|| refused(path))? = value.clone();
            }
            Operation::Remove { path } => {
                let (parent, key) = parent_of(object, path).ok_or_else(|| refused(path))?;
                parent.remove(&key).ok_or_else(|| refused(path))?;
            }
        }
    }
    Ok(())
}

fn parent_of<'a>(
    object: &'a mut Value,
    path: &str,
) -> Option<(&'a mut serde_json::Map<String, Value>, String)> {
    let (parent, key) = path.rsplit_once('/')?;
    let key = key.replace("~1", "/").replace("~0", "~");
    Some((object.pointer_mut(parent)?.as_object_mut()?, key))
}
