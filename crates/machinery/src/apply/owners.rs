//! Who owns what after a change.

use serde_json::{Value, json};

use super::compare::Comparison;
use super::element::Path;
use super::managed::{Entry, ManagedFields, Operation, Owner};
use super::set::FieldSet;
use crate::status::ApiError;

/// Fields nobody owns: they are what the object is, or the server alone writes them.
pub(super) fn never_owned() -> FieldSet {
    FieldSet::of_fields(&[
        "apiVersion",
        "kind",
        "metadata",
        "metadata.name",
        "metadata.namespace",
        "metadata.creationTimestamp",
        "metadata.selfLink",
        "metadata.uid",
        "metadata.clusterName",
        "metadata.generation",
        "metadata.managedFields",
        "metadata.resourceVersion",
    ])
}

/// A field somebody else owns and that would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    pub(super) owner: Owner,
    api_version: String,
    pub(super) path: Path,
}

/// What owners would lose by a change.
pub(super) fn conflicts(managed: &ManagedFields, change: &Comparison) -> Vec<Conflict> {
    let touched = change.modified.union(&change.added);
    let mut entries: Vec<&Entry> = managed.entries.iter().collect();
    entries.sort_by(|a, b| a.owner.cmp(&b.owner));
    let mut out = Vec::new();
    for Entry { owner, api_version, fields, .. } in entries {
        out.extend(fields.intersection(&touched).paths().into_iter().map(|path| Conflict {
            owner: owner.clone(),
            api_version: api_version.clone(),
            path,
        }));
    }
    out
}

/// Takes from everyone what has changed. Owners of nothing go.
pub(super) fn hand_over(managed: &mut ManagedFields, change: &Comparison) {
    let touched = change.modified.union(&change.added).union(&change.removed);
    for entry in &mut managed.entries {
        entry.fields = entry.fields.difference(&touched);
    }
    managed.entries.retain(|entry| !entry.fields.is_empty());
}

/// 409 that names every field and its owner.
pub(super) fn refusal(conflicts: &[Conflict]) -> ApiError {
    let causes: Value = conflicts
        .iter()
        .map(|conflict| {
            json!({
                "reason": "FieldManagerConflict",
                "message": format!("conflict with {}", who(conflict)),
                "field": conflict.path.to_string(),
            })
        })
        .collect();
    let mut error = ApiError::new(409, "Conflict", message(conflicts));
    error.details.insert("causes".into(), causes);
    error
}

fn message(conflicts: &[Conflict]) -> String {
    if let [conflict] = conflicts {
        let (who, path) = (who(conflict), &conflict.path);
        return format!("Apply failed with 1 conflict: conflict with {who}: {path}");
    }
    let mut lines = Vec::new();
    let mut last = None;
    for conflict in conflicts {
        if last != Some(&conflict.owner) {
            lines.push(format!("conflicts with {}:", who(conflict)));
            last = Some(&conflict.owner);
        }
        lines.push(format!("- {}", conflict.path));
    }
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
}

/// An owner in upstream's words. Updaters are named with their version.
fn who(conflict: &Conflict) -> String {
    let Owner { manager, operation, subresource, .. } = &conflict.owner;
    let through = match subresource.as_str() {
        "" => String::new(),
        subresource => format!(" with subresource {subresource:?}"),
    };
    let using = match operation {
        Operation::Apply => String::new(),
        Operation::Update => format!(" using {}", conflict.api_version),
    };
    format!("{manager:?}{through}{using}")
}
