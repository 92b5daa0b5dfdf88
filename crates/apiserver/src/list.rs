//! LIST: one consistent snapshot, in key order, whole or in pages.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use landbridge_machinery::status::{ApiError, ApiResult};
use landbridge_store::SnapshotError;
use serde::{Deserialize, Serialize};

use crate::meta::{Entry, Snapshot, Store};
use crate::present::ListMeta;
use crate::query::{Query, VersionMatch};
use crate::select::Selection;

/// Where the next page begins. Opaque to clients.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Continuation {
    /// Revision of the snapshot; 0 takes whatever is current (an inconsistent list).
    #[serde(rename = "rv")]
    revision: u64,
    /// Last key of the page before.
    #[serde(rename = "after")]
    after: String,
}

impl Continuation {
    fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }

    fn decode(token: &str, prefix: &str) -> ApiResult<Self> {
        let parsed: Option<Self> = URL_SAFE_NO_PAD
            .decode(token)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok());
        // A token of another list must not show objects outside of this one.
        parsed.filter(|token| token.after.starts_with(prefix)).ok_or_else(|| {
            ApiError::bad_request("continue key is not valid: it does not belong to this list")
        })
    }
}

/// One page.
pub struct Page {
    /// Its objects.
    pub entries: Vec<Arc<Entry>>,
    /// What stands above them.
    pub meta: ListMeta,
}

/// Lists what a request selects.
pub fn list(store: &Store, selection: &Selection, query: &Query) -> ApiResult<Page> {
    let (snapshot, after) = snapshot(store, selection, query)?;
    let limit = if query.limit == 0 { usize::MAX } else { query.limit };
    let mut entries: Vec<Arc<Entry>> = Vec::new();
    let mut more = false;
    for entry in snapshot.range(selection.prefix(), after.as_deref()) {
        if !selection.contains(entry) {
            continue;
        }
        if entries.len() == limit {
            more = true;
            break;
        }
        entries.push(Arc::clone(entry));
    }
    let mut meta = ListMeta { revision: snapshot.revision(), ..ListMeta::default() };
    if let Some(last) = entries.last().filter(|_| more) {
        meta.continuation =
            Continuation { revision: snapshot.revision(), after: last.key.to_string() }.encode();
        // With selectors the rest would have to be searched; upstream leaves the number out.
        meta.remaining = selection
            .is_everything()
            .then(|| snapshot.range(selection.prefix(), Some(&*last.key)).count());
    }
    Ok(Page { entries, meta })
}

fn snapshot(
    store: &Store,
    selection: &Selection,
    query: &Query,
) -> ApiResult<(Snapshot, Option<String>)> {
    if !query.continuation.is_empty() {
        if query.resource_version.is_some_and(|rv| rv != 0) {
            return Err(ApiError::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        let token = Continuation::decode(&query.continuation, selection.prefix())?;
        if token.revision == 0 {
            return Ok((store.snapshot(), Some(token.after)));
        }
        return match store.snapshot_at(token.revision) {
            Ok(snapshot) => Ok((snapshot, Some(token.after))),
            Err(_) => Err(expired_page(token.after)),
        };
    }
    let current = store.snapshot();
    match (query.resource_version, query.version_match) {
        (Some(wanted), _) if wanted > current.revision() => {
            Err(ApiError::revision_in_future(wanted, current.revision()))
        }
        // A limit with a bare revision means exactly that revision; upstream's rule.
        (Some(wanted), Some(VersionMatch::Exact)) => exact(store, wanted),
        (Some(wanted), None) if query.limit > 0 && wanted > 0 => exact(store, wanted),
        _ => Ok((current, None)),
    }
}

fn exact(store: &Store, revision: u64) -> ApiResult<(Snapshot, Option<String>)> {
    match store.snapshot_at(revision) {
        Ok(snapshot) => Ok((snapshot, None)),
        Err(SnapshotError::Future { current, .. }) => {
            Err(ApiError::revision_in_future(revision, current))
        }
        Err(_) => Err(ApiError::expired(format!(
            "The resourceVersion for the provided list is too old: revision {revision} is no longer kept"
        ))),
    }
}

fn expired_page(after: String) -> ApiError {
    let mut error = ApiError::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list \
         without the continue parameter, or use the continue token in this response to retrieve the remainder of \
         the results. Continuing with the provided token results in an inconsistent list: objects that changed \
         since the first page may be missing or shown in a later state.",
    );
    error.continuation = Some(Continuation { revision: 0, after }.encode());
    error
}
