//! Reading a desired state key by key, so that every complaint names its place.
//!
//! Numbers and switches may be written as texts, as nmstate allows (YAML written by hand, captures).
//! A key that nobody asked for is an error: one of nmstate's that this program cannot do is told
//! apart from one that does not exist.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::error::Fault;

/// More elements than this in one list are a mistake.
const MAX_LIST: usize = 4096;
/// More characters than this in one text are a mistake.
const MAX_TEXT: usize = 4096;

/// An object that is being read.
pub(crate) struct Fields<'a> {
    place: String,
    map: &'a Map<String, Value>,
    asked: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    pub(crate) fn of(value: &'a Value, place: impl Into<String>) -> Result<Self, Fault> {
        let place = place.into();
        match value {
            Value::Object(map) => Ok(Self { place, map, asked: Vec::new() }),
            other => Err(Fault::new(place, format!("an object is expected, not {}", kind(other)))),
        }
    }

    /// The value of a key; null is nothing.
    pub(crate) fn value(&mut self, key: &'static str) -> Option<&'a Value> {
        self.asked.push(key);
        self.map.get(key).filter(|value| !value.is_null())
    }

    pub(crate) fn at(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    pub(crate) fn fault(&self, key: &str, why: impl Into<String>) -> Fault {
        Fault::new(self.at(key), why)
    }

    pub(crate) fn object(&mut self, key: &'static str) -> Result<Option<Fields<'a>>, Fault> {
        let at = self.at(key);
        self.value(key).map(|value| Fields::of(value, at)).transpose()
    }

    /// A list, element by element with its place.
    pub(crate) fn list(
        &mut self,
        key: &'static str,
    ) -> Result<Option<Vec<(String, &'a Value)>>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let Value::Array(values) = value else {
            return Err(self.fault(key, format!("a list is expected, not {}", kind(value))));
        };
        if values.len() > MAX_LIST {
            return Err(self.fault(key, format!("at most {MAX_LIST} elements are allowed")));
        }
        let at = self.at(key);
        let placed = |(number, value)| (format!("{at}[{number}]"), value);
        Ok(Some(values.iter().enumerate().map(placed).collect()))
    }

    /// A list of texts.
    pub(crate) fn texts(&mut self, key: &'static str) -> Result<Option<Vec<String>>, Fault> {
        let Some(list) = self.list(key)? else { return Ok(None) };
        let read = |(place, value): (String, &Value)| {
            text(value).ok_or_else(|| Fault::new(place, "a text is expected"))
        };
        list.into_iter().map(read).collect::<Result<_, _>>().map(Some)
    }

    pub(crate) fn text(&mut self, key: &'static str) -> Result<Option<String>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        match text(value) {
            Some(text) if text.len() <= MAX_TEXT => Ok(Some(text)),
            Some(_) => Err(self.fault(key, format!("at most {MAX_TEXT} bytes are allowed"))),
            None => Err(self.fault(key, format!("a text is expected, not {}", kind(value)))),
        }
    }

    /// A text that has a form.
    pub(crate) fn parse<T: FromStr>(&mut self, key: &'static str) -> Result<Option<T>, Fault>
    where
        T::Err: Display,
    {
        let Some(text) = self.text(key)? else { return Ok(None) };
        text.parse().map(Some).map_err(|why| self.fault(key, format!("{text:?}: {why}")))
    }

    pub(crate) fn flag(&mut self, key: &'static str) -> Result<Option<bool>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let word = match value {
            Value::Bool(on) => return Ok(Some(*on)),
            Value::String(text) => text.to_ascii_lowercase(),
            Value::Number(number) => number.to_string(),
            other => {
                return Err(
                    self.fault(key, format!("true or false is expected, not {}", kind(other)))
                );
            }
        };
        match word.as_str() {
            "1" | "true" | "yes" | "on" | "y" => Ok(Some(true)),
            "0" | "false" | "no" | "off" | "n" => Ok(Some(false)),
            _ => Err(self.fault(key, format!("true or false is expected, not {word:?}"))),
        }
    }

    /// A whole number, also as a text, also in hexadecimal.
    pub(crate) fn number<T: TryFrom<i64>>(
        &mut self,
        key: &'static str,
        range: RangeInclusive<i64>,
    ) -> Result<Option<T>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let number = match value {
            Value::Number(number) => number.as_i64(),
            Value::String(text) => match text.strip_prefix("0x") {
                Some(digits) => i64::from_str_radix(digits, 16).ok(),
                None => text.parse().ok(),
            },
            _ => None,
        };
        let (low, high) = (range.start(), range.end());
        number
            .filter(|number| range.contains(number))
            .and_then(|number| T::try_from(number).ok())
            .map(Some)
            .ok_or_else(|| self.fault(key, format!("{value} is no number from {low} to {high}")))
    }

    /// One of some words.
    pub(crate) fn word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, Fault> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning);
        found.map(Some).ok_or_else(|| {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.fault(key, format!("{text:?} is not one of {}", known.join(", ")))
        })
    }

    /// Keys that nmstate itself only shows and never applies.
    pub(crate) fn shown_only(&mut self, keys: &[&'static str]) {
        self.asked.extend(keys);
    }

    /// Complains about what nobody asked for.
    pub(crate) fn finish(self, unsupported: &[&str]) -> Result<(), Fault> {
        let left = |key: &&String| !self.asked.contains(&key.as_str());
        let Some(key) = self.map.keys().find(left) else { return Ok(()) };
        if self.map[key].is_null() {
            return Ok(());
        }
        if unsupported.contains(&key.as_str()) {
            let why = "this key of nmstate is not supported without NetworkManager: remove it, or \
                       run NetworkManager and nmstate on the node";
            return Err(self.fault(key, why));
        }
        let mut known: Vec<&str> = self.asked.clone();
        known.sort_unstable();
        known.dedup();
        Err(self.fault(key, format!("unknown key; known here are {}", known.join(", "))))
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
