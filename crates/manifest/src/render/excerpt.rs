//! The part of a line that is shown, and where the mark under it stands.
//!
//! A line may be as long as the file (JSON without line breaks), so only the bytes near the mark are looked at.

use super::display::Line;
use crate::{Source, Span};

/// Stands for what is cut off.
const CUT: &str = "...";

/// Bytes looked at before and after the start of the mark; more than any terminal shows.
const NEAR: usize = 4096;

/// Columns below which cutting would leave nothing to see.
const NARROWEST: usize = 20;

pub(super) struct Excerpt {
    line: Line,
    /// The marked characters of `line`.
    start: usize,
    end: usize,
    /// The shown characters of `line`.
    from: usize,
    to: usize,
    /// Whether the file's line goes on before and after what is shown.
    cut: (bool, bool),
}

impl Excerpt {
    /// The line a span starts on, around the span.
    pub fn of(source: &Source, span: Span, width: usize) -> Self {
        let whole = source.line(span.line);
        let line_start = source.text_of_line(span.line).start;
        let at = (span.start as usize).saturating_sub(line_start).min(whole.len());
        let left = whole.floor_char_boundary(at.saturating_sub(NEAR));
        let right = whole.floor_char_boundary((at + NEAR).min(whole.len()));
        let near = whole.get(left..right).unwrap_or_default();
        let characters = |to: usize| {
            let to = whole.floor_char_boundary(to.clamp(left, right));
            whole.get(left..to).unwrap_or_default().chars().count()
        };
        let start = characters(at);
        let end = characters((span.end as usize).saturating_sub(line_start)).max(start);
        let line = Line::new(near);
        let (from, to) = window(&line, start, end, width.max(NARROWEST), left > 0);
        let cut = (left > 0 || from > 0, right < whole.len() || to < line.len());
        Excerpt { line, start, end, from, to, cut }
    }

    /// The start of a line.
    pub fn start_of(source: &Source, line: u32, width: usize) -> Self {
        let start = crate::source::offset(source.text_of_line(line).start);
        Excerpt::of(source, Span { start, end: start, line, column: 1 }, width)
    }

    /// What is shown.
    pub fn text(&self) -> String {
        let left = if self.cut.0 { CUT } else { "" };
        let right = if self.cut.1 { CUT } else { "" };
        format!("{left}{}{right}", self.line.text(self.from..self.to))
    }

    /// Whether another mark on the same line needs another excerpt.
    pub fn is_cut(&self) -> bool {
        self.cut.0 || self.cut.1
    }

    /// Columns before the mark, and of the mark. There is one even under nothing.
    pub fn mark(&self) -> (usize, usize) {
        let left = if self.cut.0 { CUT.len() } else { 0 };
        let (from, to) = (self.line.column(self.start), self.line.column(self.end.min(self.to)));
        let indentation = from.saturating_sub(self.line.column(self.from)) + left;
        (indentation, to.saturating_sub(from).max(1))
    }
}

/// The whole line if it fits, otherwise what stands around the mark, more of it to the right,
/// where the value is.
fn window(line: &Line, start: usize, end: usize, room: usize, begun: bool) -> (usize, usize) {
    if !begun && line.column(line.len()) <= room {
        return (0, line.len());
    }
    let left = line.column(start).saturating_sub(room / 4);
    let from = if !begun && line.column(end) <= room - CUT.len() {
        0
    } else {
        (0..line.len()).find(|at| line.column(*at) >= left).unwrap_or(0)
    };
    let limit = line.column(from) + room;
    let to = (from..=line.len()).take_while(|at| line.column(*at) <= limit).last();
    (from, to.unwrap_or(from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, start: usize, end: usize) -> (String, String) {
        let source = Source::new("t", text);
        let excerpt = Excerpt::of(&source, source.span(start, end), 30);
        let (indentation, width) = excerpt.mark();
        let text = excerpt.text();
        let under: String = text.chars().skip(indentation).take(width).collect();
        (text, under)
    }

    #[test]
    fn the_mark_stands_under_what_it_means() {
        let words: Vec<String> = (0..2000).map(|number| format!("{number:04}")).collect();
        let long = words.join(" ") + " ";
        for (text, start, end, excerpt, under) in [
            ("short: value", 7, 12, "short: value", "value"),
            ("short:", 6, 6, "short:", ""),
            (long.as_str(), 0, 4, "0000 0001 0002 0003 0004 0005 ...", "0000"),
            (long.as_str(), 5000, 5004, "...8 0999 1000 1001 1002 1003 100...", "1000"),
            (long.as_str(), 9995, 9999, "...7 1998 1999 ", "1999"),
            (
                long.as_str(),
                5000,
                9999,
                "...8 0999 1000 1001 1002 1003 100...",
                "1000 1001 1002 1003 100",
            ),
        ] {
            let (text, marked) = shown(text, start, end);
            assert_eq!((text.as_str(), marked.as_str()), (excerpt, under), "{start}..{end}");
        }
    }
}
