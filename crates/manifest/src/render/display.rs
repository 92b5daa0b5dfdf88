//! Text from files, made safe and measurable for a terminal.
//!
//! A manifest from a stranger may hold escape sequences or characters that reorder the line. What is printed is
//! made of visible characters only; the width of each is known, so that carets stand under what
//! they mean.

use std::fmt::Write as _;

/// Columns a tab takes; it is printed as spaces.
const TAB: usize = 4;

/// A line as printed, with the column at which each of its characters begins.
pub(super) struct Line {
    cells: Vec<Cell>,
    /// One more than there are cells: the last is where the line ends.
    columns: Vec<usize>,
}

/// One character of the file as printed.
struct Cell {
    text: String,
    width: usize,
}

impl Line {
    pub fn new(text: &str) -> Self {
        let cells: Vec<Cell> = text.chars().map(cell).collect();
        let mut columns = vec![0];
        let mut column = 0;
        for cell in &cells {
            column += cell.width;
            columns.push(column);
        }
        Line { cells, columns }
    }

    /// How many characters there are.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Columns before a character, from 0; past the end, as if spaces followed.
    pub fn column(&self, character: usize) -> usize {
        let last = self.columns.last().copied().unwrap_or_default();
        let past = character.saturating_sub(self.cells.len());
        self.columns.get(character).copied().unwrap_or(last + past)
    }

    /// Some characters as printed.
    pub fn text(&self, range: std::ops::Range<usize>) -> String {
        let cells = self.cells.get(range).unwrap_or_default();
        cells.iter().map(|cell| cell.text.as_str()).collect()
    }
}

/// A message without anything that a terminal would act on.
pub(super) fn safe(text: &str) -> String {
    text.chars().map(|c| if c == '\t' { " ".to_owned() } else { cell(c).text }).collect()
}

fn cell(c: char) -> Cell {
    if c == '\t' {
        return Cell { text: " ".repeat(TAB), width: TAB };
    }
    if is_dangerous(c) {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = write!(text, "\\u{{{:x}}}", u32::from(c));
        return Cell { width: text.len(), text };
    }
    Cell { text: c.to_string(), width: width(c) }
}

/// Control characters, and those that hide or reorder others.
fn is_dangerous(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{61c}' | '\u{e0000}'..='\u{e007f}')
}

/// Columns of a character: the wide ones of East Asia and emoji take two, combining marks none.
/// An approximation of UAX 11 that needs no tables; off by a column at worst.
fn width(c: char) -> usize {
    match u32::from(c) {
        0x300..=0x36F | 0xFE00..=0xFE0F => 0,
        0x1100..=0x115F
        | 0x2E80..=0xA4CF
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60
        | 0xFFE0..=0xFFE6
        | 0x1F300..=0x1F64F
        | 0x1F900..=0x1F9FF
        | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_terminal_acts_on() {
        for (text, shown) in [
            ("plain", "plain"),
            ("\x1b[31mred", "\\u{1b}[31mred"),
            ("a\u{202e}b", "a\\u{202e}b"),
            ("a\nb\tc", "a\\u{a}b c"),
            ("naïve", "naïve"),
        ] {
            assert_eq!(safe(text), shown);
        }
    }

    #[test]
    fn columns() {
        let line = Line::new("\ta網\x07b");
        assert_eq!((0..7).map(|at| line.column(at)).collect::<Vec<_>>(), [0, 4, 5, 7, 12, 13, 14]);
    }
}
