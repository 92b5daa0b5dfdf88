//! Double negation, taken out of the text before it is parsed.
//!
//! The parser reads `!!x` as `!x` and visits `x` twice, so `!!(!!(…))` would take ages, too.
//! Signs that cancel each other out become blanks; all other characters keep their places.

/// The text without signs that cancel each other out.
pub fn run(source: &str) -> String {
    let mut chars: Vec<char> = source.chars().collect();
    let mut at = 0;
    // The last character that is no blank: tells a difference from a sign.
    let mut before = None;
    while at < chars.len() {
        match chars[at] {
            '\'' | '"' => {
                at = after_literal(&chars, at);
                before = Some('"');
                continue;
            }
            '/' if chars.get(at + 1) == Some(&'/') => {
                at += chars[at..].iter().position(|c| *c == '\n').unwrap_or(chars.len() - at);
                continue;
            }
            sign @ ('!' | '-') => {
                let mut signs = signs(&chars, at);
                let end = signs.last().map_or(at, |last| last + 1);
                // What follows a value is a difference; what stands before `=` is part of `!=`.
                if sign == '-' && before.is_some_and(ends_value) {
                    signs.remove(0);
                } else if sign == '!' && chars.get(end) == Some(&'=') {
                    signs.pop();
                }
                let kept = signs.len() % 2;
                for place in signs.into_iter().skip(kept) {
                    chars[place] = ' ';
                }
                before = Some(sign);
                at = end;
                continue;
            }
            c if !c.is_whitespace() => before = Some(c),
            _ => {}
        }
        at += 1;
    }
    chars.into_iter().collect()
}

fn ends_value(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | ')' | ']' | '}' | '"' | '.')
}

/// Where the same sign stands again and again, with nothing but blanks between.
fn signs(chars: &[char], start: usize) -> Vec<usize> {
    let sign = chars[start];
    (start..chars.len())
        .take_while(|at| chars[*at] == sign || chars[*at].is_whitespace())
        .filter(|at| chars[*at] == sign)
        .collect()
}

/// The place after the text literal that starts here.
fn after_literal(chars: &[char], start: usize) -> usize {
    let quote = chars[start];
    let raw = start > 0 && matches!(chars[start - 1], 'r' | 'R');
    let width = if chars[start..].starts_with(&[quote; 3]) { 3 } else { 1 };
    let mut at = start + width;
    while at < chars.len() {
        if chars[at] == '\\' && !raw {
            at += 2;
        } else if chars[at..].starts_with(&[quote; 3][..width]) {
            return at + width;
        } else {
            at += 1;
        }
    }
    chars.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_that_cancel_out_go() {
        for (source, tidy) in [
            ("!x", "!x"),
            ("!!x", "  x"),
            ("!! !x", "!   x"),
            ("a !!= b", "a !!= b"),
            ("a != !!b", "a !=   b"),
            ("a--b", "a--b"),
            ("a---b", "a-  b"),
            ("--1", "  1"),
            ("(a) - - -b", "(a) -    b"),
            ("'!!' + \"--\" + !!x", "'!!' + \"--\" +   x"),
            (r"r'\' + !!x", r"r'\' +   x"),
            (r"'\'!!' == x", r"'\'!!' == x"),
            ("'''it's !!''' == x // !!y", "'''it's !!''' == x // !!y"),
            ("'open !!", "'open !!"),
            ("", ""),
        ] {
            assert_eq!(run(source), tidy, "{source}");
        }
    }
}
