//! Where the blocks of a text are.

use std::ops::Range;

use crate::{Source, failure::Piece};

/// A fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// Line of the opening fence, from 1.
    pub line: u32,
    /// What stands after the opening fence: the language, usually.
    pub info: String,
    /// The lines between the fences.
    pub content: Range<usize>,
}

/// The fenced blocks of a text. A block that is never closed goes to the end, as CommonMark has
/// it; unlike there, a fence may be indented however deep, since blocks in lists are.
pub(crate) fn blocks(source: &Source) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(Fence<'_>, u32)> = None;
    if !source.text().contains("```") && !source.text().contains("~~~") {
        return blocks;
    }
    for number in 1..=source.line_count() {
        let Some(fence) = fence(source.line(number)) else { continue };
        match &open {
            None => open = Some((fence, number)),
            Some((opening, line)) if fence.closes(opening) => {
                blocks.extend(block(source, opening, *line, Some(number)));
                open = None;
            }
            Some(_) => {}
        }
    }
    if let Some((opening, line)) = &open {
        blocks.extend(block(source, opening, *line, None));
    }
    blocks
}

fn block(source: &Source, opening: &Fence<'_>, line: u32, closing: Option<u32>) -> Option<Block> {
    let start = source.line_start(line + 1).unwrap_or(source.text().len());
    let end = match closing {
        Some(closing) => source.line_start(closing)?,
        None => source.text().len(),
    };
    Some(Block { line, info: opening.info.to_owned(), content: start..end })
}

struct Fence<'a> {
    mark: char,
    length: usize,
    info: &'a str,
}

impl Fence<'_> {
    fn closes(&self, opening: &Fence<'_>) -> bool {
        self.mark == opening.mark && self.length >= opening.length && self.info.is_empty()
    }
}

fn fence(line: &str) -> Option<Fence<'_>> {
    let text = line.trim();
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = text.trim_start_matches(mark);
    let length = text.len() - info.len();
    // Three backticks around a word in running text are no fence.
    let fence = length >= 3 && !(mark == '`' && info.contains('`'));
    fence.then_some(Fence { mark, length, info: info.trim() })
}

/// The last lines of text before a line, up to a blank one or another fence.
pub(crate) fn paragraph_before(source: &Source, line: u32) -> String {
    let mut lines = Vec::new();
    for number in (line.saturating_sub(6)..line).rev() {
        let text = source.line(number).trim();
        if text.is_empty() && lines.is_empty() {
            continue;
        }
        if text.is_empty() || fence(text).is_some() || number == 0 {
            break;
        }
        lines.push(text);
    }
    lines.reverse();
    lines.join(" ")
}

/// What stands in the here-documents (`<< EOF`) of a script.
pub(crate) fn here_documents(piece: Piece<'_>) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut open: Option<(String, usize)> = None;
    let mut at = 0;
    for line in piece.text.split_inclusive('\n') {
        match &open {
            Some((word, start)) if line.trim() == word => {
                found.push(piece.part(*start..at));
                open = None;
            }
            Some(_) => {}
            None => open = here_word(line).map(|word| (word, at + line.len())),
        }
        at += line.len();
    }
    found
}

/// The word that ends the here-document a line opens.
fn here_word(line: &str) -> Option<String> {
    let (_, after) = line.split_once("<<")?;
    let after = after.trim_start_matches(['-', ' ']);
    let after = after.trim_start_matches(['"', '\'', '\\']);
    let end = after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(after.len());
    let word = after.get(..end).unwrap_or_default();
    (!word.is_empty() && !after.starts_with('<')).then(|| word.to_owned())
}

/// Cuts at `---` that is indented, as it is in a block inside a list. YAML knows it at the margin
/// only; there it is left to the parser.
pub(crate) fn indented_documents(piece: Piece<'_>) -> Vec<Piece<'_>> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut at = 0;
    let mut margin: Option<usize> = None;
    for line in piece.text.split_inclusive('\n') {
        let indentation = line.len() - line.trim_start_matches(' ').len();
        let text = line.trim();
        if !text.is_empty() && margin.is_none() {
            margin = Some(indentation);
        }
        if text == "---" && indentation > 0 && margin == Some(indentation) {
            parts.push(piece.part(start..at));
            start = at + line.len();
        }
        at += line.len();
    }
    parts.push(piece.part(start..at));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_of_all_sorts() {
        let text = "a\n```yaml\nx: 1\n```\n  ~~~~ sh\n```\n~~~\n~~~~\n```inline``` code\n- item\n\n      ```\n      y\n      ```\n```\nopen";
        let source = Source::new("t", text);
        let found: Vec<_> = blocks(&source)
            .into_iter()
            .map(|b| (b.line, b.info, text[b.content].to_owned()))
            .collect();
        let expected = [
            (2, "yaml", "x: 1\n"),
            (5, "sh", "```\n~~~\n"),
            (12, "", "      y\n"),
            (15, "", "open"),
        ];
        let expected: Vec<_> =
            expected.iter().map(|(l, i, c)| (*l, (*i).to_owned(), (*c).to_owned())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn here_documents_of_a_script() {
        let text = "cat <<EOF\na: 1\nEOF\ncat > x <<-'END' | tee\nb: 1\n  END\ncat <<< word\ncat << OPEN\nc";
        let source = Source::new("t", text);
        let found: Vec<_> = here_documents(Piece::of(&source, 0..text.len()))
            .into_iter()
            .map(|p| (p.text, p.offset))
            .collect();
        assert_eq!(found, [("a: 1\n", 10), ("b: 1\n", 42)]);
    }

    #[test]
    fn the_paragraph_before() {
        let source = Source::new("t", "far\n\nnear one\nnear two:\n\n```\nx\n```\n");
        assert_eq!(paragraph_before(&source, 6), "near one near two:");
        assert_eq!(paragraph_before(&source, 1), "");
    }

    #[test]
    fn documents_in_an_indented_block() {
        let parts = |text: &str| {
            let source = Source::new("t", text);
            let parts = indented_documents(Piece::of(&source, 0..text.len()));
            parts.into_iter().map(|p| (p.text.to_owned(), p.offset)).collect::<Vec<_>>()
        };
        assert_eq!(
            parts("  a: 1\n  ---\n  b: 2\n"),
            [("  a: 1\n".to_owned(), 0), ("  b: 2\n".to_owned(), 13)]
        );
        assert_eq!(parts("a: |\n  ---\n"), [("a: |\n  ---\n".to_owned(), 0)]);
    }
}
