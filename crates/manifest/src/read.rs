//! From bytes to documents and problems.
//!
//! Order of trials for a file: is it a text at all; is it JSON; is it YAML; if its name or its content says so,
//! is it Markdown with manifests in it; is it prose. YAML is tried as a whole first, because that is the fast
//! way and nearly all files are fine; only when it fails is it cut at its `---` lines, so that one
//! broken document does not hide the others.

mod accept;
mod decode;

use std::{borrow::Cow, sync::Arc};

use serde_json::Value;

use crate::{
    Diagnostic, Document, Label, Limits, Origin, Severity, Source, Span, diagnostic, elision,
    failure::{Failure, Parsed, Piece},
    json, markdown, prose, rules,
    source::BOM,
    yaml,
};

/// From a kind to its apiVersion.
pub type Infer<'a> = &'a dyn Fn(&str) -> Option<String>;

/// From a value to what it looks like.
pub type Guess<'a> = &'a dyn Fn(&Value) -> Option<String>;

/// From a value without apiVersion and kind to what it is after all.
pub type Known<'a> = &'a dyn Fn(&Value) -> Option<Stranger>;

/// A document that is no object of an API, and that the caller knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stranger {
    /// Of use: it becomes a document that diagnostics call by this name.
    Useful(String),
    /// Meant for others, such as `a file for os-net-config`: left alone, with a note.
    Other(String),
}

/// What the caller lends to [`read`].
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// What the file may cost.
    pub limits: Limits,
    /// From a kind to its apiVersion, for documents that lack one. Without it, or where it gives
    /// `None`, such a document is an error.
    pub infer: Option<Infer<'a>>,
    /// What a document without apiVersion and kind looks like, to end the sentence "looks like …":
    /// `part of the spec of a NetConfig`, `a file for os-net-config`.
    pub guess: Option<Guess<'a>>,
    /// Files (not blocks of a text) that have no apiVersion and kind and are all right that way.
    pub known: Option<Known<'a>>,
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// What was in a file.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The text, for [`Sources`](crate::Sources) and thereby for excerpts.
    pub source: Arc<Source>,
    /// The objects, in the order of the file. All have an apiVersion and a kind.
    pub documents: Vec<Document>,
    /// Mappings that are no objects because apiVersion or kind is missing. They are reported in
    /// `problems`; they are here so that misspelt fields in them can be found all the same.
    pub fragments: Vec<Document>,
    /// What is wrong with the text, in the order of the file.
    pub problems: Vec<Diagnostic>,
}

/// Reads a file's bytes under the name it is to have in diagnostics.
///
/// YAML with any number of documents, JSON (also several values in a row), lists of objects (`kind: List` and
/// `SomethingList`), and Markdown or other text with fenced blocks. Never fails: what cannot be
/// read is a problem in the result.
pub fn read(name: &str, bytes: &[u8], options: &Options<'_>) -> Reading {
    let (source, problem) = decode::decode(name, bytes, &options.limits);
    let mut reader = Reader::new(Arc::new(source), options);
    match problem {
        Some(problem) => reader.problems.push(problem),
        None => reader.file(),
    }
    if reader.unreported > 0 {
        let message = format!("{} more problems in this file", reader.unreported);
        let more = Diagnostic::new(reader.worst, rules::MORE, message);
        reader.problems.push(more.with_label(Label::whole(name)));
    }
    diagnostic::sort(&mut reader.problems);
    let Reader { source, documents, fragments, problems, .. } = reader;
    Reading { source, documents, fragments, problems }
}

/// The part of a file being read, for messages.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Context<'a> {
    /// The file itself.
    File,
    /// A fenced block of a text.
    Block {
        /// Line of the fence.
        line: u32,
        /// The paragraph before it.
        before: &'a str,
    },
}

impl Context<'_> {
    fn origin(self) -> Origin {
        match self {
            Context::File => Origin::File,
            Context::Block { line, .. } => Origin::Block { line },
        }
    }
}

pub(crate) struct Reader<'a> {
    pub source: Arc<Source>,
    pub options: &'a Options<'a>,
    pub documents: Vec<Document>,
    pub fragments: Vec<Document>,
    pub problems: Vec<Diagnostic>,
    budget: yaml::Budget,
    /// Problems past [`REPORTED`], and the severity of the worst of them.
    unreported: usize,
    worst: Severity,
}

