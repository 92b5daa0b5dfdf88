//! Texts with manifests in them.
//!
//! Documentation is where most manifests are first met. The blocks between fences (``` or ~~~) are read where
//! they stand, so places are those of the text. Each block gets exactly one verdict: it is read, or a
//! note says what it is and what is missing. Indentation is left as it is: a mapping may start in
//! any column, and so nothing has to be moved.

mod fences;
mod judge;

use crate::{
    Diagnostic, Label, Severity,
    failure::{Failure, Piece},
    read::{Context, Reader, has_extension, in_lines},
    rules,
};

pub(crate) use fences::{Block, blocks};
pub(crate) use judge::judge_value;

/// Whether a file's name says that it is a text with markup.
pub(crate) fn is_named_so(name: &str) -> bool {
    has_extension(name, &["md", "markdown", "mdx", "mkd"])
}

/// Reads the blocks of a text.
pub(crate) fn read(reader: &mut Reader<'_>, blocks: &[Block]) {
    for block in blocks {
        read_block(reader, block);
    }
    gather(&mut reader.problems);
    if reader.documents.is_empty() {
        let count = blocks.len();
        let fenced = if count == 1 {
            "the only fenced block".to_owned()
        } else {
            format!("none of the {count} fenced blocks")
        };
        let message = if count == 1 {
            format!("{fenced} of this text is no complete manifest")
        } else {
            format!("{fenced} of this text is a complete manifest")
        };
        reader.problems.push(
            Diagnostic::warning(rules::NO_MANIFEST, message)
                .with_label(Label::whole(reader.source.name()))
                .with_help("the notes say for each block what it is; a complete manifest has apiVersion, kind and metadata"),
        );
    }
}

/// Blocks that are of no interest for the same reason are one note: a text may be full of them, and
/// what matters would be lost between.
fn gather(problems: &mut Vec<Diagnostic>) {
    const SHOWN: usize = 3;
    const LISTED: usize = 8;
    let dull = [rules::OUTPUT, rules::SCHEMA, rules::COMMANDS, rules::OTHER_BLOCK];
    let mut groups: Vec<(Diagnostic, Vec<Label>)> = Vec::new();
    let mut rest = Vec::new();
    for mut problem in problems.drain(..) {
        let known = groups
            .iter_mut()
            .find(|(first, _)| first.code == problem.code && first.message == problem.message);
        match known {
            _ if !dull.contains(&problem.code) => rest.push(problem),
            Some((_, others)) => others.append(&mut problem.labels),
            None => groups.push((problem, Vec::new())),
        }
    }
    for (mut first, others) in groups {
        if !others.is_empty() {
            let all = first.labels.iter().chain(&others);
            let lines: Vec<u32> = all.filter_map(|label| Some(label.span?.line)).collect();
            let place = match lines.as_slice() {
                [line, ..] if lines.len() > LISTED => format!("from line {line} on"),
                _ => format!("in {}", in_lines(lines.iter().copied())),
            };
            first.message = format!("{} blocks {place}: {}", others.len() + 1, first.message);
            let shown = others.into_iter().take(SHOWN);
            let text = "and this".to_owned();
            first.labels.extend(shown.map(|label| Label {
                primary: false,
                text: text.clone(),
                ..label
            }));
        }
        rest.push(first);
    }
    *problems = rest;
}

fn read_block(reader: &mut Reader<'_>, block: &Block) {
    let source = std::sync::Arc::clone(&reader.source);
    let text = source.text().get(block.content.clone()).unwrap_or_default();
    let before = fences::paragraph_before(&source, block.line);
    let context = Context::Block { line: block.line, before: &before };
    let fence = source.line_start(block.line).unwrap_or(0);
    let fence = source.span(fence, fence + source.line(block.line).trim_end().len());
    let note = |code, message: &str, help: &str| {
        Failure::new(code, fence, message).severity(Severity::Note).label("this block").help(help)
    };

    if text.trim().is_empty() {
        return;
    }
    let piece = Piece::of(&source, block.content.clone());
    let language = judge::language(&block.info);
    let failure = match language {
        judge::Language::Other(name) => note(
            rules::OTHER_BLOCK,
            &format!("a block of {name}, not a manifest"),
            "nothing to do, unless the language after the fence is wrong",
        ),
        _ if judge::is_output(text) => note(
            rules::OUTPUT,
            "output of a command, not a manifest",
            "nothing to do; to check what a command prints, feed its output with `-o yaml` as a file",
        ),
        judge::Language::Shell | judge::Language::Unknown if judge::is_shell(text, &language) => {
            if read_here_documents(reader, piece, context) {
                return;
            }
            if text.contains("--patch") || text.contains(" patch ") {
                note(
                    rules::COMMANDS,
                    "shell commands with a patch, not a manifest",
                    "what the patch changes is not in this text; apply it and check the result",
                )
            } else {
                note(rules::COMMANDS, "shell commands, not a manifest", "nothing to do")
            }
        }
        _ => return read_manifests(reader, piece, context, &language, fence),
    };
    reader.fail(failure);
}

/// Reads the here-documents of a script that look like manifests; says whether there were any.
fn read_here_documents(reader: &mut Reader<'_>, piece: Piece<'_>, context: Context<'_>) -> bool {
    let mut found = false;
    for inner in fences::here_documents(piece) {
        if judge::has_kind(inner.text) {
            found = true;
            reader.stream(inner, context);
        }
    }
    found
}

fn read_manifests(
    reader: &mut Reader<'_>,
    piece: Piece<'_>,
    context: Context<'_>,
    language: &judge::Language,
    fence: crate::Span,
) {
    let problems = reader.problems.len();
    let (documents, fragments) = (reader.documents.len(), reader.fragments.len());
    for part in fences::indented_documents(piece) {
        reader.stream(part, context);
    }
    let nothing = reader.documents.len() == documents && reader.fragments.len() == fragments;
    let unreadable = |problem: &Diagnostic| {
        matches!(problem.code, rules::YAML | rules::JSON | rules::KEY | rules::NOT_OBJECT)
    };
    let new = reader.problems.get(problems..).unwrap_or_default();
    if !nothing || !new.iter().any(unreadable) || judge::has_kind(piece.text) {
        return;
    }
    // Neither a manifest nor anything that means to be one: one note instead of syntax errors.
    reader.problems.truncate(problems);
    let message = match language {
        judge::Language::Yaml => "neither a manifest nor valid YAML, although the fence says so",
        _ => "not a manifest",
    };
    let failure = Failure::new(rules::OTHER_BLOCK, fence, message)
        .severity(Severity::Note)
        .label("this block")
        .help("if it is meant to be one, it needs apiVersion and kind");
    reader.fail(failure);
}
