//! Announcing virtual addresses on layer 2, without IO and without a clock.
//!
//! ```text
//!  objects ─► eligible ─► election ─┐
//!  peers ───► members ──────────────┴─► ownership ─► Announcer ─► frames
//!                                                      ▲
//!  requests ─► packet ─────────────────────────────────┘
//! ```
//!
//! | module | idea |
//! |---|---|
//! | [`eligible`] | which nodes may announce the addresses of a Service |
//! | [`election`] | which of them does: MetalLB's order, and what can be asked for beyond it |
//! | [`members`] | which of the others live, and who holds what: messages, failure detector, ownership |
//! | [`packet`] | ARP and NDP, byte by byte |
//! | [`interfaces`] | on which interfaces announcing is possible at all |
//! | [`announcer`] | answers requests, and says unasked where an address is |
//!
//! Time is what the caller says it is: the [`Moment`] since any beginning, never going back.

pub mod announcer;
pub mod election;
pub mod eligible;
pub mod interfaces;
pub mod members;
pub mod packet;

/// Time since any beginning.
pub type Moment = std::time::Duration;
