//! Which of the other agents live, and who holds what.
//!
//! ```text
//!  datagrams ─► message (authentic? new?) ─► peers: heard, state ─┬─► detector: who lives
//!                                                                 │        │
//!  objects ───► units, roster ────────────────────────────────────┴─► ownership: take, keep, give
//! ```
//!
//! | module | idea |
//! |---|---|
//! | [`message`] | what agents tell each other, as authenticated bytes |
//! | [`keys`] | with which keys |
//! | [`replay`] | nothing is heard twice |
//! | [`peer`] | what is known of one other agent |
//! | [`engine`] | the state machine |
//! | [`ownership`] | of one address: may it be taken, must it be given |
//!
//! Why it is so, and how fast: docs/adr/0018-members-tell-each-other.md.

pub mod engine;
pub mod keys;
pub mod message;
pub mod ownership;
pub mod peer;
pub mod replay;

pub use engine::{Contact, Engine, Output, Settings, Unit};
pub use keys::Keys;
