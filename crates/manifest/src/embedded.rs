//! From a place in a string's text to the place where it is written.
//!
//! A string in YAML is not what is written: quotes double, backslashes escape, blocks are indented.
//! Each translation walks both texts together and gives up at the first difference it cannot
//! explain, so a wrong place is never given, only none.

use std::ops::Range;

use crate::Style;

/// What is written at a scalar, and where that begins in the file. For a literal block: from the
/// start of its first line.
pub(crate) struct Written<'a> {
    pub start: usize,
    pub text: &'a str,
}

/// Translates a range of `text` into one of `written.text`.
pub(crate) fn translate(
    written: &Written<'_>,
    style: Style,
    text: &str,
    range: Range<usize>,
) -> Option<Range<usize>> {
    let start = translate_one(written.text, style, text, range.start)?;
    if range.is_empty() {
        return Some(start..start);
    }
    // The end is one past the last character: that character is there, what follows may not be.
    let last = text.get(..range.end)?.char_indices().next_back()?.0;
    let end = translate_one(written.text, style, text, last)?;
    let wide = matches!(style, Style::SingleQuoted | Style::DoubleQuoted);
    let width = if wide {
        char_width(written.text.get(end..)?, style)?
    } else {
        written.text.get(end..)?.chars().next()?.len_utf8()
    };
    Some(start..end + width)
}

fn translate_one(written: &str, style: Style, text: &str, at: usize) -> Option<usize> {
    match style {
        Style::Plain => (written == text).then_some(at),
        Style::Literal => literal(written, text, at),
        Style::SingleQuoted | Style::DoubleQuoted => quoted(written, style, text, at),
        Style::Folded => None,
    }
}

/// Lines correspond one to one; each is its text behind some indentation.
fn literal(written: &str, text: &str, at: usize) -> Option<usize> {
    let mut before = 0;
    let mut written_before = 0;
    let mut written_lines = written.split_inclusive('\n');
    for line in text.split_inclusive('\n') {
        let written_line = written_lines.next()?;
        let bare = line.trim_end_matches(['\n', '\r']);
        let written_bare = written_line.trim_end_matches(['\n', '\r']);
        // The span is cut after its last visible character, so its last line may lack spaces.
        let indentation = match written_bare.strip_suffix(bare) {
            Some(indentation) => indentation,
            None => written_bare.strip_suffix(bare.trim_end())?,
        };
        if indentation.bytes().any(|byte| byte != b' ') {
            return None;
        }
        if at < before + line.len() {
            let inside = (at - before).min(written_bare.len() - indentation.len());
            return Some(written_before + indentation.len() + inside);
        }
        before += line.len();
        written_before += written_line.len();
    }
    None
}

/// Characters correspond one to one, some written with an escape. Only on one line: folding is
/// not followed.
fn quoted(written: &str, style: Style, text: &str, at: usize) -> Option<usize> {
    if written.contains(['\n', '\r']) {
        return None;
    }
    let mut place = 1;
    for (index, wanted) in text.char_indices() {
        if index >= at {
            return Some(place);
        }
        let rest = written.get(place..)?;
        let width = char_width(rest, style)?;
        let plain = rest.chars().next()?;
        if width == plain.len_utf8() && plain != wanted {
            return None;
        }
        place += width;
    }
    Some(place)
}

/// How many bytes the first character of a quoted text takes as written.
fn char_width(rest: &str, style: Style) -> Option<usize> {
    let first = rest.chars().next()?;
    match (style, first) {
        (Style::SingleQuoted, '\'') => rest.starts_with("''").then_some(2),
        (Style::DoubleQuoted, '\\') => {
            let digits = match rest.chars().nth(1)? {
                'x' => 2,
                'u' if is_high_surrogate(rest) => 10,
                'u' => 4,
                'U' => 8,
                other => return Some(1 + other.len_utf8()),
            };
            (rest.len() >= 2 + digits).then_some(2 + digits)
        }
        _ => Some(first.len_utf8()),
    }
}

/// `\ud83d\ude00` is one character.
fn is_high_surrogate(rest: &str) -> bool {
    let unit = rest.get(2..6).and_then(|digits| u16::from_str_radix(digits, 16).ok());
    unit.is_some_and(|unit| (0xD800..0xDC00).contains(&unit)) && rest.get(6..8) == Some("\\u")
}
