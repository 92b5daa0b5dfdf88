//! WATCH: a stream of frames read from the store's ring.
//!
//! The stream is pulled by the connection. A client that does not read is not polled, falls behind
//! the ring and is cut off with 410; it never slows a writer down. Clients with the same plain view
//! share the bytes of each frame.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::Stream;
use landbridge_machinery::gvk::api_version;
use landbridge_machinery::status::{ApiError, ApiResult};
use landbridge_store::{Event, EventKind, WatchEnded, WatchError, Watcher};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::meta::{Entry, Store, Summary};
use crate::negotiate::Form;
use crate::present::{View, to_bytes};
use crate::query::Query;
use crate::select::Selection;

/// Bookmarks come about this often, as upstream.
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);
/// A watch without `timeoutSeconds` lasts between one and two of these, as upstream.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(30);
/// How many events are put into one frame of the connection.
const BATCH: usize = 256;
/// Marks the bookmark that ends the initial events of a streaming list.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// Where a watch is in its life.
enum Stage {
    /// Synthetic ADDED events for what is there already.
    Initial { entries: std::vec::IntoIter<Arc<Entry>>, revision: u64, announce_end: bool },
    /// Events as they happen.
    Live,
    /// Nothing more comes.
    Ended,
}

struct Feed {
    watcher: Watcher<Summary>,
    selection: Selection,
    view: View,
    stage: Stage,
    bookmarks: bool,
    next_bookmark: Instant,
    deadline: Instant,
    shutdown: watch::Receiver<bool>,
    definitions_sent: bool,
}

/// Opens a watch. Errors that upstream reports before the stream begins are returned as such.
pub fn open(
    store: &Store,
    selection: Selection,
    view: View,
    query: &Query,
    shutdown: watch::Receiver<bool>,
) -> ApiResult<impl Stream<Item = Bytes> + Send + 'static> {
    let snapshot = store.snapshot();
    let from = query.resource_version.unwrap_or(0);
    if from > snapshot.revision() {
        return Err(ApiError::revision_in_future(from, snapshot.revision()));
    }
    // Revision 0 or none: begin with everything there is, unless initial events are declined.
    let initial = match query.send_initial_events {
        Some(wanted) => wanted,
        None => from == 0,
    };
    let start = if from == 0 || initial { snapshot.revision() } else { from };
    let (watcher, stage) = match store.watch(selection.prefix().to_owned(), start) {
        Ok(watcher) if initial => {
            let entries: Vec<_> = snapshot
                .range(selection.prefix(), None)
                .filter(|entry| selection.contains(entry))
                .cloned()
                .collect();
            let stage = Stage::Initial {
                entries: entries.into_iter(),
                revision: start,
                announce_end: query.send_initial_events == Some(true) && query.bookmarks,
            };
            (watcher, stage)
        }
        Ok(watcher) => (watcher, Stage::Live),
        Err(WatchError::TooOld { floor }) => {
            return Err(ApiError::expired(format!("too old resource version: {start} ({floor})")));
        }
        Err(WatchError::Future { current }) => {
            return Err(ApiError::revision_in_future(start, current));
        }
    };
    let now = Instant::now();
    let timeout = query.timeout_seconds.map_or(DEFAULT_TIMEOUT, Duration::from_secs);
    let state = Feed {
        watcher,
        selection,
        view,
        stage,
        bookmarks: query.bookmarks,
        next_bookmark: now + BOOKMARK_EVERY,
        // A client may ask for any number; a year is for ever.
        deadline: now + timeout.min(Duration::from_hours(365 * 24)),
        shutdown,
        definitions_sent: false,
    };
    Ok(futures::stream::unfold(state, |mut state| async move {
        let bytes = state.next().await?;
        Some((bytes, state))
    }))
}

