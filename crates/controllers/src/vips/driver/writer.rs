//! Carries out what was decided.

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ObjectReference, Service as KubeService};
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use landbridge_api::foreign::metallb::GROUP;
use landbridge_api::foreign::metallb::objects::{ConfigurationState, IPAddressPool, VERSION};
use landbridge_api::ledger::{block_name, block_of};
use landbridge_vips::NAMESPACE;
use landbridge_vips::asked::FROM_POOL;
use landbridge_vips::figures::PoolStatus;
use serde_json::{Value, json};

use crate::io::{self, Manager, is_lost};
use crate::ipam::blocks::Blocks;
use crate::ipam::ledger::{Swap, Swapped};
use crate::mirror::Key;
use crate::vips::Settings;
use crate::vips::engine::{Action, Ended, Notice, Step, What};
use crate::vips::seen::Service;

/// Under this name the writes appear in managedFields, and the Events.
const MANAGER: Manager = Manager("landbridge-vips");
/// Under this name MetalLB writes what it thinks of its configuration.
const POOL_RECONCILER: &str = "poolReconciler";
/// Changed on a Service to make sure that nobody writes a status for what it was.
const FENCE: &str = "landbridge.dev/vips-fence";

pub(super) enum Done {
    Swap(Swap, Swapped),
    Step(Step, Box<Ended>),
    Pool(Key, bool),
    Configuration(bool),
    Nothing,
}

pub(super) struct Writer {
    client: Client,
    settings: Settings,
    blocks: Blocks,
    recorder: Recorder,
}

impl Writer {
    pub fn new(client: Client, settings: Settings) -> Self {
        let reporter = Reporter { controller: MANAGER.0.to_owned(), instance: None };
        Self {
            blocks: Blocks::new(client.clone(), MANAGER),
            recorder: Recorder::new(client.clone(), reporter),
            settings,
            client,
        }
    }

    pub async fn carry_out(&self, action: Action) -> Done {
        match action {
            Action::Swap(swap) => {
                let how = self.blocks.swap(&swap).await;
                Done::Swap(swap, how)
            }
            Action::Step(step) => {
                let how = self.step(&step).await.unwrap_or_else(|e| Ended::Failed(e.to_string()));
                Done::Step(step, Box::new(how))
            }
            Action::Tell(notice) => {
                self.notify(notice).await;
                Done::Nothing
            }
            Action::Pool(key, status) => {
                let done = self.pool_status(&key, status).await;
                if let Err(error) = &done {
                    tracing::debug!(pool = %key, %error, "status will be written again");
                }
                Done::Pool(key, done.is_ok())
            }
            Action::Configuration(wrong) => {
                let done = self.configuration(wrong.as_deref()).await;
                if let Err(error) = &done {
                    tracing::debug!(%error, "ConfigurationState will be written again");
                }
                Done::Configuration(done.is_ok())
            }
        }
    }

