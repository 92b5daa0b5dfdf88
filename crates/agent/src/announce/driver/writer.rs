//! Writes what is told about announcing. Nothing is written when nothing has changed; what fails is
//! tried again, more slowly each time.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use landbridge_api::foreign::metallb::objects::{ConfigurationState, ServiceL2Status};
use landbridge_controllers::memberkey::NAMESPACE;
use serde_json::json;
use tokio::time::Instant;

use super::super::plan::{Name, Plan};
use super::super::publish::{self, Saying, SeenStatus, Write};
use super::super::wire::Report;
use crate::policy::events::{Events, Said};

/// Under this name writes appear in managedFields, and the events.
const MANAGER: &str = "landbridge-announce";
/// As many requests at once.
const AT_ONCE: usize = 8;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A request that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(15);

/// What is wrong with the configuration; nothing where all is fine.
#[derive(Clone, PartialEq, Eq)]
struct Trouble(Option<String>);

/// What was told so far.
pub struct Writer {
    client: Client,
    node: String,
    /// Services for which an event was said, and whether all was well.
    told: BTreeMap<Name, bool>,
    /// The trouble that was told.
    configured: Option<Trouble>,
    /// ServiceL2Status objects that were asked to be created, and when: the watch tells later.
    created: BTreeMap<Name, Instant>,
    pause: Duration,
    not_before: Option<Instant>,
}

/// How a job ended.
pub struct Ended {
    failed: bool,
    configured: Option<Trouble>,
}

impl Writer {
    pub fn new(client: &Client, node: &str) -> Self {
        Self {
            client: client.clone(),
            node: node.to_owned(),
            told: BTreeMap::new(),
            configured: None,
            created: BTreeMap::new(),
            pause: FIRST_PAUSE,
            not_before: None,
        }
    }

    /// Waits until a job that failed may be tried again.
    pub fn wait(&self) -> impl Future<Output = ()> + use<> {
        let until = self.not_before;
        async move {
            match until {
                Some(until) => tokio::time::sleep_until(until).await,
                None => std::future::pending().await,
            }
        }
    }

    /// A job has ended.
    pub fn ended(&mut self, ended: Ended) {
        if ended.configured.is_some() {
            self.configured = ended.configured;
        }
        if ended.failed {
            self.created.clear();
            self.not_before = Some(Instant::now() + self.pause);
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        } else {
            self.pause = FIRST_PAUSE;
        }
    }

    /// What is to be written now; nothing where everything is told.
    pub fn job(
        &mut self,
        plan: &Plan,
        report: &Report,
        statuses: &BTreeMap<String, SeenStatus>,
        node_uid: String,
        trouble: Option<String>,
        uid: impl Fn(&Name) -> String,
    ) -> Option<Job> {
        let now = Instant::now();
        if self.not_before.is_some_and(|at| at > now) {
            return None;
        }
        self.not_before = None;
        let announced = publish::announced(plan, &report.held);
        let own = |status: &&SeenStatus| status.node == self.node;
        for status in statuses.values().filter(own) {
            self.created.remove(&status.service);
        }
        self.created.retain(|_, at| now.duration_since(*at) < PATIENCE);
        let mut writes = publish::writes(&self.node, &announced, statuses);
        writes.retain(|write| match write {
            Write::Create(service, _) => !self.created.contains_key(service),
            _ => true,
        });
        for write in &writes {
            if let Write::Create(service, _) = write {
                self.created.insert(service.clone(), now);
            }
        }
        let sayings = publish::sayings(&self.node, plan, &report.held, &mut self.told);
        let sayings: Vec<(Saying, String)> = sayings
            .into_iter()
            .map(|said| (uid(&said.service), said))
            .map(|(u, s)| (s, u))
            .collect();
        // Before the node is known its ConfigurationState would have no owner.
        let trouble = Trouble(trouble);
        let known = !node_uid.is_empty();
        let configure = (known && self.configured.as_ref() != Some(&trouble)).then_some(trouble);
        if writes.is_empty() && sayings.is_empty() && configure.is_none() {
            return None;
        }
        let client = self.client.clone();
        Some(Job { client, node: self.node.clone(), node_uid, writes, sayings, configure })
    }
}

/// Something to be written.
pub struct Job {
    client: Client,
    node: String,
    node_uid: String,
    writes: Vec<Write>,
    sayings: Vec<(Saying, String)>,
    configure: Option<Trouble>,
}

