//! DELETE of one object or of a collection.

use std::sync::Arc;

use jiff::Timestamp;
use landbridge_machinery::object;
use landbridge_machinery::status::{ApiError, ApiResult};
use landbridge_store::Expect;
use serde_json::{Value, json};

use super::grace::{self, Step};
use super::{ATTEMPTS, PutError, gave_up, put, remove_as};
use crate::call::{Call, SystemRequest};
use crate::meta::{self, Entry};
use crate::negotiate::BodyKind;
use crate::path::Target;
use crate::query::unsupported;
use crate::registry::Resource;
use crate::server::Inner;
use crate::{access, admission, bootstrap, chance, decode, list, negotiate};

/// Holds an object until its dependents are gone.
pub const FOREGROUND: &str = "foregroundDeletion";
/// Holds an object until its dependents have been released.
pub const ORPHAN: &str = "orphan";

/// What happens to the objects this one owns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Propagation {
    /// They go afterwards.
    #[default]
    Background,
    /// They go first.
    Foreground,
    /// They stay.
    Orphan,
}

/// What a client says about a deletion.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What happens to dependents.
    pub propagation: Propagation,
    /// Only if the object has this uid.
    pub uid: Option<String>,
    /// Only if the object is at this revision.
    pub resource_version: Option<String>,
    /// Seconds to end in, where the kind gives any; the object's own when not said.
    pub grace: Option<i64>,
}

/// What became of the object.
pub enum Deleted {
    /// It is gone.
    Gone(Arc<Entry>),
    /// It stays until its finalizers are done and its grace period is over.
    Marked(Arc<Entry>),
    /// A dry run: the object as it would be then, or as it would go.
    Would { object: Value, gone: bool },
}

impl Options {
    /// Reads `DeleteOptions` from the body, and from the query what the body leaves out.
    pub fn read(call: &Call<'_>, bytes: &[u8]) -> ApiResult<(Self, bool)> {
        let body = if bytes.is_empty() { Value::Null } else { parse(call, bytes)? };
        Self::from_value(call, &body)
    }

    /// The same, from `DeleteOptions` that were read already. The second part says: only try.
    pub fn from_value(call: &Call<'_>, body: &Value) -> ApiResult<(Self, bool)> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let policy = text(&body["propagationPolicy"]).or_else(|| call.query.propagation.clone());
        let orphan = body["orphanDependents"] == true;
        let propagation = match policy.as_deref() {
            None if orphan => Propagation::Orphan,
            None | Some("" | "Background") => Propagation::Background,
            Some("Foreground") => Propagation::Foreground,
            Some("Orphan") => Propagation::Orphan,
            Some(other) => {
                let supported = ["Foreground", "Background", "Orphan"];
                return Err(unsupported("DeleteOptions", "propagationPolicy", other, &supported));
            }
        };
        let dry_run = match &body["dryRun"] {
            Value::Null => call.query.dry_run,
            Value::Array(list) if list.iter().all(|v| v == "All") => {
                !list.is_empty() || call.query.dry_run
            }
            other => {
                return Err(unsupported("DeleteOptions", "dryRun", &other.to_string(), &["All"]));
            }
        };
        let options = Self {
            propagation,
            uid: text(&body["preconditions"]["uid"]),
            resource_version: text(&body["preconditions"]["resourceVersion"]),
            grace: match &body["gracePeriodSeconds"] {
                Value::Null => call.query.grace_period,
                seconds => Some(seconds.as_i64().ok_or_else(|| {
                    let why = format!("gracePeriodSeconds: {seconds} is not a number of seconds");
                    ApiError::bad_request(why)
                })?),
            },
        };
        Ok((options, dry_run))
    }
}

fn parse(call: &Call<'_>, bytes: &[u8]) -> ApiResult<Value> {
    let value = match negotiate::body_kind(call.headers)? {
        BodyKind::Json => serde_json::from_slice(bytes).map_err(|e| {
            ApiError::bad_request(format!("the DeleteOptions in the body are not valid JSON: {e}"))
        })?,
        BodyKind::Yaml => decode::yaml(bytes)?.value,
        BodyKind::Protobuf => decode::protobuf(bytes)?,
    };
    match value {
        Value::Object(_) => Ok(value),
        _ => Err(ApiError::bad_request("the body of a delete must be a DeleteOptions object")),
    }
}

/// Deletes the object of the path.
pub async fn delete(call: &mut Call<'_>, options: &Options, dry_run: bool) -> ApiResult<Deleted> {
    for _ in 0..ATTEMPTS {
        let snapshot = call.server.store.snapshot();
        let Some(entry) = snapshot.get(&call.key()).cloned() else { return Err(call.not_found()) };
        match delete_entry(call, &entry, options, dry_run).await {
            Ok(deleted) => return Ok(deleted),
            Err(PutError::Refused(error)) => return Err(error),
            Err(PutError::Lost) => {}
        }
    }
    gave_up(&call.resource, call.name())
}

