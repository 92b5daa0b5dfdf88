//! Owners of the replica count, seen from the `scale` subresource.
//!
//! A `Scale` is a view of one field of another object, so its owners are kept there: whoever owns
//! the replica count of the object owns `.spec.replicas` of the Scale, and the other way round.
//!
//! ```text
//!  object  f:spec: {f:size, f:replicas}  ann ── scale_view ──> Scale  f:spec: {f:replicas}  ann
//!                                                                │ apply as bob, forced
//!  object  f:spec: {f:size}              ann <─ scale_merged ── Scale  f:spec: {f:replicas}  bob
//!          f:spec: {f:replicas}          bob
//! ```

use super::element::PathElement;
use super::managed::{Entry, ManagedFields, Owner};
use super::set::FieldSet;

/// `apiVersion` of a Scale.
pub const SCALE_API_VERSION: &str = "autoscaling/v1";

/// Where an object keeps its replica count, as a dotted path, in each of its versions: `None` for a
/// version that is not known or has no scale.
pub type ReplicasPath<'a> = &'a dyn Fn(&str) -> Option<String>;

impl ManagedFields {
    /// The owners of a Scale: of these, the owners of an object, those who own its replica count.
    #[must_use]
    pub fn scale_view(&self, replicas: ReplicasPath<'_>) -> Self {
        let mut out = Self::default();
        for entry in self.entries.iter().filter(|entry| owns(entry, replicas)) {
            out.put(Entry {
                owner: renamed(&entry.owner, SCALE_API_VERSION),
                api_version: SCALE_API_VERSION.to_owned(),
                time: entry.time.clone(),
                fields: FieldSet::of_fields(&["spec.replicas"]),
            });
        }
        out
    }

    /// The owners of an object after a write through its Scale, of which `scale` are the owners.
    /// New ones are entered in `api_version`, the object's version of the request.
    #[must_use]
    pub fn scale_merged(
        &self,
        scale: &Self,
        replicas: ReplicasPath<'_>,
        api_version: &str,
    ) -> Self {
        let mut out = Self::default();
        let mut new: Vec<&Entry> =
            scale.entries.iter().filter(|e| e.fields.has(&dotted("spec.replicas"))).collect();
        let still = new.clone();
        for entry in &self.entries {
            let mut entry = entry.clone();
            if let Some(path) = replicas(&entry.api_version).filter(|_| owns(&entry, replicas)) {
                let me = renamed(&entry.owner, SCALE_API_VERSION);
                if let Some(same) = still.iter().find(|e| e.owner == me) {
                    entry.time.clone_from(&same.time);
                    new.retain(|e| e.owner != me);
                } else {
                    entry.fields = entry.fields.difference(&FieldSet::of_fields(&[&bare(&path)]));
                }
            }
            if !entry.fields.is_empty() {
                out.put(entry);
            }
        }
        let Some(path) = replicas(api_version) else { return out };
        for entry in new {
            out.put(Entry {
                owner: renamed(&entry.owner, api_version),
                api_version: api_version.to_owned(),
                time: entry.time.clone(),
                fields: FieldSet::of_fields(&[&bare(&path)]),
            });
        }
        out
    }
}

fn owns(entry: &Entry, replicas: ReplicasPath<'_>) -> bool {
    replicas(&entry.api_version).is_some_and(|path| entry.fields.has(&dotted(&path)))
}

/// The same owner, speaking another version.
fn renamed(owner: &Owner, api_version: &str) -> Owner {
    let mut renamed = Owner::new("", owner.operation, api_version, Some(&owner.subresource));
    renamed.manager.clone_from(&owner.manager);
    renamed
}

/// CRDs write `.spec.replicas`.
fn bare(path: &str) -> String {
    path.trim_start_matches('.').to_owned()
}

fn dotted(path: &str) -> Vec<PathElement> {
    bare(path).split('.').map(PathElement::field).collect()
}
