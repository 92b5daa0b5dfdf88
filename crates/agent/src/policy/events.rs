//! Events, one object for each thing said: saying it again renews it.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, Error};
use serde_json::json;

use super::conditions::cut;

/// The note of an Event has at most 1024 bytes.
const NOTE_BYTES: usize = 1024;

/// What is said, and about what.
#[derive(Clone, Debug)]
pub struct Said {
    pub about: ObjectReference,
    pub warning: bool,
    pub reason: &'static str,
    pub note: String,
}

/// Who says it.
#[derive(Clone)]
pub struct Events {
    client: Client,
    component: &'static str,
    host: String,
}

impl Events {
    /// Events of a component on a host.
    pub fn new(client: Client, component: &'static str, host: &str) -> Self {
        Self { client, component, host: host.to_owned() }
    }

    /// Says it. An Event that cannot be written is logged and given up: the state is in the status.
    pub async fn say(&self, said: Said) {
        let event = self.event(&said, Timestamp::now());
        let namespace = event.metadata.namespace.clone().unwrap_or_default();
        let name = event.metadata.name.clone().unwrap_or_default();
        let events: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        let written = match events.create(&PostParams::default(), &event).await {
            Err(Error::Api(status)) if status.code == 409 => renew(&events, &name).await,
            other => other.map(drop),
        };
        if let Err(error) = written {
            tracing::warn!(reason = said.reason, note = said.note, %error, "cannot write an Event");
        }
    }

    fn event(&self, said: &Said, now: Timestamp) -> Event {
        let mut hash = DefaultHasher::new();
        (&said.about.uid, said.reason, &said.note, &self.host).hash(&mut hash);
        let about = said.about.name.as_deref().unwrap_or_default();
        let name = format!("{}.{:016x}", cut(about, 200).replace(' ', ""), hash.finish());
        Event {
            metadata: ObjectMeta {
                name: Some(name),
                // Events about objects outside of namespaces are kept here.
                namespace: Some(
                    said.about.namespace.clone().unwrap_or_else(|| "default".to_owned()),
                ),
                ..ObjectMeta::default()
            },
            involved_object: said.about.clone(),
            type_: Some(if said.warning { "Warning" } else { "Normal" }.to_owned()),
            reason: Some(said.reason.to_owned()),
            message: Some(cut(&said.note, NOTE_BYTES)),
            count: Some(1),
            first_timestamp: Some(Time(now)),
            last_timestamp: Some(Time(now)),
            source: Some(EventSource {
                component: Some(self.component.to_owned()),
                host: Some(self.host.clone()),
            }),
            ..Event::default()
        }
    }
}

/// A node may write Events but not read them, so nothing is counted.
async fn renew(events: &Api<Event>, name: &str) -> kube::Result<()> {
    let patch = json!({"lastTimestamp": Time(Timestamp::now())});
    events.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.map(drop)
}