    async fn step(&self, step: &Step) -> kube::Result<Ended> {
        let key = &step.key;
        let services: Api<KubeService> = Api::namespaced(self.client.clone(), &key.namespace);
        let read = |object: &KubeService| Service::read(object, &self.settings);
        let result = match &step.what {
            What::Status { revision, addresses, pool, .. } => {
                let ingress: Vec<Value> =
                    addresses.iter().map(|address| json!({"ip": address})).collect();
                let ingress = if ingress.is_empty() { Value::Null } else { json!(ingress) };
                let patch = json!({
                    "metadata": {
                        "uid": &*step.uid,
                        "resourceVersion": revision.to_string(),
                        "annotations": {FROM_POOL: pool},
                    },
                    "status": {"loadBalancer": {"ingress": ingress}},
                });
                services.patch_status(&key.name, &MANAGER.patch(), &Patch::Merge(patch)).await
            }
            What::Fence { revision } => {
                let revision = revision.to_string();
                let patch = json!({"metadata": {
                    "uid": &*step.uid,
                    "resourceVersion": revision,
                    "annotations": {FENCE: revision},
                }});
                services.patch(&key.name, &MANAGER.patch(), &Patch::Merge(patch)).await
            }
            What::Refresh { places, .. } => {
                let names = places.iter().map(|p| block_name(&p.segment, block_of(p.address)));
                let mut blocks = Vec::new();
                for name in names.collect::<BTreeSet<String>>() {
                    blocks.extend(self.blocks.get(&name).await?.map(Into::into));
                }
                return Ok(Ended::Refreshed(blocks));
            }
            What::Confirm(_) => {
                let found = services.get_opt(&key.name).await?;
                return Ok(Ended::Confirmed(found.as_ref().map(read)));
            }
        };
        match result {
            Ok(service) => Ok(Ended::Done(read(&service))),
            Err(error) if is_lost(&error) => {
                Ok(Ended::Lost(services.get_opt(&key.name).await?.as_ref().map(read)))
            }
            Err(error) => Err(error),
        }
    }

    async fn notify(&self, notice: Notice) {
        let Notice { key, uid, warning, reason, note } = notice;
        let about = ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Service".to_owned()),
            namespace: Some(key.namespace.to_string()),
            name: Some(key.name.to_string()),
            uid: Some(uid.to_string()),
            ..ObjectReference::default()
        };
        let event = Event {
            type_: if warning { EventType::Warning } else { EventType::Normal },
            reason: reason.to_owned(),
            note: Some(io::note(note)),
            action: "Allocate".to_owned(),
            secondary: None,
        };
        if let Err(error) = self.recorder.publish(&event, &about).await {
            tracing::warn!(service = %key, %error, "cannot write an Event");
        }
    }

    async fn pool_status(&self, key: &Key, status: PoolStatus) -> kube::Result<()> {
        let pools: Api<IPAddressPool> = Api::namespaced(self.client.clone(), &key.namespace);
        let patch = json!({"status": {
            "assignedIPv4": status.assigned_v4, "assignedIPv6": status.assigned_v6,
            "availableIPv4": status.available_v4, "availableIPv6": status.available_v6,
        }});
        match pools.patch_status(&key.name, &MANAGER.patch(), &Patch::Merge(patch)).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Says what is wrong with the pools, if anything, unless it has been said.
    async fn configuration(&self, wrong: Option<&str>) -> kube::Result<()> {
        let states: Api<ConfigurationState> = Api::namespaced(self.client.clone(), NAMESPACE);
        let name = "controller";
        let before = states.get_opt(name).await?;
        let message = wrong.map(|why| format!("configuration error: {why}")).unwrap_or_default();
        let result = if wrong.is_none() { "Valid" } else { "Invalid" };
        if let Some(before) = &before
            && before.status["result"] == result
            && before.status["errorSummary"].as_str().unwrap_or_default() == message
        {
            return Ok(());
        }
        let condition = json!({
            "type": "poolReconcilerValid",
            "status": if wrong.is_none() { "True" } else { "False" },
            "reason": if wrong.is_none() { "Reconciled" } else { "ConfigurationError" },
            "message": message,
            "lastTransitionTime": seconds(Timestamp::now()),
        });
        let apply = PatchParams::apply(POOL_RECONCILER).force();
        let labels = json!({"metallb.io/component-type": "controller"});
        let mut object = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"),
            "kind": "ConfigurationState",
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        });
        match states.patch(name, &apply, &Patch::Apply(&object)).await {
            // Neither the kind nor the namespace has to be there.
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
            other => other?,
        };
        object["status"] =
            json!({"result": result, "errorSummary": message, "conditions": [condition]});
        states.patch_status(name, &apply, &Patch::Apply(&object)).await.map(|_| ())
    }
}

/// Without fractions, as Kubernetes writes times.
fn seconds(now: Timestamp) -> String {
    Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}
