//! Where changes are kept. The state in memory is what is served; a journal is what it is made from
//! after a restart.

mod store;

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;

pub use self::store::Stored;
use crate::cloud::kinds;
use crate::state::{Change, State};

/// A row as a journal has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The name of its table.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: Bytes,
}

/// Why a journal cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A row of a table this program does not know: it was written by a newer one.
    #[error("row {id:?} is of the unknown table {kind:?}; it was written by another version")]
    UnknownKind {
        /// The table.
        kind: String,
        /// The row.
        id: String,
    },
    /// A row that is no JSON object, or carries another id than its key.
    #[error("row {kind}/{id} cannot be read: {reason}")]
    BadRow {
        /// The table.
        kind: String,
        /// The row.
        id: String,
        /// What is wrong.
        reason: String,
    },
    /// The storage under it failed.
    #[error("the cloud's journal failed")]
    Storage(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A promise of a journal.
pub type Kept<'a> = Pin<Box<dyn Future<Output = Result<Vec<Bytes>, JournalError>> + Send + 'a>>;

/// Where changes are kept.
pub trait Journal: Send + Sync {
    /// Every row there is.
    fn rows(&self) -> Result<Vec<Row>, JournalError>;

    /// Keeps these changes, all or none; done when they survive a crash. A journal that holds rows in memory
    /// returns them, one for each change in their order, so that nobody has to hold them twice.
    fn keep(&self, changes: Vec<Change>) -> Kept<'_>;
}

/// A journal that keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forgetful;

impl Journal for Forgetful {
    fn rows(&self) -> Result<Vec<Row>, JournalError> {
        Ok(Vec::new())
    }

    fn keep(&self, _changes: Vec<Change>) -> Kept<'_> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// The state that the rows make.
pub fn restore(rows: Vec<Row>) -> Result<State, JournalError> {
    let mut state = State::default();
    for row in rows {
        let Some(kind) = kinds().find(|kind| kind.name == row.kind) else {
            return Err(JournalError::UnknownKind { kind: row.kind, id: row.id });
        };
        let read = serde_json::from_slice::<crate::Object>(&row.text);
        let reason = match read {
            Ok(object) if object.id() == row.id => None,
            Ok(object) => Some(format!("it says its id is {:?}", object.id())),
            Err(error) => Some(error.to_string()),
        };
        if let Some(reason) = reason {
            return Err(JournalError::BadRow { kind: row.kind, id: row.id, reason });
        }
        state.put_sealed(kind, &row.id, row.text);
    }
    Ok(state)
}
