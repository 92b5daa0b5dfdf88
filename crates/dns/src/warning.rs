//! What is wrong with one line of a file, for the person who has to correct it.

use std::fmt;

/// A line that was not taken as it stands. The lines around it count all the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Warning {
    /// The file as it was named to the parser.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The text that is meant: an address, a name, or the line.
    pub text: String,
    /// What is wrong with it.
    pub why: String,
    /// What to do about it.
    pub help: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, text, why, help } = self;
        write!(f, "{file}:{line}: {text:?}: {why}")?;
        if help.is_empty() { Ok(()) } else { write!(f, "; {help}") }
    }
}
