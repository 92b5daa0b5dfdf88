//! Server-side apply: who owns which field, and merging what several parties want.
//!
//! A client *applies* a partial object, its whole opinion. The server merges it into the live
//! object, remembers which fields the client had an opinion about, removes those it no longer
//! mentions and refuses to change what somebody else owns, unless forced. The semantics are those
//! of upstream's structured-merge-diff.
//!
//! ```text
//!  config ── check ──┐                                   ┌─ conflicts? 409
//!                    ├─ merge ── prune dropped fields ───┼─ others lose what changed
//!  live ─────────────┘                                   └─ managedFields
//! ```
//!
//! | module | idea |
//! |---|---|
//! | `element`, `set`, `fields_v1` | paths, sets of paths, their JSON |
//! | `shape` | what the schema says about merging: granular, atomic, keyed, set |
//! | `extract`, `compare`, `merge`, `remove` | walks over values and schema |
//! | `managed`, `owners` | entries of `metadata.managedFields`, and who loses what |
//! | `track`, `last_applied` | ordinary writes, and moving from client-side apply |
//! | `scale` | the owners of a Scale, which are kept in another object |
//!
//! Invariants:
//! - an object carries at most one entry per owner, and none that owns nothing;
//! - no owner keeps a field that is not there any more;
//! - a write that changes nothing changes no byte.
//!
//! **Versions.** Fields of entries written in another version are compared by path in the version
//! of the request. That is right whenever versions differ by name only (conversion `None`). An entry
//! whose paths this version does not know is kept as it is and conflicts with nobody.

mod check;
mod compare;
mod element;
mod extract;
mod fields_v1;
mod last_applied;
mod managed;
mod merge;
mod owners;
mod remove;
mod scale;
mod set;
mod shape;
mod track;

use serde_json::{Value, json};

pub use self::compare::Comparison;
pub use self::element::{Malformed, Path, PathElement};
pub use self::managed::{Entry, ManagedFields, Operation, Owner};
pub use self::scale::{ReplicasPath, SCALE_API_VERSION};
pub use self::set::FieldSet;
pub use self::track::{Write, keep_times, track_update};

use self::owners::{Conflict, conflicts, hand_over, never_owned, refusal};
use self::remove::{remove, with_named};
use self::shape::Place;
use crate::object;
use crate::status::{ApiError, ApiResult};

/// The manager that owns what an object held before it was tracked.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// The field manager of `kubectl apply --server-side`.
const KUBECTL: &str = "kubectl";

/// One server-side apply.
#[derive(Clone, Copy, Debug)]
pub struct ApplyRequest<'a> {
    /// What is stored, in the version of the request; `None` when there is nothing yet.
    pub live: Option<&'a Value>,
    /// What the client wants.
    pub config: &'a Value,
    /// Take fields from those who own them.
    pub force: bool,
    /// Who applies, through which endpoint, when. What the configuration says about the ignored
    /// fields is dropped.
    pub write: Write<'a>,
}

