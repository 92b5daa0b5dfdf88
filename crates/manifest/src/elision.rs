//! `...` where an author left something out.
//!
//! In documentation three dots mean "and so on". To YAML, three dots at the margin end the document and
//! elsewhere they are a text, so an example with them parses as something else or not at all.
//! What is found here is blanked out, byte by byte, so that the places of all the rest stay right.

use crate::{Span, failure::Piece};

/// A text without its elisions, and where they were.
pub(crate) struct Blanked {
    pub text: String,
    pub places: Vec<Span>,
}

/// Dots at the margin with more of the same document after them. Alone they could be YAML's own
/// end of a document, so the parser would not complain.
pub(crate) fn at_margin(piece: Piece<'_>) -> Option<Blanked> {
    // Nearly all files end here.
    if !piece.text.contains("\n...") && !piece.text.contains("\n…") {
        return None;
    }
    blank(piece, |line, rest| is_dots(line) && line.starts_with(['.', '…']) && goes_on(rest))
}

/// All lines that are nothing but dots, or an item of dots.
pub(crate) fn anywhere(piece: Piece<'_>) -> Option<Blanked> {
    blank(piece, |line, _| is_dots(line))
}

fn is_dots(line: &str) -> bool {
    let text = line.trim();
    let text = text.strip_prefix("- ").map_or(text, str::trim_start);
    let text = text.split_once(" #").map_or(text, |(text, _)| text.trim_end());
    matches!(text, "..." | "…" | "[...]" | "<...>" | "....")
}

/// Whether what follows belongs to the same document.
fn goes_on(rest: &str) -> bool {
    // A look ahead, not a search: a file of nothing but dots must not cost its square.
    let next = rest.lines().take(100).find(|line| {
        let text = line.trim();
        !text.is_empty() && !text.starts_with('#') && !is_dots(text)
    });
    next.is_some_and(|line| {
        !["---", "%", "apiVersion:", "kind:", "{"].iter().any(|start| line.starts_with(start))
    })
}

fn blank(piece: Piece<'_>, is_elision: impl Fn(&str, &str) -> bool) -> Option<Blanked> {
    let mut text = String::with_capacity(piece.text.len());
    let mut places = Vec::new();
    for line in piece.text.split_inclusive('\n') {
        let rest = piece.text.get(text.len() + line.len()..).unwrap_or_default();
        let bare = line.trim_end();
        if !is_elision(bare, rest) {
            text.push_str(line);
            continue;
        }
        let start = text.len() + (bare.len() - bare.trim_start().len());
        places.push(piece.span(start, text.len() + bare.len()));
        text.extend(std::iter::repeat_n(' ', bare.len()));
        text.push_str(line.get(bare.len()..).unwrap_or_default());
    }
    (!places.is_empty()).then_some(Blanked { text, places })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;

    fn with<T>(text: &str, test: impl FnOnce(Piece<'_>) -> T) -> T {
        let before = "01234567\n\n";
        let source = Source::new("t", format!("{before}{text}"));
        test(Piece::of(&source, before.len()..before.len() + text.len()))
    }

    #[test]
    fn dots_at_the_margin() {
        for (text, blanked) in [
            ("spec:\n...\n  options: 1\n", Some("spec:\n   \n  options: 1\n")),
            ("a: 1\n...\n", None),
            ("a: 1\n...\n---\nb: 1\n", None),
            ("a: 1\n...\napiVersion: v1\n", None),
            ("a: 1\n...\n# more\n\nb: 1\n", Some("a: 1\n   \n# more\n\nb: 1\n")),
            ("a: |\n  ...\n  x\n", None),
        ] {
            assert_eq!(with(text, at_margin).map(|b| b.text).as_deref(), blanked, "{text:?}");
        }
    }

    #[test]
    fn dots_anywhere() {
        let Blanked { text, places } =
            with("a:\r\n  ...\r\n  b: 1\r\n  - … # x\r\n...", anywhere).unwrap();
        assert_eq!(text, "a:\r\n     \r\n  b: 1\r\n           \r\n   ");
        let at: Vec<_> =
            places.iter().map(|span| (span.line, span.column, span.start, span.end)).collect();
        assert_eq!(at, [(4, 3, 16, 19), (6, 3, 31, 40), (7, 1, 42, 45)]);
        assert!(with("a: ...b\n", anywhere).is_none());
    }
}