impl Job {
    pub async fn run(mut self) -> Ended {
        let mut failed = false;
        let mut configured = None;
        if let Some(trouble) = &self.configure {
            match timed(self.configure(trouble.0.as_deref())).await {
                Ok(()) => configured = Some(trouble.clone()),
                Err(why) => {
                    failed = true;
                    tracing::warn!(why, "cannot write the ConfigurationState of this node");
                }
            }
        }
        let writes = std::mem::take(&mut self.writes);
        let sayings = std::mem::take(&mut self.sayings);
        let job = &self;
        let mut outcomes = futures::stream::iter(writes)
            .map(|write| async move { timed(job.write(&write)).await })
            .buffer_unordered(AT_ONCE);
        let mut reason = None;
        while let Some(outcome) = outcomes.next().await {
            reason = outcome.err().or(reason);
        }
        if let Some(why) = reason {
            failed = true;
            tracing::warn!(why, "cannot write a ServiceL2Status; will be tried again");
        }
        let events = Events::new(self.client.clone(), MANAGER, &self.node);
        let events = &events;
        futures::stream::iter(sayings)
            .for_each_concurrent(AT_ONCE, |(saying, uid)| async move {
                let Saying { service: (namespace, name), warning, reason, note } = saying;
                let about = ObjectReference {
                    api_version: Some("v1".to_owned()),
                    kind: Some("Service".to_owned()),
                    namespace: Some(namespace),
                    name: Some(name),
                    uid: Some(uid),
                    ..ObjectReference::default()
                };
                events.say(Said { about, warning, reason, note }).await;
            })
            .await;
        Ended { failed, configured }
    }

    async fn configure(&self, trouble: Option<&str>) -> kube::Result<()> {
        let kind = ApiResource::erase::<ConfigurationState>(&());
        let states: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), NAMESPACE, &kind);
        let name = format!("speaker-{}", self.node);
        let params = PatchParams::apply(MANAGER).force();
        let head = json!({
            "apiVersion": "metallb.io/v1beta1",
            "kind": "ConfigurationState",
            "metadata": {
                "name": name,
                "labels": {
                    "metallb.io/component-type": "speaker",
                    "metallb.io/node-name": self.node,
                },
                "ownerReferences": [{
                    "apiVersion": "v1", "kind": "Node", "name": self.node, "uid": self.node_uid,
                }],
            },
        });
        states.patch(&name, &params, &Patch::Apply(&head)).await?;
        let mut body = json!({"apiVersion": head["apiVersion"], "kind": head["kind"]});
        body["metadata"] = json!({"name": name});
        body["status"] = publish::configuration(trouble, &Timestamp::now().to_string());
        states.patch_status(&name, &params, &Patch::Apply(&body)).await.map(drop)
    }

    async fn write(&self, write: &Write) -> kube::Result<()> {
        let kind = ApiResource::erase::<ServiceL2Status>(&());
        let objects: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), NAMESPACE, &kind);
        let params =
            PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        match write {
            Write::Create(service, interfaces) => {
                let body = publish::object(&self.node, &self.node_uid, service);
                let body: DynamicObject =
                    serde_json::from_value(body).map_err(kube::Error::SerdeError)?;
                let post = PostParams { field_manager: Some(MANAGER.to_owned()), dry_run: false };
                let made = objects.create(&post, &body).await?;
                let name = made.metadata.name.unwrap_or_default();
                let status = publish::status(&self.node, service, interfaces);
                objects.patch_status(&name, &params, &Patch::Merge(status)).await.map(drop)
            }
            Write::Update(name, service, interfaces) => {
                let status = publish::status(&self.node, service, interfaces);
                gone_is_fine(
                    objects.patch_status(name, &params, &Patch::Merge(status)).await.map(drop),
                )
            }
            Write::Delete(name) => {
                gone_is_fine(objects.delete(name, &DeleteParams::default()).await.map(drop))
            }
        }
    }
}

fn gone_is_fine(outcome: kube::Result<()>) -> kube::Result<()> {
    match outcome {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => other,
    }
}

async fn timed(request: impl Future<Output = kube::Result<()>>) -> Result<(), String> {
    match tokio::time::timeout(PATIENCE, request).await {
        Ok(outcome) => outcome.map_err(|error| error.to_string()),
        Err(_) => Err(format!("the API gave no answer within {PATIENCE:?}")),
    }
}
