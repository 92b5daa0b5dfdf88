//! Events of this node's pods, written one after another.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use tokio::sync::mpsc;

use super::desired::PodIdentity;
use super::machine::Notice;

/// So many may wait; more are dropped, as they are only for people.
const WAITING: usize = 1024;
/// The note of an Event has at most 1024 bytes.
const NOTE: usize = 1024;

/// Writes Events. Clones write to the same queue.
#[derive(Clone, Debug)]
pub struct Notices {
    queue: mpsc::Sender<(PodIdentity, Notice)>,
}

impl Notices {
    /// Starts the task that writes; it ends with the last clone.
    pub fn new(client: Client, node: &str) -> Self {
        let (queue, mut waiting) = mpsc::channel::<(PodIdentity, Notice)>(WAITING);
        let reporter =
            Reporter { controller: "landbridge-agent".to_owned(), instance: Some(node.to_owned()) };
        let recorder = Recorder::new(client, reporter);
        tokio::spawn(async move {
            while let Some((pod, notice)) = waiting.recv().await {
                if let Err(error) = recorder.publish(&event(notice), &reference(&pod)).await {
                    tracing::debug!(%pod, %error, "cannot write an Event");
                }
            }
        });
        Self { queue }
    }

    /// Has an Event written about a pod.
    pub fn publish(&self, pod: &PodIdentity, notice: Notice) {
        if self.queue.try_send((pod.clone(), notice)).is_err() {
            tracing::debug!(%pod, "too many Events wait; one is dropped");
        }
    }
}

fn event(notice: Notice) -> Event {
    let Notice { warning, reason, note } = notice;
    Event {
        type_: if warning { EventType::Warning } else { EventType::Normal },
        reason: reason.to_owned(),
        note: Some(cut(note)),
        action: "Pod".to_owned(),
        secondary: None,
    }
}

fn reference(pod: &PodIdentity) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Pod".to_owned()),
        namespace: Some(pod.namespace.clone()),
        name: Some(pod.name.clone()),
        uid: Some(pod.uid.clone()),
        ..ObjectReference::default()
    }
}

fn cut(mut note: String) -> String {
    if note.len() > NOTE {
        let end = (0..=NOTE - 4).rev().find(|end| note.is_char_boundary(*end)).unwrap_or(0);
        note.truncate(end);
        note.push_str(" ...");
    }
    note
}
