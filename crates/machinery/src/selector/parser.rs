//! Upstream's grammar of label selectors.
//!
//! ```text
//! selector    = [ requirement { "," requirement } ]
//! requirement = [ "!" ] KEY | KEY operator VALUE | KEY ( "in" | "notin" ) "(" values ")"
//! operator    = "=" | "==" | "!=" | ">" | "<"
//! values      = [ VALUE ] { "," [ VALUE ] }
//! ```
//!
//! Blanks separate words and mean nothing else. A value may be empty: `a=` and `a in ()` ask for
//! the empty string. `in` and `notin` are words of the grammar only where an operator is expected,
//! so they remain usable as keys and values.

use super::label::{LabelOperator, LabelRequirement, check_key};
use crate::field::FieldPath;
use crate::status::{ApiError, ApiResult};

const OPERATORS: &str = "in, notin, =, ==, !=, >, <";

/// A word of the selector and the character it starts at (counted from 1, as people do).
#[derive(Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    at: usize,
}

impl Token<'_> {
    /// The end is the empty word: no other word is empty.
    fn is_end(self) -> bool {
        self.text.is_empty()
    }

    fn is_word(self) -> bool {
        self.text.chars().next().is_some_and(|first| !is_symbol(first))
    }

    fn expected(self, what: &str) -> ApiError {
        refuse(format!("found '{}', expected: {what}", self.text), self.at)
    }
}

fn refuse(why: impl std::fmt::Display, at: usize) -> ApiError {
    ApiError::bad_request(format!("unable to parse requirement: {why} (at character {at})"))
}

/// Reads a whole selector.
pub(super) fn parse(text: &str) -> ApiResult<Vec<LabelRequirement>> {
    let mut parser = Parser { tokens: tokens(text), next: 0 };
    let mut requirements = Vec::new();
    if parser.peek().is_end() {
        return Ok(requirements);
    }
    loop {
        requirements.push(parser.requirement()?);
        let after = parser.take();
        match after.text {
            "" => return Ok(requirements),
            "," => {}
            _ => return Err(after.expected("',' or 'end of string'")),
        }
    }
}

/// The words of `text`, the end being the last.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let (mut rest, mut at) = (text, 1);
    loop {
        let trimmed = rest.trim_start_matches(is_blank);
        at += rest.chars().count() - trimmed.chars().count();
        let (word, tail) = trimmed.split_at(word_length(trimmed));
        found.push(Token { text: word, at });
        if word.is_empty() {
            return found;
        }
        at += word.chars().count();
        rest = tail;
    }
}

/// Bytes of the word that `text` starts with.
fn word_length(text: &str) -> usize {
    let Some(first) = text.chars().next() else { return 0 };
    if !is_symbol(first) {
        return text.find(|c| is_symbol(c) || is_blank(c)).unwrap_or(text.len());
    }
    if text.starts_with("==") || text.starts_with("!=") { 2 } else { first.len_utf8() }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_symbol(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

struct Parser<'a> {
    /// Never empty: the last one is the end.
    tokens: Vec<Token<'a>>,
    next: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens.get(self.next).copied().unwrap_or(Token { text: "", at: 1 })
    }

    fn take(&mut self) -> Token<'a> {
        let token = self.peek();
        // The end stays where it is, however often it is taken.
        if !token.is_end() {
            self.next += 1;
        }
        token
    }

    fn requirement(&mut self) -> ApiResult<LabelRequirement> {
        let negated = self.peek().text == "!";
        if negated {
            self.take();
        }
        let key = self.take();
        if !key.is_word() {
            return Err(key.expected(if negated { "identifier" } else { "!, identifier" }));
        }
        check_key(key.text, &FieldPath::root()).map_err(|error| refuse(error, key.at))?;
        let (operator, values) = if negated {
            (LabelOperator::DoesNotExist, Vec::new())
        } else if matches!(self.peek().text, "" | ",") {
            (LabelOperator::Exists, Vec::new())
        } else {
            self.restriction()?
        };
        LabelRequirement::new(key.text, operator, values, &FieldPath::root())
            .map_err(|error| refuse(error, key.at))
    }

    fn restriction(&mut self) -> ApiResult<(LabelOperator, Vec<String>)> {
        let token = self.take();
        let operator = match token.text {
            "in" => return Ok((LabelOperator::In, self.values()?)),
            "notin" => return Ok((LabelOperator::NotIn, self.values()?)),
            "=" | "==" => LabelOperator::Equals,
            "!=" => LabelOperator::NotEquals,
            ">" => LabelOperator::GreaterThan,
            "<" => LabelOperator::LessThan,
            _ => return Err(token.expected(OPERATORS)),
        };
        if matches!(self.peek().text, "" | ",") {
            return Ok((operator, vec![String::new()]));
        }
        let value = self.take();
        if value.is_word() {
            Ok((operator, vec![value.text.to_owned()]))
        } else {
            Err(value.expected("identifier"))
        }
    }

    fn values(&mut self) -> ApiResult<Vec<String>> {
        let open = self.take();
        if open.text != "(" {
            return Err(open.expected("'('"));
        }
        let mut values = Vec::new();
        loop {
            // A comma or the end of the list where a value could stand is the empty value.
            let value =
                if self.peek().is_word() { self.take().text.to_owned() } else { String::new() };
            values.push(value);
            let after = self.take();
            match after.text {
                "," => {}
                ")" => return Ok(values),
                _ => return Err(after.expected("',' or ')'")),
            }
        }
    }
}
