//! One thing that does not fit.

use std::fmt;

use landbridge_api::foreign::Place;
use landbridge_machinery::field::FieldPath;

use crate::codes::Code;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Probably not meant.
    Warning,
    /// Will not work.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// A place that has to do with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Number of the source.
    pub source: usize,
    /// Path in the object; it may name a field that is not there.
    pub path: FieldPath,
    /// Path in the JSON text that stands there.
    pub inner: Option<FieldPath>,
    /// What the place has to do with it.
    pub role: String,
}

/// One thing that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which rule; see [`crate::codes`].
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What does not fit, in one sentence.
    pub message: String,
    /// The places; the first one is where to look.
    pub subjects: Vec<Subject>,
    /// What to do about it; may be empty.
    pub help: String,
}

impl Finding {
    /// A finding with the severity of its code.
    pub(crate) fn new(code: &'static Code, message: impl Into<String>) -> Self {
        Self {
            code: code.code,
            severity: code.severity,
            message: message.into(),
            subjects: Vec::new(),
            help: String::new(),
        }
    }

    /// Adds a place.
    pub(crate) fn at(mut self, mark: &Mark, role: impl Into<String>) -> Self {
        self.subjects.push(Subject {
            source: mark.source,
            path: mark.place.path.clone(),
            inner: mark.place.inner.clone(),
            role: role.into(),
        });
        self
    }

    /// Says what to do.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }
}

/// A place in a source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Mark {
    /// Number of the source.
    pub source: usize,
    /// Place in it.
    pub place: Place,
}

impl Mark {
    pub fn new(source: usize, place: &Place) -> Self {
        Self { source, place: place.clone() }
    }
}
