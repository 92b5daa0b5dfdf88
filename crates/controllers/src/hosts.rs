//! The addresses that node policies put on nodes, claimed where IPSets look.
//!
//! A policy that is in force on a node gives it addresses. Those that a NetConfig on the same segment
//! has, too, must not become an IPSet's. The ledger is made to follow: what nodes have is claimed for
//! them, what they have no longer is freed. Nothing else in the ledger is touched, so an address that
//! an IPSet or a pod has already stays theirs, and people are told.
//!
//! | module | idea |
//! |---|---|
//! | [`engine`] | which claims there should be, and what to change for that |
//! | [`driver`] | looks again whenever an enactment or a NetConfig changes |

pub mod driver;
pub mod engine;

pub use driver::run;
