//! Numbers of routing tables.

use std::borrow::Cow;

/// The last one the default rules ask.
pub const DEFAULT: u32 = 253;
/// The one meant where none is named.
pub const MAIN: u32 = 254;
/// The kernel's own: local and broadcast addresses.
pub const LOCAL: u32 = 255;

/// The usual word for a table.
pub fn word(table: u32) -> Cow<'static, str> {
    match table {
        DEFAULT => "default".into(),
        MAIN => "main".into(),
        LOCAL => "local".into(),
        other => other.to_string().into(),
    }
}
