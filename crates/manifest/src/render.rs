//! Diagnostics for people, programs and code hosts.
//!
//! | form | for | where |
//! |---|---|---|
//! | [`human()`] | a terminal | [`human`](mod@human) |
//! | [`json()`] | scripts | [`json`](mod@json) |
//! | [`sarif()`] | code hosts and editors | [`sarif`](mod@sarif) |
//!
//! All three put the findings in the same order themselves ([`Diagnostic::order`]), so a caller may collect
//! them as it likes. They write to anything that takes text; only `fmt::Write` can fail, not they.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::{Diagnostic, Severity, Source};

mod display;
mod excerpt;
pub mod human;
pub mod json;
pub mod sarif;

pub use human::{Human, human};
pub use json::json;
pub use sarif::{About, sarif};

/// The texts that excerpts are taken from, by name.
#[derive(Clone, Debug, Default)]
pub struct Sources(BTreeMap<String, Arc<Source>>);

impl Sources {
    /// None yet.
    pub fn new() -> Self {
        Sources::default()
    }

    /// Adds a text under its name, in place of another one of that name.
    pub fn add(&mut self, source: Arc<Source>) {
        self.0.insert(source.name().to_owned(), source);
    }

    /// The text of a name.
    pub fn get(&self, name: &str) -> Option<&Source> {
        self.0.get(name).map(Arc::as_ref)
    }
}

impl FromIterator<Arc<Source>> for Sources {
    fn from_iter<I: IntoIterator<Item = Arc<Source>>>(sources: I) -> Self {
        let mut all = Sources::new();
        sources.into_iter().for_each(|source| all.add(source));
        all
    }
}

/// The last line of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Summary {
    /// Findings of severity error.
    pub errors: usize,
    /// Findings of severity warning.
    pub warnings: usize,
    /// Findings of severity note.
    pub notes: usize,
    /// Files that were read.
    pub files: usize,
    /// Objects found in them.
    pub documents: usize,
}

impl Summary {
    /// Counts findings.
    pub fn of(diagnostics: &[Diagnostic], files: usize, documents: usize) -> Self {
        let count = |severity| {
            diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count()
        };
        Summary {
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            notes: count(Severity::Note),
            files,
            documents,
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |count: usize, word: &str| {
            format!("{count} {word}{}", if count == 1 { "" } else { "s" })
        };
        let found: Vec<String> =
            [(self.errors, "error"), (self.warnings, "warning"), (self.notes, "note")]
                .into_iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, word)| counted(count, word))
                .collect();
        let found = if found.is_empty() { "no problems".to_owned() } else { found.join(", ") };
        write!(
            f,
            "{found} in {} ({})",
            counted(self.files, "file"),
            counted(self.documents, "document")
        )
    }
}

/// The findings in the order of every report.
fn in_order(diagnostics: &[Diagnostic]) -> Vec<&Diagnostic> {
    let mut sorted: Vec<&Diagnostic> = diagnostics.iter().collect();
    sorted.sort_by(|a, b| a.order(b));
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries() {
        let summary = |errors, warnings, notes, files, documents| {
            Summary { errors, warnings, notes, files, documents }.to_string()
        };
        assert_eq!(summary(3, 1, 0, 5, 12), "3 errors, 1 warning in 5 files (12 documents)");
        assert_eq!(summary(0, 0, 0, 1, 1), "no problems in 1 file (1 document)");
        assert_eq!(summary(0, 0, 2, 1, 0), "2 notes in 1 file (0 documents)");
    }
}
