//! Lines of a configuration file: comments, quotes, `key=value`.

use super::BadOption;

/// Stands for a comma within quotes until the value is split.
const COMMA: char = '\u{e000}';

/// A line that says something.
pub(super) struct Line<'t> {
    pub number: u32,
    pub text: &'t str,
}

/// The lines that are more than a comment.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    (1..).zip(text.lines()).filter_map(|(number, text)| {
        let text = text.trim();
        (!text.is_empty() && !text.starts_with('#')).then_some(Line { number, text })
    })
}

impl Line<'_> {
    /// Key and value; `key=` is `key`.
    pub fn option(&self) -> Result<(String, Option<String>), BadOption> {
        let text = unquote(self.text)?;
        let (key, value) = match text.split_once('=') {
            Some((key, value)) => (key, Some(value.trim()).filter(|value| !value.is_empty())),
            None => (text.as_str(), None),
        };
        Ok((key.trim().to_owned(), value.map(str::to_owned)))
    }
}

/// Takes quotes and comments away; what quotes protected stays protected.
fn unquote(text: &str) -> Result<String, BadOption> {
    let (mut out, mut quoted) = (String::with_capacity(text.len()), false);
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '"' => quoted = !quoted,
            ',' if quoted => out.push(COMMA),
            '\\' if quoted => match chars.next() {
                Some('t') => out.push('\t'),
                Some('n') => out.push('\n'),
                Some('b') => out.push('\u{8}'),
                Some('r') => out.push('\r'),
                Some('e') => out.push('\u{1b}'),
                Some(',') => out.push(COMMA),
                Some(other) => out.push(other),
                None => {}
            },
            // As in a shell: only after a space it begins a comment.
            '#' if !quoted && out.ends_with(char::is_whitespace) => break,
            _ => out.push(char),
        }
    }
    if quoted {
        return Err(BadOption::new("a quote is not closed", "put a \" at the end of the text"));
    }
    out.truncate(out.trim_end().len());
    Ok(out)
}

/// The fields of a value, separated by commas.
pub(super) fn fields(value: &str) -> Vec<String> {
    value.split(',').map(|field| field.trim().replace(COMMA, ",")).collect()
}
