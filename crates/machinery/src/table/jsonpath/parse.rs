//! Reading a path.

use serde_json::{Number, Value};

use super::{Comparison, Filter, Operand, Step};

/// Filters inside filters: deeper than this is no path but an attack on the stack.
const DEEPEST: usize = 16;

/// Reads a whole path, with or without braces.
pub(super) fn parse(text: &str) -> Result<Vec<Step>, String> {
    let trimmed = text.trim();
    let inner = match trimmed.strip_prefix('{') {
        Some(rest) => {
            rest.strip_suffix('}').ok_or_else(|| format!("unclosed action in {text:?}"))?
        }
        None => trimmed,
    };
    let mut parser = Parser { rest: inner, depth: 0 };
    parser.path().and_then(|steps| parser.end().map(|()| steps)).map_err(|why| {
        // The rest is a suffix of the text, so this counts what has been read.
        let lead = text.len() - text.trim_start().len() + usize::from(trimmed.starts_with('{'));
        let at = lead + inner.len() - parser.rest.len();
        format!("{why} at offset {at} of {text:?}")
    })
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Parser<'a> {
    /// Steps up to something that is none. A path may begin with a bare name.
    fn path(&mut self) -> Result<Vec<Step>, String> {
        let mut steps = Vec::new();
        self.blanks();
        if !self.skip("$") && !self.skip("@") && !self.rest.starts_with(['.', '[']) {
            let name = self.name();
            if matches!(name.as_str(), "range" | "end") {
                return Err(format!("a template ({name}) is no path"));
            }
            if !name.is_empty() {
                steps.push(field(name));
            }
        }
        loop {
            self.blanks();
            if self.skip("..") {
                if steps.last() == Some(&Step::Recursive) {
                    return Err("repeated recursive descent".to_owned());
                }
                steps.push(Step::Recursive);
                let name = self.name();
                if !name.is_empty() {
                    steps.push(field(name));
                }
            } else if self.skip("[?(") {
                steps.push(self.filter()?);
            } else if self.skip("[") {
                steps.push(self.brackets()?);
            } else if self.skip(".") {
                self.dotted(&mut steps)?;
            } else {
                return Ok(steps);
            }
        }
    }

    /// What follows a dot. `.` alone is the object itself, and `.[0]` is `[0]`.
    fn dotted(&mut self, steps: &mut Vec<Step>) -> Result<(), String> {
        let name = self.name();
        if !name.is_empty() {
            steps.push(field(name));
        } else if !(self.rest.starts_with('[') || steps.is_empty() && self.rest.is_empty()) {
            return Err("missing field name".to_owned());
        }
        Ok(())
    }

    /// Characters up to one that ends a name, with backslashes removed.
    fn name(&mut self) -> String {
        let mut name = String::new();
        let mut chars = self.rest.char_indices();
        let mut end = self.rest.len();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => name.extend(chars.next().map(|(_, protected)| protected)),
                c if ends_name(c) => {
                    end = at;
                    break;
                }
                c => name.push(c),
            }
        }
        self.rest = &self.rest[end..];
        name
    }

    /// `choice { "," choice } "]"`, after the bracket has been read.
    fn brackets(&mut self) -> Result<Step, String> {
        let mut choices = Vec::new();
        loop {
            self.blanks();
            choices.push(self.choice()?);
            self.blanks();
            if self.skip("]") {
                break;
            }
            if !self.skip(",") {
                return Err("expected ',' or ']'".to_owned());
            }
        }
        if choices.len() > 1 {
            return Ok(Step::Union(choices));
        }
        choices.pop().ok_or_else(|| "empty brackets".to_owned())
    }

    fn choice(&mut self) -> Result<Step, String> {
        if self.skip("*") {
            return Ok(Step::Wildcard);
        }
        if self.rest.starts_with(['\'', '"']) {
            return self.quoted().map(Step::Field);
        }
        let start = self.integer()?;
        if !self.skip(":") {
            return start.map(Step::Index).ok_or_else(|| "invalid array index".to_owned());
        }
        let end = self.integer()?;
        Ok(Step::Slice(start, end))
    }

    fn integer(&mut self) -> Result<Option<i64>, String> {
        let text = self.while_in(|c| c == '-' || c.is_ascii_digit());
        if text.is_empty() {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|_| format!("array index {text} is not a number"))
    }

    /// A text in either kind of quotes.
    fn quoted(&mut self) -> Result<String, String> {
        let mut chars = self.rest.char_indices();
        let quote = chars.next().map(|(_, quote)| quote);
        let mut text = String::new();
        while let Some((at, c)) = chars.next() {
            if Some(c) == quote {
                self.rest = &self.rest[at + c.len_utf8()..];
                return Ok(text);
            }
            text.extend(if c == '\\' { chars.next().map(|(_, c)| c) } else { Some(c) });
        }
        Err("unterminated quoted string".to_owned())
    }

    /// `operand [ operator operand ] ")]"`, after `[?(` has been read.
    fn filter(&mut self) -> Result<Step, String> {
        if self.depth == DEEPEST {
            return Err("too many filters inside each other".to_owned());
        }
        self.depth += 1;
        let left = self.operand()?;
        let filter = match self.comparison() {
            None => Filter::Exists(left),
            Some(comparison) => Filter::Compare(left, comparison, self.operand()?),
        };
        self.blanks();
        if !self.skip(")") {
            return Err("unterminated filter".to_owned());
        }
        self.blanks();
        if !self.skip("]") {
            return Err("expected ']' after a filter".to_owned());
        }
        self.depth -= 1;
        Ok(Step::Filter(filter))
    }

    fn comparison(&mut self) -> Option<Comparison> {
        self.blanks();
        let operators = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        operators.into_iter().find(|(text, _)| self.skip(text)).map(|(_, comparison)| comparison)
    }

    fn operand(&mut self) -> Result<Operand, String> {
        self.blanks();
        if self.rest.starts_with(['\'', '"']) {
            return self.quoted().map(|text| Operand::Literal(text.into()));
        }
        if self.rest.starts_with(['@', '$', '.', '[']) {
            return self.path().map(Operand::Path);
        }
        let word = self.while_in(|c| c.is_alphanumeric() || matches!(c, '+' | '-' | '.' | '_'));
        match word {
            "" => Err("expected a path or a value".to_owned()),
            "true" => Ok(Operand::Literal(true.into())),
            "false" => Ok(Operand::Literal(false.into())),
            word => number(word)
                .map(|number| Operand::Literal(Value::Number(number)))
                .ok_or_else(|| format!("unrecognized identifier {word}")),
        }
    }

    /// Nothing may be left over.
    fn end(&mut self) -> Result<(), String> {
        self.blanks();
        match self.rest.chars().next() {
            None => Ok(()),
            Some(c) => Err(format!("unexpected character {c:?}")),
        }
    }

    fn while_in(&mut self, allowed: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !allowed(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn skip(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }
}

fn field(name: String) -> Step {
    if name == "*" { Step::Wildcard } else { Step::Field(name) }
}

/// What cannot stand in a name without a backslash. The parenthesis and the operators end the name
/// only inside filters upstream; no Kubernetes field contains them.
fn ends_name(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}' | '(' | ')')
        || matches!(c, '=' | '!' | '<' | '>')
}

fn number(text: &str) -> Option<Number> {
    match text.parse::<i64>() {
        Ok(integer) => Some(integer.into()),
        Err(_) => text.parse::<f64>().ok().and_then(Number::from_f64),
    }
}
