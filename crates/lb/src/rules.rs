//! A [`Table`] as rules of the kernel's packet filter, in the words of the program `nft`.
//!
//! ```text
//!  prerouting, output ─▶ services ─▶ one lookup: address, protocol, port ─▶ out/NAME ─▶ all/NAME  (Cluster)
//!                                    or, at the node's addresses, port        └───────▶ here/NAME (Local)
//! ```
//!
//! A packet costs one lookup in a hash table, however many Services there are. Each port of a Service
//! has chains of its own, so a change touches the chains of what changed and nothing else; the
//! memory of who is with which backend (affinity) stays.
//!
//! Invariants:
//! - whatever still has a virtual address for its destination after the lookup is dropped, or refused
//!   where nobody stands behind a port: a virtual address answers at its ports and nowhere else;
//! - connections to virtual addresses carry the mark of the link they came by, and so do their answers:
//!   routing tables of whoever applies this send them back there;
//! - of two ports that claim the same address and port, the first by name has it.

mod change;
mod dynamic;
mod edges;
mod fixed;

use std::collections::BTreeMap;

pub use self::change::{change, replace};
pub use self::dynamic::rules;
pub use self::edges::edges;
pub use self::fixed::{LINK_MARK, MASQUERADE, PROBE, TABLE};

/// Everything in our table of the packet filter that depends on the Services.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Sets by name: their type and flags.
    pub sets: BTreeMap<String, String>,
    /// Chains by name: their rules.
    pub chains: BTreeMap<String, Vec<String>>,
    /// Elements of the fixed sets and maps: by set, by key; the value is empty in sets.
    pub elements: BTreeMap<&'static str, BTreeMap<String, String>>,
}
