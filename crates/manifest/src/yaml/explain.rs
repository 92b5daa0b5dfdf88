//! What to do about YAML that does not parse.
//!
//! The parser names the rule that was broken. The reader wants to know which of the few usual
//! mistakes it was; the line at the place usually tells.

use granit_parser::{ErrorKind, ScanError};

use crate::{
    failure::{Failure, Piece},
    rules,
};

/// Said wherever Go or Jinja templates turn up.
pub(super) const TEMPLATE: &str = "this looks like a template: render it first (`helm template`, `kustomize build`), then check the result";

/// The failure for an error of the parser; `read` is how far the last good event reached.
pub(super) fn syntax(piece: Piece<'_>, error: &ScanError, read: usize) -> Failure {
    let at = error.marker().byte_offset().unwrap_or(0).min(piece.text.len());
    let next = piece.text.get(at..).and_then(|rest| rest.chars().next());
    let width = next.filter(|c| !matches!(c, '\n' | '\r')).map_or(0, char::len_utf8);
    let span = piece.span(at, at + width);
    let line = piece.source.line(span.line);
    let above = piece.source.line(span.line.saturating_sub(1));
    let help = help(error.kind(), line, above);
    let code = match error.kind() {
        ErrorKind::RecursionLimitExceeded => rules::LIMIT,
        _ => rules::YAML,
    };
    let message = format!("not valid YAML: {}", error.info());
    match error.kind() {
        // The parser stops where the text no longer can be one; the mistake is where it begins.
        ErrorKind::UnclosedQuotedScalar
        | ErrorKind::InvalidQuotedScalarIndent
        | ErrorKind::DocumentIndicatorInQuotedScalar => match opening_quote(piece.text, read, at) {
            Some(quote) => Failure::new(code, piece.span(quote, quote + 1), message)
                .label("a quoted text begins here")
                .related(span, "and cannot go on here"),
            None => Failure::new(code, span, message).label("YAML breaks off here"),
        },
        ErrorKind::UnclosedFlowCollection { .. } => {
            Failure::new(code, span, message).label("opened here and never closed")
        }
        _ => Failure::new(code, span, message).label("YAML breaks off here"),
    }
    .help(help)
}

/// The quote that opens the text in which the parser got lost.
fn opening_quote(text: &str, read: usize, lost: usize) -> Option<usize> {
    text.get(read..lost)?.find(['"', '\'']).map(|at| read + at)
}

fn help(kind: &ErrorKind, line: &str, above: &str) -> String {
    let text = line.trim_start();
    let indentation = line.get(..line.len() - text.len()).unwrap_or_default();
    if text.starts_with("{{") || text.contains(": {{") || text.starts_with("{%") {
        return TEMPLATE.to_owned();
    }
    if ["<<<<<<<", "=======", ">>>>>>>"].iter().any(|mark| line.starts_with(mark)) {
        return "a merge conflict is left in the file: resolve it".to_owned();
    }
    if line.contains(|c: char| c.is_control() && c != '\t') {
        return "remove the control character, or write it as an escape in double quotes"
            .to_owned();
    }
    if indentation.contains('\t') {
        return "indent with spaces: YAML does not allow tabs there".to_owned();
    }
    match kind {
        ErrorKind::UnclosedFlowCollection { .. } => "add the closing bracket, or quote the value if the bracket is part of it".to_owned(),
        ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => "is a closing quote missing on this line or before it?".to_owned(),
        _ if text.starts_with("- ") && above.contains(": ") => {
            "the line above already has a value, so a list cannot start here: is a key missing above it?".to_owned()
        }
        _ if text.starts_with(['%', '@', '`']) || text.contains(": @") || text.contains(": `") || text.contains(": %") => {
            "quote a value that starts with `%`, `@` or a backtick".to_owned()
        }
        _ if value_has_colon(text) => "quote the value: it contains `: `, which starts another mapping".to_owned(),
        _ => "compare the indentation with the lines above: keys of one mapping start in the same column".to_owned(),
    }
}

/// Whether a `key: value` line has a second `: ` in its unquoted value.
fn value_has_colon(text: &str) -> bool {
    let Some((_, value)) = text.split_once(": ") else { return false };
    !value.starts_with(['"', '\'', '#']) && value.contains(": ")
}