async fn delete_entry(
    call: &mut Call<'_>,
    entry: &Arc<Entry>,
    options: &Options,
    dry_run: bool,
) -> Result<Deleted, PutError> {
    let old = meta::parse(entry);
    preconditions(call, options, entry, &old).map_err(PutError::Refused)?;
    let namespace = call.resource.group.is_empty() && call.resource.kind == "Namespace";
    if namespace && bootstrap::IMMORTAL.contains(&object::name(&old)) {
        let why = "this namespace may not be deleted";
        let error = ApiError::forbidden(&call.resource.group_resource(), object::name(&old), why);
        return Err(PutError::Refused(error));
    }
    access::admit_delete(call, &old).map_err(PutError::Refused)?;
    if !object::is_terminating(&old) {
        admission::admit_delete(call, &old).map_err(PutError::Refused)?;
    }
    let graceful = call.resource.strategy.graceful;
    let step = grace::step(graceful, &old, options.grace, Timestamp::now());
    // While a grace period runs, only its length can still change: finalizers cannot.
    let new = match &step {
        Step::Wait => old.clone(),
        step => mark(&old, &finalizers(&old, options.propagation), step),
    };
    let gone = !holds_content(&old) && object::finalizers(&new).is_empty() && grace::is_over(&new);
    if dry_run {
        return Ok(Deleted::Would { object: new, gone });
    }
    if gone {
        // Watchers of a kind without grace periods see it as it was.
        let last = if graceful { new } else { old };
        return remove_as(call.server, &call.resource, entry, last).await.map(Deleted::Gone);
    }
    if new == old {
        return Ok(Deleted::Marked(Arc::clone(entry)));
    }
    put(call.server, entry.key.to_string(), Expect::Revision(entry.revision), new)
        .await
        .map(Deleted::Marked)
}

/// The finalizers the object has from now on: propagation adds its own, once.
fn finalizers(old: &Value, propagation: Propagation) -> Vec<&str> {
    let mut list = object::finalizers(old);
    list.retain(|f| *f != FOREGROUND && *f != ORPHAN || object::is_terminating(old));
    let ours = match propagation {
        Propagation::Background => return list,
        Propagation::Foreground => FOREGROUND,
        Propagation::Orphan => ORPHAN,
    };
    if !list.contains(&ours) {
        list.push(ours);
    }
    list
}

/// A namespace stays until it is empty.
fn holds_content(object: &Value) -> bool {
    object["kind"] == "Namespace"
        && object["apiVersion"] == "v1"
        && object["spec"]["finalizers"].as_array().is_some_and(|list| !list.is_empty())
}

/// Deletion has begun; it never un-begins.
fn mark(old: &Value, finalizers: &[&str], step: &Step) -> Value {
    let mut new = old.clone();
    if let Step::Mark { ends, seconds } = step {
        object::set_meta(&mut new, "deletionTimestamp", chance::format_timestamp(*ends));
        object::set_meta(&mut new, "deletionGracePeriodSeconds", *seconds);
    }
    if !object::is_terminating(old) {
        if object::generation(old) > 0 {
            object::set_meta(&mut new, "generation", object::generation(old) + 1);
        }
        if holds_content(old) {
            new["status"] = json!({"phase": "Terminating"});
        }
    }
    object::set_meta(&mut new, "finalizers", finalizers);
    if finalizers.is_empty() {
        object::clear_meta(&mut new, "finalizers");
    }
    new
}

pub(super) fn preconditions(
    call: &Call<'_>,
    options: &Options,
    entry: &Entry,
    old: &Value,
) -> ApiResult<()> {
    let conflict = |why: &str| {
        Err(ApiError::conflict(&call.resource.group_resource(), object::name(old), why))
    };
    if let Some(uid) = options.uid.as_deref().filter(|uid| *uid != object::uid(old)) {
        return conflict(&format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            object::uid(old)
        ));
    }
    let current = entry.revision.to_string();
    if let Some(wanted) = options.resource_version.as_deref().filter(|rv| *rv != current) {
        return conflict(&format!(
            "Precondition failed: ResourceVersion in precondition: {wanted}, ResourceVersion in object meta: {current}"
        ));
    }
    Ok(())
}

/// Deletes everything a request selects; returns what was there.
pub async fn delete_collection(
    call: &mut Call<'_>,
    options: &Options,
    dry_run: bool,
) -> ApiResult<list::Page> {
    let selection =
        crate::select::Selection::new(&call.resource, call.version, call.target, call.query)?;
    let page = list::list(&call.server.store, &selection, call.query)?;
    for entry in &page.entries {
        match delete_known(call, entry, options, dry_run).await {
            Ok(()) => {}
            Err(error) if error.reason == "NotFound" => {}
            Err(error) => return Err(error),
        }
    }
    Ok(page)
}

/// Deletes an object of which an entry is known, whatever its revision is by now.
async fn delete_known(
    call: &mut Call<'_>,
    known: &Arc<Entry>,
    options: &Options,
    dry_run: bool,
) -> ApiResult<()> {
    for _ in 0..ATTEMPTS {
        let snapshot = call.server.store.snapshot();
        let Some(entry) = snapshot.get(&known.key).cloned() else { return Ok(()) };
        match delete_entry(call, &entry, options, dry_run).await {
            Ok(_) => return Ok(()),
            Err(PutError::Refused(error)) => return Err(error),
            Err(PutError::Lost) => {}
        }
    }
    gave_up(&call.resource, &known.meta.name)
}

/// Deletes on behalf of a controller of the server itself, provided it is still the same object.
pub async fn by_system(
    server: &Arc<Inner>,
    resource: &Arc<Resource>,
    entry: &Arc<Entry>,
    component: &str,
) -> ApiResult<()> {
    let target = Target {
        namespace: Some(entry.meta.namespace.clone()).filter(|n| !n.is_empty()),
        name: Some(entry.meta.name.clone()),
        ..Target::default()
    };
    let request = SystemRequest::new(component, target);
    let mut call = request.call(server, resource);
    let options = Options { uid: Some(entry.meta.uid.clone()), ..Options::default() };
    match delete_known(&mut call, entry, &options, false).await {
        // Somebody else was faster, or it is another object by now: nothing left to do.
        Err(error) if error.code == 404 || error.code == 409 => Ok(()),
        other => other,
    }
}
