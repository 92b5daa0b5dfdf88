//! The cluster behind a Kubernetes API.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use futures::future::{join, join_all};
use ipnet::IpNet;
use k8s_openapi::api::apps::v1::{DaemonSet, StatefulSet};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, OwnerReference};
use k8s_openapi::jiff::Timestamp;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch,
    PatchParams, PostParams, Preconditions,
};
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource, ResourceExt};
use landbridge_api::ledger::{AddressBlock, Claim, swap_patch};
use landbridge_api::network::{self, IPSet, NetConfig, Subnet};
use landbridge_cni::status;
use landbridge_cni::whereabouts::{Operation, PoolSpec, Reservation};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::near::{MakeClient, Near};
use super::{
    Block, Definition, Event, ObjectError, Objects, Owner, PatchedAndReserved, Pod, PodSet, Pool,
    Reserved, SetKind,
};

/// How long one call may take.
const CALL: Duration = Duration::from_secs(5);
/// How often a write of the network-status is tried again after a conflict.
const STATUS_TRIES: usize = 5;
/// Who we are in managed fields and events.
const MANAGER: &str = "landbridge-attach";
const WHEREABOUTS: &str = "whereabouts.cni.cncf.io";

/// Speaks with an API. Must be called from threads that may block: from a worker of the runtime
/// itself the calls would wait for each other.
pub struct KubeObjects {
    client: Client,
    runtime: Handle,
    /// Where pools and reservations are.
    namespace: String,
    limit: Duration,
    told: Mutex<Vec<JoinHandle<()>>>,
    near: Option<Near>,
}

impl KubeObjects {
    /// `namespace` is where whereabouts keeps its records: that of the kubeconfig's context, or
    /// else `kube-system`.
    pub fn new(client: Client, runtime: Handle, namespace: impl Into<String>) -> Self {
        let told = Mutex::new(Vec::new());
        Self { client, runtime, namespace: namespace.into(), limit: CALL, told, near: None }
    }

    /// The same with another limit for each call.
    #[must_use]
    pub fn with_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// The writes that attaching waits for use clients that run on the thread that waits.
    #[must_use]
    pub fn with_near(mut self, make: MakeClient) -> Self {
        self.near = Some(Near::new(make));
        self
    }

    /// Waits until what was told is said, for a process that is about to end.
    pub fn finish(&self, limit: Duration) {
        let told = std::mem::take(&mut *lock(&self.told));
        let end = Instant::now() + limit;
        for task in told {
            let left = end.saturating_duration_since(Instant::now());
            // An event that is lost is no harm.
            let _ = self.runtime.block_on(async { tokio::time::timeout(left, task).await });
        }
    }

