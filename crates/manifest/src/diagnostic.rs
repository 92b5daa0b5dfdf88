//! What is wrong, where, and what to do.

use std::{cmp::Ordering, fmt};

use crate::Span;

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Will not work.
    Error,
    /// Works, but probably not as meant.
    Warning,
    /// Worth knowing.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// `LB801`; what it means at length is in a [`Rule`](crate::Rule) under the same code.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence, in lower case and without a full stop.
    pub message: String,
    /// The places it is about; the first primary one is *the* place.
    pub labels: Vec<Label>,
    /// What to do.
    pub help: Option<String>,
    /// A page that says more.
    pub url: Option<String>,
}

/// A place a finding is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// The file's name as the caller knows it.
    pub file: String,
    /// Where in the file; `None` is the file as a whole.
    pub span: Option<Span>,
    /// Which object, as in `NetConfig openstack/netconfig`.
    pub object: Option<String>,
    /// Which field of it, as in `spec.networks[1].subnets[0].vlan`.
    pub field: Option<String>,
    /// What there is to say about this place; may be empty.
    pub text: String,
    /// Whether the finding is about this place, or this place explains it.
    pub primary: bool,
}

impl Diagnostic {
    /// A finding without a place yet.
    pub fn new(severity: Severity, code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Diagnostic { code, severity, message, labels: Vec::new(), help: None, url: None }
    }

    /// A finding of severity error.
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Diagnostic::new(Severity::Error, code, message)
    }

    /// A finding of severity warning.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Diagnostic::new(Severity::Warning, code, message)
    }

    /// A finding of severity note.
    pub fn note(code: &'static str, message: impl Into<String>) -> Self {
        Diagnostic::new(Severity::Note, code, message)
    }

    /// Adds a place.
    #[must_use]
    pub fn with_label(mut self, label: Label) -> Self {
        self.labels.push(label);
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Says where to read more.
    #[must_use]
    pub fn with_url(mut self, url: impl Into<String>) -> Self {
        self.url = Some(url.into());
        self
    }

    /// *The* place: the first primary label, or the first of all.
    pub fn place(&self) -> Option<&Label> {
        self.labels.iter().find(|label| label.primary).or(self.labels.first())
    }

    /// The order of every report: file, line, column, code; then what is left, so that equal input
    /// gives equal output whatever order the checks ran in.
    pub fn order(&self, other: &Self) -> Ordering {
        fn key(diagnostic: &Diagnostic) -> Option<(&str, Option<(u32, u32)>)> {
            let label = diagnostic.place()?;
            Some((&label.file, label.span.map(|span| (span.line, span.column))))
        }
        key(self)
            .cmp(&key(other))
            .then_with(|| self.code.cmp(other.code))
            .then_with(|| self.severity.cmp(&other.severity))
            .then_with(|| self.message.cmp(&other.message))
    }
}

impl Label {
    /// The place a finding is about.
    pub fn primary(file: impl Into<String>, span: Span, text: impl Into<String>) -> Self {
        let (file, text) = (file.into(), text.into());
        Label { file, span: Some(span), text, primary: true, ..Label::default() }
    }

    /// A place that explains a finding.
    pub fn secondary(file: impl Into<String>, span: Span, text: impl Into<String>) -> Self {
        Label { primary: false, ..Label::primary(file, span, text) }
    }

    /// The file as a whole.
    pub fn whole(file: impl Into<String>) -> Self {
        Label { file: file.into(), primary: true, ..Label::default() }
    }

    /// Says which object it is.
    #[must_use]
    pub fn of_object(mut self, object: impl Into<String>) -> Self {
        self.object = Some(object.into());
        self
    }

    /// Says which field it is.
    #[must_use]
    pub fn at_field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }
}

/// Puts findings into the order of every report. Stable.
pub fn sort(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by(Diagnostic::order);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_by_place_then_code() {
        let at = |file: &str, line, column, code| {
            let span = Span { line, column, ..Span::default() };
            Diagnostic::error(code, "x").with_label(Label::primary(file, span, ""))
        };
        let whole = Diagnostic::note("LB2", "x").with_label(Label::whole("b"));
        let nowhere = Diagnostic::note("LB3", "x");
        let sorted = [
            nowhere,
            at("a", 9, 9, "LB9"),
            whole,
            at("b", 1, 1, "LB9"),
            at("b", 1, 2, "LB1"),
            at("b", 1, 2, "LB3"),
            at("b", 10, 1, "LB1"),
        ];
        let mut mixed: Vec<_> = sorted.iter().rev().cloned().collect();
        sort(&mut mixed);
        assert_eq!(mixed, sorted);
    }

    #[test]
    fn the_place_is_the_first_primary_label() {
        let span = Span::default();
        let diagnostic = Diagnostic::error("LB1", "x")
            .with_label(Label::secondary("a", span, ""))
            .with_label(Label::primary("b", span, ""));
        assert_eq!(diagnostic.place().map(|label| label.file.as_str()), Some("b"));
    }
}
