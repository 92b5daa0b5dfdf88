//! JSON with places.
//!
//! Most JSON is YAML too, but not all of it (tabs, keys longer than 1024 characters, surrogate escapes), and JSON
//! inside a YAML string has to be located as well. Several values one after the other are a stream, as
//! for `kubectl apply`.

use serde_json::{Map, Number, Value};

use crate::{
    Entry, Limits, Node, Shape, Source, Span, Style,
    failure::{Failure, Parsed, Piece},
    rules,
    source::{Position, offset},
};

/// Reads all values of a piece.
pub(crate) fn stream(piece: Piece<'_>, limits: &Limits) -> Result<Vec<Parsed>, Failure> {
    let mut reader = Reader::new(piece, limits);
    let mut documents = Vec::new();
    reader.space();
    while reader.peek().is_some() {
        let (root, value) = reader.value(0)?;
        let failures = std::mem::take(&mut reader.failures);
        documents.push(Parsed { root, value, failures, elided: Vec::new() });
        reader.space();
    }
    Ok(documents)
}

/// Reads a text that is exactly one value; spans count from the start of the text.
pub(crate) fn one(text: &str, limits: &Limits) -> Result<(Node, Value), Failure> {
    let source = Source::new("", text);
    let mut reader = Reader::new(Piece::of(&source, 0..text.len()), limits);
    reader.space();
    let read = reader.value(0)?;
    reader.space();
    match reader.peek() {
        None => Ok(read),
        Some(_) => Err(reader.fault("something after the end of the value")),
    }
}

struct Reader<'a> {
    text: &'a str,
    base: usize,
    at: usize,
    nodes: usize,
    limits: &'a Limits,
    failures: Vec<Failure>,
    mark: Mark,
}

/// The last place asked for: places are asked for in order, so counting goes on from there.
struct Mark {
    at: usize,
    line: u32,
    column: u32,
}

/// Repeated keys reported per document; each one costs a look through the mapping.
const REPEATED_REPORTED: usize = 100;

impl<'a> Reader<'a> {
    fn new(piece: Piece<'a>, limits: &'a Limits) -> Self {
        let Position { line, column } = piece.source.position(offset(piece.offset));
        let mark = Mark { at: 0, line, column };
        let (text, base) = (piece.text, piece.offset);
        Reader { text, base, at: 0, nodes: 0, limits, failures: Vec::new(), mark }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let here = self.peek() == Some(byte);
        self.at += usize::from(here);
        here
    }

    /// The span from an offset to where the reader stands. Starts are asked for in order: a
    /// collection takes its own before its items' and has its end set when it closes.
    fn span(&mut self, start: usize) -> Span {
        let bytes = self.text.as_bytes();
        while self.mark.at < start {
            let byte = bytes.get(self.mark.at).copied().unwrap_or(b' ');
            let next = bytes.get(self.mark.at + 1).copied();
            if byte == b'\n' || (byte == b'\r' && next != Some(b'\n')) {
                self.mark.line += 1;
                self.mark.column = 1;
            } else if (byte & 0xC0) != 0x80 {
                self.mark.column += 1;
            }
            self.mark.at += 1;
        }
        Span {
            start: offset(self.base + start),
            end: offset(self.base + self.at.max(start)),
            line: self.mark.line,
            column: self.mark.column,
        }
    }