    fn call<T>(
        &self,
        what: &str,
        future: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, ObjectError> {
        self.runtime.block_on(self.within_limit(what, future))
    }

    /// A write that attaching waits for, on the shortest way.
    fn waited<T, F: Future<Output = T>>(&self, work: impl FnOnce(Client) -> F) -> T {
        let work = match &self.near {
            Some(near) => match near.run(work) {
                Ok(done) => return done,
                Err(work) => work,
            },
            None => work,
        };
        self.runtime.block_on(work(self.client.clone()))
    }

    async fn within_limit<T>(
        &self,
        what: &str,
        future: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, ObjectError> {
        match tokio::time::timeout(self.limit, future).await {
            Ok(outcome) => outcome.map_err(|error| told_by(what, error)),
            Err(_) => Err(ObjectError::Unreachable(format!(
                "{what}: no answer within {} s",
                self.limit.as_secs_f32()
            ))),
        }
    }

    async fn send_patch(
        &self,
        client: Client,
        name: &str,
        patch: &[Operation],
    ) -> Result<String, ObjectError> {
        let what = format!("changing IPPool {name}");
        let wrong = |error: serde_json::Error| ObjectError::Refused(format!("{what}: {error}"));
        let patch = serde_json::to_value(patch).and_then(serde_json::from_value).map_err(wrong)?;
        let params = PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() };
        let api = self.pool_api(client);
        let patch = Patch::<()>::Json(patch);
        let done = self.within_limit(&what, async {
            match api.patch_metadata(name, &params, &patch).await {
                // A test that fails is "the server rejected our request": 422.
                Err(kube::Error::Api(status)) if status.code == 422 => {
                    Ok(Err(ObjectError::Conflict(format!("{what}: {}", status.message))))
                }
                other => other.map(Ok),
            }
        });
        Ok(done.await??.metadata.resource_version.unwrap_or_default())
    }

    async fn send_reservation(
        &self,
        client: Client,
        name: &str,
        spec: &Reservation,
    ) -> Result<String, ObjectError> {
        let (api, kind) = self.reservation_api(client);
        let object = DynamicObject::new(name, &kind).data(json!({"spec": spec}));
        let params = PostParams::default();
        let made = api.create(&params, &object);
        let made = self.within_limit(&format!("making reservation {name}"), made).await?;
        Ok(made.resource_version().unwrap_or_default())
    }

    fn namespaced<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    fn dynamic(&self, group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
        let _ = self;
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
    }

    fn pool_api(&self, client: Client) -> Api<DynamicObject> {
        let kind = self.dynamic(WHEREABOUTS, "v1alpha1", "IPPool", "ippools");
        Api::namespaced_with(client, &self.namespace, &kind)
    }

    fn reservation_api(&self, client: Client) -> (Api<DynamicObject>, ApiResource) {
        let (kind, plural) = ("OverlappingRangeIPReservation", "overlappingrangeipreservations");
        let kind = self.dynamic(WHEREABOUTS, "v1alpha1", kind, plural);
        (Api::namespaced_with(client, &self.namespace, &kind), kind)
    }

    fn definition_kind(&self) -> ApiResource {
        let (kind, plural) = ("NetworkAttachmentDefinition", "network-attachment-definitions");
        self.dynamic("k8s.cni.cncf.io", "v1", kind, plural)
    }

    /// All objects of a kind as they are written; none where the kind is not known.
    fn values(&self, what: &str, kind: &ApiResource) -> Result<Vec<Value>, ObjectError> {
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), kind);
        let found = self.call(what, async {
            match api.list(&ListParams::default()).await {
                Ok(list) => Ok(list.items),
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
                Err(error) => Err(error),
            }
        })?;
        Ok(found.into_iter().map(|object| written(kind, object)).collect())
    }

    fn list<K>(&self, what: &str, api: &Api<K>, params: &ListParams) -> Result<Vec<K>, ObjectError>
    where
        K: Clone + DeserializeOwned + Debug,
    {
        self.call(what, async { Ok(api.list(params).await?.items) })
    }
}

impl Objects for KubeObjects {
    fn pod(&self, namespace: &str, name: &str) -> Result<Option<Pod>, ObjectError> {
        let pods: Api<core::Pod> = self.namespaced(namespace);
        let found = self.call(&format!("reading pod {namespace}/{name}"), pods.get_opt(name))?;
        Ok(found.map(|pod| pod_of(&pod)))
    }

    fn pods(&self, node: Option<&str>) -> Result<Vec<Pod>, ObjectError> {
        let pods: Api<core::Pod> = Api::all(self.client.clone());
        let mut params = ListParams::default();
        if let Some(node) = node {
            params = params.fields(&format!("spec.nodeName={node}"));
        }
        Ok(self.list("listing pods", &pods, &params)?.iter().map(pod_of).collect())
    }