/// Applies a configuration. The outcome still wants defaults, validation, and the fields only the
/// server writes; `metadata.managedFields` is right already.
///
/// Refusals: 400 for a configuration of another version or one with managed fields, 409 for
/// conflicts, 500 (as upstream has it) for fields the schema does not know and for elements of
/// keyed lists that cannot be told apart.
pub fn apply(request: ApplyRequest<'_>) -> ApiResult<Value> {
    let ApplyRequest { live, config, force, write } = request;
    let place = Some(write.schema.root());
    let config = accepted(config, &write)?;
    let old = live.map_or_else(|| json!({}), track::without_managed);

    let mut managed = live.map(ManagedFields::of).unwrap_or_default();
    track::reconcile(&mut managed, &write);
    if managed.entries.is_empty() {
        let first = Write { manager: BEFORE_FIRST_APPLY, ..write };
        track::record(&mut managed, &json!({}), &old, &first);
    }

    let me = Owner::new(write.manager, Operation::Apply, write.api_version, write.subresource);
    let before = managed.remove(&me);
    let wanted = FieldSet::of(write.schema, &config);
    let merged = merge::merge(place, &old, &config);
    let mut merged = match &before {
        Some(before) => {
            let owned = managed.all_fields().union(&wanted);
            let last = before.fields.recursive_difference(write.ignored);
            let left = without_dropped(place, &merged, &last, &owned);
            // An empty list is owned by nobody and may have gone with what it was in.
            merge::merge(place, &left, &config)
        }
        None => merged,
    };

    let change = Comparison::of(write.schema, &old, &merged);
    if !force {
        refuse(&conflicts(&managed, &change), live, &write)?;
    }
    hand_over(&mut managed, &change);
    let mut entry = Entry {
        owner: me,
        api_version: write.api_version.to_owned(),
        time: before.as_ref().and_then(|entry| entry.time.clone()),
        fields: wanted.difference(&never_owned()),
    };
    if before.as_ref() != Some(&entry) || old != merged {
        entry.time = Some(write.now.to_owned());
    }
    if !entry.fields.is_empty() {
        managed.put(entry);
    }
    if write.manager == KUBECTL {
        last_applied::sync(&mut merged, &config);
    }
    match live {
        Some(live) if old == merged && managed.agrees_with(&ManagedFields::of(live)) => {
            track::keep(live, &mut merged);
        }
        _ => managed.write(&mut merged),
    }
    Ok(merged)
}

/// The configuration as it takes part in the merge.
fn accepted(config: &Value, write: &Write<'_>) -> ApiResult<Value> {
    if !config.is_object() {
        return Err(ApiError::bad_request("an applied configuration must be a JSON object"));
    }
    let version = config["apiVersion"].as_str().unwrap_or_default();
    if version != write.api_version {
        return Err(ApiError::bad_request(format!(
            "Incorrect version specified in apply patch. Specified patch version: {version}, expected: {}",
            write.api_version
        )));
    }
    if !config["metadata"]["managedFields"].is_null() {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    let problems = check::problems(write.schema, config);
    let text = match problems.as_slice() {
        [] => {
            let place = Some(write.schema.root());
            return Ok(remove(place, &check::without_nulls(place, config), write.ignored));
        }
        [problem] => problem.clone(),
        several => format!("errors:\n  {}", several.join("\n  ")),
    };
    let (name, namespace) = (object::name(config), object::namespace(config));
    let kind = config["kind"].as_str().unwrap_or_default();
    let message = format!(
        "failed to create typed patch object ({namespace}/{name}; {version}, Kind={kind}): {text}"
    );
    Err(ApiError::new(500, "", message))
}

/// Refuses conflicts, but for those kubectl has with its former self.
fn refuse(conflicts: &[Conflict], live: Option<&Value>, write: &Write<'_>) -> ApiResult<()> {
    let own = live
        .filter(|_| write.manager == KUBECTL && !conflicts.is_empty())
        .and_then(|live| last_applied::untouched(live, write.schema, write.api_version))
        .unwrap_or_default();
    let left: Vec<_> = conflicts.iter().filter(|c| !own.has(&c.path.0)).cloned().collect();
    if left.is_empty() { Ok(()) } else { Err(refusal(&left)) }
}

/// Removes what an applier owned before and neither it nor anybody else owns now.
fn without_dropped(place: Place<'_>, merged: &Value, last: &FieldSet, owned: &FieldSet) -> Value {
    let held = |value: &Value| with_named(place, &extract::held(place, value).below);
    let last = with_named(place, last);
    let (all, owned) = (held(merged), with_named(place, owned));
    // First all the applier had goes, with everything inside; what is owned comes back; and of
    // what is then still gone only the applier's own really goes.
    let bare = remove(place, merged, &last);
    let bare = remove(place, merged, &all.difference(&held(&bare).union(&owned)));
    let gone = all.difference(&held(&bare)).intersection(&last);
    // (What is owned stays, even in a map that is itself nobody's.)
    remove(place, merged, &gone.difference(&owned))
}