    /// A fault where the reader stands.
    fn fault(&mut self, what: &str) -> Failure {
        let start = self.at;
        let width =
            self.text.get(start..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        let mut span = self.span(start);
        span.end += offset(width);
        Failure::new(rules::JSON, span, format!("not valid JSON: {what}"))
            .label("the JSON breaks off here")
    }

    fn value(&mut self, depth: usize) -> Result<(Node, Value), Failure> {
        let start = self.at;
        if depth >= self.limits.depth && matches!(self.peek(), Some(b'{' | b'[')) {
            let span = self.span(start);
            return Err(Failure::new(
                rules::LIMIT,
                span,
                format!("nested deeper than {} levels", self.limits.depth),
            ));
        }
        self.nodes += 1;
        if self.nodes > self.limits.nodes {
            let span = self.span(start);
            return Err(Failure::new(
                rules::LIMIT,
                span,
                format!("more than {} values in one file", self.limits.nodes),
            ));
        }
        match self.peek() {
            Some(b'{') => self.mapping(depth),
            Some(b'[') => self.sequence(depth),
            Some(b'"') => {
                let mut span = self.span(start);
                let text = self.string()?;
                span.end = offset(self.base + self.at);
                Ok((Node { span, value: Shape::Scalar(Style::DoubleQuoted) }, Value::String(text)))
            }
            Some(b'-' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z') => {
                let mut span = self.span(start);
                let value = self.word()?;
                span.end = offset(self.base + self.at);
                Ok((Node { span, value: Shape::Scalar(Style::Plain) }, value))
            }
            Some(_) => Err(self
                .fault("expected a value")
                .help("strings stand in double quotes; the last item has no comma after it")),
            None => Err(self.fault("the text ends where a value is expected")),
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<(Node, Value), Failure> {
        let mut span = self.span(self.at);
        self.at += 1;
        let mut entries: Vec<Entry> = Vec::new();
        let mut map = Map::new();
        self.space();
        if !self.eat(b'}') {
            loop {
                self.space();
                if self.peek() != Some(b'"') {
                    return Err(self.fault("expected a key in double quotes").help(
                        "keys stand in double quotes; the last entry has no comma after it",
                    ));
                }
                let mut key_span = self.span(self.at);
                let key = self.string()?;
                key_span.end = offset(self.base + self.at);
                self.space();
                if !self.eat(b':') {
                    return Err(self.fault("expected `:` after the key"));
                }
                self.space();
                let (node, value) = self.value(depth + 1)?;
                if map.contains_key(&key) && self.failures.len() < REPEATED_REPORTED {
                    self.failures.extend(repeated(&entries, &key, key_span));
                }
                entries.push(Entry { key: key.as_str().into(), key_span, node });
                map.insert(key, value);
                self.space();
                if self.eat(b'}') {
                    break;
                }
                if !self.eat(b',') {
                    return Err(self
                        .fault("expected `,` or `}`")
                        .help("is a comma missing after the line before?"));
                }
            }
        }
        span.end = offset(self.base + self.at);
        Ok((Node { span, value: Shape::Mapping(entries) }, Value::Object(map)))
    }

    fn sequence(&mut self, depth: usize) -> Result<(Node, Value), Failure> {
        let mut span = self.span(self.at);
        self.at += 1;
        let mut nodes = Vec::new();
        let mut values = Vec::new();
        self.space();
        if !self.eat(b']') {
            loop {
                self.space();
                let (node, value) = self.value(depth + 1)?;
                nodes.push(node);
                values.push(value);
                self.space();
                if self.eat(b']') {
                    break;
                }
                if !self.eat(b',') {
                    return Err(self
                        .fault("expected `,` or `]`")
                        .help("is a comma missing after the line before?"));
                }
            }
        }
        span.end = offset(self.base + self.at);
        Ok((Node { span, value: Shape::Sequence(nodes) }, Value::Array(values)))
    }

    /// Reads a string; escapes are serde_json's business.
    fn string(&mut self) -> Result<String, Failure> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut at = start + 1;
        let mut escaped = false;
        loop {
            match bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    at += 2;
                }
                Some(byte) if *byte < 0x20 => {
                    self.at = at;
                    return Err(self.fault("a string goes over the end of its line").help(
                        "is the closing quote missing? A line break in a string is written \\n",
                    ));
                }
                Some(_) => at += 1,
                None => {
                    return Err(self.fault("a string is not closed").help("add the closing quote"));
                }
            }
        }
        self.at = at + 1;
        if !escaped {
            return Ok(self.text.get(start + 1..at).unwrap_or_default().to_owned());
        }
        serde_json::from_str(self.text.get(start..=at).unwrap_or_default()).map_err(|_| {
            self.at = start;
            self.fault("a string has an unknown escape")
                .help("after a backslash JSON knows \" \\ / b f n r t and uXXXX")
        })
    }

    /// Reads a number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<Value, Failure> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.')))
            .unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default();
        let value = match word {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            _ => match serde_json::from_str::<Number>(word) {
                Ok(number) => Value::Number(number),
                Err(_) => {
                    return Err(self
                        .fault("expected a value")
                        .help("strings stand in double quotes"));
                }
            },
        };
        self.at += end;
        Ok(value)
    }
}

/// The report that a key stands in a mapping twice; `None` if it does not.
pub(crate) fn repeated(entries: &[Entry], key: &str, again: Span) -> Option<Failure> {
    let first = entries.iter().rev().find(|entry| *entry.key == *key)?;
    Some(
        Failure::new(rules::REPEATED_KEY, again, format!("the key `{key}` stands here twice"))
            .label("again here; this one counts")
            .related(first.key_span, "first here")
            .help("keep one of the two; API servers refuse or silently drop the first"),
    )
}
