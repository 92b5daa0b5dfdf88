//! Names in wire form.
//!
//! A [`Name`] keeps the letters as they were written, because answers show them; two names that
//! differ in case only are equal. A [`Key`] is a name of a query, lower-cased, on the stack.

use std::fmt;
use std::hash::{Hash, Hasher};

/// The longest name, with its length bytes and the root's.
pub(crate) const LONGEST: usize = 255;
/// The longest label.
const LONGEST_LABEL: usize = 63;

/// Why a text is no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    #[error("is empty")]
    Empty,
    #[error("has an empty label (two dots in a row, or one at the start)")]
    EmptyLabel,
    #[error("has a label of more than 63 characters")]
    LongLabel,
    #[error("is longer than 253 characters")]
    Long,
    #[error("holds {0:?}, which no host name may")]
    Character(char),
}

/// A name in wire form, without compression: length byte, label, …, 0.
#[derive(Clone)]
pub struct Name(Box<[u8]>);

impl Name {
    /// Any text with dots between the labels; a dot at the end changes nothing. `.` is the root.
    pub fn from_text(text: &str) -> Result<Self, BadName> {
        let mut wire = Vec::with_capacity(text.len() + 2);
        push_text(text, &mut wire)?;
        Ok(Self(wire.into_boxed_slice()))
    }

    /// From wire form that is known to be well-formed: what a [`Key`] or a parsed message holds.
    /// `None` when it is not.
    pub fn from_wire(wire: &[u8]) -> Option<Self> {
        let mut at = 0;
        loop {
            let length = usize::from(*wire.get(at)?);
            at += 1;
            if length == 0 {
                return (at == wire.len() && at <= LONGEST).then(|| Self(wire.into()));
            }
            if length > LONGEST_LABEL {
                return None;
            }
            at += length;
        }
    }

    /// The name of the root.
    pub fn root() -> Self {
        Self(Box::new([0]))
    }

    pub fn wire(&self) -> &[u8] {
        &self.0
    }

    pub fn is_root(&self) -> bool {
        self.0.len() == 1
    }

    /// How many labels it has; the root has none.
    pub fn labels(&self) -> usize {
        labels(&self.0)
    }

    /// The wire form in lower case, which is what tables are keyed by.
    pub fn lower(&self) -> Box<[u8]> {
        self.0.to_ascii_lowercase().into_boxed_slice()
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for byte in &self.0 {
            state.write_u8(byte.to_ascii_lowercase());
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(&self.0))
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&text(&self.0), f)
    }
}

/// A name of a query in lower case.
#[derive(Clone)]
pub struct Key {
    bytes: [u8; LONGEST],
    length: u8,
}

impl Key {
    /// Reads the name at `at` of a message and says where it ends. Pointers are not followed: no
    /// question needs one, as nothing stands before it.
    pub(crate) fn read(message: &[u8], at: usize) -> Option<(Self, usize)> {
        let mut key = Self { bytes: [0; LONGEST], length: 0 };
        let mut length = 0;
        loop {
            let label = usize::from(*message.get(at + length)?);
            if label > LONGEST_LABEL || length + label + 1 > LONGEST {
                return None;
            }
            let from = message.get(at + length..=at + length + label)?;
            let to = key.bytes.get_mut(length..=length + label)?;
            to.copy_from_slice(from);
            to.make_ascii_lowercase();
            length += label + 1;
            if label == 0 {
                // At most LONGEST, which fits.
                key.length = u8::try_from(length).ok()?;
                return Some((key, at + length));
            }
        }
    }

    /// The wire form.
    pub fn wire(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    pub fn name(&self) -> Name {
        Name(self.wire().into())
    }

    pub fn labels(&self) -> usize {
        labels(self.wire())
    }
}

impl From<&Name> for Key {
    fn from(name: &Name) -> Self {
        let mut bytes = [0; LONGEST];
        let length = name.0.len().min(LONGEST);
        bytes[..length].copy_from_slice(&name.0[..length]);
        bytes[..length].make_ascii_lowercase();
        // A name is at most LONGEST.
        Self { bytes, length: u8::try_from(length).unwrap_or(u8::MAX) }
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.wire() == other.wire()
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self.wire());
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(self.wire()))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&text(self.wire()), f)
    }
}

/// Appends a text as wire form.
pub(crate) fn push_text(text: &str, wire: &mut Vec<u8>) -> Result<(), BadName> {
    if text == "." {
        wire.push(0);
        return Ok(());
    }
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.is_empty() {
        return Err(BadName::Empty);
    }
    if text.len() > LONGEST - 2 {
        return Err(BadName::Long);
    }
    for label in text.as_bytes().split(|byte| *byte == b'.') {
        match u8::try_from(label.len()) {
            Ok(0) => return Err(BadName::EmptyLabel),
            Ok(length) if usize::from(length) <= LONGEST_LABEL => wire.push(length),
            _ => return Err(BadName::LongLabel),
        }
        wire.extend_from_slice(label);
    }
    wire.push(0);
    Ok(())
}

fn labels(wire: &[u8]) -> usize {
    let (mut at, mut count) = (0, 0);
    while let Some(&length) = wire.get(at).filter(|length| **length != 0) {
        at += usize::from(length) + 1;
        count += 1;
    }
    count
}

/// A name as people write it; bytes that are no letters are escaped as in zone files.
pub(crate) fn text(wire: &[u8]) -> String {
    let (mut at, mut text) = (0, String::new());
    while let Some(&length) = wire.get(at).filter(|length| **length != 0) {
        let label = wire.get(at + 1..=at + usize::from(length)).unwrap_or_default();
        for &byte in label {
            match byte {
                b'.' | b'\\' => text.extend(['\\', char::from(byte)]),
                0x21..=0x7e => text.push(char::from(byte)),
                _ => {
                    text.push('\\');
                    text.extend(
                        [byte / 100, byte / 10 % 10, byte % 10]
                            .map(|digit| char::from(b'0' + digit)),
                    );
                }
            }
        }
        text.push('.');
        at += usize::from(length) + 1;
    }
    if text.len() > 1 {
        text.pop();
    }
    if text.is_empty() { ".".to_owned() } else { text }
}

/// Whether a name (lower case) is a domain or below it.
pub(crate) fn ends_with(name: &[u8], domain: &[u8]) -> bool {
    let mut rest = name;
    loop {
        if rest.len() == domain.len() {
            return rest.eq_ignore_ascii_case(domain);
        }
        match rest.first() {
            Some(length) if *length != 0 && rest.len() > domain.len() => {
                rest = rest.get(usize::from(*length) + 1..).unwrap_or_default();
            }
            _ => return false,
        }
    }
}
