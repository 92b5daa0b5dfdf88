//! The journal on the embedded store: every row is a key, one write per batch of calls.

use std::path::Path;
use std::sync::Arc;

use landbridge_store::{Expect, Op, Options, Store, Template};

use super::{Journal, JournalError, Kept, Row};
use crate::state::Change;

/// Events kept for watches, of which there are none.
const RING: usize = 64;

/// Rows in an embedded store of their own.
pub struct Stored {
    store: Store<()>,
}

impl Stored {
    /// Opens the store in a directory, which is made if needed.
    pub fn open(dir: &Path) -> Result<Self, JournalError> {
        let options = Options { ring_events: RING, ..Options::default() };
        let store = Store::open(dir, options).map_err(failed)?;
        Ok(Self { store })
    }

    /// Closes it; returns once the directory is free again.
    pub async fn close(self) {
        self.store.close().await;
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> JournalError {
    JournalError::Storage(Box::new(error))
}

fn key(change: &Change) -> String {
    format!("{}/{}", change.kind.name, change.id)
}

impl Journal for Stored {
    fn rows(&self) -> Result<Vec<Row>, JournalError> {
        let snapshot = self.store.snapshot();
        let row = |entry: &Arc<landbridge_store::Entry<()>>| {
            let (kind, id) = entry.key.split_once('/').unwrap_or((&entry.key, ""));
            let (kind, id) = (kind.to_owned(), id.to_owned());
            Row { kind, id, text: entry.value.clone() }
        };
        Ok(snapshot.range("", None).map(row).collect())
    }

    fn keep(&self, changes: Vec<Change>) -> Kept<'_> {
        // One batch may write a row twice: the store applies them in order.
        let ops = changes.into_iter().map(|change| {
            let key = key(&change);
            match change.after {
                Some(text) => {
                    let value = Template::plain(&*text);
                    Op::Put { key, expect: Expect::Any, value }
                }
                None => Op::Delete { key, expect: Expect::Any, value: None },
            }
        });
        let ops: Vec<Op> = ops.collect();
        Box::pin(async move {
            let written = self.store.write(ops).await.map_err(failed)?;
            Ok(written.into_iter().map(|written| written.entry.value.clone()).collect())
        })
    }
}
