//! What a parser has to say, before it is known which file and which block it was reading.

use serde_json::Value;

use crate::{Diagnostic, Label, Node, Severity, Source, Span, source::offset};

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

/// A piece of a file to be parsed: whole lines, and where they stand in the file. The text may
/// differ from the file's in what is blanked out, never in length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    pub text: &'a str,
    /// Offset of the first byte in the file.
    pub offset: usize,
    /// Line of the first byte in the file, from 1.
    pub line: u32,
}

impl Piece<'_> {
    /// A span of the piece's text as one of the file.
    pub fn place(self, span: Span) -> Span {
        let base = offset(self.offset);
        let (start, end) = (span.start + base, span.end + base);
        Span { start, end, line: span.line + self.line - 1, column: span.column }
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
