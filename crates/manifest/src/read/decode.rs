//! Whether a file is a text at all.

use crate::{Diagnostic, Label, Limits, Source, rules};

/// The text of a file, or what to say instead. In the latter case the source holds what can be
/// shown: the lines up to the byte that is no text.
pub(super) fn decode(name: &str, bytes: &[u8], limits: &Limits) -> (Source, Option<Diagnostic>) {
    let limit = limits.bytes.min(u32::MAX as usize - 1);
    if bytes.len() > limit {
        // Callers stop reading one byte past the limit, so the size itself is not known here.
        let message = format!("the file is larger than {}, the limit for one file", size(limit));
        let problem = Diagnostic::error(rules::TOO_LARGE, message)
            .with_label(Label::whole(name))
            .with_help("split the file; one file per network or service is easier to review, too");
        return (Source::new(name, ""), Some(problem));
    }
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        let problem = Diagnostic::error(rules::NOT_TEXT, "the file is UTF-16, manifests are UTF-8")
            .with_label(Label::whole(name))
            .with_help("convert it: `iconv -f UTF-16 -t UTF-8`");
        return (Source::new(name, ""), Some(problem));
    }
    let head = bytes.get(..bytes.len().min(8192)).unwrap_or_default();
    if head.contains(&0) {
        let problem = Diagnostic::error(rules::NOT_TEXT, "the file is binary, not text")
            .with_label(Label::whole(name))
            .with_help("give YAML, JSON or Markdown; unpack archives first");
        return (Source::new(name, ""), Some(problem));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => (Source::new(name, text), None),
        Err(error) => {
            let good = error.valid_up_to();
            let text = bytes
                .get(..good)
                .and_then(|good| std::str::from_utf8(good).ok())
                .unwrap_or_default();
            let source = Source::new(name, text);
            let byte = bytes.get(good).copied().unwrap_or_default();
            let problem = Diagnostic::error(
                rules::NOT_TEXT,
                format!("the file is not UTF-8: byte 0x{byte:02x} at offset {good}"),
            )
            .with_label(Label::primary(name, source.span(good, good), "text up to here"))
            .with_help("save the file as UTF-8 (from Latin-1: `iconv -f ISO-8859-1 -t UTF-8`)");
            (source, Some(problem))
        }
    }
}

/// `64 MiB`
fn size(bytes: usize) -> String {
    let mebi = 1 << 20;
    if bytes >= mebi && bytes.is_multiple_of(mebi) {
        format!("{} MiB", bytes / mebi)
    } else {
        format!("{bytes} bytes")
    }
}
