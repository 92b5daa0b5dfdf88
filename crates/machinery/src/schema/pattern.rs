//! `pattern`: Go's regular expressions on top of ours.
//!
//! Both descend from RE2, but differ in small ways that real CRDs trip over. In Go `\d`, `\w`, `\s`
//! and `\b` know ASCII only, `[` is an ordinary character inside a class, a `{` that starts no
//! repetition is ordinary too, and `\Q…\E` quotes. The translation here covers these.

use std::iter::Peekable;
use std::str::Chars;

use regex::{Regex, RegexBuilder};

/// How much memory one compiled pattern may take; upstream has a like limit on program size.
const SIZE_LIMIT: usize = 4 << 20;

/// Compiles a pattern written for Go.
pub(super) fn compile(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(&translate(pattern))
        .size_limit(SIZE_LIMIT)
        .dfa_size_limit(SIZE_LIMIT)
        .nest_limit(100)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "expression too large".to_owned(),
            // The parser draws the spot over several lines; the last line says what is wrong.
            other => other.to_string().lines().last().unwrap_or_default().trim().to_owned(),
        })
}

fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(c) = rest.next() {
        match c {
            '\\' => escape(&mut rest, in_class, &mut out),
            '[' if !in_class => {
                in_class = true;
                out.push('[');
                // `[^]…]` and `[]…]`: a bracket in first place is an ordinary character.
                if rest.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                if rest.next_if_eq(&']').is_some() {
                    out.push_str("\\]");
                }
            }
            '[' if rest.peek() == Some(&':') => posix(&mut rest, &mut out),
            '[' => out.push_str("\\["),
            '&' | '~' if in_class => out.extend(['\\', c]),
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '{' if !in_class && !starts_repetition(rest.clone()) => out.push_str("\\{"),
            _ => out.push(c),
        }
    }
    out
}

/// `[:alpha:]` inside a class, taken over as it is.
fn posix(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    out.push('[');
    for c in rest.by_ref() {
        out.push(c);
        if c == ']' {
            return;
        }
    }
}

fn escape(rest: &mut Peekable<Chars<'_>>, in_class: bool, out: &mut String) {
    match rest.next() {
        Some('d') => out.push_str(if in_class { "0-9" } else { "[0-9]" }),
        Some('w') => out.push_str(if in_class { "0-9A-Za-z_" } else { "[0-9A-Za-z_]" }),
        Some('s') => out.push_str(if in_class { "\\t\\n\\f\\r " } else { "[\\t\\n\\f\\r ]" }),
        Some('D') => out.push_str("[^0-9]"),
        Some('W') => out.push_str("[^0-9A-Za-z_]"),
        Some('S') => out.push_str("[^\\t\\n\\f\\r ]"),
        Some(boundary @ ('b' | 'B')) if !in_class => {
            out.push_str("(?-u:\\");
            out.push(boundary);
            out.push(')');
        }
        Some('Q') if !in_class => {
            let mut quoted: String = rest.by_ref().collect();
            if let Some((inside, after)) = quoted.clone().split_once("\\E") {
                out.push_str(&regex::escape(inside));
                out.push_str(&translate(after));
                quoted.clear();
            }
            out.push_str(&regex::escape(&quoted));
        }
        Some(other) => out.extend(['\\', other]),
        None => out.push('\\'),
    }
}

/// Whether `{` is followed by `n}`, `n,}` or `n,m}`.
fn starts_repetition(rest: impl Iterator<Item = char>) -> bool {
    let mut digits = 0;
    let mut commas = 0;
    for c in rest {
        match c {
            '0'..='9' => digits += 1,
            ',' if digits > 0 && commas == 0 => commas = 1,
            '}' => return digits > 0,
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_as_go_does() {
        let cases = [
            (r"^\d+$", "12", true),
            (r"^\d+$", "\u{0663}", false), // an Arabic digit
            (r"^[\w-]+$", "a_b-c", true),
            (r"^[\w-]+$", "\u{e9}", false),
            (r"^[^\s]+$", "a\u{a0}b", true),
            (r"^[[]x[]]$", "[x]", true),
            (r"^[^]]$", "x", true),
            (r"^[^]]$", "]", false),
            (r"^[[:alpha:]]+$", "abc", true),
            (r"^[a&&b]$", "&", true),
            (r"^{a}$", "{a}", true),
            (r"^a{2}$", "aa", true),
            (r"^a{2,}$", "a", false),
            (r"^\Qa.b\E+$", "a.bb", true),
            (r"^\Qa.b", "axb", false),
            (r"a\/b", "a/b", true),
            (r"\bx\b", "a x b", true),
            (r"^[^\d]$", "5", false),
            (r"^[\D]$", "5", false),
        ];
        for (pattern, text, expected) in cases {
            let regex = compile(pattern).unwrap_or_else(|e| panic!("{pattern}: {e}"));
            assert_eq!(regex.is_match(text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn says_what_is_wrong_in_one_line() {
        let error = compile("a(b").expect_err("unclosed group");
        assert!(error.contains("unclosed group") && !error.contains('\n'), "{error}");
        assert_eq!(compile("(a{1000}){1000}").expect_err("huge"), "expression too large");
    }
}