    fn set_network_status(&self, pod: &Pod, text: &str) -> Result<(), ObjectError> {
        let pods: Api<core::Pod> = self.namespaced(&pod.namespace);
        let what = format!("writing the network-status of pod {}", pod.reference());
        // The identity keeps a pod of the same name that came later from getting this status.
        let patch = json!({"metadata": {
            "uid": pod.uid, "annotations": {status::ANNOTATION: text}
        }});
        let patch = Patch::Merge(&patch);
        let params = PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() };
        let mut tries = 0;
        loop {
            tries += 1;
            let done = self.call(&what, async {
                match pods.patch_status(&pod.name, &params, &patch).await {
                    Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
                    other => other.map(|_| ()),
                }
            });
            match done {
                Err(ObjectError::Conflict(_)) if tries < STATUS_TRIES => {
                    let now = self.pod(&pod.namespace, &pod.name)?;
                    if now.is_none_or(|now| now.uid != pod.uid) {
                        return Ok(());
                    }
                }
                other => return other,
            }
        }
    }

    fn tell(&self, pod: &Pod, events: Vec<Event>) {
        let api: Api<core::Event> = self.namespaced(&pod.namespace);
        let now = Timestamp::now();
        let mut place = u32::try_from(now.subsec_nanosecond()).unwrap_or_default();
        let events: Vec<core::Event> = events
            .into_iter()
            .map(|event| {
                place = place.wrapping_add(1);
                event_of(pod, event, now, place)
            })
            .collect();
        let limit = self.limit;
        let task = self.runtime.spawn(async move {
            for event in events {
                let params = PostParams::default();
                match tokio::time::timeout(limit, api.create(&params, &event)).await {
                    Ok(Ok(_)) => {}
                    Ok(Err(error)) => tracing::debug!(%error, "an event was not taken"),
                    Err(_) => return,
                }
            }
        });
        let mut told = lock(&self.told);
        told.retain(|task| !task.is_finished());
        told.push(task);
    }

    fn definition(&self, namespace: &str, name: &str) -> Result<Option<Definition>, ObjectError> {
        let kind = self.definition_kind();
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, &kind);
        let what = format!("reading NetworkAttachmentDefinition {namespace}/{name}");
        Ok(self.call(&what, api.get_opt(name))?.as_ref().map(definition_of))
    }

    fn definitions(&self) -> Result<Vec<Definition>, ObjectError> {
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &self.definition_kind());
        let what = "listing NetworkAttachmentDefinitions";
        Ok(self.list(what, &api, &ListParams::default())?.iter().map(definition_of).collect())
    }

    fn pool(&self, name: &str) -> Result<Option<Pool>, ObjectError> {
        let found = self.call(
            &format!("reading IPPool {name}"),
            self.pool_api(self.client.clone()).get_opt(name),
        )?;
        found.as_ref().map(pool_of).transpose()
    }

    fn pools(&self) -> Result<BTreeMap<String, Pool>, ObjectError> {
        let found = self.list(
            "listing IPPools",
            &self.pool_api(self.client.clone()),
            &ListParams::default(),
        )?;
        found.iter().map(|pool| Ok((pool.name_any(), pool_of(pool)?))).collect()
    }

    fn create_pool(&self, name: &str, range: &str) -> Result<Pool, ObjectError> {
        let kind = self.dynamic(WHEREABOUTS, "v1alpha1", "IPPool", "ippools");
        let pool = DynamicObject::new(name, &kind)
            .data(json!({"spec": {"range": range, "allocations": {}}}));
        let params = PostParams::default();
        let api = self.pool_api(self.client.clone());
        pool_of(&self.call(&format!("making IPPool {name}"), api.create(&params, &pool))?)
    }

    fn patch_pool(&self, name: &str, patch: &[Operation]) -> Result<String, ObjectError> {
        self.waited(|client| self.send_patch(client, name, patch))
    }

    fn reservation(&self, name: &str) -> Result<Option<Reserved>, ObjectError> {
        let (api, _) = self.reservation_api(self.client.clone());
        let found = self.call(&format!("reading reservation {name}"), api.get_opt(name))?;
        found.as_ref().map(reserved_of).transpose()
    }

    fn reservations(&self) -> Result<BTreeMap<String, Reserved>, ObjectError> {
        let (api, _) = self.reservation_api(self.client.clone());
        let found = self.list("listing reservations", &api, &ListParams::default())?;
        found.iter().map(|one| Ok((one.name_any(), reserved_of(one)?))).collect()
    }

    fn create_reservation(&self, name: &str, spec: &Reservation) -> Result<String, ObjectError> {
        self.waited(|client| self.send_reservation(client, name, spec))
    }

    fn patch_and_reserve(
        &self,
        pool: &str,
        patch: &[Operation],
        reservations: &[(String, Reservation)],
    ) -> PatchedAndReserved {
        self.waited(|client| {
            let patched = self.send_patch(client.clone(), pool, patch);
            let reserve = reservations
                .iter()
                .map(move |(name, spec)| self.send_reservation(client.clone(), name, spec));
            join(patched, join_all(reserve))
        })
    }

    fn replace_reservation(&self, name: &str, with: &Reserved) -> Result<(), ObjectError> {
        let (api, kind) = self.reservation_api(self.client.clone());
        let mut object = DynamicObject::new(name, &kind).data(json!({"spec": with.spec}));
        object.metadata.resource_version = Some(with.resource_version.clone());
        let params = PostParams::default();
        let done = api.replace(name, &params, &object);
        self.call(&format!("changing reservation {name}"), done).map(|_| ())
    }

    fn delete_reservation(&self, name: &str, version: &str) -> Result<(), ObjectError> {
        let preconditions = Preconditions { resource_version: Some(version.to_owned()), uid: None };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let what = format!("deleting reservation {name}");
        self.waited(|client| {
            let (api, _) = self.reservation_api(client);
            let deleted = async move { gone_is_fine(api.delete(name, &params).await.map(|_| ())) };
            self.within_limit(&what, deleted)
        })
    }

    fn ipset(&self, namespace: &str, name: &str) -> Result<Option<IPSet>, ObjectError> {
        let api: Api<IPSet> = self.namespaced(namespace);
        self.call(&format!("reading IPSet {namespace}/{name}"), api.get_opt(name))
    }

    fn ipsets(&self, label: &str) -> Result<Vec<IPSet>, ObjectError> {
        let api: Api<IPSet> = Api::all(self.client.clone());
        self.list("listing IPSets", &api, &ListParams::default().labels(label))
    }

    fn create_ipset(&self, ipset: &IPSet) -> Result<IPSet, ObjectError> {
        let api: Api<IPSet> = self.namespaced(&ipset.namespace().unwrap_or_default());
        let params = PostParams::default();
        self.call(&format!("making IPSet {}", ipset.name_any()), api.create(&params, ipset))
    }

    fn replace_ipset(&self, ipset: &IPSet) -> Result<IPSet, ObjectError> {
        let api: Api<IPSet> = self.namespaced(&ipset.namespace().unwrap_or_default());
        let (name, params) = (ipset.name_any(), PostParams::default());
        self.call(&format!("changing IPSet {name}"), api.replace(&name, &params, ipset))
    }

    fn delete_ipset(&self, ipset: &IPSet) -> Result<(), ObjectError> {
        let api: Api<IPSet> = self.namespaced(&ipset.namespace().unwrap_or_default());
        let name = ipset.name_any();
        let preconditions =
            Preconditions { resource_version: ipset.resource_version(), uid: ipset.uid() };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        self.call(&format!("deleting IPSet {name}"), async {
            gone_is_fine(api.delete(&name, &params).await.map(|_| ()))
        })
    }

    fn subnet_prefixes(
        &self,
        namespace: &str,
        network: &str,
    ) -> Result<BTreeMap<String, IpNet>, ObjectError> {
        let api: Api<NetConfig> = self.namespaced(namespace);
        let found = self.list("reading the NetConfig", &api, &ListParams::default())?;
        let networks = found.iter().filter_map(|netconfig| netconfig.spec.network(network));
        let subnets = networks.flat_map(|network| &network.subnets);
        let prefix =
            |subnet: &Subnet| Some((subnet.name.to_ascii_lowercase(), subnet.cidr.parse().ok()?));
        Ok(subnets.filter_map(prefix).collect())
    }

    fn netconfigs(&self) -> Result<Vec<Value>, ObjectError> {
        let kind = self.dynamic(network::GROUP, network::VERSION, "NetConfig", "netconfigs");
        self.values("listing NetConfigs", &kind)
    }

    fn policies(&self) -> Result<Vec<Value>, ObjectError> {
        let (kind, plural) = ("NodeNetworkConfigurationPolicy", "nodenetworkconfigurationpolicies");
        let kind = self.dynamic("nmstate.io", "v1", kind, plural);
        self.values("listing NodeNetworkConfigurationPolicies", &kind)
    }

    fn block(&self, name: &str) -> Result<Option<Block>, ObjectError> {
        let api: Api<AddressBlock> = Api::all(self.client.clone());
        let found = self.call(&format!("reading AddressBlock {name}"), api.get_opt(name))?;
        Ok(found.map(Block::from))
    }

    fn blocks(&self) -> Result<Vec<Block>, ObjectError> {
        let api: Api<AddressBlock> = Api::all(self.client.clone());
        self.call("listing AddressBlocks", async {
            match api.list(&ListParams::default()).await {
                Ok(list) => Ok(list.items.into_iter().map(Block::from).collect()),
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
                Err(error) => Err(error),
            }
        })
    }

    fn create_block(&self, block: &AddressBlock) -> Result<Option<Block>, ObjectError> {
        let api: Api<AddressBlock> = Api::all(self.client.clone());
        let params = PostParams { field_manager: Some(MANAGER.into()), ..PostParams::default() };
        self.call(&format!("making AddressBlock {}", block.name_any()), async {
            match api.create(&params, block).await {
                Ok(made) => Ok(Some(Block::from(made))),
                // The kind itself is missing: nobody here keeps a ledger.
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
                Err(error) => Err(error),
            }
        })
    }

    fn swap_block(
        &self,
        from: &Block,
        edits: &BTreeMap<IpAddr, Option<Claim>>,
    ) -> Result<Option<Block>, ObjectError> {
        let api: Api<AddressBlock> = Api::all(self.client.clone());
        let what = format!("changing AddressBlock {}", from.name);
        self.call(&what, async {
            let outcome = if from.empties(edits) {
                let preconditions = Preconditions {
                    uid: Some(from.uid.clone()),
                    resource_version: Some(from.resource_version.clone()),
                };
                let params =
                    DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
                api.delete(&from.name, &params).await.map(|_| None)
            } else {
                let patch = Patch::Merge(swap_patch(&from.uid, &from.resource_version, edits));
                let params =
                    PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() };
                api.patch(&from.name, &params, &patch).await.map(|block| Some(Block::from(block)))
            };
            match outcome {
                // Gone meanwhile.
                Err(kube::Error::Api(status)) if status.code == 404 => {
                    Ok(Err(ObjectError::Conflict(format!("{what}: {}", status.message))))
                }
                other => other.map(Ok),
            }
        })?
    }

    fn pod_sets(&self) -> Result<Vec<PodSet>, ObjectError> {
        let stateful: Api<StatefulSet> = Api::all(self.client.clone());
        let daemon: Api<DaemonSet> = Api::all(self.client.clone());
        let params = ListParams::default();
        let mut sets = Vec::new();
        for set in self.list("listing StatefulSets", &stateful, &params)? {
            let spec = set.spec.as_ref();
            let number = |found: Option<i32>, otherwise| {
                found.map_or(otherwise, |n| u64::try_from(n).unwrap_or_default())
            };
            let first = number(spec.and_then(|s| s.ordinals.as_ref()?.start), 0);
            let count = number(spec.and_then(|s| s.replicas), 1);
            let annotations = spec.and_then(|s| s.template.metadata.as_ref()?.annotations.as_ref());
            let sticky = annotations.and_then(|all| all.get(crate::sticky::ANNOTATION));
            let mut found = set_of(SetKind::Stateful, &set.metadata, (first, count));
            found.is_sticky = sticky.is_some_and(|value| value == "true");
            sets.push(found);
        }
        for set in self.list("listing DaemonSets", &daemon, &params)? {
            sets.push(set_of(SetKind::Daemon, &set.metadata, (0, 0)));
        }
        Ok(sets)
    }

    fn nodes(&self) -> Result<Vec<String>, ObjectError> {
        let api: Api<core::Node> = Api::all(self.client.clone());
        let found = self.list("listing nodes", &api, &ListParams::default())?;
        Ok(found.iter().map(ResourceExt::name_any).collect())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn gone_is_fine(done: Result<(), kube::Error>) -> Result<(), kube::Error> {
    match done {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => other,
    }
}

/// What a failure means for who called.
fn told_by(what: &str, error: kube::Error) -> ObjectError {
    match error {
        kube::Error::Api(status) => {
            let text = format!("{what}: {}", status.message);
            match status.code {
                409 => ObjectError::Conflict(text),
                429 | 500..=599 => ObjectError::Unreachable(text),
                _ => ObjectError::Refused(text),
            }
        }
        other => ObjectError::Unreachable(format!("{what}: {other}")),
    }
}

fn pod_of(pod: &core::Pod) -> Pod {
    let meta = &pod.metadata;
    let (spec, status) = (pod.spec.as_ref(), pod.status.as_ref());
    let is_lost = |condition: &core::PodCondition| {
        condition.type_ == "DisruptionTarget"
            && condition.status == "True"
            && condition.reason.as_deref() == Some("DeletionByTaintManager")
    };
    Pod {
        namespace: meta.namespace.clone().unwrap_or_default(),
        name: meta.name.clone().unwrap_or_default(),
        uid: meta.uid.clone().unwrap_or_default(),
        annotations: meta.annotations.clone().unwrap_or_default(),
        node: spec.and_then(|s| s.node_name.clone()).unwrap_or_default(),
        controller: controller_of(meta.owner_references.as_deref().unwrap_or_default()),
        host_network: spec.and_then(|s| s.host_network).unwrap_or_default(),
        is_finished: matches!(
            status.and_then(|s| s.phase.as_deref()),
            Some("Succeeded" | "Failed")
        ),
        is_terminating: meta.deletion_timestamp.is_some(),
        is_lost: status
            .and_then(|s| s.conditions.as_deref())
            .is_some_and(|conditions| conditions.iter().any(is_lost)),
    }
}

fn controller_of(owners: &[OwnerReference]) -> Option<Owner> {
    let owner = owners.iter().find(|owner| owner.controller == Some(true))?;
    Some(Owner {
        api_version: owner.api_version.clone(),
        kind: owner.kind.clone(),
        name: owner.name.clone(),
        uid: owner.uid.clone(),
    })
}

fn set_of(kind: SetKind, meta: &ObjectMeta, ordinals: (u64, u64)) -> PodSet {
    PodSet {
        kind,
        namespace: meta.namespace.clone().unwrap_or_default(),
        name: meta.name.clone().unwrap_or_default(),
        uid: meta.uid.clone().unwrap_or_default(),
        ordinals,
        is_sticky: false,
    }
}

/// An object of a list, which does not say what it is.
fn written(kind: &ApiResource, object: DynamicObject) -> Value {
    let mut value = object.data;
    if let Value::Object(fields) = &mut value {
        fields.insert("apiVersion".to_owned(), json!(kind.api_version));
        fields.insert("kind".to_owned(), json!(kind.kind));
        fields.insert("metadata".to_owned(), json!(object.metadata));
    }
    value
}

fn definition_of(object: &DynamicObject) -> Definition {
    let config = object.data.pointer("/spec/config").and_then(Value::as_str);
    Definition {
        namespace: object.namespace().unwrap_or_default(),
        name: object.name_any(),
        annotations: object.annotations().clone(),
        config: config.unwrap_or_default().to_owned(),
    }
}

fn spec_of<T: for<'de> Deserialize<'de>>(object: &DynamicObject) -> Result<T, ObjectError> {
    let spec = object.data.get("spec").cloned().unwrap_or(Value::Null);
    serde_json::from_value(spec).map_err(|error| {
        ObjectError::Refused(format!("{} cannot be read: {error}", object.name_any()))
    })
}

fn pool_of(object: &DynamicObject) -> Result<Pool, ObjectError> {
    let spec: PoolSpec = spec_of(object)?;
    Ok(Pool { resource_version: object.resource_version().unwrap_or_default(), spec })
}

fn reserved_of(object: &DynamicObject) -> Result<Reserved, ObjectError> {
    let spec: Reservation = spec_of(object)?;
    Ok(Reserved { resource_version: object.resource_version().unwrap_or_default(), spec })
}

/// An event in the form client libraries write it: a name that does not repeat, both kinds of time.
fn event_of(pod: &Pod, event: Event, now: Timestamp, place: u32) -> core::Event {
    let time = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now);
    core::Event {
        metadata: ObjectMeta {
            name: Some(format!("{}.{:x}{place:08x}", pod.name, now.as_second())),
            namespace: Some(pod.namespace.clone()),
            ..ObjectMeta::default()
        },
        involved_object: core::ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            namespace: Some(pod.namespace.clone()),
            name: Some(pod.name.clone()),
            uid: Some(pod.uid.clone()),
            ..core::ObjectReference::default()
        },
        type_: Some(if event.is_warning { "Warning" } else { "Normal" }.to_owned()),
        reason: Some(event.reason.to_owned()),
        message: Some(event.message),
        count: Some(1),
        first_timestamp: Some(time.clone()),
        last_timestamp: Some(time),
        event_time: None::<MicroTime>,
        source: Some(core::EventSource {
            component: Some("multus".to_owned()),
            host: Some(pod.node.clone()).filter(|node| !node.is_empty()),
        }),
        ..core::Event::default()
    }
}
