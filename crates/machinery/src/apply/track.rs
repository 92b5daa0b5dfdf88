//! Ordinary writes: who changed a field owns it.

use serde_json::{Value, json};

use super::compare::Comparison;
use super::managed::{Entry, ManagedFields, Operation, Owner};
use super::owners::{hand_over, never_owned};
use super::remove::coarsened;
use super::set::FieldSet;
use crate::object;
use crate::schema::Schema;

/// Who writes, how and when.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// The schema of the version the client speaks; both objects are in that version.
    pub schema: &'a Schema,
    /// `fieldManager`, or what stands before the first `/` of the user agent.
    pub manager: &'a str,
    /// The version the client speaks: `v1`, `apps/v1`.
    pub api_version: &'a str,
    /// `status`, `scale` and so on; `None` for the object itself.
    pub subresource: Option<&'a str>,
    /// RFC 3339, whole seconds.
    pub now: &'a str,
    /// Fields this endpoint does not write, such as `status` for the object itself. Nobody comes
    /// to own them here.
    pub ignored: &'a FieldSet,
}

/// Keeps `metadata.managedFields` of `new` right across a create, an update or a patch. `new` is
/// what will be stored (after the patch, after other fields were reset), `live` what is stored
/// now, both in the client's version.
///
/// Managed fields the client sends along replace those that are stored, except through a
/// subresource; `[]` or `[{}]` clears them, and from then on nothing is tracked until the first
/// apply. A write that changes nothing leaves them as they are, byte for byte.
pub fn track_update(live: Option<&Value>, new: &mut Value, write: &Write<'_>) {
    let Some(mut managed) = starting_point(live, new, write) else {
        return object::clear_meta(new, "managedFields");
    };
    object::clear_meta(new, "managedFields");
    let nothing = json!({});
    let old = live.map_or_else(|| nothing.clone(), without_managed);
    reconcile(&mut managed, write);
    record(&mut managed, &old, new, write);
    match live {
        Some(live) if managed.agrees_with(&ManagedFields::of(live)) => keep(live, new),
        _ => managed.write(new),
    }
}

/// The entries to go on from; `None` when this object is not tracked.
fn starting_point(live: Option<&Value>, new: &Value, write: &Write<'_>) -> Option<ManagedFields> {
    let stored = || live.map(ManagedFields::of).unwrap_or_default();
    let given = &new["metadata"]["managedFields"];
    let managed = if write.subresource.is_some() {
        stored()
    } else if is_reset(given) {
        ManagedFields::default()
    } else {
        // Clients that know nothing of managed fields do not mean to drop them.
        let given = ManagedFields::parse(given).unwrap_or_default();
        if given.entries.is_empty() { stored() } else { given }
    };
    (live.is_none() || !managed.entries.is_empty()).then_some(managed)
}

/// The client asks to forget all owners.
fn is_reset(given: &Value) -> bool {
    let Some(list) = given.as_array() else { return false };
    list.is_empty()
        || (list.len() == 1 && list[0].as_object().is_some_and(serde_json::Map::is_empty))
}

/// Hands changed fields to the writer.
pub(super) fn record(managed: &mut ManagedFields, old: &Value, new: &Value, write: &Write<'_>) {
    let change = Comparison::of(write.schema, old, new).without(write.ignored);
    hand_over(managed, &change);
    let taken = change.modified.union(&change.added).difference(&never_owned());
    if !taken.is_empty() {
        let Write { manager, api_version, subresource, now, .. } = *write;
        let owner = Owner::new(manager, Operation::Update, api_version, subresource);
        let fields = match managed.get(&owner) {
            Some(entry) => entry.fields.union(&taken),
            None => taken,
        };
        let (api_version, time) = (api_version.to_owned(), Some(now.to_owned()));
        managed.put(Entry { owner, api_version, time, fields });
    }
    managed.cap();
}

/// Brings sets of this version in line with its schema.
pub(super) fn reconcile(managed: &mut ManagedFields, write: &Write<'_>) {
    for entry in managed.entries.iter_mut().filter(|e| e.api_version == write.api_version) {
        entry.fields = coarsened(Some(write.schema.root()), &entry.fields);
    }
}

/// The object without its managed fields.
pub(super) fn without_managed(object: &Value) -> Value {
    let mut out = object.clone();
    if out["metadata"].is_object() {
        object::clear_meta(&mut out, "managedFields");
    }
    out
}

/// Gives `new` the managed fields of `live`.
pub(super) fn keep(live: &Value, new: &mut Value) {
    match &live["metadata"]["managedFields"] {
        Value::Null => object::clear_meta(new, "managedFields"),
        fields => object::set_meta(new, "managedFields", fields.clone()),
    }
}

/// Undoes a mere change of times: when `new` differs from `old` in nothing but when its managers
/// last wrote (and the revision), it gets the times of `old`. To be called when `new` is complete,
/// right before the two are compared to see whether there is anything to store.
pub fn keep_times(old: &Value, new: &mut Value) {
    let bare = |object: &Value| {
        let mut object = without_managed(object);
        object::clear_meta(&mut object, "resourceVersion");
        object
    };
    if ManagedFields::of(new).agrees_with(&ManagedFields::of(old)) && bare(old) == bare(new) {
        keep(old, new);
    }
}
