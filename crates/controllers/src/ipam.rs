//! One address on each of some networks for every IPSet.
//!
//! ```text
//!  NetConfig ─┐                    ┌─▶ AddressBlock   the claim: a compare-and-swap
//!  IPSet ─────┼─▶ Engine (no IO) ──┼─▶ Reservation    the record, in upstream's form
//!  Reservation┤                    └─▶ IPSet status   the answer
//!  AddressBlock
//! ```
//!
//! Every step follows from what is observed, so a controller that is killed at any point, or runs
//! twice, ends in the same state. Nothing is given away but by swapping the block that holds the
//! address; many requests go into one swap.
//!
//! | module | idea |
//! |---|---|
//! | [`engine`] | what is to be written next, for every IPSet |
//! | [`ledger`] | the blocks of all segments, and the swaps under way |
//! | [`networks`] | a NetConfig, resolved: segments and pools |
//! | [`seen`] | what the engine needs to know of each kind |
//! | [`answer`] | Reservation and status in upstream's form |
//! | [`driver`] | watches and writes |

pub mod answer;
pub(crate) mod blocks;
pub mod driver;
pub mod engine;
pub mod ledger;
pub mod networks;
pub mod seen;

pub use self::driver::run;