impl Feed {
    /// The next bytes for the client; `None` ends the stream.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            match &mut self.stage {
                Stage::Ended => return None,
                Stage::Initial { .. } => {
                    if let Some(bytes) = self.initial() {
                        return Some(bytes);
                    }
                }
                Stage::Live => {
                    if let Some(bytes) = self.live().await {
                        return Some(bytes);
                    }
                }
            }
        }
    }

    /// A batch of initial events, or `None` when the stage has changed.
    fn initial(&mut self) -> Option<Bytes> {
        let Stage::Initial { entries, revision, announce_end } = &mut self.stage else {
            return None;
        };
        let (revision, announce_end) = (*revision, *announce_end);
        let batch: Vec<_> = entries.by_ref().take(BATCH).collect();
        if !batch.is_empty() {
            let mut out = BytesMut::new();
            for entry in &batch {
                out.extend_from_slice(&self.frame("ADDED", entry));
            }
            return Some(out.freeze());
        }
        self.stage = Stage::Live;
        announce_end.then(|| self.bookmark(revision, true))
    }

    /// Waits for events, a bookmark's time or the end.
    async fn live(&mut self) -> Option<Bytes> {
        let wake =
            if self.bookmarks { self.deadline.min(self.next_bookmark) } else { self.deadline };
        let events = tokio::select! {
            events = self.watcher.next_batch(BATCH) => Some(events),
            () = tokio::time::sleep_until(wake) => None,
            _ = self.shutdown.wait_for(|stopping| *stopping) => Some(Err(WatchEnded::Closed)),
        };
        let Some(events) = events else { return self.tick() };
        match events {
            Ok(events) => {
                let mut out = BytesMut::new();
                for event in events {
                    if let Some(frame) = self.event(&event) {
                        out.extend_from_slice(&frame);
                    }
                }
                (!out.is_empty()).then(|| out.freeze())
            }
            Err(WatchEnded::Lagged { floor }) => {
                self.stage = Stage::Ended;
                let error = ApiError::expired(format!(
                    "too old resource version: {} ({floor}): this watch did not read fast enough",
                    self.watcher.revision()
                ));
                Some(error_frame(&error))
            }
            Err(WatchEnded::Closed) => {
                self.stage = Stage::Ended;
                None
            }
        }
    }

    /// A bookmark, or the last one at the deadline.
    fn tick(&mut self) -> Option<Bytes> {
        if Instant::now() >= self.deadline {
            self.stage = Stage::Ended;
        }
        self.next_bookmark = Instant::now() + BOOKMARK_EVERY;
        self.bookmarks.then(|| self.bookmark(self.watcher.revision(), false))
    }

    /// What a change means to this client: objects enter and leave its selection.
    fn event(&mut self, event: &Event<Summary>) -> Option<Bytes> {
        let before = event.prev.as_ref().filter(|prev| self.selection.contains(prev));
        if event.kind == EventKind::Delete {
            return before.is_some().then(|| self.shared_frame(event, "DELETED"));
        }
        match (before, self.selection.contains(&event.entry)) {
            (None, false) => None,
            (None, true) if event.prev.is_some() => Some(self.frame("ADDED", &event.entry)),
            (None, true) => Some(self.shared_frame(event, "ADDED")),
            (Some(_), true) => Some(self.shared_frame(event, "MODIFIED")),
            (Some(prev), false) => Some(self.left_frame(prev, event.revision)),
        }
    }

    /// Frames that read the same for every plain watcher are made once.
    fn shared_frame(&mut self, event: &Event<Summary>, kind: &str) -> Bytes {
        if self.view.verbatim(event.entry.revision) {
            event.encoded.get_or_init(|| raw_frame(kind, &event.entry.value)).clone()
        } else {
            self.frame(kind, &event.entry)
        }
    }

    fn frame(&mut self, kind: &str, entry: &Arc<Entry>) -> Bytes {
        if self.view.form == Form::Object {
            return raw_frame(kind, &self.view.object(entry));
        }
        let value = self.view.value(entry);
        self.shaped_frame(kind, &value)
    }

    /// The object left the selection: its last matching state, with the revision of the change.
    fn left_frame(&mut self, prev: &Arc<Entry>, revision: u64) -> Bytes {
        let mut value = self.view.value(prev);
        value["metadata"]["resourceVersion"] = revision.to_string().into();
        self.shaped_frame("DELETED", &value)
    }

    fn shaped_frame(&mut self, kind: &str, value: &Value) -> Bytes {
        // Upstream sends the headings of a table with its first row only.
        let object = self.view.shape(value, !self.definitions_sent);
        self.definitions_sent = true;
        raw_frame(kind, &to_bytes(&object))
    }

    fn bookmark(&self, revision: u64, initial_events_end: bool) -> Bytes {
        let resource = self.selection.resource();
        let mut meta = json!({"resourceVersion": revision.to_string(), "creationTimestamp": null});
        if initial_events_end {
            meta["annotations"] = json!({INITIAL_EVENTS_END: "true"});
        }
        let object = match self.view.form {
            Form::Object => json!({
                "kind": resource.kind,
                "apiVersion": api_version(&resource.group, &self.selection.version().name),
                "metadata": meta,
            }),
            Form::Partial => json!({
                "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": meta,
            }),
            Form::Table => json!({
                "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": meta,
                "columnDefinitions": [], "rows": [],
            }),
        };
        raw_frame("BOOKMARK", &to_bytes(&object))
    }
}

fn raw_frame(kind: &str, object: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(object.len() + kind.len() + 32);
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    out.extend_from_slice(object);
    out.extend_from_slice(b"}\n");
    out.freeze()
}

/// A refusal inside a stream, or instead of one.
pub fn error_frame(error: &ApiError) -> Bytes {
    raw_frame("ERROR", &to_bytes(&error.to_json()))
}
