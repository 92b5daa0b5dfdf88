//! One capture's expression.

use serde_json::Value;

/// More characters than this in one expression are a mistake.
const MAX_TEXT: usize = 4096;

/// `[capture.NAME |] path [== operand | := operand]`
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expression {
    /// The capture that is looked at instead of the current state.
    pub(super) input: Option<String>,
    pub(super) path: Vec<String>,
    pub(super) action: Action,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    Take,
    Filter(Operand),
    Replace(Operand),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    Plain(Value),
    /// A part of another capture.
    Captured(String, Vec<String>),
}

impl Expression {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_TEXT {
            return Err(format!("at most {MAX_TEXT} bytes are allowed"));
        }
        // A blank that is none to the eye comes with texts copied from web pages.
        let text = text.replace('\u{a0}', " ");
        let (input, rest) = match split_outside_quotes(&text, "|") {
            Some((input, rest)) => (Some(input.trim()), rest),
            None => (None, text.as_str()),
        };
        let input = match input.map(path).transpose()? {
            None => None,
            Some(steps) => match &steps[..] {
                [word, name] if word == "capture" => Some(name.clone()),
                _ => return Err("what stands before | is not capture.NAME".to_owned()),
            },
        };
        let filter = split_outside_quotes(rest, "==");
        let replace = split_outside_quotes(rest, ":=");
        let (left, action) = match (filter, replace) {
            (Some((left, right)), None) => (left, Action::Filter(operand(right)?)),
            (None, Some((left, right))) => (left, Action::Replace(operand(right)?)),
            (None, None) => (rest, Action::Take),
            (Some(_), Some(_)) => return Err("== and := cannot stand together".to_owned()),
        };
        Ok(Self { input, path: path(left)?, action })
    }

    /// The captures that have to be there first.
    pub(super) fn needs(&self) -> impl Iterator<Item = &String> {
        let operand = match &self.action {
            Action::Filter(Operand::Captured(name, _))
            | Action::Replace(Operand::Captured(name, _)) => Some(name),
            _ => None,
        };
        self.input.iter().chain(operand)
    }
}

fn split_outside_quotes<'a>(text: &'a str, sign: &str) -> Option<(&'a str, &'a str)> {
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        if c == '"' {
            quoted = !quoted;
        } else if !quoted && text[at..].starts_with(sign) {
            return Some((&text[..at], &text[at + sign.len()..]));
        }
    }
    None
}

fn path(text: &str) -> Result<Vec<String>, String> {
    let text = text.trim();
    let steps: Vec<String> = text.split('.').map(str::to_owned).collect();
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    match steps.iter().find(|step| step.is_empty() || !step.chars().all(fine)) {
        None => Ok(steps),
        Some(step) => Err(format!("{step:?} in {text:?} is no step of a path")),
    }
}

fn operand(text: &str) -> Result<Operand, String> {
    let text = text.trim();
    if let Some(inner) = text.strip_prefix('"') {
        let inner = inner.strip_suffix('"').filter(|inner| !inner.contains('"'));
        let inner = inner.ok_or_else(|| format!("{text} is not one text in quotes"))?;
        return Ok(Operand::Plain(inner.into()));
    }
    match text {
        "" => return Err("a value is missing".to_owned()),
        "true" => return Ok(Operand::Plain(true.into())),
        "false" => return Ok(Operand::Plain(false.into())),
        "null" => return Ok(Operand::Plain(Value::Null)),
        _ => {}
    }
    if let Ok(number) = text.parse::<i64>() {
        return Ok(Operand::Plain(number.into()));
    }
    match &path(text)?[..] {
        [word, name, rest @ ..] if word == "capture" => {
            Ok(Operand::Captured(name.clone(), rest.to_vec()))
        }
        _ => Err(format!("{text} is neither a value nor capture.NAME.PATH: texts need quotes")),
    }
}
