//! What a parser has to say, before it is known which file and which block it was reading.

use serde_json::Value;

use crate::{Diagnostic, Label, Node, Severity, Source, Span};

/// A problem at a place. Small, because every step of a parser can return one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub code: &'static str,
    pub severity: Severity,
    pub span: Span,
    said: Box<Said>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Said {
    message: String,
    /// What stands under the caret.
    label: String,
    help: Option<String>,
    /// Other places that matter, each with what it is.
    related: Vec<(Span, String)>,
}

impl Failure {
    pub fn new(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        let said = Box::new(Said { message: message.into(), ..Said::default() });
        Failure { code, severity: Severity::Error, span, said }
    }

    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.said.label = text.into();
        self
    }

    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.said.help = Some(text.into());
        self
    }

    pub fn related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.said.related.push((span, text.into()));
        self
    }

    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    pub fn into_diagnostic(self, source: &Source) -> Diagnostic {
        let Said { message, label, help, related } = *self.said;
        let mut diagnostic = Diagnostic::new(self.severity, self.code, message)
            .with_label(Label::primary(source.name(), self.span, label));
        for (span, text) in related {
            diagnostic = diagnostic.with_label(Label::secondary(source.name(), span, text));
        }
        match help {
            Some(help) => diagnostic.with_help(help),
            None => diagnostic,
        }
    }
}

/// A piece of a file to be parsed, and where it stands in the file. The text may differ from the
/// file's in what is blanked out, never in length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    pub source: &'a Source,
    pub text: &'a str,
    /// Offset of the first byte in the file.
    pub offset: usize,
}

impl<'a> Piece<'a> {
    /// The file from an offset to another.
    pub fn of(source: &'a Source, range: std::ops::Range<usize>) -> Self {
        let offset = range.start;
        Piece { source, text: source.text().get(range).unwrap_or_default(), offset }
    }

    /// A part of the piece.
    pub fn part(self, range: std::ops::Range<usize>) -> Self {
        let offset = self.offset + range.start;
        Piece { text: self.text.get(range).unwrap_or_default(), offset, ..self }
    }

    /// A range of the piece's text as a place in the file.
    pub fn span(self, start: usize, end: usize) -> Span {
        self.source.span(self.offset + start, self.offset + end)
    }
}

/// A document as parsed, before anyone asks whether it is an object.
#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    pub root: Node,
    pub value: Value,
    /// What is wrong with it, although it could be read.
    pub failures: Vec<Failure>,
    /// Places where `...` stands for a value.
    pub elided: Vec<Span>,
}
