//! What the template of a StatefulSet or DaemonSet was: one ControllerRevision for each, in the form
//! that `kubectl rollout undo` applies.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use landbridge_controllers::mirror::Key;
use serde_json::{Value, json};

use crate::action::{Decision, Kind, Verb};
use crate::pods::Owner;
use crate::template;
use crate::world::{World, key_of, uid};

/// Which template a pod was made from.
pub const REVISION: &str = "controller-revision-hash";

/// The name of the revision of a template, and whether it is recorded.
pub struct Recorded {
    /// Its name: that of the owner, and a hash.
    pub name: String,
    /// Whether it is in the API. Until then, no pod is made from it.
    pub kept: bool,
}

impl Recorded {
    /// The hash at the end of the name.
    pub fn hash(&self) -> &str {
        self.name.rsplit('-').next().unwrap_or_default()
    }
}

/// A template as a patch that replaces the template of its owner.
fn data(template: &PodTemplateSpec) -> Value {
    let mut template = json!(template);
    if let Some(fields) = template.as_object_mut() {
        fields.insert("$patch".to_owned(), "replace".into());
    }
    json!({"spec": {"template": template}})
}

fn content(revision: &ControllerRevision) -> Option<&Value> {
    revision.data.as_ref().map(|data| &data.0)
}

/// The template of a revision, by name.
pub fn template_of(world: &World, owner: &Owner<'_>, name: &str) -> Option<PodTemplateSpec> {
    let namespace = owner.meta.namespace.as_deref().unwrap_or_default();
    let revision = world.revision(&Key::new(namespace, name))?;
    let mut template = content(revision)?["spec"]["template"].clone();
    template.as_object_mut()?.remove("$patch");
    serde_json::from_value(template).ok()
}

/// Records the template of now, as the newest.
pub fn record(
    world: &World,
    owner: &Owner<'_>,
    template: &PodTemplateSpec,
    collisions: Option<i32>,
    decision: &mut Decision,
) -> Recorded {
    let all: Vec<&Arc<ControllerRevision>> = world.revisions_of(uid(owner.meta)).collect();
    let newest = all.iter().map(|revision| revision.revision).max().unwrap_or(0);
    let data = data(template);
    if let Some(found) = all.iter().find(|revision| content(revision) == Some(&data)) {
        let name = found.metadata.name.clone().unwrap_or_default();
        if found.revision < newest {
            // Somebody went back to it.
            let patch = json!({
                "metadata": {"uid": uid(&found.metadata),
                    "resourceVersion": found.metadata.resource_version},
                "revision": newest + 1,
            });
            let key = key_of(&found.metadata);
            decision.push(Kind::ControllerRevision, &key, Verb::Patch(patch));
        }
        return Recorded { name, kept: true };
    }
    let hash = template::hash(template, collisions);
    let name = format!("{}-{hash}", owner.meta.name.as_deref().unwrap_or_default());
    let key = Key::new(owner.meta.namespace.as_deref().unwrap_or_default(), &name);
    if world.revision(&key).is_some() {
        // Another template with the same hash, or somebody else's: the next hash.
        let patch = json!({
            "metadata": {"uid": uid(owner.meta), "resourceVersion": owner.meta.resource_version},
            "status": {"collisionCount": collisions.unwrap_or(0) + 1},
        });
        decision.push(owner.kind, &key_of(owner.meta), Verb::PatchStatus(patch));
        return Recorded { name, kept: false };
    }
    let mut labels = template.metadata.as_ref().and_then(|meta| meta.labels.clone());
    template::label(&mut labels, REVISION, &hash);
    let revision = json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision",
        "metadata": {
            "name": name, "namespace": owner.meta.namespace, "labels": labels,
            "annotations": owner.meta.annotations.clone().map(|mut annotations| {
                annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
                annotations
            }),
            "ownerReferences": [owner.reference()],
        },
        "data": data, "revision": newest + 1,
    });
    decision.push(Kind::ControllerRevision, &key, Verb::Create(revision));
    Recorded { name, kept: false }
}

/// Deletes the oldest revisions beyond the limit that nobody uses any more.
pub fn clean_up(
    world: &World,
    owner: &Owner<'_>,
    limit: Option<i32>,
    used: &BTreeSet<&str>,
    decision: &mut Decision,
) {
    let limit = usize::try_from(limit.unwrap_or(10)).unwrap_or(0);
    let is_used = |revision: &ControllerRevision| {
        let name = revision.metadata.name.as_deref().unwrap_or_default();
        used.contains(name) || name.rsplit('-').next().is_some_and(|hash| used.contains(hash))
    };
    let all = world.revisions_of(uid(owner.meta));
    let mut unused: Vec<&Arc<ControllerRevision>> = all
        .filter(|revision| !is_used(revision) && revision.metadata.deletion_timestamp.is_none())
        .collect();
    unused.sort_by_key(|revision| revision.revision);
    let surplus = unused.len().saturating_sub(limit);
    for revision in unused.into_iter().take(surplus) {
        let verb = Verb::Delete { uid: uid(&revision.metadata).to_owned(), now: false };
        decision.push(Kind::ControllerRevision, &key_of(&revision.metadata), verb);
    }
}
