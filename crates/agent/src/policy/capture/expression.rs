//! The expressions of captures, read.

use std::fmt;

use serde_json::Value;

/// One question.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// The capture it is asked of; nothing is the current state.
    pub from: Option<String>,
    pub path: Path,
    pub operation: Operation,
}

/// What is done at the path.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    Keep,
    Equals(Operand),
    Replace(Operand),
}

/// What is compared with, or put in.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    Plain(Value),
    Capture(String, Vec<Step>),
}

/// Where something lies.
#[derive(Clone, Debug, PartialEq)]
pub struct Path(pub Vec<Step>);

/// One step on the way.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Key(String),
    Index(usize),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => f.write_str(key),
            Self::Index(index) => index.fmt(f),
        }
    }
}

impl Operation {
    /// What is compared with, or put in.
    pub fn operand(&self) -> Option<&Operand> {
        match self {
            Self::Keep => None,
            Self::Equals(operand) | Self::Replace(operand) => Some(operand),
        }
    }
}

/// Reads an expression.
pub fn parse(text: &str) -> Result<Expression, String> {
    let mut rest = text;
    let mut path = read_path(&mut rest)?;
    let mut from = None;
    if let Some(behind) = rest.strip_prefix('|') {
        let Some((name, [])) = capture(&path) else {
            return Err("expected capture.<name> before |".to_owned());
        };
        from = Some(name.to_owned());
        rest = behind;
        path = read_path(&mut rest)?;
    }
    let operation = if let Some(behind) = rest.strip_prefix("==") {
        rest = behind;
        Operation::Equals(read_operand(&mut rest)?)
    } else if let Some(behind) = rest.strip_prefix(":=") {
        rest = behind;
        Operation::Replace(read_operand(&mut rest)?)
    } else {
        Operation::Keep
    };
    if !rest.trim().is_empty() {
        return Err(format!("unexpected {:?}", rest.trim()));
    }
    // `x := …` alone and `capture.a.b` alone ask the state and the capture.
    if from.is_none()
        && let Some((name, rest)) = capture(&path)
    {
        let (name, rest) = (name.to_owned(), rest.to_vec());
        return Ok(Expression { from: Some(name), path: Path(rest), operation });
    }
    Ok(Expression { from, path, operation })
}

/// Reads a path and nothing else.
pub fn path(text: &str) -> Result<Path, String> {
    let mut rest = text;
    let path = read_path(&mut rest)?;
    if rest.is_empty() { Ok(path) } else { Err(format!("unexpected {rest:?}")) }
}

fn capture(path: &Path) -> Option<(&str, &[Step])> {
    match &path.0[..] {
        [Step::Key(word), Step::Key(name), rest @ ..] if word == "capture" => Some((name, rest)),
        _ => None,
    }
}

/// Leaves what follows, without the blanks before it.
fn read_path(rest: &mut &str) -> Result<Path, String> {
    let mut steps = Vec::new();
    let mut at = rest.trim_start();
    loop {
        let end = at
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'))
            .unwrap_or(at.len());
        let (word, behind) = at.split_at(end);
        if word.is_empty() {
            return Err(format!("expected a path at {at:?}"));
        }
        steps.push(word.parse().map_or_else(|_| Step::Key(word.to_owned()), Step::Index));
        let Some(more) = behind.strip_prefix('.') else {
            *rest = behind.trim_start();
            return Ok(Path(steps));
        };
        at = more;
    }
}

fn read_operand(rest: &mut &str) -> Result<Operand, String> {
    let at = rest.trim_start();
    for quote in ['"', '\''] {
        if let Some(inside) = at.strip_prefix(quote) {
            let (text, behind) = inside.split_once(quote).ok_or("the text has no end")?;
            *rest = behind;
            return Ok(Operand::Plain(Value::String(text.to_owned())));
        }
    }
    let end = at.find(char::is_whitespace).unwrap_or(at.len());
    let (word, behind) = at.split_at(end);
    *rest = behind;
    if word.is_empty() {
        return Err("expected a value".to_owned());
    }
    if let Ok(flag) = word.parse::<bool>() {
        return Ok(Operand::Plain(Value::Bool(flag)));
    }
    if let Ok(number) = word.parse::<i64>() {
        return Ok(Operand::Plain(number.into()));
    }
    let path = path(word)?;
    match capture(&path) {
        Some((name, rest)) => Ok(Operand::Capture(name.to_owned(), rest.to_vec())),
        None => Err(format!(
            "{word}: expected \"text\", a number, true, false or capture.<name>.<path>"
        )),
    }
}