/// Problems reported in one file. Who has a thousand has one cause; and a few bytes of input must
/// not become hundreds of bytes of report for each of them.
const REPORTED: usize = 1000;

impl<'a> Reader<'a> {
    fn new(source: Arc<Source>, options: &'a Options<'a>) -> Self {
        let (documents, fragments, problems) = (Vec::new(), Vec::new(), Vec::new());
        Reader {
            source,
            options,
            documents,
            fragments,
            problems,
            budget: yaml::Budget::default(),
            unreported: 0,
            worst: Severity::Note,
        }
    }

    fn file(&mut self) {
        let source = Arc::clone(&self.source);
        let mark = if source.text().starts_with(BOM) { BOM.len() } else { 0 };
        let text = source.text().get(mark..).unwrap_or_default();
        if is_blank(text) {
            let what = if text.trim().is_empty() {
                "the file is empty"
            } else {
                "the file holds only comments"
            };
            self.problems.push(
                Diagnostic::warning(rules::EMPTY, what)
                    .with_label(Label::whole(source.name()))
                    .with_help("did the command that should have written it fail?"),
            );
            return;
        }
        let blocks = markdown::blocks(&source);
        if !blocks.is_empty() && markdown::is_named_so(source.name()) {
            return markdown::read(self, &blocks);
        }
        self.stream(Piece::of(&source, mark..source.text().len()), Context::File);
        let broken = self
            .problems
            .iter()
            .any(|problem| matches!(problem.code, rules::YAML | rules::JSON | rules::KEY));
        if self.documents.is_empty()
            || (broken && !has_extension(source.name(), &["yaml", "yml", "json"]))
        {
            if !blocks.is_empty() {
                *self = Reader::new(source, self.options);
                markdown::read(self, &blocks);
            } else if self.documents.is_empty() && prose::reads_like_prose(text) {
                *self = Reader::new(Arc::clone(&source), self.options);
                self.problems.push(
                    Diagnostic::error(rules::PROSE, "this is a text, not a manifest")
                        .with_label(Label::primary(source.name(), first_line(&source, mark), "reads like prose"))
                        .with_help("give the manifests themselves (YAML or JSON), or Markdown with the manifests in fenced blocks (```yaml)"),
                );
            }
        }
    }

    /// Reads a piece that should be JSON or YAML.
    pub fn stream(&mut self, piece: Piece<'_>, context: Context<'_>) {
        let mut json_failure = None;
        let start = piece.text.trim_start();
        let template = start.starts_with("{{") || start.starts_with("{%");
        if start.starts_with(['{', '[']) && !template {
            match json::stream(piece, &self.options.limits) {
                Ok(documents) => {
                    return self.accept_all(documents, context);
                }
                Err(failure) => json_failure = Some(failure),
            }
        }
        // YAML would forgive a comma too many; who reads a file called .json would not.
        let strict =
            matches!(context, Context::File) && has_extension(self.source.name(), &["json"]);
        if strict && let Some(failure) = json_failure {
            return self.fail(failure);
        }
        let margin = elision::at_margin(piece);
        let mut failure = None;
        if margin.is_none() {
            match self.yaml(piece) {
                Ok(documents) => {
                    return self.accept_all(documents, context);
                }
                Err(error) => failure = Some(error),
            }
        }
        let chunks = chunks(piece);
        if let ([_], Some(failure)) = (chunks.as_slice(), json_failure) {
            // What begins like JSON is meant as JSON, unless only dots are in the way.
            if elision::anywhere(piece).is_none() {
                return self.fail(failure);
            }
        }
        if let Some(error) = failure.filter(|error| {
            error.code == rules::LIMIT && self.budget.is_spent(&self.options.limits)
        }) {
            return self.fail(error);
        }
        self.budget = yaml::Budget::default();
        for chunk in chunks {
            self.chunk(chunk, context);
            if self.budget.is_spent(&self.options.limits) {
                break;
            }
        }
    }

