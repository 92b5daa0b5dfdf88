//! Names of hosts as people write them.

use crate::settings::BadOption;
use crate::wire::{BadName, LONGEST, Name, push_text};

pub(super) const NAME_HELP: &str =
    "use letters, digits and - with dots between the labels, at most 63 per label";

/// A character that DNS carries and host names do not have.
pub(super) fn odd_character(text: &str) -> Option<char> {
    let legal = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
    text.is_ascii().then(|| text.chars().find(|char| !legal(*char)))?
}

/// An ordinary name, in one pass, as nearly all are; otherwise nothing is pushed.
pub(super) fn push_plain(text: &str, wire: &mut Vec<u8>) -> bool {
    let start = wire.len();
    let is_plain = push_labels(text, wire) && wire.len() - start <= LONGEST;
    if !is_plain {
        wire.truncate(start);
    }
    is_plain
}

/// The wire form is the text with a length before each label, which is where the dots are.
fn push_labels(text: &str, wire: &mut Vec<u8>) -> bool {
    let start = wire.len();
    wire.push(0);
    wire.extend_from_slice(text.as_bytes());
    wire[start + 1..].make_ascii_lowercase();
    let mut label = start;
    for at in start + 1..wire.len() {
        let byte = wire[at];
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => {}
            b'.' if close_label(wire, label, at) => label = at,
            _ => return false,
        }
    }
    let end = wire.len();
    if label > start && end == label + 1 {
        wire[label] = 0; // a dot at the end is the root
        return true;
    }
    wire.push(0);
    close_label(wire, label, end)
}

/// Writes the length of the label that begins there; no, if none may be that long.
fn close_label(wire: &mut [u8], label: usize, end: usize) -> bool {
    match u8::try_from(end - label - 1) {
        Ok(length @ 1..=63) => {
            wire[label] = length;
            true
        }
        _ => false,
    }
}

/// A host name in wire form and lower case; other scripts become what DNS has for them (`xn--…`).
pub(super) fn push_host_name(text: &str, wire: &mut Vec<u8>) -> Result<(), BadName> {
    let start = wire.len();
    if text.is_ascii() {
        if let Some(control) = text.chars().find(char::is_ascii_control) {
            return Err(BadName::Character(control));
        }
        push_text(text, wire)?;
    } else {
        let odd = text.chars().find(|char| !char.is_ascii()).unwrap_or_default();
        let ascii = idna::domain_to_ascii(text).map_err(|_| BadName::Character(odd))?;
        push_text(&ascii, wire)?;
    }
    wire[start..].make_ascii_lowercase();
    Ok(())
}

/// A name of an option.
pub(crate) fn domain_name(text: &str) -> Result<Name, BadOption> {
    let mut wire = Vec::with_capacity(text.len() + 2);
    push_host_name(text, &mut wire)
        .map_err(|bad| BadOption::new(format!("the name {text:?} {bad}"), NAME_HELP))?;
    if let Some(space) = text.chars().find(|char| char.is_whitespace()) {
        return Err(BadOption::new(format!("the name {text:?} holds {space:?}"), NAME_HELP));
    }
    Name::from_wire(&wire)
        .ok_or_else(|| BadOption::new(format!("the name {text:?} is too long"), NAME_HELP))
}
