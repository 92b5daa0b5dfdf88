//! A file's text, its lines, and places in it.

/// A stretch of a file.
///
/// Offsets count bytes, because that is what slicing needs; line and column are one-based and count
/// characters, because that is what editors show. Thirty-two bits each: there are two of these for
/// every field of every manifest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// Line of `start`, from 1.
    pub line: u32,
    /// Column of `start`, from 1, in characters.
    pub column: u32,
}

impl Span {
    /// The bytes, for slicing the file's text.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A place in a text without an extent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
}

/// Offsets in this crate fit 32 bits because larger files are refused; this says so in one place.
pub(crate) fn offset(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// A file as it was given: its name, its text and where its lines begin.
///
/// A line ends at `\n`, `\r\n` or a lone `\r`, as YAML has it. A byte order mark belongs to the
/// text (offsets stay the file's) but takes no column.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    text: String,
    /// Offset of each line's first byte.
    lines: Vec<u32>,
    ascii: bool,
}

/// The byte order mark of UTF-8.
pub(crate) const BOM: &str = "\u{feff}";

impl Source {
    /// Takes a text under a name.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let bytes = text.as_bytes();
        let mut lines = vec![0];
        for (at, byte) in bytes.iter().enumerate() {
            let ends = *byte == b'\n' || (*byte == b'\r' && bytes.get(at + 1) != Some(&b'\n'));
            if ends {
                lines.push(offset(at + 1));
            }
        }
        Source { name: name.into(), ascii: text.is_ascii(), text, lines }
    }

    /// The name the caller gave.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many lines there are; an empty text has one.
    pub fn line_count(&self) -> u32 {
        offset(self.lines.len())
    }

    /// The text of a span, unless it is not one of this file.
    pub fn slice(&self, span: Span) -> Option<&str> {
        self.text.get(span.range())
    }

    /// A line's text without its end and without a byte order mark; empty past the last line.
    pub fn line(&self, line: u32) -> &str {
        self.text.get(self.text_of_line(line)).unwrap_or_default()
    }

    /// Where the text of a line stands.
    pub(crate) fn text_of_line(&self, line: u32) -> std::ops::Range<usize> {
        let length = self.text.len();
        let Some(start) = self.line_start(line) else { return length..length };
        let end = self.line_start(line + 1).unwrap_or(length);
        let text = self.text.get(start..end).unwrap_or_default();
        let text = text.strip_suffix('\n').unwrap_or(text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        let marked = start == 0 && text.starts_with(BOM);
        start + if marked { BOM.len() } else { 0 }..start + text.len()
    }

    /// Offset of a line's first byte.
    pub(crate) fn line_start(&self, line: u32) -> Option<usize> {
        let index = (line as usize).checked_sub(1)?;
        self.lines.get(index).map(|start| *start as usize)
    }

    /// Line and column of an offset; an offset past the end counts as the end.
    pub fn position(&self, at: u32) -> Position {
        let at = (at as usize).min(self.text.len());
        let line = self.lines.partition_point(|start| *start as usize <= at).max(1);
        let start = self.lines.get(line - 1).map_or(0, |start| *start as usize);
        let column = if self.ascii {
            at - start
        } else {
            let before = self.text.as_bytes().get(start..at).unwrap_or_default();
            let characters = before.iter().filter(|byte| (**byte & 0xC0) != 0x80).count();
            let marked = start == 0 && at > 0 && self.text.starts_with(BOM);
            characters - usize::from(marked)
        };
        Position { line: offset(line), column: offset(column + 1) }
    }

    /// The span of a byte range, moved to character boundaries inside the text.
    pub fn span(&self, start: usize, end: usize) -> Span {
        let start = self.text.floor_char_boundary(start.min(self.text.len()));
        let end = self.text.floor_char_boundary(end.clamp(start, self.text.len())).max(start);
        let Position { line, column } = self.position(offset(start));
        Span { start: offset(start), end: offset(end), line, column }
    }

    /// Where a span ends.
    pub fn end_of(&self, span: Span) -> Position {
        self.position(span.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let source = Source::new("x", "\u{feff}añb\r\nc\rd\n\ne");
        assert_eq!(source.line_count(), 5);
        assert_eq!(
            (1..=6).map(|l| source.line(l)).collect::<Vec<_>>(),
            ["añb", "c", "d", "", "e", ""]
        );
        for (at, line, column) in [
            (0, 1, 1),
            (3, 1, 1),
            (4, 1, 2),
            (6, 1, 3),
            (9, 2, 1),
            (11, 3, 1),
            (13, 4, 1),
            (14, 5, 1),
            (99, 5, 2),
        ] {
            assert_eq!(source.position(at), Position { line, column }, "offset {at}");
        }
    }

    #[test]
    fn spans_stay_inside_and_on_characters() {
        let source = Source::new("x", "ñ");
        assert_eq!(source.span(1, 9), Span { start: 0, end: 2, line: 1, column: 1 });
        assert_eq!(source.span(7, 3), Span { start: 2, end: 2, line: 1, column: 2 });
    }
}