    /// Reads what stands between two `---`.
    fn chunk(&mut self, piece: Piece<'_>, context: Context<'_>) {
        let failure = match elision::at_margin(piece) {
            None => match self.yaml(piece) {
                Ok(documents) => {
                    return self.accept_all(documents, context);
                }
                Err(failure) => Some(failure),
            },
            Some(_) => None,
        };
        let blanked = elision::anywhere(piece);
        let text = blanked
            .as_ref()
            .map_or(Cow::Borrowed(piece.text), |blanked| Cow::Borrowed(blanked.text.as_str()));
        match (self.yaml(Piece { text: &text, ..piece }), blanked) {
            (Ok(documents), Some(blanked)) => {
                for (index, mut parsed) in documents.into_iter().enumerate() {
                    if index == 0 {
                        parsed.elided.extend(&blanked.places);
                        parsed.elided.sort_unstable();
                    }
                    self.accept(parsed, context);
                }
            }
            (Ok(documents), None) => self.accept_all(documents, context),
            (Err(error), _) => self.fail(failure.unwrap_or(error)),
        }
    }

    fn accept_all(&mut self, documents: Vec<Parsed>, context: Context<'_>) {
        for parsed in documents {
            self.accept(parsed, context);
        }
    }

    fn yaml(&mut self, piece: Piece<'_>) -> Result<Vec<Parsed>, Failure> {
        yaml::stream(piece, &self.options.limits, &mut self.budget)
    }

    pub fn fail(&mut self, failure: Failure) {
        if self.problems.len() < REPORTED {
            self.problems.push(failure.into_diagnostic(&self.source));
        } else {
            self.unreported += 1;
            self.worst = self.worst.min(failure.severity);
        }
    }

    /// Reports places where something was left out, as one finding.
    pub fn report_elided(&mut self, places: &[Span], context: Context<'_>) {
        let [first, others @ ..] = places else { return };
        let severity = match context {
            Context::File => Severity::Error,
            Context::Block { .. } => Severity::Warning,
        };
        let lines = in_lines(places.iter().map(|place| place.line));
        let mut failure = Failure::new(
            rules::ELISION,
            *first,
            format!("`...` in {lines} stands for something left out"),
        )
        .severity(severity)
        .label("left out here")
        .help("fill it in; what is there was read without it");
        for place in others.iter().take(4) {
            failure = failure.related(*place, "and here");
        }
        self.fail(failure);
    }
}

/// `lines 3, 7 and 12`
pub(crate) fn in_lines(lines: impl Iterator<Item = u32>) -> String {
    let lines: Vec<String> = lines.map(|line| line.to_string()).collect();
    match lines.as_slice() {
        [] => String::new(),
        [one] => format!("line {one}"),
        [first, ..] if lines.len() > 8 => format!("{} lines from {first} on", lines.len()),
        [all @ .., last] => format!("lines {} and {last}", all.join(", ")),
    }
}

/// Nothing but space, comments and document marks.
fn is_blank(text: &str) -> bool {
    text.lines()
        .map(str::trim)
        .all(|line| line.is_empty() || line.starts_with('#') || line == "---" || line == "...")
}

/// Whether a file's name ends in one of some extensions.
pub(crate) fn has_extension(name: &str, extensions: &[&str]) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    extension
        .is_some_and(|extension| extensions.iter().any(|one| extension.eq_ignore_ascii_case(one)))
}

/// The first line with something in it.
fn first_line(source: &Source, from: usize) -> Span {
    let text = source.text().get(from..).unwrap_or_default();
    let start = from + (text.len() - text.trim_start().len());
    let length = source
        .text()
        .get(start..)
        .and_then(|rest| rest.lines().next())
        .map_or(0, |line| line.trim_end().len());
    source.span(start, start + length)
}

/// Cuts a piece at its `---` lines; the mark stays with what follows it.
fn chunks(piece: Piece<'_>) -> Vec<Piece<'_>> {
    let mut chunks = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in piece.text.split_inclusive('\n') {
        let rest = line.strip_prefix("---");
        let marks =
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']));
        if at > start && marks {
            chunks.push(piece.part(start..at));
            start = at;
        }
        at += line.len();
    }
    chunks.push(piece.part(start..at));
    chunks
}
